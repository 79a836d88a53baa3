package history_test

import (
	"slices"
	"strings"

	"pgregory.net/rapid"

	"github.com/fanfold/fanfold/tests/jsonvalue"
)

// Documents.

// idValue is the text of a member that mostly holds an id.
func idValue(t *rapid.T) string {
	switch n := upTo(t, 19); {
	case n < 6:
		return draw(t, "1", "2")
	case n < 17:
		return jsonvalue.Quote(draw(t, ids...))
	case n == 17:
		return draw(t, `"\u0078"`, `"\u0031"`)
	default:
		return draw(t, `""`, "null", "true", "{}", `["1"]`, "1.0", jsonvalue.Quote(strings.Repeat("i", 256)), `"gone"`)
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
		return draw(t, `"Ann"`, `"Ann  "`, `"Bob"`, `"C\u0041"`, "2.50", "null", `{"x":1,"id":"1"}`, `[ 1 , 2 ]`, `"a  b"`)
	case "n":
		return draw(t, "2.50", "1e3", "-0", "12345678901234567890", "7", `"7"`)
	case "a", "b":
		if chance(t, 8) { // grows a view, and those that copy it, to where a model's limit may be
			return jsonvalue.Quote(strings.Repeat("long ", 1+upTo(t, 30)))
		}
		return draw(t, `"p"`, `"p "`, `"q"`, `"r s"`, `"\u0041"`, "1", "null")
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
			return draw(t, `{"items":`, `{"t":1,"items":`) + list(t, 2, func() string { return draw(t, `{"ref":`, `{"n":0.10,"ref":`) + idValue(t) + "}" }) + "}"
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
		return draw(t, `"1"`, "null", "[]", "{}", `{"role":"x","n":2.50}`, `{"id":"1","more":{}}`, `{"id":"1","more":"text","n":"7"}`, "7")
	case 1:
		return `{"role":"ed","id":` + idValue(t) + `,"name":"stale"}`
	case 2, 3:
		return `{"id":` + idValue(t) + `,"role":"` + draw(t, "ed", "x") + `","n":` + memberValue(t, "n") + "}"
	default:
		return `{"id":` + idValue(t) + "}"
	}
}

// memberNames are the members of documents; the last are at derived paths of some models.
var memberNames = []string{"name", "n", "a", "b", "flag", "pub-id", "tags", "authors", "sections", "grid", "up", "stats", "pubName", "count", "z-list", "own"}

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
	for _, r := range m.rules {
		if (r.kind == "value" || r.kind == "each") && r.collection == key.collection || r.kind == "copy" && r.rel.to == key.collection {
			for _, path := range slices.Concat(r.expr.reads(), []string{r.path}) {
				name := steps(path)[0]
				if slices.Contains(memberNames, name) && chance(t, 60) {
					names = append(names, name)
				}
			}
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
			members = append(members, jsonvalue.Quote(name)+":"+memberValue(t, name))
		}
	}
	turn := upTo(t, len(members))
	members = append(members[turn:], members[:turn]...)
	id := jsonvalue.Quote("id") + ":" + jsonvalue.Quote(key.id)
	if key.id == "1" || key.id == "2" {
		id = jsonvalue.Quote("id") + ":" + draw(t, jsonvalue.Quote(key.id), key.id)
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
		members = append(members, jsonvalue.Quote(name)+":"+value)
	}
	return "{" + strings.Join(members, ",") + "}"
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
