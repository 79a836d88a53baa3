package node

import (
	"context"
	"crypto/rand"
	"net/http"
	"time"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/access"
	"github.com/fanfold/fanfold/api"
	"github.com/fanfold/fanfold/changefeed"
	"github.com/fanfold/fanfold/changefeed/group"
	"github.com/fanfold/fanfold/changefeed/webhook"
	"github.com/fanfold/fanfold/forget"
	"github.com/fanfold/fanfold/function"
	"github.com/fanfold/fanfold/internal/wire"
	"github.com/fanfold/fanfold/model"
	"github.com/fanfold/fanfold/node/logcheck"
	"github.com/fanfold/fanfold/projector"
	"github.com/fanfold/fanfold/projector/inspect"
	"github.com/fanfold/fanfold/sqlite"
	"github.com/fanfold/fanfold/writer"
)

// forgottenBy makes groups and feeds forget.Groups.
type forgottenBy struct {
	*group.Groups
	feed *changefeed.Feed
}

// FeedsBehind returns how many open feeds have not sent all changes up to a position.
func (b forgottenBy) FeedsBehind(at fanfold.Position) int64 { return b.feed.Behind(at) }

// newCheck returns the check of a node's log that is yet to be opened.
func newCheck(n *Node) *logcheck.Check {
	return logcheck.New(logcheck.Options{Dir: n.cfg.Data, Store: n.Store, Embedded: n.cfg.NATS == "", Logger: n.cfg.Logger, Undisturbed: n.logServer.Undisturbed,
		Base: func(ctx context.Context) (*wire.BaseReport, error) { return forget.NewSource(n.Log).VerifyBase(ctx) }})
}

// mayPublishAlone returns why a node with a log of its own may publish nothing, nil where it may. Without the base it knows no rule that guards the writes.
// Among several nodes one that has not caught up publishes nothing anyway. The error is Unavailable.
func (n *Node) mayPublishAlone() error {
	if n.Store.Applied.Seq() >= n.Log.Prefix().Base().Seq {
		return nil
	}
	if s := n.Projector.Status().Stopped; s != nil {
		return fanfold.Errorf(fanfold.Unavailable, "this node cannot begin with the base: %s", s.Reason)
	}
	return nil
}

// writerRows makes the read model a writer.ReadModel.
type writerRows struct {
	*sqlite.Store
	projector *projector.Projector
}

// Read calls fn with a snapshot that is valid until fn returns.
func (r writerRows) Read(fn func(writer.Snapshot) error) error {
	return r.Store.Read(func(s *sqlite.Snapshot) error { return fn(s) })
}

// Wait blocks until seq is folded.
func (r writerRows) Wait(ctx context.Context, seq uint64) error {
	return r.Store.Applied.Wait(ctx, seq)
}

// Applied returns the sequence of the last event folded.
func (r writerRows) Applied() uint64 { return r.Store.Applied.Seq() }

// Tidy gives back space on the disk after much was written. It waits for readers that hold it, until ctx ends.
func (r writerRows) Tidy(ctx context.Context) { r.projector.Tidy(ctx) }

// sights makes the read model a writer.Sights.
type sights struct {
	store  *sqlite.Store
	issuer fanfold.Issuer
}

// Open opens a snapshot. It holds one of the readers until it is closed.
func (s sights) Open() (writer.Sighting, error) {
	opened, closed, ended, failed := make(chan *sqlite.Snapshot), make(chan struct{}), make(chan struct{}), make(chan error, 1)
	go func() {
		defer close(ended)
		failed <- s.store.Read(func(snap *sqlite.Snapshot) error {
			opened <- snap
			<-closed
			return nil
		})
	}()
	select {
	case snap := <-opened:
		return function.NewSight(snap, s.issuer, func() {
			close(closed)
			<-ended
		}), nil
	case err := <-failed:
		return nil, err
	}
}

// reader makes the read model an api.Reader.
type reader struct{ *sqlite.Store }

// Read calls fn with a snapshot that is valid until fn returns.
func (r reader) Read(fn func(api.Snapshot) error) error {
	return r.Store.Read(func(s *sqlite.Snapshot) error { return fn(s) })
}

// ReadLong calls fn with a snapshot that is valid until fn returns. It holds up no Read.
func (r reader) ReadLong(fn func(api.Snapshot) error) error {
	return r.Lanes.Long.Read(func(s *sqlite.Snapshot) error { return fn(s) })
}

// LargestTargets finds the target of each relation to which most documents refer. A relation gets an equal part of the links that may still be
// looked at, so that a large one leaves room for others.
func (r reader) LargestTargets(ctx context.Context, relations []*model.Relation, most int) (found []wire.LargestTarget, at fanfold.Position, err error) {
	err = r.Lanes.Long.Read(func(s *sqlite.Snapshot) error {
		defer s.EndWith(ctx)()
		at = s.At()
		left := int64(most)
		for i, of := range relations {
			one := wire.LargestTarget{Relation: of.FullName(), To: of.To}
			var read int64
			if one.ID, one.Documents, read, one.Partial, err = sqlite.LargestTarget(s, one.Relation, left/int64(len(relations)-i)); err != nil {
				return err
			}
			found, left = append(found, one), left-read
		}
		return nil
	})
	return found, at, err
}

// Scan opens a snapshot that may be read for long, until ctx ends. The API closes it.
func (r reader) Scan(ctx context.Context) (api.Scan, error) {
	sc, err := r.Store.Scan()
	if err != nil {
		return nil, err
	}
	sc.EndWith(ctx)
	return scan{sc}, nil
}

// folded makes the read model an api.Folded and api.Outcomes.
type folded struct{ store *sqlite.Store }

// Wait blocks until seq is folded.
func (f folded) Wait(ctx context.Context, seq uint64) error { return f.store.Applied.Wait(ctx, seq) }

// Applied returns the sequence of the last event folded.
func (f folded) Applied() uint64 { return f.store.Applied.Seq() }

// Outcome returns what a recently folded event did.
func (f folded) Outcome(seq uint64) (fanfold.Op, int64, bool) {
	return f.store.Applied.Outcome(seq)
}

// Outcomes returns what count folded events from first on did.
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

// inspector makes package inspect an api.Inspector and api.Tracer.
type inspector struct {
	*inspect.Inspector
	store  *sqlite.Store
	issuer fanfold.Issuer
}

// Lineage reports where a document's derived values come from.
func (i inspector) Lineage(ctx context.Context, key fanfold.Key) (*wire.Lineage, error) {
	return i.Inspector.Lineage(ctx, key)
}

// LineageAt reports where a document's derived values came from.
func (i inspector) LineageAt(ctx context.Context, key fanfold.Key, when fanfold.Moment) (*wire.Lineage, error) {
	return i.Inspector.LineageAt(ctx, key, when)
}

// Verify recomputes every derived value and reports what is wrong.
func (i inspector) Verify(ctx context.Context, progress fanfold.Progress) (*wire.Verified, error) {
	v, err := inspect.Verify(ctx, i.store, progress)
	if err != nil {
		return nil, err
	}
	v.Position = i.issuer.Mark(v.Position.Position)
	return v, nil
}

// scan makes a long snapshot an api.Scan.
type scan struct{ *sqlite.Scanner }

// Model returns the model's source, the paths that are still reserved, and the removed rules whose values are still stored.
func (s scan) Model() ([]byte, model.Reserved, model.Retired, error) {
	m, err := s.Scanner.Model()
	return m.Source, m.Reserved, m.Retired, err
}

// feedStore makes the read model a changefeed.Store.
type feedStore struct{ *sqlite.Store }

// Changes returns a page of the change feed.
func (f feedStore) Changes(q fanfold.ChangeQuery) (page fanfold.ChangePage, err error) {
	lane := f.Lanes.CatchUp
	if q.AtHead {
		lane = f.Lanes.Head
	}
	err = lane.Read(func(s *sqlite.Snapshot) error {
		page, err = s.Changes(q)
		return err
	})
	return page, err
}

// Bounds returns the oldest position after which no change is missing, and the read model's position.
func (f feedStore) Bounds() (oldest, head fanfold.Position, err error) {
	err = f.Read(func(s *sqlite.Snapshot) error {
		head = s.At()
		oldest, err = s.Oldest()
		return err
	})
	return oldest, head, err
}

// Before returns a position that no change from before t is after, and every later change is after.
func (f feedStore) Before(t time.Time) (at fanfold.Position, err error) {
	err = f.Read(func(s *sqlite.Snapshot) error {
		at, err = s.Before(t)
		return err
	})
	return at, err
}

// Changed returns a channel that is closed once an event after seq is folded.
func (f feedStore) Changed(seq uint64) <-chan struct{} { return f.Applied.Changed(seq) }

// Wait blocks until seq is folded.
func (f feedStore) Wait(ctx context.Context, seq uint64) error { return f.Applied.Wait(ctx, seq) }

// groupModel makes the read model a group.ReadModel.
type groupModel struct{ *sqlite.Store }

// Ordinal returns the number of changes up to a position, and of all changes.
func (m groupModel) Ordinal(at fanfold.Position) (upTo, all int64, err error) {
	err = m.Read(func(s *sqlite.Snapshot) error {
		all = s.Checkpoint.Changes
		upTo, err = s.Ordinal(at)
		return err
	})
	return upTo, all, err
}

// Oldest returns the oldest position after which no change is missing.
func (m groupModel) Oldest() (at fanfold.Position, err error) {
	err = m.Read(func(s *sqlite.Snapshot) error {
		at, err = s.Oldest()
		return err
	})
	return at, err
}

// EachChange calls fn with each change that q asks for, without its values, until fn returns false.
func (m groupModel) EachChange(q fanfold.ChangeQuery, fn func(ch *fanfold.Change) bool) error {
	return m.Lanes.Long.Read(func(s *sqlite.Snapshot) error { return s.EachChange(q, fn) })
}

// memberships are the groups for whoever posts their batches. Each request asks as a node may now.
type memberships struct {
	*group.Groups
	judge *access.Judge
}

// ServeChanges answers a request for the changes of a group.
func (m memberships) ServeChanges(w http.ResponseWriter, r *http.Request, asked group.Reading) error {
	return m.By(m.judge.OfNode()).ServeChanges(w, r, asked)
}

// newPusher returns what posts the batches of groups, as one more member of them. A node whose store was restored posts nothing before
// it may show what it has.
func newPusher(n *Node, groups *group.Groups) *webhook.Pusher {
	name := "fanfold-push"
	if n.members != nil { // a node's name can be given to two for a moment
		name += "-" + rand.Text()
	}
	return webhook.New(groups, memberships{groups, n.judge}, webhook.Options{Member: name, Allow: n.cfg.WebhookAllow, Logger: n.cfg.Logger,
		Changed: func() <-chan struct{} { return n.Store.Applied.Changed(n.Store.Applied.Seq()) },
		Targets: func(ctx context.Context) ([]group.Target, error) {
			if n.Forget.Restored.Withheld() != nil {
				return nil, nil //nolint:nilerr // there are none yet
			}
			return group.Targets(ctx, groups)
		}})
}
