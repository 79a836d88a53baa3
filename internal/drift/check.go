package drift

import (
	"bytes"
	"context"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/internal/jsondoc"
	"github.com/fanfold/fanfold/model"
)

// Store shows documents.
type Store interface {
	// Shown returns the documents with some ids as the store shows them, those that are there, by id. It may look at the first ids alone, one at
	// least, and returns how many. The errors are the store's.
	Shown(ctx context.Context, collection string, ids []string) (found map[string][]byte, looked int, err error)
}

// Bounds of what is compared at a time, and of the targets that are known.
const (
	batchDocuments = 400
	batchBytes     = 8 << 20
	maxTargets     = 1 << 16
)

// Compared counts the documents that were compared, and those that could not be.
type Compared struct {
	Documents int `json:"documents"`
	WithoutID int `json:"withoutId,omitempty"` // each got a new id
	NotThere  int `json:"notThere,omitempty"`  // such as refused ones
}

// Check compares documents with what a store shows of them, a batch at a time. It is for one goroutine.
type Check struct {
	comparison *Comparison
	store      Store
	tell       func(Difference) error

	batch  []Pair // what is shown is yet to come
	size   int
	there  map[Target]bool // of targets that were asked for
	counts Compared
}

// NewCheck returns a check by the rules of a model. tell gets every difference.
func NewCheck(m *model.Model, store Store, tell func(Difference) error) *Check {
	return &Check{comparison: New(m), store: store, tell: tell, there: map[Target]bool{}}
}

// Concerns tells whether the documents of a collection have derived members.
func (c *Check) Concerns(collection string) bool { return c.comparison.Concerns(collection) }

// Add compares a document, perhaps later. The check keeps no part of body. Errors are the store's and tell's.
func (c *Check) Add(ctx context.Context, collection string, body []byte) error {
	if !c.comparison.Concerns(collection) {
		return nil
	}
	t := jsondoc.MustParse(body)
	id := t.Text(t.Member(jsondoc.Root, "id"))
	switch {
	case id == "":
		c.counts.WithoutID++
		return nil
	case !isID(id): // no store is asked for it
		c.counts.NotThere++
		return nil
	}
	c.batch = append(c.batch, Pair{Collection: collection, ID: id, Brought: bytes.Clone(body)})
	if c.size += len(body); len(c.batch) < batchDocuments && c.size < batchBytes {
		return nil
	}
	return c.flush(ctx)
}

// End compares the documents that wait, and returns what was counted. Errors are the store's and tell's.
func (c *Check) End(ctx context.Context) ([]Rule, Compared, error) {
	if err := c.flush(ctx); err != nil {
		return nil, Compared{}, err
	}
	return c.comparison.Rules(), c.counts, nil
}

// flush compares the documents that wait, collection by collection.
func (c *Check) flush(ctx context.Context) error {
	var collections []string
	wanted := map[string][]string{}
	brought := map[Target][]byte{} // of a document that was brought twice, the last one counts
	times := map[Target]int{}
	for _, p := range c.batch {
		key := Target{p.Collection, p.ID}
		if len(wanted[p.Collection]) == 0 {
			collections = append(collections, p.Collection)
		}
		if times[key]++; times[key] == 1 {
			wanted[p.Collection] = append(wanted[p.Collection], p.ID)
		}
		brought[key] = p.Brought
	}
	c.batch, c.size = c.batch[:0], 0
	for _, collection := range collections {
		err := c.each(ctx, collection, wanted[collection], func(ids []string, shown map[string][]byte) error {
			var pairs []Pair
			for _, id := range ids {
				key := Target{collection, id}
				if shown[id] == nil {
					c.counts.NotThere += times[key]
					continue
				}
				pairs = append(pairs, Pair{collection, id, brought[key], shown[id]})
			}
			return c.compare(ctx, pairs)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// compare compares documents.
func (c *Check) compare(ctx context.Context, pairs []Pair) error {
	if err := c.askTargets(ctx, pairs); err != nil {
		return err
	}
	for _, p := range pairs {
		c.counts.Documents++
		if err := c.comparison.Compare(p, func(t Target) bool { return c.there[t] }, c.tell); err != nil {
			return err
		}
	}
	return nil
}

// askTargets asks which of the documents are there that copies were brought of.
func (c *Check) askTargets(ctx context.Context, pairs []Pair) error {
	if len(c.there) > maxTargets {
		clear(c.there)
	}
	wanted := map[string][]string{}
	for _, p := range pairs {
		for _, t := range c.comparison.Targets(p) {
			if _, known := c.there[t]; !known {
				c.there[t] = false
				if !isID(t.ID) {
					continue
				}
				wanted[t.Collection] = append(wanted[t.Collection], t.ID)
			}
		}
	}
	for collection, ids := range wanted {
		err := c.each(ctx, collection, ids, func(ids []string, shown map[string][]byte) error {
			for _, id := range ids {
				c.there[Target{collection, id}] = shown[id] != nil
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// each calls fn with all ids, a few at a time, and the documents of these that are there.
func (c *Check) each(ctx context.Context, collection string, ids []string, fn func(ids []string, shown map[string][]byte) error) error {
	for len(ids) > 0 {
		shown, looked, err := c.store.Shown(ctx, collection, ids)
		if err == nil {
			err = fn(ids[:looked], shown)
		}
		if err != nil {
			return err
		}
		ids = ids[looked:]
	}
	return nil
}

// isID tells whether a text can be a document's id.
func isID(text string) bool { return fanfold.CheckID(text) == nil }
