package schema

import (
	"fmt"
	"slices"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// Bounds of a new schema's definitions.
const (
	maxDepth    = 64     // definitions that lead to each other at one place of a document
	maxPerValue = 10_000 // definitions that are applied to one value of a document, one as often as it is led to
)

// inPlace returns the definitions that a definition applies to the same value. Which one a $dynamicRef leads to is known
// at a document only: any may be it that has its anchor, of those that dynamic has.
func inPlace(s *jsonschema.Schema, dynamic map[string][]*jsonschema.Schema) []*jsonschema.Schema {
	all := slices.Concat(s.AllOf, s.AnyOf, s.OneOf)
	for _, one := range []*jsonschema.Schema{s.Ref, s.RecursiveRef, s.Not, s.If, s.Then, s.Else} {
		if one != nil {
			all = append(all, one)
		}
	}
	for _, one := range s.DependentSchemas {
		all = append(all, one)
	}
	for _, dependency := range s.Dependencies {
		if one, ok := dependency.(*jsonschema.Schema); ok {
			all = append(all, one)
		}
	}
	if s.DynamicRef != nil {
		all = append(all, s.DynamicRef.Ref)
		if s.DynamicRef.Anchor != "" {
			all = append(all, dynamic[s.DynamicRef.Anchor]...)
		}
	}
	return all
}

// inside returns the definitions that a definition applies to members, elements and names of the value.
func inside(s *jsonschema.Schema) []*jsonschema.Schema {
	all := slices.Clone(s.PrefixItems)
	for _, one := range []*jsonschema.Schema{s.PropertyNames, s.UnevaluatedProperties, s.Contains, s.Items2020, s.UnevaluatedItems} {
		if one != nil {
			all = append(all, one)
		}
	}
	for _, one := range s.Properties {
		all = append(all, one)
	}
	for _, one := range s.PatternProperties {
		all = append(all, one)
	}
	for _, either := range []any{s.AdditionalProperties, s.AdditionalItems, s.Items} {
		switch one := either.(type) {
		case *jsonschema.Schema:
			all = append(all, one)
		case []*jsonschema.Schema:
			all = append(all, one...)
		}
	}
	return all
}

// graph has the definitions of a schema that can come to be applied.
type graph struct {
	all     []*jsonschema.Schema
	dynamic map[string][]*jsonschema.Schema // by their dynamic anchor
	paths   map[*jsonschema.Schema]int      // definitions that are applied with it, itself included; 0 while it is visited
}

// newGraph returns the graph of a compiled schema.
func newGraph(root *jsonschema.Schema) *graph {
	g := &graph{dynamic: map[string][]*jsonschema.Schema{}, paths: map[*jsonschema.Schema]int{}}
	seen := map[*jsonschema.Schema]bool{root: true}
	g.all = append(g.all, root)
	for i := 0; i < len(g.all); i++ {
		s := g.all[i]
		if s.DynamicAnchor != "" {
			g.dynamic[s.DynamicAnchor] = append(g.dynamic[s.DynamicAnchor], s)
		}
		for _, next := range slices.Concat(inPlace(s, nil), inside(s)) {
			if !seen[next] {
				seen[next] = true
				g.all = append(g.all, next)
			}
		}
	}
	return g
}

// check returns an error where a definition leads to itself at one place of a document, or applies too many to it.
func (g *graph) check() error {
	for _, s := range g.all {
		if s.DraftVersion != 2020 {
			return fmt.Errorf("at %q a $schema is named that is not read: only %s is", place(s), draft)
		}
		if _, err := g.count(s, 0); err != nil {
			return err
		}
	}
	return nil
}

// count returns how many definitions are applied to a value to which s is applied.
func (g *graph) count(s *jsonschema.Schema, depth int) (n int, err error) {
	n, known := g.paths[s]
	switch {
	case known && n == 0:
		return 0, fmt.Errorf("not a JSON Schema: it refers to itself without end, at %q", place(s))
	case known:
		return n, nil
	case depth > maxDepth:
		return 0, fmt.Errorf("at %q definitions lead to each other more than %d deep", place(s), maxDepth)
	}
	g.paths[s] = 0
	n = 1
	for _, next := range inPlace(s, g.dynamic) {
		more, err := g.count(next, depth+1)
		if err != nil {
			return 0, err
		}
		if n += more; n > maxPerValue {
			return 0, fmt.Errorf("at %q more than %d definitions are applied to each value, one as often as it is referred to: refer less", place(s), maxPerValue)
		}
	}
	g.paths[s] = n
	return n, nil
}
