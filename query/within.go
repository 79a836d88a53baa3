package query

import (
	"slices"

	"github.com/fanfold/fanfold/internal/jsondoc"
	"github.com/fanfold/fanfold/internal/sortkey"
	"github.com/fanfold/fanfold/model"
)

// withinTest is what an index can decide about which document the others are to refer to.
type withinTest struct {
	term   string // the relation's path; "" where an index decides nothing
	ranges []sortkey.Range
	exact  bool // the ranges have no document that refers to another one
	source string
}

// testWithin finds out what an index can decide of Within. The snapshot must have the model by which the request was read, for it
// knows the relation.
func (p *planner) testWithin() (t withinTest, err error) {
	w := p.q.request.Within
	if w == nil {
		return t, nil
	}
	rel := p.q.model.Relation(w.Relation)
	if rel == nil || rel.Derived() || slices.ContainsFunc(rel.Path, model.Step.Each) {
		return t, nil
	}
	if known, err := p.knowsModel(); err != nil || !known {
		return t, err
	}
	t = withinTest{term: rel.Path.String(), exact: true, source: "doc." + rel.Path.String() + " == " + string(jsondoc.Quote(w.Target))}
	values := []string{string(jsondoc.Quote(w.Target))}
	if isNumber(w.Target) {
		values, t.exact = append(values, w.Target), false // of one value there are several ids, such as 5 and 5.0
	}
	for _, text := range values {
		tree := jsondoc.MustParse([]byte(text))
		t.ranges = append(t.ranges, sortkey.PointOf(sortkey.Append(nil, tree, jsondoc.Root)))
	}
	slices.SortFunc(t.ranges, func(a, b sortkey.Range) int { return slices.Compare(a.Low, b.Low) })
	return t, nil
}

// isNumber tells whether an id is also the text of a JSON number, with nothing around it.
func isNumber(id string) bool {
	if id == "" || id[0] != '-' && !isDigit(id[0]) || !isDigit(id[len(id)-1]) {
		return false
	}
	return jsondoc.Check([]byte(id), 1) == nil
}

// isDigit tells whether a byte is a decimal digit.
func isDigit(c byte) bool { return c >= '0' && c <= '9' }

// knowsModel tells whether the snapshot has the model by which the request was read.
func (p *planner) knowsModel() (bool, error) {
	seq, err := p.s.ModelSeq()
	return err == nil && seq != 0 && seq == p.q.request.ModelSeq, err
}
