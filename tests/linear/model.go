// Package linear has clients that record what they did to groups of documents, and the model that
// tells whether the history is linearizable.
package linear

import (
	"fmt"

	"github.com/anishathalye/porcupine"
)

const (
	// GroupDocs is how many documents a group has.
	GroupDocs = 3
	// GroupOps is how many operations a group gets.
	GroupOps = 48
	// Writers is how many clients write at a time.
	Writers = 8
)

// docID returns the ID of a group's document.
func docID(group, doc int) string { return fmt.Sprintf("g%d-%d", group, doc) }

// Input is an operation: what it does to documents of one group.
type Input struct {
	Group int
	Acts  []Act
}

// Act is what an operation does to one document of its group.
type Act struct {
	Op     string // create, put, patch, delete, check, get
	Doc    int
	Value  string // written
	Expect string // If-Match: the value of that revision; "" for none
}

// Output is what an operation gave.
type Output struct {
	Kind  Outcome
	Value string // read; "" where there is no document
}

// Outcome says whether an operation was done.
type Outcome int

// Done operations were acknowledged, Refused ones broke a condition, and of Unknown ones the answer was lost.
const (
	Done    Outcome = iota
	Refused         // by a condition
	Unknown
)

// State has the values of a group's documents.
type State [GroupDocs]string

// allowed tells whether the act's condition holds.
func (s State) allowed(a Act) bool {
	v := s[a.Doc]
	switch {
	case a.Expect != "":
		return v == a.Expect
	case a.Op == "create":
		return v == ""
	case a.Op == "patch" || a.Op == "delete":
		return v != ""
	}
	return true
}

func (s State) apply(acts []Act) (State, bool) {
	for _, a := range acts {
		if !s.allowed(a) {
			return s, false
		}
	}
	for _, a := range acts {
		switch a.Op {
		case "delete":
			s[a.Doc] = ""
		case "create", "put", "patch":
			s[a.Doc] = a.Value
		}
	}
	return s, true
}

// Model checks a history, each group of documents by itself.
var Model = porcupine.Model{
	Partition: func(history []porcupine.Operation) [][]porcupine.Operation {
		groups := map[int][]porcupine.Operation{}
		for _, op := range history {
			g := op.Input.(Input).Group
			groups[g] = append(groups[g], op)
		}
		var out [][]porcupine.Operation
		for _, g := range groups {
			out = append(out, g)
		}
		return out
	},
	Init: func() any { return State{} },
	Step: func(state, input, output any) (bool, any) {
		s, in, out := state.(State), input.(Input), output.(Output)
		if in.Acts[0].Op == "get" {
			return s[in.Acts[0].Doc] == out.Value, s
		}
		next, done := s.apply(in.Acts)
		switch out.Kind {
		case Done:
			return done, next
		case Refused:
			return !done, s
		default: // it may come at any time, also never: then it stands at the end
			return true, next
		}
	},
	DescribeOperation: func(input, output any) string {
		return fmt.Sprintf("%+v -> %+v", input.(Input).Acts, output.(Output))
	},
}
