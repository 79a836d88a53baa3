package expr

import (
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/common/types/traits"
)

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
