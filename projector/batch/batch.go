package batch

import "github.com/fanfold/fanfold"

// Bounds of a batch.
const (
	maxEvents = 4000
	maxBytes  = 8 << 20 // of bodies
)

// batch collects the events that are folded in one transaction of SQLite.
type batch struct {
	last   uint64 // the event with which it ends, if that does not cut anything
	events []*fanfold.Event
	bytes  int // of their bodies
	end    End
	whole  int // how many of the events come before the last place where the batch can end
}

// add adds an event and returns whether the batch takes more.
func (b *batch) add(ev *fanfold.Event) (more bool) {
	b.events = append(b.events, ev)
	b.bytes += len(ev.Body)
	if b.end.Add(ev); !b.end.Reached() {
		return true
	}
	b.whole = len(b.events)
	return len(b.events) < maxEvents && b.bytes < maxBytes && ev.Seq < b.last
}

// End finds the places in the log where a batch can end, because everything that was stored at once is
// complete. A transaction is not divided, nor a document's write from the links, claims and sequences that come with it. Whoever saw
// a claim without its document would take the value for free.
type End struct {
	inTransaction bool
	awaited       map[fanfold.Key]struct{} // documents whose guards came, and whose writes are to come
	guarded       int                      // events since the first of those guards
	numbered      int                      // events to come that were stored at once with a sequence
}

// maxGuardedRound is how many events with guards are stored at once at most, by an import. A document that has not come by then never will.
const maxGuardedRound = 4000

// Add goes one event further.
func (e *End) Add(ev *fanfold.Event) {
	e.inTransaction = ev.Tx.Open()
	switch ev.Kind {
	case fanfold.KindLink:
		for _, holder := range ev.Holders {
			e.await(holder)
		}
	case fanfold.KindClaim:
		e.await(ev.Key)
	case fanfold.KindSequence:
		given, _ := ev.Given() // which decoding has read
		e.numbered = max(e.numbered, min(given.Rest, maxGuardedRound)+1)
	case fanfold.KindPut, fanfold.KindPatch, fanfold.KindDelete:
		delete(e.awaited, ev.Key)
	}
	e.numbered = max(e.numbered-1, 0)
	if e.guarded++; len(e.awaited) == 0 || e.guarded > maxGuardedRound {
		e.guarded = 0
		clear(e.awaited)
	}
}

// await notes that a write of the document is to come.
func (e *End) await(key fanfold.Key) {
	if e.awaited == nil {
		e.awaited = map[fanfold.Key]struct{}{}
	}
	e.awaited[key] = struct{}{}
}

// Reached returns whether a batch can end after the events that were added.
func (e *End) Reached() bool { return !e.inTransaction && !e.Open() }

// Open returns whether the write of a guarded document is yet to come. A log that ended there would have documents awaited that never come.
func (e *End) Open() bool { return len(e.awaited) > 0 || e.numbered > 0 }

// Prefix returns how many of the events make the shortest batch, at least one. They are a batch themselves.
func Prefix(events []*fanfold.Event) int {
	var end End
	for i, ev := range events {
		if end.Add(ev); end.Reached() {
			return i + 1
		}
	}
	return len(events)
}
