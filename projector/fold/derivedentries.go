package fold

import (
	"cmp"
	"crypto/sha256"
	"maps"
	"slices"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/internal/jsondoc"
	"github.com/fanfold/fanfold/sqlite"
)

// A rule that looks at a document's derived members gets its entry only when these are final. So it is noted what the
// document entered before the event, when the first of what the rule looks at changes, and the entry is made at the
// rule's level.

// entryBefore is what a document entered into a rule before an event.
type entryBefore struct {
	key     fanfold.Key
	entry   RuleEntry
	written bool              // by the event, or entered anew, or by derived ids: it may refer to others than before,
	was     []string          // which are these
	shown   [sha256.Size]byte // the members that a Recent showed
}

// noteWritten notes what a document that is written, or deleted, entered before; d.before is its referenced view then, and
// old its row, nil where it was not there.
func (es *entries) noteWritten(c *Collection, d documentChange, old *sqlite.Row) {
	var t *jsondoc.Tree
	for _, rule := range c.derivedCounters {
		former := entryBefore{key: d.key, written: true}
		if old != nil {
			if t == nil {
				t = jsondoc.MustParse(old.Body)
			}
			former.was, former.entry, former.shown = rule.Relation.Targets(t), rule.EntryOf(t, EntrantOf(old), nil), rule.shownDigest(t)
		}
		es.note(rule, d.number, former)
	}
}

// noteDerived notes what a document entered before a derived change of it, by its row from before; changed names the
// members that differ, nil any.
func (es *entries) noteDerived(c *Collection, row *sqlite.Row, changed map[string]bool) {
	var t *jsondoc.Tree
	for _, rule := range c.derivedCounters {
		l := es.levels[rule.Level]
		if _, noted := l.entering[rule][row.Number]; noted || es.levelDone(rule) || l.recompute[rule] || !rule.ReadsAny(changed) {
			continue
		}
		if t == nil {
			t = jsondoc.MustParse(row.Body)
		}
		former := entryBefore{key: row.Key, entry: rule.EntryOf(t, EntrantOf(row), nil), shown: rule.shownDigest(t)}
		if former.written = rule.Relation.Derived(); former.written {
			former.was = rule.Relation.Targets(t)
		}
		es.note(rule, row.Number, former)
	}
}

// levelDone returns whether the rule's level is worked off, or being so. If it is, a change there is not in what the rule looks at,
// though in the same top-level member.
func (f *folding) levelDone(rule *Rule) bool { return rule.Level < f.levelsDone }

// note notes what the document with a number entered into a rule, unless it is entered anew.
func (es *entries) note(rule *Rule, number int64, former entryBefore) {
	l := es.levels[rule.Level]
	if l.recompute[rule] {
		return
	}
	l.marked = true
	if l.entering == nil {
		l.entering = map[*Rule]map[int64]entryBefore{}
	}
	if l.entering[rule] == nil {
		l.entering[rule] = map[int64]entryBefore{}
	}
	l.entering[rule][number] = former
}

// settle makes the entries of a level's rules that look at derived members, now that these are final, and marks the
// documents whose values that may change.
func (es *entries) settle(l *level) error {
	for _, rule := range inOrder(l.recompute) {
		if !rule.EntersDerived {
			continue
		}
		if err := es.eachDocument(rule.Relation.Collection, func(row *sqlite.Row) error {
			return es.settleOf(rule, row.Number, entryBefore{key: row.Key, written: true}, row)
		}); err != nil {
			return err
		}
	}
	for _, rule := range inOrder(l.entering) {
		for _, number := range slices.Sorted(maps.Keys(l.entering[rule])) {
			row, err := es.tx.Documents.ByNumber(number)
			if err != nil {
				return err
			}
			if err := es.settleOf(rule, number, l.entering[rule][number], row); err != nil {
				return err
			}
		}
	}
	return nil
}

// settleOf brings the entry of one document up to its row, which is nil where it is gone.
func (es *entries) settleOf(rule *Rule, number int64, former entryBefore, row *sqlite.Row) error {
	if err := es.ended(); err != nil {
		return err
	}
	refs := referenceChange{documentChange: documentChange{key: former.key, number: number}, was: former.was}
	e := entryChange{old: former.entry}
	if row != nil {
		t := jsondoc.MustParse(row.Body)
		if refs.is = rule.Relation.Targets(t); len(refs.is) > 0 {
			e.now, e.shows = rule.EntryOf(t, EntrantOf(row), es.opt.Reporter), former.shown != rule.shownDigest(t)
		}
	}
	if !former.written { // a derived change alters no reference
		refs.was = refs.is
	}
	return es.move(rule, refs, e)
}

// inOrder returns the rules that a map has something for, in the model's order.
func inOrder[V any](byRule map[*Rule]V) []*Rule {
	return slices.SortedFunc(maps.Keys(byRule), func(a, b *Rule) int { return cmp.Compare(a.Index, b.Index) })
}
