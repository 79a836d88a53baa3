package inspect

import (
	"bytes"
	"cmp"
	"slices"
	"strconv"

	"github.com/fanfold/fanfold/internal/decimal"
	"github.com/fanfold/fanfold/model"
	"github.com/fanfold/fanfold/projector/fold"
)

// count counts the documents that refer to target.
func (c *checker) count(r *fold.Rule, target string) ([]byte, error) {
	if r.Where == "" {
		n, err := c.countHolders(r, target)
		return strconv.AppendInt(nil, n, 10), err
	}
	n := int64(0)
	if err := c.eachEntry(r, target, func(numberedEntry) { n++ }); err != nil {
		return nil, err
	}
	return strconv.AppendInt(nil, n, 10), nil
}

// holders returns the numbers of the documents that refer to target by a rule's relation, in order of creation, limit of them
// at most where that is not negative.
func (c *checker) holders(r *fold.Rule, target string, limit int) ([]int64, error) {
	if !c.inLinkIndex(r.Relation) {
		return c.sc.HolderNumbers(r.RelationName, target, limit)
	}
	return c.sc.Holders(r.RelationName, target, limit)
}

// countHolders returns how many documents refer to target by a rule's relation.
func (c *checker) countHolders(r *fold.Rule, target string) (int64, error) {
	if !c.inLinkIndex(r.Relation) {
		return c.sc.Snapshot.CountHolders(r.RelationName, target, -1)
	}
	return c.sc.CountHolders(r.RelationName, target)
}

// ids returns an IDs rule's value on target.
func (c *checker) ids(r *fold.Rule, target string) ([]byte, error) {
	holders, err := c.holders(r, target, r.Limit+1)
	if err != nil {
		return nil, err
	}
	var ids []string
	for _, number := range holders {
		key, _, err := c.sc.KeyOf(number)
		if err != nil {
			return nil, err
		}
		ids = append(ids, key.ID)
	}
	return fold.IDList(ids, r.Limit), nil
}

// aggregate recomputes a Sum, Min, Max, Avg or Recent from all documents that refer to target.
func (c *checker) aggregate(r *fold.Rule, target string) ([]byte, error) {
	count, sum := int64(0), decimal.Decimal{}
	first, last := &entryList{limit: 1}, &entryList{limit: max(r.Limit, 1), descending: true}
	if err := c.eachEntry(r, target, func(e numberedEntry) {
		count, sum = count+e.Count, decimal.Add(sum, e.Number)
		first.add(e)
		last.add(e)
	}); err != nil {
		return nil, err
	}
	switch {
	case r.KeepsTotals():
		return r.AggregateValue(count, sum), nil
	case r.Kind == model.Min && len(first.sorted()) > 0:
		return fold.ExtremeValue(first.sorted()[0].SortKey, nil)
	case r.Kind == model.Max && len(last.sorted()) > 0:
		return fold.ExtremeValue(last.sorted()[0].SortKey, nil)
	case r.Kind != model.Recent:
		return nil, nil
	}
	list := fold.NewExcerpts(r)
	for _, e := range last.sorted() {
		excerpt, err := c.excerpt(r, e.number)
		if err != nil {
			return nil, err
		}
		if err := list.Add(excerpt); err != nil {
			return nil, err
		}
	}
	return list.Value(), nil
}

// numberedEntry is what a document enters into a rule.
type numberedEntry struct {
	fold.RuleEntry
	number int64
}

// eachEntry calls fn with what documents enter into a rule on target, in order of creation.
func (c *checker) eachEntry(r *fold.Rule, target string, fn func(e numberedEntry)) error {
	holders, err := c.holders(r, target, -1)
	if err != nil {
		return err
	}
	for _, number := range holders {
		if err := c.ctx.Err(); err != nil {
			return err
		}
		e, err := c.contributedEntry(r, number)
		if err != nil {
			return err
		}
		if e.Included {
			fn(numberedEntry{e, number})
		}
	}
	return nil
}

// entryList holds the first entries of a rule's order, or the last ones.
type entryList struct {
	limit      int
	descending bool
	entries    []numberedEntry
}

// add adds an entry. It sorts, and drops what is past the limit, once in a while.
func (l *entryList) add(e numberedEntry) {
	l.entries = append(l.entries, e)
	if len(l.entries) > 2*l.limit {
		l.sorted()
	}
}

// sorted returns the entries within the limit, in order.
func (l *entryList) sorted() []numberedEntry {
	slices.SortFunc(l.entries, func(a, b numberedEntry) int {
		order := cmp.Or(bytes.Compare(a.SortKey, b.SortKey), cmp.Compare(a.number, b.number)) // a Recent by creation has no sort keys
		if l.descending {
			return -order
		}
		return order
	})
	l.entries = l.entries[:min(len(l.entries), l.limit)]
	return l.entries
}
