package faults_test

import (
	"errors"
	"math/rand/v2"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/fanfold/fanfold/tests/harness"
	"github.com/fanfold/fanfold/tests/suite"
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

// TestCrashAtEveryWrite lets every SQLite write in turn be the last one that works. After a
// restart everything acknowledged is there, and the read model is what a replay makes of it.
func TestCrashAtEveryWrite(t *testing.T) {
	suite.PlainOnly(t, suite.OneByOne)
	suite.Parallel(t)
	const beside = 3 // at a time: a crash is mostly waiting
	var last, crashes atomic.Int64
	var through atomic.Bool
	t.Run("crashes", func(t *testing.T) {
		for lane := range beside {
			t.Run(strconv.Itoa(lane), func(t *testing.T) {
				t.Parallel()
				for !through.Load() && !t.Failed() {
					k := last.Add(1)
					t.Run(strconv.FormatInt(k, 10), func(t *testing.T) {
						if struck, acknowledged := crashAtWrite(t, harness.CrashScript, k); struck {
							crashes.Add(1)
						} else if through.Store(true); !slices.Equal(acknowledged, harness.CrashScript) {
							t.Fatalf("%d of %d steps were taken without a crash", len(acknowledged), len(harness.CrashScript))
						}
					})
				}
			})
		}
	})
	t.Logf("%d crashes", crashes.Load())
	suite.Done(crashes.Load(), "crashes of the script, at every write")
}

// crashAtWrite runs a script on a new store whose k-th SQLite write fails, and all later ones, and starts the store
// again. It tells whether the fault struck, and which steps were acknowledged.
func crashAtWrite(t *testing.T, script []harness.CrashStep, k int64) (struck bool, acknowledged []harness.CrashStep) {
	t.Helper()
	dir := t.TempDir()
	fault, hasStruck := harness.FailWrite(k)
	s, err := harness.Start(t, harness.Options{Dir: dir, FailWrite: fault})
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
	return hasStruck(), acknowledged
}

// TestCrashAtRandomWrites runs the script's steps in random orders, in which some are refused, and crashes at a random
// write of each.
func TestCrashAtRandomWrites(t *testing.T) {
	suite.PlainOnly(t, suite.OneByOne)
	suite.Parallel(t)
	crashes := int64(0)
	s := suite.Begin(t, suite.ShareCrashes)
	for n := 0; s.GoesOn(n, 10) && !t.Failed(); n++ {
		seed := rand.Uint64()
		t.Run(strconv.FormatUint(seed, 10), func(t *testing.T) {
			rng := rand.New(rand.NewPCG(seed, 0))
			script := slices.Clone(harness.CrashScript)
			rng.Shuffle(len(script)-1, func(i, j int) { script[i+1], script[j+1] = script[j+1], script[i+1] }) // the model stays first
			if struck, _ := crashAtWrite(t, script, 1+rng.Int64N(250)); struck {
				crashes++
			}
		})
	}
	suite.Done(crashes, "crashes of shuffled scripts, at random writes")
}

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

// TestCrashAtEveryAppend lets the log fail at every append in turn, once before and once after
// the event is stored, and from then on. What was acknowledged is there after a restart; the
// one write whose outcome the client does not know is there whole or not at all.
func TestCrashAtEveryAppend(t *testing.T) {
	suite.PlainOnly(t, suite.OneByOne)
	suite.Parallel(t)
	for _, stored := range []bool{false, true} {
		for k := int64(1); k <= int64(len(plainScript)); k++ {
			var n atomic.Int64
			s := harness.Open(t, harness.Options{Dir: t.TempDir(), Sync: true, FailAppend: func(after bool) error {
				if !after {
					n.Add(1)
				}
				if n.Load() > k || n.Load() == k && after == stored {
					return errors.New("injected fault")
				}
				return nil
			}})
			acknowledged := harness.RunScript(t, s, plainScript)
			if int64(len(acknowledged)) > k-1 {
				t.Fatalf("%d steps were acknowledged, and the log failed at %d", len(acknowledged), k)
			}
			s = s.Abandon()
			s.CatchUp()
			events, err := s.Node.Log.LastSeq(t.Context())
			kept := plainScript[:k-1]
			if stored {
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
	}
}
