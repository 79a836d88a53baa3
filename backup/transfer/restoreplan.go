package transfer

import (
	"context"
	"strconv"
	"strings"
	"time"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/backup"
	"github.com/fanfold/fanfold/events"
	"github.com/fanfold/fanfold/projector/batch"
)

// restorePlan says what of a backup is restored.
type restorePlan struct {
	last     uint64         // the last event
	time     time.Time      // of that event
	cutBatch uint64         // the first event of a batch whose end is left out, 0 for none
	largest  int            // bytes of the largest message, with its headers
	event    fanfold.Digest // of the last event, once it is restored
	asOf     fanfold.AsOf   // which lists are in force there
}

// maxAddedHeaders bounds in bytes the headers that a restore adds to a message.
const maxAddedHeaders = 256

// end is where a restored store ends.
type end struct {
	seq  uint64    // the last event
	time time.Time // or the time than which no event is later, if it is not zero
}

// planRestore reads a whole backup through, and returns what is to be restored of it. Errors are backup.Damage, within an Invalid; Invalid
// for an end that it does not have; ctx's; and Unavailable.
func planRestore(ctx context.Context, b *backup.Backup, to string, progress fanfold.Progress) (*restorePlan, error) {
	if err := b.CheckComplete(); err != nil {
		return nil, err
	}
	at, err := endOf(b, to)
	if err != nil {
		return nil, err
	}
	s := restoreSurvey{end: at, decoder: events.NewDecoder("")}
	if b.Base != nil {
		s.plan.last, s.plan.time, s.newest = b.Base.Seq, b.Base.Time, b.Base.Time
		if err := b.CheckBase(); err != nil {
			return nil, err
		}
	}
	base := s.plan.last
	err = b.Events(ctx, base, func(ev *backup.Event) error {
		if ev.Seq%1024 == 0 {
			progress.Tell("reading the backup", int64(ev.Seq-base), int64(b.Position-base))
		}
		return s.add(ev)
	})
	if s.plan.last == b.Position {
		s.plan.asOf = fanfold.AsOf(b.Erasure)
	}
	switch {
	case err != nil:
		return nil, err
	case s.baseLater > 0 && b.Base != nil:
		return nil, fanfold.Errorf(fanfold.Invalid, "--to %s is before event %d, by which something was erased: the backup has the state with which the log begins as it is since then; "+
			"restore all of it, or up to a later place", to, s.baseLater)
	case s.left > 0 && !s.ended:
		return nil, fanfold.Errorf(fanfold.Invalid, "the backup ends within a transaction, at event %d", b.Position)
	case s.plan.last == base && !at.time.IsZero() && b.Position > base && b.Base == nil:
		return nil, fanfold.Errorf(fanfold.Invalid, "--to %s is before the backup's first event", to)
	}
	return &s.plan, nil
}

// endOf reads where the restored store ends. The error is Invalid.
func endOf(b *backup.Backup, to string) (e end, err error) {
	if to == "" {
		return end{seq: b.Position}, nil
	}
	begins := b.Base
	if begins == nil {
		begins = new(backup.Base)
	}
	m, mark, err := fanfold.ParseMoment("--to ", to, time.Now())
	if err != nil {
		return e, err
	}
	if m.Time.Before(begins.Time) && !m.Time.IsZero() || m.Time.IsZero() && mark.Seq() < begins.Seq {
		return e, fanfold.Errorf(fanfold.Invalid, "--to %s is before the backup's beginning: it has the state after event %d, of %s, and what came later", to, begins.Seq, begins.Time.Format(time.RFC3339Nano))
	}
	if !m.Time.IsZero() {
		return end{time: m.Time}, nil
	}
	issuer := fanfold.Issuer{Store: b.Store, Origin: b.Predecessors}
	if _, err := issuer.Resolve(mark); err != nil {
		return e, fanfold.Errorf(fanfold.Invalid, "--to %s is a position of another store: the backup is of store %s", to, b.Store)
	}
	e.seq = mark.Seq()
	if e.seq > b.Position {
		return e, fanfold.Errorf(fanfold.Invalid, "--to %s is not in the backup, which ends at event %d", to, b.Position)
	}
	return e, nil
}

// restoreSurvey finds the last event that is restored, while the events of a backup go by.
type restoreSurvey struct {
	plan    restorePlan
	end     end
	ended   bool
	left    int       // events of a transaction that are to come
	newest  time.Time // the latest time of an event so far
	batch   uint64    // the first event of what was stored together last
	batchTo uint64    // and its last
	guards  batch.End
	decoder *events.Decoder

	baseLater uint64 // the first event after the end that replaces the base at which the log begins; 0 for none
}

// add looks at the next event.
func (s *restoreSurvey) add(ev *backup.Event) error {
	size := len(ev.Payload) + maxAddedHeaders
	index, count := 0, 0
	var err error
	for _, h := range ev.Headers {
		size += len(h.Name) + len(h.Value) + 4
		switch h.Name {
		case fanfold.HeaderTxIndex:
			index, err = strconv.Atoi(h.Value)
		case fanfold.HeaderTxCount:
			count, err = strconv.Atoi(h.Value)
		case fanfold.HeaderBatchCount:
			var n uint64
			if n, err = strconv.ParseUint(h.Value, 10, 32); n > 0 {
				s.batch, s.batchTo = ev.Seq, ev.Seq+n-1
			}
		}
		if err != nil {
			return fanfold.Errorf(fanfold.Invalid, "event %d of the backup has a header that cannot be read: %s", ev.Seq, h.Name)
		}
	}
	if ev.Time.After(s.newest) {
		s.newest = ev.Time
	}
	s.ended = s.ended || s.left == 0 && !s.guards.Open() && s.isAfter(ev)
	if err := s.erased(ev); err != nil || s.ended {
		return err
	}
	if err := s.guard(ev); err != nil {
		return err
	}
	s.left = max(0, count-index-1)
	s.plan.last, s.plan.time, s.plan.largest = ev.Seq, ev.Time, max(s.plan.largest, size)
	s.plan.cutBatch = 0
	if s.batchTo > ev.Seq {
		s.plan.cutBatch = s.batch
	}
	return nil
}

// erased takes note of an event by which an erasure comes into force.
func (s *restoreSurvey) erased(stored *backup.Event) error {
	if !strings.HasSuffix(stored.Subject, ".erased") {
		return nil
	}
	ev, err := s.decoder.Decode(MessageOf(stored))
	switch {
	case err != nil:
		return err
	case !ev.Loss.Erases(): // a document's id can end so
	case !s.ended:
		s.plan.asOf = max(s.plan.asOf, ev.Loss.UpTo)
	case ev.Loss.Base != nil && s.baseLater == 0:
		s.baseLater = ev.Seq
	}
	return nil
}

// guard notes which documents are awaited, because their links and claims came.
func (s *restoreSurvey) guard(stored *backup.Event) error {
	if !s.guards.Open() && !strings.Contains(stored.Subject, ".link.") && !strings.Contains(stored.Subject, ".claim.") && !strings.Contains(stored.Subject, ".sequence.") {
		return nil
	}
	ev, err := s.decoder.Decode(MessageOf(stored))
	if err == nil {
		s.guards.Add(ev)
	}
	return err
}

// isAfter returns whether an event, which begins something, comes after the end.
func (s *restoreSurvey) isAfter(ev *backup.Event) bool {
	if !s.end.time.IsZero() {
		return s.newest.After(s.end.time)
	}
	return ev.Seq > s.end.seq
}
