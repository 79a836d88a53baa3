package modelfile

import (
	"fmt"
	"strings"
)

// Bounds of a new model besides its text's. Rules, relations and unique members are held against each other, and each
// collection's in every write.
const (
	maxCollections  = 1000
	maxRelations    = 500
	maxRules        = 1000
	maxElementRules = 32 // of a collection, which each go through up to a million elements of a document
	maxUnique       = 200
	maxIndexes      = 500
	maxSequences    = 8 // of one collection
	maxRelease      = 2000
	maxFields       = 100       // of one rule
	maxFlows        = 10_000    // pairs of a rule and a collection that its value tells about
	maxLevels       = 64        // of rules that each read a value of the one before: a document is computed once for each
	maxName         = 255       // of a relation's name, in bytes
	maxSchemas      = 128 << 10 // bytes of all JSON Schemas together
)

// MaxPath is how many bytes a path has at most.
const MaxPath = 2000

// maxProblems is how many mistakes of a model are listed.
const maxProblems = 100

// sizes counts what a model has of each.
type sizes struct {
	collections, relations, rules, unique, indexes, release int
	expressions, parts                                      int
	schemas, sources                                        int // bytes
}

// counted counts one more of something at a path in the model. It is false, and reports it once, where a new model has
// more of them than most.
func (p *parser) counted(count *int, most int, what, at string) bool {
	*count++
	if !p.isNew || *count <= most {
		return true
	}
	if *count == most+1 {
		p.problem(at, "the model has more than %d %s", most, what)
	}
	return false
}

// clip returns text, cut off where it is too long for a message.
func clip(text string) string {
	const longest = 1000
	if len(text) <= longest {
		return text
	}
	return strings.ToValidUTF8(text[:longest], "") + fmt.Sprintf("... (%d bytes)", len(text))
}
