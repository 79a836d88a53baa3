// Package forget lets the log lose what it may: what is before the store's begin (a compaction), and what is erased. It plans, removes step by step
// in a loop of its own, and says how far it is. DESIGN.md says in which order, and why.
package forget

import (
	"context"
	"log/slog"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/access"
	"github.com/fanfold/fanfold/events"
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
	s := &shared{opt: opt, erasures: erasures{requesting: make(chan struct{}, 1)}}
	g := &Forgetter{shared: s, Compactor: &Compactor{s}}
	g.Eraser = &Eraser{s, g.Compactor}
	g.Finder, g.Restored = &Finder{shared: s}, &Restored{shared: s, eraser: g.Eraser}
	return g
}

// Open gives it the log and the read model. It reads what a former process has left to do, and removes the files that one left half written. It
// returns the error of removing.
func (g *Forgetter) Open(log *events.Log, store *sqlite.Store) error {
	g.log, g.store = log, store
	g.readDone()
	return g.Compactor.open()
}

// Serve gives it the other parts of the node.
func (g *Forgetter) Serve(parts Parts) {
	g.log, g.store, g.projector, g.Parts = parts.Log, parts.Store, parts.Projector, parts
}

// Run does what is to be done of compactions and erasures, until ctx ends, and returns nil.
func (g *Forgetter) Run(ctx context.Context) error {
	both, ctx := errgroup.WithContext(ctx)
	both.Go(func() error { return g.Compactor.runCompactions(ctx) })
	both.Go(func() error { return g.runErasures(ctx) })
	return both.Wait()
}

// isWaitedFor tells whether one of the live nodes is not as far as others wait for. The error is Unavailable.
func (g *shared) isWaitedFor(ctx context.Context, late func(node wire.Node) bool) (bool, error) {
	live, err := g.Nodes.Live(ctx)
	return err != nil || slices.ContainsFunc(live, late), err
}

// leads tells whether the node is the one of all live ones that does what one of them is to do.
func (g *shared) leads() bool {
	all := g.Nodes.All()
	for _, node := range all { // by id
		if node.Live {
			return node.Self
		}
	}
	return false
}

// compactStep tells a test of a step.
func (g *shared) compactStep(step string) error {
	if g.opt.CompactStep == nil {
		return nil
	}
	return g.opt.CompactStep(step)
}

// eraseStep tells a test of a step.
func (g *shared) eraseStep(step string) error {
	if g.opt.EraseStep == nil {
		return nil
	}
	return g.opt.EraseStep(step)
}
