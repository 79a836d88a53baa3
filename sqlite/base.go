package sqlite

import (
	"context"
	"io"

	"github.com/fanfold/fanfold"
)

// WriteBase writes the state of a generation that Build made, without its changes, as the file of a base, and returns the horizon that it
// is of.
func (db *DB) WriteBase(ctx context.Context, w io.Writer) (fanfold.Horizon, error) {
	return fanfold.Horizon{}, fanfold.Errorf(fanfold.Internal, "not built yet")
}

// LoadBase fills a generation that Build made, and that is empty, with the state that the file of a base has. The file must be of the
// horizon that is given. It returns what the horizon is in full.
func (db *DB) LoadBase(ctx context.Context, r io.Reader, want fanfold.Horizon) (fanfold.Horizon, error) {
	return fanfold.Horizon{}, fanfold.Errorf(fanfold.Internal, "not built yet")
}

// Horizon returns where the store begins, as the last compact event that was folded says, and the horizon of the base on which the file
// was built: less until it was built anew.
func (s *Snapshot) Horizon() (h fanfold.Horizon, base uint64, err error) {
	return h, 0, nil
}

// SetHorizon records that the store begins at a horizon.
func (tx *Tx) SetHorizon(h fanfold.Horizon) error {
	return fanfold.Errorf(fanfold.Internal, "not built yet")
}

// CompareAfter does what Compare does with a generation that was built on the base of a horizon: it leaves out the changes up to that, and
// what only such a generation has. Derived changes are compared by their patches, not by how these are stored.
func (f *Frozen) CompareAfter(ctx context.Context, db *DB, h fanfold.Horizon, progress fanfold.Progress) (*Differences, error) {
	return nil, fanfold.Errorf(fanfold.Internal, "not built yet")
}
