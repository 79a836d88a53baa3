package changefeed

import (
	"slices"
	"sync"
	"sync/atomic"

	"github.com/fanfold/fanfold"
)

// answers knows the answers that are under way, for those who watch the node.
type answers struct {
	running map[string]*atomic.Int64 // by the transport

	mu      sync.Mutex
	streams map[*stream]struct{} // the endless ones
}

// newAnswers returns an answers without any.
func newAnswers() *answers {
	a := &answers{running: map[string]*atomic.Int64{}, streams: map[*stream]struct{}{}}
	for _, kind := range transports {
		a.running[kind] = new(atomic.Int64)
	}
	return a
}

// begin counts an answer until the function that it returns is called.
func (a *answers) begin(kind string) (end func()) {
	a.running[kind].Add(1)
	return func() { a.running[kind].Add(-1) }
}

// follow takes in an endless answer until the function that it returns is called.
func (a *answers) follow(st *stream) (end func()) {
	st.at.Store(uint64(st.scan.at))
	a.mu.Lock()
	defer a.mu.Unlock()
	a.streams[st] = struct{}{}
	return func() {
		a.mu.Lock()
		defer a.mu.Unlock()
		delete(a.streams, st)
	}
}

// Transports lists the names of the transports, as the parameter feed has them.
func Transports() []string { return slices.Clone(transports) }

// Subscribers returns how many answers of a transport are under way, including consumer groups'.
func (f *Feed) Subscribers(transport string) int64 { return f.answers.running[transport].Load() }

// Farthest returns the position of the endless answer that lags most. found is false where there is none.
func (f *Feed) Farthest() (at fanfold.Position, found bool) {
	f.answers.mu.Lock()
	defer f.answers.mu.Unlock()
	for st := range f.answers.streams {
		if mine := st.reached(); !found || mine < at {
			at, found = mine, true
		}
	}
	return at, found
}

// Behind returns how many endless answers have yet to come to a position, including consumer groups'.
func (f *Feed) Behind(at fanfold.Position) (n int64) {
	f.answers.mu.Lock()
	defer f.answers.mu.Unlock()
	for st := range f.answers.streams {
		if st.reached() < at {
			n++
		}
	}
	return n
}

// reached returns up to where the consumer has everything.
func (st *stream) reached() fanfold.Position {
	at := fanfold.Position(st.at.Load())
	if sub := st.sub.Load(); sub != nil { // which may have looked at much that was not asked for
		at = max(at, sub.checkedUpTo())
	}
	return at
}
