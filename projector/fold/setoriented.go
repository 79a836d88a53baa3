package fold

import (
	"slices"
	"strings"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/internal/jsondoc"
	"github.com/fanfold/fanfold/sqlite"
)

// DefaultSetOrientedFrom is how many holders a fan-out has that is folded by set-oriented SQL, where the rule
// allows it.
const DefaultSetOrientedFrom = 64

// together folds a level by two statements for all documents, where its only work is changed values of
// one target that replace the same members of every holder, and nothing else depends on those. The rows
// are those that document after document would give. done is false where it did nothing.
func (f *Fold) foldSetOriented(l *level) (done bool, err error) {
	if f.opt.SetOrientedFrom < 0 || f.preparing != nil || f.event.Kind == fanfold.KindModel {
		return false, nil
	}
	rules, id := l.soleTarget()
	if len(rules) == 0 {
		return false, nil
	}
	relation, c := rules[0].Relation, f.plan.Collection(rules[0].Collection)
	if relation.Path.Arrays() || c.manyLevels() {
		return false, nil
	}
	var d Difference
	var members []sqlite.Member
	for _, r := range rules {
		raw, _ := f.cache.get(r, id)
		old := l.targets[r][id]
		path, ok := sqlPath(r.Path[0].Name)
		if !ok || len(raw) >= sqlite.MaxShallow || r.Relation != relation || len(r.Path) != 1 || !old.known || old.raw == nil || raw == nil || c.AffectsOthers(r.TopMembers()) {
			return false, nil // not one member that every holder has, or what follows goes document by document
		}
		d.add("replace", "/"+jsondoc.PointerEscape(r.Path[0].Name), r.FullName, raw, old.raw)
		members = append(members, sqlite.Member{Path: path, Value: raw})
	}
	holders, err := f.holders(relation.FullName(), id)
	if err != nil || holders == 0 {
		return false, err
	}
	first, err := f.position()
	if err != nil {
		return false, err
	}
	if f.n += holders - 1; f.n-1 > fanfold.MaxChanges {
		_, err := f.position()
		return false, err
	}
	f.countDerived(c.Name, d.Rules, int64(holders))
	return true, f.tx.ReplaceMembers(relation.FullName(), id, members, holders,
		fanfold.Change{Position: first, Time: f.now, Tx: f.event.Tx.ID, Rules: d.Rules, Delta: d.Patch()})
}

// holders is how many documents refer to a target; 0 where they are too few, or among them is the one
// that the event writes to, or one that SQLite cannot read.
func (f *Fold) holders(relation, target string) (int, error) {
	if n, err := f.tx.CountHolders(relation, target, int64(f.opt.SetOrientedFrom)); err != nil || n < int64(f.opt.SetOrientedFrom) {
		return 0, err
	}
	if own, err := f.tx.HasLink(relation, target, f.direct); err != nil || own {
		return 0, err
	}
	if deep, err := f.tx.DeepHolders(relation, target); err != nil || deep {
		return 0, err
	}
	n, err := f.tx.CountHolders(relation, target, -1)
	return int(n), err
}

// oneTarget are the copies whose values changed, by name, where they are of one target and all there is
// to do on the level; none where there is more.
func (l *level) soleTarget() (rules []*Rule, id string) {
	if len(l.capture)+len(l.every) > 0 {
		return nil, ""
	}
	for _, parents := range l.counted {
		if len(parents) > 0 {
			return nil, ""
		}
	}
	for r, ids := range l.targets {
		for target := range ids {
			if len(ids) > 1 || len(rules) > 0 && target != id {
				return nil, ""
			}
			rules, id = append(rules, r), target
		}
	}
	slices.SortFunc(rules, func(a, b *Rule) int { return strings.Compare(a.FullName, b.FullName) })
	return rules, id
}

// sqlPath is the path of a top-level member as SQLite's JSON functions write it; ok is false for names
// that would need escapes.
func sqlPath(name string) (path string, ok bool) {
	for i := range len(name) {
		if c := name[i]; c < ' ' || c > '~' || c == '"' || c == '\\' {
			return "", false
		}
	}
	return `$."` + name + `"`, true
}
