package query

import (
	"errors"
	"fmt"
	"strings"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/internal/expr"
	"github.com/fanfold/fanfold/internal/jsondoc"
)

// condition is one that documents must meet to be in an answer.
type condition struct {
	compiled *expr.Condition
	params   *jsondoc.Tree // nil for none
}

// compileFilter reads the filter. It is the one place from which conditions come.
func (q *Query) compileFilter() error {
	var params *jsondoc.Tree
	if q.request.Params != nil {
		var err error
		if params, err = expr.ParseParams(q.request.Params); err != nil {
			return fanfold.Errorf(fanfold.Invalid, "params: %s", oneLine(err))
		}
	}
	if q.request.Filter == "" {
		return nil
	}
	compiled, err := expr.CompileCondition(q.request.Filter)
	if err != nil {
		return fanfold.Errorf(fanfold.Invalid, "filter: %s", oneLine(err))
	}
	q.conditions = append(q.conditions, condition{compiled, params})
	f, err := q.bind()
	if err == nil {
		q.shape, q.bound = f.shape(), f
	}
	return err
}

// oneLine returns the first line of an error: the others point at the place.
func oneLine(err error) string {
	line, _, _ := strings.Cut(fanfold.MessageOf(err), "\n")
	return line
}

// filter is what documents must meet, for one run of a query.
type filter struct {
	bounds    []*expr.Bound
	conjuncts []conjunct
	ruled     bool // the first of bounds is Request.Visible's
	seen      int  // documents that count counted
}

// test is what an index can decide of a conjunct.
type test = expr.Test

// conjunct is a part of a filter. All of them must be true.
type conjunct struct {
	expr.Conjunct
	bound, index int // of the Bound that it is of, and its place there
}

// takeFilter returns the filter of the conditions; nothing of it is spent. The error is Invalid.
func (q *Query) takeFilter() (*filter, error) {
	q.spent = 0
	if f := q.bound; f != nil {
		q.bound = nil
		return f, nil
	}
	return q.bind()
}

// bind makes the filter of the conditions. The error is Invalid.
func (q *Query) bind() (*filter, error) {
	f := &filter{}
	if v := q.request.Visible; v != nil {
		bound, err := v.Bind()
		if err != nil {
			return nil, fanfold.Errorf(fanfold.Forbidden, "the rule of the right to read %s costs too much before it looks at a document", q.request.Collection)
		}
		f.ruled = true
		f.add(bound)
	}
	for _, c := range q.conditions {
		bound, err := c.compiled.Bind(c.params)
		if err != nil {
			return nil, fanfold.Errorf(fanfold.Invalid, "filter: %s", oneLine(err))
		}
		f.add(bound)
	}
	return f, nil
}

// add adds a condition, which must be true besides those that are there.
func (f *filter) add(bound *expr.Bound) {
	for j, part := range bound.Conjuncts() {
		f.conjuncts = append(f.conjuncts, conjunct{part, len(f.bounds), j})
	}
	f.bounds = append(f.bounds, bound)
}

// residual is what of a filter an index leaves to be judged.
type residual struct {
	rule   *expr.Bound // of Request.Visible; nil where nothing of it is left
	bounds []*expr.Bound
	source string
}

// only returns the filter without the conjuncts for which skip is true.
func (f *filter) only(skip func(i int) bool) *residual {
	r, indices, sources := &residual{}, make([][]int, len(f.bounds)), []string(nil)
	for i, c := range f.conjuncts {
		if !skip(i) {
			indices[c.bound] = append(indices[c.bound], c.index)
			sources = append(sources, c.Source)
		}
	}
	for i, b := range f.bounds {
		switch {
		case len(indices[i]) == 0:
		case i == 0 && f.ruled:
			r.rule = b.Only(indices[i])
		default:
			r.bounds = append(r.bounds, b.Only(indices[i]))
		}
	}
	r.source = strings.Join(sources, " && ")
	return r
}

// checkCost returns an error where the request's expressions have cost too much.
func (r *run) checkCost() error {
	cost := r.q.spent
	for _, b := range r.filter.bounds {
		cost += b.Cost()
	}
	if cost > r.q.work.cost {
		return r.pastCost()
	}
	return nil
}

// pastCost returns the error of expressions that have cost too much.
func (r *run) pastCost() error {
	return &pastBound{fmt.Sprintf("the request's expressions cost more than %d on all documents together", r.q.work.cost)}
}

// empty tells whether every document meets it.
func (r *residual) empty() bool { return r.rule == nil && len(r.bounds) == 0 }

// hides tells whether who asks does not see a document.
func (r *residual) hides(f expr.Facts) (bool, error) {
	if r.rule == nil {
		return false, nil
	}
	verdict, err := r.rule.Judge(f)
	return verdict != expr.True, err
}

// count counts an item's document that who asks sees. Under a rule these alone count for the request's maxScan. A filter that an index serves would
// tell otherwise of how many others it is true.
func (f *filter) count(it *item, r *Request) error {
	if !r.ruled() {
		return nil
	}
	if f.seen == r.MaxScan {
		return pastScan(r.MaxScan)
	}
	f.seen++
	it.seen = true
	return nil
}

// judge tells whether a document that is seen meets it.
func (r *residual) judge(f expr.Facts) (expr.Verdict, error) {
	out := expr.True
	for _, b := range r.bounds {
		verdict, err := b.Judge(f)
		if err != nil || verdict == expr.False {
			return verdict, err
		}
		if verdict != expr.True {
			out = verdict
		}
	}
	return out, nil
}

// shape returns what the request asks for, without its constants.
func (f *filter) shape() string {
	var shapes []string
	for i, b := range f.bounds {
		if i > 0 || !f.ruled {
			shapes = append(shapes, b.Shape())
		}
	}
	return strings.Join(shapes, " && ")
}

// Matches tells whether a document meets the filter, whatever its page would be. All calls together may cost as much as one run of the query; the
// error is NeedsIndex beyond that.
func (q *Query) Matches(doc *fanfold.Document) (bool, error) {
	f := q.bound
	if f == nil {
		var err error
		if f, err = q.bind(); err != nil {
			return false, err
		}
		q.bound = f
	}
	t := &jsondoc.Tree{}
	if err := t.Parse(doc.Body); err != nil {
		return false, fmt.Errorf("%s: %w", doc.Key, err)
	}
	verdict, err := f.only(func(int) bool { return false }).judge(expr.Facts{Doc: t, Created: doc.Created, Updated: doc.Updated})
	if errors.Is(err, expr.ErrCost) {
		return false, fanfold.Errorf(fanfold.NeedsIndex, "the filter costs more than %d on a step's documents together", q.work.cost)
	}
	return verdict == expr.True, err
}
