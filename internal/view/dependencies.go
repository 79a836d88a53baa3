package view

import (
	"context"
	"time"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/internal/wire"
	"github.com/fanfold/fanfold/model"
	"github.com/fanfold/fanfold/query"
)

// Listing tells which collections there are: those that the model declares, and those that hold or ever held a document.
type Listing interface {
	// HasCollection tells whether a collection is one of them.
	HasCollection(name string) (bool, error)
	// CollectionsBehind returns up to limit of them, by name, later than the name after, and whether others follow.
	CollectionsBehind(after string, limit int) (list []fanfold.CollectionCount, more bool, err error)
	// SequencesAfter returns up to limit counters of a collection, "" for all, later than one, and whether others follow.
	SequencesAfter(collection string, after fanfold.Counter, limit int) (list []fanfold.Counter, more bool, err error)
}

// Lists reads documents in lists.
type Lists interface {
	// EachListed calls fn with up to limit documents of a collection, by id, later than the id after, until fn returns
	// false. more tells whether others follow.
	EachListed(collection, after string, limit int, view fanfold.View, fn func(doc *fanfold.Document) (bool, error)) (more bool, err error)
	// EachReferring calls fn with up to limit documents that refer to target, in order of creation, later than the number
	// after, until fn returns false. more tells whether others follow.
	EachReferring(relation, target string, after int64, limit int, view fanfold.View, fn func(doc *fanfold.Document) (bool, error)) (more bool, err error)
	// EachOnPage calls fn with the documents on one of target's fixed pages, until fn returns false. It calls begin first,
	// with the page's number and how many pages there are, and ends with its error.
	EachOnPage(p model.PageQuery, begin func(page, pages int64) error, fn func(doc *fanfold.Document) (bool, error)) error
}

// Moments finds the states that can be shown.
type Moments interface {
	// At returns the position at which the prefix ends.
	At() fanfold.Position
	// Time returns the time of the last event.
	Time() time.Time
	// Oldest returns the oldest position that can be shown.
	Oldest() (fanfold.Position, error)
	// Resolve returns the position of a moment.
	Resolve(m fanfold.Moment) (fanfold.Position, error)
}

// States reads documents as they were at a position that Resolve has returned.
type States interface {
	// ModelAt returns the model that applied, nil for none, and the event that applied it.
	ModelAt(at fanfold.Position) (source []byte, seq uint64, err error)
	// GetAt returns one document, nil where there was none, and how many bytes its body has or takes to be rebuilt. A body for which
	// maxBytes are too few is nil.
	GetAt(at fanfold.Position, key fanfold.Key, view fanfold.View, maxBytes int) (doc *fanfold.Document, size int, err error)
	// EachListedAt does what EachListed does for documents as they were. It may end early: last is the id that it has come to.
	EachListedAt(at fanfold.Position, collection, after string, limit int, view fanfold.View, fn func(doc *fanfold.Document) (bool, error)) (last string, more bool, err error)
	// EachReferringAt does what EachReferring does for documents as they were. It may end early: last is the number that it has come to.
	EachReferringAt(at fanfold.Position, relation, target string, after int64, limit int, view fanfold.View, fn func(doc *fanfold.Document) (bool, error)) (last int64, more bool, err error)
	// EachOnPageAt does what EachOnPage does for documents as they were.
	EachOnPageAt(at fanfold.Position, p model.PageQuery, begin func(page, pages int64) error, fn func(doc *fanfold.Document) (bool, error)) error
}

// Differences finds what changed.
type Differences interface {
	// Versions returns a page of a document's history.
	Versions(q fanfold.VersionQuery) (fanfold.VersionPage, error)
	// ChangesBetween returns how many changes there are after one position and up to another.
	ChangesBetween(from, to fanfold.Position) (int64, error)
	// ChangedKeys calls keep with the keys of documents that changed after one position and up to another, and returns the position that
	// it has come to. With direct it passes over derived changes.
	ChangedKeys(from, to fanfold.Position, direct bool, keep func(fanfold.Key)) (last fanfold.Position, err error)
}

// Pasts reads all documents as they were.
type Pasts interface {
	// StoredModelAt returns what Export.Model returns, as of a position.
	StoredModelAt(at fanfold.Position) (src []byte, reserved model.Reserved, retired model.Retired, err error)
	// CreatedAt does what Export.All does for documents as they were. It may end early: last is the number that it has come to.
	CreatedAt(at fanfold.Position, after int64, limit int) (docs []*fanfold.Document, last int64, more bool, err error)
}

// History reads what was.
type History interface {
	Moments
	States
	Pasts
	Differences
}

// Snapshot reads one consistent prefix of the log.
type Snapshot interface {
	Listing
	Lists
	History
	query.Snapshot
	// GetWithin returns one document, nil where there is none, and how many bytes its body has. A body of more than
	// maxBytes is not read, and nil.
	GetWithin(key fanfold.Key, view fanfold.View, maxBytes int) (doc *fanfold.Document, size int, err error)
}

// Export reads all of a prefix.
type Export interface {
	// Model returns the model's source, nil where none was applied, the paths that are still reserved, and the rules that
	// were removed and whose values are still stored.
	Model() (src []byte, reserved model.Reserved, retired model.Retired, err error)
	// All returns up to limit documents of all collections, as they were written, by number, later than the number after,
	// and whether there are more.
	All(after int64, limit int) (docs []*fanfold.Document, more bool, err error)
	// EachKept calls fn for each value that stays on the document with a number, by rule, then by target.
	EachKept(holder int64, fn func(rule, target string, value []byte) error) error
}

// Scan reads one prefix of the log for as long as it is open. The caller closes it.
type Scan interface {
	Snapshot
	Export
	// Close ends the scan.
	Close() error
}

// Reader reads documents.
type Reader interface {
	// Get returns one document, nil where there is none, and the position it was read at.
	Get(key fanfold.Key, view fanfold.View) (*fanfold.Document, fanfold.Position, error)
	// Read calls fn with a snapshot that is valid until fn returns.
	Read(fn func(s Snapshot) error) error
	// ReadLong is Read for work that may take much longer than a lookup. It waits for other such work alone, and holds up no Read.
	ReadLong(fn func(s Snapshot) error) error
	// LargestTargets finds the target of each relation to which most documents refer, with up to so many links looked at in all, and returns the
	// position at which it did. It holds up no Read. The error is also ctx's.
	LargestTargets(ctx context.Context, relations []*model.Relation, most int) (found []wire.LargestTarget, at fanfold.Position, err error)
	// Scan opens a snapshot that may be read for long, until ctx ends. The caller closes it.
	Scan(ctx context.Context) (Scan, error)
}

// Outcomes knows what folded events did.
type Outcomes interface {
	// Outcome returns what a recently folded event did to its document, and how many derived changes it caused. ok is
	// false for older events.
	Outcome(seq uint64) (op fanfold.Op, derived int64, ok bool)
	// Outcomes returns the direct changes of count folded events from first on, nil for an event without one. derived
	// counts the derived changes that they and the rest of their transaction caused.
	Outcomes(first uint64, count int) (changes []*fanfold.Change, derived int64, err error)
}

// Tracer finds out where derived values come from.
type Tracer interface {
	// Lineage reports where a document's derived values come from and which documents carry copies of it. The error is
	// NotFound, or ctx's.
	Lineage(ctx context.Context, key fanfold.Key) (*wire.Lineage, error)
	// LineageAt reports what Lineage reported at a moment. The error is also PositionGone where that is no longer kept, and TakesLong.
	LineageAt(ctx context.Context, key fanfold.Key, when fanfold.Moment) (*wire.Lineage, error)
}

// Keys knows the log's events, and so their documents.
type Keys interface {
	// EventAt returns the event at seq. The error is NotFound or PositionGone where the log does not have it.
	EventAt(ctx context.Context, seq uint64) (*fanfold.Event, error)
}

// Dependencies are what views read. Nothing else of the API reads them.
type Dependencies struct {
	Reader   Reader
	Outcomes Outcomes
	Tracer   Tracer
	Keys     Keys
}
