package history_test

import (
	"math"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/fanfold/fanfold/projector/fold"
	"github.com/fanfold/fanfold/tests/jsonvalue"
)

// steps splits "a[].b" into "a", "[]", "b".
func steps(path string) []string {
	return strings.Split(strings.ReplaceAll(path, "[]", ".[]"), ".")
}

// okey names a document.
type okey struct{ collection, id string }

func (k okey) String() string { return k.collection + "/" + k.id }

// orel, orule and omodel are a model as the tests generate it.
type orel struct {
	collection, name, path, to, onDelete string
	pages                                int // documents on a page; 0 for none
}

type orule struct {
	collection, path, kind string
	rel                    *orel    // nil of value
	expr                   oexpr    // of copy and value
	frozen                 bool     // of copy
	where                  string   // of counts, aggregates and recent
	limit                  int      // of ids, 0 for the default, and recent
	of, orderBy            string   // of aggregates, of recent
	shown                  []string // of recent
}

type omodel struct {
	arrays   bool // rules may go through elements of arrays, and names have capitals: the version of the fold that brought them is in force
	rels     []*orel
	rules    []*orule
	indexes  []*oindex
	defaults []odefault
	limit    int                 // how long an embedded view may be; 0 for the default, which no test reaches
	release  map[string][]string // by collection
	access   map[string]string   // by collection, as the model has it
	loses    *omodel             // that would lose values which stay on documents; nil where none would be lost
}

func (r *orule) name() string { return r.collection + "." + r.path }

// fields are all paths the rule owns.
func (r *orule) fields() []string {
	if r.kind == "ids" {
		return []string{r.path, r.path + "Truncated"}
	}
	return []string{r.path}
}

// definition is equal for rules that always give the same value.
func (r *orule) definition() string {
	if r.rel == nil {
		return r.json()
	}
	rel := *r.rel
	if rel.onDelete != "keep" || r.kind != "copy" || r.frozen {
		rel.onDelete = ""
	}
	return strings.Join([]string{r.json(), rel.collection, rel.name, rel.path, rel.to, rel.onDelete}, "|")
}

func (m *omodel) rule(name string) *orule {
	for _, r := range m.rules {
		if r.name() == name {
			return r
		}
	}
	return nil
}

// oexpr is one of the few expressions the oracle knows.
type oexpr struct {
	kind  string // member, concat, nested, pair, price
	names []string
}

func (e oexpr) String() string {
	switch e.kind {
	case "concat":
		return "doc." + e.names[0] + " + '-' + doc." + e.names[1]
	case "nested":
		return "doc." + e.names[0] + "." + e.names[1]
	case "price":
		return "doc." + e.names[0] + " * 3 + 0.10"
	case "element":
		return "element." + e.names[1]
	case "element price":
		return "element." + e.names[1] + " * 3 + 0.10"
	case "pair":
		return "[doc." + e.names[0] + ", doc." + e.names[1] + "]"
	case "untouched":
		return "meta.createdAt == meta.updatedAt"
	case "creator":
		return "meta.createdBy"
	case "writer":
		return "meta.updatedBy"
	}
	return "doc." + e.names[0]
}

// reads are the top-level members the expression looks at.
func (e oexpr) reads() []string {
	switch e.kind {
	case "nested":
		return e.names[:1]
	case "element", "element price":
		return []string{e.names[0] + e.names[1]}
	}
	return e.names
}

type odoc struct {
	key     okey
	body    *jsonvalue.Value
	written string // the body's exact text; "" where only its canonical form is known
	created int    // the place among all events of the one that created it
	updated int    // and of the last one that wrote it
	creator string // who sent the first one; "" for nobody in particular
	writer  string // and the last one
}

// okept is the place of a value kept from a deleted target.
type okept struct {
	rule           string
	target, holder okey
}

type oracle struct {
	model  *omodel
	docs   map[okey]*odoc
	kept   map[okept]string           // of deleted targets, and frozen
	places map[okept]int              // in pages; rule is the relation
	came   map[okept]int              // how many ever came into a target's pages
	owned  map[string]map[string]bool // by collection: paths of all rules there were and that are not released
	gone   map[string]*orule          // rules that went, by name, and whose kept values are still there
	events int
	times  map[int]time.Time // of the events by their places; nil where no two have one time
	actor  string            // who sends the next write; "" for nobody in particular
	newest bool              // the newest version of the fold is in force, and not the oldest
	memo   map[ofit]fit      // while views are made
}

func newOracle() *oracle {
	return &oracle{model: &omodel{}, docs: map[okey]*odoc{}, kept: map[okept]string{}, places: map[okept]int{}, came: map[okept]int{}, owned: map[string]map[string]bool{}, gone: map[string]*orule{}}
}

// put accepts a whole document.
func (o *oracle) put(key okey, text string, refresh ...string) {
	body, written := o.whole(key, text)
	o.write(key, body, written, refresh...)
}

// whole is a document as it is stored, and its text where that is known: with its defaults where it is created.
func (o *oracle) whole(key okey, text string) (body *jsonvalue.Value, written string) {
	body, written = o.owns(key, text)
	if o.docs[key] != nil {
		return body, written
	}
	for _, d := range o.model.defaults {
		if d.collection == key.collection && d.fill(body) {
			written = ""
		}
	}
	return body, written
}

// owns is a document without the members that belong to the store, and with its id.
func (o *oracle) owns(key okey, text string) (body *jsonvalue.Value, written string) {
	body, written = jsonvalue.Parse(text), text
	if body.Get("id") == nil {
		body.Items = slices.Insert(body.Items, 0, jsonvalue.Member{Key: "id", Raw: `"id"`, Val: jsonvalue.Parse(jsonvalue.Quote(key.id))})
		written = ""
	}
	for path := range o.owned[key.collection] {
		if body.Strip(steps(path)) {
			written = ""
		}
	}
	return body, written
}

func (o *oracle) write(key okey, body *jsonvalue.Value, written string, refresh ...string) {
	o.events++
	d := o.docs[key]
	if d == nil {
		d = &odoc{key: key, created: o.events, creator: o.actor}
		o.docs[key] = d
		o.forget(func(k okept) bool { return k.target == key && !o.keeper(k.rule).frozen })
	}
	d.body, d.written, d.updated, d.writer = body, written, o.events, o.actor
	o.forget(func(k okept) bool {
		rel := o.keeper(k.rule).rel
		return k.holder == key && !o.model.derivesIDs(rel) && !slices.Contains(body.IDs(steps(rel.path)), k.target.id)
	})
	o.forget(func(k okept) bool {
		r := o.model.rule(k.rule)
		return k.holder == key && r != nil && r.frozen && slices.Contains(refresh, r.path) && o.docs[k.target] != nil
	})
	o.placeIn(d)
	for _, r := range o.frozenRules() {
		if r.collection == key.collection {
			o.capture(r, d)
		}
	}
	o.settleIDs()
}

func (o *oracle) forget(which func(okept) bool) {
	for k := range o.kept {
		if which(k) {
			delete(o.kept, k)
		}
	}
}

// remove accepts a delete.
func (o *oracle) remove(key okey) {
	o.events++
	for _, r := range o.model.rules {
		if r.kind != "copy" || r.frozen || r.rel.to != key.collection || r.rel.onDelete != "keep" {
			continue
		}
		value := o.eval(r, o.docs[key])
		for _, h := range o.holders(r.rel, key.id) {
			if value != nil {
				o.kept[okept{r.name(), key, h.key}] = value.String()
			}
		}
	}
	delete(o.docs, key)
	o.forget(func(k okept) bool { return k.holder == key })
	for k := range o.places {
		if k.holder == key {
			delete(o.places, k)
		}
	}
	o.settleIDs()
}

// apply accepts a model.
func (o *oracle) apply(m *omodel) {
	o.events++
	prev := o.model
	o.settleKept(m)
	o.model = m
	o.placeAll(prev)
	for _, r := range o.frozenRules() {
		if old := prev.rule(r.name()); old != nil && old.definition() == r.definition() {
			continue
		}
		for _, d := range o.docs {
			if d.key.collection == r.collection {
				o.capture(r, d)
			}
		}
	}
	o.settleIDs()
	for c, paths := range m.release {
		for _, path := range paths {
			delete(o.owned[c], path)
		}
	}
	for _, r := range m.rules {
		if o.owned[r.collection] == nil {
			o.owned[r.collection] = map[string]bool{}
		}
		for _, f := range r.fields() {
			o.owned[r.collection][f] = true
		}
	}
}

// holders are the documents that refer to an id, in order of creation.
func (o *oracle) holders(rel *orel, id string) []*odoc {
	var out []*odoc
	for _, d := range o.docs {
		if d.key.collection == rel.collection && slices.Contains(o.idsOf(rel, d), id) {
			out = append(out, d)
		}
	}
	slices.SortFunc(out, func(a, b *odoc) int { return a.created - b.created })
	return out
}

// views are all embedded views.
func (o *oracle) views() map[okey]string {
	out := make(map[okey]string, len(o.docs))
	o.memo = map[ofit]fit{}
	for k, d := range o.docs {
		out[k] = o.embed(d, nil, math.MaxInt).String()
	}
	o.memo = nil
	return out
}

// embed is a document with the derived members of rules below a depth. With the steps of a path, members at it, below it or around it may be
// there.
func (o *oracle) embed(d *odoc, at []string, depth int) *jsonvalue.Value {
	if o.model.limit > 0 {
		return o.fit(d, depth).view
	}
	root := d.body.Clone()
	var rules []*orule
	for _, r := range o.model.rules {
		if r.collection == d.key.collection {
			rules = append(rules, r)
			for _, f := range r.fields() { // a member the rule took over
				root.Strip(steps(f))
			}
		}
	}
	for _, r := range rules {
		for i, f := range r.fields() {
			path := steps(f)
			if overlap(path, at) {
				o.derive(root, d, r, path, i == 1)
			}
		}
	}
	return root
}

// derive puts one rule's values into root.
func (o *oracle) derive(root *jsonvalue.Value, d *odoc, r *orule, path []string, flag bool) {
	if r.kind == "copy" {
		base := sharedArrays(path, steps(r.rel.path))
		beside := o.idView(r.rel, d).All(path[:base])
		for i, anchor := range root.All(path[:base]) {
			if v := o.copied(r, beside[i], steps(r.rel.path)[base:], d.key); v != nil {
				anchor.Place(path[base:], v)
			}
		}
		return
	}
	if r.ofElements() {
		o.deriveOfElements(root, d, r, path)
		return
	}
	if r.kind == "value" { // of the document itself
		if v := o.evalExact(r, d); v != nil {
			root.Place(path, v)
		}
		return
	}
	var in []*odoc
	var ids []string
	for _, h := range o.holders(r.rel, d.key.id) {
		if o.includes(r, h) {
			in, ids = append(in, h), append(ids, jsonvalue.Quote(h.key.id))
		}
	}
	if v := o.aggregate(r, in); v != "" {
		root.Place(path, jsonvalue.Parse(v))
	}
	limit := r.limit
	if limit == 0 {
		limit = 1000
	}
	cut := len(ids) > limit
	switch {
	case r.kind == "count":
		root.Place(path, jsonvalue.Parse(strconv.Itoa(len(ids))))
	case flag && cut:
		root.Place(path, jsonvalue.Parse("true"))
	case r.kind == "ids" && !flag:
		root.Place(path, jsonvalue.Parse("["+strings.Join(ids[:min(limit, len(ids))], ",")+"]"))
	}
}

// sharedArrays is how many steps both paths go together, up to the last array.
func sharedArrays(a, b []string) int {
	n := 0
	for i := 0; i < min(len(a), len(b)) && a[i] == b[i]; i++ {
		if a[i] == "[]" {
			n = i + 1
		}
	}
	return n
}

// copied is a copy's value below anchor, one or a list, or nil.
func (o *oracle) copied(r *orule, anchor *jsonvalue.Value, rest []string, holder okey) *jsonvalue.Value {
	list, some := &jsonvalue.Value{Kind: '['}, false
	for _, id := range anchor.IDs(rest) {
		var v *jsonvalue.Value
		target := okey{r.rel.to, id}
		if d := o.docs[target]; d != nil && !r.frozen {
			v = o.eval(r, d)
		} else if text, ok := o.kept[okept{r.name(), target, holder}]; ok {
			v = jsonvalue.Parse(text)
		}
		if !slices.Contains(rest, "[]") {
			return v
		}
		some = some || v != nil
		if v == nil {
			v = jsonvalue.Parse("null")
		}
		list.Items = append(list.Items, jsonvalue.Member{Val: v})
	}
	if !some {
		return nil
	}
	return list
}

// decimals is the version of the fold from which on numbers are computed as decimals. Under the build tag nextfold there is one more, whose copies
// are without spaces at their end.
const decimals = 9

// eval is a copy's value on a document's embedded view, or nil.
func (o *oracle) eval(r *orule, d *odoc) *jsonvalue.Value {
	v := o.evalExact(r, d)
	if o.newest && fold.LatestVersion > decimals && v != nil && v.Kind == '"' {
		return jsonvalue.Parse(strings.TrimRight(v.Text[:len(v.Text)-1], " ") + `"`)
	}
	return v
}

// named is the value that names who wrote a document, nil for nobody.
func named(by string) *jsonvalue.Value {
	if by == "" {
		return nil
	}
	return jsonvalue.Parse(jsonvalue.Quote(by))
}

// evalExact is what the rule's expression gives. It makes only the part of the view it needs, for a document may refer to
// itself.
func (o *oracle) evalExact(r *orule, d *odoc) *jsonvalue.Value {
	var args []*jsonvalue.Value
	e := r.expr
	switch e.kind {
	case "untouched":
		return jsonvalue.Parse(strconv.FormatBool(d.created == d.updated || o.times != nil && o.times[d.created].Equal(o.times[d.updated])))
	case "creator":
		return named(d.creator)
	case "writer":
		return named(d.writer)
	}
	for _, name := range e.reads() {
		v := o.embed(d, []string{name}, o.model.depth(r)).Get(name)
		if v == nil {
			return nil
		}
		args = append(args, v)
	}
	switch e.kind {
	case "concat":
		if args[0].Kind != '"' || args[1].Kind != '"' {
			return nil
		}
		return jsonvalue.Parse(jsonvalue.Quote(jsonvalue.Unquote(args[0].Text) + "-" + jsonvalue.Unquote(args[1].Text)))
	case "nested":
		return args[0].Get(e.names[1])
	case "price":
		if price := priceOf(args[0].Text, o.newest); price != "" {
			return jsonvalue.Parse(price)
		}
		return nil
	case "pair":
		return jsonvalue.Parse("[" + args[0].String() + "," + args[1].String() + "]")
	}
	return args[0]
}

// priceOf is the text of n * 3 + 0.10, with decimals or with a float64 as CEL has it; "" where n is no number.
func priceOf(n string, exact bool) string {
	value, ok := new(big.Rat).SetString(n)
	if !ok {
		return ""
	}
	if !exact {
		f, _ := value.Float64()
		return jsontext.Float(f*3 + 0.1).String()
	}
	value.Add(value.Mul(value, big.NewRat(3, 1)), big.NewRat(1, 10))
	return value.FloatString(max(2, scaleOf(n)))
}
