package modelfile

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/internal/jsondoc"
)

// Bounds of a model's text. What passes them is refused before it is decoded, or while its aliases are followed, so that
// a model takes no more memory than some hundred times its own size.
const (
	MaxBytes   = 1 << 20      // of the text, in bytes
	maxValues  = 50_000       // mappings, lists and scalars, those that aliases repeat included
	maxOutput  = 2 * MaxBytes // of the model as JSON, in bytes
	maxAliases = 1000         // how often an alias stands for what its anchor names
	maxDepth   = fanfold.DefaultMaxDepth
)

// toJSON turns the one YAML document of a text into JSON, and refuses what a model has no use for: several documents,
// tags, merge keys, aliases inside what they stand for. The error says what is wrong and in which line.
func toJSON(src []byte) ([]byte, error) {
	if n := countValues(src); n > maxValues {
		return nil, fmt.Errorf("it has about %d values; at most %d are taken", n, maxValues)
	}
	dec := yaml.NewDecoder(bytes.NewReader(src))
	var doc, more yaml.Node
	if err := dec.Decode(&doc); errors.Is(err, io.EOF) {
		return []byte("null"), nil
	} else if err != nil {
		return nil, yamlError(src, err)
	}
	switch err := dec.Decode(&more); {
	case err == nil:
		return nil, errorAt(&more, "a second document begins; a model is one")
	case !errors.Is(err, io.EOF):
		return nil, yamlError(src, err)
	}
	c := &converter{}
	if err := c.value(&doc, 0); err != nil {
		return nil, err
	}
	return c.out, nil
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
		return errorAt(n, "with what its aliases repeat the model is too large: at most %d values and %d bytes are taken", maxValues, maxOutput)
	case depth > maxDepth:
		return errorAt(n, "it nests more than %d levels deep", maxDepth)
	case n.Style&yaml.TaggedStyle != 0:
		return errorAt(n, "the tag %s is not read here", n.Tag)
	}
	switch n.Kind {
	case yaml.DocumentNode:
		return c.value(n.Content[0], depth)
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

// scalar writes a scalar by its kind (YAML 1.2 core schema, 10.3.2, and what the library adds of 1.1).
func (c *converter) scalar(n *yaml.Node) error {
	switch n.ShortTag() {
	case "!!null":
		c.out = append(c.out, "null"...)
	case "!!bool":
		var b bool
		if err := n.Decode(&b); err != nil {
			return errorAt(n, "%s is neither true nor false", n.Value)
		}
		c.out = strconv.AppendBool(c.out, b)
	case "!!int", "!!float":
		return c.number(n)
	default:
		const quoted = yaml.SingleQuotedStyle | yaml.DoubleQuotedStyle | yaml.LiteralStyle | yaml.FoldedStyle
		if n.Style&quoted == 0 && strings.ContainsAny(n.Value[:min(1, len(n.Value))], "-0123456789") && jsondoc.Check([]byte(n.Value), 1) == nil {
			return c.number(n) // one that the library takes for text, because no float64 holds it
		}
		c.out = jsondoc.AppendQuote(c.out, n.Value)
	}
	return nil
}

// number writes a number as it stands where JSON reads it too, and otherwise what it means.
func (c *converter) number(n *yaml.Node) error {
	if jsondoc.Check([]byte(n.Value), 1) == nil {
		c.out = append(c.out, n.Value...)
		return nil
	}
	if n.ShortTag() == "!!int" {
		var i int64
		if err := n.Decode(&i); err != nil {
			return errorAt(n, "the number %s is beyond 64 bits", n.Value)
		}
		c.out = strconv.AppendInt(c.out, i, 10)
		return nil
	}
	var f float64
	if err := n.Decode(&f); err != nil || f-f != 0 { // infinite, or none
		return errorAt(n, "%s is no number that JSON has", n.Value)
	}
	c.out = strconv.AppendFloat(c.out, f, 'g', -1, 64)
	return nil
}

// ToYAML returns a model's JSON as YAML, members in the same order. The error says that the source is not JSON.
func ToYAML(source []byte) ([]byte, error) {
	if err := jsondoc.Check(source, maxDepth); err != nil {
		return nil, err
	}
	return yaml.Marshal(yamlNode(jsondoc.MustParse(source), jsondoc.Root))
}

// yamlNode returns the YAML of a JSON value: in lines rather than in brackets, and text without quotes where it needs none.
func yamlNode(t *jsondoc.Tree, n jsondoc.Node) *yaml.Node {
	switch t.Kind(n) {
	case jsondoc.Object, jsondoc.Array:
		out := &yaml.Node{Kind: yaml.SequenceNode}
		if t.Kind(n) == jsondoc.Object {
			out.Kind = yaml.MappingNode
		}
		for c := t.First(n); c != jsondoc.None; c = t.Next(c) {
			if out.Kind == yaml.MappingNode {
				out.Content = append(out.Content, yamlText(t.Key(c)))
			}
			out.Content = append(out.Content, yamlNode(t, c))
		}
		return out
	case jsondoc.String:
		return yamlText(t.Text(n))
	}
	return &yaml.Node{Kind: yaml.ScalarNode, Value: string(t.Raw(n))}
}

// yamlText returns the YAML of text. What YAML takes for the end of a line is escaped.
func yamlText(s string) *yaml.Node {
	n := &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: s}
	if strings.ContainsAny(s, "\u0085\u2028\u2029") {
		n.Style = yaml.DoubleQuotedStyle
	}
	return n
}
