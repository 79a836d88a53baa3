package fold

import (
	"fmt"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/internal/expr"
	"github.com/fanfold/fanfold/migrations"
	"github.com/fanfold/fanfold/model"
)

// OldestVersion is the first version of the fold that this program knows. A log without an event that sets another has this
// version. A version gives the same rows for the same events for ever: whatever gives other rows is a condition on a new version.
const OldestVersion = 8

// decimals is the version from which on the numbers of rules are exact decimals. In version 8 they were CEL's: int64 and float64.
const decimals = 9

// differsByNumbers reports whether a rule may give another value with exact decimals: whether it does more than select members.
func differsByNumbers(r *Rule, from, to int) bool {
	return (from < decimals) != (to < decimals) && (computes(r.Value) || computes(r.Where))
}

// computes reports whether an expression does more than select members by their names.
func computes(expression string) bool { return expression != "" && !expr.Selects(expression) }

// compile returns the program of a rule's expression under a version of the fold.
func compile(expression string, version int) (*expr.Program, error) {
	if version < decimals {
		return expr.CompileBinary(expression)
	}
	return expr.Compile(expression)
}

// compileValue does what compile does for a rule's value: of the document's own it sees meta, too.
func compileValue(r *model.Rule, version int) (*expr.Program, error) {
	if r.Kind == model.Computed && version >= decimals {
		return expr.CompileOwn(r.Value)
	}
	return compile(r.Value, version)
}

// Fingerprint names what the rows of a read model depend on besides the log: the schema and the implementation of the
// expressions. The log says by which version each event is folded. A file with another one is rebuilt when it is opened.
func Fingerprint() string { return fmt.Sprintf("schema %d, %s", migrations.Version, expr.Version) }

// CheckVersion returns Unavailable for a version of the fold that this program does not know, nil otherwise.
func CheckVersion(version int) error {
	if version >= OldestVersion && version <= LatestVersion {
		return nil
	}
	return fanfold.Errorf(fanfold.Unavailable, "it is folded by version %d, and this program knows the versions %d to %d: run a program that knows it (docs/run/upgrade.md)", version, OldestVersion, LatestVersion)
}

// Known returns Unavailable where this program cannot fold by the plan's version: its read model was made by a newer one.
func (p *Plan) Known() error { return CheckVersion(p.Version) }
