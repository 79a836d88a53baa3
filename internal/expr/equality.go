package expr

import (
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/common/types/traits"
)

// equal is CEL's equality, over values of ours and of cel-go alike.
func equal(a, b ref.Val) bool {
	a, b = normalize(a), normalize(b)
	if list, ok := a.(traits.Lister); ok {
		other, ok := b.(traits.Lister)
		return ok && equalLists(list, other)
	}
	if object, ok := a.(traits.Mapper); ok {
		other, ok := b.(traits.Mapper)
		return ok && equalMaps(object, other)
	}
	return types.Equal(a, b) == types.True
}

func equalLists(a, b traits.Lister) bool {
	if a.Size() != b.Size() {
		return false
	}
	as, bs := elements(a), elements(b)
	for i := range as {
		if !equal(as[i], bs[i]) {
			return false
		}
	}
	return true
}

func equalMaps(a, b traits.Mapper) bool {
	if a.Size() != b.Size() {
		return false
	}
	for it := a.Iterator(); it.HasNext() == types.True; {
		key := it.Next()
		value, ok := b.Find(normalize(key))
		if !ok || !equal(a.Get(key), value) {
			return false
		}
	}
	return true
}

// contains tells whether one of the list's elements equals v.
func contains(list traits.Lister, v ref.Val) bool {
	for _, e := range elements(list) {
		if equal(e, v) {
			return true
		}
	}
	return false
}
