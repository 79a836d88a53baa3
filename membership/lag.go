package membership

import (
	"context"
	"sync"
	"time"
)

// Lag knows how far a node lags its log. It goes by the answers of the log's leader and by this machine's monotonic
// clock since then. The time of day and the clocks of other machines have no part in it.
type Lag struct {
	opt LagOptions

	mu         sync.Mutex
	heads      []head        // that were not folded yet when last looked at, oldest first
	lastAnswer head          // the last answer
	freshAt    time.Duration // everything acknowledged by then is folded here
	proved     bool          // freshAt comes from an answer of the log
	nextQuery  *headQuery    // the one that has not begun yet
	running    bool
}

// LagOptions holds what a Lag asks.
type LagOptions struct {
	Head    func(ctx context.Context) (uint64, error) // the log's last event, as its leader says
	Applied func() uint64                             // the last event folded
	Now     func() time.Duration                      // a monotonic clock; default the process's
}

// head is an answer of the log's leader to a query of a moment.
type head struct {
	askedAt time.Duration
	seq     uint64
}

// headQuery is a query that several callers wait for.
type headQuery struct {
	done chan struct{}
	seq  uint64
	err  error
}

// maxHeads bounds the answers that are kept. If there are more, every second one is left out, so that the age of
// unfolded events comes out a little higher.
const maxHeads = 1024

// NewLag returns a Lag. Until the log was asked the age is the time since then.
func NewLag(opt LagOptions) *Lag {
	if opt.Now == nil {
		opt.Now = monotonic()
	}
	l := &Lag{opt: opt}
	l.freshAt = opt.Now()
	return l
}

// monotonic returns a clock that counts from the call on.
func monotonic() func() time.Duration {
	began := time.Now()
	return func() time.Duration { return time.Since(began) }
}

// QueryHead asks the log for its last event and returns it: everything acknowledged before the call is at it or before. Callers
// at the same time share a query, but never one that was asked before they called. It blocks for a round trip; the
// error is the log's, or ctx's.
func (l *Lag) QueryHead(ctx context.Context) (uint64, error) {
	l.mu.Lock()
	if l.nextQuery == nil {
		l.nextQuery = &headQuery{done: make(chan struct{})}
	}
	q := l.nextQuery
	if !l.running {
		l.running = true
		go l.runQueries()
	}
	l.mu.Unlock()
	select {
	case <-q.done:
		return q.seq, q.err
	case <-ctx.Done():
		return 0, ctx.Err()
	}
}

// queryTimeout bounds one query.
const queryTimeout = 5 * time.Second

// runQueries runs one query after the other until nobody waits for one.
func (l *Lag) runQueries() {
	for {
		l.mu.Lock()
		q := l.nextQuery
		l.nextQuery, l.running = nil, q != nil
		l.mu.Unlock()
		if q == nil {
			return
		}
		asked := l.opt.Now()
		ctx, cancel := context.WithTimeout(context.Background(), queryTimeout)
		q.seq, q.err = l.opt.Head(ctx)
		cancel()
		if q.err == nil {
			l.record(head{asked, q.seq})
		}
		close(q.done)
	}
}

// record takes note of an answer.
func (l *Lag) record(h head) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.heads) >= maxHeads {
		kept := l.heads[:0]
		for i := 1; i < len(l.heads); i += 2 {
			kept = append(kept, l.heads[i])
		}
		l.heads = kept
	}
	l.lastAnswer = head{h.askedAt, max(h.seq, l.lastAnswer.seq)}
	l.heads = append(l.heads, l.lastAnswer)
	l.advance()
}

// advance takes out the answers that are folded by now. It is called with l.mu held.
func (l *Lag) advance() {
	applied, n := l.opt.Applied(), 0
	for n < len(l.heads) && l.heads[n].seq <= applied {
		l.freshAt, l.proved = l.heads[n].askedAt, true
		n++
	}
	l.heads = append(l.heads[:0], l.heads[n:]...)
}

// LagReading says how far the node lags.
type LagReading struct {
	Events uint64 // that the log had beyond the last one folded, when it was last asked
	// Age bounds how old the oldest event is that is not folded: everything acknowledged before that time is. It grows
	// while the log cannot be asked.
	Age    time.Duration
	Proved bool // the node has folded what an answer of the log named since it started
}

// Now returns how far the node lags by what is known. It does not block.
func (l *Lag) Now() LagReading {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.advance()
	return LagReading{Events: max(l.lastAnswer.seq, l.opt.Applied()) - l.opt.Applied(), Age: max(0, l.opt.Now()-l.freshAt), Proved: l.proved}
}

// Shown returns Now for people: it is zero if no lag is known, and the log was asked within the last few seconds.
func (l *Lag) Shown(within time.Duration) LagReading {
	b := l.Now()
	if b.Events == 0 && b.Proved && b.Age <= within {
		b.Age = 0
	}
	return b
}
