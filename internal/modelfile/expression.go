package modelfile

import "fmt"

// Bounds of an expression. Checking its types costs more than its depth cubed.
const (
	maxExpression      = 8 << 10 // bytes
	maxExpressionDepth = 32      // brackets inside each other
)

// expressionBounds says what bound an expression passes, "" for none. Brackets in text do not count.
func expressionBounds(s string) string {
	if len(s) > maxExpression {
		return fmt.Sprintf("the expression has %d bytes; at most %d are taken", len(s), maxExpression)
	}
	depth, quote := 0, byte(0)
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case quote != 0 && c == '\\':
			i++
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case c == '"' || c == '\'':
			quote = c
		case c == '(' || c == '[' || c == '{':
			if depth++; depth > maxExpressionDepth {
				return fmt.Sprintf("the expression has brackets more than %d deep", maxExpressionDepth)
			}
		case c == ')' || c == ']' || c == '}':
			depth--
		}
	}
	return ""
}
