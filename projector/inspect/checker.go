package inspect

import (
	"bytes"
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/internal/decimal"
	"github.com/fanfold/fanfold/internal/jsondoc"
	"github.com/fanfold/fanfold/projector/fold"
	"github.com/fanfold/fanfold/sqlite"
)

// checker recomputes embedded views the slow way, on one snapshot: every derived value from the referenced views, none
// from what is stored.
type checker struct {
	ctx      context.Context
	sc       *sqlite.Scanner
	plan     *fold.Plan
	copies   map[copyKey][]byte // values of copies that were computed
	newRules map[string]bool    // names of rules that are yet to be applied: nothing is kept by them
}

// copyKey names the value of a copy rule for one target.
type copyKey struct {
	rule *fold.Rule
	id   string
}

// maxCopies is how many values of copies are held.
const maxCopies = 200_000

// pageRows is how many rows are read at a time.
const pageRows = 512

// newChecker returns a checker of the snapshot under a plan.
func newChecker(ctx context.Context, sc *sqlite.Scanner, pl *fold.Plan) *checker {
	return &checker{ctx: ctx, sc: sc, plan: pl, copies: map[copyKey][]byte{}}
}

// uniqueIndex returns the name of the private index of a unique member.
func uniqueIndex(collection, path string) string { return "unique " + collection + "." + path }

// indexUnique enters the values of unique members of a collection into their private indexes. It calls bad for what
// cannot be compared, which has no claim.
func (c *checker) indexUnique(collection string, paths []fanfold.Path, bad func(row *sqlite.Row, err error)) error {
	return c.eachRowOf(collection, func(row *sqlite.Row) error {
		t := jsondoc.MustParse(row.Source())
		for _, path := range paths {
			value, err := fanfold.UniqueValue(t, path)
			if err != nil {
				bad(row, err)
			}
			if value == "" {
				continue
			}
			if err := c.sc.AddLink(uniqueIndex(collection, path.String()), value, row.Number); err != nil {
				return err
			}
		}
		return nil
	})
}

// indexLinks builds the private link index, which everything else is computed by.
func (c *checker) indexLinks() error {
	return c.eachRow(func(row *sqlite.Row) error {
		t := jsondoc.MustParse(row.Source())
		for _, r := range c.plan.Collection(row.Key.Collection).Relations {
			for _, id := range r.Targets(t) {
				if err := c.sc.AddLink(r.FullName(), id, row.Number); err != nil {
					return err
				}
			}
		}
		return nil
	})
}

// eachRow calls fn for every document, by collection and in order of arrival.
func (c *checker) eachRow(fn func(row *sqlite.Row) error) error {
	names, _, err := c.sc.Collections()
	if err != nil {
		return err
	}
	for _, name := range names {
		if err := c.eachRowOf(name, fn); err != nil {
			return err
		}
	}
	return nil
}

// eachRowOf calls fn for every document of a collection, in order of arrival.
func (c *checker) eachRowOf(name string, fn func(row *sqlite.Row) error) error {
	for after := int64(0); ; {
		if err := c.ctx.Err(); err != nil {
			return err
		}
		rows, err := c.sc.Scan(name, after, pageRows)
		if err != nil || len(rows) == 0 {
			return err
		}
		for _, row := range rows {
			if err := fn(row); err != nil {
				return err
			}
			after = row.Number
		}
	}
}

// eachDocument calls fn with every document and the embedded view that it should have.
func (c *checker) eachDocument(fn func(row *sqlite.Row, want []byte) error) error {
	return c.eachRow(func(row *sqlite.Row) error {
		want, err := c.expected(row, c.plan.Levels)
		if err != nil {
			return err
		}
		return fn(row, want)
	})
}

// expected returns the embedded view that the document should have, with the rules of the levels below level only.
func (c *checker) expected(row *sqlite.Row, level int) ([]byte, error) {
	values := &expectedValues{c: c, row: row, level: level}
	return c.plan.Embed(c.plan.Collection(row.Key.Collection), values, jsondoc.MustParse(row.Source()), nil)
}

// expectedValues gives the values that a document should have, of the rules of the levels below level.
type expectedValues struct {
	c     *checker
	row   *sqlite.Row
	level int
}

// Value implements fold.Values.
func (v *expectedValues) Value(r *fold.Rule, t *jsondoc.Tree, anchor jsondoc.Node) (raw []byte, same bool, err error) {
	switch {
	case r.Level >= v.level:
	case r.Kind == fanfold.Copy:
		raw, err = fold.CopyValue(r, t, anchor, func(r *fold.Rule, id string) ([]byte, error) { return v.c.copyOf(r, id, v.row.Number) })
	case r.Kind == fanfold.Count:
		raw, err = v.c.count(r, v.row.Key.ID)
	case r.Kind == fanfold.IDs:
		raw, err = v.c.ids(r, v.row.Key.ID)
	default:
		raw, err = v.c.aggregate(r, v.row.Key.ID)
	}
	return raw, false, err
}

// copyOf returns the value of a copy for one id; nil is "no value".
func (c *checker) copyOf(r *fold.Rule, id string, holder int64) ([]byte, error) {
	if r.Frozen && !c.newRules[r.FullName] {
		return c.sc.Kept(r.FullName, id, holder)
	}
	key := copyKey{r, id}
	if raw, ok := c.copies[key]; ok {
		return raw, nil
	}
	row, err := c.sc.Row(fanfold.Key{Collection: r.Relation.To, ID: id})
	if err != nil {
		return nil, err
	}
	if row == nil {
		if r.KeepsGone() && !c.newRules[r.FullName] {
			return c.sc.Kept(r.FullName, id, holder)
		}
		return nil, nil
	}
	body, err := c.expected(row, r.Level)
	if err != nil {
		return nil, err
	}
	raw := r.Evaluate(body, id, nil)
	if len(c.copies) >= maxCopies {
		clear(c.copies)
	}
	c.copies[key] = raw
	return raw, nil
}

// count counts the documents that refer to target.
func (c *checker) count(r *fold.Rule, target string) ([]byte, error) {
	holders, err := c.sc.Holders(r.RelationName, target, -1)
	if err != nil {
		return nil, err
	}
	n := len(holders)
	if r.Where != "" {
		n = 0
		for _, number := range holders {
			row, err := c.sc.RowByNumber(number)
			if err != nil {
				return nil, err
			}
			if row != nil && r.Includes(jsondoc.MustParse(row.Source()), row.Key, nil) {
				n++
			}
		}
	}
	return strconv.AppendInt(nil, int64(n), 10), nil
}

// ids returns an IDs rule's value on target.
func (c *checker) ids(r *fold.Rule, target string) ([]byte, error) {
	holders, err := c.sc.Holders(r.RelationName, target, r.Limit+1)
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
	entered, err := c.entries(r, target)
	if err != nil {
		return nil, err
	}
	switch {
	case r.KeepsTotals():
		sum := decimal.Decimal{}
		for _, e := range entered {
			sum = decimal.Add(sum, e.Number)
		}
		return r.AggregateValue(int64(len(entered)), sum), nil
	case r.Kind == fanfold.Min && len(entered) > 0:
		return fold.ExtremeValue(entered[0].SortKey, nil)
	case r.Kind == fanfold.Max && len(entered) > 0:
		return fold.ExtremeValue(entered[len(entered)-1].SortKey, nil)
	case r.Kind != fanfold.Recent:
		return nil, nil
	}
	slices.Reverse(entered)
	var bodies [][]byte
	for _, e := range entered[:min(len(entered), r.Limit)] {
		body, err := c.expected(e.row, r.Level)
		if err != nil {
			return nil, err
		}
		bodies = append(bodies, body)
	}
	return r.Excerpts(bodies), nil
}

// entry is what a document enters into a rule.
type entry struct {
	fold.Entry
	row *sqlite.Row
}

// entries returns what documents enter into a rule on target, in the rule's order.
func (c *checker) entries(r *fold.Rule, target string) (entered []entry, err error) {
	holders, err := c.sc.Holders(r.RelationName, target, -1)
	if err != nil {
		return nil, err
	}
	for _, number := range holders {
		row, err := c.sc.RowByNumber(number)
		if err != nil {
			return nil, err
		}
		if e := r.EntryOf(jsondoc.MustParse(row.Source()), row.Key, row.Number, nil); e.Included {
			entered = append(entered, entry{e, row})
		}
	}
	slices.SortStableFunc(entered, func(a, b entry) int { // holders come by number, so an entry without a key sorts by arrival
		if order := bytes.Compare(a.SortKey, b.SortKey); order != 0 || a.SortKey == nil {
			return order
		}
		return strings.Compare(a.row.Key.ID, b.row.Key.ID)
	})
	return entered, nil
}
