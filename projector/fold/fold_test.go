package fold_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/internal/modelfile"
	"github.com/fanfold/fanfold/model"
	"github.com/fanfold/fanfold/projector/batch"
	"github.com/fanfold/fanfold/projector/fold"
	"github.com/fanfold/fanfold/projector/inspect"
	"github.com/fanfold/fanfold/sqlite"
)

// machine folds events into a read model of its own.
type machine struct {
	store *sqlite.Store
	fold  *fold.Fold
	seq   uint64

	folded []*fanfold.Event
}

// newMachine returns a machine under the empty model. Its store is closed when the test ends.
func newMachine(t testing.TB) *machine {
	t.Helper()
	store, err := sqlite.OpenStore(t.TempDir(), sqlite.Options{Fingerprint: fold.Fingerprint()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	})
	empty, err := fold.NewPlan(model.Empty(), 0, nil)
	if err != nil {
		t.Fatal(err)
	}
	return &machine{store: store, fold: fold.New(empty, fold.Options{})}
}

// run folds one event and returns every change it caused, with each document as it is now.
func (m *machine) run(d *datadriven.TestData) string {
	ev := &fanfold.Event{Kind: fanfold.Kind(d.Cmd), Body: []byte(d.Input)}
	if len(d.CmdArgs) > 0 {
		ev.Key.Collection, ev.Key.ID, _ = strings.Cut(d.CmdArgs[0].Key, "/")
	}
	for _, arg := range d.CmdArgs {
		if arg.Key == "refresh" {
			ev.Refresh = arg.Vals
		}
	}
	switch d.Cmd {
	case "get":
		return m.get(ev.Key)
	case "verify":
		v, err := inspect.Verify(context.Background(), m.store, nil)
		if err != nil || len(v.Wrong) > 0 {
			return fmt.Sprintf("%v %v\n", v, err)
		}
		return fmt.Sprintf("%d documents are right\n", v.Documents)
	case "merge", "jsonpatch":
		ev.Kind, ev.Patch = fanfold.KindPatch, fanfold.PatchType(strings.TrimSuffix(d.Cmd, "patch"))
		ev.Base = m.revision(ev.Key)
	}
	if ev.Kind == fanfold.KindModel {
		parsed, err := modelfile.Parse(ev.Body)
		if err != nil {
			return message(err)
		}
		ev.Body = parsed.Source
	}
	m.seq++
	ev.Seq, ev.Time = m.seq, time.Unix(int64(m.seq), 0)
	if err := m.store.Use(func(db *sqlite.DB) error { return apply(db, m.fold, []*fanfold.Event{ev}) }); err != nil {
		m.seq--
		return err.Error() + "\n"
	}
	m.folded = append(m.folded, ev)
	return m.changes()
}

func message(err error) string {
	var b strings.Builder
	var e *fanfold.Error
	if !errors.As(err, &e) {
		return err.Error() + "\n"
	}
	fmt.Fprintf(&b, "%s: %s\n", e.Code, e.Message)
	for _, p := range e.Problems {
		fmt.Fprintf(&b, "  %s: %s\n", p.Path, p.Detail)
	}
	return b.String()
}

func (m *machine) revision(key fanfold.Key) fanfold.Revision {
	doc, _, err := m.store.Get(key, fanfold.Referenced)
	if err != nil || doc == nil {
		return 0
	}
	return doc.Revision
}

func (m *machine) get(key fanfold.Key) string {
	var b strings.Builder
	for _, view := range []fanfold.View{fanfold.Embedded, fanfold.Referenced} {
		doc, _, err := m.store.Get(key, view)
		if err != nil || doc == nil {
			return fmt.Sprintf("%v %v\n", doc, err)
		}
		fmt.Fprintf(&b, "rev %d at %s: %s\n", doc.Revision, doc.Position, doc.Body)
	}
	return b.String()
}

// changes writes the rows of the last event.
func (m *machine) changes() string {
	var b strings.Builder
	err := m.store.Read(func(s *sqlite.Snapshot) error {
		page, err := s.Changes(fanfold.ChangeQuery{After: fanfold.At(m.seq, 0) - 1, Limit: 1000, Docs: true})
		for _, row := range page.Rows {
			fmt.Fprintf(&b, "%s %s %s rev %d", row.Position, row.Op, row.Key, row.Revision)
			if row.Op == fanfold.OpDerive {
				fmt.Fprintf(&b, " by %s: %s", strings.Join(row.Rules, ","), row.Delta)
			}
			if row.Doc != nil {
				fmt.Fprintf(&b, "\n  %s", row.Doc.Body)
			}
			b.WriteByte('\n')
		}
		return err
	})
	if err != nil {
		return err.Error() + "\n"
	}
	if b.Len() == 0 {
		return "no change\n"
	}
	return b.String()
}

// TestFold runs the golden files; -rewrite writes what comes out into them. Every file ends with a verify.
func TestFold(t *testing.T) {
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		if strings.Contains(path, "fuzz") {
			return
		}
		for _, opt := range []fold.Options{{}, {Workers: batch.NewWorkers(), WorkersFrom: 1}} {
			m := newMachine(t)
			m.fold = fold.New(m.fold.Plan(), opt)
			datadriven.RunTest(t, path, func(_ *testing.T, d *datadriven.TestData) string { return m.run(d) })
			if v, err := inspect.Verify(t.Context(), m.store, nil); err != nil || len(v.Wrong) > 0 {
				t.Errorf("%s with %+v ends with %+v, %v", path, opt, v, err)
			}
		}
	})
}

// FuzzModel checks that no text makes the model's reader panic, and that a model which it accepts can be folded with
// and reads the same from its own JSON.
func FuzzModel(f *testing.F) {
	f.Add([]byte("collections: {a: {relations: {r: {path: \"x[].id\", to: b}}, derive: {\"x[].n\": {copy: r, value: doc.n}}}, b: {derive: {c: {count: a.r}}}}"))
	f.Add([]byte(`{"collections":{"a":{"derive":{"l":{"ids":"a.r","limit":3}},"relations":{"r":{"path":"p","to":"a","onDelete":"keep"}}}}}`))
	f.Add([]byte("collections:\n  a: {}\n  a: {}\n"))
	f.Fuzz(func(t *testing.T, src []byte) {
		m, err := modelfile.Parse(src)
		if err != nil {
			if fanfold.CodeOf(err) != fanfold.Invalid {
				t.Fatal(err)
			}
			return
		}
		if _, err := fold.NewPlan(m, 1, nil); err != nil {
			t.Fatal(err)
		}
		again, err := modelfile.Parse(m.Source)
		if err != nil || string(again.Source) != string(m.Source) {
			t.Fatalf("%s comes back as %v, %v", m.Source, again, err)
		}
	})
}

// apply folds a batch in one transaction.
func apply(db *sqlite.DB, f *fold.Fold, batch []*fanfold.Event) error {
	return db.Update(func(tx *sqlite.Tx) error { return f.ApplyAll(tx, batch) })
}
