package history_test

import (
	"slices"
	"strings"

	"pgregory.net/rapid"
)

// Relations over ids that rules give.

// addDerivedIDs adds a rule that gives ids, a relation that reads them, and rules on that.
func (m *omodel) addDerivedIDs(t *rapid.T) {
	m.addRelation(t)
	source := &orule{collection: draw(t, m.collections()...), kind: draw(t, "copy", "copy", "copy", "value", "ids")}
	by := slices.DeleteFunc(slices.Clone(m.rels), func(rel *orel) bool {
		return source.kind == "ids" && rel.to != source.collection || source.kind == "copy" && rel.collection != source.collection
	})
	if len(by) > 0 && source.kind != "value" {
		source.rel = draw(t, by...)
	} else {
		source.kind = "value"
	}
	source.expr = draw(t, oexpr{"member", []string{"id"}}, oexpr{"nested", []string{"up", "id"}}, oexpr{"member", []string{"tags"}}, oexpr{"member", []string{"up"}})
	var paths []string
	for _, p := range derivedPaths {
		field := strings.TrimSuffix(strings.TrimSuffix(p.path, "[]"), ".id")
		if source.kind == "copy" && sharedFields(field, source.rel.path) || source.kind == "value" && field == "own" || source.kind == "ids" && field == "z-list" {
			paths = append(paths, p.path)
		}
	}
	if len(paths) == 0 {
		return
	}
	path := draw(t, paths...)
	source.path = strings.TrimSuffix(strings.TrimSuffix(path, "[]"), ".id")
	if m.rule(source.name()) == nil {
		m.rules = append(m.rules, source)
	}
	m.addRelationAt(t, source.collection, path)
	for range 1 + upTo(t, 2) {
		m.addRuleOn(t, m.rels[len(m.rels)-1])
	}
}

// mendDerivedIDs takes out what is refused of relations over derived ids, and rules whose own ids depend on them.
func (m *omodel) mendDerivedIDs() {
	for {
		i := slices.IndexFunc(m.rules, func(r *orule) bool { return m.reaches(r, r, map[*orule]bool{}) })
		if i < 0 {
			break
		}
		m.rules = slices.Delete(m.rules, i, i+1)
	}
	for _, rel := range m.rels {
		if rel.onDelete == "unlink" && m.derivesIDs(rel) {
			rel.onDelete = ""
		}
	}
	for _, r := range m.rules {
		r.frozen = r.frozen && !m.derivesIDs(r.rel)
	}
}
