// Package forget lets the log lose what it may: what is before the store's begin (a compaction), and what is erased. It plans, removes step by step
// in a loop of its own, and says how far it is. DESIGN.md says in which order, and why.
package forget

import (
	"context"
	"log/slog"
	"slices"
	"time"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/access"
	"github.com/fanfold/fanfold/events"
	"github.com/fanfold/fanfold/events/buckets"
	"github.com/fanfold/fanfold/internal/wire"
	"github.com/fanfold/fanfold/projector"
	"github.com/fanfold/fanfold/sqlite"
	"github.com/fanfold/fanfold/writer"
)

// Options say how a node lets its log lose events.
type Options struct {
	Data        string                  // the directory of the node's files
	Outside     bool                    // the log is on outside servers
	Retain      time.Duration           // how much of its history the store keeps; 0 for all of it
	ReplicaWait time.Duration           // for tests: after the last delete, until the servers' replicas have forgotten what was deleted; default 5 minutes
	CompactStep func(step string) error // for tests: is told of each step of a compaction that is over; its error ends it there
	EraseStep   func(step string) error // for tests: is told of each step of an erasure that is over; its error ends it there
	Logger      *slog.Logger
}

// Nodes are the nodes of the log, in order of their ids.
type Nodes interface {
	// All returns the live nodes, and those that are away.
	All() []wire.Node
	// Live asks for the live nodes; nil for a log that has one node. The error is Unavailable.
	Live(ctx context.Context) ([]wire.Node, error)
}

// Parts are the parts of the node that a Forgetter works on.
type Parts struct {
	Log       *events.Log
	Store     *sqlite.Store
	Projector *projector.Projector
	Writer    *writer.Writer
	Nodes     Nodes
	Groups    Groups
	Judge     *access.Judge
	Issuer    fanfold.Issuer
	// Background runs what was accepted until it is over, or the node stops. run's context ends then.
	Background func(run func(ctx context.Context))
	// ForgetFiles removes what the node's files have of what is erased. The error is Unavailable.
	ForgetFiles func() error
}

// shared is what compactions and erasures share.
type shared struct {
	opt       Options
	log       *events.Log
	store     *sqlite.Store
	projector *projector.Projector
	Parts
	erasures    erasures
	compactions compactions
	snapshots   *buckets.Snapshots
}

// Forgetter lets the log lose events. Its methods may be called from many goroutines.
type Forgetter struct {
	*shared
	Compactor *Compactor
	Eraser    *Eraser
	Finder    *Finder
	Restored  *Restored
}

// Compactor lets the store begin later.
type Compactor struct{ *shared }

// Eraser takes requests for erasures, and says how far they are.
type Eraser struct {
	*shared
	compactor *Compactor
}

// New returns a Forgetter. The caller then calls Open, Serve and Run. Restored.Withhold may come before.
func New(opt Options) *Forgetter {
	untold := func(string) error { return nil }
	if opt.CompactStep == nil {
		opt.CompactStep = untold
	}
	if opt.EraseStep == nil {
		opt.EraseStep = untold
	}
	s := &shared{opt: opt, erasures: erasures{requesting: make(chan struct{}, 1)}}
	g := &Forgetter{shared: s, Compactor: &Compactor{s}}
	g.Eraser = &Eraser{s, g.Compactor}
	g.Finder, g.Restored = &Finder{shared: s}, &Restored{shared: s, eraser: g.Eraser}
	return g
}

// Open gives it the log and the read model. It reads what a former process has left to do, and removes the files that one left half written. It
// returns the error of removing.
func (g *Forgetter) Open(log *events.Log, store *sqlite.Store) error {
	g.log, g.store, g.snapshots = log, store, buckets.NewSnapshots(log)
	g.readDone()
	return g.Compactor.open()
}

// Serve gives it the other parts of the node.
func (g *Forgetter) Serve(parts Parts) {
	g.log, g.store, g.projector, g.Parts = parts.Log, parts.Store, parts.Projector, parts
}

// who says which of the nodes does a step.
type who int

// Those who do steps.
const (
	everyNode   who = iota
	leader          // the live node with the smallest id
	leaderFirst     // the leader, and whoever else has waited for patience
)

// step is one thing that is to be done so that the log loses what it may. It is done again at each look, until nothing is due.
type step struct {
	who  who
	rest time.Duration // after it was done
	// due returns what is to be done, 0 for nothing. The wait for nodes begins anew with another number.
	due func() uint64
	// ready tells whether this node is as far as it must be; nil for always.
	ready func() bool
	// late tells whether a live node is not as far. It is waited for, but for patience at most; nil for no wait.
	late func(node wire.Node) bool
	do   func(ctx context.Context) error

	noticed uint64    // what was due at the last look
	since   time.Time // when that was noticed
	next    time.Time // when it is looked at again
}

// work is a list of steps. While one of them fails, those after it wait.
type work struct {
	failing string        // what is logged where a step fails
	slowest time.Duration // between two tries
	note    func(err error)
	steps   []*step

	next  time.Time     // when it is tried again
	pause time.Duration // after it fails once more
}

// How often it is looked at what is to be done, and what is waited for.
const (
	lookEvery = 250 * time.Millisecond
	seldom    = time.Second
	patience  = 10 * time.Minute // after which a node that is not ready is not waited for
	retry     = 10 * time.Second
	slowRetry = time.Minute // of what reads the whole log
)

// works returns all steps, in order.
func (g *Forgetter) works() []*work {
	c := g.Compactor
	return []*work{
		{failing: "the read model could not be built anew from the base", slowest: slowRetry, steps: []*step{
			{rest: seldom, due: c.isCut, do: c.goOn},
			{rest: seldom, due: c.toRebuild, do: c.rebuildOnBase},
		}},
		{failing: "the log could not be purged", slowest: retry, steps: []*step{
			{rest: seldom, due: c.toPurge, ready: c.mayPurge, late: c.holdsUp, do: c.purge},
		}},
		{failing: "history that is older than --retain cannot go yet", slowest: slowRetry, steps: []*step{
			{who: leader, rest: retainEvery, due: c.toRetain, do: c.retain},
		}},
		{failing: "an erasure cannot go on", slowest: retry, note: g.erasures.note, steps: []*step{
			{due: g.toName, do: g.nameLeft},
			{who: leaderFirst, due: g.toBringIntoForce, ready: g.isPrepared, late: g.isUnprepared, do: g.bringIntoForce},
			{due: g.toFinish, do: g.finish},
		}},
	}
}

// Run does what is to be done, until ctx ends, and returns nil.
func (g *Forgetter) Run(ctx context.Context) error {
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	works := g.works()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		if g.Compactor.look() != nil {
			continue // the read model is being closed
		}
		for _, w := range works {
			g.turn(ctx, w)
		}
	}
}

// turn takes the steps of a work that are due. An error is logged, and the work is tried again later.
func (g *shared) turn(ctx context.Context, w *work) {
	if time.Now().Before(w.next) {
		return
	}
	var err error
	for _, s := range w.steps {
		if err = g.take(ctx, s); err != nil {
			break
		}
	}
	if ctx.Err() != nil {
		return
	}
	if w.note != nil {
		w.note(err)
	}
	if err == nil {
		w.pause = 0
		return
	}
	w.pause = min(max(2*w.pause, lookEvery), w.slowest)
	w.next = time.Now().Add(w.pause)
	g.opt.Logger.Warn(w.failing+", and is tried again", "err", err)
}

// take does a step that is due, if this node is to do it and every other one is ready.
func (g *shared) take(ctx context.Context, s *step) error {
	if due := s.due(); due != s.noticed {
		s.noticed, s.since = due, time.Now()
	}
	if s.noticed == 0 || time.Now().Before(s.next) || s.ready != nil && !s.ready() {
		return nil
	}
	waited := time.Since(s.since) >= patience
	if s.who == leader && !g.leads() || s.who == leaderFirst && !waited && !g.leads() {
		return nil
	}
	if s.late != nil && !waited {
		live, err := g.Nodes.Live(ctx)
		if err != nil || slices.ContainsFunc(live, s.late) {
			return err
		}
	}
	s.next = time.Now().Add(s.rest)
	return s.do(ctx)
}

// leads tells whether the node is the one of all live ones that does what one of them is to do.
func (g *shared) leads() bool {
	for _, node := range g.Nodes.All() { // by id
		if node.Live {
			return node.Self
		}
	}
	return false
}
