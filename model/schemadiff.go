package model

import (
	"slices"

	"github.com/fanfold/fanfold/internal/jsondoc"
)

// annotations are the keywords of a JSON Schema that refuse no document.
var annotations = []string{"title", "description", "$comment", "examples", "default", "deprecated", "readOnly", "writeOnly", "$id", "$schema"}

// namedSchemas are the keywords whose members have names of the schema's author, and are no keywords.
var namedSchemas = []string{"properties", "patternProperties", "dependentSchemas", "dependentRequired", "$defs", "definitions"}

// schemaLoses tells whether a schema lacks a constraint that the one before it had, so that it may take documents which that
// one refused. It is a keyword, a keyword's rule for a member, or a required member. A keyword with another value may be
// stricter as well, and is not among them. Either may be nil for none.
func schemaLoses(before, after []byte) bool {
	switch {
	case before == nil:
		return false
	case takesAll(after):
		return !takesAll(before)
	}
	b, a := jsondoc.MustParse(before), jsondoc.MustParse(after)
	return (&schemaDiff{b, a}).loses(jsondoc.Root, jsondoc.Root, true)
}

// schemaDiff compares two schemas.
type schemaDiff struct{ before, after *jsondoc.Tree }

// loses compares two nodes. keywords tells whether the members of an object are keywords.
func (d *schemaDiff) loses(b, a jsondoc.Node, keywords bool) bool {
	if d.before.Kind(b) == jsondoc.False { // a schema that takes nothing, such as of additional members
		return d.after.Kind(a) != jsondoc.False
	}
	if d.before.Kind(b) != jsondoc.Object {
		return false
	}
	switch d.after.Kind(a) {
	case jsondoc.True: // takes everything
		return d.before.First(b) != jsondoc.None
	case jsondoc.Object:
	default:
		return false
	}
	for m := d.before.First(b); m != jsondoc.None; m = d.before.Next(m) {
		name := d.before.Key(m)
		if keywords && slices.Contains(annotations, name) {
			continue
		}
		n := d.after.Member(a, name)
		if keywords && name == "uniqueItems" { // whose false takes everything
			if d.before.Kind(m) == jsondoc.True && (n == jsondoc.None || d.after.Kind(n) != jsondoc.True) {
				return true
			}
			continue
		}
		switch {
		case n == jsondoc.None, keywords && name == "required" && d.losesElement(m, n), d.loses(m, n, !keywords || !slices.Contains(namedSchemas, name)):
			return true
		}
	}
	return false
}

// losesElement tells whether the array at b has a text that the one at a lacks.
func (d *schemaDiff) losesElement(b, a jsondoc.Node) bool {
	var names []string
	if d.after.Kind(a) == jsondoc.Array {
		for n := d.after.First(a); n != jsondoc.None; n = d.after.Next(n) {
			names = append(names, d.after.Text(n))
		}
	}
	if d.before.Kind(b) != jsondoc.Array {
		return false
	}
	for n := d.before.First(b); n != jsondoc.None; n = d.before.Next(n) {
		if !slices.Contains(names, d.before.Text(n)) {
			return true
		}
	}
	return false
}

// takesAll tells whether a schema, nil for none, takes every document.
func takesAll(schema []byte) bool {
	return schema == nil || slices.Contains([]string{"{}", "true"}, string(schema))
}
