package history_test

import (
	"cmp"
	"math/big"
	"slices"
	"strings"

	"github.com/fanfold/fanfold/tests/jsonvalue"
)

// The oracle's aggregates, recents, frozen copies and pages.

// aggregate is the value of a sum, min, max, avg or recent over documents in order of creation, ""
// for none or another kind.
func (o *oracle) aggregate(r *orule, in []*odoc) string {
	if r.kind == "recent" {
		return o.recent(r, in)
	}
	var numbers []*big.Rat
	for _, d := range in {
		if r.where == editing {
			numbers = append(numbers, numbersOf(o.taken(r, d))...)
			continue
		}
		numbers = append(numbers, numbersOf(o.seen(r, d, r.of))...)
	}
	return totalOf(r, numbers)
}

// totalOf is the value of a sum, min, max or avg over numbers, "" for none or another kind.
func totalOf(r *orule, numbers []*big.Rat) string {
	sum := new(big.Rat)
	for _, n := range numbers {
		sum.Add(sum, n)
	}
	switch {
	case r.kind == "sum":
		return decimalText(sum)
	case len(numbers) == 0:
		return ""
	case r.kind == "min":
		return decimalText(slices.MinFunc(numbers, (*big.Rat).Cmp))
	case r.kind == "max":
		return decimalText(slices.MaxFunc(numbers, (*big.Rat).Cmp))
	case r.kind == "avg":
		return decimalText(digits20(sum.Quo(sum, big.NewRat(int64(len(numbers)), 1))))
	}
	return ""
}

// removal is what a delete of documents brings with it: the others that are deleted, the bodies of those that lose references, and whether
// some document restricts it. The references in others are written otherwise, so that they do not refer as before by ids that are written.
// clash says that one of them would be deleted by derived ids.
func (o *oracle) removal(roots []okey, others map[okey]bool) (gone map[okey]bool, edits map[okey]*jsonvalue.Value, held, clash bool) {
	gone, edits = map[okey]bool{}, map[okey]*jsonvalue.Value{}
	for _, key := range roots {
		gone[key] = true
	}
	each := func(policy string, fn func(rel *orel, key okey, h *odoc)) {
		for key := range gone {
			for _, rel := range o.model.rels {
				if rel.to != key.collection || rel.onDelete != policy {
					continue
				}
				for _, h := range o.holders(rel, key.id) {
					if !gone[h.key] && (!others[h.key] || o.model.derivesIDs(rel)) {
						fn(rel, key, h)
					}
				}
			}
		}
	}
	for before := 0; before < len(gone); {
		before = len(gone)
		each("cascade", func(_ *orel, _ okey, h *odoc) { gone[h.key], clash = true, clash || others[h.key] })
	}
	each("restrict", func(*orel, okey, *odoc) { held = true })
	hits := map[*jsonvalue.Value]bool{} // ids and elements to go
	each("unlink", func(rel *orel, key okey, h *odoc) {
		if edits[h.key] == nil {
			edits[h.key] = h.body.Clone()
		}
		edits[h.key].MarkLinks(steps(rel.path), key.id, nil, hits)
	})
	for _, body := range edits {
		body.Drop(hits)
	}
	return gone, edits, held, clash
}

// refersTo tells whether a body refers to one of the documents by a relation with a policy that
// writes.
func (o *oracle) refersTo(collection string, body *jsonvalue.Value, gone map[okey]bool) bool {
	for _, rel := range o.model.rels {
		if rel.collection != collection || !slices.Contains([]string{"unlink", "cascade", "restrict"}, rel.onDelete) {
			continue
		}
		if o.model.derivesIDs(rel) {
			continue
		}
		for _, id := range body.IDs(steps(rel.path)) {
			if gone[okey{rel.to, id}] {
				return true
			}
		}
	}
	return false
}

// decimalText is a fraction that has an end, without zeros that say nothing.
func decimalText(n *big.Rat) string {
	s := strings.TrimRight(strings.TrimRight(n.FloatString(100), "0"), ".")
	if s == "-0" || s == "" {
		return "0"
	}
	return s
}

// digits20 rounds to 20 significant digits, half to even.
func digits20(n *big.Rat) *big.Rat {
	if n.Sign() == 0 {
		return n
	}
	ten, scale := big.NewRat(10, 1), big.NewRat(1, 1)
	low, high := new(big.Rat).SetInt(pow10(19)), new(big.Rat).SetInt(pow10(20))
	scaled := func() *big.Rat { return new(big.Rat).Abs(new(big.Rat).Mul(n, scale)) }
	for scaled().Cmp(low) < 0 {
		scale.Mul(scale, ten)
	}
	for scaled().Cmp(high) >= 0 {
		scale.Quo(scale, ten)
	}
	v := scaled()
	q, rest := new(big.Int).QuoRem(v.Num(), v.Denom(), new(big.Int))
	twice := new(big.Int).Lsh(rest, 1)
	if c := twice.Cmp(v.Denom()); c > 0 || c == 0 && q.Bit(0) == 1 {
		q.Add(q, big.NewInt(1))
	}
	out := new(big.Rat).Quo(new(big.Rat).SetInt(q), scale)
	if n.Sign() < 0 {
		out.Neg(out)
	}
	return out
}

func pow10(n int64) *big.Int { return new(big.Int).Exp(big.NewInt(10), big.NewInt(n), nil) }

// recent shows the fields of the last documents, the last one first.
func (o *oracle) recent(r *orule, in []*odoc) string {
	in = slices.Clone(in)
	switch r.orderBy {
	case "", "_meta.createdAt":
	case "_meta.updatedAt":
		slices.SortFunc(in, func(a, b *odoc) int { return a.updated - b.updated })
	default:
		slices.SortFunc(in, func(a, b *odoc) int {
			return cmp.Or(compareValues(o.first(r, a, r.orderBy), o.first(r, b, r.orderBy)), a.created-b.created)
		})
	}
	slices.Reverse(in)
	list := &jsonvalue.Value{Kind: '['}
	for _, d := range in[:min(len(in), r.limit)] {
		shown := &jsonvalue.Value{Kind: '{'}
		for _, name := range r.shown {
			if v := o.first(r, d, name); v != nil {
				shown.Items = append(shown.Items, jsonvalue.Member{Key: name, Raw: jsonvalue.Quote(name), Val: v})
			}
		}
		list.Items = append(list.Items, jsonvalue.Member{Val: shown})
	}
	return list.String()
}

// seen is what a rule finds at a path in a document that refers to another. It looks at the part of the embedded view that is made before
// the rule.
func (o *oracle) seen(r *orule, d *odoc, path string) []*jsonvalue.Value {
	at := steps(path)
	return o.embed(d, at, o.model.depth(r)).All(at)
}

func (o *oracle) first(r *orule, d *odoc, path string) *jsonvalue.Value {
	for _, v := range o.seen(r, d, path) {
		return v
	}
	return nil
}

// overlap tells whether one path leads to the other's place, or into it.
func overlap(a, b []string) bool {
	n := min(len(a), len(b))
	return slices.Equal(a[:n], b[:n])
}

// The conditions that the oracle knows, and the top-level members that they look at.
const (
	flagged = "doc.flag == true"
	counted = "doc.count > 1"
	inStats = "has(doc.stats.count)"
)

var conditionReads = map[string]string{flagged: "flag", counted: "count", inStats: "stats"}

// includes tells whether a rule's condition holds for a document that refers to another.
func (o *oracle) includes(r *orule, d *odoc) bool {
	if r.where == "" || r.where == editing { // which elements are asked
		return true
	}
	v := o.first(r, d, conditionReads[r.where])
	switch {
	case v == nil:
		return false
	case r.where == counted:
		n, _ := new(big.Rat).SetString(v.Text)
		return v.Kind == '0' && n.Cmp(big.NewRat(1, 1)) > 0
	case r.where == inStats:
		return v.Get("count") != nil
	}
	return v.Text == "true"
}

// compareValues orders what is neither number nor text, numbers, texts.
func compareValues(a, b *jsonvalue.Value) int {
	class := func(v *jsonvalue.Value) int {
		switch {
		case v != nil && v.Kind == '"':
			return 2
		case v != nil && v.Kind == '0':
			return 1
		}
		return 0
	}
	if c := cmp.Compare(class(a), class(b)); c != 0 || class(a) == 0 {
		return c
	}
	if class(a) == 2 {
		x, y := jsonvalue.Unquote(a.Text), jsonvalue.Unquote(b.Text)
		return strings.Compare(x[:min(len(x), 1024)], y[:min(len(y), 1024)])
	}
	x, _ := new(big.Rat).SetString(a.Text)
	y, _ := new(big.Rat).SetString(b.Text)
	return x.Cmp(y)
}

// frozenRules are the model's frozen copies, each after those that it may read.
func (o *oracle) frozenRules() []*orule {
	var out []*orule
	for _, r := range o.model.rules {
		if r.frozen {
			out = append(out, r)
		}
	}
	slices.SortStableFunc(out, func(a, b *orule) int { return cmp.Compare(o.model.depth(a), o.model.depth(b)) })
	return out
}

// depth is how many rules the rule may depend on in a row.
func (m *omodel) depth(r *orule) int {
	n := 0
	for _, other := range m.dependencies(r) {
		n = max(n, 1+m.depth(other))
	}
	return n
}

// capture takes the values that a document does not have yet.
func (o *oracle) capture(r *orule, d *odoc) {
	for _, id := range d.body.IDs(steps(r.rel.path)) {
		k := okept{r.name(), okey{r.rel.to, id}, d.key}
		target := o.docs[k.target]
		if _, has := o.kept[k]; has || target == nil {
			continue
		}
		if v := o.eval(r, target); v != nil {
			o.kept[k] = v.String()
		}
	}
}

// placeIn gives a document its places in the pages of those it refers to, and takes it from
// those it no longer refers to.
func (o *oracle) placeIn(d *odoc) {
	for _, rel := range o.model.rels {
		if rel.collection == d.key.collection && rel.pages > 0 && !o.model.derivesIDs(rel) {
			o.placeBy(rel, d)
		}
	}
}

func (o *oracle) placeBy(rel *orel, d *odoc) {
	ids := o.idsOf(rel, d)
	for k := range o.places {
		if k.rule == rel.full() && k.holder == d.key && !slices.Contains(ids, k.target.id) {
			delete(o.places, k)
		}
	}
	for _, id := range ids {
		k := okept{rel.full(), okey{id: id}, d.key}
		if _, has := o.places[k]; !has {
			count := okept{rule: rel.full(), target: k.target}
			o.places[k] = o.came[count]
			o.came[count]++
		}
	}
}

// placeAll makes anew the pages of relations that are not what they were.
func (o *oracle) placeAll(prev *omodel) {
	same := map[string]bool{}
	for _, rel := range o.model.rels {
		for _, old := range prev.rels {
			same[rel.full()] = same[rel.full()] || old.full() == rel.full() && old.path == rel.path && old.pages > 0 && rel.pages > 0 && sameIDs(prev, o.model, old, rel)
		}
	}
	for _, m := range []map[okept]int{o.places, o.came} {
		for k := range m {
			if !same[k.rule] {
				delete(m, k)
			}
		}
	}
	for _, rel := range o.model.rels {
		for _, d := range o.inOrder() {
			if rel.pages > 0 && !same[rel.full()] && d.key.collection == rel.collection {
				o.placeBy(rel, d)
			}
		}
	}
}

func (r *orel) full() string { return r.collection + "." + r.name }

// pages are the ids on each page of a target.
func (o *oracle) pages(rel *orel, id string) [][]string {
	target := okey{id: id}
	count := o.came[okept{rule: rel.full(), target: target}]
	pages := make([][]string, max(1, (count+rel.pages-1)/rel.pages))
	for at := range count {
		for k, place := range o.places {
			if k.rule == rel.full() && k.target == target && place == at {
				pages[at/rel.pages] = append(pages[at/rel.pages], k.holder.id)
			}
		}
	}
	return pages
}
