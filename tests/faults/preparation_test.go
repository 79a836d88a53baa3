package faults_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"testing"
	"time"

	"github.com/fanfold/fanfold/projector/rebuild"
	"github.com/fanfold/fanfold/tests/harness"
)

// crashOfPreparation crashes after a proposal. The node that starts again goes on with it, and the model applies.
var crashOfPreparation = crash{name: "preparation", begin: func(t *testing.T) func(*testing.T, *failing) {
	full := t.TempDir()
	s := harness.Open(t, harness.Options{Dir: full})
	harness.RunScript(t, s, harness.CrashScript[:14])
	s.Close()
	return func(t *testing.T, f *failing) { crashWhilePreparing(t, full, f) }
}}

// crashWhilePreparing does the work of crashOfPreparation on a copy of a data directory.
func crashWhilePreparing(t *testing.T, full string, f *failing) {
	dir := t.TempDir()
	must(t, os.CopyFS(dir, os.DirFS(full)))
	f.arm()
	s, err := harness.Start(t, harness.Options{Dir: dir, FailWrite: f.write})
	if err != nil {
		return // it struck at the start
	}
	r, err := s.Do(http.MethodPut, "/v1/_model?background=true&allowRemoval=true", []byte(harness.SmallerModel), "Content-Type", "application/yaml", "Fanfold-Timeout", "0")
	if err != nil || r.Status != http.StatusAccepted && r.Status != http.StatusOK { // it may apply by then
		t.Fatalf("%+v, %v", r, err)
	}
	for settled := false; !f.struck() && !settled; time.Sleep(100 * time.Microsecond) { // a crash has no position
		a := s.Node.Projector.Status().Activated
		settled = a != nil
	}
	s = s.Abandon()
	s.CatchUp()
	if p, _ := s.Node.Projector.Proposal(); p != nil {
		s.Activated(p.Seq)
	}
	if m, _, _ := s.Node.Projector.Model(); len(m.Rules) != 2 {
		t.Fatalf("the model has %d rules", len(m.Rules))
	}
	requireReplayed(t, s)
}

// crashOfReplay cuts a replay. The node that starts again serves the rows from before, and a replay then gives them, too.
var crashOfReplay = crash{name: "replay", begin: func(*testing.T) func(*testing.T, *failing) {
	return func(t *testing.T, f *failing) {
		s := harness.Open(t, harness.Options{Dir: t.TempDir(), FailWrite: f.write})
		history(t, s)
		rows := s.Digest()
		f.arm()
		if err := s.Node.Projector.Rebuild(t.Context(), rebuild.Replay()); f.struck() != (err != nil) {
			t.Fatalf("a replay: %v", err)
		}
		s = s.Abandon()
		if s.Digest() != rows {
			t.Fatal("the rows are others")
		}
		requireReplayed(t, s)
	}
}}

// crashOfCompaction cuts a compaction. The node that starts again does the rest if the event is in the log, and can be asked for it again otherwise.
var crashOfCompaction = crash{name: "compaction", most: 12, begin: func(*testing.T) func(*testing.T, *failing) {
	return func(t *testing.T, f *failing) {
		s := harness.Open(t, harness.Options{Dir: t.TempDir(), FailWrite: f.write, Configure: quickPurge})
		defer func() { s.Close() }()
		harness.RunScript(t, s, harness.CrashScript)
		horizon := churn(t, s, 5)
		s.Put("shelves", "later", `{"n":1}`)
		before := everything(t, s)
		f.arm()
		s.Want(http.StatusAccepted, http.MethodPost, "/v1/_compact", `{"before":"`+fmt.Sprint(horizon)+`"}`, "Content-Type", "application/json")
		harness.Await(t, "the end of the compaction, or a crash", time.Minute, func() bool {
			c := s.Node.Forget.Compactor.Compaction()
			return f.struck() || c != nil && !c.Running && c.Phase != "purging"
		})
		s = s.Abandon()
		s.CatchUp()
		h, _, err := s.Node.Projector.Horizon()
		must(t, err)
		requireCompactedOrNot(t, s, horizon, before, h.Seq != 0)
	}
}}

// crashOfErasure cuts an erasure. The node that starts again finishes it.
var crashOfErasure = crash{name: "erasure", most: 10, begin: func(*testing.T) func(*testing.T, *failing) {
	return func(t *testing.T, f *failing) {
		dir := t.TempDir()
		s := harness.Open(t, harness.Options{Dir: dir, FailWrite: f.write, Configure: quickPurge})
		defer func() { s.Close() }()
		s.Model(forgetModel)
		writeCustomer(s, "ann")
		writeCustomer(s, "bob")
		s.CatchUp()
		f.arm()
		r, err := s.Do(http.MethodPost, "/v1/customers/ann/_erase", []byte("{}"), "Content-Type", "application/json", "Fanfold-Timeout", "1")
		must(t, err)
		location := r.Header.Get("Location")
		harness.Await(t, "the end of the erasure, or a crash", time.Minute, func() bool {
			var e struct{ Phase string }
			return f.struck() || location == "" || json.Unmarshal(s.Want(http.StatusOK, http.MethodGet, location, "").Body, &e) == nil && e.Phase == "done"
		})
		s = s.Abandon()
		s.CatchUp()
		if location == "" { // it was not taken, or nobody knows
			s.Want(http.StatusAccepted, http.MethodPost, "/v1/customers/ann/_erase", "{}", "Content-Type", "application/json")
		}
		s.AllErased()
		s = wantForgotten(t, s, dir)
	}
}}
