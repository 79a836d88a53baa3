package writer

import (
	"context"
	"slices"
	"testing"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/access"
	"github.com/fanfold/fanfold/internal/modelfile"
	"github.com/fanfold/fanfold/model"
)

// catching is a read model and a leader that count how often they were asked to catch up.
type catching struct {
	ReadModel
	Leader

	fences int
}

func (c *catching) Fence(context.Context) (uint64, error) {
	c.fences++
	return 7, nil
}

func (c *catching) Wait(context.Context, uint64) error { return nil }
func (c *catching) Applied() uint64                    { return 0 }

// TestLaggingNodesRefuseNothing: what a node refuses under rules is tried once more after it has caught up. A second refusal stands, and no
// other error is tried again so.
func TestLaggingNodesRefuseNothing(t *testing.T) {
	refusal, lost := fanfold.Errorf(fanfold.Forbidden, "no"), again(staleAt(fanfold.Key{}, 3))
	for name, c := range map[string]struct {
		errs          []error
		fences, tries int
	}{
		"stored":                {[]error{nil}, 0, 1},
		"refused for lagging":   {[]error{refusal, nil}, 1, 2},
		"refused":               {[]error{refusal, refusal}, 1, 2},
		"lost, then refused":    {[]error{lost, refusal, nil}, 1, 3},
		"refused, lost, stored": {[]error{refusal, lost, nil}, 1, 3},
		"refused, lost, no":     {[]error{refusal, lost, refusal}, 1, 3},
		"out of reach":          {[]error{fanfold.Errorf(fanfold.Unavailable, "later")}, 0, 1},
	} {
		log := &catching{}
		w := underRules{&Writer{Dependencies: Dependencies{ReadModel: log, Leader: log}}}
		certain, errs := false, slices.Clone(c.errs)
		try := func(context.Context) (uint64, error) {
			err := errs[0]
			errs = errs[1:]
			return 5, err
		}
		_, err := w.decide(t.Context(), plan{await: atOnce, try: func(ctx context.Context, _ bool) (uint64, error) { return w.certainly(ctx, &certain, nil, try) }})
		if len(errs) != len(c.errs)-c.tries || log.fences != c.fences || err != c.errs[c.tries-1] { //nolint:errorlint // it must be as it came
			t.Errorf("%s: %d fences, %d tries are left, %v", name, log.fences, len(errs), err)
		}
	}
}

// TestManyDocumentsNeedAllRights: whoever may write some documents by a rule may not write many at a time, nor have frozen values taken again.
func TestManyDocumentsNeedAllRights(t *testing.T) {
	m, err := modelfile.Parse([]byte(`collections: {books: {access: {read: {where: "doc.a == 1"}, update: {where: "old.a == 1"}, delete: {where: "old.a == 1"}}}}`))
	if err != nil {
		t.Fatal(err)
	}
	p := &access.Principal{ID: "ann"}
	by := access.NewJudge(&someKeys{valid: map[*access.Principal]bool{p: true}}, func() *model.Model { return m }).Of(p)
	key := fanfold.Key{Collection: "books"}
	for _, kind := range []OperationKind{Patch, Delete} {
		op := Operation{Kind: kind, Key: key}
		if err := op.Judge(by); err != nil {
			t.Errorf("one %s: %v", kind, err)
		}
		if _, err := NewBulk(t.Context(), untouched(), op, Request{Intent: Intent{By: by}}); fanfold.CodeOf(err) != fanfold.Forbidden {
			t.Errorf("many times %s: %v", kind, err)
		}
		op.Refresh = []string{"x"}
		if err := op.Judge(by); fanfold.CodeOf(err) != fanfold.Forbidden {
			t.Errorf("%s with refresh: %v", kind, err)
		}
	}
	if _, err := untouched().DeleteNext(t.Context(), key, Intent{By: by}); fanfold.CodeOf(err) != fanfold.Forbidden {
		t.Errorf("a delete in steps: %v", err)
	}
}

// oneMachine is a read model that shows one document, and a log that nobody writes.
type oneMachine struct {
	catching
	Models

	model *model.Model
}

func (o *oneMachine) Model() (*model.Model, uint64, model.Reserved) { return o.model, 3, nil }

func (o *oneMachine) Read(fn func(s Snapshot) error) error { return fn(shownMachine{}) }

// shownMachine is what oneMachine shows.
type shownMachine struct{ Snapshot }

func (shownMachine) Get(key fanfold.Key, _ fanfold.View) (*fanfold.Document, error) {
	return &fanfold.Document{Key: key, Revision: 5, Body: []byte(`{"owner":"bob"}`)}, nil
}

// TestRefusedDeletesHoldUpNobody: the delete of a document that its sender may read and not delete closes the gate for no writes, and looks at no
// holders, which would tell of them. So does a transaction with such a delete.
func TestRefusedDeletesHoldUpNobody(t *testing.T) {
	m, err := modelfile.Parse([]byte(`collections:
  machines: { access: { read: [everyone], delete: { where: "old.owner == auth.sub" } } }
  parts: { access: { read: [everyone], write: [everyone] }, relations: { machine: { path: machine, to: machines, onDelete: restrict }, also: { path: also, to: machines, onDelete: cascade } } }
`))
	if err != nil {
		t.Fatal(err)
	}
	p := &access.Principal{ID: "ann", Sub: "ann"}
	by := access.NewJudge(&someKeys{valid: map[*access.Principal]bool{p: true}}, func() *model.Model { return m }).Of(p)
	shown := &oneMachine{model: m}
	for name, write := range map[string]func(w *Writer, op *Operation, req Request) error{
		"alone": func(w *Writer, op *Operation, req Request) error { _, err := w.Write(t.Context(), op, req); return err },
		"in a transaction": func(w *Writer, op *Operation, req Request) error {
			part := &Operation{Kind: Put, Key: fanfold.Key{Collection: "parts", ID: "p"}, Content: []byte(`{}`)}
			if err := w.Prepare(t.Context(), part, by); err != nil {
				return err
			}
			_, err := w.Transact(t.Context(), []*Operation{part, op}, req)
			return err
		},
		"a dry run": func(w *Writer, op *Operation, req Request) error {
			req.DryRun = true
			_, err := w.Write(t.Context(), op, req)
			return err
		},
	} {
		w := New(Dependencies{Models: shown, ReadModel: shown, Leader: &shown.catching}, Options{MaxEvent: 1 << 20})
		op := &Operation{Kind: Delete, Key: fanfold.Key{Collection: "machines", ID: "m"}}
		if err := w.Prepare(t.Context(), op, by); err != nil {
			t.Fatal(err)
		}
		if err := write(w, op, Request{Intent: Intent{By: by}}); fanfold.CodeOf(err) != fanfold.Forbidden || w.gate.version != 0 {
			t.Errorf("%s: %v, the gate was closed %d times", name, err, w.gate.version)
		}
		w.Close()
	}
}
