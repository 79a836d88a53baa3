package events

import (
	"context"

	"github.com/fanfold/fanfold"
)

// Collecting stub.
type Collecting struct {
	Documents []fanfold.ErasedDocument
	Keep      map[string][]string
	From      uint64
	Body      func(key fanfold.Key) (source []byte, rev fanfold.Revision, err error)
}

// Collected stub.
type Collected struct {
	Erasures []*fanfold.Erasure
	Events   int64
	Versions int64
	Last     uint64
}

// Collect stub.
func (l *Log) Collect(ctx context.Context, c Collecting) (*Collected, error) { return &Collected{}, nil }

// EraseMessages stub.
func (l *Log) EraseMessages(ctx context.Context, also map[string]func(seq uint64) bool, progress func(done, total int64)) error {
	return nil
}

// Unerased stub.
func (l *Log) Unerased(ctx context.Context) (messages int64, residue bool, err error) {
	return 0, false, nil
}

// LastErased stub.
func (l *Log) LastErased() uint64 { return l.erasures.get().lastD }
