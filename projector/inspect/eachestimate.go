package inspect

import (
	"context"
	"slices"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/model"
	"github.com/fanfold/fanfold/projector/fold"
	"github.com/fanfold/fanfold/sqlite"
)

// onSnapshot is how many events are rehearsed on one snapshot. While one is read SQLite cannot begin its WAL anew.
const onSnapshot = 32

// MayEachExceed returns the indexes of those events that may cause more than limit derived changes, each as if it were the
// only one and the log's next. None is left out that does, as far as this node has folded. Several are rehearsed on one
// snapshot, and rows that more than one of them read are read once while nothing is folded. It also returns events whose
// rehearsal ended early. The error is the read model's, or ctx's.
func (i *Inspector) MayEachExceed(ctx context.Context, events []*fanfold.Event, limit int64) (which []int, err error) {
	done := 0
	e := &eachEstimate{ctx: ctx}
	for some := range slices.Chunk(events, onSnapshot) {
		exceeding, err := i.mayEachExceed(e, some, limit)
		if err != nil {
			return nil, err
		}
		for _, n := range exceeding {
			which = append(which, done+n)
		}
		done += len(some)
	}
	return which, nil
}

// mayEachExceed does what MayEachExceed does, on one snapshot, with what an estimate has read of one before.
func (i *Inspector) mayEachExceed(e *eachEstimate, events []*fanfold.Event, limit int64) (which []int, err error) {
	pl := i.projector.Plan()
	err = i.store.Read(func(s *sqlite.Snapshot) error {
		defer func() { i.rowsRead.Add(int64(s.RowsRead())) }()
		if int64(s.Checkpoint.Seq)+1 <= limit {
			return nil // an event changes each document once, and each was made by an event
		}
		e.moveTo(s, pl)
		for n, ev := range events {
			if !pl.Collection(ev.Key.Collection).FansOut && maxReferenced <= limit {
				continue // it changes the documents that it refers to, and nothing follows from that
			}
			if derived, err := e.of(ev); e.ctx.Err() != nil {
				return e.ctx.Err()
			} else if err != nil || derived > limit {
				which = append(which, n)
			}
		}
		return nil
	})
	return which, err
}

// eachEstimate rehearses events, again and again on the same rows.
type eachEstimate struct {
	ctx      context.Context
	plan     *fold.Plan
	snapshot *sqlite.Snapshot
	tx       *sqlite.Tx // nil before the first event, and after one that could not be folded to its end
	fold     *fold.Fold
	out      *model.Fanout
}

// moveTo makes the estimate go on with a snapshot and a plan. It keeps the rows it has read if both are as before: nothing was folded meanwhile.
func (e *eachEstimate) moveTo(s *sqlite.Snapshot, pl *fold.Plan) {
	if e.tx != nil && (e.plan != pl || !s.Resume(e.tx)) {
		e.tx = nil
	}
	e.snapshot, e.plan = s, pl
}

// of returns how many derived changes events cause at most. An error other than ctx's says that they change many documents, or cannot be
// folded. Each call has as many events as the first.
func (e *eachEstimate) of(events ...*fanfold.Event) (derived int64, err error) {
	if e.tx == nil {
		e.out = model.NewFanout()
		e.tx = e.snapshot.Rehearse(sqlite.Rehearsal{MaxDocuments: maxRehearsed * len(events), MaxBytes: maxRehearsedBytes})
		e.fold = newEstimate(e.ctx, e.plan, len(events), e.out)
	}
	e.out.Derived = 0
	if err := rehearse(e.ctx, e.tx, e.fold, events); err != nil {
		e.tx = nil
		return 0, err
	}
	e.tx.TakeBack()
	e.fold.TakeBack()
	return e.out.Derived, nil
}
