package api

import (
	"bytes"
	"encoding/json"
	"errors"
	"strconv"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/access"
	"github.com/fanfold/fanfold/internal/admission"
	"github.com/fanfold/fanfold/internal/view"
	"github.com/fanfold/fanfold/query"
)

// queryRun is one query while it is answered.
type queryRun struct {
	d       *documents
	c       echo.Context
	asked   asked
	listing bool // a plain list is asked for
	query   *query.Query
	made    *access.Rights // for which the query is made
	before  func(*view.Prefix) error

	place   func() // gives the place back of a query that looks at many documents; nil before it has one
	result  *query.Result
	given   int64  // documents of the page
	shape   string // what tells its shape from others, once that was asked for
	judges  bool   // it finds out what is suggested for its shape
	console bool   // the web console has sent it
}

// heavy is called by a query that looks at many documents, and tells whether it may go on. It needs a place, for which it waits only a moment
// while a snapshot is open.
func (r *queryRun) heavy() bool {
	if r.place == nil {
		r.place = r.d.budget.EnterSoon(r.c.Request().Context(), admission.LargeQueries, rightsOf(r.c).String())
	}
	return r.place != nil
}

// leave gives the place back.
func (r *queryRun) leave() {
	if r.place != nil {
		r.place()
		r.place = nil
	}
}

// compile makes the query, for what its sender may see now. It returns the errors of View.Restrict and query.Compile.
func (r *queryRun) compile() (err error) {
	r.made = rightsOf(r.c)
	m, seq, _ := r.d.models.Model()
	request := &r.asked.request
	request.ModelSeq, request.Visible = seq, nil
	if err = r.d.open(r.c).Restrict(request, r.listing); err == nil {
		r.query, err = query.Compile(*request, m)
	}
	return err
}

// build puts the answer together. A query that has to wait long for a place begins anew with it. It returns the errors of the query, Answer.Grow and
// enter.
func (r *queryRun) build(a *admission.Answer) (err error) {
	read := func() error {
		if rightsOf(r.c) != r.made { // they have changed in a wait
			if err := r.compile(); err != nil {
				return err
			}
		}
		return r.d.open(r.c).Read(func(snap *view.Prefix) error { return r.fill(a, snap) })
	}
	if err = read(); !errors.Is(err, query.ErrHeavy) {
		return err
	}
	a.Release() // nobody holds a part of an answer while waiting
	if r.place, err = enter(r.c, r.d.budget, admission.LargeQueries, admission.Applicant{}); err != nil {
		return err
	}
	return read()
}

// fill puts the answer together from one snapshot.
func (r *queryRun) fill(a *admission.Answer, snap *view.Prefix) error {
	if r.before != nil {
		if err := r.before(snap); err != nil {
			return err
		}
	}
	begun := time.Now()
	ctx, span := r.d.queries.tracer.Start(r.c.Request().Context(), "query")
	items := r.d.newItems(r.c, snap, a, r.asked.page)
	show := items.addWithin
	switch {
	case r.asked.request.Explain:
		show = func(*fanfold.Document) (bool, error) { return true, nil }
	case !r.asked.request.Grouped:
		a.AddString(`{"items":[`)
	}
	result, err := snap.Query(ctx, r.query, show)
	r.given = int64(items.count)
	r.d.queries.ran(r, span, result, time.Since(begun), err)
	if result, err = r.explained(result, err); err != nil {
		return err
	}
	r.result = result
	if result.Plan.Matched == 0 && r.asked.request.Within == nil {
		if err := checkCollection(snap, r.asked.request.Collection); err != nil {
			return err
		}
	}
	return r.finish(a)
}

// explained returns what a query answered. One that was to be explained is answered past its bounds, too.
func (r *queryRun) explained(result *query.Result, err error) (*query.Result, error) {
	if plan := planOf(result, err); err != nil && plan != nil && r.asked.request.Explain {
		return &query.Result{Plan: plan}, nil
	}
	return result, err
}

// planOf returns what a query did, nil where it has not come to an end.
func planOf(result *query.Result, err error) *query.Plan {
	var past *query.NeedsIndex
	switch {
	case errors.As(err, &past):
		return past.Plan
	case err != nil:
		return nil
	}
	return result.Plan
}

// finish adds what comes after the documents, or in their place.
func (r *queryRun) finish(a *admission.Answer) error {
	switch {
	case r.asked.request.Explain:
		var text bytes.Buffer
		if err := encode(&text, map[string]any{"explain": r.result.Plan}); err != nil {
			return err
		}
		return addWhole(a, text.Bytes())
	case r.asked.request.Grouped:
		if err := r.addGroups(a); err != nil {
			return err
		}
	default:
		a.AddString("]")
	}
	if r.result.Next != "" {
		a.AddString(`,"next":"` + r.result.Next + `"`)
	}
	if plan := r.result.Plan; plan.Matched == 0 && plan.NoValue > 0 && !r.asked.request.Explain {
		a.AddString(`,"noValue":` + strconv.FormatInt(plan.NoValue, 10))
	}
	if hints := r.result.Hints; len(hints) > 0 {
		text, err := json.Marshal(hints)
		if err != nil {
			return err
		}
		a.AddString(`,"hints":` + string(text))
	}
	if r.asked.request.Count {
		a.AddString(`,"count":` + strconv.FormatInt(r.result.Count, 10))
	}
	a.AddString("}")
	return nil
}

// addGroups adds the groups of a page.
func (r *queryRun) addGroups(a *admission.Answer) error {
	a.AddString(`{"groups":[`)
	err := r.result.EachGroup(func(i int, g query.Group) error {
		separator := `{"key":`
		if i > 0 {
			separator = `,{"key":`
		}
		if err := a.Grow(len(g.Key) + len(g.Values) + itemBytes); err != nil {
			return err
		}
		a.AddString(separator)
		a.Add(g.Key)
		a.AddString(`,"values":`)
		a.Add(g.Values)
		a.AddString("}")
		return nil
	})
	a.AddString("]")
	return err
}
