package expr

import (
	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/operators"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
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

// decorator returns the replacements for the steps of a program. Some replace steps that cel-go would do in an order of
// its own, or not at all; every other step takes its cost. raw has the ids of the subexpressions whose value can be
// returned as it is.
//
// exact is nil for an expression whose numbers compare as CEL's do.
func decorator(raw map[int64]bool, exact *exactness) interpreter.InterpretableDecoratorV2 {
	return func(i interpreter.InterpretableV2) (interpreter.InterpretableV2, error) {
		switch node := i.(type) {
		case interpreter.InterpretableConst:
			if literal := exact.literal(node.ID()); literal != nil {
				return &exactConstant{constant{node}, literal}, nil
			}
			return &constant{node}, nil
		case interpreter.InterpretableAttribute:
			if raw[node.ID()] {
				return &rawAttribute{node}, nil
			}
			return &attribute{node}, nil
		case interpreter.InterpretableCall:
			if apply := exact.functionOf(node); apply != nil {
				return &call{id: node.ID(), args: node.Args(), apply: apply, raw: true}, nil
			}
			if apply := functionOf(node); apply != nil {
				return &call{id: node.ID(), args: node.Args(), apply: apply}, nil
			}
		case interpreter.InterpretableConstructor:
			switch node.Type() {
			case types.MapType:
				return &mapLiteral{id: node.ID(), vals: node.InitVals()}, nil
			case types.ListType:
				return &listLiteral{id: node.ID(), vals: node.InitVals()}, nil
			}
			return interpreter.NewConstValue(node.ID(), types.NewErr("there are no values of type %s here", node.Type().TypeName())), nil
		}
		return &step{i}, nil
	}
}

// step is a step of cel-go's.
type step struct{ interpreter.InterpretableV2 }

// Eval implements interpreter.Interpretable.
func (s *step) Eval(vars cel.Activation) ref.Val { return s.Exec(interpreter.AsFrame(vars)) }

// Exec implements interpreter.InterpretableV2.
func (s *step) Exec(frame *interpreter.ExecutionFrame) ref.Val {
	evaluationOf(frame).spend(1)
	return s.InterpretableV2.Exec(frame)
}

// constant is a value that is written in an expression.
type constant struct{ interpreter.InterpretableConst }

// Eval implements interpreter.Interpretable.
func (c *constant) Eval(vars cel.Activation) ref.Val { return c.Exec(interpreter.AsFrame(vars)) }

// Exec implements interpreter.InterpretableV2.
func (c *constant) Exec(frame *interpreter.ExecutionFrame) ref.Val {
	evaluationOf(frame).spend(1)
	return c.Value()
}

// attribute resolves to a normalized value.
type attribute struct {
	interpreter.InterpretableAttribute
}

// Eval implements interpreter.Interpretable.
func (a *attribute) Eval(vars cel.Activation) ref.Val { return a.Exec(interpreter.AsFrame(vars)) }

// Exec implements interpreter.InterpretableV2.
func (a *attribute) Exec(frame *interpreter.ExecutionFrame) ref.Val {
	evaluationOf(frame).spend(1)
	return normalize(a.InterpretableAttribute.Exec(frame))
}

// rawAttribute resolves to our own value, before normalization.
type rawAttribute struct {
	interpreter.InterpretableAttribute
}

// Eval implements interpreter.Interpretable.
func (a *rawAttribute) Eval(vars cel.Activation) ref.Val {
	evaluationOf(vars).spend(1)
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
