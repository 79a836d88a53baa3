package fold

import (
	"fmt"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/internal/expr"
	"github.com/fanfold/fanfold/migrations"
)

// OldestVersion is the first version of the fold that this program knows, and that of a log without an event that sets another.
// What a version gives for the same events never changes: whatever is to give other rows is a condition on a new version.
const OldestVersion = 8

// Fingerprint names what the rows of a read model depend on besides the log, which says by which version each event is
// folded: the schema and the implementation of the expressions. A file with another one is rebuilt when it is opened.
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
