package history_test

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"github.com/fanfold/fanfold/tests/harness"
	"github.com/fanfold/fanfold/tests/natsserver"
	"github.com/fanfold/fanfold/tests/suite"
	"github.com/fanfold/fanfold/writer"
)

// besideWrites are how many random requests are sent, over and over, while the past is read.
const besideWrites = 12

// checkPastBesideWrites is checkPast while a node is written to: what was there before the first of the writes stays. The oracle knows
// nothing of them, so that it says no more of the present.
func (h *history) checkPastBesideWrites(to *harness.Store) {
	h.t.Helper()
	var requests []operation
	for range besideWrites {
		op := operation{key: h.key(h.t)}
		switch {
		case chance(h.t, 60):
			op.kind, op.body = http.MethodPut, document(h.t, op.key, h.o.model)
		case chance(h.t, 50):
			op.kind, op.body = http.MethodPatch, memberPatch(h.t)
		default:
			op.kind = http.MethodDelete
		}
		requests = append(requests, op)
	}
	model := h.nextModel(h.t).String()
	view := draw(h.t, "embedded", "referenced")
	rows := h.feedRows(view)
	h.until = h.lastSeq()
	stop, failed := make(chan struct{}), error(nil)
	var writes sync.WaitGroup
	writes.Go(func() {
		for n := 0; failed == nil; n++ {
			select {
			case <-stop:
				return
			default:
			}
			failed = sendBeside(to, requests[n%len(requests)], n, model)
		}
	})
	func() {
		defer writes.Wait()
		defer close(stop)
		h.checkPastOf(rows, view)
	}()
	h.until = 0
	if failed != nil {
		h.t.Fatal(failed)
	}
}

// sendBeside sends one of the writes beside reads, or a model, once. It may be refused.
func sendBeside(to *harness.Store, op operation, n int, model string) error {
	method, path, contentType := op.kind, harness.Path(op.key.collection, op.key.id), "application/json"
	switch {
	case n == besideWrites/2:
		method, path, op.body, contentType = http.MethodPut, "/v1/_model?allowRemoval=true", model, "application/yaml"
	case method == http.MethodPatch:
		contentType = "application/merge-patch+json"
	}
	r, err := to.Do(method, path, []byte(op.body), "Content-Type", contentType)
	if err == nil && r.Status >= http.StatusInternalServerError {
		err = fmt.Errorf("%s %s beside reads is answered %d %s", method, path, r.Status, r.Body)
	}
	return err
}

// TestRandomHistoriesOnTwoNodes runs random histories on a node of two, over one NATS server. The other node has the same rows, and shows
// the same past, also while the first is written to.
func TestRandomHistoriesOnTwoNodes(t *testing.T) {
	suite.Parallel(t)
	checkInLanes(t, 1, suite.ShareHistories, "random histories on two nodes", func(r *rapid.T) {
		historyOnTwoNodes(r, natsserver.Start(t, 1)[0])
	})
}

func historyOnTwoNodes(t *rapid.T, url string) {
	dir, err := os.MkdirTemp("", "history")
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Fatal(err)
		}
	}()
	h := &history{t: t, o: newOracle(), views: map[okey]string{}, hold: harness.NewActivationHold()}
	open := func(name string, setOrientedFrom int) *harness.Store {
		return harness.Open(t, harness.Options{KeepFold: true, Dir: filepath.Join(dir, name), NATS: url, SetOrientedFrom: setOrientedFrom,
			Writer: writer.Options{BeforeActivate: h.hold.Wait}})
	}
	h.s = open("first", -1)
	defer func() { h.s.Close() }()
	second := open("second", 1)
	defer func() { second.Close() }()
	h.runAll(15)
	first := h.s
	first.WantSameDigest(second)
	h.onNode(second, func() {
		h.check()
		h.checkPages()
		h.checkFeed()
		h.checkPast()
		h.checkPastBesideWrites(first)
	})
	first.WantSameDigest(second)
	second.Verify()
}

// onNode has fn look at another node.
func (h *history) onNode(s *harness.Store, fn func()) {
	first := h.s
	h.s = s
	defer func() { h.s = first }()
	fn()
}
