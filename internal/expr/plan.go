package expr

import (
	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/operators"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/common/types/traits"
	"cel.dev/cel-go/interpreter"
)

// markResults adds to raw the ids of the subexpressions whose value can be returned as it is, so that a member that
// is selected there keeps its bytes.
func markResults(e ast.Expr, raw map[int64]bool) {
	switch e.Kind() {
	case ast.IdentKind, ast.SelectKind:
		raw[e.ID()] = true
	case ast.ListKind:
		for _, el := range e.AsList().Elements() {
			markResults(el, raw)
		}
	case ast.MapKind:
		for _, entry := range e.AsMap().Entries() {
			markResults(entry.AsMapEntry().Value(), raw)
		}
	case ast.ComprehensionKind:
		markResults(e.AsComprehension().LoopStep(), raw) // of map() and filter(): accumulator + [element]
	case ast.CallKind:
		args := e.AsCall().Args()
		switch e.AsCall().FunctionName() {
		case operators.Index:
			raw[e.ID()] = true
		case operators.Conditional:
			raw[e.ID()] = true
			markResults(args[1], raw)
			markResults(args[2], raw)
		case operators.Add:
			for _, a := range args {
				if a.Kind() == ast.ListKind {
					markResults(a, raw)
				}
			}
		}
	}
}

// decorator returns what replaces the steps of a program that cel-go would do in an order of its own, or not at all.
// raw has the ids of the subexpressions whose value can be returned as it is.
func decorator(raw map[int64]bool) interpreter.InterpretableDecorator {
	return func(i interpreter.Interpretable) (interpreter.Interpretable, error) {
		switch node := i.(type) {
		case interpreter.InterpretableAttribute:
			if raw[node.ID()] {
				return &rawAttribute{node}, nil
			}
		case interpreter.InterpretableCall:
			if args := node.Args(); len(args) == 2 {
				if op := binaryOperator(node.Function()); op != nil {
					return &binaryCall{id: node.ID(), left: args[0], right: args[1], op: op}, nil
				}
			}
		case interpreter.InterpretableConstructor:
			switch node.Type() {
			case types.MapType:
				return &mapLiteral{id: node.ID(), vals: node.InitVals()}, nil
			case types.ListType:
				return &listLiteral{id: node.ID(), vals: node.InitVals()}, nil
			}
		}
		return i, nil
	}
}

// rawAttribute resolves to our own value, before normalization.
type rawAttribute struct {
	interpreter.InterpretableAttribute
}

// Eval implements interpreter.Interpretable.
func (a *rawAttribute) Eval(vars cel.Activation) ref.Val {
	v, err := a.Attr().Resolve(vars)
	if err != nil {
		return types.WrapErr(err)
	}
	if s, ok := v.(*scalar); ok {
		return s
	}
	return a.Adapter().NativeToValue(v)
}

// Exec implements interpreter.InterpretableV2.
func (a *rawAttribute) Exec(f *interpreter.ExecutionFrame) ref.Val { return a.Eval(f) }

// binaryCall applies an operator of ours to two values.
type binaryCall struct {
	id          int64
	left, right interpreter.Interpretable
	op          operator
}

// operator combines two normalized values.
type operator func(l, r ref.Val) ref.Val

// ID implements interpreter.Interpretable.
func (c *binaryCall) ID() int64 { return c.id }

// Eval implements interpreter.Interpretable.
func (c *binaryCall) Eval(vars cel.Activation) ref.Val {
	l := c.left.Eval(vars)
	if types.IsUnknownOrError(l) {
		return l
	}
	r := c.right.Eval(vars)
	if types.IsUnknownOrError(r) {
		return r
	}
	return c.op(normalize(l), normalize(r))
}

// binaryOperator returns our implementation of an operator; nil where cel-go's own serves.
func binaryOperator(function string) operator {
	switch function {
	case operators.Equals:
		return func(l, r ref.Val) ref.Val { return types.Bool(equal(l, r)) }
	case operators.NotEquals:
		return func(l, r ref.Val) ref.Val { return types.Bool(!equal(l, r)) }
	case operators.In:
		return in
	case operators.Add:
		return arithmetic(traits.Adder.Add)
	case operators.Subtract:
		return arithmetic(traits.Subtractor.Subtract)
	case operators.Multiply:
		return arithmetic(traits.Multiplier.Multiply)
	case operators.Divide:
		return arithmetic(traits.Divider.Divide)
	}
	return nil
}

// arithmetic returns the operator that calls a method of the left value, which must have the trait T. An int beside
// a double is made a double.
func arithmetic[T any](method func(left T, right ref.Val) ref.Val) operator {
	return func(l, r ref.Val) ref.Val {
		switch lv := l.(type) {
		case types.Int:
			if _, ok := r.(types.Double); ok {
				l = types.Double(lv)
			}
		case types.Double:
			if rv, ok := r.(types.Int); ok {
				r = types.Double(rv)
			}
		}
		left, ok := l.(T)
		if !ok {
			return types.MaybeNoSuchOverloadErr(l)
		}
		return method(left, r)
	}
}

// in tells whether l is an element of the list r, or a key of the map r.
func in(l, r ref.Val) ref.Val {
	switch c := r.(type) {
	case traits.Lister:
		return types.Bool(contains(c, l))
	case traits.Mapper:
		return c.Contains(l)
	}
	return types.MaybeNoSuchOverloadErr(r)
}
