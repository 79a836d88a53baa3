package fanfold

import "time"

// Op names what a change did to a document.
type Op string

// The operations of a change.
const (
	OpCreate  Op = "create"
	OpReplace Op = "replace"
	OpPatch   Op = "patch"
	OpDelete  Op = "delete"
	OpDerive  Op = "derive" // a derived value changed; the document's revision did not
	OpErase   Op = "erase"  // the document was deleted before, and what it ever was is erased
	OpLeave   Op = "leave"  // as a feed names a change, of any other kind, after which the document does not match its filter, or may not be read
	OpEnter   Op = "enter"  // as a feed names a change, of any other kind, after which the document may be read, and could not be before
)

// Gone tells whether a change of the kind leaves no document.
func (op Op) Gone() bool { return op == OpDelete || op == OpErase }

// Writes tells whether a client wrote the document by a change of the kind.
func (op Op) Writes() bool { return op != OpDerive && op != OpErase }

// RuleErase is what derived changes name in place of a rule where an erasure makes the view another one than before. They have no patch,
// because that would have what is erased: a consumer takes the document anew.
const RuleErase = "erase"

// Change describes one change of one document, as the change feed reports it. A direct change is what a client wrote. A derived one
// is what the store then changed on a document that depends on it, in the same moment. A consumer that applies all
// changes in their order has every document as the store shows it.
type Change struct {
	Position Position
	Ordinal  int64    // the number of changes in the log up to and including this one
	Prior    Position // the document's previous change; 0 for a create
	Key      Key
	Number   int64 // of the document; 0 where it is not known
	Op       Op
	Revision Revision // of the document after the change; of a delete, the delete's own
	Time     time.Time
	Tx       string    // the transaction's id, "" outside one
	Actor    string    // who sent the request that the event comes from, "" where nobody says; a derived change has its event's
	Call     string    // the function that was called in the change's transaction, "" for none; a derived change has its event's
	ByDelete *ByDelete // of a direct change: the delete whose policies have made it; nil for none
	Rules    []string  // of a derived change: the rules whose values changed, in path order
	Delta    []byte    // of a derived change: a JSON Patch (RFC 6902) whose operations also carry "old"

	// Previous and PreviousSource hold the embedded and the referenced view before a direct change, or before a derived one
	// that is to be stored with them. PreviousSource is nil where the two were equal.
	Previous       []byte
	PreviousSource []byte

	// Omitted says how many derived values the embedded view had no room for after the change: a JSON object with a
	// number for each rule. It is nil for none.
	Omitted []byte
}

// ByErasure tells whether an erasure made the document's view another one. Nobody knows any more what it was before.
func (c *Change) ByErasure() bool {
	return c.Op == OpDerive && len(c.Rules) == 1 && c.Rules[0] == RuleErase
}

// ChangeQuery asks for a page of the change feed: the changes after a position, or a selection of them.
type ChangeQuery struct {
	After       Position
	Limit       int      // how many rows are looked at, at most; the rows of one event are never mixed with others
	Collections []string // empty for all
	// Reads tells whether changes of a collection are to be told; nil stands for all collections.
	Reads      func(collection string) bool
	Latest     bool // only the newest change of each document
	Docs       bool // with each document as it was after the change
	Before     bool // with each document as it was before the change
	View       View // of the documents
	Direct     bool // no derived changes
	NoCascades bool // no changes that a delete's policies have made
	Partition  int  // only keys of this one
	Partitions int  // of so many; 0 for keys of all
	MaxBytes   int  // of the page's values and documents; 0 for 8 MiB

	// Versions asks for what a filter decides by: After, and Held of changes later than HeldFrom. With Latest it asks for changes
	// that are not their documents' newest, too: a consumer may have to learn from one that the document leaves.
	Versions bool
	HeldFrom Position

	// Judged tells whether a rule decides which documents of a collection the reader sees; nil for none. Rows of it have Sight, and Doc. Changes
	// of kinds that are not asked for are among them, and those that are not their documents' newest.
	Judged func(collection string) bool

	// Shape is the same for queries that differ in After, Limit, MaxBytes, HeldFrom and AtHead alone; "" where that is not known.
	Shape  string
	AtHead bool // little is to come: the page waits for no consumer that has far to go
}

// ChangeRow holds a change and what the feed adds to it: its cause, and the document before and after it.
type ChangeRow struct {
	*Change
	Cause *Key // the document whose write caused a derived change; nil where a model did
	// Doc is the document after a derived change, and of a direct one at the end of its transaction; nil where it was not asked for, and of
	// a delete. Change.Previous of a direct one is of the transaction's beginning.
	Doc *Document

	// Before holds the document as it was before the change; nil where it was not asked for, and of a create.
	Before []byte
	// After, with ChangeQuery.Versions, is the document as it was after the change; nil of a delete. Held is the document that a
	// consumer has which got all changes before; nil for none.
	After, Held []byte
	// Superseded says that the change is not its document's newest, whose version is Newest then; nil where it was deleted.
	Superseded bool
	Newest     []byte
	// Within says that a derived change is of a document that its transaction also writes. The rows of direct changes show it as of the
	// transaction's end. With ChangeQuery.Versions that is End, nil where it is gone then.
	Within bool
	End    []byte
	// Leaves says that the document matched the consumer's filter before the change, and does not any more.
	Leaves bool

	// Sight has what a rule decides by whether the row may be seen; nil where none decides.
	Sight *Sight
	// CauseNow is the document of the cause as it is now, in the embedded view, where a rule decides whether it may be seen.
	CauseNow []byte
	// Enters says that the document may be read after the change, and could not be before. Hides says that it may not be read any more; the
	// row says nothing else then.
	Enters, Hides bool
}

// Sight has the versions of a changed document by which a rule decides who sees the change, in the embedded view. nil stands for no document.
type Sight struct {
	Before, After []byte
	End           []byte // of a row Within: as of the transaction's end
	Now           []byte // as it is, or was last
	Unasked       bool   // the query leaves out changes of this kind
	// Lost has the members that an erasure may have changed, "" for all, besides those that rules derive.
	Lost []string
}

// ChangePage holds one page of the change feed, read from one snapshot.
type ChangePage struct {
	Rows    []ChangeRow
	Last    Position // every change up to it was looked at
	Head    Position // where the snapshot stands; Last is later where the query asked for what is to come
	Pending int64    // the number of changes after Last, of every kind
	Changes int64    // the number of changes in the log

	Uncounted bool // Pending is 0 because nothing more can be had now, and says nothing of what is to come

	Need int // of a page without rows: the MaxBytes that its first row needs; 0 otherwise
}
