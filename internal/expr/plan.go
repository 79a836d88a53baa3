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

// markResults finds the places of an expression whose value is returned as it is, so that a
// member selected there keeps its bytes.
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

// decorator replaces what cel-go would do differently from run to run, or not at all.
func decorator(raw map[int64]bool) interpreter.InterpretableDecorator {
	return func(i interpreter.Interpretable) (interpreter.Interpretable, error) {
		switch node := i.(type) {
		case interpreter.InterpretableAttribute:
			if raw[node.ID()] {
				return &rawAttribute{node}, nil
			}
		case interpreter.InterpretableCall:
			if args := node.Args(); len(args) == 2 {
				if op := binary(node.Function()); op != nil {
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

// rawAttribute resolves to our own value, not yet normalized.
type rawAttribute struct {
	interpreter.InterpretableAttribute
}

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

func (a *rawAttribute) Exec(f *interpreter.ExecutionFrame) ref.Val { return a.Eval(f) }

type binaryCall struct {
	id          int64
	left, right interpreter.Interpretable
	op          func(l, r ref.Val) ref.Val
}

func (c *binaryCall) ID() int64 { return c.id }

func (c *binaryCall) Eval(vars cel.Activation) ref.Val {
	l := c.left.Eval(vars)
	if types.IsUnknownOrError(l) {
		return l
	}
	r := c.right.Eval(vars)
	if types.IsUnknownOrError(r) {
		return r
	}
	return c.op(normal(l), normal(r))
}

// binary is our implementation of an operator, or nil where cel-go's own does.
func binary(function string) func(l, r ref.Val) ref.Val {
	switch function {
	case operators.Equals:
		return func(l, r ref.Val) ref.Val { return types.Bool(equal(l, r)) }
	case operators.NotEquals:
		return func(l, r ref.Val) ref.Val { return types.Bool(!equal(l, r)) }
	case operators.In:
		return in
	case operators.Add:
		return mixed(func(l, r ref.Val) ref.Val {
			if a, ok := l.(traits.Adder); ok {
				return a.Add(r)
			}
			return types.MaybeNoSuchOverloadErr(l)
		})
	case operators.Subtract:
		return mixed(func(l, r ref.Val) ref.Val {
			if a, ok := l.(traits.Subtractor); ok {
				return a.Subtract(r)
			}
			return types.MaybeNoSuchOverloadErr(l)
		})
	case operators.Multiply:
		return mixed(func(l, r ref.Val) ref.Val {
			if a, ok := l.(traits.Multiplier); ok {
				return a.Multiply(r)
			}
			return types.MaybeNoSuchOverloadErr(l)
		})
	case operators.Divide:
		return mixed(func(l, r ref.Val) ref.Val {
			if a, ok := l.(traits.Divider); ok {
				return a.Divide(r)
			}
			return types.MaybeNoSuchOverloadErr(l)
		})
	}
	return nil
}

// mixed makes an int operand a double where the other is one.
func mixed(op func(l, r ref.Val) ref.Val) func(l, r ref.Val) ref.Val {
	return func(l, r ref.Val) ref.Val {
		switch lv := l.(type) {
		case types.Int:
			if _, ok := r.(types.Double); ok {
				return op(types.Double(lv), r)
			}
		case types.Double:
			if rv, ok := r.(types.Int); ok {
				return op(lv, types.Double(rv))
			}
		}
		return op(l, r)
	}
}

func in(l, r ref.Val) ref.Val {
	switch c := r.(type) {
	case traits.Lister:
		return types.Bool(containsVal(c, l))
	case traits.Mapper:
		return c.Contains(l)
	}
	return types.MaybeNoSuchOverloadErr(r)
}

// mapLiteral keeps the order in which a map was written.
type mapLiteral struct {
	id   int64
	vals []interpreter.InterpretableV2 // key, value, key, value
}

func (m *mapLiteral) ID() int64 { return m.id }

func (m *mapLiteral) Eval(vars cel.Activation) ref.Val {
	out := &literal{}
	for i := 0; i+1 < len(m.vals); i += 2 {
		k, v := m.vals[i].Eval(vars), m.vals[i+1].Eval(vars)
		if types.IsUnknownOrError(k) {
			return k
		}
		if types.IsUnknownOrError(v) {
			return v
		}
		if _, ok := out.Find(k); ok {
			return types.NewErr("duplicate map key: %v", normal(k))
		}
		out.keys, out.vals = append(out.keys, k), append(out.vals, v)
	}
	return out
}

// listLiteral keeps its elements' bytes.
type listLiteral struct {
	id   int64
	vals []interpreter.InterpretableV2
}

func (l *listLiteral) ID() int64 { return l.id }

func (l *listLiteral) Eval(vars cel.Activation) ref.Val {
	out := make([]ref.Val, len(l.vals))
	for i, v := range l.vals {
		out[i] = v.Eval(vars)
		if types.IsUnknownOrError(out[i]) {
			return out[i]
		}
	}
	return types.NewRefValList(verbatim{}, out)
}
