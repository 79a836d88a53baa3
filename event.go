package fanfold

import (
	"errors"
	"time"
)

// Kind names what an event says.
type Kind string

// The kinds of event in the log.
const (
	KindPut     Kind = "put"     // the whole document, as written
	KindPatch   Kind = "patch"   // a merge patch or JSON Patch on the revision in Base
	KindDelete  Kind = "delete"  // the document is gone
	KindModel   Kind = "model"   // the whole model, from this position on
	KindPrepare Kind = "prepare" // a model is announced; every node begins its preparation
	KindCancel  Kind = "cancel"  // the announced model is withdrawn
	KindFence   Kind = "fence"   // changes nothing; readers wait for its sequence
	KindCheck   Kind = "check"   // changes nothing; a transaction required this revision of the document
	KindImport  Kind = "import"  // how far an import has come
	KindLink    Kind = "link"    // documents begin or cease to refer to another strictly
	KindClaim   Kind = "claim"   // a document takes or gives up a unique value
	KindGate    Kind = "gate"    // changes nothing; the writes before it were checked with what they do to this document
	KindLoss    Kind = "loss"    // the log may lose events from here on, or contents of events
	// KindSequence tells which numbers documents of a collection got that were created with it.
	KindSequence Kind = "sequence"
	KindCall     Kind = "call" // a function was called; the events of its transaction that follow are its writes
)

// PatchType names one of the two patch formats.
type PatchType string

// The patch formats: RFC 7396 and RFC 6902.
const (
	MergePatch PatchType = "merge"
	JSONPatch  PatchType = "json"
)

// Event describes one fact of the log: a document was written or deleted, or a model applies from here on. The log stores an
// event only if its condition holds at that moment. From then on it is a fact, and folding never rejects it. Everything that the
// store shows is made from the events, in their order.
type Event struct {
	Seq  uint64    // stream sequence; 0 until appended
	Time time.Time // the log's timestamp
	FromLog
	Kind Kind
	// Key is of put, patch, delete, check, claim and gate; of link it is the target. It is the ID alone of import, and the collection alone
	// of sequence, of a collection's gate, and of a check of that.
	Key Key

	// Body holds JSON text as it was written. Of put it is the document, of patch the patch, of model and prepare the
	// model. Of cancel it is the reason, of import its progress, of sequence a GivenNumbers.
	Body []byte

	Patch PatchType // of patch
	Base  Revision  // of patch: the revision it was computed on; of check: the one required, or the sequence of the last gate of Key's collection

	// Kept, of put, holds values that an import restores: the document's frozen copies, and what stayed on it of targets
	// that were deleted before. It is a JSON object by rule, then by the target's id. For a rule with frozen copies that
	// is in it, the ids that are not in it have no value. Of model it lists the rules that were removed where an import comes from,
	// as JSON of a model.Retired. It is nil for none.
	Kept []byte
	// Fold, of model and prepare, is the version of the fold by which this event of the model and all later ones are folded;
	// 0 for the one in force.
	Fold int
	// Refresh, of put and patch, lists the paths of frozen copies whose values are taken from the targets again.
	Refresh []string

	Holders []Key  // of link: the documents that refer to Key, of one collection; several only where the log joins links
	Path    string // of claim and sequence: where the value stands
	Value   string // of claim: the value, as Unique.Value writes it; of sequence the key of the counter, as sequence.Key makes it
	Held    bool   // of link and claim: true where it begins, false where it ends
	Links   bool   // of check: Base is the sequence of the last link to Key, not a revision of Key

	// ByDelete, of put, patch and delete, names the delete whose policies have made the event; nil where somebody asked for it.
	ByDelete *ByDelete

	Loss *Loss // of loss
	Call *Call // of call

	// Actor names who sent the request that the event comes from, "" where nobody says. Changes have it, and so have documents by rules that read it.
	Actor string

	Tx             TxPart
	IdempotencyKey IdempotencyKey
}

// FromLog is what an event has that was read from the log. It is no part of what is appended.
type FromLog struct {
	Digest Digest // as the log has it
	Trace  string // the trace context of what has appended the event, "" for none; no part of what is folded
}

// ChecksDocument tells whether a check requires a document's revision, and no link or gate.
func (ev *Event) ChecksDocument() bool {
	return ev.Kind == KindCheck && !ev.Links && ev.Key.ID != ""
}

// Merges tells whether a patch event holds a merge patch, and not a JSON Patch.
func (ev *Event) Merges() bool { return ev.Patch == MergePatch }

// ByDelete says which delete has caused an event. By the policies of relations, the delete of a document may delete others, or
// remove their references to it.
type ByDelete struct {
	Key       Key      // the document whose delete somebody asked for
	Relations []string // by which the other document is reached, by their full names
	// Back is how many events before this one the delete of Key is, in the same transaction; 0 where it is still to come, as
	// in a delete in steps.
	Back int
	// Seq, of a change, is the sequence of the delete of Key; 0 where it was still to come.
	Seq uint64
}

// TxPart says which place an event has in its transaction. The events of a transaction stand next to each other in the log, and
// become visible together. The zero value belongs to an event outside a transaction.
type TxPart struct {
	ID    string
	Index int // from 0
	Count int
}

// Open tells whether more events of the transaction follow.
func (t TxPart) Open() bool { return t.Index+1 < t.Count }

// IdempotencyKey makes a request happen once, however often a client sends it that got no answer. It holds the hash of the header
// of that name. A digest of what the request asks for tells two requests with one key apart. In a transaction
// the first event carries it. The zero value is no key.
type IdempotencyKey struct {
	Hash   string
	Digest string
}

// IdempotencyRecord says which event a request under an idempotency key has led to. A request that is sent again is answered by it.
type IdempotencyRecord struct {
	IdempotencyKey
	Seq uint64 // of the request's first event
}

// Write is an event that is to be appended, and the condition under which it is.
type Write struct {
	Event  *Event
	Expect Expect
}

// Expect is the condition of a write: the last event of the same subject, which is one document's, must be Rev. The log itself
// checks it as it appends, so that any number of nodes can write. The zero value is no condition.
type Expect struct {
	Set bool
	Rev Revision // 0 where nothing may have been written there
	// Folded is an event up to which the read model was folded from which Rev was read; 0 where that is not known. One before the
	// log's horizon is refused if Rev may have been purged from the log: another event may have been purged, too.
	Folded uint64
}

// ErrBehindHorizon is the cause of the Stale of a write that was decided on a state from before the log's horizon. It is to be decided
// again once the state is not older than Error.Current.
var ErrBehindHorizon = errors.New("the state is from before the log's horizon")

// Exactly returns the condition that rev is the last event of the subject.
func Exactly(rev Revision) Expect { return Expect{Set: true, Rev: rev} }

// ErrRestarting is the cause of an Unavailable while the log's server is started again as planned, and right after that: what was asked for is
// to be tried again soon.
var ErrRestarting = errors.New("the log's server is started again")
