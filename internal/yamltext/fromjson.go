package yamltext

import (
	"strings"

	"go.yaml.in/yaml/v4"

	"github.com/fanfold/fanfold/internal/jsondoc"
)

// FromJSON returns JSON as YAML, members in the same order. The error says that the source is not JSON.
func FromJSON(source []byte) ([]byte, error) {
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

// yamlText returns the YAML of text. It escapes what YAML takes for the end of a line, and quotes what YAML takes for no text.
func yamlText(s string) *yaml.Node {
	n := &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: s}
	if k, _ := plain(s); k != text || strings.ContainsAny(s, "\u0085\u2028\u2029") {
		n.Style = yaml.DoubleQuotedStyle
	}
	return n
}
