package expr

import (
	"errors"
	"reflect"
	"strconv"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/common/types/traits"

	"github.com/fanfold/fanfold/internal/jsondoc"
)

// value is a JSON value of the document or the parameters: its place in the text. An expression works on objects and lists as
// they are. A scalar keeps its bytes where it is only returned, and is normalized to a value of CEL's own otherwise.
type value struct {
	e    *evaluation
	tree *jsondoc.Tree
	node jsondoc.Node
}

// raw returns the value's text.
func (v value) raw() []byte { return v.tree.Raw(v.node) }

type (
	object struct{ value }
	list   struct{ value }
	scalar struct{ value }
)

// wrap returns the value n of a tree as CEL sees it.
func wrap(e *evaluation, tree *jsondoc.Tree, n jsondoc.Node) ref.Val {
	v := value{e, tree, n}
	switch tree.Kind(n) {
	case jsondoc.Object:
		return &object{v}
	case jsondoc.Array:
		return &list{v}
	default:
		return &scalar{v}
	}
}

// normalize returns the value of CEL's own for a scalar of the document, and any other value as it is.
func normalize(v ref.Val) ref.Val {
	if s, ok := v.(*scalar); ok {
		return s.normalize()
	}
	return v
}

// normalize returns CEL's own value.
func (s *scalar) normalize() ref.Val {
	s.e.spendText(len(s.raw()), bytesPerUnit)
	tree := s.tree
	switch tree.Kind(s.node) {
	case jsondoc.Null:
		return types.NullValue
	case jsondoc.True:
		return types.True
	case jsondoc.False:
		return types.False
	case jsondoc.String:
		return types.String(tree.Text(s.node))
	default:
		text := tree.Text(s.node)
		if i, err := strconv.ParseInt(text, 10, 64); err == nil {
			return types.Int(i)
		}
		f, _ := strconv.ParseFloat(text, 64) // out of range gives ±Inf, which has no JSON form
		return types.Double(f)
	}
}

var errNative = errors.New("expr: no native form")

// ConvertToNative implements ref.Val; it always fails.
func (v value) ConvertToNative(reflect.Type) (any, error) { return nil, errNative }

// Value implements ref.Val; it returns the text.
func (v value) Value() any { return v.raw() }

// Value implements ref.Val; it returns the value of CEL's own value.
func (s *scalar) Value() any { return s.normalize().Value() }

// Type implements ref.Val.
func (o *object) Type() ref.Type { return types.MapType }

// Type implements ref.Val.
func (l *list) Type() ref.Type { return types.ListType }

// Type implements ref.Val; it is the type of CEL's own value.
func (s *scalar) Type() ref.Type { return s.normalize().Type() }

// size returns how many members or elements there are, which it counts.
func (v value) size() int {
	n := v.tree.Len(v.node)
	v.e.spend(n / membersPerUnit)
	return n
}

// convert returns a map or list of type self as one of type to, or as its type's name; anything else is an error.
func convert(v ref.Val, self, to ref.Type) ref.Val {
	switch to {
	case self:
		return v
	case types.TypeType:
		return self.(*types.Type)
	}
	return types.NewErr("type conversion error from '%s' to '%s'", self.TypeName(), to.TypeName())
}

// ConvertToType implements ref.Val.
func (o *object) ConvertToType(t ref.Type) ref.Val { return convert(o, types.MapType, t) }

// ConvertToType implements ref.Val.
func (l *list) ConvertToType(t ref.Type) ref.Val { return convert(l, types.ListType, t) }

// ConvertToType implements ref.Val.
func (s *scalar) ConvertToType(t ref.Type) ref.Val { return s.normalize().ConvertToType(t) }

// Equal implements ref.Val.
func (o *object) Equal(other ref.Val) ref.Val { return types.Bool(o.e.equal(o, other)) }

// Equal implements ref.Val.
func (l *list) Equal(other ref.Val) ref.Val { return types.Bool(l.e.equal(l, other)) }

// Equal implements ref.Val.
func (s *scalar) Equal(other ref.Val) ref.Val { return types.Bool(s.e.equal(s, other)) }

// Find implements traits.Mapper; it returns the member before normalization.
func (o *object) Find(key ref.Val) (ref.Val, bool) {
	name, ok := normalize(key).(types.String)
	if !ok {
		return nil, false
	}
	tree, passed := o.tree, 0
	for n := tree.First(o.node); n != jsondoc.None; n = tree.Next(n) {
		passed++
		if tree.KeyIs(n, string(name)) {
			o.e.spend(passed / membersPerUnit)
			return wrap(o.e, tree, n), true
		}
	}
	o.e.spend(passed / membersPerUnit)
	if o.e.explained != nil && o.tree == o.e.tree { // and not one of params
		o.e.explained.note(o.node, string(name))
	}
	return nil, false
}

// Get implements traits.Indexer.
func (o *object) Get(key ref.Val) ref.Val {
	if v, ok := o.Find(key); ok {
		return v
	}
	return keyError("no such key", key)
}

// Contains implements traits.Container.
func (o *object) Contains(key ref.Val) ref.Val {
	_, ok := o.Find(key)
	return types.Bool(ok)
}

// Size implements traits.Sizer.
func (o *object) Size() ref.Val { return types.Int(o.size()) }

// Iterator walks the member names in document order.
func (o *object) Iterator() traits.Iterator {
	return &iterator{value: value{e: o.e, tree: o.tree}, next: o.tree.First(o.node), keys: true}
}

// Fold implements traits.Foldable, in document order.
func (o *object) Fold(f traits.Folder) {
	tree := o.tree
	for n := tree.First(o.node); n != jsondoc.None; n = tree.Next(n) {
		if !f.FoldEntry(types.String(tree.Key(n)), wrap(o.e, tree, n)) {
			return
		}
	}
}

// Get implements traits.Indexer.
func (l *list) Get(index ref.Val) ref.Val {
	i, err := types.IndexOrError(normalize(index))
	if err != nil {
		return types.NewErrFromString(err.Error())
	}
	n, passed := l.tree.First(l.node), 0
	for ; i > 0 && n != jsondoc.None; i-- {
		n = l.tree.Next(n)
		passed++
	}
	l.e.spend(passed / membersPerUnit)
	if i < 0 || n == jsondoc.None {
		return keyError("index out of bounds", index)
	}
	return wrap(l.e, l.tree, n)
}

// Add implements traits.Adder: concatenation.
func (l *list) Add(other ref.Val) ref.Val { return add(l.e, []ref.Val{l, other}) }

// addNoList returns what a list of the document and a value that is no list add up to: an error. In rules it costs all that is left,
// because it always did, and a released version of the fold gives what it gave.
func (l *list) addNoList(other ref.Val) ref.Val {
	if !l.e.exact {
		l.e.spend(l.e.left + 1)
	}
	return types.MaybeNoSuchOverloadErr(other)
}

// elements returns the list's elements as the document has them before normalization.
func (e *evaluation) elements(l traits.Lister) []ref.Val {
	if held, ok := l.Value().([]ref.Val); ok {
		e.spend(elementCost * len(held))
		return held
	}
	var all []ref.Val
	for it := l.Iterator(); it.HasNext() == types.True; {
		e.spend(elementCost)
		all = append(all, it.Next())
	}
	return all
}

// Contains implements traits.Container.
func (l *list) Contains(v ref.Val) ref.Val { return types.Bool(l.e.contains(l, v)) }

// Size implements traits.Sizer.
func (l *list) Size() ref.Val { return types.Int(l.size()) }

// Iterator walks the elements in order.
func (l *list) Iterator() traits.Iterator {
	return &iterator{value: value{e: l.e, tree: l.tree}, next: l.tree.First(l.node)}
}

// If a scalar is the index of a selection, as in doc.names[doc.lang], cel-go asks it to do the selecting.

// ID implements interpreter.Qualifier.
func (s *scalar) ID() int64 { return 0 }

// IsOptional implements interpreter.Qualifier.
func (s *scalar) IsOptional() bool { return false }

// Qualify implements interpreter.Qualifier.
func (s *scalar) Qualify(_ cel.Activation, obj any) (any, error) {
	var out ref.Val
	switch c := obj.(type) {
	case traits.Mapper:
		out = c.Get(s.normalize())
	case traits.Lister:
		out = c.Get(s.normalize())
	default:
		return nil, errors.New("no such key: of a value that has none")
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

// iterator walks the members or elements from next on.
type iterator struct {
	value
	next jsondoc.Node
	keys bool // it gives the members' names
}

// Type implements ref.Val.
func (it *iterator) Type() ref.Type { return types.IteratorType }

// Equal implements ref.Val; no iterator equals anything.
func (it *iterator) Equal(ref.Val) ref.Val { return types.False }

// ConvertToType implements ref.Val; it always fails.
func (it *iterator) ConvertToType(ref.Type) ref.Val { return types.NewErr("no such overload") }

// HasNext implements traits.Iterator.
func (it *iterator) HasNext() ref.Val { return types.Bool(it.next != jsondoc.None) }

// Next implements traits.Iterator.
func (it *iterator) Next() ref.Val {
	n := it.next
	if n == jsondoc.None {
		return types.NewErr("no such element")
	}
	it.next = it.tree.Next(n)
	if it.keys {
		it.e.spendText(len(it.tree.RawKey(n)), bytesPerUnit)
		return types.String(it.tree.Key(n))
	}
	return wrap(it.e, it.tree, n)
}

// adapter gives cel-go normalized scalars wherever it asks for a value.
type adapter struct{}

// NativeToValue implements types.Adapter.
func (adapter) NativeToValue(v any) ref.Val {
	if s, ok := v.(*scalar); ok {
		return s.normalize()
	}
	return types.DefaultTypeAdapter.NativeToValue(v)
}
