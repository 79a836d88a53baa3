// Package bulk writes all documents that a filter matches: it finds them, and has package writer patch or delete them step by step. DESIGN.md
// says why it works as it does.
package bulk

import (
	"context"
	"slices"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/model"
	"github.com/fanfold/fanfold/query"
	"github.com/fanfold/fanfold/writer"
)

// Snapshot reads one consistent prefix of the log.
type Snapshot interface {
	// Query answers a query: see query.Query.Run.
	Query(ctx context.Context, q *query.Query, show func(doc *fanfold.Document) (bool, error)) (*query.Result, error)
	// GetWithin returns one document, nil where there is none, and how many bytes its body has. A body of more than maxBytes is nil.
	GetWithin(key fanfold.Key, form fanfold.View, maxBytes int) (doc *fanfold.Document, size int, err error)
	// Own has the snapshot read for long, until ctx ends, and hold up no other reads.
	Own(ctx context.Context) error
}

// Store is where documents are found and written.
type Store struct {
	Writer *writer.Writer
	Model  func() (m *model.Model, seq uint64)   // returns the model that applies, and the event that applied it, 0 for none
	Read   func(fn func(s Snapshot) error) error // calls fn with a snapshot that is valid until fn returns
	Turns  chan struct{}                         // see query.Request.Turns
}

// Request says which documents are written, and what is made of each.
type Request struct {
	Filter    string // an expression over doc, params and meta
	Params    []byte // a JSON object; nil for none
	Operation writer.Operation
	writer.Request
}

// Update is one request that is carried out. It is for one goroutine.
type Update struct {
	*writer.Bulk
	store   Store
	request Request
	most    int // bytes of ids in a pass
	hints   []string
}

// Begin begins a request, or goes on with one under its key. It returns Invalid for a filter that is wrong, and the errors of writer.NewBulk.
func Begin(ctx context.Context, store Store, r Request) (*Update, error) {
	u := &Update{store: store, request: r, most: maxIDs}
	if _, err := u.query(""); err != nil {
		return nil, err
	}
	b, err := writer.NewBulk(ctx, store.Writer, r.Operation, r.Request)
	u.Bulk = b
	return u, err
}

// query returns the query for a page of the documents that match.
func (u *Update) query(cursor string) (*query.Query, error) {
	m, seq := u.store.Model()
	return query.Compile(query.Request{Collection: u.request.Operation.Key.Collection, ModelSeq: seq, Filter: u.request.Filter, Params: u.request.Params,
		Limit: query.MaxLimit, MaxScan: query.MaxScan, Partial: true, Cursor: cursor, Sharing: query.Sharing{Turns: u.store.Turns}, View: fanfold.Embedded}, m)
}

// Report says what came of a step.
type Report struct {
	Refused []writer.BulkRefusal
	Counts  writer.BulkCounts
	Last    uint64   // the last event stored, or up to which documents were judged where there is none
	Hints   []string // as of query.Result, of the first documents that were looked at
}

// Report returns how far the update is, without refusals.
func (u *Update) Report() Report {
	p := u.Progress()
	return Report{Counts: p.BulkCounts, Last: max(u.Last(), p.Until), Hints: u.hints}
}

// Run writes the documents that match, and calls report after each step. It blocks until all are written or refused; WaitFolded waits for
// their fold. It ends with the errors of report, query.Run and writer.Bulk.Step.
func (u *Update) Run(ctx context.Context, report func(Report) error) error {
	for !u.Progress().Done {
		ids, more, err := u.find(ctx, nil)
		if err != nil {
			return err
		}
		for len(ids) > 0 && !u.Progress().Done {
			taken, refused, err := u.Step(ctx, ids, u.judge)
			if err != nil {
				return err
			}
			r := u.Report()
			r.Refused = refused
			if err := report(r); err != nil {
				return err
			}
			ids = ids[taken:]
		}
		if !more {
			return u.Finish(ctx)
		}
	}
	return nil
}

// judge is a writer.BulkJudge.
func (u *Update) judge(_ context.Context, ids []string) ([]fanfold.Revision, error) {
	q, err := u.query("")
	if err != nil {
		return nil, err
	}
	revisions := make([]fanfold.Revision, len(ids))
	err = u.store.Read(func(s Snapshot) error {
		for i, id := range ids {
			doc, _, err := s.GetWithin(fanfold.Key{Collection: q.Collection(), ID: id}, fanfold.Embedded, maxBody)
			if err != nil {
				return err
			}
			if doc == nil || uint64(doc.Number) > u.Progress().Until {
				continue
			}
			matches, err := q.Matches(doc)
			if err != nil {
				return err
			}
			if matches {
				revisions[i] = doc.Revision
			}
		}
		return nil
	})
	return revisions, err
}

// maxBody is more than any document has in the embedded view, in bytes.
const maxBody = 1 << 30

// Trial says what a request would do.
type Trial struct {
	Matched int // documents
	Judged  int // of these, the first ones by id: the rest tells of them alone
	Counts  writer.BulkCounts
	Refused []writer.BulkRefusal
	Hints   []string // as of Report
	*writer.DryRun
}

// DryRun finds the documents that match, and what the writes of the first of them would do. Nothing is stored. Errors are as of Run.
func (u *Update) DryRun(ctx context.Context) (*Trial, error) {
	t := &Trial{}
	ids, _, err := u.find(ctx, &t.Matched)
	if err != nil {
		return nil, err
	}
	ids = ids[:min(len(ids), maxTrial)]
	t.Judged, t.Hints = len(ids), u.hints
	t.DryRun, t.Counts, t.Refused, err = u.Bulk.DryRun(ctx, ids, u.judge)
	return t, err
}

// Bounds of an update.
const (
	maxIDs   = 16 << 20 // bytes of the ids in a pass
	idBytes  = 32       // besides the id itself
	maxTrial = 1000     // documents whose writes a dry run computes
)

// find returns the next ids of documents that match, in order, and whether a pass after these may find more. It counts all that match, unless
// count is nil.
func (u *Update) find(ctx context.Context, count *int) (ids []string, more bool, err error) {
	p := pass{after: u.Progress().At, until: u.Progress().Until, most: u.most}
	err = u.store.Read(func(s Snapshot) error {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		if err := s.Own(ctx); err != nil {
			return err
		}
		for cursor, on := "", true; on; on = cursor != "" {
			q, err := u.query(cursor)
			if err != nil {
				return err
			}
			result, err := s.Query(ctx, q, func(doc *fanfold.Document) (bool, error) {
				p.add(doc)
				return true, nil
			})
			if err != nil {
				return err
			}
			if cursor == "" {
				u.hints = result.Hints
			}
			cursor = result.Next
		}
		return nil
	})
	if count != nil {
		*count = p.count
	}
	slices.Sort(p.ids)
	return p.ids, p.cut, err
}

// pass collects the least ids that are later than one.
type pass struct {
	after string
	until uint64 // documents that were created later are left out
	most  int    // bytes
	ids   []string
	size  int    // of them, in bytes
	cut   bool   // there are others, which are not less than below
	below string // where it was cut
	count int    // of all
}

// add takes a document in.
func (p *pass) add(doc *fanfold.Document) {
	id := doc.Key.ID
	if uint64(doc.Number) > p.until || id <= p.after {
		return
	}
	p.count++
	if p.cut && id >= p.below {
		return
	}
	p.ids = append(p.ids, id)
	if p.size += len(id) + idBytes; p.size <= p.most || len(p.ids) < 2 {
		return
	}
	slices.Sort(p.ids)
	half := len(p.ids) / 2
	p.cut, p.below = true, p.ids[half]
	clear(p.ids[half:])
	p.ids, p.size = p.ids[:half], 0
	for _, id := range p.ids {
		p.size += len(id) + idBytes
	}
}
