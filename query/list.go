package query

import (
	"errors"

	"github.com/fanfold/fanfold"
)

// list shows the documents of a page.
func (r *run) list() error {
	if r.q.sort != nil && !r.plan.ordered {
		r.out.Order = orderSorted
		if r.q.request.Partial {
			return fanfold.Errorf(fanfold.Invalid, "partial does not go with a sort that no index gives: what a page lacks could be its first document")
		}
		return r.sorted()
	}
	if r.q.sort != nil {
		r.out.Order = orderIndex
	}
	counted := !r.q.request.Count
	if !counted && r.plan.decides() {
		n, err := r.countDecided()
		if err != nil {
			return err
		}
		r.result.Count, counted, r.known = n, true, r.out.Entries
	}
	p := &page{run: r, counting: !counted}
	after, err := r.placeInWalk()
	if err != nil {
		return err
	}
	if p.after = after; p.counting {
		after = nil // all are counted
	}
	r.passed = p.pass
	err = r.walk(after, p.item)
	if p.counting {
		r.result.Count = r.out.Matched
	}
	return p.end(err)
}

// placeInWalk returns where in the walk the page begins, nil for the beginning.
func (r *run) placeInWalk() (*place, error) {
	c := r.q.place
	if c == nil {
		return nil, nil
	}
	at := place{c.key, c.tie}
	if r.q.sort != nil {
		var ok bool
		if at, ok = r.plan.walkPlace(r.q.sort, at); !ok {
			return nil, errCursor()
		}
	}
	return &at, nil
}

// page is one that is being filled in the order of the walk.
type page struct {
	*run
	counting bool   // documents that are not shown are counted
	after    *place // the page has what comes after it; nil for the beginning
	shown    int
	full     bool
	last     item // the last one that the page has, or has passed over
	begun    bool // there is one
	told     item // the last one that who asks sees
}

// pass notes an item that the page has, or has passed over.
func (p *page) pass(it item) {
	it.document = nil
	p.last, p.begun = it, true
	if it.seen || !p.q.request.ruled() {
		p.told = it
	}
}

// item takes what the walk comes to. It returns false where the page needs nothing more.
func (p *page) item(it item) (bool, error) {
	ok, err := p.matches(&it)
	if err != nil {
		return false, err
	}
	if p.full {
		return true, nil
	}
	if ok && (p.after == nil || !p.counting || p.isAfter(it)) {
		taken := p.shown < p.q.request.Limit
		if taken {
			if taken, err = p.showItem(it); err != nil {
				return false, err
			}
		}
		if !taken {
			p.full = true
			p.next(p.told)
			return p.counting, nil
		}
		p.shown++
	}
	p.pass(it)
	return true, nil
}

// end ends the page of a walk that ended with err. Past a bound the next page may go on from here, where this one may end early or
// has all its documents.
func (p *page) end(err error) error {
	var bound *pastBound
	if p.counting || !p.begun || !errors.As(err, &bound) {
		return err
	}
	switch {
	case p.shown == p.q.request.Limit:
	case p.q.request.Partial || p.q.request.listing():
		p.out.Complete = false
	default:
		return err
	}
	if p.filter.seen == p.q.request.MaxScan {
		p.last = p.told
	}
	p.next(p.last)
	return nil
}

// isAfter tells whether an item comes after the place where the page begins.
func (p *page) isAfter(it item) bool {
	order := place{it.key, it.tie}.compare(*p.after)
	if x := p.plan.index; x != nil && x.backward {
		return order < 0
	}
	return order > 0
}

// showItem shows an item's document. It returns false where the page ends before it.
func (r *run) showItem(it item) (bool, error) {
	r.given++
	if r.q.request.Explain {
		return true, nil
	}
	doc := it.document
	if r.q.request.View == fanfold.Referenced || doc == nil {
		var err error
		if doc, err = r.s.ByNumber(it.number, r.q.request.View); err != nil {
			return false, err
		}
		doc = r.q.request.Visible.show(doc)
	}
	return r.show(doc)
}

// next has the next page begin after an item of the walk.
func (r *run) next(it item) {
	c := cursor{source: r.plan.id, key: it.key, tie: it.tie}
	if r.q.sort != nil {
		at := r.plan.sortPlace(r.q.sort, it)
		c.key, c.tie = at.key, at.tie
	}
	r.setNext(c)
}

// setNext has the next page begin at a place.
func (r *run) setNext(c cursor) {
	c.request = r.q.identify()
	if v := r.q.request.Visible; v != nil {
		r.result.Next = c.sealed(v.Seal)
		return
	}
	r.result.Next = c.encode()
}
