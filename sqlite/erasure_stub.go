package sqlite

import (
	"context"
	"time"

	"github.com/fanfold/fanfold"
)

// StoredErasure stub.
type StoredErasure struct {
	Seq, Of           uint64
	Documents, Events int64
	Time              time.Time
	Actor             string
	Position          fanfold.Position
}

// SetErasure stub.
func (db *DB) SetErasure(seq uint64) error { return nil }

// Amend stub.
func (db *DB) Amend(digest fanfold.Digest, fn func(tx *Tx) error) (fanfold.Horizon, error) {
	return fanfold.Horizon{}, nil
}

// Erasures stub.
func (s *Snapshot) Erasures() ([]StoredErasure, error) { return nil, nil }

// Erasure stub.
func (s *Snapshot) Erasure(seq uint64) (*StoredErasure, error) { return nil, nil }

// EachErasedDocument stub.
func (s *Snapshot) EachErasedDocument(fn func(erasure uint64, d fanfold.ErasedDocument) error) error {
	return nil
}

// Empty stub.
func (s *Store) Empty() error { return nil }

// DifferentDocuments stub.
func (f *Frozen) DifferentDocuments(ctx context.Context, db *DB, fn func(key fanfold.Key) error) error {
	return nil
}
