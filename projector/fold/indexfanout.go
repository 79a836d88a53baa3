package fold

import (
	"bytes"

	"github.com/fanfold/fanfold/internal/jsondoc"
	"github.com/fanfold/fanfold/internal/sortkey"
	"github.com/fanfold/fanfold/model"
	"github.com/fanfold/fanfold/sqlite"
)

// A fan-out by set-oriented SQL replaces the same members of every holder of a target. An index may begin with one of them. All
// entries of the holders then begin with the same bytes, and two statements move them. Otherwise the holders are read one after the
// other.

// replacedMembers are members that a fan-out replaces in views, with their values before and after it.
type replacedMembers struct {
	names         map[string]bool
	before, after *jsondoc.Tree // objects of these members alone
}

// reindexHolders brings the entries of a target's holders up to the copies by some rules, before these are replaced.
func (f *Fold) reindexHolders(c *Collection, l *level, rules []*Rule, target string) error {
	live, err := f.indexesOf(c)
	if err != nil || len(live) == 0 {
		return err
	}
	members := f.replacedBy(l, rules, target)
	var slow []liveIndex
	for _, x := range live {
		if !x.ReadsAny(members.names) {
			continue
		}
		moved, err := f.moveHolders(x, members, rules[0].RelationName, target)
		if err != nil {
			return err
		}
		if !moved {
			slow = append(slow, x)
		}
	}
	if len(slow) == 0 {
		return nil
	}
	numbers, err := f.tx.Holders(nil, rules[0].RelationName, target, -1)
	if err != nil {
		return err
	}
	return f.tx.Each(numbers, func(row *sqlite.Row) error { return f.reindexHolder(slow, row, members) })
}

// reindexHolder brings the entries of one holder up to members that are replaced, in indexes that look at them.
func (f *Fold) reindexHolder(live []liveIndex, row *sqlite.Row, members replacedMembers) error {
	was := f.indexed(row, row.Body, &f.indexTrees.before)
	var is model.IndexFacts
	for _, x := range live {
		facts := was
		if facts.Replaced = members.after; !x.Separates(members.names) {
			if is.Doc == nil {
				is = f.indexed(row, members.replaceIn(was.Doc), &f.indexTrees.after)
			}
			facts = is
		}
		if err := f.changeEntries(x, row.Number, x.entries(was), f.newEntries(x, row.Key, facts)); err != nil {
			return err
		}
	}
	return nil
}

// replacedBy returns the members that rules replace with their values for a target.
func (f *Fold) replacedBy(l *level, rules []*Rule, target string) replacedMembers {
	names, before, after := map[string]bool{}, []byte{'{'}, []byte{'{'}
	for i, r := range rules {
		name := r.Path[0].Name
		names[name] = true
		for _, side := range []*[]byte{&before, &after} {
			if i > 0 {
				*side = append(*side, ',')
			}
			*side = append(jsondoc.AppendQuote(*side, name), ':')
		}
		raw, _ := f.cache.get(r, target)
		before, after = append(before, l.targets[r][target].raw...), append(after, raw...)
	}
	return replacedMembers{names: names, before: jsondoc.MustParse(append(before, '}')), after: jsondoc.MustParse(append(after, '}'))}
}

// replaceIn returns a view with the members as they are afterwards.
func (m replacedMembers) replaceIn(t *jsondoc.Tree) []byte {
	body := t.Raw(jsondoc.Root)
	out, from := make([]byte, 0, len(body)+64), 0
	begin, _ := t.Span(jsondoc.Root)
	for n := t.First(jsondoc.Root); n != jsondoc.None; n = t.Next(n) {
		value := m.after.Member(jsondoc.Root, t.Key(n))
		if value == jsondoc.None {
			continue
		}
		start, end := t.Span(n)
		start, end = start-begin, end-begin
		out = append(append(out, body[from:start]...), m.after.Raw(value)...)
		from = end
	}
	return append(out, body[from:]...)
}

// moveShare bounds how many entries are searched for those of a target's holders, as a multiple of the holders. If more begin as
// theirs do, the fold reads the holders instead.
const moveShare = 4

// moveHolders moves the entries of a target's holders by what they begin with. moved is false where it did nothing.
func (f *Fold) moveHolders(x liveIndex, members replacedMembers, relation, target string) (moved bool, err error) {
	if !x.BeginsWith(members.names) {
		return false, nil
	}
	first := &model.Index{Components: x.Components[:1]}
	before, _ := first.Keys(nil, model.IndexFacts{Doc: members.before})
	after, _ := first.Keys(nil, model.IndexFacts{Doc: members.after})
	if bytes.Equal(before[0], after[0]) {
		return true, nil
	}
	next := sortkey.Successor(before[0])
	if next == nil {
		return false, nil
	}
	holders, err := f.tx.CountHolders(relation, target, -1)
	if err != nil {
		return false, err
	}
	limit := moveShare * int(holders)
	n, err := f.tx.CountIndexPrefix(x.id, before[0], next, limit)
	if err != nil || n == limit {
		return false, err
	}
	return true, f.tx.MoveIndexEntries(sqlite.IndexMove{ID: x.id, Descends: x.Descends(), Prefix: before[0], Next: next, To: after[0], Relation: relation, Target: target,
		All: x.Array() == nil && n == int(holders)}) // each of them has one
}
