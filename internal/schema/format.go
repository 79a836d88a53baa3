package schema

import (
	"fmt"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/fanfold/fanfold/internal/jsondoc"
)

// Formats lists the formats that are asserted: the formats of JSON Schema 2020-12 (validation, 7.3) that the library knows,
// but for regex, whose language is another one here.
var Formats = []string{"date", "date-time", "duration", "email", "hostname", "ipv4", "ipv6", "iri", "iri-reference", "json-pointer",
	"relative-json-pointer", "time", "uri", "uri-reference", "uri-template", "uuid"}

// metaSchemas begins the locations of the schemas of schemas, which the library brings.
const metaSchemas = "https://json-schema.org/draft/2020-12/"

// formatPerStep is how many bytes of text a format reads in a step.
const formatPerStep = 16

// unasserted returns formats for the names of formats in a schema that are not asserted, so that the compiled schema says
// where they are. Some may be no formats there, but members of documents.
func unasserted(source []byte) []*jsonschema.Format {
	var out []*jsonschema.Format
	t := jsondoc.MustParse(source)
	var visit func(n jsondoc.Node)
	visit = func(n jsondoc.Node) {
		for c := t.First(n); c != jsondoc.None; c = t.Next(c) {
			if t.Kind(n) == jsondoc.Object && t.KeyIs(c, "format") && t.Kind(c) == jsondoc.String && !slices.Contains(Formats, t.Text(c)) {
				out = append(out, &jsonschema.Format{Name: t.Text(c), Validate: func(any) error { return nil }})
			}
			visit(c)
		}
	}
	visit(jsondoc.Root)
	return out
}

// checkFormats returns an error for the first format that is not asserted: a schema that has it would accept what its
// author means to refuse.
func (g *graph) checkFormats() error {
	for _, s := range g.all {
		if strings.HasPrefix(s.Location, metaSchemas) { // its formats are JSON Schema's own
			continue
		}
		if s.Format != nil && !slices.Contains(Formats, s.Format.Name) {
			return fmt.Errorf("at %q the format %q is not known here: those that are checked are %s; a pattern does for others", place(s), clip(s.Format.Name), strings.Join(Formats, ", "))
		}
	}
	return nil
}
