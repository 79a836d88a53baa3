package rebuild

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"io"
	"strconv"
	"sync"
	"time"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/projector/batch"
	"github.com/fanfold/fanfold/projector/fold"
	"github.com/fanfold/fanfold/sqlite"
)

// errErasedMeanwhile is the error of a replay during which an erasure came into force.
var errErasedMeanwhile = fanfold.Errorf(fanfold.Conflict, "an erasure came into force meanwhile: run it again")

// amend brings a loaded base from an earlier erasure to the read model's erasure. The generation becomes another one, whose file never had what goes.
func (m *build) amend(ctx context.Context, from fanfold.AsOf) (err error) {
	defer batch.Recover(&err)
	plan, err := fold.LoadPlan(m.db.ReadUnshared)
	if err != nil {
		return err
	}
	erasures := m.b.log.ErasuresAfter(from, m.lists)
	amendment := sqlite.Amendment{AsOf: m.lists, Digest: amendedDigest(m.base.Seq, m.lists), ForgetEvent: true}
	f := m.b.NewFold(plan, nil)
	if _, err = m.db.Amend(amendment, func(tx *sqlite.Tx) error { return f.Amend(tx, erasures) }); err != nil {
		return err
	}
	clean, err := m.b.store.Build()
	if err != nil {
		return err
	}
	old := m.db
	m.db = clean
	m.base, err = old.MoveBase(ctx, clean)
	return errors.Join(err, m.b.store.Discard(old))
}

// amendedDigest returns what stands for the digest of all events up to a horizon once some of them are erased: nothing that was made of what they had.
func amendedDigest(horizon uint64, asOf fanfold.AsOf) fanfold.Digest {
	return sha256.Sum256([]byte("fanfold base " + strconv.FormatUint(horizon, 10) + " erasure " + strconv.FormatUint(uint64(asOf), 10)))
}

// BeginWithBase makes the base the read model that is served, where that lacks events that the log may not have any more. It returns the errors of the
// log and the base.
func (b *Builder) BeginWithBase(ctx context.Context) error {
	base, err := b.log.Base(ctx)
	if err != nil || base == nil || b.store.Applied.Seq() >= base.Horizon.Seq {
		return err
	}
	b.logger.Info("the read model begins with the base, for the log begins after it", "event", base.Horizon.Seq, "applied", b.store.Applied.Seq())
	return b.build(ctx, onBase(base))
}

// MustChangeOver tells whether an erasure is in force that the read model does not know of.
func (b *Builder) MustChangeOver() bool { return b.asOf() > b.AsOf() }

// ChangeOver puts a read model in place as of the erasures that are in force, if the served one is as of earlier ones. It takes the prepared
// one, or builds one. It blocks until then.
func (b *Builder) ChangeOver(ctx context.Context) error {
	for b.MustChangeOver() {
		inForce := b.asOf()
		b.logger.Info("an erasure is in force, and the read model changes over", "erasure", inForce)
		var err error = errGone
		w := b.take(inForce)
		if w != nil && w.erasure == inForce { // one as of a later erasure would show what no event says yet
			if err = w.takeOver(ctx); err != nil {
				b.logger.Warn("the read model that was prepared for an erasure cannot be used, and is built anew", "erasure", inForce, "err", err)
			}
		}
		if err == nil {
			continue
		}
		if err := cmp.Or(ctx.Err(), b.build(ctx, changeOver())); err != nil {
			return err
		}
	}
	return nil
}

const (
	lookForErasure = 250 * time.Millisecond // between two looks whether there is something to prepare
	keepPrepared   = 15 * time.Second       // for which a prepared read model is kept although there are later erasures
	pauseReady     = 100 * time.Millisecond
	pauseFailed    = 5 * time.Second // the first pause after a failure; each is twice as long as the one before
	maxPauseFailed = 5 * time.Minute
)

// ErasurePreparation says how far a read model for an erasure is.
type ErasurePreparation struct {
	Erasure fanfold.AsOf // the erasure that it has; 0 if none is built
	Ready   bool         // it follows the log, and may take over at any moment
	Seq     uint64       // the last event that was replayed
	Target  uint64
	Err     error // why the last one could not be built
}

// ErasurePreparation returns how far the read model is that is prepared for an erasure.
func (b *Builder) ErasurePreparation() ErasurePreparation {
	s, _ := b.states.get(erasures)
	out := ErasurePreparation{Seq: s.Seq, Target: s.Target, Err: s.Err}
	b.mu.Lock()
	defer b.mu.Unlock()
	if w := b.prepared; w != nil {
		out.Erasure, out.Ready = w.erasure, w.isReady()
	}
	return out
}

// ErasurePrepared returns the erasure that the prepared read model has, or else the one that is served; 0 for none. A
// prepared one may take over at any moment.
func (b *Builder) ErasurePrepared() fanfold.AsOf {
	erasure := b.AsOf()
	if s := b.ErasurePreparation(); s.Ready {
		erasure = max(erasure, s.Erasure)
	}
	return erasure
}

// prepared is a read model as of an erasure that is not in force yet. It follows the log beside the one that is served.
type prepared struct {
	b       *Builder
	erasure fanfold.AsOf
	ready   chan struct{} // closed once it is
	ended   chan struct{} // closed once it was taken, or cannot be used

	mu sync.Mutex       // held while it is worked on
	m  *build           // nil once it was swapped in, or has ended
	at fanfold.Position // up to which ErasedViews has compared views; 0 where it has not
}

// missedViews are the documents whose views became others by an erasure as it came into force, of those that were changed after the position of ErasedViews.
type missedViews struct {
	erasure fanfold.AsOf
	keys    map[fanfold.Key]struct{}
}

// errGone is the error of a read model that has ended, or is not ready any more.
var errGone = fanfold.Errorf(fanfold.NotFound, "the read model is not prepared")

// isReady tells whether it may take over.
func (w *prepared) isReady() bool {
	select {
	case <-w.ready:
		return true
	default:
		return false
	}
}

// take returns the preparation of an erasure or a later one, nil for none.
func (b *Builder) take(erasure fanfold.AsOf) *prepared {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.prepared == nil || b.prepared.erasure < erasure {
		return nil
	}
	return b.prepared
}

// PrepareErasures prepares a read model as of the last erase event whenever that is not in force, until ctx ends. It tries again after a failure.
func (b *Builder) PrepareErasures(ctx context.Context) {
	wait := pauseFailed
	for ctx.Err() == nil {
		last, _ := b.log.Erasures()
		if last <= b.asOf() || b.store.Applied.Seq() < uint64(last) {
			batch.Pause(ctx, lookForErasure)
			continue
		}
		w := &prepared{b: b, erasure: last, ready: make(chan struct{}), ended: make(chan struct{})}
		err := b.Rebuild(ctx, erased(w))
		switch {
		case ctx.Err() != nil:
			return
		case errors.Is(err, errBuilding):
			batch.Pause(ctx, lookForErasure)
		case errors.Is(err, fanfold.ErrRestarting):
			b.logger.Info("the read model for an erasure is built anew, because the log's server was started again", "erasure", last)
			b.states.end(State{use: erasures}, nil)
			batch.Pause(ctx, lookForErasure)
		case err == nil:
			wait = pauseFailed
		default:
			b.logger.Error("the read model for an erasure cannot be prepared, and is tried again", "erasure", last, "err", err)
			batch.Pause(ctx, wait)
			wait = min(2*wait, maxPauseFailed)
		}
	}
}

// begin replays the log up to where the read model is that is served. Whoever takes the preparation waits for it.
func (w *prepared) begin(ctx context.Context, m *build) (err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.b.mu.Lock()
	w.b.prepared = w
	w.b.mu.Unlock()
	defer func() {
		if err != nil {
			w.b.leave(w)
			w.m = nil
		}
	}()
	if err := beginWithLog(ctx, m); err != nil {
		return err
	}
	if err := m.catchUp(ctx); err != nil {
		return err
	}
	if err := m.db.SyncFile(); err != nil {
		return err
	}
	w.m = m
	close(w.ready)
	return m.catchUp(ctx)
}

// follow follows the log until it is taken, or a later erasure asks for another one. A read model that was not taken is removed.
func (w *prepared) follow(ctx context.Context, _ *build) error {
	defer w.end()
	w.b.logger.Info("the read model is prepared for an erasure", "erasure", w.erasure)
	for since := time.Now(); ; {
		last, inForce := w.b.log.Erasures()
		if inForce < w.erasure && last > w.erasure && time.Since(since) > keepPrepared {
			return nil
		}
		select {
		case <-w.b.store.Applied.Changed(w.b.store.Applied.Seq()):
			batch.Pause(ctx, pauseReady)
		case <-time.After(lookForErasure):
		case <-w.ended:
			return nil
		case <-ctx.Done():
			return nil
		}
		if w.b.AsOf() >= w.erasure { // another read model has taken over
			return nil
		}
		if err := w.catchUp(ctx); err != nil {
			return err
		}
	}
}

// catchUp follows the log up to where the read model is that is served.
func (w *prepared) catchUp(ctx context.Context) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.m == nil {
		return nil
	}
	return w.m.catchUp(ctx)
}

// takeOver makes it the read model that is served. It waits until it is built.
func (w *prepared) takeOver(ctx context.Context) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	m := w.m
	if m == nil {
		return errGone
	}
	defer close(w.ended)
	if err := w.noteMissed(ctx); err != nil {
		return err
	}
	w.m = nil
	return swapIn(ctx, m)
}

// end ends the preparation. Nobody takes it any more.
func (w *prepared) end() {
	w.b.leave(w)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.m = nil
}

// leave ends that a preparation is the current one.
func (b *Builder) leave(w *prepared) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.prepared == w {
		b.prepared = nil
	}
}

// errNotPrepared is the error of who asks what an erasure changes before its read model is ready.
var errNotPrepared = fanfold.Errorf(fanfold.Unavailable, "the read model is not prepared for the erasure")

// ErasedViews returns the keys of the documents whose present views differ by an erasure, and the position for which that holds. A read model is prepared as of that
// erasure. It blocks until a copy of the read model that is served was compared with the prepared one. It returns Unavailable if no such read model is prepared, and the
// errors of ctx and the read models.
func (b *Builder) ErasedViews(ctx context.Context, erasure fanfold.AsOf) (keys map[fanfold.Key]struct{}, at fanfold.Position, err error) {
	w := b.take(erasure)
	if w == nil || w.erasure != erasure || !w.isReady() {
		return nil, 0, errNotPrepared
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.m == nil {
		return nil, 0, errNotPrepared
	}
	frozen, err := b.store.Freeze(ctx)
	if err != nil {
		return nil, 0, err
	}
	defer func() { err = errors.Join(err, frozen.Remove()) }()
	if err := w.m.catchUpTo(ctx, frozen.Checkpoint.Seq); err != nil {
		return nil, 0, err
	}
	keys = map[fanfold.Key]struct{}{}
	if err := frozen.DifferentDocuments(ctx, w.m.db, func(key fanfold.Key) error {
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
func (w *prepared) noteMissed(ctx context.Context) error {
	if w.at == 0 {
		return nil
	}
	keys := map[fanfold.Key]struct{}{}
	if _, err := w.addChanged(ctx, keys, w.at); err != nil {
		return err
	}
	w.b.mu.Lock()
	defer w.b.mu.Unlock()
	w.b.missed = &missedViews{w.erasure, keys}
	return nil
}

// MissedViews returns the keys of the documents that ErasedViews has missed, because they were changed later; nil, false where that is not known.
func (b *Builder) MissedViews(erasure fanfold.AsOf) (keys map[fanfold.Key]struct{}, known bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.missed == nil || b.missed.erasure != erasure {
		return nil, false
	}
	return b.missed.keys, true
}

// addChanged looks again at the documents that were changed after a position, and returns the position at which it did.
func (w *prepared) addChanged(ctx context.Context, keys map[fanfold.Key]struct{}, after fanfold.Position) (at fanfold.Position, err error) {
	sc, err := w.b.store.Scan()
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, sc.Close()) }()
	if err := w.m.catchUpTo(ctx, sc.Checkpoint.Seq); err != nil {
		return 0, err
	}
	both := map[fanfold.Key]struct{}{}
	note := func(key fanfold.Key) { both[key] = struct{}{} }
	err = w.m.db.ReadUnshared(func(prepared *sqlite.Snapshot) error {
		if err := errors.Join(changed(sc.Snapshot, after, sc.At(), note), changed(prepared, after, prepared.At(), note)); err != nil {
			return err
		}
		for key := range both {
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

// changed calls fn with the key of each document that was changed after a position, up to another.
func changed(s *sqlite.Snapshot, after, end fanfold.Position, fn func(fanfold.Key)) error {
	for after < end {
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
func (b *Builder) ChangedBetween(after fanfold.Position, before uint64, fn func(fanfold.Key)) error {
	return b.store.Read(func(s *sqlite.Snapshot) error { return changed(s, after, fanfold.At(before, 0)-1, fn) })
}

// WriteErasedBase writes the base at which the log begins as of an erasure, and returns its horizon; ok is false where the log begins with its first event. It
// blocks until w has everything. It returns the errors of reading the base, of ctx and of w.
func (b *Builder) WriteErasedBase(ctx context.Context, erasure fanfold.AsOf, w io.Writer) (h fanfold.Horizon, ok bool, err error) {
	base, err := b.log.Base(ctx)
	if err != nil || base == nil {
		return h, false, err
	}
	return h, true, b.build(ctx, erasedBase(erasure, w, &h))
}
