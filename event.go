package fanfold

import (
	"time"

	"github.com/fanfold/fanfold/internal/jsondoc"
)

// Kind is what an event says.
type Kind string

// The kinds of event in the log.
const (
	KindPut     Kind = "put"     // the whole document, as written
	KindPatch   Kind = "patch"   // a merge patch or JSON Patch on the revision in Base
	KindDelete  Kind = "delete"  // the document is gone
	KindModel   Kind = "model"   // the whole model, from this position on
	KindPrepare Kind = "prepare" // nothing yet: a model that is to come, for which nodes make themselves ready
	KindCancel  Kind = "cancel"  // nothing: that model does not come
	KindFence   Kind = "fence"   // nothing: readers wait for its sequence
	KindCheck   Kind = "check"   // nothing: a transaction required this revision of the document
	KindImport  Kind = "import"  // nothing: how far an import has come
	KindLink    Kind = "link"    // nothing: a document refers to another strictly, or no longer
	KindClaim   Kind = "claim"   // a document has a unique value, or no longer
)

// PatchType tells the two patch formats apart.
type PatchType string

// The patch formats: RFC 7396 and RFC 6902.
const (
	MergePatch PatchType = "merge"
	JSONPatch  PatchType = "json"
)

// Event is one fact of the log. An event that is in the log was accepted; folding it never
// rejects it.
type Event struct {
	Seq  uint64    // stream sequence; 0 until appended
	Time time.Time // the log's timestamp
	Kind Kind
	Key  Key    // of put, patch, delete, check and claim; of link the target; of import its ID alone
	Body []byte // of put (document), patch (patch), model and prepare (model as JSON), cancel (its reason, as JSON) and import (progress): the bytes as written

	Patch PatchType // of patch
	Base  Revision  // of patch: the revision it was computed on; of check: the one required

	// Kept, of put, are values that an import restores: what stayed on the document of targets
	// that were gone already and its frozen copies, as JSON, by rule, then by the target's id; a
	// frozen copy of a rule that is there has no value for ids that are not. Nil for none.
	Kept []byte
	// Refresh, of put and patch, are the paths of frozen copies to take anew.
	Refresh []string

	Holder Key    // of link: the document that refers to Key
	Path   string // of claim: where the value stands
	Value  string // of claim: the value, as UniqueValue writes it
	Held   bool   // of link and claim: from now on, rather than no longer
	Links  bool   // of check: it is about the links to Key; Base is the last one's sequence

	Tx             TxPart
	IdempotencyKey IdempotencyKey
}

// Patched is the document after a patch event, both being JSON text that was checked. The error is a
// *jsondoc.PatchError.
func (ev *Event) Patched(doc []byte) ([]byte, error) {
	if ev.Patch == MergePatch {
		return jsondoc.Merge(doc, ev.Body), nil
	}
	ops, err := jsondoc.ParsePatch(ev.Body)
	if err != nil {
		return nil, err
	}
	return jsondoc.Apply(doc, ops)
}

// TxPart is an event's place in its transaction; the zero value is none.
type TxPart struct {
	ID    string
	Index int // from 0
	Count int
}

// Open tells whether more events of the transaction follow.
func (t TxPart) Open() bool { return t.Index+1 < t.Count }

// Once makes a request happen once: the hash of its Idempotency-Key and a digest of what it
// asks for. The zero value is no key. In a transaction the first event carries it.
type IdempotencyKey struct {
	Hash   string
	Digest string
}

// OnceRecord is what is known of a request that was made under an Idempotency-Key.
type IdempotencyRecord struct {
	IdempotencyKey
	Seq uint64 // of its first event
}

// Write is an event and the condition under which it is appended.
type Write struct {
	Event  *Event
	Expect Expect
}

// Expect is the condition under which an event is appended: what the revision of its subject
// must be. The zero value is no condition.
type Expect struct {
	Set bool
	Rev Revision // 0: nothing must have been written there
}

// Exactly is the condition that the last event of the subject is rev.
func Exactly(rev Revision) Expect { return Expect{Set: true, Rev: rev} }
