package query

import (
	"bytes"
	"cmp"
	"container/heap"
	"slices"

	"github.com/fanfold/fanfold/model"
)

// begin has a walk begin after a place, whose key follows a prefix. It returns false where nothing of the walk comes after it.
func (x *indexSource) begin(w *model.Walk, prefix []byte, after *place) bool {
	key := slices.Concat(prefix, after.key)
	if x.backward {
		if bytes.Compare(key, w.Low) < 0 {
			return false
		}
		if w.High == nil || bytes.Compare(key, w.High) < 0 {
			w.After = &model.Entry{Key: key, Tie: after.tie}
		}
		return true
	}
	if w.High != nil && bytes.Compare(key, w.High) >= 0 {
		return false
	}
	if bytes.Compare(key, w.Low) >= 0 {
		w.After = &model.Entry{Key: key, Tie: after.tie}
	}
	return true
}

// The numbers of entries that a stream of a merge reads at a time.
const (
	firstChunk = 16
	lastChunk  = 512
)

// cursorOf is where a merge is in one of its streams.
type streamCursor struct {
	walk  model.Walk
	skip  int
	chunk []model.Entry // what was read and not given
	size  int           // of the next chunk
	ended bool          // nothing follows the chunk
}

// fill reads entries where the chunk has none.
func (c *streamCursor) fill(s Snapshot) error {
	if len(c.chunk) > 0 || c.ended {
		return nil
	}
	c.walk.Limit = c.size
	c.chunk = make([]model.Entry, 0, c.size)
	err := s.EachEntry(c.walk, false, func(e model.Entry) (bool, error) {
		c.chunk = append(c.chunk, model.Entry{Key: bytes.Clone(e.Key), Tie: e.Tie})
		return true, nil
	})
	if len(c.chunk) < c.size {
		c.ended = true
	} else {
		last := c.chunk[len(c.chunk)-1]
		c.walk.After = &last
	}
	c.size = min(2*c.size, lastChunk)
	return err
}

// rest returns the part of the first entry's key that enters into the merge's order.
func (c *streamCursor) rest() []byte { return c.chunk[0].Key[c.skip:] }

// streamHeap has the stream whose entry comes next first.
type streamHeap struct {
	list     []*streamCursor
	backward bool
}

func (h *streamHeap) Len() int      { return len(h.list) }
func (h *streamHeap) Swap(i, j int) { h.list[i], h.list[j] = h.list[j], h.list[i] }
func (h *streamHeap) Push(x any)    { h.list = append(h.list, x.(*streamCursor)) }
func (h *streamHeap) Less(i, j int) bool {
	a, b := h.list[i], h.list[j]
	order := cmp.Or(bytes.Compare(a.rest(), b.rest()), cmp.Compare(a.chunk[0].Tie, b.chunk[0].Tie))
	if h.backward {
		return order > 0
	}
	return order < 0
}

// Pop removes the last stream.
func (h *streamHeap) Pop() any {
	last := h.list[len(h.list)-1]
	h.list = h.list[:len(h.list)-1]
	return last
}

// merge does what walk does, over several streams in one order. An entry that is one of the document before, by another stream, is
// left out.
func (x *indexSource) merge(s Snapshot, after *place, fn func(it item) (bool, error)) error {
	h := &streamHeap{backward: x.backward}
	for _, r := range x.ranges.streams {
		c := &streamCursor{walk: x.walkOf(r), skip: r.skip, size: firstChunk}
		if after != nil && !x.begin(&c.walk, r.low[:r.skip], after) {
			continue
		}
		if err := c.fill(s); err != nil {
			return err
		}
		if len(c.chunk) > 0 {
			h.list = append(h.list, c)
		}
	}
	heap.Init(h)
	var last place
	for first := true; len(h.list) > 0; first = false {
		c := h.list[0]
		e := c.chunk[0]
		if key := c.rest(); first || e.Tie != last.tie || !bytes.Equal(key, last.key) {
			last = place{key, e.Tie}
			if on, err := fn(x.item(e, key)); err != nil || !on {
				return err
			}
		}
		c.chunk = c.chunk[1:]
		if err := c.fill(s); err != nil {
			return err
		}
		if len(c.chunk) == 0 {
			heap.Pop(h)
			continue
		}
		heap.Fix(h, 0)
	}
	return nil
}
