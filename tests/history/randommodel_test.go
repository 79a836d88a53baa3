package history_test

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"pgregory.net/rapid"

	"github.com/fanfold/fanfold/tests/jsonvalue"
)

// Models.

// randomModel is a new model: another one, or prev with a few changes.
func randomModel(t *rapid.T, prev *omodel, arrays bool) *omodel {
	m := &omodel{arrays: arrays}
	if len(prev.rules) > 0 && !chance(t, 20) {
		m = prev.clone()
		m.arrays = arrays
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
		if chance(t, 25) {
			m.addChain(t)
		}
		if chance(t, 30) {
			m.addDerivedIDs(t)
		}
		for range upTo(t, 4) {
			m.addIndex(t)
		}
		for range upTo(t, 3) {
			m.addDefault(t)
		}
	}
	if arrays && chance(t, 70) {
		m.addOfElements(t)
	}
	if prev.rules == nil && chance(t, 40) || chance(t, 15) {
		m.limit = draw(t, 0, 150, 250, 400, 600, 900)
	}
	m.breakCycles()
	return m
}

// collections are the names that the model declares.
func (m *omodel) collections() []string {
	if m.arrays {
		return collections
	}
	return collections[1:]
}

func (m *omodel) clone() *omodel {
	c := &omodel{limit: m.limit, defaults: slices.Clone(m.defaults), access: maps.Clone(m.access), indexes: slices.Clone(m.indexes)}
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
	switch op := draw(t, "rule", "rule", "chain", "relation", "drop", "drop", "expr", "policy", "pages", "drop relation", "derived ids", "access", "index", "index", "drop index", "default"); {
	case op == "rule":
		m.addRule(t)
	case op == "relation":
		m.addRelation(t)
	case op == "chain":
		m.addChain(t)
	case op == "derived ids":
		m.addDerivedIDs(t)
	case op == "access" && m.arrays: // which came with publish
		m.access = maps.Clone(m.access)
		if m.access == nil {
			m.access = map[string]string{}
		}
		m.access[draw(t, m.collections()...)] = draw(t, "", `{}`, `{"read":["everyone"]}`, `{"read":["half"],"write":["write"]}`)
	case op == "default":
		m.addDefault(t)
	case op == "index":
		m.addIndex(t)
	case op == "drop index" && len(m.indexes) > 0:
		i := upTo(t, len(m.indexes)-1)
		m.indexes = slices.Delete(m.indexes, i, i+1)
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

// bringBack adds a rule that went and whose values are still there, with its relation where that is missing.
func (m *omodel) bringBack(t *rapid.T, o *oracle) {
	names := slices.Sorted(maps.Keys(o.gone))
	if len(names) == 0 {
		return
	}
	old := o.gone[draw(t, names...)]
	if slices.ContainsFunc(m.rules, func(r *orule) bool {
		return r.collection == old.collection && slices.Contains(r.fields(), old.path)
	}) {
		return
	}
	rule := *old
	i := slices.IndexFunc(m.rels, func(r *orel) bool {
		return r.collection == old.collection && (r.path == old.rel.path && r.to == old.rel.to || r.name == old.rel.name)
	})
	if i < 0 {
		rel := *old.rel
		rel.pages = 0
		m.rels, i = append(m.rels, &rel), len(m.rels)
	}
	rule.rel = m.rels[i]
	if sharedFields(rule.path, rule.rel.path) {
		m.rules = append(m.rules, &rule)
		m.breakCycles()
	}
}

// sharedFields tells whether a field may be copied along a relation's path.
func sharedFields(field, path string) bool {
	return slices.ContainsFunc(slices.Concat(relationPaths, derivedPaths), func(p copyPath) bool {
		return p.path == path && slices.Contains(p.fields, field)
	})
}

// addRelation adds a relation; two of a collection may read the same path.
func (m *omodel) addRelation(t *rapid.T) {
	c := draw(t, m.collections()...)
	path := relationPaths[upTo(t, len(relationPaths)-1)].path
	if chance(t, 8) { // over derived ids where a rule gives them
		path = derivedPaths[upTo(t, len(derivedPaths)-1)].path
	}
	m.addRelationAt(t, c, path)
}

// addRelationAt adds a relation at a path, unless there are too many.
func (m *omodel) addRelationAt(t *rapid.T, c, path string) {
	name := draw(t, "r1", "r2", "r-3")
	if slices.ContainsFunc(m.rels, func(r *orel) bool { return r.collection == c && r.name == name }) {
		return
	}
	rel := &orel{c, name, path, draw(t, m.collections()...), draw(t, policies...), 0}
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
	if chance(t, 20) {
		m.addComputed(t)
		return
	}
	if len(m.rels) == 0 {
		return
	}
	m.addRuleOn(t, m.rels[upTo(t, len(m.rels)-1)])
}

// addRuleOn adds a rule on a relation.
func (m *omodel) addRuleOn(t *rapid.T, rel *orel) {
	r := &orule{collection: rel.collection, rel: rel, kind: draw(t, "copy", "copy", "copy", "copy", "count", "ids", "sum", "min", "max", "avg", "recent", "recent")}
	if r.kind == "copy" {
		all := slices.Concat(relationPaths, derivedPaths)
		i := slices.IndexFunc(all, func(p copyPath) bool { return p.path == rel.path })
		r.path = draw(t, all[i].fields...)
	} else {
		r.collection = rel.to
		r.path = draw(t, holderFields...)
	}
	if m.rule(r.name()) == nil {
		r.options(t, m)
		m.rules = append(m.rules, r)
	}
}

// addComputed adds a member that is computed of the document itself, sometimes where others may derive another.
func (m *omodel) addComputed(t *rapid.T) {
	r := &orule{kind: "value", collection: draw(t, m.collections()...), path: draw(t, "own", "Own", "stats.own", "up.own", "A", "stats.count", "pubName")}
	if m.rule(r.name()) == nil {
		r.options(t, m)
		m.rules = append(m.rules, r)
	}
}

// addChain adds an aggregate over what another rule gives, a copy or an aggregate, on the documents that refer to one.
func (m *omodel) addChain(t *rapid.T) {
	m.addRelation(t)
	var pairs [][2]*orel
	for _, upper := range m.rels {
		for _, lower := range m.rels {
			if lower.to == upper.collection {
				pairs = append(pairs, [2]*orel{lower, upper})
			}
		}
	}
	if len(pairs) == 0 {
		return
	}
	pair := draw(t, pairs...)
	below := &orule{collection: pair[0].to, rel: pair[0], kind: draw(t, "count", "sum", "max"), path: draw(t, "count", "stats.count", "A"), of: "n"}
	if below.kind == "count" {
		below.of = ""
	}
	above := &orule{collection: pair[1].to, rel: pair[1], kind: draw(t, "count", "sum", "min", "max", "avg", "recent"), path: draw(t, holderFields...), of: below.path}
	switch above.kind {
	case "count":
		above.of, above.where = "", draw(t, counted, inStats)
	case "recent":
		above.of, above.orderBy, above.limit, above.shown = "", below.path, 2, []string{"id", draw(t, "A", "count")}
	}
	for _, r := range []*orule{below, above} {
		if m.rule(r.name()) == nil {
			m.rules = append(m.rules, r)
		}
	}
}

// options gives a rule an expression, a condition or a limit.
func (r *orule) options(t *rapid.T, m *omodel) {
	switch r.kind {
	case "count":
		if r.rel == nil {
			r.where, r.of = draw(t, "", "", editing), m.arrayMember(t, r.collection)
			return
		}
		r.where = draw(t, "", flagged, counted, inStats)
	case "ids":
		r.limit = draw(t, 0, 1, 2)
	case "copy":
		r.expr, r.frozen = expression(t, m, r.rel.to), chance(t, 30)
	case "value":
		r.expr = expression(t, m, r.collection)
		if m.arrays && chance(t, 25) {
			r.expr = stamp(t)
			return
		}
		if names := m.readable(r.collection)[len(plainMembers):]; len(names) > 0 && chance(t, 70) {
			if name := draw(t, names...); name != "z-list" {
				r.expr = oexpr{"member", []string{name}}
			}
		}
	case "recent":
		r.where, r.orderBy, r.limit = draw(t, "", "", flagged, counted, inStats), draw(t, "", "", "n", "name", "_meta.updatedAt", "_meta.updatedAt", "_meta.createdAt", m.derivedMember(t, r.rel.collection)), draw(t, 1, 2, 3)
		names := m.readable(r.rel.collection)
		r.shown = []string{draw(t, "id", "pub-id", "up")}
		for range upTo(t, 2) {
			if name := draw(t, names...); !slices.Contains(r.shown, name) {
				r.shown = append(r.shown, name)
			}
		}
	case "each":
		r.expr = elementExpression(t, m, r)
	default:
		if r.rel == nil {
			r.where, r.of = draw(t, "", "", editing), m.arrayMember(t, r.collection)
			return
		}
		r.where, r.of = draw(t, "", "", flagged, counted, inStats), draw(t, "n", "stats.x", m.derivedMember(t, r.rel.collection), m.derivedMember(t, r.rel.collection))
		if m.arrays && chance(t, 40) {
			r.of = m.arrayMember(t, r.rel.collection)
			if r.where != "" {
				r.where = draw(t, editing, r.where)
			}
		}
	}
}

// derivedMember is the path of one value that a rule of the collection gives, where there is one.
func (m *omodel) derivedMember(t *rapid.T, collection string) string {
	paths := []string{"n"}
	for _, r := range m.rules {
		if r.collection == collection && r.kind != "ids" && !strings.Contains(r.path, "[]") {
			paths = append(paths, r.path, r.path)
		}
	}
	return draw(t, paths...)
}

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
	switch draw(t, "member", "member", "member", "concat", "nested", "pair", "price") {
	case "concat":
		return oexpr{"concat", []string{"a", "b"}}
	case "price":
		return oexpr{"price", []string{"n"}}
	case "nested":
		return oexpr{"nested", []string{draw(t, "stats", "up"), draw(t, "count", "x", "label", "pub", "id")}}
	case "pair":
		return oexpr{"pair", []string{draw(t, names...), draw(t, names...)}}
	}
	return oexpr{"member", []string{draw(t, names...)}}
}

// breakCycles makes rules that depend on themselves read a plain member.
func (m *omodel) breakCycles() {
	for _, r := range m.rules {
		if m.reaches(r, r, map[*orule]bool{}) {
			r.expr, r.shown, r.where = oexpr{"member", []string{"name"}}, []string{"name"}, ""
			if r.of != "" {
				r.of = map[bool]string{true: "authors[].n", false: "n"}[r.rel == nil]
			}
			if r.orderBy != "" {
				r.orderBy = "name"
			}
		}
	}
	m.mendDerivedIDs()
}

// dependencies are the rules that a rule may read.
func (m *omodel) dependencies(r *orule) []*orule {
	var collection string
	var reads []string
	switch r.kind {
	case "copy":
		collection, reads = r.rel.to, r.expr.reads()
	case "value", "each":
		collection, reads = r.collection, r.expr.reads()
	case "ids":
		reads = nil
	default:
		if collection = r.collection; r.rel != nil {
			collection = r.rel.collection
		}
		reads = append([]string{r.of, r.orderBy, r.conditionReads()}, r.shown...)
	}
	out := m.sources(r.rel)
	for _, o := range m.rules {
		if o.collection == collection && slices.ContainsFunc(o.fields(), func(f string) bool {
			return slices.ContainsFunc(reads, func(path string) bool {
				return path != "" && overlap(steps(f), steps(path)) && (r.rel != nil || !strings.HasSuffix(path, "[]") || len(steps(f)) < len(steps(path)))
			})
		}) {
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

// publishes tells whether the rules say publish: true. Without access, everybody reads everything that is copied.
func (m *omodel) publishes() bool { return len(m.access) > 0 }

// String is the model as the store reads it.
func (m *omodel) String() string {
	var parts []string
	for _, c := range m.collections() {
		var rels, rules []string
		var pages string
		for _, r := range m.rels {
			if r.collection == c {
				rels = append(rels, r.json())
			}
		}
		for _, r := range m.rules {
			if r.collection == c {
				rule := r.json()
				if m.publishes() {
					rule = strings.TrimSuffix(rule, "}") + `,"publish":true}`
				}
				rules = append(rules, jsonvalue.Quote(r.path)+":"+rule)
			}
		}
		for _, r := range m.rels {
			if r.collection == c && r.pages > 0 {
				pages = fmt.Sprintf(`,"pages":{"by":"%s","size":%d}`, r.name, r.pages)
			}
		}
		access := ""
		if m.access[c] != "" {
			access = `,"access":` + m.access[c]
		}
		release := ""
		if paths := m.release[c]; len(paths) > 0 {
			release = `,"release":["` + strings.Join(paths, `","`) + `"]`
		}
		parts = append(parts, fmt.Sprintf(`"%s":{"relations":{%s},"derive":{%s}%s%s%s%s%s}`, c, strings.Join(rels, ","), strings.Join(rules, ","), pages, access, release, m.indexesOf(c), m.defaultsOf(c)))
	}
	limit := ""
	if m.limit > 0 {
		limit = fmt.Sprintf(`,"embedded":{"limit":%d}`, m.limit)
	}
	return `{"collections":{` + strings.Join(parts, ",") + "}" + limit + "}"
}

func (r *orel) json() string {
	policy := ""
	if r.onDelete != "" {
		policy = `,"onDelete":` + jsonvalue.Quote(r.onDelete)
	}
	return fmt.Sprintf(`"%s":{"path":"%s","to":"%s"%s}`, r.name, r.path, r.to, policy)
}

func (r *orule) json() string {
	if r.kind == "value" {
		return fmt.Sprintf(`{"value":%s,"takeOver":true}`, jsonvalue.Quote(r.expr.String()))
	}
	if r.kind == "each" {
		return fmt.Sprintf(`{"value":%s,"takeOver":true}`, jsonvalue.Quote(r.expr.String()))
	}
	if r.rel == nil {
		where := ""
		if r.where != "" {
			where = `,"where":` + jsonvalue.Quote(r.where)
		}
		return fmt.Sprintf(`{"%s":"%s"%s,"takeOver":true}`, r.kind, r.of, where)
	}
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
		add("value", jsonvalue.Quote(r.expr.String()))
		if r.frozen {
			add("frozen", "true")
		}
	case "ids":
		add("limit", strconv.Itoa(r.limit))
	case "recent":
		add("max", strconv.Itoa(r.limit))
		add("fields", `["`+strings.Join(r.shown, `","`)+`"]`)
		add("orderBy", jsonvalue.Quote(r.orderBy))
	}
	add("of", jsonvalue.Quote(r.of))
	add("where", jsonvalue.Quote(r.where))
	return fmt.Sprintf(`{"%s":"%s"%s,"takeOver":true}`, r.kind, relation, options)
}
