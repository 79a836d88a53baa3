package schema

import (
	"slices"

	"github.com/fanfold/fanfold/internal/jsondoc"
	"github.com/fanfold/fanfold/internal/regex"
)

// RefusesIDs reports whether a schema closes the set of members and leaves out id, which every document has: it refuses them all.
func RefusesIDs(source []byte) bool {
	t := jsondoc.MustParse(source)
	if t.Kind(jsondoc.Root) != jsondoc.Object || !slices.ContainsFunc([]string{"additionalProperties", "unevaluatedProperties"}, func(name string) bool {
		n := t.Member(jsondoc.Root, name)
		return n != jsondoc.None && t.Kind(n) == jsondoc.False
	}) {
		return false
	}
	if t.Member(t.Member(jsondoc.Root, "properties"), "id") != jsondoc.None {
		return false
	}
	patterns := t.Member(jsondoc.Root, "patternProperties")
	for n := t.First(patterns); n != jsondoc.None; n = t.Next(n) {
		if re, err := regex.Compile(t.Key(n)); err != nil || re.MatchString("id") {
			return false
		}
	}
	elsewhere := []string{"allOf", "anyOf", "oneOf", "$ref", "if", "dependentSchemas", "$dynamicRef"} // which unevaluatedProperties looks into
	return t.Kind(t.Member(jsondoc.Root, "additionalProperties")) == jsondoc.False ||
		!slices.ContainsFunc(elsewhere, func(name string) bool { return t.Member(jsondoc.Root, name) != jsondoc.None })
}
