package projector

import (
	"bytes"
	"context"
	"errors"
	"io"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/sqlite"
)

// errNotPrepared is the error of who asks what an erasure changes before its read model is ready.
var errNotPrepared = fanfold.Errorf(fanfold.Unavailable, "the read model is not prepared for the erasure")

// ErasedViews returns the keys of the documents whose present views differ by an erasure, and the position for which that holds. A read model is prepared as of that
// erasure. It blocks until a copy of the read model that is served was compared with the prepared one. It returns Unavailable if no such read model is prepared, and the
// errors of ctx and the read models.
func (p *Projector) ErasedViews(ctx context.Context, erasure uint64) (keys map[fanfold.Key]struct{}, at fanfold.Position, err error) {
	w := p.erasing.take(erasure)
	if w == nil || w.erasure != erasure || !w.isReady() {
		return nil, 0, errNotPrepared
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.r == nil {
		return nil, 0, errNotPrepared
	}
	frozen, err := p.store.Freeze(ctx)
	if err != nil {
		return nil, 0, err
	}
	defer func() { err = errors.Join(err, frozen.Remove()) }()
	if err := w.r.catchUpTo(ctx, frozen.Checkpoint.Seq); err != nil {
		return nil, 0, err
	}
	keys = map[fanfold.Key]struct{}{}
	if err := frozen.DifferentDocuments(ctx, w.r.db, func(key fanfold.Key) error {
		keys[key] = struct{}{}
		return nil
	}); err != nil {
		return nil, 0, err
	}
	at, err = w.addChanged(ctx, keys, frozen.Checkpoint.At())
	w.at = at
	return keys, at, err
}

// noteMissed compares the views that were changed since ErasedViews once more, right before the change over. It is called with w.mu held.
func (w *erasedModel) noteMissed(ctx context.Context) error {
	if w.at == 0 {
		return nil
	}
	keys := map[fanfold.Key]struct{}{}
	if _, err := w.addChanged(ctx, keys, w.at); err != nil {
		return err
	}
	e := &w.p.erasing
	e.mu.Lock()
	defer e.mu.Unlock()
	e.missed = &missedViews{w.erasure, keys}
	return nil
}

// MissedViews returns the keys of the documents that ErasedViews has missed, because they were changed later; nil, false where that is not known.
func (p *Projector) MissedViews(erasure uint64) (keys map[fanfold.Key]struct{}, known bool) {
	e := &p.erasing
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.missed == nil || e.missed.erasure != erasure {
		return nil, false
	}
	return e.missed.keys, true
}

// catchUpTo replays up to an event, at which the result must be then.
func (r *rebuilding) catchUpTo(ctx context.Context, seq uint64) error {
	target := r.target
	defer func() { r.target = target }()
	r.target = func() uint64 { return seq }
	if err := r.catchUp(ctx); err != nil {
		return err
	}
	if r.at != seq {
		return fanfold.Errorf(fanfold.Internal, "the replay cannot stop at event %d, and is at %d", seq, r.at)
	}
	return nil
}

// addChanged looks again at the documents that were changed after a position, and returns the position at which it did.
func (w *erasedModel) addChanged(ctx context.Context, keys map[fanfold.Key]struct{}, after fanfold.Position) (at fanfold.Position, err error) {
	sc, err := w.p.store.Scan()
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, sc.Close()) }()
	if err := w.r.catchUpTo(ctx, sc.Checkpoint.Seq); err != nil {
		return 0, err
	}
	changed := map[fanfold.Key]struct{}{}
	note := func(key fanfold.Key) { changed[key] = struct{}{} }
	err = w.r.db.ReadUnshared(func(prepared *sqlite.Snapshot) error {
		if err := errors.Join(changedAfter(sc.Snapshot, after, note), changedAfter(prepared, after, note)); err != nil {
			return err
		}
		for key := range changed {
			same, err := sameViews(sc.Snapshot, prepared, key)
			if err != nil {
				return err
			}
			if delete(keys, key); !same {
				keys[key] = struct{}{}
			}
		}
		return ctx.Err()
	})
	return sc.Checkpoint.At(), err
}

// sameViews tells whether two read models have the same views of a document.
func sameViews(a, b *sqlite.Snapshot, key fanfold.Key) (bool, error) {
	one, err := a.Row(key)
	if err != nil {
		return false, err
	}
	other, err := b.Row(key)
	if err != nil || one == nil || other == nil {
		return one == nil && other == nil, err
	}
	return bytes.Equal(one.Body, other.Body) && bytes.Equal(one.ReferencedText(), other.ReferencedText()), nil
}

// changedAfter calls fn with the key of each document that was changed after a position.
func changedAfter(s *sqlite.Snapshot, after fanfold.Position, fn func(fanfold.Key)) error {
	for end := s.At(); after < end; {
		last, err := s.ChangedKeys(after, end, false, fn)
		if err != nil || last <= after {
			return err
		}
		after = last
	}
	return nil
}

// ChangedBetween calls fn with the key of each document that the read model that is served has a change of after a position and before an event.
// A document may come several times.
func (p *Projector) ChangedBetween(after fanfold.Position, before uint64, fn func(fanfold.Key)) error {
	return p.store.Read(func(s *sqlite.Snapshot) error {
		for end := fanfold.At(before, 0) - 1; after < end; {
			last, err := s.ChangedKeys(after, end, false, fn)
			if err != nil || last <= after {
				return err
			}
			after = last
		}
		return nil
	})
}

// WriteErasedBase writes the base at which the log begins as of an erasure, and returns its horizon; ok is false where the log begins with its first event. It
// blocks until w has everything. It returns the errors of reading the base, of ctx and of w.
func (p *Projector) WriteErasedBase(ctx context.Context, erasure uint64, w io.Writer) (h fanfold.Horizon, ok bool, err error) {
	base, err := p.log.Base(ctx)
	if err != nil || base == nil {
		return h, false, err
	}
	db, err := p.store.Build()
	if err != nil {
		return h, false, err
	}
	r := p.newRebuilding(db, erasure, nil)
	defer func() { err = errors.Join(err, p.store.Discard(r.db)) }()
	if err := r.load(ctx, base); err != nil {
		return h, false, err
	}
	h, err = r.db.WriteSaltedBase(ctx, w)
	return h, true, err
}
