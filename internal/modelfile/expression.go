package modelfile

import (
	"fmt"

	"github.com/fanfold/fanfold/internal/expr"
	"github.com/fanfold/fanfold/model"
)

// Bounds of all expressions of a model together. Nodes that fold a model which another applied compile them while their
// writes wait.
const (
	maxExpressions     = 32 << 10 // bytes
	maxExpressionParts = 8000     // what expr.Check counts
)

// variables is what an expression of a model sees.
type variables struct {
	compile func(source string) (*expr.Program, error)
	check   func(source string) (parts int, err error)
}

// Expressions see a document, some an element of an array besides, and some meta.
var (
	ofDocument   = variables{expr.Compile, expr.Check}
	ofElement    = variables{expr.CompileElement, expr.CheckElement}
	ofOwn        = variables{expr.CompileOwn, expr.CheckOwn}
	ofOwnElement = variables{expr.CompileOwnElement, expr.CheckOwnElement}
)

// seenBy returns what a rule's value and its condition see.
func seenBy(r *model.Rule) (value, where variables) {
	switch over := r.Elements() != nil; {
	case r.Kind != model.Computed && over:
		return ofElement, ofElement
	case r.Kind != model.Computed:
		return ofDocument, ofDocument
	case over:
		return ofOwnElement, ofElement
	}
	return ofOwn, ofDocument
}

// checkExpression returns an error where an expression cannot be compiled. A new model's is held to the bounds of one
// expression and of all of them; a model that was accepted before is not held to bounds that came later.
// sees says what it sees.
func (p *parser) checkExpression(s string, sees variables) error {
	if !p.isNew {
		_, err := sees.compile(s)
		return err
	}
	if p.sizes.expressions += len(s); p.sizes.expressions > maxExpressions {
		return fmt.Errorf("with this one the model's expressions have more than %d bytes", maxExpressions)
	}
	parts, err := sees.check(s)
	if err != nil {
		return err
	}
	if p.sizes.parts += parts; p.sizes.parts > maxExpressionParts {
		return fmt.Errorf("with this one the model's expressions have more than %d parts (names, literals, calls and what macros stand for)", maxExpressionParts)
	}
	return nil
}
