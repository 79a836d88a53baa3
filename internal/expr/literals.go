package expr

import (
	"reflect"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/common/types/traits"
	"cel.dev/cel-go/interpreter"
)

// mapLiteral evaluates a map that is written in an expression, and keeps the order in which it is written.
type mapLiteral struct {
	id   int64
	vals []interpreter.InterpretableV2 // key, value, key, value
}

// ID implements interpreter.Interpretable.
func (m *mapLiteral) ID() int64 { return m.id }

// Eval implements interpreter.Interpretable.
func (m *mapLiteral) Eval(vars cel.Activation) ref.Val { return m.Exec(interpreter.AsFrame(vars)) }

// Exec implements interpreter.InterpretableV2.
func (m *mapLiteral) Exec(frame *interpreter.ExecutionFrame) ref.Val {
	e := evaluationOf(frame)
	e.spend(1 + elementCost*len(m.vals))
	out := &orderedMap{e: e, named: make(map[string]int, len(m.vals)/2)}
	for i := 0; i+1 < len(m.vals); i += 2 {
		k, v := m.vals[i].Exec(frame), m.vals[i+1].Exec(frame)
		if types.IsUnknownOrError(k) {
			return k
		}
		if types.IsUnknownOrError(v) {
			return v
		}
		if _, ok := out.Find(k); ok {
			return keyError("duplicate map key", k)
		}
		if name, ok := normalize(k).(types.String); ok {
			out.named[string(name)] = len(out.keys)
		}
		out.keys, out.vals = append(out.keys, k), append(out.vals, v)
	}
	return out
}

// listLiteral evaluates a list that is written in an expression, and keeps the bytes of its elements.
type listLiteral struct {
	id   int64
	vals []interpreter.InterpretableV2
}

// ID implements interpreter.Interpretable.
func (l *listLiteral) ID() int64 { return l.id }

// Eval implements interpreter.Interpretable.
func (l *listLiteral) Eval(vars cel.Activation) ref.Val { return l.Exec(interpreter.AsFrame(vars)) }

// Exec implements interpreter.InterpretableV2.
func (l *listLiteral) Exec(frame *interpreter.ExecutionFrame) ref.Val {
	evaluationOf(frame).spend(1 + elementCost*len(l.vals))
	out := make([]ref.Val, len(l.vals))
	for i, v := range l.vals {
		out[i] = v.Exec(frame)
		if types.IsUnknownOrError(out[i]) {
			return out[i]
		}
	}
	return types.NewRefValList(verbatim{}, out)
}

// orderedMap is the value of a map literal: like cel-go's own, but in the order written.
type orderedMap struct {
	e          *evaluation
	keys, vals []ref.Val
	named      map[string]int // where each key that is a string stands
}

// ConvertToNative implements ref.Val; it always fails.
func (m *orderedMap) ConvertToNative(reflect.Type) (any, error) { return nil, errNative }

// ConvertToType implements ref.Val.
func (m *orderedMap) ConvertToType(t ref.Type) ref.Val { return convert(m, types.MapType, t) }

// Equal implements ref.Val.
func (m *orderedMap) Equal(other ref.Val) ref.Val { return types.Bool(m.e.equal(m, other)) }

// Type implements ref.Val.
func (m *orderedMap) Type() ref.Type { return types.MapType }

// Value implements ref.Val.
func (m *orderedMap) Value() any { return m }

// Size implements traits.Sizer.
func (m *orderedMap) Size() ref.Val { return types.Int(len(m.keys)) }

// Find implements traits.Mapper.
func (m *orderedMap) Find(key ref.Val) (ref.Val, bool) {
	key = normalize(key)
	m.e.spendText(textLen(key), bytesPerUnit)
	if name, ok := key.(types.String); ok {
		i, ok := m.named[string(name)]
		if !ok {
			return nil, false
		}
		return m.vals[i], true
	}
	for i, k := range m.keys {
		if m.e.equal(k, key) {
			return m.vals[i], true
		}
	}
	return nil, false
}

// Get implements traits.Indexer.
func (m *orderedMap) Get(key ref.Val) ref.Val {
	if v, ok := m.Find(key); ok {
		return v
	}
	return keyError("no such key", key)
}

// Contains implements traits.Container.
func (m *orderedMap) Contains(key ref.Val) ref.Val {
	_, ok := m.Find(key)
	return types.Bool(ok)
}

// Iterator walks the keys in the order written.
func (m *orderedMap) Iterator() traits.Iterator {
	return types.NewRefValList(verbatim{}, m.keys).Iterator()
}

// verbatim is the adapter of lists that hold our own values as they are.
type verbatim struct{}

// NativeToValue implements types.Adapter.
func (verbatim) NativeToValue(v any) ref.Val {
	if r, ok := v.(ref.Val); ok {
		return r
	}
	return types.DefaultTypeAdapter.NativeToValue(v)
}
