package expr

import (
	"errors"
	"fmt"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/ast"

	"github.com/fanfold/fanfold/internal/regex"
)

// Bounds of a new expression. Checking its types takes more than the square of how many parts it has, and more than its
// depth cubed.
const (
	MaxBytes = 4 << 10 // of its text, in bytes
	MaxParts = 400     // names, literals, calls and what macros such as map stand for
	MaxDepth = 24      // brackets inside each other
)

// Check checks a new expression, and returns how many parts it has. The error says what is wrong with it and where, or
// which bound it passes. An expression that was accepted before is compiled without bounds.
func Check(source string) (parts int, err error) {
	if err := checkText(source); err != nil {
		return 0, err
	}
	return checkIn(&compiled, source, exactEnvironment)
}

// CheckElement does what Check does for an expression over doc and element.
func CheckElement(source string) (parts int, err error) {
	if err := checkText(source); err != nil {
		return 0, err
	}
	return checkIn(&compiledOver, source, elementEnvironment)
}

// checkIn returns how many parts a new expression has, within their bound.
func checkIn(programs *cache[Program], source string, environment func() (*cel.Env, error)) (parts int, err error) {
	p := programs.get(source)
	if p == nil {
		if p, err = compile(environment, source, true, checkParts); err != nil {
			return 0, err
		}
		programs.put(source, p)
	} else if err := tooManyParts(p.parts); err != nil {
		return 0, err
	}
	return p.parts, nil
}

// checkText returns an error where an expression is too long, or its brackets are too deep. Those in text do not count.
func checkText(s string) error {
	if len(s) > MaxBytes {
		return fmt.Errorf("the expression has %d bytes; at most %d are taken", len(s), MaxBytes)
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
			if depth++; depth > MaxDepth {
				e := &LocatedError{Line: 1, Column: 1, Message: fmt.Sprintf("the expression has brackets more than %d deep", MaxDepth)}
				return e.After(s[:i])
			}
		case c == ')' || c == ']' || c == '}':
			depth--
		}
	}
	return nil
}

// tooManyParts returns an error where an expression has more parts than a new one may.
func tooManyParts(parts int) error {
	if parts > MaxParts {
		return fmt.Errorf("the expression has %d parts, with what macros such as map stand for; at most %d are taken", parts, MaxParts)
	}
	return nil
}

// checkParts returns an error where a parsed expression has too many parts, or one that has no use here.
func checkParts(parsed *cel.Ast) error {
	if err := tooManyParts(ast.NodeCount(parsed.NativeRep())); err != nil {
		return err
	}
	var err error
	ast.PostOrderVisit(parsed.NativeRep().Expr(), ast.NewExprVisitor(func(e ast.Expr) {
		switch {
		case err != nil:
		case e.Kind() == ast.StructKind:
			err = &placedError{e.ID(), fmt.Errorf("there are no values of type %s here: build a map", e.AsStruct().TypeName())}
		case e.Kind() == ast.CallKind && e.AsCall().FunctionName() == "matches":
			if why := checkPattern(e.AsCall()); why != nil {
				err = &placedError{e.ID(), why}
			}
		}
	}))
	return err
}

// checkPattern returns an error where the pattern of a call of matches is written in the expression and cannot be used.
func checkPattern(c ast.CallExpr) error {
	if len(c.Args()) == 0 {
		return errors.New("matches() takes a regular expression")
	}
	last := c.Args()[len(c.Args())-1]
	if last.Kind() != ast.LiteralKind {
		return nil
	}
	pattern, ok := last.AsLiteral().Value().(string)
	if !ok {
		return nil
	}
	_, err := regex.Compile(pattern)
	return err
}
