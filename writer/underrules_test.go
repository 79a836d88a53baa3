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
		_, err := w.decide(t.Context(), plan{await: atOnce, try: func(ctx context.Context, _ bool) (uint64, error) { return w.certainly(ctx, &certain, try) }})
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
