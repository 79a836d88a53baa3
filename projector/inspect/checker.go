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

// checker recomputes embedded views the slow way: every derived value from the referenced
// views, none from what is stored.
type checker struct {
	ctx   context.Context
	sc    *sqlite.Scanner
	plan  *fold.Plan
	memo  map[memoKey][]byte
	fresh map[string]bool // rules that are yet to be applied
}

type memoKey struct {
	rule *fold.Rule
	id   string
}

const memoLimit = 200_000

func newChecker(ctx context.Context, sc *sqlite.Scanner, pl *fold.Plan) *checker {
	return &checker{ctx: ctx, sc: sc, plan: pl, memo: map[memoKey][]byte{}}
}

// values enters the values of a unique member into the private index. bad is told of what cannot be
// compared, which has no claim.
func (c *checker) values(collection string, path fanfold.Path, index string, bad func(row *sqlite.Row, err error)) error {
	return c.scan(func(row *sqlite.Row) error {
		if row.Key.Collection != collection {
			return nil
		}
		value, err := fanfold.UniqueValue(jsondoc.MustParse(row.Source()), path)
		if err != nil {
			bad(row, err)
		}
		if value == "" {
			return nil
		}
		return c.sc.AddLink(index, value, row.Number)
	})
}

// link builds the private link index.
func (c *checker) link() error {
	return c.scan(func(row *sqlite.Row) error {
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

func (c *checker) scan(fn func(row *sqlite.Row) error) error {
	names, _, err := c.sc.Collections()
	if err != nil {
		return err
	}
	for _, name := range names {
		for after := int64(0); ; {
			if err := c.ctx.Err(); err != nil {
				return err
			}
			rows, err := c.sc.Scan(name, after, pageRows)
			if err != nil {
				return err
			}
			if len(rows) == 0 {
				break
			}
			for _, row := range rows {
				if err := fn(row); err != nil {
					return err
				}
				after = row.Number
			}
		}
	}
	return nil
}

// each calls fn with every document and its right embedded view.
func (c *checker) each(fn func(row *sqlite.Row, right []byte) error) error {
	return c.scan(func(row *sqlite.Row) error {
		right, err := c.expected(row, c.plan.Levels)
		if err != nil {
			return err
		}
		return fn(row, right)
	})
}

// right is the document's embedded view with the rules of the levels below top.
func (c *checker) expected(row *sqlite.Row, top int) ([]byte, error) {
	return c.plan.Embed(c.plan.Collection(row.Key.Collection), &checked{c, row, top}, jsondoc.MustParse(row.Source()), nil)
}

type checked struct {
	c   *checker
	row *sqlite.Row
	top int
}

func (v *checked) Value(r *fold.Rule, t *jsondoc.Tree, anchor jsondoc.Node) (raw []byte, same bool, err error) {
	switch {
	case r.Level >= v.top:
	case r.Kind == fanfold.Copy:
		raw, err = fold.CopyValue(r, t, anchor, func(r *fold.Rule, id string) ([]byte, error) { return v.c.copied(r, id, v.row.Number) })
	case r.Kind == fanfold.Count:
		raw, err = v.c.count(r, v.row.Key.ID)
	case r.Kind == fanfold.IDs:
		raw, err = v.c.ids(r, v.row.Key.ID)
	default:
		raw, err = v.c.aggregate(r, v.row.Key.ID)
	}
	return raw, false, err
}

func (c *checker) copied(r *fold.Rule, id string, holder int64) ([]byte, error) {
	if r.Frozen && !c.fresh[r.FullName] {
		return c.sc.Kept(r.FullName, id, holder)
	}
	key := memoKey{r, id}
	if raw, ok := c.memo[key]; ok {
		return raw, nil
	}
	row, err := c.sc.Row(fanfold.Key{Collection: r.Relation.To, ID: id})
	if err != nil {
		return nil, err
	}
	if row == nil {
		if r.KeepsGone() && !c.fresh[r.FullName] {
			return c.sc.Kept(r.FullName, id, holder)
		}
		return nil, nil
	}
	body, err := c.expected(row, r.Level)
	if err != nil {
		return nil, err
	}
	raw := r.Evaluate(body, id, nil)
	if len(c.memo) >= memoLimit {
		clear(c.memo)
	}
	c.memo[key] = raw
	return raw, nil
}

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
	holders, err := c.sc.Holders(r.RelationName, target, -1)
	if err != nil {
		return nil, err
	}
	var in []child
	for _, number := range holders {
		row, err := c.sc.RowByNumber(number)
		if err != nil {
			return nil, err
		}
		if e := r.EntryOf(jsondoc.MustParse(row.Source()), row.Key, row.Number, nil); e.Included {
			in = append(in, child{e, row})
		}
	}
	slices.SortStableFunc(in, func(a, b child) int { // holders come by number, so an entry without a key sorts by arrival
		if order := bytes.Compare(a.SortKey, b.SortKey); order != 0 || a.SortKey == nil {
			return order
		}
		return strings.Compare(a.row.Key.ID, b.row.Key.ID)
	})
	switch {
	case r.KeepsTotals():
		sum := decimal.Decimal{}
		for _, e := range in {
			sum = decimal.Add(sum, e.Number)
		}
		return r.AggregateValue(int64(len(in)), sum), nil
	case r.Kind == fanfold.Min && len(in) > 0:
		return fold.ExtremeValue(in[0].SortKey, nil)
	case r.Kind == fanfold.Max && len(in) > 0:
		return fold.ExtremeValue(in[len(in)-1].SortKey, nil)
	case r.Kind != fanfold.Recent:
		return nil, nil
	}
	slices.Reverse(in)
	var bodies [][]byte
	for _, e := range in[:min(len(in), r.Limit)] {
		body, err := c.expected(e.row, r.Level)
		if err != nil {
			return nil, err
		}
		bodies = append(bodies, body)
	}
	return r.Excerpts(bodies), nil
}

// child is a document and what it enters into a rule.
type child struct {
	fold.Entry
	row *sqlite.Row
}

// pageRows is how many rows are read at a time.
const pageRows = 512
