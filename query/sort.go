package query

import (
	"container/heap"
	"slices"

	"github.com/fanfold/fanfold/internal/expr"
	"github.com/fanfold/fanfold/model"
)

// sorted is a document that a sort keeps.
type sorted struct {
	place
	number int64
}

// sortHeap keeps the first documents in the order of a sort. The last of them comes first in list.
type sortHeap struct {
	list []sorted
	size int // of the keys, in bytes
}

func (h *sortHeap) Len() int           { return len(h.list) }
func (h *sortHeap) Less(i, j int) bool { return h.list[i].compare(h.list[j].place) > 0 }
func (h *sortHeap) Swap(i, j int)      { h.list[i], h.list[j] = h.list[j], h.list[i] }
func (h *sortHeap) Push(x any)         { h.list = append(h.list, x.(sorted)) }

// Pop removes the last one of list.
func (h *sortHeap) Pop() any {
	last := h.list[len(h.list)-1]
	h.list = h.list[:len(h.list)-1]
	return last
}

// sortedBytes is what a sort holds of a document besides its key, in bytes.
const sortedBytes = 64

// keep adds a document, unless most come before it.
func (h *sortHeap) keep(x sorted, most int) {
	if len(h.list) == most {
		if x.compare(h.list[0].place) >= 0 {
			return
		}
		h.size -= len(h.list[0].key) + sortedBytes
		heap.Pop(h)
	}
	h.size += len(x.key) + sortedBytes
	heap.Push(h, x)
}

// keysOf returns the key of a document in an order of its values. The order goes through no array.
func keyOf(order *model.Index, facts expr.Facts) []byte {
	keys, _ := order.Keys(nil, model.IndexFacts{Doc: facts.Doc, Created: facts.Created, Updated: facts.Updated})
	return keys[0]
}

// sorted shows the documents of a page that no index gives in its order: it looks at all that match.
func (r *run) sorted() error {
	h := &sortHeap{}
	var after *place
	if c := r.q.place; c != nil {
		after = &place{c.key, c.tie}
	}
	err := r.walk(nil, func(it item) (bool, error) {
		ok, err := r.matches(&it)
		if err != nil || !ok {
			return err == nil, err
		}
		facts, err := r.facts(it.document)
		if err != nil {
			return false, err
		}
		x := sorted{place{keyOf(r.q.sort, facts), r.q.sort.Tie(it.number)}, it.number}
		if after == nil || x.compare(*after) > 0 {
			h.keep(x, r.q.request.Limit+1)
		}
		if h.size > r.q.work.memory {
			return false, &pastBound{"the sort takes more than " + mebibytes(r.q.work.memory)}
		}
		return true, nil
	})
	if err != nil {
		return err
	}
	if r.q.request.Count {
		r.result.Count = r.out.Matched
	}
	slices.SortFunc(h.list, func(a, b sorted) int { return a.compare(b.place) })
	for i, x := range h.list {
		taken := i < r.q.request.Limit
		if taken {
			if taken, err = r.showItem(item{number: x.number}); err != nil {
				return err
			}
		}
		if !taken {
			last := r.q.place
			if i > 0 {
				last = &cursor{key: h.list[i-1].key, tie: h.list[i-1].tie}
			}
			if last != nil {
				r.setNext(cursor{source: r.plan.id, sorted: true, key: last.key, tie: last.tie})
			}
			return nil
		}
	}
	return nil
}
