package embedded

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/fanfold/fanfold"
)

// syncer makes the events of an embedded server durable. A write that needs an event durable waits for it. All who wait
// share one fsync of the stream's block file: while one is under way, the next round gathers. The synced sequence is the
// watermark up to which events may be acknowledged, shown and committed. DESIGN.md says on what this relies.
type syncer struct {
	files  streamFiles
	stored func() uint64                        // the highest sequence that the server is known to have written
	synced atomic.Uint64                        // every event up to it is durable
	rounds atomic.Uint64                        // that were synced
	onSync func(took time.Duration, events int) // is told of every round; nil for nobody

	mu      sync.Mutex
	running bool
	began   time.Time     // the fsync that is under way; the zero time for none
	idle    chan struct{} // closed when running ends
	current *syncRound    // whose fsync is under way; nil for none
	next    *syncRound    // of those who wait for an fsync that has not begun; nil for none
	failed  error         // why nothing is synced any more; it stays
}

// streamFiles are the files of a stream. Its methods are for one goroutine at a time.
type streamFiles interface {
	// sync makes durable whatever the server has written to the files before the call.
	sync() error
	// check returns events.ErrLayout where the files do not hold a message that is stored.
	check(seq uint64) error
	// close closes what is open.
	close() error
}

// syncRound is one fsync and those who wait for it. err may be read once done is closed.
type syncRound struct {
	upTo uint64 // the highest sequence that is waited for; once the fsync has begun, that it covers
	done chan struct{}
	err  error
}

// Wait blocks until the event at seq is durable, or ctx has ended. The server has acknowledged or delivered the
// event, so it has been written. The error is Unavailable.
func (s *syncer) Wait(ctx context.Context, seq uint64) error {
	if s.synced.Load() >= seq {
		return nil
	}
	s.mu.Lock()
	if s.failed != nil {
		s.mu.Unlock()
		return s.failed
	}
	round := s.join(seq)
	if !s.running {
		s.running, s.idle = true, make(chan struct{})
		go s.run(s.idle)
	}
	s.mu.Unlock()
	select {
	case <-round.done:
		return round.err
	case <-ctx.Done():
		return fanfold.Wrap(ctx.Err(), fanfold.Unavailable, "the log's disk does not answer")
	}
}

// join returns the first round that covers seq: the one under way if it began after the event, the next one
// otherwise. It is called under mu.
func (s *syncer) join(seq uint64) *syncRound {
	if s.current != nil && s.current.upTo >= seq {
		return s.current
	}
	if s.next == nil {
		s.next = &syncRound{done: make(chan struct{})}
	}
	s.next.upTo = max(s.next.upTo, seq)
	return s.next
}

// goschedsPerRound is how often a round lets other goroutines run before it begins, so that the events join it which the server is
// about to acknowledge. DESIGN.md says what that gives.
const goschedsPerRound = 2

// run syncs one round after the other while somebody waits, and closes idle.
func (s *syncer) run(idle chan struct{}) {
	defer close(idle)
	for {
		for range goschedsPerRound {
			runtime.Gosched()
		}
		s.mu.Lock()
		round := s.next
		s.current, s.next, s.running, s.began = round, nil, round != nil, time.Now()
		if round == nil {
			s.began = time.Time{}
		} else {
			round.upTo = max(round.upTo, s.stored())
		}
		failed := s.failed
		s.mu.Unlock()
		if round == nil {
			return
		}
		if round.err = failed; failed == nil {
			round.err = s.sync(round.upTo)
		}
		close(round.done)
	}
}

// sync makes the events up to seq durable. After an error nothing is synced any more: the operating system may have
// dropped what it could not write, and would report the next fsync as a success. Only a new start, which reads what the
// disk has, ends that.
func (s *syncer) sync(seq uint64) error {
	began := time.Now()
	err := s.files.sync()
	took := time.Since(began)
	if err == nil {
		err = s.files.check(seq)
	}
	if err != nil {
		err = fanfold.Wrap(err, fanfold.Unavailable, "the log cannot be made durable, and takes nothing until the node is started again: %v", err)
		s.mu.Lock()
		s.failed = err
		s.mu.Unlock()
		return err
	}
	s.rounds.Add(1)
	if before := s.synced.Load(); s.onSync != nil && before > 0 && seq > before {
		s.onSync(took, int(seq-before))
	}
	s.synced.Store(max(seq, s.synced.Load())) // run is the only one that stores
	return nil
}

// maxFsync is how long an fsync may take before writes are refused. Waiting writes give up after a while and make room for
// others, so without it the unsynced part would grow.
const maxFsync = 10 * time.Second

// Failure returns why nothing is synced any more, or not at present, nil where all is well.
func (s *syncer) Failure() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if took := time.Since(s.began); s.failed == nil && !s.began.IsZero() && took > maxFsync {
		return fanfold.Errorf(fanfold.Unavailable, "the log's disk has not answered for %v; nothing was written, try again", took.Round(time.Second))
	}
	return s.failed
}

// close ends the rounds, and then closes the files. It waits for an fsync that is under way, for maxFsync at most.
func (s *syncer) close() error {
	s.mu.Lock()
	if s.failed == nil {
		s.failed = fanfold.Errorf(fanfold.Unavailable, "the log is closed")
	}
	idle := s.idle
	s.mu.Unlock()
	if idle != nil {
		select {
		case <-idle:
		case <-time.After(maxFsync):
			return errors.New("an fsync of the log does not end")
		}
	}
	return s.files.close()
}

// Rounds returns how many rounds of fsync there were.
func (s *syncer) Rounds() uint64 { return s.rounds.Load() }
