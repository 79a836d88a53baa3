package logcheck

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/events"
	"github.com/fanfold/fanfold/internal/wire"
	"github.com/fanfold/fanfold/sqlite"
)

// Report says how the log compares with what was folded from it.
type Report struct {
	wire.LogReport
	lacking uint64 // events that are missing
}

// maxReported bounds the runs of missing events in a report.
const maxReported = 100

// Err returns what is wrong with the log, as LogDamaged, nil for nothing.
func (r *Report) Err() error {
	switch {
	case len(r.Missing) > 0:
		missing := make([]events.Range, len(r.Missing))
		for i, m := range r.Missing {
			missing[i] = events.Range(m)
		}
		return fanfold.Errorf(fanfold.LogDamaged, "of the log's events up to %d, %d are missing or cannot be read: %s; %s", r.Last, r.lacking, events.NameRanges(missing, 5), events.Repair)
	case r.Base != nil && r.Base.Error != "":
		return fanfold.Errorf(fanfold.LogDamaged, "the base up to event %d, at which the log begins, %s; %s", r.Base.Seq, r.Base.Error, events.Repair)
	case r.Differs != nil:
		return fanfold.Errorf(fanfold.LogDamaged, "among the log's events %s is one that is not what was folded: it is another log, or a copy that went another way, or the read model's files are damaged; "+
			"restore the log, or run fanfold replay where the log is the right one and remove %s; %s", events.Range(*r.Differs), witnessFile, events.Repair)
	}
	return nil
}

// comparison holds the log against the digests that are known of it.
type comparison struct {
	report Report
	store  *sqlite.Store
	known  map[uint64]fanfold.Digest // besides those in the read model
	stored []sqlite.LogDigest        // of the read model, those to come next
	all    bool                      // nothing more is stored
	chain  fanfold.Digest
	prev   uint64                           // the last event that was read, at first the log's base
	base   func() events.Base               // where the log begins, which moves
	other  bool                             // the read model is as of another erasure than the log is read
	step   func(seq uint64, size int) error // called for each event
}

// compare reads the log up to event last, and compares it with the digests in the read model and those in known. It
// calls step, which may be nil, with each event. It blocks for as long as reading takes, in constant memory. It returns
// the errors of step, ctx, the log and the read model; the report lists the faults.
func compare(ctx context.Context, log *events.Log, store *sqlite.Store, last uint64, known []Witness, step func(seq uint64, size int) error) (*Report, error) {
	c := &comparison{report: Report{LogReport: wire.LogReport{Last: last}}, store: store, known: map[uint64]fanfold.Digest{}, step: step}
	c.base = log.Prefix().Base
	b := c.base()
	c.prev, c.chain = b.Seq, b.Digest
	asOf, err := erasuresOf(log, store)
	if err != nil {
		return nil, err
	}
	c.other = asOf.differ()
	for _, w := range known {
		switch {
		case w.Seq == 0 || w.Seq < b.Seq || w.AsOf != asOf.inForce || c.other:
		case w.Seq == b.Seq && w.Digest != b.Digest:
			c.report.Differs = &wire.Range{First: 1, Last: b.Seq}
		default:
			c.known[w.Seq] = w.Digest
		}
	}
	if err := log.Scan(ctx, c.prev+1, last, c.event); err != nil {
		return nil, err
	}
	switch now, err := erasuresOf(log, store); {
	case err != nil:
		return nil, err
	case now != asOf:
		return nil, fanfold.Errorf(fanfold.Unavailable, "an erasure came into force while the log was read")
	}
	for _, w := range known { // those that the log has lost at its end
		c.report.Last = max(c.report.Last, w.Seq)
	}
	c.skip(c.report.Last + 1)
	if len(c.report.Missing) == 0 {
		c.report.Digest = c.chain.String()
	}
	return &c.report, nil
}

// erasuresRead says which erasures a log, the base at which it begins and a read model have.
type erasuresRead struct{ inForce, base, store fanfold.AsOf }

// erasuresOf returns which erasures a log and a read model have. The error is the read model's.
func erasuresOf(log *events.Log, store *sqlite.Store) (e erasuresRead, err error) {
	cp, err := store.Checkpoint()
	_, e.inForce = log.Prefix().Erasures()
	if e.base, e.store = e.inForce, cp.AsOf; log.Prefix().Base().Seq > 0 {
		e.base = log.Prefix().Base().AsOf
	}
	return e, err
}

// differ tells whether the digests of the log are other than the read model's.
func (e erasuresRead) differ() bool { return e.store != e.inForce || e.base != e.inForce }

// event takes one event of the log.
func (c *comparison) event(seq uint64, size int, d fanfold.Digest) error {
	if b := c.base(); c.prev < b.Seq { // it has moved, and what is before may be gone by now
		if seq <= b.Seq {
			return nil
		}
		c.prev, c.chain = b.Seq, b.Digest
	}
	c.skip(seq)
	c.prev = seq
	c.report.Read++
	c.chain = c.chain.Followed(d)
	if len(c.report.Missing) == 0 && c.report.Differs == nil && !c.other {
		if err := c.compare(seq); err != nil {
			return err
		}
	}
	if c.step == nil {
		return nil
	}
	return c.step(seq, size)
}

// skip notes the events that are missing between the last one read and seq.
func (c *comparison) skip(seq uint64) {
	if c.prev >= seq || fanfold.Follows(c.prev, seq) {
		return
	}
	c.report.lacking += seq - c.prev - 1
	if missing := (wire.Range{First: c.prev + 1, Last: seq - 1}); len(c.report.Missing) < maxReported {
		c.report.Missing = append(c.report.Missing, missing)
	} else {
		c.report.More++
	}
}

// compare compares the digest of all events up to seq with what is known of it.
func (c *comparison) compare(seq uint64) error {
	if err := c.readStored(seq); err != nil {
		return err
	}
	var known []fanfold.Digest
	if len(c.stored) > 0 && c.stored[0].Seq == seq {
		known = append(known, c.stored[0].Digest)
	}
	if d, ok := c.known[seq]; ok {
		known = append(known, d)
	}
	for _, d := range known {
		if d != c.chain {
			c.report.Differs = &wire.Range{First: c.report.Compared + 1, Last: seq}
			return nil
		}
	}
	if len(known) > 0 {
		c.report.Compared = seq
	}
	return nil
}

// storedPage is how many digests are read from the read model at a time.
const storedPage = 1000

// readStored brings the read model's first digest from seq on to the front.
func (c *comparison) readStored(seq uint64) error {
	for len(c.stored) > 0 && c.stored[0].Seq < seq {
		c.stored = c.stored[1:]
	}
	if len(c.stored) > 0 || c.all {
		return nil
	}
	err := c.store.Read(func(s *sqlite.Snapshot) (err error) {
		c.stored, err = s.LogDigests(seq-1, storedPage)
		return err
	})
	c.all = len(c.stored) < storedPage
	return err
}

// How the log is read through at the start and afterwards.
const (
	scanInOpen    = time.Second      // for which a start waits for it
	scanFirst     = 10 * time.Second // for which a node is not ready, and reads as fast as it can
	scanRate      = 32 << 20         // bytes a second from then on
	scanEventSize = 200              // bytes that an event takes besides its payload
	scanEvery     = 24 * time.Hour   // from the end of one reading to the next
	scanRetry     = 5 * time.Second  // after one that could not be done
)

// Progress returns why the node waits for the log to be read through, nil where it does not.
func (c *Check) Progress() error {
	if c.scanned.Load() || time.Since(c.began) > scanFirst || c.vouched {
		return nil
	}
	return fanfold.Errorf(fanfold.Unavailable, "the log is being read through: event %d of %d", c.at.Load(), c.last)
}

// scanLog waits for the end of the first reading, and reads the log through again and again until ctx ends.
func (c *Check) scanLog(ctx context.Context) {
	var err error
	select {
	case err = <-c.first:
		c.first <- nil // for close
	case <-ctx.Done():
		return
	}
	for {
		pause := scanEvery
		if err != nil && ctx.Err() == nil {
			c.opt.Logger.Warn("the log could not be read through, and is tried again", "err", err)
			pause = scanRetry
		}
		select {
		case <-time.After(pause):
		case <-c.again:
		case <-ctx.Done():
			return
		}
		err = c.scanOnce(ctx)
	}
}

// scanOnce reads the log through, and records what is wrong with it. The error is ctx's, or why it could not be read.
func (c *Check) scanOnce(ctx context.Context) error {
	restarts := c.log.Recovery().Restarts()
	cp, err := c.opt.Store.Checkpoint()
	if err != nil {
		return err
	}
	last, err := c.log.LastSeq(ctx)
	if err != nil {
		return err
	}
	report, err := compare(ctx, c.log, c.opt.Store, last, c.seen(cp), c.pace(ctx))
	if err == nil && restarts != c.log.Recovery().Restarts() { // the log may have ended later than it does now
		err = fanfold.Errorf(fanfold.Unavailable, "the log's server was started again meanwhile")
	}
	if err != nil {
		return err
	}
	err = report.Err()
	if err != nil {
		c.opt.Logger.Error("the log is damaged", "err", err)
	}
	c.log.SetDamage(err)
	c.scanned.Store(true)
	return nil
}

// pace returns a function that takes note of each event that is read. It slows the reading down once the node has
// been up for a while, and from the start on if the files are vouched for. Its error is ctx's.
func (c *Check) pace(ctx context.Context) func(seq uint64, size int) error {
	begun, bytes := time.Now(), 0
	return func(seq uint64, size int) error {
		c.at.Store(seq)
		if seq%64 != 0 && size < scanRate/1000 {
			bytes += size + scanEventSize
			return nil
		}
		if time.Since(c.began) < scanFirst && !c.vouched {
			begun, bytes = time.Now(), 0
			return nil
		}
		bytes += size + scanEventSize
		ahead := time.Duration(float64(bytes)/scanRate*float64(time.Second)) - time.Since(begun)
		if ahead < 10*time.Millisecond {
			return nil
		}
		select {
		case <-time.After(ahead):
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// seen returns what is known of the log besides the digests in the read model: the witness of the start, and a checkpoint.
func (c *Check) seen(cp sqlite.Checkpoint) []Witness {
	return []Witness{c.witness, {Seq: cp.Seq, Digest: cp.Digest, AsOf: cp.AsOf}}
}

// Scanned tells whether the log was read through once.
func (c *Check) Scanned() bool { return c.scanned.Load() }

// Lost returns the report of a log that is gone.
func (c *Check) Lost() *Report {
	last := max(c.witness.Seq, c.opt.Store.Applied.Seq())
	return &Report{wire.LogReport{Last: last, Missing: []wire.Range{{First: 1, Last: max(1, last)}}}, last}
}

// Verify reads the whole log and compares it with what was folded from it. It tells progress, which may be nil, how far it is,
// and blocks for as long as that takes. The error is ctx's, or why the log cannot be read; what is wrong is in the report.
func (c *Check) Verify(ctx context.Context, progress fanfold.Progress) (report *Report, err error) {
	err = c.log.Outlast(ctx, func(context.Context) error { // what it reads outlasts it by itself
		report, err = c.verifyOnce(ctx, progress)
		return err
	})
	return report, err
}

// verifyOnce does what Verify does, unless the log's server is started again meanwhile.
func (c *Check) verifyOnce(ctx context.Context, progress fanfold.Progress) (*Report, error) {
	cp, err := c.opt.Store.Checkpoint()
	if err != nil {
		return nil, err
	}
	s, err := c.log.State(ctx)
	if err != nil {
		return nil, err
	}
	report, err := compare(ctx, c.log, c.opt.Store, s.Last, c.seen(cp), func(seq uint64, _ int) error {
		if seq%256 == 0 {
			progress.Tell("reading the log", int64(seq), int64(s.Last))
		}
		return nil
	})
	if err == nil {
		report.Base, err = c.opt.Base(ctx)
	}
	if err != nil && ctx.Err() == nil {
		err = fmt.Errorf("the log could not be read through: %w", err)
	}
	return report, errors.Join(err, ctx.Err())
}
