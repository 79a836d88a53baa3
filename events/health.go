package events

import (
	"errors"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/fanfold/fanfold"
)

// health says what is wrong with a log and its server. The zero value is nothing. Its methods may be called from many goroutines,
// and do not block.
type health struct {
	undecided undecided
	mu        sync.Mutex
	checked   error     // what the last Check found, or an acknowledgement since: LogDamaged
	scanned   error     // what the last scan found: LogDamaged
	full      error     // why nothing is written for lack of space
	failing   *failure  // why the last append failed; nil after one that did not
	lost      time.Time // since when the connection is known to be lost; zero while it is there
}

// failure says why an append failed.
type failure struct {
	reason string
	silent bool // nobody answered: it is over once somebody does
}

// damage returns what was found wrong with the log, as LogDamaged, nil for nothing.
func (h *health) damage() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.checked != nil {
		return h.checked
	}
	return h.scanned
}

// setChecked records what a check of the log found, nil for nothing: then the log answers, too.
func (h *health) setChecked(err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.checked = err; err == nil && h.failing != nil && h.failing.silent { // nobody would send a write to a node that is not ready
		h.failing = nil
	}
}

// setScanned records what a scan of the log found, nil for nothing.
func (h *health) setScanned(err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.scanned = err
}

// noSpace returns why nothing is written for lack of space, nil for no reason.
func (h *health) noSpace() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.full
}

// refuse makes every write be refused with err, for lack of space. nil ends that, and what failed before.
func (h *health) refuse(err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.full = err; err == nil {
		h.failing = nil
	}
}

// failed returns why the last append failed, and whether it did.
func (h *health) failed() (reason string, failed bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.failing == nil {
		return "", false
	}
	return h.failing.reason, true
}

// appended records how an append ended. A condition that is not met is an answer like any other.
func (h *health) appended(err error) {
	if errors.Is(err, errMayNot) {
		return
	}
	var f *failure
	switch fanfold.CodeOf(err) {
	case fanfold.Unavailable, fanfold.OutcomeUnknown, fanfold.Internal:
		var api *jetstream.APIError
		f = &failure{reason: err.Error(), silent: !errors.As(err, &api)}
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.failing = f
}

// lostFor records whether there is a connection, and returns for how long it is known to be lost; 0 while it is there.
func (h *health) lostFor(connected bool) time.Duration {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case connected:
		h.lost = time.Time{}
	case h.lost.IsZero():
		h.lost = time.Now()
	default:
		return time.Since(h.lost)
	}
	return 0
}
