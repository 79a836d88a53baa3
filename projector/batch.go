package projector

import "github.com/fanfold/fanfold"

// batch collects the events that are folded in one transaction of SQLite.
type batch struct {
	opt    Options
	last   uint64 // the event with which it ends, if that does not cut anything
	events []*fanfold.Event
	bytes  int // of their bodies
	end    atomicEnd
	whole  int // how many of the events come before the last place where the batch can end
}

// add adds an event and returns whether the batch takes more.
func (b *batch) add(ev *fanfold.Event) (more bool) {
	b.events = append(b.events, ev)
	b.bytes += len(ev.Body)
	if b.end.add(ev); !b.end.reached() {
		return true
	}
	b.whole = len(b.events)
	return len(b.events) < b.opt.BatchEvents && b.bytes < b.opt.BatchBytes && ev.Seq < b.last
}

// atomicEnd finds the places in the log where a batch can end, because everything that was stored at once is
// complete. A transaction is not divided, nor a document's write from the links and claims that guard it. Whoever saw
// a claim without its document would take the value for free.
type atomicEnd struct {
	inTransaction bool
	awaited       map[fanfold.Key]struct{} // documents whose guards came, and whose writes are to come
	guarded       int                      // events since the first of those guards
}

// maxGuardedRound is how many events with guards are stored at once at most, by an import. A document that has not come by then never will.
const maxGuardedRound = 4000

// add goes one event further.
func (e *atomicEnd) add(ev *fanfold.Event) {
	e.inTransaction = ev.Tx.Open()
	switch ev.Kind {
	case fanfold.KindLink:
		for _, holder := range ev.Holders {
			e.await(holder)
		}
	case fanfold.KindClaim:
		e.await(ev.Key)
	case fanfold.KindPut, fanfold.KindPatch, fanfold.KindDelete:
		delete(e.awaited, ev.Key)
	}
	if e.guarded++; len(e.awaited) == 0 || e.guarded > maxGuardedRound {
		e.guarded = 0
		clear(e.awaited)
	}
}

// await notes that a write of the document is to come.
func (e *atomicEnd) await(key fanfold.Key) {
	if e.awaited == nil {
		e.awaited = map[fanfold.Key]struct{}{}
	}
	e.awaited[key] = struct{}{}
}

// reached returns whether a batch can end after the events that were added.
func (e *atomicEnd) reached() bool { return !e.inTransaction && len(e.awaited) == 0 }

// prefix returns how many of the events make the shortest batch, at least one. They are a batch themselves.
func prefix(events []*fanfold.Event) int {
	var end atomicEnd
	for i, ev := range events {
		if end.add(ev); end.reached() {
			return i + 1
		}
	}
	return len(events)
}
