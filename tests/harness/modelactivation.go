package harness

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/tests/suite"
)

// ActivationHold holds models that are prepared until they may apply: see writer.Options.BeforeActivate.
type ActivationHold struct {
	mu       sync.Mutex
	released chan struct{}
}

// NewActivationHold returns a hold that holds models.
func NewActivationHold() *ActivationHold { return &ActivationHold{released: make(chan struct{})} }

// Wait blocks until the hold is released, or ctx ends: the error is ctx's then.
func (g *ActivationHold) Wait(ctx context.Context) error {
	g.mu.Lock()
	open := g.released
	g.mu.Unlock()
	select {
	case <-open:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Release lets models apply until Renew is called.
func (g *ActivationHold) Release() {
	g.mu.Lock()
	defer g.mu.Unlock()
	close(g.released)
}

// Renew holds models again.
func (g *ActivationHold) Renew() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.released = make(chan struct{})
}

// Propose has a model prepared, which a hold may hold, and returns the event that announces it; 0 where it can
// only be applied at once, or applies already.
func (s *Store) Propose(src string) uint64 {
	s.tb.Helper()
	return s.propose("/v1/_model", "&allowRemoval=true", src, "application/yaml")
}

// ProposeFold is Propose for a version of the fold.
func (s *Store) ProposeFold(version int) uint64 {
	s.tb.Helper()
	return s.propose("/v1/_fold", "", fmt.Sprintf(`{"version":%d}`, version), "application/json")
}

// SetFold sets a version of the fold at once, and returns the event that does.
func (s *Store) SetFold(version int) uint64 {
	s.tb.Helper()
	r := s.Want(http.StatusOK, http.MethodPut, "/v1/_fold?background=false", fmt.Sprintf(`{"version":%d}`, version))
	at, err := fanfold.ParsePosition(r.Header.Get("Fanfold-Position"))
	if err != nil {
		s.tb.Fatalf("set the version: %v", err)
	}
	return at.Seq()
}

// propose has what is put at a path prepared. parameters are more of the request's.
func (s *Store) propose(path, parameters, src, contentType string) uint64 {
	s.tb.Helper()
	r, err := s.Do(http.MethodPut, path+"?background=true"+parameters, []byte(src), "Content-Type", contentType, "Fanfold-Timeout", "0")
	if err != nil {
		s.tb.Fatalf("propose: %v", err)
	}
	if r.Status == http.StatusUnprocessableEntity || r.Status == http.StatusOK { // which is the model that applies
		return 0
	}
	if r.Status != http.StatusAccepted {
		s.tb.Fatalf("propose: %d %s", r.Status, r.Body)
	}
	at, err := fanfold.ParsePosition(r.Header.Get("Fanfold-Position")) // the model may apply before anybody looks
	if err != nil {
		s.tb.Fatalf("propose: %v", err)
	}
	s.CatchUp()
	return at.Seq()
}

// Prepared waits until the node is ready for the model that is to come.
func (s *Store) Prepared() {
	s.tb.Helper()
	for begin := time.Now(); ; time.Sleep(time.Millisecond) {
		p := s.Node.Projector.Status().Preparing
		switch {
		case p == nil || p.Phase == "failed" || time.Since(begin) > suite.Deadline(time.Minute):
			s.tb.Fatalf("the model is not prepared: %+v", p)
		case p.Phase == "ready":
			return
		}
	}
}

// Activated waits until the model that event seq announces applies, and returns the event that
// applied it. For 0 it is the one that applies already.
func (s *Store) Activated(seq uint64) uint64 {
	s.tb.Helper()
	if seq == 0 {
		s.CatchUp()
		_, applied, _ := s.Node.Projector.Model()
		return applied
	}
	ctx, cancel := context.WithTimeout(context.Background(), suite.Deadline(time.Minute))
	defer cancel()
	applied, err := uint64(0), s.Node.Store.Applied.Wait(ctx, seq) // before that the node knows nothing of the model
	if err == nil {
		applied, err = s.Node.Projector.Settled(ctx, seq)
	}
	if err != nil {
		s.tb.Fatalf("the model of event %d: %v", seq, err)
	}
	s.CatchUp()
	return applied
}
