package rebuild

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
	Horizon uint64 // the last event that goes; at a place that SafeEnd returned
	Before  string // and By: see wire.Compaction
	By      string
	File    string // the path at which the base is written; the caller removes the file
	// Store puts the base where every node finds it, durably, and returns what it is, and how it is read back.
	Store func(ctx context.Context, h fanfold.Horizon, asOf fanfold.AsOf, file io.Reader) (fanfold.BaseFile, *batch.Base, error)
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
	horizon fanfold.Horizon
	sum     fanfold.Digest // of the base's file, once it is written
}

// step tells of a step that is over, unless there was an error.
func (c *compaction) step(step string, err error) error {
	if err != nil || c.Step == nil {
		return err
	}
	return c.Step(step)
}

// begin replays the log up to the horizon, writes the base into the file, and begins with the same bytes.
func (c *compaction) begin(ctx context.Context, m *build) error {
	return c.step(StepBuilt, m.b.build(ctx, c.toHorizon(m)))
}

// write writes the base of the read model m into the file, and fills the read model next with it.
func (c *compaction) write(ctx context.Context, m, next *build) error {
	if m.at != c.Horizon {
		return fanfold.Errorf(fanfold.Internal, "the replay to event %d ended at %d", c.Horizon, m.at)
	}
	m.tell(wire.PhaseWriting, 0, 0)
	base := &batch.Base{AsOf: m.lists}
	if err := m.db.ReadUnshared(func(s *sqlite.Snapshot) error {
		base.Horizon = fanfold.Horizon{Seq: s.Checkpoint.Seq, Digest: s.Checkpoint.Digest}
		return nil
	}); err != nil {
		return err
	}
	written, loaded := io.Pipe()
	sum := sha256.New()
	both, ctx := errgroup.WithContext(ctx)
	both.Go(func() (err error) {
		defer func() { _ = loaded.CloseWithError(err) }() // it returns none
		return writeFile(c.File, func(w io.Writer) error {
			c.horizon, err = m.db.WriteSaltedBase(ctx, io.MultiWriter(w, loaded, sum))
			return err
		})
	})
	both.Go(func() (err error) {
		defer func() { _ = written.CloseWithError(err) }() // it returns none; the writer ends
		base.Open = func(context.Context) (io.ReadCloser, error) { return io.NopCloser(written), nil }
		return next.load(ctx, base)
	})
	err := both.Wait()
	c.sum = fanfold.Digest(sum.Sum(nil))
	return err
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
func (c *compaction) store(ctx context.Context, m *build) (file fanfold.BaseFile, base *batch.Base, err error) {
	f, err := os.Open(c.File)
	if err != nil {
		return file, nil, fanfold.Wrap(err, fanfold.Unavailable, "cannot read %s: %v", c.File, err)
	}
	info, err := f.Stat()
	if err == nil {
		tell := func(read int64) { m.tell(wire.PhaseStoring, read, info.Size()) }
		tell(0)
		file, base, err = c.Store(ctx, c.horizon, m.lists, &countedReader{f, tell, 0})
	}
	return file, base, c.step(StepStored, errors.Join(err, f.Close()))
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

// takeOver stores the base, reads it back, replays what follows, compares, appends the event, and makes the result the read model that is served.
func (c *compaction) takeOver(ctx context.Context, m *build) error {
	file, base, err := c.store(ctx, m)
	if err != nil {
		return err
	}
	if err := c.check(ctx, m, base); err != nil {
		return err
	}
	m.tell(wire.PhaseAppending, 0, 0)
	seq, err := c.Append(ctx, &fanfold.Compaction{Horizon: m.base, Base: file, AsOf: m.lists})
	if err := c.step(StepAppended, err); err != nil {
		return err
	}
	if err := m.b.store.Applied.Wait(ctx, seq); err != nil {
		return err
	}
	m.tell(wire.PhaseSwitching, 0, 0)
	return c.step(StepSwitched, swapIn(ctx, m))
}

// check reads the base back, replays up to where the read model stood when that began, and returns an error that names what is different there.
func (c *compaction) check(ctx context.Context, m *build, base *batch.Base) (err error) {
	frozen, err := c.readBack(ctx, m, base)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, frozen.Remove()) }()
	if err := c.step(StepReadBack, nil); err != nil {
		return err
	}
	d, err := m.compare(ctx, frozen)
	if err == nil && d.First != nil {
		err = different(d)
	}
	return c.step(StepCompared, err)
}

// readBack reads the base back, whose bytes must be those that the read model was filled with. It copies the served one meanwhile, to be compared with.
// The caller removes the copy.
func (c *compaction) readBack(ctx context.Context, m *build, base *batch.Base) (frozen *sqlite.Frozen, err error) {
	both, ctx := errgroup.WithContext(ctx)
	both.Go(func() (err error) { frozen, err = m.b.store.Freeze(ctx); return err })
	both.Go(func() error { return c.compareFile(ctx, base) })
	if err = both.Wait(); err != nil && frozen != nil {
		err, frozen = errors.Join(err, frozen.Remove()), nil
	}
	return frozen, err
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
		return unreadableBase(base, err)
	}
	if got := fanfold.Digest(sum.Sum(nil)); got != c.sum {
		return fanfold.Errorf(fanfold.Internal, "the base up to event %d was written with the digest %s, and is stored with %s; nothing was taken away", base.Horizon.Seq, c.sum, got)
	}
	return nil
}
