package inspect

import (
	"fmt"
	"maps"
	"slices"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/model"
	"github.com/fanfold/fanfold/sqlite"
)

// uncovered holds the documents with a member of their own at the path of a rule that goes, while the path stays reserved.
type uncovered struct {
	rule      *model.Rule
	documents int64
	first     string
}

// checkUncovered notes members of the document's own that a rule hid which goes.
func (v *previewer) checkUncovered(row *sqlite.Row) {
	for _, r := range v.change.Uncovered(row) {
		if v.uncovered[r.Name()] == nil {
			v.uncovered[r.Name()] = &uncovered{rule: r, first: row.Key.String()}
		}
		v.uncovered[r.Name()].documents++
	}
}

// uncoveredWarnings lists, by name, the rules for which checkUncovered noted documents.
func (v *previewer) uncoveredWarnings() (out []fanfold.Problem) {
	for _, name := range slices.Sorted(maps.Keys(v.uncovered)) {
		u := v.uncovered[name]
		out = append(out, fanfold.Problem{Path: fmt.Sprintf("collections.%s.release", u.rule.Collection),
			Detail: fmt.Sprintf("%d documents, such as %s, have a member of their own at %q, which shows again when the rule goes, and which their next write loses: release the path to keep it", u.documents, u.first, u.rule.Path.String())})
	}
	return out
}
