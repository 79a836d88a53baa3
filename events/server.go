package events

import (
	"context"
	"errors"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/fanfold/fanfold"
)

// Embedded is a server in this process, as package embedded starts it: what a log needs of it besides a connection.
type Embedded interface {
	Files
	Blocks
	Space
}

// Files are those into which a server of this process writes its streams.
type Files interface {
	// Sync returns who makes what is written durable: SyncGroup, SyncServer or SyncNone.
	Sync() string
	// OnlyPublisher returns whether nobody but this process publishes to the log, and a part of a batch at its end is cut when the
	// server starts.
	OnlyPublisher() bool
	// SyncLog makes what the log's stream has durable, and returns what does so from then on. stored returns the highest sequence
	// that is known to be written, and told is called after each round. Errors are ErrLayout, and Unavailable.
	SyncLog(stream *jetstream.StreamInfo, stored func() uint64, told func(took time.Duration, events int)) (Syncer, error)
	// SyncBucket does so for a stream from which messages are deleted.
	SyncBucket(stream *jetstream.StreamInfo, stored func() uint64) (Syncer, error)
}

// Blocks are the files of a server of this process that have a stream's messages, one after the other.
type Blocks interface {
	// BlockStart returns the first sequence in the file that has an event of a stream. A purge up to it removes whole files, and changes none:
	// the server makes a file that it changes anew, and not durable. It returns ErrLayout, and the errors of the files.
	BlockStart(stream string, seq uint64) (first uint64, err error)
	// RemoveBefore removes the files that have only events from before the stream's first, which the server does not know: a loss of power
	// undoes a removal. It returns the error of the files.
	RemoveBefore(stream string, first uint64) error
	// Messages returns a stream's messages from a sequence on. The caller closes them. It returns ErrBlocks, ErrLayout, and the
	// errors of the files.
	Messages(stream string, from uint64, stored *Watermark) (Messages, error)
	// Rewrite has the next Restart write the files of streams anew, without some of their messages, whose places stay. It writes now what can be
	// written before. more says that there is more of it than is written at once, so that it is to be called again after the restart. It returns
	// ErrLayout, and the errors of the files and ctx.
	Rewrite(ctx context.Context, drops map[string]Drop) (more bool, err error)
	// RemoveDeleted removes, durably, the files of a stream that was deleted, which the server would remove a while later. It returns the error
	// of the files.
	RemoveDeleted(stream string) error
}

// Drop says which messages of a stream go from a server's files.
type Drop struct {
	UpTo     uint64                // all up to it, with their places
	Has      func(seq uint64) bool // of the others
	Changing bool                  // the server may delete messages of the stream meanwhile, or the stream
}

// Space is the room that a server of this process has on its disk. The server does not get over the lack of it by itself.
type Space interface {
	// Trouble has an element where the server has told of an error.
	Trouble() <-chan struct{}
	// OutOfSpace returns what the server says of a write that failed for lack of space, after which it stores nothing more in that
	// stream. It returns "" for no such write, and if an fsync has failed.
	OutOfSpace() string
	// SuspectSpace says that the server has dropped a transaction that was sent whole.
	SuspectSpace()
	// ProbeSpace returns an error where ProbeBytes cannot be written.
	ProbeSpace() error
	// Restart stops the server and starts it again. known is the last event that must stay. The server does not run after an error.
	Restart(ctx context.Context, known uint64) error
}

// Syncer makes a stream's messages durable.
type Syncer interface {
	// Wait blocks until the message at seq, which the server has acknowledged or delivered, is durable, or ctx has ended. The error
	// is Unavailable.
	Wait(ctx context.Context, seq uint64) error
	// Failure returns why nothing is made durable any more, or not at present; nil where all is well.
	Failure() error
	// Rounds returns how many rounds of fsync there were.
	Rounds() uint64
}

// failureOf returns why a syncer makes nothing durable, nil where there is none.
func failureOf(s Syncer) error {
	if s == nil {
		return nil
	}
	return s.Failure()
}

// This says who makes the writes to an embedded server durable.
const (
	SyncGroup  = "group"  // the log, with one fsync for all concurrent writes
	SyncServer = "server" // the server, with one fsync a message
	SyncNone   = "none"   // the server, every two minutes
)

// ErrLayout is the error of an embedded server's files that are not where and how this version of the log expects them,
// so that it cannot sync them. The server is to be started with embedded.Options.ServerSyncs.
var ErrLayout = errors.New("the server's files are not laid out as expected")

// ErrBlocks is the error of block files in which an event that the log has is not to be found whole. The server may know
// better: it is to be asked.
var ErrBlocks = errors.New("the event is not to be found whole in the server's files")

// Messages are the log's messages from a sequence on. Its methods are for one goroutine, but for Stop.
type Messages interface {
	// Receive blocks until there is a message or ctx has ended.
	Receive(ctx context.Context) (Message, error)
	// Stop ends Receive with an error.
	Stop()
	// Close gives up what is held.
	Close()
}

// Message is a message as it was delivered.
type Message struct {
	Subject string
	Headers nats.Header // those that an event can have, and perhaps others
	Data    []byte
	Seq     uint64
	Time    time.Time
	Pending uint64
	digest  fanfold.Digest
	badTime error // why its header for the time cannot be read, as Invalid; nil where it can, or is not there
}

// Digest returns the digest of the message's event, which a Reader has computed.
func (m *Message) Digest() fanfold.Digest { return m.digest }
