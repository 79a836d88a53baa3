package events

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sort"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/events/servers"
)

// MaxErasureBytes bounds the payloads of the erase events of a log, which every node keeps in memory.
const MaxErasureBytes = 128 << 20

// ErrErased is the cause of a reader's error at a message that is gone and has no substitute as of the reader's erasure, because a later one lists it.
var ErrErased = errors.New("the event's content is erased")

// NotedErasure is an erasure with the sequence of its event.
type NotedErasure struct {
	Seq uint64
	*fanfold.Erasure
}

// losses is what a log knows of the events that say what it may lose. Its methods may be called from many goroutines.
type losses struct {
	mu    sync.Mutex // of who changes table
	table atomic.Pointer[lossTable]
}

// lossTable is never changed once others have it.
type lossTable struct {
	noted   []notedErasure    // in order of their sequences
	listed  []listing         // in order of messages, then of erase events
	bytes   int               // of the payloads of noted
	latest  map[string]uint64 // the last message that is listed on each subject, claims apart
	links   map[string]uint64 // those of links
	lastD   uint64            // the sequence of the last erased event
	inForce fanfold.AsOf      // up to which erase events are in force by an erased event

	begun      Base                // with which the last compaction begins the log, or a restore
	compaction *fanfold.Compaction // what the last compact event says; nil where no event says it
	compacted  uint64              // the sequence of that event
	since      time.Time           // when this process learnt of it
	replaced   *fanfold.Compaction // of the last erased event that has a base
}

// notedErasure is an erase event that is known.
type notedErasure struct {
	NotedErasure
	bytes int
}

// listing says that an erase event lists a message.
type listing struct {
	seq        uint64
	erasure    fanfold.AsOf
	substitute *fanfold.Substitute
}

// noLosses is the table of a log that has lost nothing.
var noLosses = &lossTable{}

// get returns the table.
func (l *losses) get() *lossTable {
	if t := l.table.Load(); t != nil {
		return t
	}
	return noLosses
}

// change replaces the table by one that fn has changed.
func (l *losses) change(fn func(t *lossTable)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	next := *l.get()
	fn(&next)
	l.table.Store(&next)
}

// note takes note of losses, which are in order and have their sequences. Events that are known change nothing, and messages up to the base are left
// out.
func (l *losses) note(sizes []int, evs ...*fanfold.Event) {
	l.change(func(t *lossTable) {
		changed, before := false, t.begun.Seq
		for i, ev := range evs {
			changed = t.note(ev, sizes[i]) || changed
		}
		if changed {
			t.takeOver(0)
		}
		if t.begun.Seq > before {
			t.forget(^uint64(0))
		} else if changed {
			t.index()
		}
	})
}

// note takes note of a loss, and tells whether something is listed by it, or comes into force. Lists that were taken over go with the erasure after
// that: somebody may read as of the earlier one yet.
func (t *lossTable) note(ev *fanfold.Event, size int) bool {
	l := ev.Loss
	switch {
	case l.Lists() && ev.Seq > t.last():
		t.noted = append(slices.Clip(t.noted), notedErasure{NotedErasure{ev.Seq, l.List}, size})
		t.bytes += size
		return true
	case l.Erases() && ev.Seq > t.lastD:
		before := t.inForce
		t.lastD, t.inForce = ev.Seq, max(before, l.UpTo)
		if t.inForce > before {
			t.takeOver(before)
		}
		if l.Base != nil {
			t.replaced = l.Base
		}
		return t.inForce > before
	case l.List == nil && ev.Seq > t.compacted:
		t.compact(ev)
	}
	return false
}

// last returns the sequence of the last erase event, 0 for none.
func (t *lossTable) last() uint64 {
	if len(t.noted) == 0 {
		return 0
	}
	return t.noted[len(t.noted)-1].Seq
}

// index makes listed anew, without messages up to the base.
func (t *lossTable) index() {
	t.listed, t.latest, t.links = nil, map[string]uint64{}, map[string]uint64{}
	for i := range t.noted {
		n := &t.noted[i]
		from := sort.Search(len(n.Messages), func(j int) bool { return n.Messages[j].Seq > t.begun.Seq })
		for j := from; j < len(n.Messages); j++ {
			m := &n.Messages[j]
			t.listed = append(t.listed, listing{m.Seq, fanfold.AsOf(n.Seq), m})
			if !m.Claim {
				t.latest[m.Subject] = max(t.latest[m.Subject], m.Seq)
			}
			if strings.Contains(m.Subject, ".link.") {
				t.links[m.Subject] = t.latest[m.Subject]
			}
		}
	}
	slices.SortFunc(t.listed, func(a, b listing) int {
		return cmp.Or(cmp.Compare(a.seq, b.seq), cmp.Compare(a.erasure, b.erasure))
	})
}

// forget drops messages up to the base, and what is to be after the log's end.
func (t *lossTable) forget(end uint64) {
	kept := make([]notedErasure, 0, len(t.noted))
	t.bytes = 0
	for _, n := range t.noted {
		if n.Seq > end {
			continue
		}
		if count := len(n.Messages); count > 0 && n.Messages[count-1].Seq <= t.begun.Seq {
			whole := *n.Erasure
			whole.Messages = nil
			n.Erasure, n.bytes = &whole, 0
		}
		kept = append(kept, n)
		t.bytes += n.bytes
	}
	t.noted = kept
	if t.lastD > end {
		t.lastD, t.inForce, t.replaced = 0, 0, nil // who needs it asks the log
	}
	t.index()
}

// find returns the substitute of a message as of an erasure, nil for none, and the last erase event that lists the message, 0 for none.
func (t *lossTable) find(seq uint64, asOf fanfold.AsOf) (s *fanfold.Substitute, by fanfold.AsOf) {
	if n := len(t.listed); n == 0 || t.listed[n-1].seq < seq {
		return nil, 0
	}
	for i := sort.Search(len(t.listed), func(i int) bool { return t.listed[i].seq >= seq }); i < len(t.listed) && t.listed[i].seq == seq; i++ {
		by = t.listed[i].erasure
		if by <= asOf {
			s = t.listed[i].substitute
		}
	}
	return s, by
}

// count returns how many messages are listed from one to another.
func (t *lossTable) count(from, to uint64) (n uint64) {
	for i := sort.Search(len(t.listed), func(i int) bool { return t.listed[i].seq >= from }); i < len(t.listed) && t.listed[i].seq <= to; i++ {
		if i == 0 || t.listed[i].seq != t.listed[i-1].seq {
			n++
		}
	}
	return n
}

// anyOn tells whether a message after one is listed on a subject, or on one that matches it, claims apart.
func (t *lossTable) anyOn(subject string, after uint64) bool { return t.latestOn(subject) > after }

// latestOn returns the last message that is listed on a subject, or on one that matches it, claims apart; 0 for none.
func (t *lossTable) latestOn(subject string) (last uint64) {
	if !strings.HasSuffix(subject, ">") {
		return t.latest[subject]
	}
	for on, seq := range t.links {
		if isOn(on, subject) {
			last = max(last, seq)
		}
	}
	return last
}

// all calls fn with the last substitute of each listed message from one on, in order, as of an erasure, until fn returns false.
func (t *lossTable) all(from uint64, asOf fanfold.AsOf, fn func(s *fanfold.Substitute) bool) {
	for i := sort.Search(len(t.listed), func(i int) bool { return t.listed[i].seq >= from }); i < len(t.listed); {
		var s *fanfold.Substitute
		seq := t.listed[i].seq
		for ; i < len(t.listed) && t.listed[i].seq == seq; i++ {
			if t.listed[i].erasure <= asOf {
				s = t.listed[i].substitute
			}
		}
		if s != nil && !fn(s) {
			return
		}
	}
}

// Erasures returns the last erase event of the log, and the last one that is in force, 0 for none, as far as this process knows.
func (p *Prefix) Erasures() (last, inForce fanfold.AsOf) {
	t := p.losses.get()
	inForce = t.inForce
	if _, c := t.begins(); c != nil {
		inForce = max(inForce, c.AsOf)
	}
	return max(fanfold.AsOf(t.last()), inForce), inForce
}

// LastErased returns the sequence of the last erased event that the log is known to have, 0 for none. It is what the next one requires.
func (p *Prefix) LastErased() uint64 { return p.losses.get().lastD }

// ErasuresAfter returns the erasures after one event, up to another, in order. An erasure has no messages if all are from before the log's base.
func (p *Prefix) ErasuresAfter(after, upTo fanfold.AsOf) (out []NotedErasure) {
	t := p.losses.get()
	for i := range t.noted {
		if n := t.noted[i].NotedErasure; fanfold.AsOf(n.Seq) > after && fanfold.AsOf(n.Seq) <= upTo {
			out = append(out, n)
		}
	}
	return out
}

// askErasures asks the log, in a run of its server, for the erase and erased events that this process does not know, and takes note of them. It blocks for two
// round trips, and another for each of them. Errors are Invalid for an event that cannot be read, and Unavailable.
func (p *Prefix) askErasures(ctx context.Context, run *serverRun) error {
	t := p.losses.get()
	for _, from := range []struct {
		subject string
		after   uint64
	}{{p.log.sub.erase(), t.last()}, {p.log.sub.erased(), t.lastD}} {
		var found []*fanfold.Event
		var sizes []int
		for after := from.after; ; {
			m, err := run.message(ctx, p.log, servers.LeaderQuery{Seq: after + 1, NextBySubject: from.subject})
			if err != nil {
				return err
			}
			if m == nil {
				break
			}
			ev := &fanfold.Event{Seq: m.Seq}
			if err := errors.Join(Decode(m.Data, ev), readHeaders(m.Header, ev)); err != nil {
				return fanfold.Wrap(err, fanfold.Invalid, "event %d, which says what is erased, cannot be read: %v", m.Seq, err)
			}
			found, sizes, after = append(found, ev), append(sizes, len(m.Data)), m.Seq
		}
		if len(found) > 0 {
			p.losses.note(sizes, found...)
		}
	}
	return nil
}

// mayErase returns a Conflict where an erase event of so many bytes would make the erase events of the log too large, nil where it would not.
func (l *losses) mayErase(bytes int) error {
	if l.get().bytes+bytes <= MaxErasureBytes {
		return nil
	}
	return fanfold.Errorf(fanfold.Conflict, "the log would list more erased events than a node keeps in memory, %d MiB: let the store begin later first, with fanfold compact, so that the list of earlier ones goes", MaxErasureBytes>>20)
}
