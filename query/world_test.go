package query_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/internal/modelfile"
	"github.com/fanfold/fanfold/model"
	"github.com/fanfold/fanfold/projector/fold"
	"github.com/fanfold/fanfold/query"
	"github.com/fanfold/fanfold/sqlite"
)

// world is a read model that a fold fills, and what is in it.
type world struct {
	store    *sqlite.Store
	fold     *fold.Fold
	seq      uint64
	model    *model.Model
	modelSeq uint64
	allow    func(*query.Query) // is called with each query before it runs; nil for nothing
}

// tester is a test, or one of the checks of a random one.
type tester interface {
	fataler
	Errorf(format string, args ...any)
	Cleanup(fn func())
}

// newWorld returns an empty one. It is removed when the test ends.
func newWorld(t tester) *world {
	t.Helper()
	dir, err := os.MkdirTemp("", "query")
	if err != nil {
		t.Fatalf("%v", err)
	}
	store, err := sqlite.OpenStore(dir, sqlite.Options{Fingerprint: fold.Fingerprint()})
	if err != nil {
		t.Fatalf("%v", err)
	}
	t.Cleanup(func() {
		if err := errors.Join(store.Close(), os.RemoveAll(dir)); err != nil {
			t.Errorf("%v", err)
		}
	})
	empty, err := fold.NewPlan(model.Empty(), 0, nil)
	if err != nil {
		t.Fatalf("%v", err)
	}
	return &world{store: store, fold: fold.New(empty, fold.Options{}), model: model.Empty()}
}

// fataler ends a test.
type fataler interface {
	Helper()
	Fatalf(format string, args ...any)
}

// timeOf returns when an event is.
func timeOf(seq uint64) time.Time { return time.Unix(1_700_000_000+int64(seq), 0).UTC() }

// apply folds events in one transaction.
func (w *world) apply(t fataler, events ...*fanfold.Event) {
	t.Helper()
	for _, ev := range events {
		w.seq++
		ev.Seq, ev.Time = w.seq, timeOf(w.seq)
	}
	if err := w.store.Use(func(db *sqlite.DB) error {
		return db.Update(func(tx *sqlite.Tx) error { return w.fold.ApplyAll(tx, events) })
	}); err != nil {
		t.Fatalf("%v", err)
	}
}

// setModel applies a model.
func (w *world) setModel(t fataler, source string) {
	t.Helper()
	m, err := modelfile.Parse([]byte(source))
	if err != nil {
		t.Fatalf("%s: %v", source, err)
	}
	w.apply(t, &fanfold.Event{Kind: fanfold.KindModel, Body: m.Source})
	w.model, w.modelSeq = m, w.seq
}

// put returns the event of a document.
func put(collection, id, body string) *fanfold.Event {
	return &fanfold.Event{Kind: fanfold.KindPut, Key: fanfold.Key{Collection: collection, ID: id}, Body: []byte(body)}
}

// remove returns the event of a delete.
func remove(collection, id string) *fanfold.Event {
	return &fanfold.Event{Kind: fanfold.KindDelete, Key: fanfold.Key{Collection: collection, ID: id}}
}

// answer is what a page has.
type answer struct {
	*query.Result
	ids []string
}

// request returns a request for documents, with what a test leaves out.
func (w *world) request(r query.Request) query.Request {
	if r.Collection == "" {
		r.Collection = "things"
	}
	if r.Limit == 0 {
		r.Limit = 100
	}
	r.ModelSeq = w.modelSeq
	return r
}

// ask answers a request.
func (w *world) ask(r query.Request) (*answer, error) {
	q, err := query.Compile(w.request(r), w.model)
	if err != nil {
		return nil, err
	}
	if w.allow != nil {
		w.allow(q)
	}
	var a *answer
	err = w.store.Read(func(s *sqlite.Snapshot) (err error) {
		a = &answer{}
		a.Result, err = q.Run(context.Background(), s, func(doc *fanfold.Document) (bool, error) {
			a.ids = append(a.ids, doc.Key.ID)
			return true, nil
		})
		return err
	})
	return a, err
}

// mustAsk answers a request that is right.
func (w *world) mustAsk(t fataler, r query.Request) *answer {
	t.Helper()
	a, err := w.ask(r)
	if err != nil {
		t.Fatalf("%s: %v", describe(r), err)
	}
	return a
}

// describe says what a request asks for.
func describe(r query.Request) string {
	return fmt.Sprintf("filter %s sort %q group %q compute %q limit %d count %v within %v", r.Filter, r.Sort, r.Group, r.Compute, r.Limit, r.Count, r.Within)
}
