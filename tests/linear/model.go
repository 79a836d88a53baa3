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

// Width returns how many stored documents a group's last document stands for. They are read together, and written together with
// the same value, so that a transaction may be large where the model's state is small. nil is 1 for every group.
type Width func(group int) int

// docIDs returns the IDs of the stored documents that a group's document stands for.
func (w Width) docIDs(group, doc int) []string {
	id := fmt.Sprintf("g%d-%d", group, doc)
	if doc < GroupDocs-1 || w == nil || w(group) == 1 {
		return []string{id}
	}
	ids := make([]string, w(group))
	for i := range ids {
		ids[i] = fmt.Sprintf("%s-%d", id, i)
	}
	return ids
}

// ids returns the IDs of all stored documents of an operation.
func (w Width) ids(in Input) (ids []string) {
	for _, a := range in.Acts {
		ids = append(ids, w.docIDs(in.Group, a.Doc)...)
	}
	return ids
}

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

// getAll returns what reads all documents of a group at once.
func getAll() (acts []Act) {
	for doc := range GroupDocs {
		acts = append(acts, Act{Op: "get", Doc: doc})
	}
	return acts
}

// Output is what an operation gave.
type Output struct {
	Kind   Outcome
	Values State // read, of the operation's documents; "" where there is no document
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

// shows tells whether these are the values of what was read.
func (s State) shows(acts []Act, values State) bool {
	for _, a := range acts {
		if s[a.Doc] != values[a.Doc] {
			return false
		}
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
			return s.shows(in.Acts, out.Values), s
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
