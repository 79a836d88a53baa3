package inspect

import (
	"fmt"
	"strings"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/internal/schema"
	"github.com/fanfold/fanfold/model"
	"github.com/fanfold/fanfold/sqlite"
)

// Of the collections that a model closes, how many are asked for at a time, and how many are named.
const (
	closedPage  = 1000
	closedNamed = 10
)

// modelWarnings returns what the model hardly means: by itself, and where it closes collections that hold documents, which
// the one that applies lets be written. It looks at no documents.
func modelWarnings(s *sqlite.Snapshot, prev, next *model.Model) ([]fanfold.Problem, error) {
	warnings := next.Warnings()
	for _, c := range next.Collections {
		if c.Schema != nil && schema.RefusesIDs(c.Schema) {
			warnings = append(warnings, fanfold.Problem{Path: "collections." + c.Name + ".schema", Detail: "refuses every document: each has an id, which stands in no properties, and others are not allowed; add \"id\": {\"type\": \"string\"}"})
		}
	}
	if !next.Closed {
		return warnings, nil
	}
	var named []string
	closed := 0
	if err := eachWithDocuments(s, func(c fanfold.CollectionCount) {
		if next.Writable(c.Name) || !prev.Writable(c.Name) {
			return
		}
		if closed++; closed <= closedNamed {
			named = append(named, fmt.Sprintf("%s (%d)", c.Name, c.Documents))
		}
	}); err != nil {
		return nil, err
	}
	if closed > closedNamed {
		named = append(named, fmt.Sprintf("and %d more", closed-closedNamed))
	}
	if closed > 0 {
		warnings = append(warnings, fanfold.Problem{Path: "open", Detail: "documents of collections that the model does not declare stay, can be read, and cannot be written any more: " + strings.Join(named, ", ")})
	}
	return warnings, nil
}

// eachWithDocuments calls fn for each collection that holds documents, in order of their names. The error is the read model's.
func eachWithDocuments(s *sqlite.Snapshot, fn func(c fanfold.CollectionCount)) error {
	for after, more := "", true; more; {
		var list []fanfold.CollectionCount
		var err error
		if list, more, err = s.CollectionsBehind(after, closedPage); err != nil {
			return err
		}
		for _, c := range list {
			if after = c.Name; c.Documents > 0 {
				fn(c)
			}
		}
	}
	return nil
}

// misnamedCollections returns the problems of collections that hold documents under names that the model does not admit, closedNamed
// of them at most.
func misnamedCollections(s *sqlite.Snapshot, change *model.Comparison) (problems []fanfold.Problem, err error) {
	if !change.ChangesCapitals() {
		return nil, nil
	}
	err = eachWithDocuments(s, func(c fanfold.CollectionCount) {
		if problem, bad := change.Misnamed(c.Name); bad && len(problems) < closedNamed {
			problems = append(problems, problem)
		}
	})
	return problems, err
}
