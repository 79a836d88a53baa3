package sqlite

import (
	"context"

	"github.com/fanfold/fanfold"
)

// DifferentDocuments stub.
func (f *Frozen) DifferentDocuments(ctx context.Context, db *DB, fn func(key fanfold.Key) error) error {
	return nil
}
