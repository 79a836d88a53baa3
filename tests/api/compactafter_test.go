package api_test

import (
	"fmt"
	"net/http"
	"testing"
	"time"

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
