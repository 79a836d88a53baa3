package fanfold

import (
	"time"
)

// Op is what a change did to a document.
type Op string

// The operations of a change.
const (
	OpCreate  Op = "create"
	OpReplace Op = "replace"
	OpPatch   Op = "patch"
	OpDelete  Op = "delete"
	OpDerive  Op = "derive" // a derived value changed; the document's revision did not
)

// Change is one change of one document, as the change feed tells it.
type Change struct {
	Position Position
	Ordinal  int64    // how many changes there were up to and including this one
	Prior    Position // the document's change before it; 0 for a create
	Key      Key
	Op       Op
	Revision Revision // of the document after the change; of a delete, the delete's own
	Time     time.Time
	Tx       string   // the transaction's id, "" outside one
	Rules    []string // of a derived change: the rules whose values changed, in path order
	Delta    []byte   // of a derived change: a JSON Patch (RFC 6902) whose operations also carry "old"

	// Previous are both views before a direct change; PreviousSource is nil where they were equal.
	Previous       []byte
	PreviousSource []byte
}

// Fanout is what writes cause: derived changes in all, by rule and by collection. A change that
// several rules cause counts once in all, and once for each rule.
type Fanout struct {
	Position    Position         `json:"position"` // of the prefix it is computed on
	Derived     int64            `json:"derived"`
	Rules       map[string]int64 `json:"rules"`
	Collections map[string]int64 `json:"collections"`
}

// ChangeQuery asks for a page of the change feed.
type ChangeQuery struct {
	After       Position
	Limit       int      // most rows to look at; all of one event are returned together or in a row
	Collections []string // none: all
	Latest      bool     // only each document's newest change
	Docs        bool     // with the documents as they are now
}

// ChangeRow is a change with what the feed tells besides.
type ChangeRow struct {
	*Change
	Cause *Key      // of a derived change: the document whose write caused it; nil for a model
	Doc   *Document // the embedded view now, where asked for and there
}

// ChangePage is a page of the change feed, from one snapshot.
type ChangePage struct {
	Rows    []ChangeRow
	Last    Position // everything up to here was looked at
	Pending int64    // changes behind Last, of every kind
	Changes int64    // how many there are
}
