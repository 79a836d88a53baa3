package expr

import (
	"fmt"
	"strconv"
	"strings"

	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/operators"
	"cel.dev/cel-go/common/types"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/fanfold/fanfold/internal/decimal"
	"github.com/fanfold/fanfold/internal/jsondoc"
)

// How tight what is written holds together, from the loosest on.
const (
	tightConditional = iota + 1
	tightOr
	tightAnd
	tightRelation
	tightSum
	tightProduct
	tightUnary
	tightPrimary
)

// writer writes an expression again, in one way for all that are parsed alike.
type writer struct {
	strings.Builder
	info     *ast.SourceInfo
	literals map[int64]*jsondoc.Tree
	masked   bool // constants and parameters are written as ?
}

// text returns a part of the expression as text. Equal parts have equal texts.
func (q *query) text(e ast.Expr) string { return q.written(e, false) }

// shape returns a part of the expression as text in which constants and parameters are ?.
func (q *query) shape(e ast.Expr) string { return q.written(e, true) }

func (q *query) written(e ast.Expr, masked bool) string {
	w := writer{info: q.ast.SourceInfo(), literals: q.literals, masked: masked}
	w.write(e, tightConditional)
	return w.String()
}

// write writes an expression, in brackets where it holds together less than tight.
func (w *writer) write(e ast.Expr, tight int) {
	if call, ok := w.info.GetMacroCall(e.ID()); ok {
		w.call(call, tight)
		return
	}
	if w.masked && w.constant(e) {
		w.WriteByte('?')
		return
	}
	switch e.Kind() {
	case ast.LiteralKind:
		w.literal(e)
	case ast.IdentKind:
		w.WriteString(e.AsIdent())
	case ast.SelectKind:
		s := e.AsSelect()
		w.write(s.Operand(), tightPrimary)
		w.member(s.FieldName())
	case ast.CallKind:
		w.call(e, tight)
	case ast.ListKind:
		w.WriteByte('[')
		w.list(e.AsList().Elements())
		w.WriteByte(']')
	case ast.MapKind:
		w.WriteByte('{')
		for i, entry := range e.AsMap().Entries() {
			if i > 0 {
				w.WriteString(", ")
			}
			w.write(entry.AsMapEntry().Key(), tightConditional)
			w.WriteString(": ")
			w.write(entry.AsMapEntry().Value(), tightConditional)
		}
		w.WriteByte('}')
	default:
		w.WriteString("...") // nothing else is taken, and macros are written as their calls
	}
}

// constant reports whether an expression is written as ?: a literal, a list of such, or what is selected from params.
func (w *writer) constant(e ast.Expr) bool {
	switch e.Kind() {
	case ast.LiteralKind:
		return true
	case ast.IdentKind:
		return isGiven(e.AsIdent())
	case ast.SelectKind:
		return !e.AsSelect().IsTestOnly() && w.constant(e.AsSelect().Operand())
	case ast.ListKind:
		for _, element := range e.AsList().Elements() {
			if !w.constant(element) {
				return false
			}
		}
		return true
	case ast.CallKind:
		return e.AsCall().FunctionName() == operators.Index && w.constant(e.AsCall().Args()[0])
	}
	return false
}

// list writes expressions with commas between them.
func (w *writer) list(all []ast.Expr) {
	for i, e := range all {
		if i > 0 {
			w.WriteString(", ")
		}
		w.write(e, tightConditional)
	}
}

// member writes the selection of a member.
func (w *writer) member(name string) {
	if isName(name) {
		w.WriteByte('.')
		w.WriteString(name)
		return
	}
	w.WriteByte('[')
	w.WriteString(strconv.Quote(name))
	w.WriteByte(']')
}

// notNames are the names that CEL reads as something else.
var notNames = map[string]bool{"as": true, "break": true, "const": true, "continue": true, "else": true, "false": true, "for": true, "function": true, "if": true,
	"import": true, "in": true, "let": true, "loop": true, "package": true, "namespace": true, "null": true, "return": true, "true": true, "var": true, "void": true, "while": true}

// isName reports whether a member's name may follow a dot.
func isName(name string) bool {
	for i, c := range []byte(name) {
		if c != '_' && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (i == 0 || c < '0' || c > '9') {
			return false
		}
	}
	return name != "" && !notNames[name]
}

func (w *writer) literal(e ast.Expr) {
	switch v := e.AsLiteral().(type) {
	case types.String:
		w.WriteString(strconv.Quote(string(v)))
	case types.Bytes:
		w.WriteString(`b"`)
		for _, c := range []byte(v) {
			fmt.Fprintf(w, `\x%02x`, c)
		}
		w.WriteByte('"')
	case types.Bool:
		fmt.Fprint(w, bool(v))
	case types.Int:
		fmt.Fprint(w, int64(v))
	case types.Uint:
		fmt.Fprintf(w, "%du", uint64(v))
	case types.Double:
		text := jsontext.Float(float64(v)).String()
		if exact := w.literals[e.ID()]; exact != nil {
			n, _ := decimal.Parse(string(exact.Raw(jsondoc.Root))) // exactLiterals took it
			text = n.String()
		}
		if !strings.ContainsAny(text, ".e") {
			text += ".0"
		}
		w.WriteString(text)
	default:
		w.WriteString("null")
	}
}

// tightness tells how tight the binary operators hold.
var tightness = map[string]int{operators.LogicalOr: tightOr, operators.LogicalAnd: tightAnd, operators.Equals: tightRelation, operators.NotEquals: tightRelation,
	operators.Less: tightRelation, operators.LessEquals: tightRelation, operators.Greater: tightRelation, operators.GreaterEquals: tightRelation, operators.In: tightRelation,
	operators.Add: tightSum, operators.Subtract: tightSum, operators.Multiply: tightProduct, operators.Divide: tightProduct, operators.Modulo: tightProduct}

func (w *writer) call(e ast.Expr, tight int) {
	c := e.AsCall()
	args := c.Args()
	switch name := c.FunctionName(); {
	case tightness[name] > 0:
		w.bracketed(tightness[name] < tight, func() { w.binary(name, args) })
	case name == operators.Conditional:
		w.bracketed(tightConditional < tight, func() {
			w.write(args[0], tightOr)
			w.WriteString(" ? ")
			w.write(args[1], tightOr)
			w.WriteString(" : ")
			w.write(args[2], tightConditional)
		})
	case name == operators.LogicalNot:
		w.bracketed(tightUnary < tight, func() {
			w.WriteByte('!')
			w.write(args[0], tightPrimary)
		})
	case name == operators.Negate: // a number in brackets is no literal with a sign
		w.bracketed(tightUnary < tight, func() {
			w.WriteByte('-')
			w.bracketed(args[0].Kind() == ast.LiteralKind, func() { w.write(args[0], tightPrimary) })
		})
	case name == operators.Index:
		w.write(args[0], tightPrimary)
		if args[1].Kind() == ast.LiteralKind {
			if member, ok := args[1].AsLiteral().(types.String); ok {
				w.member(string(member))
				return
			}
		}
		w.WriteByte('[')
		w.write(args[1], tightConditional)
		w.WriteByte(']')
	default:
		if c.IsMemberFunction() {
			w.bracketed(isNumber(c.Target()), func() { w.write(c.Target(), tightPrimary) })
			w.WriteByte('.')
		}
		w.WriteString(name)
		w.WriteByte('(')
		w.list(args)
		w.WriteByte(')')
	}
}

// binary writes an operator between its arguments.
func (w *writer) binary(name string, args []ast.Expr) {
	symbol, _ := operators.FindReverseBinaryOperator(name)
	tight := tightness[name]
	right := tight + 1
	if name == operators.LogicalAnd || name == operators.LogicalOr {
		right = tight // the parser balances them, which makes no difference
	}
	for i, arg := range args {
		if i > 0 {
			w.WriteString(" " + symbol + " ")
			tight = right
		}
		w.write(arg, tight)
	}
}

// isNumber reports whether an expression is a number that is written there.
func isNumber(e ast.Expr) bool {
	if e.Kind() != ast.LiteralKind {
		return false
	}
	switch e.AsLiteral().(type) {
	case types.Int, types.Uint, types.Double:
		return true
	}
	return false
}

// bracketed calls write, between brackets where they are needed.
func (w *writer) bracketed(needed bool, write func()) {
	if needed {
		w.WriteByte('(')
		defer w.WriteByte(')')
	}
	write()
}
