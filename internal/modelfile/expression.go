package modelfile

import (
	"fmt"

	"github.com/fanfold/fanfold/internal/expr"
)

// Bounds of all expressions of a model together. Nodes that fold a model which another applied compile them while their
// writes wait.
const (
	maxExpressions     = 32 << 10 // bytes
	maxExpressionParts = 8000     // what expr.Check counts
)

// checkExpression returns an error where an expression cannot be compiled. A new model's is held to the bounds of one
// expression and of all of them; a model that was accepted before is not held to bounds that came later.
// It sees an element of an array if over says so.
func (p *parser) checkExpression(s string, over bool) error {
	compile, check := expr.Compile, expr.Check
	if over {
		compile, check = expr.CompileElement, expr.CheckElement
	}
	if !p.isNew {
		_, err := compile(s)
		return err
	}
	if p.sizes.expressions += len(s); p.sizes.expressions > maxExpressions {
		return fmt.Errorf("with this one the model's expressions have more than %d bytes", maxExpressions)
	}
	parts, err := check(s)
	if err != nil {
		return err
	}
	if p.sizes.parts += parts; p.sizes.parts > maxExpressionParts {
		return fmt.Errorf("with this one the model's expressions have more than %d parts (names, literals, calls and what macros stand for)", maxExpressionParts)
	}
	return nil
}
