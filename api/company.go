package api

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/fanfold/fanfold"
)

// company lets writes that are guarded by strict relations and unique members wait for each other and
// share a batch: one by one they would cost a batch each, and on three replicas writers that guard one
// target would refuse each other.
type company struct {
	mu      sync.Mutex
	busy    bool // a round is under way
	waiting []*companion
}

type companion struct {
	write fanfold.Write
	done  chan struct{}
	seq   uint64
	err   error
}

func (c *companion) end(seq uint64, err error) {
	c.seq, c.err = seq, alone(err)
	close(c.done)
}

const (
	roundSize = 300              // writes; with what guards them there are more messages
	roundTime = 30 * time.Second // for a round to be judged and stored
)

// append appends one write as part of a round, and returns its sequence.
func (c *company) append(s *Server, w fanfold.Write) (uint64, error) {
	own := &companion{write: w, done: make(chan struct{})}
	c.mu.Lock()
	c.waiting = append(c.waiting, own)
	first := !c.busy
	c.busy = true
	c.mu.Unlock()
	if first {
		go c.rounds(s)
	}
	<-own.done
	return own.seq, own.err
}

func (c *company) rounds(s *Server) {
	for round := c.take(); len(round) > 0; round = c.take() {
		ctx, cancel := context.WithTimeout(context.Background(), roundTime)
		s.appendTogether(ctx, round)
		cancel()
	}
}

// take removes those of the next round from those waiting: no two writes of one document.
func (c *company) take() (round []*companion) {
	c.mu.Lock()
	defer c.mu.Unlock()
	keys := map[fanfold.Key]bool{}
	c.waiting = slices.DeleteFunc(c.waiting, func(w *companion) bool {
		key := w.write.Event.Key
		if keys[key] || len(round) == roundSize {
			return false
		}
		keys[key] = true
		round = append(round, w)
		return true
	})
	c.busy = len(round) > 0
	return round
}

// appendTogether appends a round in one batch. Who is refused is told, and the others go on.
func (s *Server) appendTogether(ctx context.Context, round []*companion) {
	fail := func(err error) {
		for _, w := range round {
			w.end(0, err)
		}
	}
	for sure := false; len(round) > 0; {
		writes := make([]fanfold.Write, len(round))
		for i, w := range round {
			writes[i] = w.write
		}
		j, err := s.judged(ctx, writes)
		if ahead := s.ahead(err); ahead != nil {
			if err := s.again(ctx, ahead); err != nil {
				fail(err)
				return
			}
			continue
		}
		switch at := operationOf(err); {
		case err == nil:
		case errors.Is(err, errMessages) && len(round) > 1:
			half := len(round) / 2
			s.appendTogether(ctx, round[:half])
			round = round[half:]
			continue
		case !sure && fanfold.CodeOf(err) != fanfold.Stale:
			if err := s.catchUp(ctx); err != nil { // it may have been judged by what is no longer so
				fail(err)
				return
			}
			sure = true
			continue
		case at >= 0:
			round[at].end(0, err)
			round = slices.Delete(round, at, at+1)
			continue
		default:
			fail(err)
			return
		}
		seq, err := s.log.AppendAll(ctx, "", slices.Concat(j.guards, j.writes))
		if seen, ok := overtaken(err, j, writes); ok {
			if err := s.again(ctx, seen); err != nil {
				fail(err)
				return
			}
			continue
		}
		err = j.ofWrite(err)
		if at := operationOf(err); at >= 0 {
			round[at].end(0, err)
			round = slices.Delete(round, at, at+1)
			continue
		}
		for i, w := range round {
			w.end(seq+uint64(len(j.guards)+i), err)
		}
		return
	}
}

// operationOf is the index of the operation that an error is about, -1 for none.
func operationOf(err error) int {
	var e *fanfold.Error
	if !errors.As(err, &e) || e.Operation == nil {
		return -1
	}
	return *e.Operation
}
