package harness

import (
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/tests/suite"
)

// Compact lets the store begin at an event, waits until this node does, and returns the oldest position that is kept; 0 where that is
// the log's beginning.
func (s *Store) Compact(before uint64) (oldest fanfold.Position) {
	s.tb.Helper()
	r, err := s.Do(http.MethodPost, "/v1/_compact", fmt.Appendf(nil, `{"before":"%d"}`, before), "Content-Type", "application/json")
	if err != nil || r.Status != http.StatusAccepted && r.Status != http.StatusOK {
		s.tb.Fatalf("compact --before %d: %v, %d %s", before, err, r.Status, r.Body)
	}
	if r.Status == http.StatusOK { // it does already
		return s.oldest()
	}
	return s.Compacted()
}

// Compacted waits until the store begins where a compaction on this node has asked for, and returns what Compact does. The log may be purged later.
func (s *Store) Compacted() (oldest fanfold.Position) {
	s.tb.Helper()
	for end := time.Now().Add(suite.Deadline(2 * time.Minute)); ; {
		var c struct{ Phase, Error string }
		if err := json.Unmarshal(s.Want(http.StatusOK, http.MethodGet, "/v1/_compact", "").Body, &c); err != nil {
			s.tb.Fatalf("compaction: %v", err)
		}
		if c.Error != "" {
			s.tb.Fatalf("compaction: %s", c.Error)
		}
		if c.Phase == "done" || c.Phase == "purging" {
			break
		}
		if time.Now().After(end) {
			s.tb.Fatalf("the compaction does not end: %+v", c)
		}
		time.Sleep(5 * time.Millisecond) // between two looks
	}
	return s.oldest()
}

// oldest returns the oldest position that is kept, once everything is folded.
func (s *Store) oldest() fanfold.Position {
	s.tb.Helper()
	s.CatchUp()
	var status struct{ History struct{ Oldest string } }
	if err := json.Unmarshal(s.Want(http.StatusOK, http.MethodGet, "/v1/_status", "").Body, &status); err != nil {
		s.tb.Fatalf("status: %v", err)
	}
	if status.History.Oldest == "" {
		return 0
	}
	oldest, err := fanfold.ParsePosition(status.History.Oldest)
	if err != nil {
		s.tb.Fatalf("status: %v", err)
	}
	return oldest
}

// Rebuilt waits until the read model is built on the base at which the store begins, which a node does by itself.
func (s *Store) Rebuilt() {
	s.tb.Helper()
	s.CatchUp()
	for end := time.Now().Add(suite.Deadline(time.Minute)); ; time.Sleep(5 * time.Millisecond) {
		h, built, err := s.Node.Projector.Horizon()
		switch {
		case err == nil && built == h.Seq:
			return
		case time.Now().After(end):
			s.tb.Fatalf("the read model is not built on the base: %+v, %d, %v", h, built, err)
		}
	}
}

// Erased waits until an erasure is done, and returns the position from which on the store has nothing of it.
func (s *Store) Erased(location string) (at fanfold.Position) {
	s.tb.Helper()
	for end := time.Now().Add(suite.Deadline(time.Minute)); ; time.Sleep(5 * time.Millisecond) { // between two looks
		var e struct {
			Phase, Error string
			Position     string
		}
		if err := json.Unmarshal(s.Want(http.StatusOK, http.MethodGet, location, "").Body, &e); err != nil {
			s.tb.Fatalf("erasure: %v", err)
		}
		if e.Phase == "done" || e.Phase == "residue" {
			s.CatchUp()
			at, err := fanfold.ParsePosition(e.Position)
			if err != nil {
				s.tb.Fatalf("erasure: %v", err)
			}
			return at
		}
		if time.Now().After(end) {
			s.tb.Fatalf("the erasure is not done: %+v", e)
		}
	}
}

// AllErased waits until every erasure is done, as one that a restored log has yet to finish.
func (s *Store) AllErased() {
	s.tb.Helper()
	s.CatchUp()
	for end := time.Now().Add(suite.Deadline(time.Minute)); !s.allErased(); time.Sleep(5 * time.Millisecond) { // between two looks
		if time.Now().After(end) {
			s.tb.Fatalf("the erasures are not done: %s", s.Want(http.StatusOK, http.MethodGet, "/v1/_erasures", "").Body)
		}
	}
}

// allErased tells whether every erasure is done.
func (s *Store) allErased() bool {
	s.tb.Helper()
	var list struct{ Erasures []struct{ Phase string } }
	if err := json.Unmarshal(s.Want(http.StatusOK, http.MethodGet, "/v1/_erasures", "").Body, &list); err != nil {
		s.tb.Fatalf("erasures: %v", err)
	}
	for _, e := range list.Erasures {
		if e.Phase != "done" && e.Phase != "residue" {
			return false
		}
	}
	return true
}
