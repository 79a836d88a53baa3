package expr

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/operators"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/common/types/traits"
	"cel.dev/cel-go/interpreter"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/fanfold/fanfold/internal/decimal"
	"github.com/fanfold/fanfold/internal/jsondoc"
)

// exactness is what makes the numbers of an expression exact decimals: its literals that a double does not hold, or not with their scale.
type exactness struct{ literals map[int64]*jsondoc.Tree }

// literal returns the text of a literal that a double does not hold, or not with its scale; nil for any other.
func (x *exactness) literal(id int64) *jsondoc.Tree {
	if x == nil {
		return nil
	}
	return x.literals[id]
}

// exactConstant is a number that is written in an expression, and that a double does not hold, or not with its scale.
type exactConstant struct {
	constant
	text *jsondoc.Tree
}

// Eval implements interpreter.Interpretable.
func (c *exactConstant) Eval(vars cel.Activation) ref.Val { return c.Exec(interpreter.AsFrame(vars)) }

// Exec implements interpreter.InterpretableV2.
func (c *exactConstant) Exec(frame *interpreter.ExecutionFrame) ref.Val {
	e := evaluationOf(frame)
	e.spend(1)
	return &scalar{value{e, c.text, jsondoc.Root}}
}

// planExact returns the program of a checked expression, or of a part of one, whose numbers compare by their exact values.
func planExact(env *cel.Env, checked *ast.AST, literals map[int64]*jsondoc.Tree) (*Program, error) {
	raw := map[int64]bool{}
	markExact(checked.Expr(), raw, false)
	program, err := env.PlanProgram(checked, cel.CustomDecoratorV2(decorator(raw, &exactness{literals})))
	if err != nil {
		return nil, fmt.Errorf("cannot be planned: %w", err)
	}
	return &Program{program: program, members: membersRead(checked.Expr(), "doc"), element: membersRead(checked.Expr(), "element"), place: placeOf(checked.Expr()), parts: ast.NodeCount(checked), exact: true}, nil
}

// markExact adds to raw the ids of the subexpressions that may give a scalar of the document as it is. Those may not that cel-go
// asks for true or false, which truth says of e.
func markExact(e ast.Expr, raw map[int64]bool, truth bool) {
	raw[e.ID()] = !truth
	switch e.Kind() {
	case ast.SelectKind:
		markExact(e.AsSelect().Operand(), raw, false)
	case ast.ListKind:
		for _, element := range e.AsList().Elements() {
			markExact(element, raw, false)
		}
	case ast.MapKind:
		for _, entry := range e.AsMap().Entries() {
			markExact(entry.AsMapEntry().Key(), raw, false)
			markExact(entry.AsMapEntry().Value(), raw, false)
		}
	case ast.ComprehensionKind:
		c := e.AsComprehension()
		markExact(c.IterRange(), raw, false)
		markExact(c.AccuInit(), raw, false)
		markExact(c.LoopCondition(), raw, true)
		markExact(c.LoopStep(), raw, false)
		markExact(c.Result(), raw, truth)
	case ast.CallKind:
		c := e.AsCall()
		if c.IsMemberFunction() {
			markExact(c.Target(), raw, false)
		}
		for i, arg := range c.Args() {
			ofArg := false
			switch c.FunctionName() {
			case operators.LogicalAnd, operators.LogicalOr, operators.LogicalNot, operators.NotStrictlyFalse:
				ofArg = true
			case operators.Conditional:
				ofArg = i == 0 || truth
			}
			markExact(arg, raw, ofArg)
		}
	}
}

// errBeyond is the error of a comparison with a number that package decimal does not take.
const errBeyond = "the number is none that is compared: it has more than 1,000 digits, or is beyond 1e±1000"

// functionOf returns what a comparison applies; nil for any other call, and where numbers compare as CEL's do.
func (x *exactness) functionOf(node interpreter.InterpretableCall) function {
	if x == nil {
		return nil
	}
	switch node.Function() {
	case operators.Equals:
		return unlessBeyond(func(e *evaluation, args []ref.Val) ref.Val { return types.Bool(e.equal(args[0], args[1])) }, types.True)
	case operators.NotEquals:
		return unlessBeyond(func(e *evaluation, args []ref.Val) ref.Val { return types.Bool(!e.equal(args[0], args[1])) }, types.False)
	case operators.In:
		return unlessBeyond(func(e *evaluation, args []ref.Val) ref.Val {
			if _, ok := args[1].(traits.Mapper); ok {
				args[0] = normalize(args[0])
			}
			return in(e, args)
		}, types.True)
	case "format":
		format := functionOf(node)
		return func(e *evaluation, args []ref.Val) ref.Val {
			for i := range args {
				args[i] = e.plain(args[i])
			}
			return format(e, args)
		}
	case operators.Less:
		return ordered(func(order int) bool { return order < 0 })
	case operators.LessEquals:
		return ordered(func(order int) bool { return order <= 0 })
	case operators.Greater:
		return ordered(func(order int) bool { return order > 0 })
	case operators.GreaterEquals:
		return ordered(func(order int) bool { return order >= 0 })
	}
	return decimals(node.Function(), len(node.Args()))
}

// plain returns a value as rules have it: its scalars are CEL's own, and so are the scalars of its lists.
func (e *evaluation) plain(v ref.Val) ref.Val {
	l, ok := v.(traits.Lister)
	if !ok {
		return normalize(v)
	}
	if _, ofDocument := v.(*list); ofDocument {
		return v
	}
	elements := slices.Clone(e.elements(l))
	for i := range elements {
		elements[i] = e.plain(elements[i])
	}
	return types.NewRefValList(verbatim{}, elements)
}

// unlessBeyond returns a function that has no value where it met a number that is not compared, unless it found something equal
// besides.
func unlessBeyond(apply function, found types.Bool) function {
	return func(e *evaluation, args []ref.Val) ref.Val {
		e.beyond = false
		out := apply(e, args)
		if e.beyond && out != found {
			return types.NewErr(errBeyond)
		}
		return out
	}
}

// ordered returns the operator that holds tells of the order of two values.
func ordered(holds func(order int) bool) function {
	return func(e *evaluation, args []ref.Val) ref.Val {
		var room [2][40]byte
		a, isNumber, ok := e.number(room[0][:0], args[0])
		b, otherIsNumber, otherOK := e.number(room[1][:0], args[1])
		switch {
		case isNumber && otherIsNumber:
			if !ok || !otherOK {
				return types.NewErr(errBeyond)
			}
			return types.Bool(holds(a.Compare(b)))
		case isNumber || otherIsNumber:
			return types.NewErr("no such overload: %s and %s do not compare", args[0].Type().TypeName(), args[1].Type().TypeName())
		}
		l, r := normalize(args[0]), normalize(args[1])
		e.spendText(min(textLen(l), textLen(r)), bytesPerUnit)
		comparer, ok := l.(traits.Comparer)
		if !ok {
			return types.MaybeNoSuchOverloadErr(l)
		}
		order, ok := comparer.Compare(r).(types.Int)
		if !ok {
			return types.NewErr("no such overload: %s and %s do not compare", l.Type().TypeName(), r.Type().TypeName())
		}
		return types.Bool(holds(int(order)))
	}
}

// equalNumbers tells whether two values are equal where one of them is a number; numbers is false where neither is.
func (e *evaluation) equalNumbers(a, b ref.Val) (equal, numbers bool) {
	var room [2][40]byte
	x, isNumber, ok := e.number(room[0][:0], a)
	y, otherIsNumber, otherOK := e.number(room[1][:0], b)
	if !isNumber && !otherIsNumber {
		return false, false
	}
	if isNumber && !ok || otherIsNumber && !otherOK {
		e.beyond = true
		return false, true
	}
	return isNumber && otherIsNumber && x.Compare(y) == 0, true
}

// number returns the exact value of a number, whose digits it appends to dst. ok is false for one that package decimal does not take.
func (e *evaluation) number(dst []byte, v ref.Val) (n decimal.Number, isNumber, ok bool) {
	var room [40]byte
	var text []byte
	switch v := v.(type) {
	case *scalar:
		if v.tree.Kind(v.node) != jsondoc.Number {
			return n, false, false
		}
		text = v.raw()
		e.spendText(len(text), bytesPerUnit)
	case types.Int:
		text = strconv.AppendInt(room[:0], int64(v), 10)
	case types.Uint:
		text = strconv.AppendUint(room[:0], uint64(v), 10)
	case types.Double:
		if math.IsNaN(float64(v)) || math.IsInf(float64(v), 0) {
			return n, true, false
		}
		text = []byte(jsontext.Float(float64(v)).String())
	default:
		return n, false, false
	}
	n, ok = decimal.Scan(dst, text)
	return n, true, ok
}

// exactLiterals returns the literals of an expression that a double does not hold, or not with their scale, by their ids. The error says that a literal is none
// that is compared, and where.
func exactLiterals(source string, checked *ast.AST) (map[int64]*jsondoc.Tree, error) {
	var literals map[int64]*jsondoc.Tree
	var runes []rune
	var err error
	info := checked.SourceInfo()
	ast.PostOrderVisit(checked.Expr(), ast.NewExprVisitor(func(e ast.Expr) {
		if err != nil || e.Kind() != ast.LiteralKind {
			return
		}
		double, ok := e.AsLiteral().(types.Double)
		if !ok {
			return
		}
		if runes == nil {
			runes = []rune(source)
		}
		at, found := info.GetOffsetRange(e.ID())
		if !found || int(at.Start) > len(runes) {
			return
		}
		text := jsonNumber(runes[at.Start:])
		if f, parsed := strconv.ParseFloat(text, 64); parsed != nil || f != float64(double) {
			return // it is none that was written
		}
		var room, other [40]byte
		n, taken := decimal.Scan(room[:0], []byte(text))
		if !taken {
			err = &placedError{e.ID(), errors.New(errBeyond)}
			return
		}
		shortest := []byte(jsontext.Float(float64(double)).String())
		if held, _ := decimal.Scan(other[:0], shortest); held.Compare(n) == 0 && sameScale([]byte(text), shortest) {
			return
		}
		if literals == nil {
			literals = map[int64]*jsondoc.Tree{}
		}
		literals[e.ID()] = jsondoc.MustParse([]byte(text))
	}))
	return literals, err
}

// sameScale reports whether arithmetic gives the same texts with either of two equal numbers.
func sameScale(text, other []byte) bool {
	a, err := decimal.ParseScaled(text)
	b, otherErr := decimal.ParseScaled(other)
	return err == nil && otherErr == nil && bytes.Equal(a.Append(nil), b.Append(nil))
}

// jsonNumber returns the number with which the text of an expression begins, as JSON writes it.
func jsonNumber(source []rune) string {
	var b strings.Builder
	if len(source) > 0 && source[0] == '-' {
		b.WriteByte('-')
		source = source[1:]
		for len(source) > 0 && strings.ContainsRune(" \t\r\n\f", source[0]) {
			source = source[1:]
		}
	}
	if len(source) > 0 && source[0] == '.' {
		b.WriteByte('0')
	}
	for i, r := range source {
		sign := (r == '+' || r == '-') && i > 0 && (source[i-1] == 'e' || source[i-1] == 'E')
		if !sign && !strings.ContainsRune("0123456789.eE", r) {
			break
		}
		b.WriteRune(r)
	}
	return b.String()
}

// equal is CEL's equality, over values of ours and of cel-go alike.
func (e *evaluation) equal(a, b ref.Val) bool {
	if e.exact {
		if equal, numbers := e.equalNumbers(a, b); numbers {
			return equal
		}
	}
	a, b = normalize(a), normalize(b)
	e.spendText(min(textLen(a), textLen(b)), bytesPerUnit)
	if list, ok := a.(traits.Lister); ok {
		other, ok := b.(traits.Lister)
		return ok && e.equalLists(list, other)
	}
	if object, ok := a.(traits.Mapper); ok {
		other, ok := b.(traits.Mapper)
		return ok && e.equalMaps(object, other)
	}
	return types.Equal(a, b) == types.True
}

func (e *evaluation) equalLists(a, b traits.Lister) bool {
	if a.Size() != b.Size() {
		return false
	}
	as, bs := e.elements(a), e.elements(b)
	for i := range as {
		if !e.equal(as[i], bs[i]) {
			return false
		}
	}
	return true
}

func (e *evaluation) equalMaps(a, b traits.Mapper) bool {
	if a.Size() != b.Size() {
		return false
	}
	for it := a.Iterator(); it.HasNext() == types.True; {
		key := it.Next()
		value, ok := b.Find(normalize(key))
		if !ok || !e.equal(a.Get(key), value) {
			return false
		}
	}
	return true
}

// contains tells whether one of the list's elements equals v.
func (e *evaluation) contains(list traits.Lister, v ref.Val) bool {
	for _, element := range e.elements(list) {
		if e.equal(element, v) {
			return true
		}
	}
	return false
}
