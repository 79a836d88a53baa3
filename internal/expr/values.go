package expr

import (
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"time"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/common/types/traits"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/fanfold/fanfold/internal/jsondoc"
)

// value is a JSON value as CEL sees it before it is used: its place in the text. Objects and
// lists are used as they are; scalars are normalized to CEL's own when an expression uses
// them, and keep their bytes when it returns them.
type value struct {
	tree *jsondoc.Tree
	node jsondoc.Node
}

type (
	object struct{ value }
	list   struct{ value }
	scalar struct{ value }
)

func wrap(t *jsondoc.Tree, n jsondoc.Node) ref.Val {
	v := value{t, n}
	switch t.Kind(n) {
	case jsondoc.Object:
		return &object{v}
	case jsondoc.Array:
		return &list{v}
	default:
		return &scalar{v}
	}
}

// normal is the CEL value an operation sees.
func normal(v ref.Val) ref.Val {
	if s, ok := v.(*scalar); ok {
		return s.normal()
	}
	return v
}

func (s *scalar) normal() ref.Val {
	switch s.tree.Kind(s.node) {
	case jsondoc.Null:
		return types.NullValue
	case jsondoc.True:
		return types.True
	case jsondoc.False:
		return types.False
	case jsondoc.String:
		return types.String(s.tree.Text(s.node))
	default:
		text := s.tree.Text(s.node)
		if i, err := strconv.ParseInt(text, 10, 64); err == nil {
			return types.Int(i)
		}
		f, _ := strconv.ParseFloat(text, 64) // out of range gives ±Inf, which has no JSON form
		return types.Double(f)
	}
}

var errNative = errors.New("expr: no native form")

func (v value) ConvertToNative(reflect.Type) (any, error) { return nil, errNative }
func (v value) Value() any                                { return v.tree.Raw(v.node) }

func (o *object) Type() ref.Type { return types.MapType }
func (l *list) Type() ref.Type   { return types.ListType }
func (s *scalar) Type() ref.Type { return s.normal().Type() }
func (s *scalar) Value() any     { return s.normal().Value() }

func convert(v ref.Val, self, to ref.Type) ref.Val {
	switch to {
	case self:
		return v
	case types.TypeType:
		return self.(*types.Type)
	}
	return types.NewErr("type conversion error from '%s' to '%s'", self.TypeName(), to.TypeName())
}

func (o *object) ConvertToType(t ref.Type) ref.Val { return convert(o, types.MapType, t) }
func (l *list) ConvertToType(t ref.Type) ref.Val   { return convert(l, types.ListType, t) }
func (s *scalar) ConvertToType(t ref.Type) ref.Val { return s.normal().ConvertToType(t) }

func (o *object) Equal(other ref.Val) ref.Val { return types.Bool(equal(o, other)) }
func (l *list) Equal(other ref.Val) ref.Val   { return types.Bool(equal(l, other)) }
func (s *scalar) Equal(other ref.Val) ref.Val { return types.Bool(equal(s, other)) }

// Find implements traits.Mapper; the member as written, or none.
func (o *object) Find(key ref.Val) (ref.Val, bool) {
	name, ok := normal(key).(types.String)
	if !ok {
		return nil, false
	}
	n := o.tree.Member(o.node, string(name))
	if n == jsondoc.None {
		return nil, false
	}
	return wrap(o.tree, n), true
}

// Get implements traits.Indexer.
func (o *object) Get(key ref.Val) ref.Val {
	if v, ok := o.Find(key); ok {
		return v
	}
	return types.NewErr("no such key: %v", normal(key))
}

// Contains implements traits.Container.
func (o *object) Contains(key ref.Val) ref.Val {
	_, ok := o.Find(key)
	return types.Bool(ok)
}

// Size implements traits.Sizer.
func (o *object) Size() ref.Val { return types.Int(o.tree.Len(o.node)) }

// Iterator walks the member names in document order.
func (o *object) Iterator() traits.Iterator {
	return &iterator{tree: o.tree, next: o.tree.First(o.node), keys: true}
}

// Fold implements traits.Foldable, in document order.
func (o *object) Fold(f traits.Folder) {
	for n := o.tree.First(o.node); n != jsondoc.None; n = o.tree.Next(n) {
		if !f.FoldEntry(types.String(o.tree.Key(n)), wrap(o.tree, n)) {
			return
		}
	}
}

// Get implements traits.Indexer.
func (l *list) Get(index ref.Val) ref.Val {
	i, err := types.IndexOrError(normal(index))
	if err != nil {
		return types.NewErrFromString(err.Error())
	}
	n := l.tree.First(l.node)
	for ; i > 0 && n != jsondoc.None; i-- {
		n = l.tree.Next(n)
	}
	if i < 0 || n == jsondoc.None {
		return types.NewErr("index out of bounds: %v", normal(index))
	}
	return wrap(l.tree, n)
}

// Add implements traits.Adder: concatenation.
func (l *list) Add(other ref.Val) ref.Val {
	o, ok := other.(traits.Lister)
	if !ok {
		return types.MaybeNoSuchOverloadErr(other)
	}
	all := slices.Concat(elements(l), elements(o))
	return types.NewRefValList(verbatim{}, all)
}

// elements are the list's elements, ours not yet normalized.
func elements(l traits.Lister) []ref.Val {
	if held, ok := l.Value().([]ref.Val); ok {
		return held
	}
	var all []ref.Val
	for it := l.Iterator(); it.HasNext() == types.True; {
		all = append(all, it.Next())
	}
	return all
}

// Contains implements traits.Container.
func (l *list) Contains(v ref.Val) ref.Val { return types.Bool(containsVal(l, v)) }

// Size implements traits.Sizer.
func (l *list) Size() ref.Val { return types.Int(l.tree.Len(l.node)) }

// Iterator walks the elements in order.
func (l *list) Iterator() traits.Iterator { return &iterator{tree: l.tree, next: l.tree.First(l.node)} }

// A scalar may stand as the index of a dynamic selection (doc.names[doc.lang]), where cel-go
// asks it to do the selecting.

func (s *scalar) ID() int64        { return 0 }
func (s *scalar) IsOptional() bool { return false }

// Qualify implements interpreter.Qualifier.
func (s *scalar) Qualify(_ cel.Activation, obj any) (any, error) {
	var out ref.Val
	switch c := obj.(type) {
	case traits.Mapper:
		out = c.Get(s.normal())
	case traits.Lister:
		out = c.Get(s.normal())
	default:
		return nil, fmt.Errorf("no such key: %v", s.normal())
	}
	if e, ok := out.(*types.Err); ok {
		return nil, e
	}
	return out, nil
}

// QualifyIfPresent implements interpreter.Qualifier.
func (s *scalar) QualifyIfPresent(vars cel.Activation, obj any, _ bool) (any, bool, error) {
	out, err := s.Qualify(vars, obj)
	return out, err == nil, nil
}

type iterator struct {
	value
	tree *jsondoc.Tree
	next jsondoc.Node
	keys bool
}

func (it *iterator) Type() ref.Type                 { return types.IteratorType }
func (it *iterator) Equal(ref.Val) ref.Val          { return types.False }
func (it *iterator) ConvertToType(ref.Type) ref.Val { return types.NewErr("no such overload") }
func (it *iterator) HasNext() ref.Val               { return types.Bool(it.next != jsondoc.None) }

func (it *iterator) Next() ref.Val {
	n := it.next
	if n == jsondoc.None {
		return types.NewErr("no such element")
	}
	it.next = it.tree.Next(n)
	if it.keys {
		return types.String(it.tree.Key(n))
	}
	return wrap(it.tree, n)
}

// literal is a map written in an expression: like cel-go's own, but in the order written.
type literal struct {
	keys, vals []ref.Val
}

func (m *literal) ConvertToNative(reflect.Type) (any, error) { return nil, errNative }
func (m *literal) ConvertToType(t ref.Type) ref.Val          { return convert(m, types.MapType, t) }
func (m *literal) Equal(other ref.Val) ref.Val               { return types.Bool(equal(m, other)) }
func (m *literal) Type() ref.Type                            { return types.MapType }
func (m *literal) Value() any                                { return m }
func (m *literal) Size() ref.Val                             { return types.Int(len(m.keys)) }

func (m *literal) Find(key ref.Val) (ref.Val, bool) {
	for i, k := range m.keys {
		if equal(k, key) {
			return m.vals[i], true
		}
	}
	return nil, false
}

func (m *literal) Get(key ref.Val) ref.Val {
	if v, ok := m.Find(key); ok {
		return v
	}
	return types.NewErr("no such key: %v", normal(key))
}

func (m *literal) Contains(key ref.Val) ref.Val {
	_, ok := m.Find(key)
	return types.Bool(ok)
}

func (m *literal) Iterator() traits.Iterator {
	return types.NewRefValList(verbatim{}, m.keys).Iterator()
}

// equal is CEL's equality over our values and cel-go's alike.
func equal(a, b ref.Val) bool {
	a, b = normal(a), normal(b)
	if la, ok := a.(traits.Lister); ok {
		lb, ok := b.(traits.Lister)
		if !ok || la.Size() != lb.Size() {
			return false
		}
		ea, eb := elements(la), elements(lb)
		for i := range ea {
			if !equal(ea[i], eb[i]) {
				return false
			}
		}
		return true
	}
	ma, ok := a.(traits.Mapper)
	if !ok {
		return types.Equal(a, b) == types.True
	}
	mb, ok := b.(traits.Mapper)
	if !ok || ma.Size() != mb.Size() {
		return false
	}
	for it := ma.Iterator(); it.HasNext() == types.True; {
		k := it.Next()
		vb, ok := mb.Find(normal(k))
		if !ok || !equal(ma.Get(k), vb) {
			return false
		}
	}
	return true
}

func containsVal(container traits.Lister, v ref.Val) bool {
	for _, e := range elements(container) {
		if equal(e, v) {
			return true
		}
	}
	return false
}

// adapter hands cel-go normalized scalars wherever it asks for a value.
type adapter struct{}

// NativeToValue implements types.Adapter.
func (adapter) NativeToValue(v any) ref.Val {
	if s, ok := v.(*scalar); ok {
		return s.normal()
	}
	return types.DefaultTypeAdapter.NativeToValue(v)
}

// maxOutputDepth bounds maps and lists that an expression builds.
const maxOutputDepth = 64

// appendJSON writes the value: our own as their original bytes, cel-go's in canonical form.
func appendJSON(dst []byte, v ref.Val, depth int) ([]byte, error) {
	if depth > maxOutputDepth {
		return nil, fmt.Errorf("the value is nested deeper than %d", maxOutputDepth)
	}
	switch v := v.(type) {
	case *object:
		return append(dst, v.tree.Raw(v.node)...), nil
	case *list:
		return append(dst, v.tree.Raw(v.node)...), nil
	case *scalar:
		return append(dst, v.tree.Raw(v.node)...), nil
	case types.Null:
		return append(dst, "null"...), nil
	case types.Bool:
		return strconv.AppendBool(dst, bool(v)), nil
	case types.Int:
		return strconv.AppendInt(dst, int64(v), 10), nil
	case types.Uint:
		return strconv.AppendUint(dst, uint64(v), 10), nil
	case types.Double:
		if math.IsNaN(float64(v)) || math.IsInf(float64(v), 0) {
			return nil, errors.New("the value is not a finite number")
		}
		return append(dst, jsontext.Float(float64(v)).String()...), nil
	case types.String:
		return jsondoc.AppendQuote(dst, string(v)), nil
	case types.Timestamp:
		return jsondoc.AppendQuote(dst, v.UTC().Format(time.RFC3339Nano)), nil
	case traits.Lister:
		return appendList(dst, v, depth)
	case traits.Mapper:
		return appendMap(dst, v, depth)
	}
	return nil, fmt.Errorf("a value of type %s has no JSON form", v.Type().TypeName())
}

func appendList(dst []byte, l traits.Lister, depth int) ([]byte, error) {
	dst = append(dst, '[')
	for i, e := range elements(l) {
		if i > 0 {
			dst = append(dst, ',')
		}
		var err error
		if dst, err = appendJSON(dst, e, depth+1); err != nil {
			return nil, err
		}
	}
	return append(dst, ']'), nil
}

func appendMap(dst []byte, m traits.Mapper, depth int) ([]byte, error) {
	dst = append(dst, '{')
	first := true
	for it := m.Iterator(); it.HasNext() == types.True; {
		k := normal(it.Next())
		name, ok := k.(types.String)
		if !ok {
			return nil, fmt.Errorf("a map key of type %s has no JSON form: use strings", k.Type().TypeName())
		}
		if !first {
			dst = append(dst, ',')
		}
		first = false
		dst = append(jsondoc.AppendQuote(dst, string(name)), ':')
		var err error
		if dst, err = appendJSON(dst, m.Get(k), depth+1); err != nil {
			return nil, err
		}
	}
	return append(dst, '}'), nil
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
