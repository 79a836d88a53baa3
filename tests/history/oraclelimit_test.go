package history_test

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"

	"github.com/fanfold/fanfold/tests/jsonvalue"
)

// The oracle's limit on embedded documents: values are placed one at a time, and each that makes the
// document longer than the limit is taken back.

// fit is an embedded view within the limit, and how many values of each rule it leaves out.
type fit struct {
	view *jsonvalue.Value
	left map[string]int
}

// ofit names the view of a document with the rules below a depth.
type ofit struct {
	key   okey
	depth int
}

func (o *oracle) fit(d *odoc, depth int) fit {
	name := ofit{d.key, depth}
	if known, ok := o.memo[name]; ok {
		return fit{known.view.Clone(), known.left}
	}
	out := fit{d.body.Clone(), map[string]int{}}
	var rules []*orule
	for _, r := range o.model.rules {
		if r.collection != d.key.collection {
			continue
		}
		for _, f := range r.fields() {
			out.view.Strip(steps(f))
		}
		if o.model.depth(r) < depth {
			rules = append(rules, r)
		}
	}
	slices.SortFunc(rules, func(a, b *orule) int {
		return cmp.Or(cmp.Compare(o.afterCounts(a), o.afterCounts(b)), cmp.Compare(o.model.depth(a), o.model.depth(b)), cmp.Compare(a.name(), b.name()))
	})
	for _, r := range rules {
		o.placeWithin(&out, d, r)
	}
	if o.memo != nil {
		o.memo[name] = fit{out.view.Clone(), out.left}
	}
	return out
}

// afterCounts is 0 for counts over what is written alone, which there is always room for.
func (o *oracle) afterCounts(r *orule) int {
	if r.kind == "count" && r.rel != nil && o.model.depth(r) == 0 {
		return 0
	}
	return 1
}

// placeWithin places one rule's values, and counts those that it takes back.
func (o *oracle) placeWithin(out *fit, d *odoc, r *orule) {
	if r.kind == "each" {
		base := elements(r.path)
		for i := range out.view.All(base) {
			if v := o.beside(r, d, i); v != nil {
				trial := out.view.Clone()
				trial.All(base)[i].Place(steps(r.path)[len(base):], v)
				o.accept(out, r, trial)
			}
		}
		return
	}
	if r.kind != "copy" { // one value, which may be two members
		trial := out.view.Clone()
		for i, f := range r.fields() {
			o.derive(trial, d, r, steps(f), i == 1)
		}
		o.accept(out, r, trial)
		return
	}
	path := steps(r.path)
	base := sharedArrays(path, steps(r.rel.path))
	for i, anchor := range o.idView(r.rel, d).All(path[:base]) {
		v := o.copied(r, anchor, steps(r.rel.path)[base:], d.key)
		if v == nil {
			continue
		}
		trial := out.view.Clone()
		trial.All(path[:base])[i].Place(path[base:], v)
		o.accept(out, r, trial)
	}
}

func (o *oracle) accept(out *fit, r *orule, trial *jsonvalue.Value) {
	text := trial.String()
	switch {
	case text == out.view.String():
	case o.afterCounts(r) > 0 && len(text) > o.model.limit:
		out.left[r.name()]++
	default:
		out.view = trial
	}
}

// omissions is what _status should say.
func (o *oracle) omissions() string {
	type omission struct {
		Rule      string `json:"rule"`
		Documents int    `json:"documents"`
		Values    int    `json:"values"`
	}
	byRule := map[string]omission{}
	if o.model.limit > 0 {
		o.memo = map[ofit]fit{}
		defer func() { o.memo = nil }()
		for _, d := range o.docs {
			for rule, n := range o.fit(d, 1<<30).left {
				byRule[rule] = omission{rule, byRule[rule].Documents + 1, byRule[rule].Values + n}
			}
		}
	}
	list := []omission{}
	for _, rule := range slices.Sorted(maps.Keys(byRule)) {
		list = append(list, byRule[rule])
	}
	text, _ := json.Marshal(list)
	return string(text)
}

// tooLong tells whether a document that is put is by itself longer than an embedded one may be.
func (o *oracle) tooLong(key okey, text string) bool {
	body, _ := o.whole(key, text)
	return o.longBody(body)
}

// tooLongBefore tells the same of the document without its defaults, which is looked at before it is known whether it exists.
func (o *oracle) tooLongBefore(key okey, text string) bool {
	body, _ := o.owns(key, text)
	return o.longBody(body)
}

// longBody tells whether a document as stored is longer than an embedded one may be.
func (o *oracle) longBody(body *jsonvalue.Value) bool {
	return o.model.limit > 0 && len(body.String()) > o.model.limit
}
