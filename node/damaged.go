package node

import (
	"context"
	"errors"
	"path/filepath"
	"time"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/access"
	"github.com/fanfold/fanfold/access/keys"
	"github.com/fanfold/fanfold/api"
	"github.com/fanfold/fanfold/events"
	"github.com/fanfold/fanfold/events/embedded"
	"github.com/fanfold/fanfold/forget"
	"github.com/fanfold/fanfold/internal/datadir"
	"github.com/fanfold/fanfold/node/logcheck"
	"github.com/fanfold/fanfold/node/serving"
	"github.com/fanfold/fanfold/projector"
	"github.com/fanfold/fanfold/projector/fold"
	"github.com/fanfold/fanfold/sqlite"
)

// Remains is what is left of a node with an embedded log whose files are damaged. It is for looking at them and for taking
// out what they have. Nothing is refused because of the damage, and nothing is written to the log.
type Remains struct {
	node   *Node
	forgot bool // the read model had what is erased
	// Log says what is wrong with the log, as far as the node's files tell.
	Log *logcheck.Report
}

// OpenRemains opens the files of a server that is not running, whatever state they are in, and reads the log through. The
// files may change: NATS and SQLite drop what they cannot read. The caller closes what it returns. Errors are Invalid and
// Unavailable, where not even that can be done.
func OpenRemains(ctx context.Context, cfg Config) (r *Remains, err error) {
	cfg.Listen, cfg.Durability = "127.0.0.1:0", string(embedded.Interval)
	n := newNode(cfg)
	defer func() {
		if err != nil {
			err = errors.Join(err, n.Close())
		}
	}()
	if n.lock, err = datadir.Lock(cfg.Data); err != nil {
		return nil, err
	}
	n.Store, err = sqlite.OpenStore(filepath.Join(cfg.Data, "readmodel"), sqlite.Options{Fingerprint: fold.Fingerprint(), AsIs: true, Logger: cfg.Logger})
	if err != nil {
		return nil, err
	}
	n.check = newCheck(n)
	if err := n.logServer.StartDamaged(ctx); err != nil {
		return nil, err
	}
	r = &Remains{node: n}
	n.Log, err = events.Open(ctx, n.logServer.Conn, events.Options{Damaged: true, Logger: cfg.Logger})
	if fanfold.CodeOf(err) == fanfold.LogDamaged { // nothing is left of it
		n.Log, r.Log = nil, n.check.Lost()
		return r, nil
	}
	n.check.Attach(n.Log, n.logServer.Conn)
	if err == nil {
		r.Log, err = n.VerifyLog(ctx, nil)
	}
	return r, err
}

// Documents brings the read model as far as the log allows. One that has what is erased is removed, and built anew. It calls fn with the URL of an API that
// reads it, the only key that opens it, and the last event that it shows. It returns the errors of fn and the files, and LogDamaged if no read model can be
// built.
func (r *Remains) Documents(ctx context.Context, fn func(url string, key access.Key, last uint64) error) (err error) {
	n := r.node
	if n.Log == nil { // the API needs one; nothing is written to it
		if n.Log, err = events.Open(ctx, n.logServer.Conn, events.Options{Database: "rescue", Logger: n.cfg.Logger}); err != nil {
			return err
		}
	} else if err := r.bringUp(ctx); err != nil {
		return err
	}
	if n.Projector == nil {
		if n.Projector, err = projector.New(forget.NewSource(n.Log), n.Store, projector.Options{Logger: n.cfg.Logger}); err != nil {
			return err
		}
	}
	key := access.NewKey() // so that nobody else on the machine reads what a closed store has
	n.openJudge(keys.OnlyKey(key))
	n.front, err = serving.New(n.cfg.serving())
	if err == nil {
		err = n.front.Listen()
	}
	if err != nil {
		return err
	}
	n.readiness = newReadiness(n, 0)
	n.openAPI()
	ctx, stop := context.WithCancel(ctx)
	served := make(chan error, 1)
	go func() { served <- n.api.Run(ctx, n.front.Listener(), api.Ending{CloseFeeds: n.feed.Close}) }()
	err = fn(n.URL(), key, n.Store.Applied.Seq())
	stop()
	return errors.Join(err, <-served)
}

// bringUp brings the read model as far as the log allows. The error is LogDamaged where it cannot be built without what is erased.
func (r *Remains) bringUp(ctx context.Context) (err error) {
	n := r.node
	if r.forgot, err = forget.EmptyErased(n.Log, n.Store, n.cfg.Logger); err != nil || r.Log.Differs != nil && !r.forgot {
		return err
	}
	if err := r.fold(ctx); err != nil || !r.forgot {
		return err
	}
	cp, err := n.Store.Checkpoint()
	if _, inForce := n.Log.Prefix().Erasures(); err == nil && (cp.AsOf < inForce || cp.Seq == 0) {
		err = fanfold.Errorf(fanfold.LogDamaged, "the read model has what was erased, and another one cannot be built from what is left of the log")
	}
	return err
}

// Forgot returns whether the read model had what is erased, so that another one was built from what is left of the log.
func (r *Remains) Forgot() bool { return r.forgot }

// standstill is for how long nothing may be folded before what is left of a log counts as folded.
const standstill = 30 * time.Second

// fold folds the log's events that the read model lacks, up to the first event that is missing or that cannot be folded.
func (r *Remains) fold(ctx context.Context) (err error) {
	n := r.node
	if n.Projector, err = projector.New(forget.NewSource(n.Log), n.Store, projector.Options{Logger: n.cfg.Logger}); err != nil {
		return err
	}
	target := r.Log.Last
	for _, missing := range r.Log.Missing {
		if missing.Last > n.Store.Applied.Seq() {
			target = missing.First - 1
			break
		}
	}
	ctx, stop := context.WithCancel(ctx)
	folded := make(chan error, 1)
	go func() { folded <- n.Projector.Run(ctx) }()
	for at := n.Store.Applied.Seq(); at < target; {
		waiting, cancel := context.WithTimeout(ctx, standstill)
		_ = n.Store.Applied.Wait(waiting, min(target, at+1000)) // where it fails, what was folded is what there is
		cancel()
		if now := n.Store.Applied.Seq(); now > at {
			at = now
			continue
		}
		if building := r.forgot && at == 0 && n.Projector.Status().Stopped == nil; !building || ctx.Err() != nil { // on a large base that takes longer
			break
		}
	}
	stop()
	return <-folded
}

// Uncertain returns whether nothing says that the read model's file is as it was left.
func (r *Remains) Uncertain() bool { return r.node.Store.Unclean() }

// Close closes the files.
func (r *Remains) Close() error { return r.node.Close() }
