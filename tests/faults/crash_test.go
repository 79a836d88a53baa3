package faults_test

import (
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/fanfold/fanfold/tests/harness"
)

// plainScript is CrashScript without what stores more events than there are operations: constraints,
// and the steps that need them.
var plainScript = func() []harness.CrashStep {
	script := slices.DeleteFunc(slices.Clone(harness.CrashScript), func(st harness.CrashStep) bool {
		return slices.Contains([]string{"/v1/series/s", "/v1/books/b4", "/v1/books/b5"}, st.Path)
	})
	script[0].Body = strings.NewReplacer("    unique: [isbn]\n", "", "strict: true, ", "").Replace(harness.CrashModel)
	return script
}()

// finalState is what every run of the script must end with.
var finalState = map[string]string{
	"/v1/authors/a1": `{"id":"a1","name":"Uno","n":3,"works":1}`,
	"/v1/authors/a2": `{"id":"a2","name":"Zwei","works":2}`,
	"/v1/books/b1":   `{"id":"b1","authors":[{"id":"a2","name":"Zwei!"}],"pub-id":"p"}`,
}

func requireFinalState(t *testing.T, s *harness.Store) {
	t.Helper()
	for path, want := range finalState {
		if got := string(s.Want(http.StatusOK, "GET", path, "").Body); got != want {
			t.Fatalf("%s is %s, want %s", path, got, want)
		}
	}
	for _, gone := range []string{"b2", "b4", "b5"} {
		s.Want(http.StatusNotFound, "GET", "/v1/books/"+gone, "")
	}
}

// crashOfRows lets a write of SQLite be the last one that works. After a restart everything acknowledged is there, and the read model is what
// a replay makes of it.
var crashOfRows = crash{name: "rows", begin: func(*testing.T) func(*testing.T, *failing) {
	return func(t *testing.T, f *failing) {
		if acknowledged := crashAtWrite(t, harness.CrashScript, f); !f.struck() && !slices.Equal(acknowledged, harness.CrashScript) {
			t.Fatalf("%d of %d steps were taken without a crash", len(acknowledged), len(harness.CrashScript))
		}
	}
}}

// crashAtWrite runs a script on a new store whose writes fail, and starts the store again. It returns which steps were acknowledged.
func crashAtWrite(t *testing.T, script []harness.CrashStep, f *failing) (acknowledged []harness.CrashStep) {
	t.Helper()
	f.arm()
	dir := t.TempDir()
	s, err := harness.Start(t, harness.Options{Dir: dir, FailWrite: f.write})
	if err != nil { // struck while the file was made
		s = harness.Open(t, harness.Options{Dir: dir})
	} else {
		acknowledged = harness.RunScript(t, s, script)
		s = s.Abandon()
	}
	s.CatchUp()
	if slices.Equal(acknowledged, harness.CrashScript) {
		requireFinalState(t, s)
	}
	requireReplayed(t, s)
	return acknowledged
}

// crashOfShuffled runs the script's steps in random orders, in which some are refused.
var crashOfShuffled = crash{name: "shuffled", most: 10, begin: func(*testing.T) func(*testing.T, *failing) {
	return func(t *testing.T, f *failing) {
		script := slices.Clone(harness.CrashScript)
		f.rand.Shuffle(len(script)-1, func(i, j int) { script[i+1], script[j+1] = script[j+1], script[i+1] }) // the model stays first
		crashAtWrite(t, script, f)
	}
}}

// requireReplayed verifies the store, compares it with its replay, and closes it.
func requireReplayed(t *testing.T, s *harness.Store) {
	t.Helper()
	s.Verify()
	before := s.Digest()
	s.Replay()
	if s.Digest() != before {
		t.Fatal("the replay's rows differ")
	}
	s.Verify()
	s.Close()
}

// crashOfLog lets the log fail at an append, once before and once after the event is stored, and from then on. Acknowledged
// writes are there after a restart. The one write without an answer is there whole or not at all.
var crashOfLog = crash{name: "log", least: int64(len(plainScript)), begin: func(*testing.T) func(*testing.T, *failing) {
	return func(t *testing.T, f *failing) {
		for _, stored := range []bool{false, true} {
			crashAtAppend(t, f, stored)
		}
	}
}}

// crashAtAppend does the work of crashOfLog.
func crashAtAppend(t *testing.T, f *failing, stored bool) {
	t.Helper()
	k, whole := f.k.Load(), false
	if k > int64(len(plainScript)) {
		k, whole = int64(len(plainScript)), true
	}
	var n atomic.Int64
	s := harness.Open(t, harness.Options{Dir: t.TempDir(), Sync: true, FailAppend: func(after bool) error {
		if !after {
			f.n.Store(n.Add(1))
		}
		if !whole && (n.Load() > k || n.Load() == k && after == stored) {
			return errFailed
		}
		return nil
	}})
	acknowledged := harness.RunScript(t, s, plainScript)
	if !whole && int64(len(acknowledged)) > k-1 {
		t.Fatalf("%d steps were acknowledged, and the log failed at %d", len(acknowledged), k)
	}
	s = s.Abandon()
	s.CatchUp()
	events, err := s.Node.Log.LastSeq(t.Context())
	kept := plainScript[:k-1]
	if stored || whole {
		kept = plainScript[:k]
	}
	want := uint64(0)
	for _, st := range kept {
		want += max(1, uint64(strings.Count(st.Body, `"op":"`)*strings.Count(st.Path, "_transactions")))
	}
	if err != nil || events != want {
		t.Fatalf("the log has %d events after a fault at append %d (stored: %v), want %d: %v", events, k, stored, want, err)
	}
	requireReplayed(t, s)
}
