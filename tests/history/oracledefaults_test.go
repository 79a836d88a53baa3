package history_test

import (
	"slices"
	"strings"

	"pgregory.net/rapid"

	"github.com/fanfold/fanfold/tests/jsonvalue"
)

// odefault is what a new document has at a path where its writer says nothing.
type odefault struct{ collection, path, value string }

// defaultPaths lead to members that no rule gives.
var defaultPaths = []string{"name", "n", "flag", "extra", "extra.deep", "extra.deep.most", "name.inside"}

// addDefault declares a default, or takes one away.
func (m *omodel) addDefault(t *rapid.T) {
	d := odefault{draw(t, m.collections()...), draw(t, defaultPaths...), draw(t, "1", "2.50", `"new"`, "[]", "{}", "null", "true")}
	m.defaults = slices.DeleteFunc(slices.Clone(m.defaults), func(o odefault) bool { return o.collection == d.collection && o.path == d.path })
	if chance(t, 75) {
		m.defaults = append(m.defaults, d)
	}
}

// defaultsOf is what the model says of a collection's defaults.
func (m *omodel) defaultsOf(collection string) string {
	var all []string
	for _, d := range m.defaults {
		if d.collection == collection {
			all = append(all, jsonvalue.Quote(d.path)+":"+d.value)
		}
	}
	if len(all) == 0 {
		return ""
	}
	return `,"defaults":{` + strings.Join(all, ",") + "}"
}

// fill puts the default into a new document, and tells whether it did: nothing stands at its path, and nothing but objects around that.
func (d odefault) fill(body *jsonvalue.Value) bool {
	path := strings.Split(d.path, ".")
	for n, name := range path {
		if body.Kind != '{' {
			return false
		}
		if body.Get(name) == nil {
			value := d.value
			for _, inner := range slices.Backward(path[n+1:]) {
				value = "{" + jsonvalue.Quote(inner) + ":" + value + "}"
			}
			body.Items = append(body.Items, jsonvalue.Member{Key: name, Raw: jsonvalue.Quote(name), Val: jsonvalue.Parse(value)})
			return true
		}
		body = body.Get(name)
	}
	return false
}
