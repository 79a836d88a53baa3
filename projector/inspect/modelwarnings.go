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
	for after, more := "", true; more; {
		var list []fanfold.CollectionCount
		var err error
		if list, more, err = s.CollectionsBehind(after, closedPage); err != nil {
			return nil, err
		}
		for _, c := range list {
			after = c.Name
			if c.Documents == 0 || next.Writable(c.Name) || !prev.Writable(c.Name) {
				continue
			}
			if closed++; closed <= closedNamed {
				named = append(named, fmt.Sprintf("%s (%d)", c.Name, c.Documents))
			}
		}
	}
	if closed > closedNamed {
		named = append(named, fmt.Sprintf("and %d more", closed-closedNamed))
	}
	if closed > 0 {
		warnings = append(warnings, fanfold.Problem{Path: "open", Detail: "documents of collections that the model does not declare stay, can be read, and cannot be written any more: " + strings.Join(named, ", ")})
	}
	return warnings, nil
}
