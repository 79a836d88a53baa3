package group

import (
	"context"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/changefeed"
)

// reading is what a lease lets its member read at a time. A feed that is open ends when it changes.
type reading struct {
	group      *group
	partition  int
	token      string
	generation int
	revision   uint64 // of the group's settings
	failures   int    // of the partition
	retry      int    // the number of the parked batch that is given again; 0 for none
}

// Target is a group whose batches are posted.
type Target struct {
	Name     string
	ID       string        // of this group, and of none that has its name later
	Again    int           // how often the group was reset: what is posted then is new to its receiver
	Lease    time.Duration // how long a lease lasts
	URL      string
	Headers  map[string]string
	Secrets  []string // a post is signed by each
	Revision uint64   // of all that
}

// Targets returns the groups of g's rights whose batches are posted, but for groups of another store. The error is Unavailable, or Internal.
func Targets(ctx context.Context, g *Groups) (out []Target, err error) {
	all, err := g.kv.All(ctx, groupsPrefix)
	for _, e := range all {
		s, err := g.readGroup(e)
		switch {
		case err != nil:
			return nil, err
		case s.Push == nil || s.checkStore() != nil || g.rights == nil || !g.rights.Has(s.Settings.Role):
			continue
		}
		out = append(out, Target{Name: s.name, ID: s.ID, Again: s.Generation, Lease: s.lease(), URL: s.Push.URL, Headers: s.Push.Headers,
			Secrets: s.Push.signing(g.opt.Now()), Revision: s.revision})
	}
	return out, err
}

// Reading is a member's request for the changes of a partition.
type Reading struct {
	Group     string
	Partition int
	Token     string           // of its lease
	Query     changefeed.Query // how they are to be sent
}

// ServeChanges answers a member's request for the changes of a partition whose token it has. It sends the changes of the first parked batch that is to be given again, or the changes after the checkpoint. It blocks
// for as long as the answer lasts. The answer ends when the lease is lost, when a batch has failed, when another parked batch is to be given, or when the rights of g have ended. Errors are to be answered:
// LeaseLost, Invalid, Forbidden, NotFound, Unavailable, and PositionGone where the changes that it is to give are no longer kept.
func (g *Groups) ServeChanges(w http.ResponseWriter, r *http.Request, asked Reading) error {
	read, scope, err := g.read(r.Context(), asked.Group, asked.Partition, asked.Token)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(r.Context())
	var watching sync.WaitGroup
	defer watching.Wait()
	defer cancel()
	watching.Go(func() {
		g.watch(ctx, read, scope)
		cancel()
	})
	asked.Query.Rights = g.rights.As(read.group.Settings.Role)
	if err := g.feed.ServeScope(w, r.WithContext(ctx), asked.Query, scope); err != nil || r.Method == http.MethodHead {
		return read.explain(err)
	}
	return g.finishEmpty(r.Context(), read, scope)
}

// read returns what a token lets read of a partition. Errors are LeaseLost, Invalid, Forbidden, NotFound and Unavailable.
func (g *Groups) read(ctx context.Context, name string, number int, token string) (*reading, *changefeed.Scope, error) {
	s, err := g.get(ctx, name)
	if err != nil {
		return nil, nil, err
	}
	p, err := g.partition(ctx, s, number)
	if err != nil {
		return nil, nil, err
	}
	if err := p.check(token); err != nil {
		return nil, nil, err
	}
	read := &reading{group: s, partition: number, token: token, generation: s.Generation, revision: s.revision, failures: p.Failures}
	scope := &changefeed.Scope{Since: p.Checkpoint, Selection: s.Settings.selection()}
	scope.Selection.Partition, scope.Selection.Partitions = number, s.Settings.Partitions
	if retry := p.retried(); retry != nil {
		read.retry, scope.Since, scope.Until = retry.Number, retry.From, retry.To
	} else {
		scope.Wait = p.wait(g.opt.Now())
	}
	return read, scope, nil
}

// partition returns the state of a partition. Errors are NotFound, Busy, Internal and Unavailable.
func (g *Groups) partition(ctx context.Context, s *group, number int) (p *partition, err error) {
	err = g.withPartition(ctx, s, number, func(q *partition) { p = q })
	return p, err
}

// withPartition calls fn with the state of a partition. It returns the errors of partition.
func (g *Groups) withPartition(ctx context.Context, s *group, number int, fn func(p *partition)) error {
	if err := s.checkPartition(number); err != nil {
		return err
	}
	e, err := g.kv.Get(ctx, s.partitionKey(number))
	if err != nil {
		return err
	}
	p, err := s.partitionOf(e.Key, e.Value)
	if err == nil {
		fn(p)
	}
	return err
}

// watch returns once a member is to be given something else than what it reads, or ctx has ended. If the log cannot be
// asked, it goes on: a member without a lease cannot acknowledge what it reads.
func (g *Groups) watch(ctx context.Context, read *reading, scope *changefeed.Scope) {
	ticker := time.NewTicker(g.opt.Watch)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return
		}
		if scope.Empty() { // nothing is left of the parked batch, and nobody would acknowledge it
			return
		}
		now, _, err := g.read(ctx, read.group.name, read.partition, read.token)
		switch fanfold.CodeOf(err) {
		case "":
			if now.failures != read.failures || now.retry != read.retry || now.revision != read.revision || now.generation != read.generation {
				return
			}
		case fanfold.LeaseLost, fanfold.NotFound, fanfold.Forbidden:
			return
		}
	}
}

// finishEmpty takes an empty parked batch that was given again off the list. With mode=latest a batch gets empty, because documents that have
// changed since come with their newest change alone. After an answer without rows that has not come to the end, the partition goes on where it
// has looked up to, whether the member acknowledges that or not. Errors are Busy and Unavailable; the answer has been given, and they are for
// nobody to see.
func (g *Groups) finishEmpty(ctx context.Context, read *reading, scope *changefeed.Scope) error {
	ctx = context.WithoutCancel(ctx)
	if passed := scope.Passed(); passed > 0 && !scope.Empty() {
		return g.change(ctx, read.group, read.partition, func(p *partition) (changed bool, err error) {
			if p.isToken(read.token) {
				changed, _ = p.ack(passed) // which is before the end of a parked batch
			}
			return changed, nil
		})
	}
	if read.retry == 0 || !scope.Empty() {
		return nil
	}
	err := g.change(ctx, read.group, read.partition, func(p *partition) (bool, error) {
		return p.isToken(read.token) && p.unpark(read.retry), nil
	})
	if err == nil {
		err = g.forget(ctx, read.group, read.partition, read.retry)
	}
	return err
}

// checkPartition returns NotFound for a number that is none of the group's partitions.
func (s *group) checkPartition(number int) error {
	if number < 0 || number >= s.Settings.Partitions {
		return fanfold.Errorf(fanfold.NotFound, "group %s has no partition %s: they are 0 to %d", s.name, strconv.Itoa(number), s.Settings.Partitions-1)
	}
	return nil
}
