package query

import (
	"cmp"
	"slices"
	"strings"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/internal/expr"
	"github.com/fanfold/fanfold/internal/sortkey"
	"github.com/fanfold/fanfold/model"
)

// lookLimit is up to how many entries a planner counts to find the cheapest plan.
const lookLimit = 1000

// maxLooks is how many ranges of entries a planner counts.
const maxLooks = 10_000

// plan is one way to answer a query.
type plan struct {
	name     string // of what is walked; "" for all documents
	id       string // tells it from the others of the query, in cursors
	source   source
	index    *indexSource      // source, where that is one
	used     []bool            // by conjunct: it narrows the walk
	decided  []bool            // by conjunct: the walk has no document for which it is not true
	within   bool              // the walk has no document but those that were asked for
	byWithin bool              // it is narrowed by the document that others refer to
	ordered  bool              // the walk is in the order of the sort
	covers   bool              // its entries hold all that a grouping asks for
	grouped  bool              // they come group by group, in order
	pins     map[string][]byte // the values of terms that have one alone, as ascending keys
	entries  int64             // that it may walk, up to lookLimit
}

// decides tells whether every document of the walk is in the answer.
func (p *plan) decides() bool { return p.within && !slices.Contains(p.decided, false) }

// cost says how much the plan may read, at worst; the fewest first.
func (p *plan) cost(q *Query) (tooMuch bool, cost int64) {
	documents, entries := p.entries, p.entries
	switch r := &q.request; {
	case p.covers:
		documents = 0
	case p.decides() && !r.Grouped && (q.sort == nil || p.ordered):
		documents = min(documents, int64(r.Limit)+1)
		if !r.Count && (p.index == nil || len(p.index.ranges.checks) == 0) {
			entries = documents
		}
	}
	const documentCost = 4 // in entries
	return documents > int64(q.request.MaxScan), documentCost*documents + entries
}

// better compares two plans of a query; the better one is less.
func (p *plan) better(q *Query, o *plan) int {
	pMuch, pCost := p.cost(q)
	oMuch, oCost := o.cost(q)
	if pMuch && oMuch { // what its keys decide may leave few documents
		if decided := cmp.Compare(trues(o.decided), trues(p.decided)); decided != 0 {
			return decided
		}
	}
	return cmp.Or(compareBools(pMuch, oMuch), cmp.Compare(pCost, oCost), compareBools(o.grouped, p.grouped), compareBools(o.ordered, p.ordered),
		cmp.Compare(trues(o.decided), trues(p.decided)), cmp.Compare(p.width(), o.width()), strings.Compare(p.id, o.id))
}

// width returns how many components the entries have that hold all a grouping asks for: fewer have fewer different keys.
func (p *plan) width() int {
	if !p.covers {
		return 0
	}
	return len(p.index.index.Components)
}

// compareBools has false first.
func compareBools(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return 1
	}
	return -1
}

func trues(list []bool) (n int) {
	for _, b := range list {
		if b {
			n++
		}
	}
	return n
}

// planner finds the best plan for a query.
type planner struct {
	q        *Query
	f        *filter
	s        Snapshot
	plans    []*plan
	indexes  []*model.Index // that are declared
	rejected []Rejected
	within   withinTest
}

// reject says why an index is not taken.
func (p *planner) reject(name, why string) {
	p.rejected = append(p.rejected, Rejected{Index: name, Why: why})
}

// add adds a plan that serves.
func (p *planner) add(x *plan) { p.plans = append(p.plans, x) }

// count finds out how many entries each plan may walk, where there is a choice.
func (p *planner) count() (err error) {
	looks := 0
	for i := 0; err == nil && len(p.plans) > 1 && p.q.place == nil && i < len(p.plans); i++ {
		x := p.plans[i]
		if looks += x.ranges(); looks > maxLooks || p.q.request.ruled() && !p.walksVisible(x) {
			x.entries = lookLimit // as if it had many
			continue
		}
		x.entries, err = x.source.count(p.s, lookLimit)
	}
	return err
}

// walksVisible tells whether a plan walks over documents alone that who asks sees. The number of others must not decide which plan is taken: its answer
// may have another order, and pass a bound.
func (p *planner) walksVisible(x *plan) bool {
	for i, c := range p.f.conjuncts {
		if c.bound == 0 && !x.decided[i] {
			return false
		}
	}
	return x.index != nil && x.index.overflow == 0 && len(x.index.ranges.checks) == 0
}

// ranges returns how many ranges of entries a plan walks.
func (p *plan) ranges() int {
	if p.index == nil {
		return 1
	}
	return len(p.index.streams())
}

// choose returns the plan to follow. With a place it is the one that the place is of; the error is Invalid where that is gone.
func (p *planner) choose() (*plan, error) {
	var err error
	if p.within, err = p.testWithin(); err != nil {
		return nil, err
	}
	if err := p.declared(); err != nil {
		return nil, err
	}
	if err := p.undeclared(); err != nil {
		return nil, err
	}
	p.byID()
	if p.q.request.listing() {
		return p.forListing()
	}
	if len(p.plans) == 0 || p.q.place != nil && p.q.place.source == "" {
		all := &idSource{collection: p.q.request.Collection, ranges: everyID, all: true}
		p.add(p.newPlan("", "", all))
	}
	if err := p.count(); err != nil {
		return nil, err
	}
	best := slices.MinFunc(p.plans, func(a, b *plan) int { return a.better(p.q, b) })
	if at := p.q.place; at != nil {
		i := slices.IndexFunc(p.plans, func(x *plan) bool { return x.id == at.source })
		if i < 0 {
			return nil, fanfold.Errorf(fanfold.Invalid, "cursor is of an index that is not there any more: begin again without it")
		}
		best = p.plans[i]
	}
	for _, x := range p.plans {
		if x != best && x.name != best.name {
			p.reject(x.name, why(x, best))
		}
	}
	return best, nil
}

// why says why a plan is not taken that serves.
func why(x, best *plan) string {
	switch {
	case best.covers && !x.covers:
		return "does not hold all that is asked for"
	case x.entries > best.entries:
		return "has more entries to walk"
	case best.ordered && !x.ordered:
		return "does not give the order"
	case trues(x.decided) < trues(best.decided):
		return "decides less of the filter"
	}
	return "is no better than what is taken"
}

// newPlan returns a plan that decides nothing.
func (p *planner) newPlan(name, id string, s source) *plan {
	n := len(p.f.conjuncts)
	return &plan{name: name, id: id, source: s, used: make([]bool, n), decided: make([]bool, n), within: p.q.request.Within == nil}
}

// undeclared adds the plans by what the read model keeps for relations and unique members.
func (p *planner) undeclared() error {
	r := &p.q.request
	if w := r.Within; w != nil {
		_, name, _ := strings.Cut(w.Relation, ".")
		x := p.newPlan("relation:"+name, "relation:"+name+":", &linkSource{w.Relation, w.Target})
		x.within = true
		p.add(x)
	}
	c := p.q.model.Collection(r.Collection)
	if c == nil {
		return nil
	}
	before := len(p.plans)
	for _, u := range c.Unique {
		p.unserved("unique:"+u.Name(), p.unique(u))
	}
	for _, rel := range c.Relations {
		p.unserved("relation:"+rel.Name, p.relation(rel))
	}
	if len(p.plans) == before {
		return nil
	}
	known, err := p.knowsModel()
	if !known {
		for _, x := range p.plans[before:] {
			p.unserved(x.name, "the node has yet to see the model by which the request was read, or has seen a later one")
		}
		p.plans = p.plans[:before] // what is kept may be of other relations
	}
	return err
}

// unserved says why what is kept without a declaration does not serve, "" where it does. Only who has a query explained is told.
func (p *planner) unserved(name, why string) {
	if why != "" && p.q.request.Explain {
		p.reject(name, why)
	}
}

// pointOf returns a conjunct that has one key alone for a term, and the key.
func (p *planner) pointOf(term string) (index int, key []byte, ok bool) {
	for i, c := range p.f.conjuncts {
		for _, t := range c.Tests {
			if t.Term == term && len(t.Ranges) == 1 && t.Ranges[0].Point() {
				return i, t.Ranges[0].Low, true
			}
		}
	}
	return 0, nil, false
}

// unique adds the plan by a unique value that the filter asks for. Otherwise it says why there is none.
func (p *planner) unique(u *model.Unique) (unfit string) {
	var keys [][]byte
	var conjuncts []int
	for _, part := range u.Parts {
		term := part.String()
		if part.Expression != "" {
			t, err := expr.CompileTerm(part.Expression)
			if err != nil || !t.AsUnique() { // a claim has the value of a rule
				return "it has the values of a rule, whose numbers compare otherwise"
			}
			term = t.String()
		}
		i, key, ok := p.pointOf(term)
		if !ok {
			return "the filter asks for no single value of " + term
		}
		keys, conjuncts = append(keys, key), append(conjuncts, i)
	}
	value, ok := claimOf(keys)
	if !ok || len(value) > model.MaxUniqueLen {
		return "the filter asks for a value that is no unique one: these are numbers and texts of less than 1,024 bytes"
	}
	x := p.newPlan("unique:"+u.Name(), "unique:"+u.Name(), &claimSource{p.q.request.Collection, u.Name(), value})
	for _, i := range conjuncts {
		x.used[i] = true
	}
	p.add(x)
	return ""
}

// relation adds the plan by an id that the filter asks for. Otherwise it says why there is none.
func (p *planner) relation(rel *model.Relation) (unfit string) {
	w := p.q.request.Within
	i, key, ok := p.pointOf(rel.Path.String())
	switch last := rel.Path[len(rel.Path)-1]; {
	case !ok && w != nil && w.Relation == rel.FullName():
		return "" // it serves by Within
	case !ok:
		return "the filter asks for no single value of " + rel.Path.String()
	case rel.Derived():
		return "its ids are derived, of which a document with many has none"
	case last.Each():
		return "in place of the array of ids an object may stand, whose names a filter takes for elements: an index of " + rel.Path.String() + " serves"
	case !sortkey.Texts.Holds(key):
		return "the filter asks for a value that is no text, and a number has several texts"
	}
	target := textOf(key)
	if target == "" || len(target) > fanfold.MaxIDLen {
		return "the filter asks for a text that is no id"
	}
	x := p.newPlan("relation:"+rel.Name, "relation:"+rel.Name+"="+rel.Path.String(), &linkSource{rel.FullName(), target})
	x.used[i] = true
	if w != nil && *w == (Within{rel.FullName(), target}) {
		x.within = true
	}
	p.add(x)
	return ""
}

// byID adds the plan by the documents' ids that the filter asks for.
func (p *planner) byID() {
	var ranges []sortkey.Range
	x, why := p.newPlan("id", "id", nil), "the filter says nothing about id"
	for i, c := range p.f.conjuncts {
		for _, t := range c.Tests {
			if t.Term == "id" {
				why = "what the filter says about id is true of other values than texts"
			}
			if t.Term == "id" && onlyTexts(t.Ranges) {
				if x.used[i] = true; ranges == nil {
					ranges = t.Ranges
					continue
				}
				ranges = sortkey.Intersect(ranges, t.Ranges)
			}
		}
	}
	if !slices.Contains(x.used, true) {
		p.unserved("id", why)
		return
	}
	ids := &idSource{collection: p.q.request.Collection}
	for _, r := range ranges {
		ids.add(r)
	}
	x.source = ids
	p.add(x)
}

// onlyTexts tells whether ranges have texts alone.
func onlyTexts(ranges []sortkey.Range) bool {
	return !slices.ContainsFunc(ranges, func(r sortkey.Range) bool {
		return !sortkey.Texts.Holds(r.Low) || r.High == nil || slices.Compare(r.High, sortkey.Texts.High) > 0
	})
}

// add adds the ids whose keys lie in a range, and perhaps the one at its end.
func (x *idSource) add(r sortkey.Range) {
	out := model.IDRange{}
	out.Low = textOf(r.Low)
	if sortkey.Texts.Holds(r.High) {
		out.High = textOf(r.High) + "\x00"
	}
	if n := len(x.ranges); n > 0 {
		if last := x.ranges[n-1].High; last == "" {
			return
		} else if out.Low < last {
			out.Low = last
		}
	}
	if out.High == "" || out.Low < out.High {
		x.ranges = append(x.ranges, out)
	}
}
