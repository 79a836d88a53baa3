package changefeed

import (
	"testing"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/internal/expr"
)

// TestFilteredErasures: whatever a filter says, a consumer is told to forget an erased document. If an erasure makes a view another one, the
// document matches it, or leaves.
func TestFilteredErasures(t *testing.T) {
	key := fanfold.Key{Collection: "a", ID: "1"}
	erase := &fanfold.Change{Position: fanfold.At(9, 0), Prior: 1, Key: key, Op: fanfold.OpErase}
	derive := &fanfold.Change{Position: fanfold.At(9, 1), Prior: 1, Key: key, Op: fanfold.OpDerive, Rules: []string{fanfold.RuleErase}}
	matching, other := []byte(`{"x":1}`), []byte(`{"x":2}`)
	const byDoc, byChange = "has(doc.x) && doc.x == 1", "change.op == 'create'"
	for what, c := range map[string]struct {
		filter        string
		row           fanfold.ChangeRow
		fresh         fanfold.Position
		given, leaves bool
	}{
		"erased":                                {byDoc, fanfold.ChangeRow{Change: erase}, 0, true, false},
		"erased, to a new consumer":             {byDoc, fanfold.ChangeRow{Change: erase}, fanfold.At(10, 0), true, false},
		"erased, by the change":                 {byChange, fanfold.ChangeRow{Change: erase}, 0, true, false},
		"erased and there again":                {byDoc, fanfold.ChangeRow{Change: erase, Superseded: true, Newest: matching}, 0, false, false},
		"erased and there again, another":       {byDoc, fanfold.ChangeRow{Change: erase, Superseded: true, Newest: other}, 0, true, false},
		"shown, and matches":                    {byDoc, fanfold.ChangeRow{Change: derive, After: matching, Held: matching}, 0, true, false},
		"shown, and matches no more":            {byDoc, fanfold.ChangeRow{Change: derive, After: other, Held: other}, 0, true, true},
		"shown, to a new consumer":              {byDoc, fanfold.ChangeRow{Change: derive, After: other}, fanfold.At(9, 1), false, false},
		"shown, by the change":                  {byChange, fanfold.ChangeRow{Change: derive}, 0, false, false},
		"shown and changed, matches":            {byDoc, fanfold.ChangeRow{Change: derive, Superseded: true, After: other, Newest: matching}, 0, false, false},
		"shown and changed, matches no more":    {byDoc, fanfold.ChangeRow{Change: derive, Superseded: true, After: other, Newest: other}, 0, true, true},
		"shown and changed, and leaves by that": {byDoc, fanfold.ChangeRow{Change: derive, Superseded: true, After: matching, Newest: other}, 0, false, false},
	} {
		filter, err := expr.CompileFilter(c.filter, nil)
		if err != nil {
			t.Fatal(err)
		}
		s := &scan{req: &request{filter: filter, fresh: c.fresh}}
		row, given := s.judge(c.row)
		if given != c.given || given && row.Leaves != c.leaves {
			t.Errorf("%s: given %t, leaves %t", what, given, row.Leaves)
		}
	}
}
