package fold

import (
	"slices"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/internal/jsondoc"
	"github.com/fanfold/fanfold/sqlite"
)

// keeps tells whether the rule's values stay on their holders by rows of their own.
func (r *Rule) KeepsValues() bool {
	return r.Kind == fanfold.Copy && (r.Frozen || r.Relation.OnDelete == fanfold.Keep)
}

// markFrozen notes the frozen copies that a write of the document takes: of ids that it has no
// value for yet, and of those that the write asks to refresh. They are taken when everything that
// they read is final, like all copies.
func (f *Fold) markFrozen(c *Collection, row *sqlite.Row, source *jsondoc.Tree, ev *fanfold.Event) error {
	for _, rule := range c.frozen {
		refresh := slices.Contains(ev.Refresh, rule.Path.String())
		for _, id := range rule.Relation.Targets(source) {
			value, err := f.tx.Kept(rule.FullName, id, row.Number)
			if err != nil {
				return err
			}
			if value != nil && refresh {
				if err := f.releaseFrozen(rule, id, row.Number); err != nil {
					return err
				}
				value = nil
			}
			if value == nil && !importHasNoValue(rule, id, ev.Kept) {
				l := f.levels[rule.Level]
				if l.capture == nil {
					l.capture = map[*Rule]bool{}
				}
				l.capture[rule], l.marked = true, true
			}
		}
	}
	return nil
}

// thaw forgets a frozen value, unless there is no target to take another from.
func (f *Fold) releaseFrozen(rule *Rule, id string, holder int64) error {
	number, err := f.tx.NumberOf(fanfold.Key{Collection: rule.Relation.To, ID: id})
	if err != nil || number == 0 {
		return err
	}
	return f.tx.ForgetKept(rule.FullName, id, holder)
}

// withheld tells whether an import says that the document has no value for the id: it lists those
// of the rule that there are.
func importHasNoValue(rule *Rule, id string, kept []byte) bool {
	if kept == nil {
		return false
	}
	t := jsondoc.MustParse(kept)
	values := t.Member(jsondoc.Root, rule.FullName)
	if values == jsondoc.None {
		return false
	}
	return t.Member(values, id) == jsondoc.None
}

// take keeps the frozen values of a level that the document does not have yet, whether or not there
// is room for them in it.
func (f *Fold) captureFrozen(c *Collection, row *sqlite.Row, l *level, t *jsondoc.Tree) error {
	for _, r := range c.frozen {
		if !l.every[r] && (!l.capture[r] || row.Number != f.direct) {
			continue
		}
		for _, id := range r.Relation.Targets(t) {
			if err := f.captureFrozenValue(r, id, row.Number); err != nil {
				return err
			}
		}
	}
	return nil
}

func (f *Fold) captureFrozenValue(r *Rule, id string, holder int64) error {
	raw, err := f.tx.Kept(r.FullName, id, holder)
	if err != nil || raw != nil || importHasNoValue(r, id, f.event.Kept) {
		return err
	}
	body, err := f.body(fanfold.Key{Collection: r.Relation.To, ID: id})
	if err != nil || body == nil {
		return err
	}
	if raw = r.Evaluate(body, id, f.opt.Reporter); raw == nil {
		return nil
	}
	return f.tx.KeepOnHolder(r.FullName, id, holder, raw)
}
