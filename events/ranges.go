package events

import (
	"fmt"
	"strings"
)

// Range is a run of sequences, both ends included.
type Range struct {
	First uint64 `json:"first"`
	Last  uint64 `json:"last"`
}

// String returns the range as people write it.
func (r Range) String() string {
	if r.First == r.Last {
		return fmt.Sprint(r.First)
	}
	return fmt.Sprintf("%d-%d", r.First, r.Last)
}

// Ranges returns sequences, which are in order, as runs.
func Ranges(seqs []uint64) (out []Range) {
	for _, seq := range seqs {
		if n := len(out); n > 0 && out[n-1].Last+1 == seq {
			out[n-1].Last = seq
			continue
		}
		out = append(out, Range{seq, seq})
	}
	return out
}

// NameRanges returns the first of some ranges as text, most of them at most, and how many more there are.
func NameRanges(ranges []Range, most int) string {
	var names []string
	for _, r := range ranges[:min(most, len(ranges))] {
		names = append(names, r.String())
	}
	out := strings.Join(names, ", ")
	if more := len(ranges) - len(names); more > 0 {
		out += fmt.Sprintf(" and %d more places", more)
	}
	return out
}
