package modelguess

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/fanfold/fanfold/internal/jsondoc"
)

// Enough to propose something.
const (
	enough      = 0.8    // share of values
	fewest      = 2      // values that differ
	convincing  = 5      // values that differ, where names say nothing
	longID      = 6      // bytes of an id that no other member has by chance
	fewestAlone = 20     // documents, for a unique member
	maxPairs    = 20_000 // references that are looked at for copies
)

// relate finds which members refer to documents.
func (s *Sample) relate() {
	for _, c := range s.collections {
		for _, m := range c.paths {
			if s.over() {
				return
			}
			if m.path == "id" || m.values == 0 || m.others > m.values || len(m.distinct) < min(fewest, len(c.bodies)) {
				continue
			}
			var best *relation
			for _, to := range s.collections {
				r := &relation{from: c, to: to, member: m, hits: m.hits[to.name]}
				if float64(r.hits) < enough*float64(m.values) || !r.isMeant() {
					continue
				}
				if best == nil || r.named() && !best.named() || r.named() == best.named() && r.hits > best.hits {
					best = r
				}
			}
			if best != nil {
				c.relations = append(c.relations, best)
				c.owned[m.path] = true
			}
		}
		c.withoutTwins()
		c.nameRelations()
	}
}

// withoutTwins leaves out the relations whose ids are those that stand beside them anyway: where documents are called as their ids are, their
// names are copies.
func (c *collection) withoutTwins() {
	c.relations = slices.DeleteFunc(slices.Clone(c.relations), func(r *relation) bool {
		twin := slices.ContainsFunc(c.relations, func(other *relation) bool {
			return other != r && other.to == r.to && strings.EqualFold(lastName(other.member.path), "id") && !strings.EqualFold(lastName(r.member.path), "id") && c.alike(other, r)
		})
		if twin {
			delete(c.owned, r.member.path)
		}
		return twin
	})
}

// alike tells whether the ids of two relations stand side by side, and are the same.
func (c *collection) alike(a, b *relation) bool {
	prefix, rest := split(a.member.path)
	other, second := split(b.member.path)
	same := prefix == other && len(a.member.distinct) == len(b.member.distinct)
	var t jsondoc.Tree
	for _, body := range c.bodies {
		if !same {
			return false
		}
		t.Reset(body)
		around(&t, jsondoc.Root, prefix, func(element jsondoc.Node) {
			same = same && t.Text(at(&t, element, rest)) == t.Text(at(&t, element, second))
		})
	}
	return same
}

// isMeant tells whether the ids can hardly be meant otherwise: the member is called after the collection, or the ids are such as nothing else
// has.
func (r *relation) isMeant() bool {
	if r.named() {
		return true
	}
	last := strings.ToLower(lastName(r.member.path))
	long := 0
	for text := range r.member.distinct {
		if len(text) >= longID && strings.Trim(text, "0123456789.-") != "" {
			long++
		}
	}
	return 10*long >= 9*len(r.member.distinct) || r.from != r.to && last != "id" && (strings.HasSuffix(last, "id") || strings.HasSuffix(last, "ref")) && len(r.member.distinct) >= convincing
}

// named tells whether the member, or the list that has it, is called after the collection.
func (r *relation) named() bool {
	whole := strings.ToLower(strings.NewReplacer("[]", "", ".", "", "_", "", "-", "").Replace(r.member.path))
	return strings.Contains(whole, singular(r.to.name))
}

// singular returns a name in lower case without an s at its end.
func singular(name string) string {
	name = strings.ToLower(strings.NewReplacer("_", "", "-", "").Replace(name))
	if stem, ok := strings.CutSuffix(name, "ies"); ok {
		return stem
	}
	return strings.TrimSuffix(name, "s")
}

// lastName returns the last member that a path goes through.
func lastName(path string) string {
	path = strings.TrimRight(path, "[]")
	return path[strings.LastIndex(path, ".")+1:]
}

// nameRelations gives each relation of the collection a name of its own.
func (c *collection) nameRelations() {
	taken := map[string]bool{}
	for _, r := range c.relations {
		parts := strings.FieldsFunc(r.member.path, func(b rune) bool { return b == '.' || b == '[' || b == ']' })
		if last := len(parts) - 1; last > 0 && strings.EqualFold(parts[last], "id") {
			parts = parts[:last]
		}
		name := parts[len(parts)-1]
		for _, end := range []string{"Ids", "Id", "_ids", "_id", "ID"} {
			if stem, ok := strings.CutSuffix(name, end); ok && stem != "" {
				name = stem
				break
			}
		}
		name = strings.Map(func(b rune) rune {
			if b == '_' || b == '-' || b >= '0' && b <= '9' || b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z' {
				return b
			}
			return '-'
		}, name)
		if name == "" || strings.IndexByte("0123456789-_", name[0]) >= 0 {
			name = "to" + name
		}
		for full, i := name, 2; taken[name]; i++ {
			name = fmt.Sprintf("%s%d", full, i)
		}
		taken[name] = true
		r.name = name
	}
}

// holders returns for each id that the relation has which documents of its collection have it, each once.
func (r *relation) holders() map[string][]string {
	all := map[string][]string{}
	var t jsondoc.Tree
	for i, body := range r.from.bodies {
		t.Reset(body)
		holder := t.Text(t.Member(jsondoc.Root, "id"))
		if holder == "" {
			holder = fmt.Sprint("\x00", i)
		}
		each(&t, jsondoc.Root, "", 0, func(path string, n jsondoc.Node) {
			if path != r.member.path {
				return
			}
			id := t.Text(n)
			if of := all[id]; len(of) == 0 || of[len(of)-1] != holder {
				all[id] = append(of, holder)
			}
			if _, there := r.to.ids[id]; !there && r.lost == "" && id != "" {
				r.lost = id
			}
		})
	}
	return all
}

// derive finds what of the target's members the holders make: counts, and lists of them; and what of the holders' members are copies.
func (s *Sample) derive() {
	for _, c := range s.collections {
		for _, r := range c.relations {
			if r.isList() {
				s.backlinks(r)
			}
		}
	}
	for _, c := range s.collections {
		for _, r := range c.relations {
			if c.left == 0 && !s.over() {
				r.counts(r.holders())
			}
		}
	}
	for _, c := range s.collections {
		for _, r := range c.relations {
			if s.over() {
				return
			}
			r.holders() // which sees what is lost
			if c.left == 0 {
				r.sums(s.over)
			}
			r.copies(s.over)
		}
	}
}

// isList tells whether the values stand in an array of texts or numbers at the top level.
func (r *relation) isList() bool {
	name, ok := strings.CutSuffix(r.member.path, "[]")
	return ok && !strings.ContainsAny(name, ".[")
}

// backlinks turns a relation into a list of ids that the store derives, where another relation leads back and has the same.
func (s *Sample) backlinks(list *relation) {
	for _, back := range list.to.relations {
		if back.to != list.from || back == list || back.from.left > 0 || s.over() {
			continue
		}
		holders, same, some := back.holders(), 0, 0
		var t jsondoc.Tree
		for _, body := range list.from.bodies {
			t.Reset(body)
			n := t.Member(jsondoc.Root, strings.TrimSuffix(list.member.path, "[]"))
			if n == jsondoc.None {
				continue
			}
			some++
			var ids []string
			for e := t.First(n); e != jsondoc.None; e = t.Next(e) {
				ids = append(ids, t.Text(e))
			}
			of := slices.Clone(holders[t.Text(t.Member(jsondoc.Root, "id"))])
			slices.Sort(ids)
			slices.Sort(of)
			if slices.Equal(ids, of) {
				same++
			}
		}
		if some == 0 || float64(same) < enough*float64(some) {
			continue
		}
		c := list.from
		c.relations = slices.DeleteFunc(slices.Clone(c.relations), func(r *relation) bool { return r == list })
		path := strings.TrimSuffix(list.member.path, "[]")
		c.owned[path] = true
		c.derived = append(c.derived, derived{path, fmt.Sprintf("{ ids: %s.%s, limit: 1000 }", back.from.name, back.name), fmt.Sprintf("%s of %d lists are the documents that refer", share(same, some), some)})
		return
	}
}

// counts finds the numbers of targets that are how many documents refer to them.
func (r *relation) counts(holders map[string][]string) {
	same, some := map[string]int{}, map[string]int{}
	distinct := map[string]map[int]bool{}
	var t jsondoc.Tree
	for _, body := range r.to.bodies {
		t.Reset(body)
		of := len(holders[t.Text(t.Member(jsondoc.Root, "id"))])
		for n := t.First(jsondoc.Root); n != jsondoc.None; n = t.Next(n) {
			name := t.Key(n)
			if t.Kind(n) != jsondoc.Number || name == "id" || r.to.owned[name] && !r.to.refersBy(name) || strings.ContainsAny(name, ".[]") || len(some) >= maxPaths && some[name] == 0 {
				continue
			}
			some[name]++
			if jsondoc.Equal(t.Raw(n), fmt.Append(nil, of)) {
				same[name]++
				if distinct[name] == nil {
					distinct[name] = map[int]bool{}
				}
				distinct[name][of] = true
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(same)) {
		if float64(same[name]) < enough*float64(some[name]) || len(distinct[name]) < fewest {
			continue
		}
		r.to.owned[name] = true
		r.to.relations = slices.DeleteFunc(slices.Clone(r.to.relations), func(other *relation) bool { return other.member.path == name })
		r.to.derived = append(r.to.derived, derived{name, fmt.Sprintf("{ count: %s.%s }", r.from.name, r.name), fmt.Sprintf("%s of %d numbers are how many documents refer", share(same[name], some[name]), some[name])})
	}
}

// refersBy tells whether a member was taken for ids of documents: small numbers are ids by chance.
func (c *collection) refersBy(path string) bool {
	return slices.ContainsFunc(c.relations, func(r *relation) bool { return r.member.path == path })
}

// pair counts how often a member of a holder is equal to one of its target.
type pair struct {
	equal    int
	distinct map[string]struct{}
}

// copies finds the members of holders that are equal to members of their targets.
func (r *relation) copies(ended over) {
	some := map[string]int{}
	pairs := map[[2]string]*pair{}
	looked := 0
	var t, target jsondoc.Tree
	prefix, rest := split(r.member.path)
	for _, body := range r.from.bodies {
		t.Reset(body)
		around(&t, jsondoc.Root, prefix, func(element jsondoc.Node) {
			id := t.Text(at(&t, element, rest))
			i, there := r.to.ids[id]
			if looked++; !there || looked > maxPairs || ended() {
				return
			}
			target.Reset(r.to.bodies[i])
			r.compare(&t, element, &target, prefix, some, pairs)
		})
	}
	for _, path := range slices.Sorted(maps.Keys(some)) {
		best, found := "", &pair{}
		for _, names := range slices.SortedFunc(maps.Keys(pairs), func(a, b [2]string) int { return cmp.Or(strings.Compare(a[0], b[0]), strings.Compare(a[1], b[1])) }) {
			p := pairs[names]
			if names[0] == path && (p.equal > found.equal || p.equal == found.equal && lastName(path) == names[1]) {
				best, found = names[1], p
			}
		}
		alike := strings.Contains(strings.ToLower(lastName(path)), strings.ToLower(lastName(best)))
		if best == "" || r.from.owned[path] || float64(found.equal) < enough*float64(some[path]) || len(found.distinct) < convincing && (!alike || len(found.distinct) < fewest) {
			continue
		}
		r.from.owned[path] = true
		r.from.derived = append(r.from.derived, derived{path, fmt.Sprintf("{ copy: %s, value: %s }", r.name, yamlText(selection(best))),
			fmt.Sprintf("%s of %d are equal to %s of %s", share(found.equal, some[path]), some[path], best, r.to.name)})
	}
}

// compare compares the members around an id with the members of the document that it names.
func (r *relation) compare(t *jsondoc.Tree, element jsondoc.Node, target *jsondoc.Tree, prefix string, some map[string]int, pairs map[[2]string]*pair) {
	each(t, element, "", 0, func(path string, n jsondoc.Node) {
		full := path
		if prefix != "" {
			full = prefix + "." + path
		}
		kind := t.Kind(n)
		if strings.Contains(path, "[]") || full == r.member.path || full == "id" || r.from.owned[full] || kind != jsondoc.String && kind != jsondoc.Number || len(some) >= maxPaths && some[full] == 0 {
			return
		}
		some[full]++
		each(target, jsondoc.Root, "", 0, func(other string, m jsondoc.Node) {
			if strings.Contains(other, "[]") || other == "id" || !bytes.Equal(t.Raw(n), target.Raw(m)) {
				return
			}
			p := pairs[[2]string{full, other}]
			if p == nil {
				if len(pairs) >= maxPaths*10 {
					return
				}
				p = &pair{distinct: map[string]struct{}{}}
				pairs[[2]string{full, other}] = p
			}
			if p.equal++; len(p.distinct) < convincing {
				p.distinct[string(t.Raw(n))] = struct{}{}
			}
		})
	})
}

// split returns the path to the elements of the last array that a path goes through, and the rest of it.
func split(path string) (prefix, rest string) {
	i := strings.LastIndex(path, "[]")
	if i < 0 || i+2 == len(path) { // ids that are elements themselves have nothing beside them
		return "", path
	}
	return path[:i+2], strings.TrimPrefix(path[i+2:], ".")
}

// around calls fn for each value at a path that ends with the elements of an array; for n where it is "".
func around(t *jsondoc.Tree, n jsondoc.Node, path string, fn func(jsondoc.Node)) {
	if path == "" {
		fn(n)
		return
	}
	before, after, _ := strings.Cut(path, "[]")
	list := n
	if before = strings.TrimPrefix(before, "."); before != "" {
		list = at(t, n, before)
	}
	if t.Kind(list) != jsondoc.Array {
		return
	}
	for e := t.First(list); e != jsondoc.None; e = t.Next(e) {
		around(t, e, after, fn)
	}
}

// at returns the value at a path without arrays.
func at(t *jsondoc.Tree, n jsondoc.Node, path string) jsondoc.Node {
	for name := range strings.SplitSeq(path, ".") {
		if n = t.Member(n, name); n == jsondoc.None {
			return n
		}
	}
	return n
}

// uniques returns the members that no two documents have alike.
func (c *collection) uniques() (all []*member) {
	for _, m := range c.paths {
		if m.path != "id" && !c.owned[m.path] && !m.repeated && m.plain && m.others == 0 && len(m.distinct) == m.values && len(c.bodies) >= fewestAlone &&
			10*m.documents >= 9*len(c.bodies) && !strings.ContainsAny(m.path, ".[") && !strings.Contains(m.path, "At") {
			all = append(all, m)
		}
	}
	return all
}

// share returns a part as a percentage.
func share(part, of int) string { return fmt.Sprintf("%.4g%%", 100*float64(part)/float64(max(of, 1))) }
