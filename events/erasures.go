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

// erasures is what a log knows of its erase and erased events. Its methods may be called from many goroutines.
type erasures struct {
	mu    sync.Mutex // of who changes table
	table atomic.Pointer[erasureTable]
}

// erasureTable is never changed once others have it.
type erasureTable struct {
	noted   []notedErasure    // in order of their sequences
	listed  []listing         // in order of messages, then of erase events
	bytes   int               // of the payloads of noted
	latest  map[string]uint64 // the last message that is listed on each subject, claims apart
	links   map[string]uint64 // those of links
	erased  *fanfold.Loss
	at      uint64              // the sequence of erased: of the first event of its transaction
	base    *fanfold.Compaction // of the last erased event that has one
	lastD   uint64              // the sequence of the last erased event
	inForce uint64              // up to which erase events are in force by an erased event
}

// notedErasure is an erase event that is known.
type notedErasure struct {
	NotedErasure
	bytes int
}

// listing says that an erase event lists a message.
type listing struct {
	seq        uint64
	erasure    uint64
	substitute *fanfold.Substitute
}

// noErasures is the table of a log without erase events.
var noErasures = &erasureTable{}

// get returns the table.
func (e *erasures) get() *erasureTable {
	if t := e.table.Load(); t != nil {
		return t
	}
	return noErasures
}

// change replaces the table by one that fn has changed.
func (e *erasures) change(fn func(t *erasureTable)) {
	e.mu.Lock()
	defer e.mu.Unlock()
	next := *e.get()
	fn(&next)
	e.table.Store(&next)
}

// note takes note of erase and erased events, which are in order and have their sequences. Events that are known change nothing, and
// messages up to base are left out.
func (e *erasures) note(base uint64, sizes []int, evs ...*fanfold.Event) {
	e.change(func(t *erasureTable) {
		changed := false
		for i, ev := range evs {
			switch {
			case ev.Loss.Lists() && ev.Seq > t.last():
				t.noted = append(slices.Clip(t.noted), notedErasure{NotedErasure{ev.Seq, ev.Loss.List}, sizes[i]})
				t.bytes += sizes[i]
				changed = true
			case ev.Loss.Erases() && ev.Seq > t.lastD:
				changed = t.noteErased(ev) || changed
			}
		}
		if changed {
			t.takeOver(0)
			t.index(base)
		}
	})
}

// noteErased takes note of an erased event, and tells whether by it something comes into force. Lists that were taken over go with the erasure after
// that: somebody may read as of the earlier one yet.
func (t *erasureTable) noteErased(ev *fanfold.Event) bool {
	t.lastD = ev.Seq
	before := t.inForce
	if t.inForce = max(before, ev.Loss.UpTo); t.inForce > before {
		t.takeOver(before)
	}
	if ev.Loss.Base != nil {
		t.base = ev.Loss.Base
	}
	if ev.Tx.Index == 0 {
		t.erased, t.at = ev.Loss, ev.Seq
	}
	return t.inForce > before
}

// last returns the sequence of the last erase event, 0 for none.
func (t *erasureTable) last() uint64 {
	if len(t.noted) == 0 {
		return 0
	}
	return t.noted[len(t.noted)-1].Seq
}

// index makes listed anew, without messages up to base.
func (t *erasureTable) index(base uint64) {
	t.listed, t.latest, t.links = nil, map[string]uint64{}, map[string]uint64{}
	for i := range t.noted {
		n := &t.noted[i]
		from := sort.Search(len(n.Messages), func(j int) bool { return n.Messages[j].Seq > base })
		for j := from; j < len(n.Messages); j++ {
			m := &n.Messages[j]
			t.listed = append(t.listed, listing{m.Seq, n.Seq, m})
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

// forget drops messages up to base, and what is to be after the log's end.
func (e *erasures) forget(base, end uint64) {
	if t := e.get(); len(t.noted) == 0 && t.lastD == 0 {
		return
	}
	e.change(func(t *erasureTable) {
		kept := make([]notedErasure, 0, len(t.noted))
		t.bytes = 0
		for _, n := range t.noted {
			if n.Seq > end {
				continue
			}
			if count := len(n.Messages); count > 0 && n.Messages[count-1].Seq <= base {
				whole := *n.Erasure
				whole.Messages = nil
				n.Erasure, n.bytes = &whole, 0
			}
			kept = append(kept, n)
			t.bytes += n.bytes
		}
		t.noted = kept
		if t.lastD > end {
			t.lastD, t.inForce, t.erased, t.at, t.base = 0, 0, nil, 0, nil // who needs it asks the log
		}
		t.index(base)
	})
}

// find returns the substitute of a message as of an erasure, nil for none, and the last erase event that lists the message, 0 for none.
func (t *erasureTable) find(seq, erasure uint64) (s *fanfold.Substitute, by uint64) {
	if n := len(t.listed); n == 0 || t.listed[n-1].seq < seq {
		return nil, 0
	}
	for i := sort.Search(len(t.listed), func(i int) bool { return t.listed[i].seq >= seq }); i < len(t.listed) && t.listed[i].seq == seq; i++ {
		by = t.listed[i].erasure
		if by <= erasure {
			s = t.listed[i].substitute
		}
	}
	return s, by
}

// count returns how many messages are listed from one to another.
func (t *erasureTable) count(from, to uint64) (n uint64) {
	for i := sort.Search(len(t.listed), func(i int) bool { return t.listed[i].seq >= from }); i < len(t.listed) && t.listed[i].seq <= to; i++ {
		if i == 0 || t.listed[i].seq != t.listed[i-1].seq {
			n++
		}
	}
	return n
}

// anyOn tells whether a message after one is listed on a subject, or on one that matches it, claims apart.
func (t *erasureTable) anyOn(subject string, after uint64) bool { return t.latestOn(subject) > after }

// latestOn returns the last message that is listed on a subject, or on one that matches it, claims apart; 0 for none.
func (t *erasureTable) latestOn(subject string) (last uint64) {
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
func (t *erasureTable) all(from, erasure uint64, fn func(s *fanfold.Substitute) bool) {
	for i := sort.Search(len(t.listed), func(i int) bool { return t.listed[i].seq >= from }); i < len(t.listed); {
		var s *fanfold.Substitute
		seq := t.listed[i].seq
		for ; i < len(t.listed) && t.listed[i].seq == seq; i++ {
			if t.listed[i].erasure <= erasure {
				s = t.listed[i].substitute
			}
		}
		if s != nil && !fn(s) {
			return
		}
	}
}

// Erasures returns the last erase event of the log, and the last one that is in force, 0 for none, as far as this process knows.
func (p *Prefix) Erasures() (last, inForce uint64) {
	t := p.erasures.get()
	inForce = t.inForce
	if c, _ := p.Compaction(); c != nil {
		inForce = max(inForce, c.Erasure)
	}
	return max(t.last(), inForce), inForce
}

// InForce returns the first event of the last transaction of erased events, and its sequence, nil for none. Its base is the one of the last
// such event that has one.
func (p *Prefix) InForce() (*fanfold.Loss, uint64) {
	t := p.erasures.get()
	return t.erased, t.at
}

// LastErased returns the sequence of the last erased event that the log is known to have, 0 for none. It is what the next one requires.
func (p *Prefix) LastErased() uint64 { return p.erasures.get().lastD }

// ErasuresAfter returns the erasures after one event, up to another, in order. An erasure has no messages if all are from before the log's base.
func (p *Prefix) ErasuresAfter(after, upTo uint64) (out []NotedErasure) {
	t := p.erasures.get()
	for i := range t.noted {
		if n := t.noted[i].NotedErasure; n.Seq > after && n.Seq <= upTo {
			out = append(out, n)
		}
	}
	return out
}

// askErasures asks the log for the erase and erased events that this process does not know, and takes note of them. It blocks for two
// round trips, and another for each of them. Errors are Invalid for an event that cannot be read, and Unavailable.
func (p *Prefix) askErasures(ctx context.Context) error {
	t := p.erasures.get()
	for _, from := range []struct {
		subject string
		after   uint64
	}{{p.log.sub.erase(), t.last()}, {p.log.sub.erased(), t.lastD}} {
		var found []*fanfold.Event
		var sizes []int
		for after := from.after; ; {
			m, err := p.log.getMsg(ctx, servers.LeaderQuery{Seq: after + 1, NextBySubject: from.subject})
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
			p.erasures.note(p.Base().Seq, sizes, found...)
		}
	}
	return nil
}

// mayErase returns a Conflict where an erase event of so many bytes would make the erase events of the log too large, nil where it would not.
func (e *erasures) mayErase(bytes int) error {
	if e.get().bytes+bytes <= MaxErasureBytes {
		return nil
	}
	return fanfold.Errorf(fanfold.Conflict, "the log would list more erased events than a node keeps in memory, %d MiB: let the store begin later first, with fanfold compact, so that the list of earlier ones goes", MaxErasureBytes>>20)
}
