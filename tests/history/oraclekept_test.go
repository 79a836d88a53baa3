package history_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// The oracle's values that stay on documents when their rule goes.

// keeps tells whether values of the rule stay on documents.
func (r *orule) keeps() bool { return r.kind == "copy" && (r.frozen || r.rel.onDelete == "keep") }

// keepers are the rules by which values may stay on documents, whether or not they are rules of the model.
func (o *oracle) keepers() map[string]*orule {
	out := maps.Clone(o.gone)
	for _, r := range o.model.rules {
		if r.keeps() {
			out[r.name()] = r
		}
	}
	return out
}

// keeper is the rule that gave the values under a name.
func (o *oracle) keeper(name string) *orule { return o.keepers()[name] }

// stays tells whether the values of a rule stay under a model, and whether one of its rules shows them. Those by derived ids
// stay only while the rule does.
func (o *oracle) stays(old *orule, m *omodel) (stays, shown bool) {
	derived := o.model.rule(old.name()) != nil && o.model.derivesIDs(old.rel)
	for _, r := range m.rules {
		if r.collection == old.collection && slices.Contains(r.fields(), old.path) {
			same := r.keeps() && r.rel.path == old.rel.path && r.rel.to == old.rel.to && (r.frozen || !old.frozen) && m.derivesIDs(r.rel) == derived
			return same, same
		}
	}
	return !derived && !slices.Contains(m.release[old.collection], old.path), false
}

// settleKept drops what a model loses, and notes which rules have gone.
func (o *oracle) settleKept(m *omodel) {
	gone := map[string]*orule{}
	for name, old := range o.keepers() {
		stays, shown := o.stays(old, m)
		if !stays {
			o.forget(func(k okept) bool { return k.rule == name })
		} else if !shown {
			gone[name] = old
		}
	}
	o.gone = gone
}

// releaseLost has the model release what it would lose, and takes out the rules that keep values at a released path, which no
// model may have. If there is something to lose, it notes the model as it was.
func (o *oracle) releaseLost(m *omodel) {
	loses, before := false, m.clone()
	for name, old := range o.keepers() {
		if stays, _ := o.stays(old, m); stays || slices.Contains(m.release[old.collection], old.path) {
			continue
		}
		if m.release == nil {
			m.release = map[string][]string{}
		}
		m.release[old.collection] = append(m.release[old.collection], old.path)
		loses = loses || o.countKept(name) > 0
	}
	for _, paths := range m.release {
		slices.Sort(paths)
	}
	if loses {
		m.loses = before
	}
	m.rules = slices.DeleteFunc(m.rules, func(r *orule) bool { return r.keeps() && slices.Contains(m.release[r.collection], r.path) })
}

// countKept counts the values that stay on documents by one rule.
func (o *oracle) countKept(name string) (n int) {
	for k := range o.kept {
		if k.rule == name {
			n++
		}
	}
	return n
}

// releaseAll is a model that releases everything, and what it would lose by that.
func (o *oracle) releaseAll() (model, lost string) {
	m := &omodel{arrays: o.model.arrays, release: map[string][]string{}}
	keepers := o.keepers()
	var told []string
	for _, name := range slices.Sorted(maps.Keys(keepers)) {
		r := keepers[name]
		m.release[r.collection] = append(m.release[r.collection], r.path)
		kind := "kept"
		if r.frozen {
			kind = "frozen"
		}
		if n := o.countKept(name); n > 0 {
			told = append(told, fmt.Sprintf(`{"rule":%q,"values":%d,"kind":%q,"outcome":"lost"}`, name, n, kind))
		}
	}
	return m.String(), strings.Join(told, ",")
}
