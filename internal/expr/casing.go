package expr

import (
	"slices"
	"strings"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
)

// caseRange is a range of characters, each step after the one before it, whose other case is delta away.
type caseRange struct{ first, last, step, delta rune }

// casing declares a function that gives a text in another case, character by character, by a table.
func casing(name string, table []caseRange) cel.EnvOption {
	return cel.Function(name, cel.Overload(name+"_string", []*cel.Type{cel.StringType}, cel.StringType, cel.UnaryBinding(func(v ref.Val) ref.Val {
		text, ok := v.(types.String)
		if !ok {
			return types.MaybeNoSuchOverloadErr(v)
		}
		return types.String(strings.Map(func(r rune) rune { return changeCase(table, r) }, string(text)))
	})))
}

// changeCase returns a character's other case by a table, whose ranges are in order, or the character where it has none.
func changeCase(table []caseRange, r rune) rune {
	i, _ := slices.BinarySearchFunc(table, r, func(c caseRange, r rune) int { return int(c.last - r) })
	if i < len(table) && r >= table[i].first && (r-table[i].first)%table[i].step == 0 {
		return r + table[i].delta
	}
	return r
}
