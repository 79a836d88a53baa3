package yamltext

import (
	"regexp"

	"go.yaml.in/yaml/v4"

	"github.com/fanfold/fanfold/internal/jsondoc"
)

// kind is what a scalar without quotes is.
type kind int

const (
	text     kind = iota
	literal       // null, true or false
	number        // one that all readers of YAML take for the same one
	disputed      // a number of YAML 1.1 or 1.2 that another reader takes for another one, or for text
	notJSON       // a number that JSON does not have
)

// literals are the scalars that are no text and no number, as JSON has them.
var literals = map[string]string{"": "null", "~": "null", "null": "null", "Null": "null", "NULL": "null",
	"true": "true", "True": "true", "TRUE": "true", "false": "false", "False": "false", "FALSE": "false"}

var (
	// numberRE has the minus, the whole digits, the fraction and the exponent as parts.
	numberRE   = regexp.MustCompile(`^(?:\+|(-))?(0|[1-9][0-9]*|)(?:\.([0-9]*))?([eE][-+]?[0-9]+)?$`)
	disputedRE = regexp.MustCompile(`^[-+]?(?:0[xX][0-9a-fA-F_]+|0[oO][0-7_]+|0[bB][01_]+|\.?[0-9][0-9_]*(?:\.[0-9_]*)?(?:[eE][-+]?[0-9_]+)?)$`)
	notJSONRE  = regexp.MustCompile(`^(?:[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN))$`)
)

// plain returns what a scalar without quotes is by YAML 1.2's core schema (10.3.2), whatever the library takes it for. asJSON is its text in
// JSON if it is a literal or a number. A number keeps its digits.
func plain(value string) (k kind, asJSON string) {
	if l, ok := literals[value]; ok {
		return literal, l
	}
	if m := numberRE.FindStringSubmatch(value); m != nil && (m[2] != "" || m[3] != "") {
		asJSON = m[1] + m[2]
		if m[2] == "" {
			asJSON += "0"
		}
		if m[3] != "" {
			asJSON += "." + m[3]
		}
		return number, asJSON + m[4]
	}
	switch {
	case disputedRE.MatchString(value):
		return disputed, ""
	case notJSONRE.MatchString(value):
		return notJSON, ""
	}
	return text, ""
}

// scalar writes a scalar.
func (c *converter) scalar(n *yaml.Node) error {
	const quoted = yaml.SingleQuotedStyle | yaml.DoubleQuotedStyle | yaml.LiteralStyle | yaml.FoldedStyle
	if n.Style&quoted != 0 {
		c.out = jsondoc.AppendQuote(c.out, n.Value)
		return nil
	}
	switch k, asJSON := plain(n.Value); k {
	case literal, number:
		c.out = append(c.out, asJSON...)
	case disputed:
		return errorAt(n, "%.80s is not the same number to all readers of YAML: write decimal digits alone, or quotes around it for text", n.Value)
	case notJSON:
		return errorAt(n, "%s is no number that JSON has", n.Value)
	default:
		c.out = jsondoc.AppendQuote(c.out, n.Value)
	}
	return nil
}
