package fold

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
type Entry struct {
	Included bool
	SortKey  []byte
	Number   decimal.Decimal
}

func (e Entry) same(o Entry) bool {
	return e.Included == o.Included && bytes.Equal(e.SortKey, o.SortKey) && (!e.Included || e.Number.String() == o.Number.String())
}

// sorted tells whether the rule keeps its documents in an order of its own. A Recent by arrival
// has that of the links.
func (r *Rule) KeepsOrder() bool {
	return r.Kind == fanfold.Min || r.Kind == fanfold.Max || r.Kind == fanfold.Recent && (r.where != nil || r.OrderBy != nil)
}

func (r *Rule) KeepsTotals() bool { return r.Kind == fanfold.Sum || r.Kind == fanfold.Avg }

// entry is what a child enters, given its referenced view and number.
func (r *Rule) EntryOf(t *jsondoc.Tree, key fanfold.Key, number int64, reporter Reporter) Entry {
	if !r.Includes(t, key, reporter) {
		return Entry{}
	}
	switch {
	case r.Kind.Aggregates():
		n := r.Of.Lookup(t, jsondoc.Root)
		if n == jsondoc.None || t.Kind(n) != jsondoc.Number {
			return Entry{}
		}
		d, err := decimal.Parse(t.Text(n))
		if err != nil {
			r.failed(reporter, key, err)
			return Entry{}
		}
		if r.KeepsTotals() {
			return Entry{Included: true, Number: d}
		}
		return Entry{Included: true, SortKey: d.AppendKey(nil)}
	case r.OrderBy != nil:
		return Entry{Included: true, SortKey: orderKey(t, r.OrderBy.Lookup(t, jsondoc.Root))}
	case r.KeepsOrder():
		return Entry{Included: true, SortKey: binary.BigEndian.AppendUint64(nil, uint64(number))}
	}
	return Entry{Included: true}
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
func (f *Fold) updateEntries(rule *Rule, key fanfold.Key, number int64, was, is []string, before, after *jsondoc.Tree) error {
	var old, now Entry
	if len(was) > 0 {
		old = rule.EntryOf(before, key, number, nil)
	}
	if len(is) > 0 {
		now = rule.EntryOf(after, key, number, f.opt.Reporter)
	}
	for _, id := range was {
		to := Entry{}
		if contains(is, id) {
			to = now
		}
		if err := f.updateEntry(rule, key, number, id, old, to); err != nil {
			return err
		}
	}
	for _, id := range is {
		if !contains(was, id) {
			if err := f.updateEntry(rule, key, number, id, Entry{}, now); err != nil {
				return err
			}
		}
	}
	return nil
}

func (f *Fold) updateEntry(rule *Rule, key fanfold.Key, number int64, target string, old, now Entry) error {
	if (rule.Kind == fanfold.Recent && (old.Included || now.Included) || !old.same(now)) && !f.levels[rule.Level].every[rule] {
		f.markCounted(rule, target, membership{recount: true})
	}
	if old.same(now) {
		return nil
	}
	if rule.KeepsTotals() {
		return f.addTotal(rule, target, old, now)
	}
	if !rule.KeepsOrder() {
		return nil
	}
	if old.Included {
		if err := f.tx.RemoveEntry(rule.FullName, target, old.SortKey, key.ID); err != nil {
			return err
		}
	}
	if now.Included {
		return f.tx.AddEntry(rule.FullName, target, now.SortKey, key.ID, number)
	}
	return nil
}

func (f *Fold) addTotal(rule *Rule, target string, old, now Entry) error {
	count, text, err := f.tx.Total(rule.FullName, target)
	if err != nil {
		return err
	}
	sum, err := totalOf(count, text)
	if err != nil {
		return err
	}
	if old.Included {
		count, sum = count-1, decimal.Sub(sum, old.Number)
	}
	if now.Included {
		count, sum = count+1, decimal.Add(sum, now.Number)
	}
	return f.tx.SetTotal(rule.FullName, target, count, sum.String())
}

func totalOf(count int64, text string) (decimal.Decimal, error) {
	if count == 0 {
		return decimal.Decimal{}, nil
	}
	return decimal.ParseExact(text)
}

// aggregate is the value of a Sum, Min, Max, Avg or Recent on target.
func (r *Rule) aggregate(from *sqlite.Tx, target string) ([]byte, error) {
	switch r.Kind {
	case fanfold.Sum, fanfold.Avg:
		count, text, err := from.Total(r.FullName, target)
		if err != nil {
			return nil, err
		}
		sum, err := totalOf(count, text)
		if err != nil {
			return nil, err
		}
		return r.AggregateValue(count, sum), nil
	case fanfold.Min:
		return ExtremeValue(from.FirstEntry(r.FullName, target))
	case fanfold.Max:
		return ExtremeValue(from.LastEntry(r.FullName, target))
	}
	var bodies [][]byte
	var err error
	if r.KeepsOrder() {
		bodies, err = from.LastBodies(r.FullName, target, r.Limit)
	} else {
		bodies, err = from.NewestBodies(r.RelationName, target, r.Limit)
	}
	if err != nil {
		return nil, err
	}
	return r.Excerpts(bodies), nil
}

// result is a Sum's or Avg's value. The mean of nothing is no value.
func (r *Rule) AggregateValue(count int64, sum decimal.Decimal) []byte {
	switch {
	case r.Kind == fanfold.Sum:
		return []byte(sum.String())
	case count == 0:
		return nil
	}
	return []byte(decimal.Mean(sum, count).String())
}

func ExtremeValue(sort []byte, err error) ([]byte, error) {
	if err != nil || sort == nil {
		return nil, err
	}
	d, err := decimal.FromKey(sort)
	return []byte(d.String()), err
}

// excerpts is a Recent's value: of each document the members that the rule shows and that it has.
func (r *Rule) Excerpts(bodies [][]byte) []byte {
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
func (f *Fold) markShown(c *Collection, body []byte, changed map[string]bool) {
	var t *jsondoc.Tree
	for _, rule := range c.Counters {
		if rule.Kind != fanfold.Recent || !rule.ReadsAny(changed) || f.levels[rule.Level].every[rule] {
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
