package api

import (
	"context"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/access"
	"github.com/fanfold/fanfold/internal/admission"
	"github.com/fanfold/fanfold/internal/modelfile"
	"github.com/fanfold/fanfold/internal/wire"
	"github.com/fanfold/fanfold/membership"
	"github.com/fanfold/fanfold/model"
	"github.com/fanfold/fanfold/query"
	"github.com/fanfold/fanfold/writer"
)

// memory holds documents; views read nothing else of it. It counts what is asked of it.
type memory struct {
	query.Snapshot
	docs    []*fanfold.Document // by number
	calls   map[string]int
	changes int64         // between any two states
	changed []fanfold.Key // between any two states
}

func newMemory() *memory {
	m := &memory{calls: map[string]int{}, changed: []fanfold.Key{{Collection: "books", ID: "b1"}}}
	for i, d := range []struct{ collection, id, body string }{
		{"authors", "a1", `{"id":"a1","name":"Ursula"}`}, {"books", "b1", `{"id":"b1","author":"a1"}`}, {"books", "b2", `{"id":"b2","author":"a1"}`}} {
		at := fanfold.At(uint64(i+1), 0)
		m.docs = append(m.docs, &fanfold.Document{Key: fanfold.Key{Collection: d.collection, ID: d.id}, Number: int64(i + 1), Revision: fanfold.Revision(i + 1), Position: at, Body: []byte(d.body)})
	}
	return m
}

func (m *memory) find(key fanfold.Key) *fanfold.Document {
	i := slices.IndexFunc(m.docs, func(d *fanfold.Document) bool { return d.Key == key })
	if i < 0 {
		return nil
	}
	doc := *m.docs[i]
	return &doc
}

func (m *memory) each(fn func(doc *fanfold.Document) (bool, error)) (bool, error) {
	for _, d := range m.docs {
		if d.Key.Collection == "books" {
			if more, err := fn(d); err != nil || !more {
				return true, err
			}
		}
	}
	return false, nil
}

func (m *memory) Get(key fanfold.Key, _ fanfold.View) (*fanfold.Document, fanfold.Position, error) {
	m.calls["Get"]++
	return m.find(key), m.At(), nil
}

func (m *memory) Read(fn func(s Snapshot) error) error { return fn(m) }

func (m *memory) LargestTargets(context.Context, []*model.Relation, int) ([]wire.LargestTarget, fanfold.Position, error) {
	m.calls["LargestTargets"]++
	return nil, m.At(), nil
}

func (m *memory) Scan(context.Context) (Scan, error) { return m, nil }

func (m *memory) At() fanfold.Position { return fanfold.At(3, 0) }

func (m *memory) HasCollection(name string) (bool, error) {
	return name == "books" || name == "authors", nil
}

func (m *memory) ReadLong(fn func(s Snapshot) error) error { return m.Read(fn) }

func (m *memory) SequencesAfter(string, fanfold.Counter, int) ([]fanfold.Counter, bool, error) {
	return nil, false, nil
}

func (m *memory) CollectionsBehind(string, int) ([]fanfold.CollectionCount, bool, error) {
	m.calls["CollectionsBehind"]++
	return []fanfold.CollectionCount{{Name: "books", Documents: 2}}, false, nil
}

func (m *memory) GetWithin(key fanfold.Key, _ fanfold.View, maxBytes int) (*fanfold.Document, int, error) {
	m.calls["GetWithin"]++
	doc := m.find(key)
	if doc == nil {
		return nil, 0, nil
	}
	size := len(doc.Body)
	if size > maxBytes {
		doc.Body = nil
	}
	return doc, size, nil
}

func (m *memory) Time() time.Time                   { return time.Time{} }
func (m *memory) Oldest() (fanfold.Position, error) { return 0, nil }
func (m *memory) ModelAt(fanfold.Position) ([]byte, uint64, error) {
	return []byte(memoryModel), 1, nil
}

func (m *memory) Resolve(at fanfold.Moment) (fanfold.Position, error) {
	return min(at.Position, m.At()), nil
}

func (m *memory) GetAt(_ fanfold.Position, key fanfold.Key, view fanfold.View, maxBytes int) (*fanfold.Document, int, error) {
	m.calls["GetAt"]++
	return m.GetWithin(key, view, maxBytes)
}

func (m *memory) EachListedAt(_ fanfold.Position, _, _ string, _ int, _ fanfold.View, fn func(doc *fanfold.Document) (bool, error)) (string, bool, error) {
	m.calls["EachListedAt"]++
	more, err := m.each(fn)
	return "", more, err
}

func (m *memory) EachReferringAt(_ fanfold.Position, _, _ string, _ int64, _ int, _ fanfold.View, fn func(doc *fanfold.Document) (bool, error)) (int64, bool, error) {
	m.calls["EachReferringAt"]++
	more, err := m.each(fn)
	return 1, more, err
}

func (m *memory) EachOnPageAt(_ fanfold.Position, p model.PageQuery, begin func(page, pages int64) error, fn func(doc *fanfold.Document) (bool, error)) error {
	m.calls["EachOnPageAt"]++
	return m.EachOnPage(p, begin, fn)
}

func (m *memory) StoredModelAt(fanfold.Position) (src []byte, reserved model.Reserved, retired model.Retired, err error) {
	return nil, nil, nil, nil
}

func (m *memory) CreatedAt(_ fanfold.Position, after int64, _ int) ([]*fanfold.Document, int64, bool, error) {
	m.calls["CreatedAt"]++
	return slices.Clone(m.docs[after:]), int64(len(m.docs)), false, nil
}

func (m *memory) ChangesBetween(fanfold.Position, fanfold.Position) (int64, error) {
	return m.changes, nil
}

func (m *memory) ChangedKeys(_, to fanfold.Position, _ bool, keep func(fanfold.Key)) (fanfold.Position, error) {
	m.calls["ChangedKeys"]++
	for _, key := range m.changed {
		keep(key)
	}
	return to, nil
}

func (m *memory) Versions(q fanfold.VersionQuery) (fanfold.VersionPage, error) {
	m.calls["Versions"]++
	doc := m.find(q.Key)
	ch := &fanfold.Change{Key: q.Key, Op: fanfold.OpCreate, Position: doc.Position}
	return fanfold.VersionPage{Known: true, Versions: []fanfold.Version{{ChangeRow: fanfold.ChangeRow{Change: ch, Doc: doc}}}}, nil
}

func (m *memory) EachListed(_, _ string, _ int, _ fanfold.View, fn func(doc *fanfold.Document) (bool, error)) (bool, error) {
	m.calls["EachListed"]++
	return m.each(fn)
}

func (m *memory) EachReferring(_, _ string, _ int64, _ int, _ fanfold.View, fn func(doc *fanfold.Document) (bool, error)) (bool, error) {
	m.calls["EachReferring"]++
	return m.each(fn)
}

func (m *memory) EachOnPage(_ model.PageQuery, begin func(page, pages int64) error, fn func(doc *fanfold.Document) (bool, error)) error {
	m.calls["EachOnPage"]++
	if err := begin(1, 1); err != nil {
		return err
	}
	_, err := m.each(fn)
	return err
}

func (m *memory) Model() (src []byte, reserved model.Reserved, retired model.Retired, err error) {
	return nil, nil, nil, nil
}

func (m *memory) All(after int64, _ int) ([]*fanfold.Document, bool, error) {
	m.calls["All"]++
	return slices.Clone(m.docs[after:]), false, nil
}

func (m *memory) EachKept(int64, func(rule, target string, value []byte) error) error { return nil }

func (m *memory) Close() error { return nil }

func (m *memory) LineageAt(ctx context.Context, key fanfold.Key, _ fanfold.Moment) (*wire.Lineage, error) {
	return m.Lineage(ctx, key)
}

func (m *memory) Lineage(_ context.Context, key fanfold.Key) (*wire.Lineage, error) {
	m.calls["Lineage"]++
	return &wire.Lineage{Derived: []wire.DerivedValue{}, Copies: []wire.Copies{{Rule: key.ID}}}, nil
}

// still is a node that has folded everything.
type still struct{ model *model.Model }

func (still) CatchingUp(context.Context) error                { return nil }
func (still) CaughtUp() bool                                  { return true }
func (still) TooFar() error                                   { return nil }
func (still) Wait(context.Context, uint64) error              { return nil }
func (still) Applied() uint64                                 { return 3 }
func (still) Proposal() (*model.Proposal, uint64)             { return nil, 1 }
func (s still) Model() (*model.Model, uint64, model.Reserved) { return s.model, 1, nil }

// stillLag is the lag of a still node, which is none.
type stillLag struct{ still }

func (stillLag) Wait(context.Context, membership.LagBound) error { return nil }

// memoryModel is the model of a server of documents in memory.
const memoryModel = `{"collections":{"authors":{},"books":{"relations":{"author":{"path":"author","to":"authors"}},"pages":{"by":"author","size":2}}}}`

// serving returns a server of documents in memory, and nothing else.
func serving(t *testing.T) (*Server, *memory) {
	t.Helper()
	m := newMemory()
	return servingFrom(t, m, m), m
}

// servingFrom returns a server that reads documents from a reader.
func servingFrom(t *testing.T, from Reader, m *memory) *Server {
	return servingWithin(t, from, m, time.Millisecond)
}

// servingWithin is servingFrom where requests wait for a place for some time.
func servingWithin(t *testing.T, from Reader, m *memory, patience time.Duration) *Server {
	t.Helper()
	declared, err := modelfile.Parse([]byte(memoryModel))
	if err != nil {
		t.Fatal(err)
	}
	node := still{declared}
	return New(Dependencies{Writer: &writer.Writer{}, ViewDependencies: ViewDependencies{Reader: from, Tracer: m}, Folded: node, Models: node, Lag: stillLag{node},
		Judge: access.NewJudge(access.Everybody{}, func() *model.Model { return declared })}, Options{SpoolDir: t.TempDir(), Admission: patience})
}

// request returns the answer to a request without a body.
func request(s *Server, method, path string) *httptest.ResponseRecorder {
	w, r := httptest.NewRecorder(), httptest.NewRequest(method, path, nil)
	r.Host = "localhost"
	s.Handler().ServeHTTP(w, r)
	return w
}

// TestDocumentsComeFromTheView: each route that answers with documents asks the sources of the view, by which alone they leave,
// and answers with what these have.
func TestDocumentsComeFromTheView(t *testing.T) {
	s, m := serving(t)
	for _, c := range []struct{ path, asks, has string }{
		{"/v1", "CollectionsBehind", `"documents":2`},
		{"/v1/books/b1", "Get", `{"id":"b1","author":"a1"}`},
		{"/v1/books/b1?expand=author", "GetWithin", `"_expanded":{"author":{"a1":{"id":"a1","name":"Ursula"}}}`},
		{"/v1/books", "EachListed", `"id":"b2"`},
		{"/v1/books?ids=b2,b3", "GetWithin", `"missing":["b3"]`},
		{"/v1/authors/a1/books", "EachReferring", `"id":"b2"`},
		{"/v1/authors/a1/books?page=1", "EachOnPage", `"pages":1`},
		{"/v1/books/b1/_lineage", "Lineage", `"rule":"b1"`},
		{"/v1/books/b1?at=3", "GetAt", `{"id":"b1","author":"a1"}`},
		{"/v1/books?at=3", "EachListedAt", `"id":"b2"`},
		{"/v1/authors/a1/books?at=3", "EachReferringAt", `"id":"b2"`},
		{"/v1/authors/a1/books?page=1&at=3", "EachOnPageAt", `"pages":1`},
		{"/v1/_export?at=3", "CreatedAt", `{"collection":"books","doc":{"id":"b2","author":"a1"}}`},
		{"/v1/books/b1/_history", "Versions", `"doc":{"id":"b1","author":"a1"`},
		{"/v1/_diff?from=1", "ChangedKeys", `"items":[]`},
		{"/v1/_export", "All", `{"collection":"books","doc":{"id":"b2","author":"a1"}}`},
	} {
		clear(m.calls)
		w := request(s, http.MethodGet, c.path)
		if w.Code != http.StatusOK || m.calls[c.asks] == 0 || !strings.Contains(w.Body.String(), c.has) {
			t.Errorf("%s asked %v, want %s: %d %s", c.path, m.calls, c.asks, w.Code, w.Body)
		}
	}
	clear(m.calls)
	if w := request(s, http.MethodHead, "/v1/books/b1"); w.Code != http.StatusOK || m.calls["Get"] != 1 || w.Header().Get("ETag") == "" {
		t.Errorf("HEAD asked %v: %d %v", m.calls, w.Code, w.Header())
	}
}

// TestDifferencesAreBounded: states are compared that lie up to maxDiffered changes apart, and a few at a time, beside exports.
func TestDifferencesAreBounded(t *testing.T) {
	s, m := serving(t)
	want := func(status int, problem string) {
		t.Helper()
		if w := request(s, http.MethodGet, "/v1/_diff?from=1"); w.Code != status || !strings.Contains(w.Body.String(), problem) {
			t.Errorf("%d changes apart: %d %s, want %d %s", m.changes, w.Code, w.Body, status, problem)
		}
	}
	m.changes = maxDiffered
	want(http.StatusOK, `"items":[]`)
	m.changes++
	want(http.StatusUnprocessableEntity, "1000001 changes")
	m.changes = 0
	leave := func() {}
	for next := leave; next != nil; next = s.opt.Budget.TryEnter(admission.Exports, "others") {
		leave = next
	}
	want(http.StatusTooManyRequests, "busy")
	leave()
	want(http.StatusOK, `"items":[]`)
}
