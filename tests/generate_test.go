package tests

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"pgregory.net/rapid"
)

// Documents.

// idValue is the text of a member that mostly holds an id.
func idValue(t *rapid.T) string {
	switch n := upTo(t, 19); {
	case n < 6:
		return draw(t, "1", "2")
	case n < 17:
		return quote(draw(t, ids...))
	case n == 17:
		return draw(t, `"\u0078"`, `"\u0031"`)
	default:
		return draw(t, `""`, "null", "true", "{}", `["1"]`, "1.0", quote(strings.Repeat("i", 256)), `"gone"`)
	}
}

func list(t *rapid.T, longest int, element func() string) string {
	parts := make([]string, upTo(t, longest))
	for i := range parts {
		parts[i] = element()
	}
	return "[" + strings.Join(parts, ",") + "]"
}

// memberValue is a random value for a member of a document.
func memberValue(t *rapid.T, name string) string {
	switch name {
	case "name":
		return draw(t, `"Ann"`, `"Bob"`, `"C\u0041"`, "2.50", "null", `{"x":1,"id":"1"}`, `[ 1 , 2 ]`, `"a  b"`)
	case "n":
		return draw(t, "2.50", "1e3", "-0", "12345678901234567890", "7", `"7"`)
	case "a", "b":
		return draw(t, `"p"`, `"q"`, `"r s"`, `"\u0041"`, "1", "null")
	case "flag":
		return draw(t, "true", "false", `"true"`)
	case "pub-id":
		return idValue(t)
	case "tags":
		return list(t, 3, func() string { return idValue(t) })
	case "authors":
		return list(t, 3, func() string { return author(t) })
	case "sections":
		return list(t, 2, func() string {
			return draw(t, `{"items":`, `{"t":1,"items":`) + list(t, 2, func() string { return `{"ref":` + idValue(t) + "}" }) + "}"
		})
	case "grid":
		return list(t, 2, func() string { return list(t, 2, func() string { return idValue(t) }) })
	case "up":
		return draw(t, `{"id":`, `{"k":0,"id":`) + idValue(t) + "}"
	case "stats":
		return draw(t, "{}", `{"x":1}`, `"none"`, "null", `{"deep":{}}`, `{"deep":[1]}`)
	}
	return `"stale"`
}

func author(t *rapid.T) string {
	switch upTo(t, 7) {
	case 0:
		return draw(t, `"1"`, "null", "[]", "{}", `{"role":"x"}`, `{"id":"1","more":{}}`, `{"id":"1","more":"text"}`)
	case 1:
		return `{"role":"ed","id":` + idValue(t) + `,"name":"stale"}`
	default:
		return `{"id":` + idValue(t) + "}"
	}
}

// memberNames are the members of documents; the last are at derived paths of some models.
var memberNames = []string{"name", "n", "a", "b", "flag", "pub-id", "tags", "authors", "sections", "grid", "up", "stats", "pubName", "count", "z-list"}

func someMember(t *rapid.T) string {
	return memberNames[upTo(t, len(memberNames)-1)]
}

// document is a body's text, with whitespace. It mostly has what the model's relations and
// expressions read.
func document(t *rapid.T, key okey, m *omodel) string {
	var names, members []string
	for _, r := range m.rels {
		if r.collection == key.collection && chance(t, 85) {
			names = append(names, steps(r.path)[0])
		}
	}
	for _, name := range plainMembers {
		if chance(t, 75) {
			names = append(names, name)
		}
	}
	for range upTo(t, 3) {
		names = append(names, someMember(t))
	}
	seen := map[string]bool{}
	for _, name := range names {
		if !seen[name] {
			seen[name] = true
			members = append(members, quote(name)+":"+memberValue(t, name))
		}
	}
	turn := upTo(t, len(members))
	members = append(members[turn:], members[:turn]...)
	id := quote("id") + ":" + quote(key.id)
	if key.id == "1" || key.id == "2" {
		id = quote("id") + ":" + draw(t, quote(key.id), key.id)
	}
	switch draw(t, "first", "last", "none") {
	case "first":
		members = append([]string{id}, members...)
	case "last":
		members = append(members, id)
	}
	return spread("{"+strings.Join(members, ",")+"}", draw(t, "", "", " ", "\n\t"))
}

// spread puts space around the structure of compact JSON text.
func spread(text, space string) string {
	var b strings.Builder
	inside := false
	for i := 0; i < len(text); i++ {
		c := text[i]
		if c == '"' && (i == 0 || text[i-1] != '\\') {
			inside = !inside
		}
		if !inside && strings.IndexByte("{}[],:", c) >= 0 {
			b.WriteString(space + string(c) + space)
			continue
		}
		b.WriteByte(c)
	}
	return strings.TrimSpace(b.String())
}

// Patches. They keep off members that some model derives at the top level; inside values the
// generators above may still put them, which the oracle's want has to foresee.

var patchable = []string{"name", "n", "a", "b", "flag", "pub-id", "tags", "grid", "up", "stats", "sections"}

// patchText is a JSON Patch.
func patchText(t *rapid.T) string {
	ops := make([]string, 1+upTo(t, 1))
	for i := range ops {
		ops[i] = patchOperation(t)
	}
	return "[" + strings.Join(ops, ",") + "]"
}

// memberPatch is a merge patch.
func memberPatch(t *rapid.T) string {
	var members []string
	seen := map[string]bool{}
	for range 1 + upTo(t, 2) {
		name := draw(t, patchable...)
		if seen[name] {
			continue
		}
		seen[name] = true
		value := "null"
		if !chance(t, 25) {
			value = memberValue(t, name)
		}
		members = append(members, quote(name)+":"+value)
	}
	return "{" + strings.Join(members, ",") + "}"
}

func mergePatch(doc, patch *jv) {
	for _, m := range patch.items {
		i := doc.index(m.key)
		switch {
		case m.val.kind == 'n' && i >= 0:
			doc.items = slices.Delete(doc.items, i, i+1)
		case m.val.kind == 'n':
		case m.val.kind == '{' && i >= 0 && doc.items[i].val.kind == '{':
			mergePatch(doc.items[i].val, m.val)
		case m.val.kind == '{':
			fresh := &jv{kind: '{'}
			mergePatch(fresh, m.val)
			doc.set(m, fresh)
		default:
			doc.set(m, m.val)
		}
	}
}

func (v *jv) set(m jmember, val *jv) {
	if i := v.index(m.key); i >= 0 {
		v.items[i].val = val
		return
	}
	v.items = append(v.items, jmember{key: m.key, raw: m.raw, val: val})
}

func patchOperation(t *rapid.T) string {
	name := draw(t, patchable...)
	if chance(t, 40) {
		path := draw(t, "/tags/-", "/tags/0", "/tags/1", "/up/id", "/authors/0/id", "/sections/0/items/0/ref", "/grid/0/-")
		if chance(t, 30) {
			return `{"op":"remove","path":"` + path + `"}`
		}
		return `{"op":"` + draw(t, "add", "replace") + `","path":"` + path + `","value":` + idValue(t) + "}"
	}
	if op := draw(t, "add", "replace", "remove"); op != "remove" {
		return `{"op":"` + op + `","path":"/` + name + `","value":` + memberValue(t, name) + "}"
	}
	return `{"op":"remove","path":"/` + name + `"}`
}

// applyPatch applies a JSON Patch and tells whether all of it fits.
func applyPatch(doc *jv, patch string) bool {
	for _, m := range parseJSON(patch).items {
		value := ""
		if v := m.val.get("value"); v != nil {
			value = v.String()
		}
		if !applyOperation(doc, unquote(m.val.get("op").text), unquote(m.val.get("path").text), value) {
			return false
		}
	}
	return true
}

func applyOperation(doc *jv, op, path, value string) bool {
	if path == "" && op == "replace" {
		*doc = *parseJSON(value)
		return true
	}
	cut := strings.LastIndexByte(path, '/')
	parent, last := at(doc, path[:cut]), path[cut+1:]
	if parent == nil || parent.kind != '{' && parent.kind != '[' {
		return false
	}
	i, found := parent.find(last)
	switch {
	case i < 0 || op != "add" && !found:
		return false
	case op == "remove":
		parent.items = slices.Delete(parent.items, i, i+1)
	case op == "replace" || parent.kind == '{' && found:
		parent.items[i].val = parseJSON(value)
	default:
		parent.items = slices.Insert(parent.items, i, jmember{key: last, raw: quote(last), val: parseJSON(value)})
	}
	return true
}

// find is the index of a member or element, or where it would be added; -1 for nowhere.
func (v *jv) find(token string) (i int, found bool) {
	if v.kind == '{' {
		if i := v.index(token); i >= 0 {
			return i, true
		}
		return len(v.items), false
	}
	if token == "-" {
		return len(v.items), false
	}
	i, err := strconv.Atoi(token)
	if err != nil || i > len(v.items) {
		return -1, false
	}
	return i, i < len(v.items)
}

// at is the value at a JSON pointer, or nil.
func at(v *jv, pointer string) *jv {
	if pointer == "" {
		return v
	}
	for token := range strings.SplitSeq(pointer[1:], "/") {
		if v.kind != '{' && v.kind != '[' {
			return nil
		}
		i, found := v.find(token)
		if !found {
			return nil
		}
		v = v.items[i].val
	}
	return v
}

// Models.

// randomModel is a new model: another one, or prev with a few changes.
func randomModel(t *rapid.T, prev *omodel) *omodel {
	m := &omodel{}
	if len(prev.rules) > 0 && !chance(t, 20) {
		m = prev.clone()
		for range 1 + upTo(t, 2) {
			m.change(t)
		}
	} else {
		for range 2 + upTo(t, 3) {
			m.addRelation(t)
		}
		for range 3 + upTo(t, 5) {
			m.addRule(t)
		}
	}
	m.breakCycles()
	return m
}

func (m *omodel) clone() *omodel {
	c := &omodel{}
	moved := map[*orel]*orel{}
	for _, r := range m.rels {
		rel := *r
		moved[r] = &rel
		c.rels = append(c.rels, &rel)
	}
	for _, r := range m.rules {
		rule := *r
		rule.rel = moved[r.rel]
		c.rules = append(c.rules, &rule)
	}
	return c
}

func (m *omodel) change(t *rapid.T) {
	switch op := draw(t, "rule", "rule", "relation", "drop", "drop", "expr", "policy", "pages", "drop relation"); {
	case op == "rule":
		m.addRule(t)
	case op == "relation":
		m.addRelation(t)
	case op == "drop" && len(m.rules) > 0:
		i := upTo(t, len(m.rules)-1)
		m.rules = slices.Delete(m.rules, i, i+1)
	case op == "expr" && len(m.rules) > 0:
		i := upTo(t, len(m.rules)-1)
		m.rules[i].options(t, m)
	case op == "policy" && len(m.rels) > 0:
		i := upTo(t, len(m.rels)-1)
		m.rels[i].onDelete = draw(t, append(policies, "clear")...)
	case op == "pages" && len(m.rels) > 0:
		m.paged(t, m.rels[upTo(t, len(m.rels)-1)])
	case op == "drop relation" && len(m.rels) > 0:
		i := upTo(t, len(m.rels)-1)
		rel := m.rels[i]
		m.rels = slices.Delete(m.rels, i, i+1)
		m.rules = slices.DeleteFunc(m.rules, func(r *orule) bool { return r.rel == rel })
	}
}

// addRelation adds a relation; two of a collection may read the same path.
func (m *omodel) addRelation(t *rapid.T) {
	c := draw(t, collections...)
	path := relationPaths[upTo(t, len(relationPaths)-1)].path
	name := draw(t, "r1", "r2", "r-3")
	if slices.ContainsFunc(m.rels, func(r *orel) bool { return r.collection == c && r.name == name }) {
		return
	}
	rel := &orel{c, name, path, draw(t, collections...), draw(t, policies...), 0}
	m.rels = append(m.rels, rel)
	m.paged(t, rel)
}

var policies = []string{"", "keep", "keep", "keep", "unlink", "unlink", "cascade", "restrict"}

// paged gives a relation pages, or none; a collection has them by one relation.
func (m *omodel) paged(t *rapid.T, rel *orel) {
	if rel.pages = draw(t, 0, 2); rel.pages == 0 {
		return
	}
	for _, r := range m.rels {
		if r != rel && r.collection == rel.collection {
			r.pages = 0
		}
	}
}

func (m *omodel) addRule(t *rapid.T) {
	if len(m.rels) == 0 {
		return
	}
	rel := m.rels[upTo(t, len(m.rels)-1)]
	r := &orule{collection: rel.collection, rel: rel, kind: draw(t, "copy", "copy", "copy", "copy", "count", "ids", "sum", "min", "max", "avg", "recent", "recent")}
	if r.kind == "copy" {
		i := slices.IndexFunc(relationPaths, func(p struct {
			path   string
			fields []string
		}) bool {
			return p.path == rel.path
		})
		r.path = draw(t, relationPaths[i].fields...)
	} else {
		r.collection = rel.to
		r.path = draw(t, holderFields...)
	}
	if m.rule(r.name()) == nil {
		r.options(t, m)
		m.rules = append(m.rules, r)
	}
}

// options gives a rule an expression, a condition or a limit.
func (r *orule) options(t *rapid.T, m *omodel) {
	switch r.kind {
	case "count":
		r.where = draw(t, "", where)
	case "ids":
		r.limit = draw(t, 0, 1, 2)
	case "copy":
		r.expr, r.frozen = expression(t, m, r.rel.to), chance(t, 30)
	case "recent":
		r.where, r.orderBy, r.limit = draw(t, "", "", where), draw(t, "", "n", "name", "a"), draw(t, 1, 2, 3)
		names := m.readable(r.rel.collection)
		r.shown = []string{draw(t, "id", "pub-id", "up")}
		for range upTo(t, 2) {
			if name := draw(t, names...); !slices.Contains(r.shown, name) {
				r.shown = append(r.shown, name)
			}
		}
	default:
		r.where, r.of = draw(t, "", "", where), draw(t, "n", "n", "n", "stats.x")
	}
}

const where = "doc.flag == true"

// readable are the plain members of a collection's documents, and the derived ones.
func (m *omodel) readable(collection string) []string {
	names := slices.Clone(plainMembers)
	for _, r := range m.rules {
		if r.collection == collection {
			names = append(names, steps(r.path)[0], steps(r.path)[0])
		}
	}
	return names
}

// expression reads plain members of the target, or derived ones.
func expression(t *rapid.T, m *omodel, target string) oexpr {
	names := slices.DeleteFunc(m.readable(target), func(name string) bool { return name == "z-list" }) // CEL reads doc.z-list as a difference
	switch draw(t, "member", "member", "member", "concat", "nested", "pair") {
	case "concat":
		return oexpr{"concat", []string{"a", "b"}}
	case "nested":
		return oexpr{"nested", []string{draw(t, "stats", "up"), draw(t, "count", "x", "label", "pub")}}
	case "pair":
		return oexpr{"pair", []string{draw(t, names...), draw(t, names...)}}
	}
	return oexpr{"member", []string{draw(t, names...)}}
}

// breakCycles makes rules that depend on themselves read a plain member.
func (m *omodel) breakCycles() {
	for _, r := range m.rules {
		if m.reaches(r, r, map[*orule]bool{}) {
			r.expr, r.shown = oexpr{"member", []string{"name"}}, []string{"name"}
		}
	}
}

// dependencies are the rules that a rule may read.
func (m *omodel) dependencies(r *orule) []*orule {
	var collection string
	var reads []string
	switch r.kind {
	case "copy":
		collection, reads = r.rel.to, r.expr.reads()
	case "recent":
		collection, reads = r.rel.collection, r.shown
	}
	var out []*orule
	for _, o := range m.rules {
		if o.collection == collection && slices.ContainsFunc(o.fields(), func(f string) bool { return slices.Contains(reads, steps(f)[0]) }) {
			out = append(out, o)
		}
	}
	return out
}

func (m *omodel) reaches(from, to *orule, seen map[*orule]bool) bool {
	for _, o := range m.dependencies(from) {
		if o == to {
			return true
		}
		if !seen[o] {
			seen[o] = true
			if m.reaches(o, to, seen) {
				return true
			}
		}
	}
	return false
}

// String is the model as the store reads it.
func (m *omodel) String() string {
	var parts []string
	for _, c := range collections {
		var rels, rules []string
		var pages string
		for _, r := range m.rels {
			if r.collection == c {
				rels = append(rels, r.json())
			}
		}
		for _, r := range m.rules {
			if r.collection == c {
				rules = append(rules, quote(r.path)+":"+r.json())
			}
		}
		for _, r := range m.rels {
			if r.collection == c && r.pages > 0 {
				pages = fmt.Sprintf(`,"pages":{"by":"%s","size":%d}`, r.name, r.pages)
			}
		}
		release := ""
		if paths := m.release[c]; len(paths) > 0 {
			release = `,"release":["` + strings.Join(paths, `","`) + `"]`
		}
		parts = append(parts, fmt.Sprintf(`"%s":{"relations":{%s},"derive":{%s}%s%s}`, c, strings.Join(rels, ","), strings.Join(rules, ","), pages, release))
	}
	return `{"collections":{` + strings.Join(parts, ",") + "}}"
}

func (r *orel) json() string {
	policy := ""
	if r.onDelete != "" {
		policy = `,"onDelete":` + quote(r.onDelete)
	}
	return fmt.Sprintf(`"%s":{"path":"%s","to":"%s"%s}`, r.name, r.path, r.to, policy)
}

func (r *orule) json() string {
	relation := r.rel.collection + "." + r.rel.name
	options := ""
	add := func(name, value string) {
		if value != "" && value != `""` && value != "0" {
			options += `,"` + name + `":` + value
		}
	}
	switch r.kind {
	case "copy":
		relation = r.rel.name
		add("value", quote(r.expr.String()))
		if r.frozen {
			add("frozen", "true")
		}
	case "ids":
		add("limit", strconv.Itoa(r.limit))
	case "recent":
		add("max", strconv.Itoa(r.limit))
		add("fields", `["`+strings.Join(r.shown, `","`)+`"]`)
		add("orderBy", quote(r.orderBy))
	}
	add("of", quote(r.of))
	add("where", quote(r.where))
	return fmt.Sprintf(`{"%s":"%s"%s,"takeOver":true}`, r.kind, relation, options)
}
