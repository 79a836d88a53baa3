package api_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/node"
	"github.com/fanfold/fanfold/tests/harness"
)

// TestCompactAfterErasure: a log whose first file has gaps of an erasure is whole once the store begins later, when the events that explain the gaps are
// no longer kept.
func TestCompactAfterErasure(t *testing.T) {
	s := harness.Open(t, harness.Options{Dir: t.TempDir(), Configure: func(cfg *node.Config) { cfg.PurgeWait = time.Millisecond }})
	defer func() { s.Close() }()
	for i := range 5 {
		s.Put("customers", fmt.Sprint(i), `{"name":"a name"}`)
	}
	r := s.Want(http.StatusAccepted, http.MethodPost, "/v1/customers/2/_erase", "{}", "Content-Type", "application/json")
	s.Erased(r.Header.Get("Location"))
	s.Put("customers", "later", `{}`)
	s.CatchUp()
	s.Compact(s.Node.Store.Applied.Seq())
	for range 2 {
		s.Put("customers", "later", `{}`)
		s.CatchUp()
		state, err := s.Node.Log.State(t.Context())
		if err != nil || !state.Complete() {
			t.Fatalf("the log is %+v, %v", state, err)
		}
		report, err := s.Node.VerifyLog(t.Context(), nil)
		if err != nil || report.Err() != nil {
			t.Fatalf("the log: %+v, %v", report, err)
		}
		s.Verify()
		s = s.Reopen()
	}
}

// TestCompactionIsOver: a compaction by which no event goes from the log waits for no write, and the next process tells of none.
func TestCompactionIsOver(t *testing.T) {
	s := harness.Open(t, harness.Options{Dir: t.TempDir(), Configure: func(cfg *node.Config) { cfg.PurgeWait = time.Hour }})
	defer func() { s.Close() }()
	for i := range 5 {
		s.Put("customers", fmt.Sprint(i), `{}`)
	}
	s.CatchUp()
	s.Compact(4)
	for range 2 {
		harness.Await(t, "the compaction to be over", time.Minute, func() bool {
			r, err := s.Do(http.MethodGet, "/v1/_compact", nil) // 404 in a process that has run none
			return err == nil && !strings.Contains(string(r.Body), "purging")
		})
		s.Verify()
		s = s.Reopen()
	}
}

// TestCompactionTakesFences: fences of a log of an earlier program go with the events before the horizon, and 40 strong reads write none.
func TestCompactionTakesFences(t *testing.T) {
	s := harness.Open(t, harness.Options{Dir: t.TempDir(), Configure: func(cfg *node.Config) { cfg.PurgeWait = time.Millisecond }})
	defer func() { s.Close() }()
	fences := func() (n int) {
		state, err := s.Node.Log.State(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		r, err := s.Node.Log.Read(t.Context(), state.First)
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		for seq := state.First; seq <= state.Last; seq++ {
			ev, _, err := r.Next(t.Context())
			if fanfold.CodeOf(err) == fanfold.PositionGone { // purged since its state was asked
				return -1
			}
			if err != nil {
				t.Fatal(err)
			}
			if ev.Kind == fanfold.KindFence {
				n++
			}
		}
		return n
	}
	const old = 500
	for range old {
		if _, err := s.Node.Log.Append(t.Context(), &fanfold.Event{Kind: fanfold.KindFence}, fanfold.Expect{}); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 6 { // a purge goes up to the file with the horizon, and a file has 8 MiB
		s.Put("customers", "c", fmt.Sprintf(`{"n":%d,"text":%q}`, i, strings.Repeat("x", 1<<21-100)))
	}
	for range 40 {
		s.Want(http.StatusOK, http.MethodGet, "/v1/customers/c?consistency=strong", "")
	}
	if n := fences(); n != old {
		t.Fatalf("the log has %d fences, want %d", n, old)
	}
	s.CatchUp()
	s.Compact(s.Node.Store.Applied.Seq())
	harness.Await(t, "the log to be purged", time.Minute, func() bool { return fences() == 0 })
	s.Verify()
}
