package fold

import (
	"bytes"
	"slices"

	"github.com/fanfold/fanfold/internal/jsondoc"
	"github.com/fanfold/fanfold/internal/sortkey"
	"github.com/fanfold/fanfold/model"
	"github.com/fanfold/fanfold/sqlite"
)

// A fan-out by set-oriented SQL replaces the same members of every holder of a target. One component of an index may look at these
// alone. All entries of the holders then have the same bytes for it. So two statements move those that begin alike, as few do where the
// components before it have few values. Otherwise the holders are read one after the other.

// replacedMembers are members that a fan-out replaces in views, with their values before and after it.
type replacedMembers struct {
	names         map[string]bool
	before, after *jsondoc.Tree // objects of these members alone
}

// changeHolders brings the entries of a target's holders up to the copies by some rules, before these are replaced.
func (in *indexer) changeHolders(c *Collection, l *level, rules []*Rule, target string) error {
	live, err := in.of(c)
	if err != nil || len(live) == 0 {
		return err
	}
	members := in.replacedBy(l, rules, target)
	var slow []liveIndex
	for _, x := range live {
		if !x.ReadsAny(members.names) {
			continue
		}
		moved, err := in.moveHolders(x, members, rules[0].RelationName, target)
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
	numbers, err := in.tx.Links.Holders(nil, rules[0].RelationName, target, -1)
	if err != nil {
		return err
	}
	return in.tx.Documents.Each(numbers, func(row *sqlite.Row) error { return in.changeHolder(slow, row, members) })
}

// changeHolder brings the entries of one holder up to members that are replaced, in indexes that look at them.
func (in *indexer) changeHolder(live []liveIndex, row *sqlite.Row, members replacedMembers) error {
	was := in.facts(row, row.Body, &in.trees.before)
	var is model.IndexFacts
	for _, x := range live {
		facts := was
		if facts.Replaced = members.after; !x.Separates(members.names) {
			if is.Doc == nil {
				is = in.facts(row, members.replaceIn(was.Doc), &in.trees.after)
			}
			facts = is
		}
		if err := in.changeEntries(x, row.Number, x.entries(was), in.newEntries(x, row.Key, facts)); err != nil {
			return err
		}
	}
	return nil
}

// replacedBy returns the members that rules replace with their values for a target.
func (in *indexer) replacedBy(l *level, rules []*Rule, target string) replacedMembers {
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
		raw, _ := in.values.cache.get(r, target)
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

// Bounds of what is looked at to move entries instead of reading the holders, which takes as long as some 10 to 20 looks. If they are
// passed, the fold reads the holders.
const (
	moveShare   = 4 // times as many entries as holders are counted
	prefixShare = 8 // there is one beginning of keys for so many holders, besides fewPrefixes
	fewPrefixes = 8
)

// moveHolders moves the entries of a target's holders by the bytes that they have in common. moved is false where it did nothing.
func (in *indexer) moveHolders(x liveIndex, members replacedMembers, relation, target string) (moved bool, err error) {
	at, ok := x.Only(members.names)
	if !ok {
		return false, nil
	}
	one := &model.Index{Components: x.Components[at : at+1]}
	before, _ := one.Keys(nil, model.IndexFacts{Doc: members.before})
	after, _ := one.Keys(nil, model.IndexFacts{Doc: members.after})
	if bytes.Equal(before[0], after[0]) {
		return true, nil
	}
	holders, err := in.tx.Links.CountHolders(relation, target, -1)
	if err != nil {
		return false, err
	}
	found := commonKeys{indexer: in, index: x, at: at, value: before[0], limit: moveShare * int(holders)}
	if ok, err := found.find(fewPrefixes + int(holders)/prefixShare); err != nil || !ok {
		return false, err
	}
	for _, r := range found.ranges {
		if err := in.tx.Indexes.MoveEntries(sqlite.IndexMove{ID: x.id, Descends: x.Descends(), Prefix: r.prefix, Next: r.next,
			To: slices.Concat(r.prefix[:len(r.prefix)-len(before[0])], after[0]), Relation: relation, Target: target,
			All: x.Array() == nil && found.entries == int(holders)}); err != nil { // each of them has one
			return false, err
		}
	}
	return true, nil
}

// commonKeys finds the entries of an index that have one value of a component, after whatever values of the components before it.
type commonKeys struct {
	indexer *indexer
	index   liveIndex
	at      int    // which component
	value   []byte // its part of the key
	limit   int    // of entries
	ranges  []keyRange
	entries int // in the ranges
}

// keyRange are the keys that begin with a prefix: those from it on that are less than next.
type keyRange struct{ prefix, next []byte }

// find finds the ranges. It returns false where more beginnings than most, or too many entries, would have to be looked at.
func (k *commonKeys) find(most int) (bool, error) {
	if k.at == 0 {
		return k.add(nil)
	}
	for from := []byte{0}; from != nil; most-- { // after the empty key, of an entry that stands for many
		key, err := k.indexer.tx.Indexes.KeyFrom(k.index.id, from)
		if err != nil || key == nil {
			return key == nil, err
		}
		beginning, ok := k.beginning(key)
		if !ok || most == 0 {
			return false, nil
		}
		if ok, err := k.add(beginning); err != nil || !ok {
			return false, err
		}
		from = sortkey.Successor(beginning)
	}
	return true, nil
}

// beginning returns the part of a key that comes before the component.
func (k *commonKeys) beginning(key []byte) (part []byte, ok bool) {
	end := 0
	for range k.at {
		n, err := sortkey.KeyLength(key[end:])
		if err != nil {
			return nil, false
		}
		end += n
	}
	return key[:end:end], true
}

// add adds the range of keys with a beginning, if it has entries. It returns false where there are too many.
func (k *commonKeys) add(beginning []byte) (bool, error) {
	prefix := slices.Concat(beginning, k.value)
	next := sortkey.Successor(prefix)
	if next == nil {
		return false, nil
	}
	n, err := k.indexer.tx.Indexes.CountPrefix(k.index.id, prefix, next, k.limit-k.entries)
	if k.entries += n; err != nil || k.entries >= k.limit {
		return false, err
	}
	if n > 0 {
		k.ranges = append(k.ranges, keyRange{prefix, next})
	}
	return true, nil
}
