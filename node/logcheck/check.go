// Package logcheck holds the log against what a node has seen of it, and keeps what it has seen.
package logcheck

import (
	"context"
	"log/slog"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/events"
	"github.com/fanfold/fanfold/events/servers"
	"github.com/fanfold/fanfold/internal/wire"
	"github.com/fanfold/fanfold/sqlite"
)

// Options say of what a check is.
type Options struct {
	Dir      string        // the data directory, with the witness
	Store    *sqlite.Store // the read model
	Embedded bool          // the log's files are this process's
	Logger   *slog.Logger
	// Undisturbed tells whether nobody has touched these files between a clean end and the start.
	Undisturbed func() bool
	// Base reads the base through at which the log begins. It returns nil for a log that has all its events.
	Base func(ctx context.Context) (*wire.BaseReport, error)
}

// Check holds the log against what is known of it: at the start, again and again, and whenever the connection to it is
// made anew. DESIGN.md of package events says what that finds.
type Check struct {
	opt     Options
	log     *events.Log   // nil until Attach
	conn    *nats.Conn    // to its server
	witness Witness       // as it was at the start
	began   time.Time     // when the node started
	last    uint64        // the last event that the log had at the start
	at      atomic.Uint64 // the event up to which the log was read through, at the start
	scanned atomic.Bool   // it was read through once
	damaged bool          // the last check found something
	silent  int           // checks in a row that the log's leader did not answer, or the log was damaged, although there is a connection
	left    int           // servers that were left since the log was found damaged
	created time.Time     // when the stream was made
	vouched bool          // nothing can have happened to the files since the node ended
	again   chan struct{} // has an element where the log is to be read through again

	ctx   context.Context // of the first reading, which begins before the node runs
	stop  context.CancelFunc
	first chan error // its end

	writing sync.Mutex // held while a witness is written
	written Witness    // on the disk
}

// Intervals of checking the log.
const (
	checkEvery   = 2 * time.Second
	witnessEvery = 10 * time.Second
	stopTime     = 5 * time.Second // for which a stop waits for the log's server
	silentChecks = 2               // without an answer, after which another server is tried
)

// New returns the check of a log that is yet to be opened, with the witness from its directory. A witness that is damaged is
// logged, and stands for none.
func New(opt Options) *Check {
	c := &Check{opt: opt, began: time.Now(), again: make(chan struct{}, 1)}
	c.ctx, c.stop = context.WithCancel(context.Background())
	var err error
	if c.witness, err = readWitness(opt.Dir); err != nil {
		opt.Logger.Warn("what was known of the log cannot be read, and is written anew", "file", filepath.Join(opt.Dir, witnessFile), "err", err)
	}
	c.written = c.witness
	return c
}

// Attach tells the check the log, once it is open, and the connection to its server.
func (c *Check) Attach(log *events.Log, conn *nats.Conn) { c.log, c.conn = log, conn }

// Known returns the last event that the log must have, and the last one that is known to be durable there, folded or not.
func (c *Check) Known() (seq, durable uint64, err error) {
	known, err := c.known()
	return known.Seq, max(known.Seq, c.witness.Synced), err
}

// known returns what the log must have: what the read model has folded, or the witness of the start where that is more. Of what is before the log's base
// nothing is known.
func (c *Check) known() (events.Known, error) {
	cp, err := c.opt.Store.Checkpoint()
	if err != nil {
		return events.Known{}, err
	}
	known := events.Known{Seq: cp.Seq, Event: cp.Event}
	if cp.Seq < c.witness.Seq {
		known = events.Known{Seq: c.witness.Seq, Event: c.witness.Event}
	}
	if c.log != nil && known.Seq <= c.log.Prefix().Base().Seq { // it may have been purged
		return events.Known{}, nil
	}
	return known, nil
}

// checkNow checks the log once. Errors are LogDamaged and Unavailable.
func (c *Check) checkNow(ctx context.Context) error {
	known, err := c.known()
	if err != nil {
		return err
	}
	return c.log.Check(ctx, known)
}

// Begin checks the log, whose last event is given, at the start, and begins to read it through. It waits for the reading for a moment, which is
// enough for a log of some hundred thousand events. It does not wait where the files are vouched for. The error is LogDamaged or Unavailable; what the reading finds is
// none.
func (c *Check) Begin(ctx context.Context, last uint64) error {
	if err := c.checkNow(ctx); err != nil {
		return err
	}
	c.last = last
	c.created, c.first = c.log.Created(), make(chan error, 1)
	c.vouched = c.opt.Embedded && (c.opt.Store.Killed() || c.opt.Store.Hashing.Undisturbed() && c.opt.Undisturbed())
	done := make(chan struct{})
	go func() {
		defer close(done)
		c.first <- c.scanOnce(c.ctx)
	}()
	if c.vouched {
		return nil
	}
	select {
	case <-done:
	case <-time.After(scanInOpen):
	case <-ctx.Done():
	}
	return nil
}

// Vouched tells whether nothing can have happened to the log's files since the node ended, so that it is ready before it has read the log through.
func (c *Check) Vouched() bool { return c.vouched }

// Close ends the first reading, and writes down what the node has folded. It is called while the read model is open.
func (c *Check) Close() {
	c.stop()
	if c.first != nil {
		select {
		case err := <-c.first:
			c.opt.Logger.Debug("the reading of the log has ended", "err", err)
		case <-time.After(stopTime):
		}
		c.keepNow()
	}
}

// Run checks the log until ctx ends, and keeps the witness. It returns nil.
func (c *Check) Run(ctx context.Context) error {
	c.keepNow()
	scans := make(chan struct{})
	go func() {
		defer close(scans)
		c.scanLog(ctx)
	}()
	defer func() { <-scans }()
	connected := c.conn.StatusChanged(nats.CONNECTED)
	tick, keep := time.NewTicker(checkEvery), time.NewTicker(witnessEvery)
	defer tick.Stop()
	defer keep.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-connected:
		case <-tick.C:
		case <-keep.C:
			c.keepNow()
			continue
		}
		c.checkAgain(ctx)
	}
}

// checkAgain checks the log once while the node runs, and logs what has changed. A log that was damaged and is not any
// more was restored, and is read through again.
func (c *Check) checkAgain(ctx context.Context) {
	err := c.checkNow(ctx)
	c.leaveSilentServer(err)
	switch {
	case fanfold.CodeOf(err) == fanfold.LogDamaged && !c.damaged:
		c.opt.Logger.Error("the log is damaged", "err", err)
		c.damaged = true
	case err == nil && (c.damaged || !c.created.Equal(c.log.Created())):
		c.opt.Logger.Info("the log was restored, and is read through")
		c.damaged, c.created = false, c.log.Created()
		select {
		case c.again <- struct{}{}:
		default:
		}
	}
}

// leaveSilentServer connects to another server if the log has not answered for silentChecks checks in a row, or not by its
// leader. The server that this node is connected to may be cut off from the others. A log that is damaged is asked for at every
// other server once, for it may be whole there. err is the last check's.
func (c *Check) leaveSilentServer(err error) {
	nc := c.conn
	damaged := fanfold.CodeOf(err) == fanfold.LogDamaged
	if !damaged {
		c.left = 0
	}
	if err == nil && c.log.Led() || !c.log.Connected() || c.left >= len(nc.Servers())-1 {
		c.silent = 0
		return
	}
	if c.silent++; c.silent < silentChecks {
		return
	}
	if c.silent = 0; damaged {
		c.left++
	}
	c.opt.Logger.Warn("the log does not answer, has no leader, or is damaged, and another server is tried", "server", servers.ShownURL(c.log.Server()), "err", err)
	if err := nc.ForceReconnect(); err != nil {
		c.opt.Logger.Warn("another server cannot be tried", "err", err)
	}
}

// keepNow writes down what the node has folded, and what is durable, where that is more than before. A failure to
// write is logged.
func (c *Check) keepNow() {
	cp, err := c.opt.Store.Checkpoint()
	if err != nil {
		return
	}
	if err := c.Keep(cp); err != nil {
		c.opt.Logger.Warn("what is known of the log cannot be written", "err", err)
	}
}

// Keep writes down what a checkpoint says, and what is durable, where that is more than before. It returns the error of the file.
func (c *Check) Keep(cp sqlite.Checkpoint) error {
	c.writing.Lock()
	defer c.writing.Unlock()
	w := c.written
	if cp.Seq > w.Seq || cp.AsOf > w.AsOf { // what was erased leaves no digest
		w = Witness{Seq: cp.Seq, Event: cp.Event, Digest: cp.Digest, Synced: w.Synced, AsOf: cp.AsOf}
	}
	if w.Synced = max(w.Synced, c.log.Synced()); w == c.written {
		return nil
	}
	if err := w.Write(c.opt.Dir); err != nil {
		return err
	}
	c.written = w
	return nil
}
