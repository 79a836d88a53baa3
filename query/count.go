package query

import (
	"cmp"

	"github.com/fanfold/fanfold/model"
)

// countDecided counts the documents of a plan that decides everything, and reads none.
func (r *run) countDecided() (int64, error) {
	x := r.plan.index
	if x == nil {
		const all = 1 << 62
		return r.plan.source.count(r.s, all)
	}
	if len(x.ranges.checks) > 0 || x.repeatsOver() {
		return r.countEntries()
	}
	all, err := r.s.CountIndex(x.id)
	if err != nil {
		return 0, err
	}
	n := int64(0)
	for _, stream := range x.streams() {
		w := x.walkOf(stream)
		if left := r.q.work.entries - r.out.Entries; all > left {
			w.Limit = int(left + 1)
		}
		some, err := r.s.CountEntries(w, x.once)
		if err != nil {
			return 0, err
		}
		n += some
		if err := cmp.Or(r.entry(some), r.checkTime()); err != nil {
			return 0, err
		}
	}
	return n, nil
}

// repeatsOver tells whether a document may have entries in several streams, or there is a stream of overflowing documents.
func (x *indexSource) repeatsOver() bool {
	return x.overflow > 0 || x.index.Array() != nil && len(x.streams()) > 1
}

// countEntries counts the documents of a walk, each once.
func (r *run) countEntries() (n int64, err error) {
	x, seen := r.plan.index, map[int64]struct{}{}
	for _, stream := range x.streams() {
		w := x.walkOf(stream)
		err := r.s.EachEntry(w, false, func(e model.Entry) (bool, error) {
			if err := r.entry(1); err != nil {
				return false, err
			}
			it := x.item(e, e.Key)
			if it.whole {
				ok, err := r.matches(&it)
				if ok {
					n++
					r.out.Matched--
				}
				return err == nil, err
			}
			if !passes(x.ranges.checks, e.Key) {
				return true, nil
			}
			if x.index.Array() != nil {
				if _, known := seen[e.Tie]; known {
					return true, nil
				}
				seen[e.Tie] = struct{}{}
			}
			n++
			return true, nil
		})
		if err != nil {
			return 0, err
		}
	}
	return n, nil
}
