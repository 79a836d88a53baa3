package query

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/internal/expr"
	"github.com/fanfold/fanfold/internal/jsondoc"
)

// show takes a document onto the page. It returns false for one that is not on the page any more.
type show = func(doc *fanfold.Document) (bool, error)

// Run answers the query from a snapshot, which a query that turns out heavy makes its own. It calls show with each document of the page,
// in order, until show returns false: that document is not on the page any more. It returns Invalid for a cursor whose index is
// gone, *NeedsIndex, ErrHeavy, and the errors of show, the snapshot and ctx. After an error, what was shown is no page.
func (q *Query) Run(ctx context.Context, s Snapshot, show func(doc *fanfold.Document) (bool, error)) (*Result, error) {
	r := &run{q: q, ctx: ctx, s: s, show: show, begin: time.Now(),
		out: &Plan{Conditions: []string{}, Order: orderPlan, Rejected: []Rejected{}, Complete: true}}
	r.result = &Result{Count: -1, Plan: r.out}
	r.sample.misnamed = q.misnamed()
	defer r.pass()
	if err := r.prepare(); err != nil {
		return nil, err
	}
	answer := r.list
	switch {
	case q.request.Grouped:
		answer = r.group
	case q.request.listing():
		answer = listing{r}.shown
	}
	err := answer()
	r.result.Hints = r.sample.misnamed.found()
	r.out.Seconds = time.Since(r.begin).Seconds()
	return r.end(err)
}

// run is one run of a query.
type run struct {
	q      *Query
	ctx    context.Context
	s      Snapshot
	show   show
	begin  time.Time
	steps  int
	known  int64         // entries that the count has come by, including a page's
	heavy  bool          // it may look at many documents
	turn   bool          // it has one of Request.Turns
	turned time.Time     // when its turn began
	waited time.Duration // for a place, and for turns

	tooManyGroups bool // it has passed a bound on groups
	filter        *filter
	planner       *planner
	plan          *plan
	rest          *residual // what is judged of a document that the plan decides about
	whole         *residual // what is judged of the others
	out           *Plan
	tree          jsondoc.Tree
	parsed        *fanfold.Document // whose tree it is
	result        *Result
	sample        sample
	given         int64         // documents of the page
	sure          bool          // no index is suggested that may not do
	passed        func(it item) // is called with what the walk leaves out; nil for nothing
}

// prepare finds the plan.
func (r *run) prepare() (err error) {
	if r.filter, err = r.q.takeFilter(); err != nil {
		return err
	}
	r.planner = &planner{q: r.q, f: r.filter, s: r.s}
	plan, err := r.planner.choose()
	if err != nil {
		return err
	}
	follow(r, plan)
	r.out.Rejected = append(r.out.Rejected, r.planner.rejected...)
	return nil
}

// follow has the run go by a plan.
func follow(r *run, by *plan) {
	r.plan = by
	r.rest = r.filter.only(func(i int) bool { return r.plan.decided[i] })
	r.whole = r.filter.only(func(int) bool { return false })
	r.out.Conditions = []string{}
	if r.plan.byWithin {
		r.out.Conditions = append(r.out.Conditions, r.planner.within.source)
	}
	for i, c := range r.filter.conjuncts {
		if r.plan.used[i] {
			r.out.Conditions = append(r.out.Conditions, c.Source)
		}
	}
	r.out.Residual, r.out.Index = r.rest.source, nil
	if r.plan.name != "" {
		r.out.Index = &r.plan.name
	}
	r.out.Ranges = r.plan.ranges()
}

// pastBound is the error of a run that passed a bound of its work.
type pastBound struct{ why string }

func (e *pastBound) Error() string { return e.why }

// isBound tells whether an error is one of a bound of a run's work.
func isBound(err error) bool {
	var bound *pastBound
	return errors.As(err, &bound)
}

// end returns the result of a run that ended with err.
func (r *run) end(err error) (*Result, error) {
	var bound *pastBound
	if err != nil && !errors.As(err, &bound) {
		return nil, err
	}
	r.out.Complete = r.out.Complete && bound == nil
	if r.sure = bound == nil && !r.q.request.Explain; r.sure && !r.suggests() {
		return r.result, nil
	}
	var suggested *suggestion
	never := r.sample.misnamed.never()
	if r.q.request.Visible == nil && never == "" { // an index would tell what the rule looks at, and none helps a wrong name
		suggested = r.suggest()
	}
	if suggested != nil {
		r.out.Suggest = suggested.patch
	}
	if bound == nil || r.q.request.Explain {
		return r.result, nil
	}
	failed := &NeedsIndex{Why: bound.why, Plan: r.out}
	switch {
	case suggested != nil:
		failed.Suggest, failed.Line = suggested.patch, suggested.line
	case never != "" && r.q.request.Visible == nil:
		failed.Why += fmt.Sprintf(". None of the %d documents that were looked at has a member %s: is it the name that you mean?", r.out.Documents, never)
	case r.q.request.Visible == nil:
		failed.Why += ". " + r.noSuggestion()
	}
	return nil, failed
}

// stepsBetween is how many entries a run looks at between two looks at the clock and the context.
const stepsBetween = 256

// step counts the entries that the run comes to. It returns the error of a bound, or ctx's.
func (r *run) step() error {
	if r.steps++; r.steps%stepsBetween != 0 {
		return nil
	}
	return r.checkWork()
}

// checkWork returns an error where the run takes too long, or is a heavy one that may not go on. A heavy one takes turns.
func (r *run) checkWork() error {
	if !r.heavy && (r.out.Documents > LightScan || time.Since(r.begin) > lightTime) {
		asked := time.Now()
		if may := r.q.request.Heavy; may != nil && !may() {
			return ErrHeavy
		}
		r.waited += time.Since(asked)
		if err := r.s.Own(r.ctx); err != nil {
			return err
		}
		r.heavy = true
	}
	if r.heavy && (!r.turn || time.Since(r.turned) > turnTime) {
		r.yield()
	}
	return r.checkTime()
}

// yield lets others have their turn, if the run has one, and waits for the next one.
func (r *run) yield() {
	if r.q.request.Turns == nil {
		return
	}
	r.pass()
	begin := time.Now()
	r.q.request.Turns <- struct{}{}
	r.turn, r.turned = true, time.Now()
	r.waited += r.turned.Sub(begin)
}

// pass ends the run's turn.
func (r *run) pass() {
	if r.turn {
		<-r.q.request.Turns
		r.turn = false
	}
}

// checkTime returns an error where the run takes too long.
func (r *run) checkTime() error {
	if err := r.ctx.Err(); err != nil {
		return err
	}
	if time.Since(r.begin)-r.waited > r.q.work.time {
		return &pastBound{fmt.Sprintf("the request took longer than %v", r.q.work.time)}
	}
	return nil
}

// entry counts entries of an index.
func (r *run) entry(n int64) error {
	if r.out.Entries+n-r.known > r.q.work.entries {
		return &pastBound{fmt.Sprintf("the request looks at more than %d entries of index %s", r.q.work.entries, r.plan.name)}
	}
	r.out.Entries += n
	return r.step()
}

// look reads the item's document where the walk has not, and counts it.
func (r *run) look(it *item) error {
	switch most := r.q.request.MaxScan; {
	case r.q.request.ruled() && r.out.Documents >= MaxScan:
		return &pastBound{fmt.Sprintf("the request looks at more than %d documents", MaxScan)}
	case !r.q.request.ruled() && r.out.Documents >= int64(most):
		return pastScan(most)
	}
	if it.document == nil {
		var err error
		if it.document, err = r.s.ByNumber(it.number, fanfold.Embedded); err != nil {
			return err
		}
		if it.document == nil {
			return fmt.Errorf("index %s has an entry of document %d, which is not there", r.plan.name, it.number)
		}
	}
	r.sample.note(it.number)
	r.out.Documents++
	return cmp.Or(r.checkCost(), r.checkWork()) // each time, for one document may take long
}

// pastScan is the error of a run that looks at more documents than the request lets it.
func pastScan(most int) error {
	return &pastBound{fmt.Sprintf("the request looks at more than maxScan=%d documents", most)}
}

// facts returns what expressions look at in a document.
func (r *run) facts(doc *fanfold.Document) (expr.Facts, error) {
	if r.parsed != doc {
		r.parsed = nil
		if err := r.tree.Parse(doc.Body); err != nil {
			return expr.Facts{}, fmt.Errorf("%s: %w", doc.Key, err)
		}
		r.parsed = doc
		if !r.filter.ruled {
			r.sample.misnamed.look(&r.tree)
		}
	}
	return expr.Facts{Doc: &r.tree, Created: doc.Created, Updated: doc.Updated}, nil
}

// matches tells whether an item's document is one of the answer, and reads it. It counts what it looks at.
func (r *run) matches(it *item) (bool, error) {
	if err := r.look(it); err != nil {
		return false, err
	}
	x := r.plan.index
	if x != nil && x.once && !it.whole {
		facts, err := r.facts(it.document)
		if err != nil || !x.isFirst(it, facts) {
			return false, err
		}
	}
	rest := r.rest
	if it.whole {
		rest = r.whole
	}
	var facts expr.Facts
	if !rest.empty() {
		var err error
		if facts, err = r.facts(it.document); err != nil {
			return false, err
		}
		unseen, err := rest.hides(facts)
		if unseen || err != nil {
			return false, costly(r, err)
		}
	}
	if err := r.filter.count(it, &r.q.request); err != nil {
		return false, err
	}
	cut(r, it)
	if !rest.empty() {
		if it.cut { // the reader's own conditions see what the reader sees
			var err error
			if facts, err = r.facts(it.document); err != nil {
				return false, err
			}
		}
		if r.filter.ruled {
			r.sample.misnamed.look(&r.tree)
		}
		verdict, err := rest.judge(facts)
		if err != nil {
			return false, costly(r, err)
		}
		if verdict != expr.True {
			if verdict == expr.NoValue {
				r.out.NoValue++
			}
			return false, nil
		}
	}
	if w := r.q.request.Within; w != nil && (!r.plan.within || x != nil && it.whole) {
		if refers, err := r.s.Refers(w.Relation, w.Target, it.number); err != nil || !refers {
			return false, err
		}
	}
	r.out.Matched++
	return true, nil
}

// costly returns pastCost's error where a condition says that it has cost too much, and its error otherwise.
func costly(r *run, err error) error {
	if errors.Is(err, expr.ErrCost) {
		return r.pastCost()
	}
	return err
}

// walk calls fn with what the plan comes to after a place, nil for all, but for entries that the filter is not true of by their keys
// alone. fn returns false to end it.
func (r *run) walk(after *place, fn func(it item) (bool, error)) error {
	x := r.plan.index
	if x == nil {
		return r.plan.source.walk(r.s, after, true, fn)
	}
	checks := x.ranges.checks
	return x.walk(r.s, after, len(checks) == 0, func(it item) (bool, error) {
		if err := r.entry(1); err != nil {
			return false, err
		}
		if !it.whole && len(checks) > 0 && !passes(checks, it.full) {
			if r.passed != nil {
				r.passed(it)
			}
			return true, nil
		}
		return fn(it)
	})
}
