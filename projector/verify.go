package projector

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/internal/decimal"
	"github.com/fanfold/fanfold/internal/jsondoc"
	"github.com/fanfold/fanfold/sqlite"
)

// Wrong is one value of the read model that is not what the documents as written give.
type Wrong struct {
	Document string `json:"document"` // collection/id
	Rule     string `json:"rule,omitempty"`
	Detail   string `json:"detail"` // the stored value and the right one, as a JSON Patch, or what else is wrong
}

// Verified is what a verification found.
type Verified struct {
	Position  fanfold.Position `json:"position"` // of the prefix looked at
	Documents int64            `json:"documents"`
	Wrong     []Wrong          `json:"wrong"`
	More      int64            `json:"more,omitempty"` // wrong values beyond those listed
}

// maxListed bounds what a verification lists; the rest is counted.
const maxListed = 1000

// Verify recomputes every derived value and the link index from the documents as written, on
// one snapshot, and lists what differs. It blocks for as long as that takes; reads and folding
// go on.
func (p *Projector) Verify(ctx context.Context) (*Verified, error) {
	return verify(ctx, p.store)
}

// VerifyStore is Verify for a store that no projector runs on.
func VerifyStore(ctx context.Context, store *sqlite.Store) (*Verified, error) {
	return verify(ctx, store)
}

func verify(ctx context.Context, store *sqlite.Store) (out *Verified, err error) {
	sc, err := store.Scan()
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, sc.Close()) }()
	pl, err := loadPlan(func(fn func(*sqlite.Snapshot) error) error { return fn(sc.Snapshot) })
	if err != nil {
		return nil, err
	}
	out = &Verified{Position: sc.Checkpoint.At(), Wrong: []Wrong{}}
	c := newChecker(ctx, sc, pl)
	if err := c.readable(out); err != nil || len(out.Wrong) > 0 {
		return out, err // nothing can be computed from what is not JSON
	}
	if err := c.link(); err != nil {
		return nil, err
	}
	if err := sc.CompareLinks(func(d sqlite.LinkDifference) error { return out.link(sc, d) }); err != nil {
		return nil, err
	}
	if err := c.constraints(out); err != nil {
		return nil, err
	}
	err = c.each(func(row *sqlite.Row, right []byte) error {
		out.Documents++
		if !bytes.Equal(row.Body, right) {
			out.body(pl, row, right)
		}
		return nil
	})
	return out, err
}

func (v *Verified) add(w Wrong) {
	if len(v.Wrong) >= maxListed {
		v.More++
		return
	}
	v.Wrong = append(v.Wrong, w)
}

func (v *Verified) link(sc *sqlite.Scanner, d sqlite.LinkDifference) error {
	key, found, err := sc.KeyOf(d.Holder)
	if err != nil {
		return err
	}
	name := key.String()
	if !found {
		name = "document number " + strconv.FormatInt(d.Holder, 10)
	}
	detail := fmt.Sprintf("the link index lacks relation %s to %q", d.Relation, d.Target)
	if d.Stored {
		detail = fmt.Sprintf("the link index has relation %s to %q, which the document does not", d.Relation, d.Target)
	}
	v.add(Wrong{Document: name, Detail: detail})
	return nil
}

func (v *Verified) body(pl *plan, row *sqlite.Row, right []byte) {
	var stored jsondoc.Tree
	if jsondoc.Check(row.Body, fanfold.DefaultMaxDepth*4) != nil || stored.Parse(row.Body) != nil {
		v.add(Wrong{Document: row.Key.String(), Detail: "the embedded view is not JSON"})
		return
	}
	d := diff(row.Key.Collection, pl.collection(row.Key.Collection).shape, &stored, jsondoc.MustParse(right))
	if len(d.ops) == 0 {
		v.add(Wrong{Document: row.Key.String(), Detail: "the embedded view is not the canonical form of the referenced one: " + clipBytes(row.Body)})
		return
	}
	for i, rule := range d.rules {
		detail := "see the first rule of this document"
		if i == 0 {
			detail = "from stored (old) to right: " + clipBytes(d.patch())
		}
		v.add(Wrong{Document: row.Key.String(), Rule: rule, Detail: detail})
	}
}

func clipBytes(b []byte) string {
	if len(b) > 2000 {
		return string(b[:2000]) + "…"
	}
	return string(b)
}

// checker recomputes embedded views the slow way: every derived value from the referenced
// views, none from what is stored.
type checker struct {
	ctx    context.Context
	sc     *sqlite.Scanner
	plan   *plan
	report *report
	memo   map[memoKey][]byte
	fresh  map[string]bool // rules that are yet to be applied
}

type memoKey struct {
	rule *rulePlan
	id   string
}

const memoLimit = 200_000

func newChecker(ctx context.Context, sc *sqlite.Scanner, pl *plan) *checker {
	return &checker{ctx: ctx, sc: sc, plan: pl, memo: map[memoKey][]byte{}}
}

// constraints lists strict references without a target, and unique values that are not their
// holders', or several documents'.
func (c *checker) constraints(out *Verified) error {
	for _, r := range c.plan.model.Relations() {
		if !r.Strict {
			continue
		}
		if err := c.sc.Dangling(r.FullName(), r.To, maxListed, func(holder int64, target string) error {
			key, _, err := c.sc.KeyOf(holder)
			out.add(Wrong{Document: key.String(), Detail: fmt.Sprintf("refers to %s/%s by %s, which is strict, and it is not there", r.To, target, r.FullName())})
			return err
		}); err != nil {
			return err
		}
	}
	for _, col := range c.plan.model.Collections {
		for _, path := range col.Unique {
			index := "unique " + col.Name + "." + path.String()
			if err := c.values(col.Name, path, index, func(*sqlite.Row, error) {}); err != nil {
				return err
			}
			if err := c.sc.CompareClaims(col.Name, path.String(), index, func(value, holder string, stored bool) error {
				detail := fmt.Sprintf("has %s %q, which is claimed by another document or by none", path, value[1:])
				if stored {
					detail = fmt.Sprintf("claims %s %q, which it does not have", path, value[1:])
				}
				out.add(Wrong{Document: col.Name + "/" + holder, Detail: detail})
				return nil
			}); err != nil {
				return err
			}
		}
	}
	return nil
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

// readable lists documents whose referenced view is not JSON.
func (c *checker) readable(out *Verified) error {
	return c.scan(func(row *sqlite.Row) error {
		if err := jsondoc.Check(row.Source(), 10*fanfold.DefaultMaxDepth); err != nil {
			out.add(Wrong{Document: row.Key.String(), Detail: "the referenced view is not JSON: " + err.Error()})
		}
		return nil
	})
}

// link builds the private link index.
func (c *checker) link() error {
	return c.scan(func(row *sqlite.Row) error {
		t := jsondoc.MustParse(row.Source())
		for _, r := range c.plan.collection(row.Key.Collection).relations {
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
			rows, err := c.sc.Scan(name, after, page)
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
		right, err := c.right(row, c.plan.levels)
		if err != nil {
			return err
		}
		return fn(row, right)
	})
}

// right is the document's embedded view with the rules of the levels below top.
func (c *checker) right(row *sqlite.Row, top int) ([]byte, error) {
	return c.plan.embed(c.plan.collection(row.Key.Collection), &checked{c, row, top}, jsondoc.MustParse(row.Source()), nil)
}

type checked struct {
	c   *checker
	row *sqlite.Row
	top int
}

func (v *checked) value(r *rulePlan, t *jsondoc.Tree, anchor jsondoc.Node) (raw []byte, same bool, err error) {
	switch {
	case r.Level >= v.top:
	case r.Kind == fanfold.Copy:
		raw, err = copyValue(r, t, anchor, func(r *rulePlan, id string) ([]byte, error) { return v.c.copied(r, id, v.row.Number) })
	case r.Kind == fanfold.Count:
		raw, err = v.c.count(r, v.row.Key.ID)
	case r.Kind == fanfold.IDs:
		raw, err = v.c.ids(r, v.row.Key.ID)
	default:
		raw, err = v.c.aggregate(r, v.row.Key.ID)
	}
	return raw, false, err
}

func (c *checker) copied(r *rulePlan, id string, holder int64) ([]byte, error) {
	if r.Frozen && !c.fresh[r.name] {
		return c.sc.Kept(r.name, id, holder)
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
		if r.KeepsGone() && !c.fresh[r.name] {
			return c.sc.Kept(r.name, id, holder)
		}
		return nil, nil
	}
	body, err := c.right(row, r.Level)
	if err != nil {
		return nil, err
	}
	raw := r.evaluate(body, id, c.report)
	if len(c.memo) >= memoLimit {
		clear(c.memo)
	}
	c.memo[key] = raw
	return raw, nil
}

func (c *checker) count(r *rulePlan, target string) ([]byte, error) {
	holders, err := c.sc.Holders(r.relation, target, -1)
	if err != nil {
		return nil, err
	}
	n := len(holders)
	if r.where != nil {
		n = 0
		for _, number := range holders {
			row, err := c.sc.RowByNumber(number)
			if err != nil {
				return nil, err
			}
			if row != nil && r.counts(jsondoc.MustParse(row.Source()), row.Key, c.report) {
				n++
			}
		}
	}
	return strconv.AppendInt(nil, int64(n), 10), nil
}

func (c *checker) ids(r *rulePlan, target string) ([]byte, error) {
	holders, err := c.sc.Holders(r.relation, target, r.Limit+1)
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
	return idList(ids, r.Limit), nil
}

// aggregate recomputes a Sum, Min, Max, Avg or Recent from all documents that refer to target.
func (c *checker) aggregate(r *rulePlan, target string) ([]byte, error) {
	holders, err := c.sc.Holders(r.relation, target, -1)
	if err != nil {
		return nil, err
	}
	var in []child
	for _, number := range holders {
		row, err := c.sc.RowByNumber(number)
		if err != nil {
			return nil, err
		}
		if e := r.entry(jsondoc.MustParse(row.Source()), row.Key, row.Number, c.report); e.in {
			in = append(in, child{e, row})
		}
	}
	slices.SortStableFunc(in, func(a, b child) int { // holders come by number, so an entry without a key sorts by arrival
		if order := bytes.Compare(a.sort, b.sort); order != 0 || a.sort == nil {
			return order
		}
		return strings.Compare(a.row.Key.ID, b.row.Key.ID)
	})
	switch {
	case r.totals():
		sum := decimal.Decimal{}
		for _, e := range in {
			sum = decimal.Add(sum, e.n)
		}
		return r.result(int64(len(in)), sum), nil
	case r.Kind == fanfold.Min && len(in) > 0:
		return extreme(in[0].sort, nil)
	case r.Kind == fanfold.Max && len(in) > 0:
		return extreme(in[len(in)-1].sort, nil)
	case r.Kind != fanfold.Recent:
		return nil, nil
	}
	slices.Reverse(in)
	var bodies [][]byte
	for _, e := range in[:min(len(in), r.Limit)] {
		body, err := c.right(e.row, r.Level)
		if err != nil {
			return nil, err
		}
		bodies = append(bodies, body)
	}
	return r.excerpts(bodies), nil
}

// child is a document and what it enters into a rule.
type child struct {
	entry
	row *sqlite.Row
}
