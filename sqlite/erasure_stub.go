package sqlite

import (
	"context"

	"github.com/fanfold/fanfold"
)

// Amendment stub.
type Amendment struct {
	Erasure     uint64
	Digest      fanfold.Digest
	ForgetEvent bool
}

// Amend stub.
func (db *DB) Amend(a Amendment, fn func(tx *Tx) error) (fanfold.Horizon, error) {
	return fanfold.Horizon{}, nil
}

// DifferentDocuments stub.
func (f *Frozen) DifferentDocuments(ctx context.Context, db *DB, fn func(key fanfold.Key) error) error {
	return nil
}
