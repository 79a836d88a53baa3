package main

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/fanfold/fanfold/client"
)

// maxKinds bounds how many codes of refused lines are counted by themselves; others count as "other".
const maxKinds = 50

// refusals prints the first lines of an import that are refused, and counts all of them by the codes of their problems.
type refusals struct {
	most    int // to print
	printed int
	kinds   map[client.Code]int
}

// begin forgets what an attempt to import has counted.
func (r *refusals) begin() { r.printed, r.kinds = 0, map[client.Code]int{} }

// add counts a refused line, and prints it while there is room.
func (r *refusals) add(out io.Writer, refused client.Refusal) {
	if r.kinds == nil {
		r.begin()
	}
	code := refused.Code
	if _, known := r.kinds[code]; !known && len(r.kinds) >= maxKinds {
		code = "other"
	}
	r.kinds[code]++
	switch r.printed++; {
	case r.printed <= r.most:
		fmt.Fprintf(out, "%sline %d: %s\n", clearLine(), refused.Line, shown(refused.Detail))
	case r.printed == r.most+1 && r.most > 0:
		fmt.Fprintf(out, "%smore lines are refused, and counted: --refusals prints more of them\n", clearLine())
	}
}

// kindsText returns how many lines each code has, the most frequent first.
func kindsText(kinds map[client.Code]int) string {
	codes := slices.SortedFunc(maps.Keys(kinds), func(a, b client.Code) int {
		if kinds[a] != kinds[b] {
			return kinds[b] - kinds[a]
		}
		return strings.Compare(string(a), string(b))
	})
	texts := make([]string, len(codes))
	for i, code := range codes {
		texts[i] = fmt.Sprintf("%s: %d", code, kinds[code])
	}
	return strings.Join(texts, ", ")
}
