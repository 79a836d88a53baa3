package query

import (
	"slices"
	"strings"
)

// A plain list is in order of id, and the documents that refer to one are in order of creation. So its cursors are places in that order, whichever plan
// answers a page.

// fewTimes is how many times fewer documents a plan has to walk than the list has to be taken although it is in another order.
const fewTimes = 4

// forListing returns the plan for a page of a plain list: a walk in its order, or one over few documents, which the page sorts.
func (p *planner) forListing() (*plan, error) {
	best := p.inOrder()
	if p.q.request.Within != nil {
		return best, nil
	}
	fewest, err := best.source.count(p.s, lookLimit)
	if err != nil {
		return nil, err
	}
	fewest /= fewTimes
	for _, x := range p.plans {
		if x.ranges() > maxLooks || fewest == 0 {
			continue
		}
		n, err := x.source.count(p.s, fewest)
		if err != nil {
			return nil, err
		}
		if n < fewest {
			best, fewest = x, n
		}
	}
	return best, nil
}

// inOrder returns the plan that walks over the list in its order.
func (p *planner) inOrder() *plan {
	i := slices.IndexFunc(p.plans, func(x *plan) bool {
		_, isLink := x.source.(*linkSource)
		return isLink && x.within
	})
	if i >= 0 && p.q.request.Within != nil {
		return p.plans[i]
	}
	return p.newPlan("", "", &idSource{collection: p.q.request.Collection, ranges: everyID, all: true})
}

// listing is a run that answers a page of a plain list.
type listing struct{ *run }

// shown shows the documents of the page.
func (r listing) shown() error {
	switch r.plan.source.(type) {
	case *idSource, *linkSource:
		return r.list()
	}
	err := r.gathered()
	if !isBound(err) {
		return err
	}
	r.out.Documents, r.out.Matched = 0, 0
	follow(r.run, r.planner.inOrder())
	return r.list()
}

// pageBytes bounds the documents that gathered keeps for the page. It reads the others again.
const pageBytes = 1 << 20

// gathered shows the documents of a page of a plain list from a walk in another order: it looks at all that match.
func (r listing) gathered() error {
	after := ""
	if c := r.q.place; c != nil {
		after = string(c.key)
	}
	type listed struct {
		id string
		item
	}
	var all []listed
	size := 0
	if err := r.walk(nil, func(it item) (bool, error) {
		ok, err := r.matches(&it)
		if ok && it.document.Key.ID > after {
			x := listed{it.document.Key.ID, item{number: it.number}}
			if size += len(it.document.Body); size <= pageBytes {
				x.document = it.document
			}
			all = append(all, x)
		}
		return err == nil, err
	}); err != nil {
		return err
	}
	slices.SortFunc(all, func(a, b listed) int { return strings.Compare(a.id, b.id) })
	for i, x := range all {
		taken := i < r.q.request.Limit
		if taken {
			var err error
			if taken, err = r.showItem(x.item); err != nil {
				return err
			}
		}
		if !taken {
			if i > 0 {
				after = all[i-1].id
			}
			r.setNext(cursor{key: []byte(after)})
			return nil
		}
	}
	return nil
}
