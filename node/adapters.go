package node

import (
	"context"
	"time"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/api"
	"github.com/fanfold/fanfold/events"
	"github.com/fanfold/fanfold/projector"
	"github.com/fanfold/fanfold/projector/inspect"
	"github.com/fanfold/fanfold/sqlite"
	"github.com/fanfold/fanfold/writer"
)

// The packages' interfaces are met here: each asks only for what it needs.

// source reads the log for the projector.
type source struct{ *events.Log }

func (s source) Events(ctx context.Context, from uint64) (projector.Reader, error) {
	return s.Read(ctx, from)
}

// writerRows is the read model as the writer sees it.
type writerRows struct{ *sqlite.Store }

func (r writerRows) Read(fn func(writer.Snapshot) error) error {
	return r.Store.Read(func(s *sqlite.Snapshot) error { return fn(s) })
}
func (r writerRows) Wait(ctx context.Context, seq uint64) error {
	return r.Store.Applied.Wait(ctx, seq)
}
func (r writerRows) Applied() uint64 { return r.Store.Applied.Seq() }

// reader is the read model as the API sees it.
type reader struct{ *sqlite.Store }

func (r reader) Read(fn func(api.Snapshot) error) error {
	return r.Store.Read(func(s *sqlite.Snapshot) error { return fn(s) })
}
func (r reader) Scan() (api.Scan, error) {
	sc, err := r.Store.Scan()
	if err != nil {
		return nil, err
	}
	return scan{sc}, nil
}

// folded tells the API what was folded.
type folded struct{ store *sqlite.Store }

func (f folded) Wait(ctx context.Context, seq uint64) error { return f.store.Applied.Wait(ctx, seq) }
func (f folded) Applied() uint64                            { return f.store.Applied.Seq() }
func (f folded) Outcome(seq uint64) (fanfold.Op, int64, bool) {
	return f.store.Applied.Outcome(seq)
}

func (f folded) Outcomes(first uint64, count int) (changes []*fanfold.Change, derived int64, err error) {
	changes = make([]*fanfold.Change, count)
	err = f.store.Read(func(s *sqlite.Snapshot) (err error) {
		for i := range changes {
			if changes[i], err = s.Change(fanfold.At(first+uint64(i), 0)); err != nil {
				return err
			}
		}
		derived, err = s.Derived(first, count)
		return err
	})
	return changes, derived, err
}

// inspector is what the API needs of package inspect.
type inspector struct {
	*inspect.Inspector
	store *sqlite.Store
}

func (i inspector) Lineage(key fanfold.Key) (any, error) { return i.Inspector.Lineage(key) }

func (i inspector) Verify(ctx context.Context) (any, error) { return inspect.Verify(ctx, i.store) }

// scan is a long snapshot as the API sees it.
type scan struct{ *sqlite.Scanner }

func (s scan) Model() ([]byte, fanfold.Reserved, error) {
	m, err := s.Scanner.Model()
	return m.Source, m.Reserved, err
}

// feedStore is the read model as the change feed sees it.
type feedStore struct{ *sqlite.Store }

func (f feedStore) Changes(q fanfold.ChangeQuery) (page fanfold.ChangePage, err error) {
	err = f.Read(func(s *sqlite.Snapshot) error {
		page, err = s.Changes(q)
		return err
	})
	return page, err
}

func (f feedStore) Head() (at fanfold.Position, err error) {
	err = f.Read(func(s *sqlite.Snapshot) error { at = s.At(); return nil })
	return at, err
}

func (f feedStore) Before(t time.Time) (at fanfold.Position, err error) {
	err = f.Read(func(s *sqlite.Snapshot) error {
		at, err = s.Before(t)
		return err
	})
	return at, err
}

func (f feedStore) Changed(seq uint64) <-chan struct{}         { return f.Applied.Changed(seq) }
func (f feedStore) Wait(ctx context.Context, seq uint64) error { return f.Applied.Wait(ctx, seq) }
