package projector

import (
	"bufio"
	"context"
	"crypto/sha256"
	"errors"
	"io"
	"os"

	"golang.org/x/sync/errgroup"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/internal/wire"
	"github.com/fanfold/fanfold/projector/batch"
	"github.com/fanfold/fanfold/sqlite"
)

// Compacting says up to where the store is compacted, and what the caller does for it.
type Compacting struct {
	Horizon uint64           // the last event that goes; at a place that SafeEnd returned
	Before  fanfold.Bookmark // and By: see wire.Compaction
	By      string
	File    string // the path at which the base is written; the caller removes the file
	// Store puts the base where every node finds it, durably, and returns what it is, and how it is read back.
	Store func(ctx context.Context, h fanfold.Horizon, file io.Reader) (fanfold.BaseFile, *batch.Base, error)
	// Append appends the event from which on the store begins at the horizon, and returns its sequence once it is durable.
	Append func(ctx context.Context, c *fanfold.Compaction) (uint64, error)
	// Step is told of each of the Steps when it is over; its error ends the compaction there. nil for nobody.
	Step func(step string) error
}

// The steps of a compaction, in order.
const (
	StepBuilt    = "built"     // the base is in the file
	StepStored   = "stored"    // in the object store
	StepReadBack = "read back" // and again in a read model
	StepCompared = "compared"  // which is, replayed to the end, the one that is served
	StepAppended = "appended"  // the event is in the log
	StepSwitched = "switched"  // the read model is the new one
)

// compaction is a Compacting under way.
type compaction struct {
	Compacting
	p       *Projector
	erasure uint64         // the erasure that the base has
	sum     fanfold.Digest // of the base's file, once it is written
}

// BeginCompact begins to let the store begin at a horizon. The base is made by a replay, put where all nodes find it, read back, and must give
// the rows that are served, before the event is appended. The read model built on it then takes over. Compaction shows how far it is. The caller must call
// run, which does the work and blocks; until the event is appended, its error leaves everything as it was. Reads never stop, and folding does for the last
// moment only. The error is a Conflict where a replay or another compaction runs.
func (p *Projector) BeginCompact(asked Compacting) (run func(ctx context.Context) error, err error) {
	if !p.replay.beginCompaction(&wire.Compaction{Before: asked.Before, By: asked.By, Total: int64(asked.Horizon)}) {
		return nil, errReplaying
	}
	c := &compaction{Compacting: asked, p: p, erasure: p.erasure.Load()}
	if c.Step == nil {
		c.Step = func(string) error { return nil }
	}
	return func(ctx context.Context) error {
		err := c.run(ctx)
		p.replay.endCompaction(err)
		return err
	}, nil
}

// run does the work.
func (c *compaction) run(ctx context.Context) error {
	db, err := c.p.store.Build()
	if err != nil {
		return err
	}
	r := c.p.newRebuilding(db, c.erasure, c.p.store.Applied.Seq)
	r.told = c.told
	swapping, err := c.into(ctx, r)
	if err != nil && !swapping {
		return errors.Join(err, c.p.store.Discard(r.db))
	}
	if err != nil {
		return err
	}
	return c.Step(StepSwitched)
}

// into makes the read model that begins with the base the current one. The generation is the store's, even on an error, where swapping is true.
func (c *compaction) into(ctx context.Context, r *rebuilding) (swapping bool, err error) {
	h, err := c.build(ctx, r)
	if err == nil {
		err = c.Step(StepBuilt)
	}
	if err != nil {
		return false, err
	}
	file, base, err := c.store(ctx, h)
	if err == nil {
		err = c.Step(StepStored)
	}
	if err != nil {
		return false, err
	}
	return c.takeOver(ctx, r, base, file)
}

// told notes how many events are replayed.
func (c *compaction) told(seq, target uint64) {
	c.p.replay.compacts(wire.PhaseReplaying, int64(seq), int64(target))
}

// build replays the log up to the horizon, and writes the base into the file. The read model next is filled with the same bytes meanwhile.
func (c *compaction) build(ctx context.Context, next *rebuilding) (h fanfold.Horizon, err error) {
	db, err := c.p.store.Build()
	if err != nil {
		return h, err
	}
	r := c.p.newRebuilding(db, c.erasure, func() uint64 { return c.Horizon })
	defer func() { err = errors.Join(err, c.p.store.Discard(r.db)) }()
	r.told = c.told
	if err := r.beginPast(ctx, Past{To: fanfold.Moment{Position: fanfold.At(c.Horizon, fanfold.MaxChanges)}, Last: c.Horizon}); err != nil {
		return h, err
	}
	if err := r.toEnd(ctx, nil, c.Horizon); err != nil {
		return h, err
	}
	if r.at != c.Horizon {
		return h, fanfold.Errorf(fanfold.Internal, "the replay to event %d ended at %d", c.Horizon, r.at)
	}
	c.p.replay.compacts(wire.PhaseWriting, 0, 0)
	return c.write(ctx, r.db, next)
}

// write writes the base of a read model into the file, and fills another one with it.
func (c *compaction) write(ctx context.Context, db *sqlite.DB, next *rebuilding) (h fanfold.Horizon, err error) {
	err = db.ReadUnshared(func(s *sqlite.Snapshot) error {
		h = fanfold.Horizon{Seq: s.Checkpoint.Seq, Digest: s.Checkpoint.Digest}
		return nil
	})
	if err != nil {
		return h, err
	}
	base := &batch.Base{Horizon: h, Erasure: c.erasure}
	written, loaded := io.Pipe()
	sum := sha256.New()
	both, ctx := errgroup.WithContext(ctx)
	both.Go(func() (err error) {
		defer func() { _ = loaded.CloseWithError(err) }() // it returns none
		return writeFile(c.File, func(w io.Writer) error {
			h, err = db.WriteSaltedBase(ctx, io.MultiWriter(w, loaded, sum))
			return err
		})
	})
	both.Go(func() (err error) {
		defer func() { _ = written.CloseWithError(err) }() // it returns none; the writer ends
		base.Open = func(context.Context) (io.ReadCloser, error) { return io.NopCloser(written), nil }
		return next.load(ctx, base)
	})
	err = both.Wait()
	c.sum = fanfold.Digest(sum.Sum(nil))
	return h, err
}

// writeFile makes a file of what write writes. It need not be durable: the object store is, and a compaction that ends early begins anew.
func writeFile(path string, write func(w io.Writer) error) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return fanfold.Wrap(err, fanfold.Unavailable, "cannot write %s: %v", path, err)
	}
	w := bufio.NewWriterSize(f, 1<<20)
	if err = write(w); err == nil {
		err = w.Flush()
	}
	return errors.Join(err, f.Close())
}

// store puts the file where every node finds it.
func (c *compaction) store(ctx context.Context, h fanfold.Horizon) (file fanfold.BaseFile, base *batch.Base, err error) {
	f, err := os.Open(c.File)
	if err != nil {
		return file, nil, fanfold.Wrap(err, fanfold.Unavailable, "cannot read %s: %v", c.File, err)
	}
	info, err := f.Stat()
	if err == nil {
		c.p.replay.compacts(wire.PhaseStoring, 0, info.Size())
		file, base, err = c.Store(ctx, h, &countedReader{f, func(read int64) { c.p.replay.compacts(wire.PhaseStoring, read, info.Size()) }, 0})
	}
	return file, base, errors.Join(err, f.Close())
}

// countedReader tells how many bytes were read.
type countedReader struct {
	io.Reader
	tell func(read int64)
	read int64
}

// Read implements io.Reader.
func (r *countedReader) Read(b []byte) (int, error) {
	n, err := r.Reader.Read(b)
	r.read += int64(n)
	r.tell(r.read)
	return n, err
}

// takeOver reads the base back, replays what follows, compares, appends the event, and makes the result the current read model. The generation is the
// store's, even on an error, where swapping is true.
func (c *compaction) takeOver(ctx context.Context, r *rebuilding, base *batch.Base, file fanfold.BaseFile) (swapping bool, err error) {
	defer func() {
		if r.feed != nil {
			r.feed.Stop()
		}
	}()
	if err := c.check(ctx, r, base); err != nil {
		return false, err
	}
	if err := c.append(ctx, r.base, file); err != nil {
		return false, err
	}
	c.p.replay.compacts(wire.PhaseSwitching, 0, 0)
	return r.swapIn(ctx)
}

// check reads the base back, replays up to where the read model stood when that began, and returns an error that names what is different there.
func (c *compaction) check(ctx context.Context, r *rebuilding, base *batch.Base) (err error) {
	frozen, err := c.readBack(ctx, base)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, frozen.Remove()) }()
	if err := c.Step(StepReadBack); err != nil {
		return err
	}
	if r.feed, err = batch.Follow(ctx, c.p.log, r.at+1, r.erasure); err != nil {
		return err
	}
	d, err := r.compare(ctx, frozen, func(_ string, done, total int64) { c.p.replay.compacts(wire.PhaseComparing, done, total) })
	if err != nil {
		return err
	}
	if d.First != nil {
		return different(d)
	}
	return c.Step(StepCompared)
}

// readBack reads the base back, whose bytes must be those that the next read model was filled with. It copies the current one meanwhile, to be compared with.
// The caller removes the copy.
func (c *compaction) readBack(ctx context.Context, base *batch.Base) (frozen *sqlite.Frozen, err error) {
	both, ctx := errgroup.WithContext(ctx)
	both.Go(func() (err error) { frozen, err = c.p.store.Freeze(ctx); return err })
	both.Go(func() error { return c.compareFile(ctx, base) })
	if err := both.Wait(); err != nil && frozen != nil {
		return nil, errors.Join(err, frozen.Remove())
	} else if err != nil {
		return nil, err
	}
	return frozen, nil
}

// compareFile returns an error where a base that was stored has other bytes than were written.
func (c *compaction) compareFile(ctx context.Context, base *batch.Base) error {
	file, err := base.Open(ctx)
	if err != nil {
		return err
	}
	sum := sha256.New()
	_, err = io.Copy(sum, file)
	if err = errors.Join(err, file.Close()); err != nil {
		return fanfold.Wrap(err, fanfold.CodeOf(err), "the base up to event %d cannot be read: %s", base.Horizon.Seq, reason(err))
	}
	if got := fanfold.Digest(sum.Sum(nil)); got != c.sum {
		return fanfold.Errorf(fanfold.Internal, "the base up to event %d was written with the digest %s, and is stored with %s; nothing was taken away", base.Horizon.Seq, c.sum, got)
	}
	return nil
}

// different says that a base does not give the read model.
func different(d *sqlite.Differences) error {
	rows := int64(0)
	for _, t := range d.Tables {
		rows += t.Rows
	}
	return fanfold.Errorf(fanfold.Internal, "%d rows are not as the base and the events after it give them, the first one in table %s with key %s (%s); nothing was taken away: run fanfold replay --check",
		rows, d.First.Table, d.First.Key, d.First.Kind)
}

// append appends the event, and waits until it is folded.
func (c *compaction) append(ctx context.Context, h fanfold.Horizon, file fanfold.BaseFile) error {
	c.p.replay.compacts(wire.PhaseAppending, 0, 0)
	seq, err := c.Append(ctx, &fanfold.Compaction{Horizon: h, Base: file, Erasure: c.erasure})
	if err == nil {
		err = c.Step(StepAppended)
	}
	if err != nil {
		return err
	}
	return c.p.store.Applied.Wait(ctx, seq)
}
