// Package yamltext reads YAML as the JSON that it means, and says where its mistakes and members stand.
package yamltext

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"

	"go.yaml.in/yaml/v4"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/internal/jsondoc"
)

// Bounds of a text. A text that passes them is refused before it is decoded, or while its aliases are followed. So it
// takes no more memory than some hundred times its own size. Callers bound its bytes.
const (
	maxValues  = 50_000  // mappings, lists and scalars, those that aliases repeat included
	maxOutput  = 2 << 20 // of the JSON, in bytes
	maxAliases = 1000    // how often an alias stands for what its anchor names
	maxDepth   = fanfold.DefaultMaxDepth
)

// ToJSON returns the one YAML document of a text as JSON, null for none. It refuses several documents, tags, merge keys, aliases inside
// what they stand for, and numbers that readers of YAML take for different ones. A member whose value is text or a name stays as it stands.
// The error is an *Error.
func ToJSON(src []byte) ([]byte, error) {
	doc, err := load(src)
	if err != nil || doc == nil {
		return []byte("null"), err
	}
	c := &converter{}
	if err := c.value(doc, 0); err != nil {
		return nil, err
	}
	return c.out, nil
}

// load returns the one document of a text, nil for none. The error is an *Error.
func load(src []byte) (*yaml.Node, error) {
	if n := countValues(src); n > maxValues {
		return nil, &Error{Line: 1, Column: 1, Reason: fmt.Sprintf("it has about %d values; at most %d are taken", n, maxValues)}
	}
	if err := unreadable(src); err != nil {
		return nil, err
	}
	in, err := yaml.NewLoader(bytes.NewReader(src))
	if err != nil {
		return nil, libraryError(src, err)
	}
	var doc, more yaml.Node
	switch err := in.Load(&doc); {
	case errors.Is(err, io.EOF):
		return nil, nil
	case err != nil:
		return nil, libraryError(src, err)
	}
	switch err := in.Load(&more); {
	case err == nil:
		return nil, errorAt(&more, "a second document begins; one is read")
	case !errors.Is(err, io.EOF):
		return nil, libraryError(src, err)
	}
	return doc.Content[0], nil
}

// countValues returns about how many values a YAML text can have at most: each is announced by a sign of its own, or
// begins a line.
func countValues(src []byte) (n int) {
	for _, b := range src {
		switch b {
		case ',', ':', '-', '?', '[', '{', '\n', '*':
			n++
		}
	}
	return n
}

// converter writes a YAML node as JSON.
type converter struct {
	out     []byte
	values  int
	aliases int
	inside  []*yaml.Node // anchors whose values are being written
}

func (c *converter) value(n *yaml.Node, depth int) error {
	c.values++
	switch {
	case c.values > maxValues || len(c.out) > maxOutput:
		return errorAt(n, "with what its aliases repeat it is too large: at most %d values and %d bytes are taken", maxValues, maxOutput)
	case depth > maxDepth:
		return errorAt(n, "it nests more than %d levels deep", maxDepth)
	case n.Style&yaml.TaggedStyle != 0:
		return errorAt(n, "the tag %s is not read here", n.Tag)
	}
	switch n.Kind {
	case yaml.AliasNode:
		return c.alias(n, depth)
	case yaml.MappingNode:
		return c.mapping(n, depth)
	case yaml.SequenceNode:
		return c.sequence(n, depth)
	}
	return c.scalar(n)
}

// alias writes what an alias stands for.
func (c *converter) alias(n *yaml.Node, depth int) error {
	if c.aliases++; c.aliases > maxAliases {
		return errorAt(n, "it has more than %d aliases", maxAliases)
	}
	if slices.Contains(c.inside, n.Alias) {
		return errorAt(n, "the alias *%s stands inside what it stands for", n.Value)
	}
	c.inside = append(c.inside, n.Alias)
	defer func() { c.inside = c.inside[:len(c.inside)-1] }()
	return c.value(n.Alias, depth)
}

func (c *converter) mapping(n *yaml.Node, depth int) error {
	c.open(n)
	defer c.closeAnchor(n)
	c.out = append(c.out, '{')
	names := make(map[string]bool, len(n.Content)/2)
	for i := 0; i+1 < len(n.Content); i += 2 {
		if i > 0 {
			c.out = append(c.out, ',')
		}
		key := n.Content[i]
		if key.Kind == yaml.AliasNode {
			key = key.Alias
		}
		switch {
		case key.Kind != yaml.ScalarNode || key.Style&yaml.TaggedStyle != 0:
			return errorAt(n.Content[i], "a member's name must be text")
		case key.ShortTag() == "!!merge":
			return errorAt(n.Content[i], "the merge key << is not read here: write the members out")
		case names[key.Value]:
			return errorAt(n.Content[i], "the member %q is there already", key.Value)
		}
		names[key.Value] = true
		c.out = append(jsondoc.AppendQuote(c.out, key.Value), ':')
		if err := c.value(n.Content[i+1], depth+1); err != nil {
			return err
		}
	}
	c.out = append(c.out, '}')
	return nil
}

func (c *converter) sequence(n *yaml.Node, depth int) error {
	c.open(n)
	defer c.closeAnchor(n)
	c.out = append(c.out, '[')
	for i, item := range n.Content {
		if i > 0 {
			c.out = append(c.out, ',')
		}
		if err := c.value(item, depth+1); err != nil {
			return err
		}
	}
	c.out = append(c.out, ']')
	return nil
}

// open notes that the value of an anchor is being written, so that an alias of it inside is found.
func (c *converter) open(n *yaml.Node) {
	if n.Anchor != "" {
		c.inside = append(c.inside, n)
	}
}

func (c *converter) closeAnchor(n *yaml.Node) {
	if n.Anchor != "" {
		c.inside = c.inside[:len(c.inside)-1]
	}
}
