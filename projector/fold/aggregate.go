package fold

import (
	"bytes"
	"encoding/binary"
	"strconv"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/internal/decimal"
	"github.com/fanfold/fanfold/internal/jsondoc"
	"github.com/fanfold/fanfold/internal/sortkey"
	"github.com/fanfold/fanfold/model"
	"github.com/fanfold/fanfold/sqlite"
)

// RuleEntry is what a document enters into a rule of a document that it refers to, besides its link. It is a sort key for
// Min, Max and an ordered Recent, a number for Sum and Avg.
type RuleEntry struct {
	Included bool
	SortKey  []byte
	Number   decimal.Decimal
	Count    int64 // how many numbers Number is the sum of
}

// same returns whether two entries are equal.
func (e RuleEntry) same(o RuleEntry) bool {
	return e.Included == o.Included && e.Count == o.Count && bytes.Equal(e.SortKey, o.SortKey) && (!e.Included || e.Number.String() == o.Number.String())
}

// KeepsOrder returns whether the rule keeps its documents in an order of its own, in entries. A Recent by creation has
// the order of the links.
func (r *Rule) KeepsOrder() bool {
	return r.Kind == model.Min || r.Kind == model.Max || r.Kind == model.Recent && (r.where != nil || r.OrderBy != nil || r.ByUpdate)
}

// KeepsTotals returns whether the rule keeps the count and the sum of its documents. A Count does whose documents come
// into it and leave it without being written.
func (r *Rule) KeepsTotals() bool {
	return r.Kind == model.Sum || r.Kind == model.Avg || r.Kind == model.Count && r.EntersDerived
}

// Entrant names a document that enters something into a rule.
type Entrant struct {
	Key      fanfold.Key
	Number   int64
	Revision fanfold.Revision // of the view that is looked at
}

// EntrantOf returns the document of a row, as it is there.
func EntrantOf(row *sqlite.Row) Entrant {
	return Entrant{Key: row.Key, Number: row.Number, Revision: row.Revision}
}

// EntryOf returns what a document enters into the rule, given its embedded view; where the rule looks at no derived member,
// its referenced view will do. A number that cannot be read exactly is reported and not entered.
func (r *Rule) EntryOf(t *jsondoc.Tree, doc Entrant, reporter Reporter) RuleEntry {
	if r.over != nil {
		return r.totalEntry(t, doc, reporter)
	}
	if !r.Includes(t, doc.Key, reporter) {
		return RuleEntry{}
	}
	switch {
	case r.Kind.Aggregates():
		n := r.Of.Lookup(t, jsondoc.Root)
		if n == jsondoc.None || t.Kind(n) != jsondoc.Number {
			return RuleEntry{}
		}
		d, err := decimal.Parse(t.Text(n))
		if err != nil {
			r.failed(reporter, doc.Key, err)
			return RuleEntry{}
		}
		if r.KeepsTotals() {
			return RuleEntry{Included: true, Number: d, Count: 1}
		}
		return RuleEntry{Included: true, SortKey: sortkey.AppendNumber(nil, d)}
	case r.KeepsTotals(): // a count
		return RuleEntry{Included: true, Count: 1}
	case r.ByUpdate: // later writes have later times, or the same
		return RuleEntry{Included: true, SortKey: binary.BigEndian.AppendUint64(nil, uint64(doc.Revision))}
	case r.OrderBy != nil:
		return RuleEntry{Included: true, SortKey: sortkey.OrderBy(t, r.OrderBy.Lookup(t, jsondoc.Root))}
	case r.KeepsOrder():
		return RuleEntry{Included: true, SortKey: binary.BigEndian.AppendUint64(nil, uint64(doc.Number))}
	}
	return RuleEntry{Included: true}
}

// totalEntry does what EntryOf does for a rule that goes through elements of the document: they enter as one.
func (r *Rule) totalEntry(t *jsondoc.Tree, doc Entrant, reporter Reporter) RuleEntry {
	total, ok, err := r.over.Total(t)
	if err != nil {
		r.failed(reporter, doc.Key, err)
	}
	switch {
	case !ok || total.Count == 0:
		return RuleEntry{}
	case r.KeepsTotals():
		return RuleEntry{Included: true, Number: total.Number, Count: total.Count}
	}
	return RuleEntry{Included: true, SortKey: sortkey.AppendNumber(nil, total.Number)}
}

// entries brings what documents enter into the rules of others up to their views.
type entries struct {
	*folding

	marks *marks
}

// update brings what a document enters into one rule of its targets to its new referenced view, and marks the
// targets whose value that may change.
func (es *entries) update(rule *Rule, refs referenceChange) error {
	var old, now RuleEntry
	if len(refs.was) > 0 {
		old = rule.EntryOf(refs.before, Entrant{refs.key, refs.number, refs.revisionBefore}, nil)
	}
	if len(refs.is) > 0 {
		now = rule.EntryOf(refs.after, Entrant{refs.key, refs.number, refs.revision}, es.opt.Reporter)
	}
	return es.move(rule, refs, entryChange{old: old, now: now})
}

// move brings a document's entry up to date in one rule of those that it referred to, and refers to now.
func (es *entries) move(rule *Rule, refs referenceChange, e entryChange) error {
	was, is := newIDSet(refs.was), newIDSet(refs.is)
	for _, id := range refs.was {
		change := e
		if !is.has(id) {
			change = entryChange{old: e.old}
		}
		if err := es.updateOn(rule, refs.documentChange, id, change); err != nil {
			return err
		}
	}
	for _, id := range refs.is {
		if !was.has(id) {
			if err := es.updateOn(rule, refs.documentChange, id, entryChange{now: e.now}); err != nil {
				return err
			}
		}
	}
	return nil
}

// entryChange is what a document entered into a rule before an event, and enters after it.
type entryChange struct {
	old, now RuleEntry
	shows    bool // the rule shows other members of the document, whatever the entry is
}

// updateOn brings what a document enters into a rule of one target up to date. A Recent shows members that are no
// part of the entry, so that it may be marked even where the entry is the same.
func (es *entries) updateOn(rule *Rule, d documentChange, target string, e entryChange) error {
	same := e.old.same(e.now)
	if same && e.now.Included && rule.Kind == model.Recent && !rule.EntersDerived { // the members are yet to come
		es.marks.unmoved = append(es.marks.unmoved, unmovedEntry{rule, target})
	}
	if !same {
		if err := es.change(rule, d, target, e); err != nil {
			return err
		}
	}
	shown := e.shows && e.now.Included
	if !shown && same || es.levels[rule.Level].recompute[rule] {
		return nil
	}
	came := !e.old.Included && e.now.Included
	if came && rule.Kind == model.Recent && rule.KeepsOrder() && es.tx.Aggregates.IsAfterLast(rule.FullName, target, e.now.SortKey, rule.Limit) {
		return nil // the list has no room for it
	}
	m := membership{recount: true, newest: es.isNewest(rule, d.number, d.key, target)}
	if came && !rule.EntersDerived { // several of these may come by one event
		m.entered = e.now.SortKey
	}
	es.marks.counted(rule, target, m)
	return nil
}

// change writes what a document enters into a rule of one target.
func (es *entries) change(rule *Rule, d documentChange, target string, e entryChange) error {
	if rule.KeepsTotals() {
		return es.updateTotal(rule, target, e)
	}
	if !rule.KeepsOrder() {
		return nil
	}
	if e.old.Included {
		if err := es.tx.Aggregates.RemoveEntry(rule.FullName, target, e.old.SortKey, d.number); err != nil {
			return err
		}
	}
	if e.now.Included {
		return es.tx.Aggregates.AddEntry(rule.FullName, target, e.now.SortKey, d.number)
	}
	return nil
}

// updateTotal moves the stored total of a Sum or Avg by the difference. The sum is exact, so that the order of the
// events does not matter.
func (es *entries) updateTotal(rule *Rule, target string, e entryChange) error {
	count, text, err := es.tx.Aggregates.Total(rule.FullName, target)
	if err != nil {
		return err
	}
	sum, err := totalOf(count, text)
	if err != nil {
		return err
	}
	if e.old.Included {
		count, sum = count-e.old.Count, decimal.Sub(sum, e.old.Number)
	}
	if e.now.Included {
		count, sum = count+e.now.Count, decimal.Add(sum, e.now.Number)
	}
	return es.tx.Aggregates.SetTotal(rule.FullName, target, count, sum.String())
}

// totalOf returns the sum that a stored total holds.
func totalOf(count int64, text string) (decimal.Decimal, error) {
	if count == 0 {
		return decimal.Decimal{}, nil
	}
	return decimal.ParseExact(text)
}

// aggregate returns the value of a Sum, Min, Max, Avg or Recent on target; nil is "no value".
func (v *values) aggregate(r *Rule, target string) ([]byte, error) {
	switch {
	case r.KeepsTotals():
		count, text, err := v.tx.Aggregates.Total(r.FullName, target)
		if err != nil {
			return nil, err
		}
		sum, err := totalOf(count, text)
		if err != nil {
			return nil, err
		}
		return r.AggregateValue(count, sum), nil
	case r.Kind == model.Min:
		return ExtremeValue(v.tx.Aggregates.FirstEntry(r.FullName, target))
	case r.Kind == model.Max:
		return ExtremeValue(v.tx.Aggregates.LastEntry(r.FullName, target))
	}
	return v.recent(r, target)
}

// AggregateValue returns the value of a Sum, an Avg or a Count that keeps totals; nil is "no value", which the mean of
// nothing is.
func (r *Rule) AggregateValue(count int64, sum decimal.Decimal) []byte {
	switch {
	case r.Kind == model.Count:
		return strconv.AppendInt(nil, count, 10)
	case r.Kind == model.Sum:
		return []byte(sum.String())
	case count == 0:
		return nil
	}
	return []byte(decimal.Mean(sum, count).String())
}

// ExtremeValue returns the value of a Min or Max whose entry has this sort key, nil for none. An error is handed on.
func ExtremeValue(sort []byte, err error) ([]byte, error) {
	if err != nil || sort == nil {
		return nil, err
	}
	d, err := sortkey.Number(sort)
	return []byte(d.String()), err
}
