package projector

import (
	"bytes"
	"encoding/binary"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/internal/decimal"
	"github.com/fanfold/fanfold/internal/jsondoc"
	"github.com/fanfold/fanfold/sqlite"
)

// entry is what a document enters into a rule of those it refers to, besides its link: a sort key
// for Min, Max and an ordered Recent, a number for Sum and Avg.
type entry struct {
	in   bool
	sort []byte
	n    decimal.Decimal
}

func (e entry) same(o entry) bool {
	return e.in == o.in && bytes.Equal(e.sort, o.sort) && (!e.in || e.n.String() == o.n.String())
}

// sorted tells whether the rule keeps its documents in an order of its own. A Recent by arrival
// has that of the links.
func (r *rulePlan) sorted() bool {
	return r.Kind == fanfold.Min || r.Kind == fanfold.Max || r.Kind == fanfold.Recent && (r.where != nil || r.OrderBy != nil)
}

func (r *rulePlan) totals() bool { return r.Kind == fanfold.Sum || r.Kind == fanfold.Avg }

// entry is what a child enters, given its referenced view and number.
func (r *rulePlan) entry(t *jsondoc.Tree, key fanfold.Key, number int64, report *report) entry {
	if !r.counts(t, key, report) {
		return entry{}
	}
	switch {
	case r.Kind.Aggregates():
		n := r.Of.Lookup(t, jsondoc.Root)
		if n == jsondoc.None || t.Kind(n) != jsondoc.Number {
			return entry{}
		}
		d, err := decimal.Parse(t.Text(n))
		if err != nil {
			report.failed(r, key, err)
			return entry{}
		}
		if r.totals() {
			return entry{in: true, n: d}
		}
		return entry{in: true, sort: d.AppendKey(nil)}
	case r.OrderBy != nil:
		return entry{in: true, sort: orderKey(t, r.OrderBy.Lookup(t, jsondoc.Root))}
	case r.sorted():
		return entry{in: true, sort: binary.BigEndian.AppendUint64(nil, uint64(number))}
	}
	return entry{in: true}
}

// Classes of what documents are ordered by: whatever is neither number nor text comes first.
const (
	orderNothing = iota
	orderNumber
	orderText
)

// maxOrderText is how many bytes of a text count for the order.
const maxOrderText = 1024

func orderKey(t *jsondoc.Tree, n jsondoc.Node) []byte {
	if n != jsondoc.None && t.Kind(n) == jsondoc.String {
		text := t.Text(n)
		return append([]byte{orderText}, text[:min(len(text), maxOrderText)]...)
	}
	if n != jsondoc.None && t.Kind(n) == jsondoc.Number {
		if d, err := decimal.Parse(t.Text(n)); err == nil {
			return d.AppendKey([]byte{orderNumber})
		}
	}
	return []byte{orderNothing}
}

// enter brings what a document enters into one rule of its targets from its old to its new
// referenced view, and marks the targets whose value that may change.
func (f *fold) enter(rule *rulePlan, key fanfold.Key, number int64, was, is []string, before, after *jsondoc.Tree) error {
	var old, now entry
	if len(was) > 0 {
		old = rule.entry(before, key, number, nil)
	}
	if len(is) > 0 {
		now = rule.entry(after, key, number, f.report)
	}
	for _, id := range was {
		to := entry{}
		if contains(is, id) {
			to = now
		}
		if err := f.reenter(rule, key, number, id, old, to); err != nil {
			return err
		}
	}
	for _, id := range is {
		if !contains(was, id) {
			if err := f.reenter(rule, key, number, id, entry{}, now); err != nil {
				return err
			}
		}
	}
	return nil
}

func (f *fold) reenter(rule *rulePlan, key fanfold.Key, number int64, target string, old, now entry) error {
	if (rule.Kind == fanfold.Recent && (old.in || now.in) || !old.same(now)) && !f.levels[rule.Level].every[rule] {
		f.markCounted(rule, target, membership{recount: true})
	}
	if old.same(now) {
		return nil
	}
	if rule.totals() {
		return f.addTotal(rule, target, old, now)
	}
	if !rule.sorted() {
		return nil
	}
	if old.in {
		if err := f.tx.RemoveEntry(rule.name, target, old.sort, key.ID); err != nil {
			return err
		}
	}
	if now.in {
		return f.tx.AddEntry(rule.name, target, now.sort, key.ID, number)
	}
	return nil
}

func (f *fold) addTotal(rule *rulePlan, target string, old, now entry) error {
	count, text, err := f.tx.Total(rule.name, target)
	if err != nil {
		return err
	}
	sum, err := totalOf(count, text)
	if err != nil {
		return err
	}
	if old.in {
		count, sum = count-1, decimal.Sub(sum, old.n)
	}
	if now.in {
		count, sum = count+1, decimal.Add(sum, now.n)
	}
	return f.tx.SetTotal(rule.name, target, count, sum.String())
}

func totalOf(count int64, text string) (decimal.Decimal, error) {
	if count == 0 {
		return decimal.Decimal{}, nil
	}
	return decimal.ParseExact(text)
}

// aggregate is the value of a Sum, Min, Max, Avg or Recent on target.
func (r *rulePlan) aggregate(from *sqlite.Tx, target string) ([]byte, error) {
	switch r.Kind {
	case fanfold.Sum, fanfold.Avg:
		count, text, err := from.Total(r.name, target)
		if err != nil {
			return nil, err
		}
		sum, err := totalOf(count, text)
		if err != nil {
			return nil, err
		}
		return r.result(count, sum), nil
	case fanfold.Min:
		return extreme(from.FirstEntry(r.name, target))
	case fanfold.Max:
		return extreme(from.LastEntry(r.name, target))
	}
	var bodies [][]byte
	var err error
	if r.sorted() {
		bodies, err = from.LastBodies(r.name, target, r.Limit)
	} else {
		bodies, err = from.NewestBodies(r.relation, target, r.Limit)
	}
	if err != nil {
		return nil, err
	}
	return r.excerpts(bodies), nil
}

// result is a Sum's or Avg's value. The mean of nothing is no value.
func (r *rulePlan) result(count int64, sum decimal.Decimal) []byte {
	switch {
	case r.Kind == fanfold.Sum:
		return []byte(sum.String())
	case count == 0:
		return nil
	}
	return []byte(decimal.Mean(sum, count).String())
}

func extreme(sort []byte, err error) ([]byte, error) {
	if err != nil || sort == nil {
		return nil, err
	}
	d, err := decimal.FromKey(sort)
	return []byte(d.String()), err
}

// excerpts is a Recent's value: of each document the members that the rule shows and that it has.
func (r *rulePlan) excerpts(bodies [][]byte) []byte {
	out := []byte{'['}
	for i, body := range bodies {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(out, '{')
		t, first := jsondoc.MustParse(body), true
		for _, name := range r.Fields {
			n := t.Member(jsondoc.Root, name)
			if n == jsondoc.None {
				continue
			}
			if !first {
				out = append(out, ',')
			}
			first = false
			out = append(append(jsondoc.AppendQuote(out, name), ':'), t.Raw(n)...)
		}
		out = append(out, '}')
	}
	return append(out, ']')
}

// markShown marks the recents that show what a derived change altered on a child.
func (f *fold) markShown(c *collectionPlan, body []byte, changed map[string]bool) {
	var t *jsondoc.Tree
	for _, rule := range c.counters {
		if rule.Kind != fanfold.Recent || !rule.reads(changed) || f.levels[rule.Level].every[rule] {
			continue
		}
		if t == nil {
			t = jsondoc.MustParse(body)
		}
		for _, id := range rule.Relation.Targets(t) {
			f.markCounted(rule, id, membership{recount: true})
		}
	}
}
