package changefeed

import (
	"time"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/access"
)

// The transports by which the feed answers.
const (
	Normal      = "normal"      // one answer
	LongPoll    = "longpoll"    // one answer, once there is a change
	Continuous  = "continuous"  // lines of JSON
	EventStream = "eventsource" // server-sent events
	WebSocket   = "websocket"   // messages of a WebSocket
)

var transports = []string{Normal, LongPoll, Continuous, EventStream, WebSocket}

// MaxPartitions bounds how many partitions a consumer can divide the keys into.
const MaxPartitions = 4096

// Query is what one consumer asks for. With rights and nothing else, it asks for each document's newest change, in one answer.
type Query struct {
	Selection
	Rights    *access.Rights // of the consumer, who is told of collections that it reads, while they hold; nobody is served without
	Transport string         // one of Transports(); default Normal
	Since     string         // where it begins: a position, 0 (default), now or an RFC 3339 time
	Limit     int            // rows after which the answer ends; 0 for none
	Docs      bool           // with the document as it was after each change
	Timeout   *time.Duration // of a long poll, and of a stream that then ends where no change comes for as long; nil for the feed's own, and for no such end
	Unknown   []string       // which of Collections are not there, as an answer tells
	Heartbeat time.Duration  // between positions sent on a quiet stream; default the feed's own
}

// Selection says which changes a consumer asks for, and in which view their documents come.
type Selection struct {
	Collections []string // nil for all
	AllChanges  bool     // every change, not only each document's newest
	Direct      bool     // no derived changes
	NoCascades  bool     // no changes that a delete brought with it
	View        fanfold.View
	Filter      string // only changes for which this CEL expression is true; "" for all
	Params      string // the values of params in it, as a JSON object; "" for none
	Partition   int    // only keys of this one
	Partitions  int    // of so many, at most MaxPartitions; 0 for keys of all
}
