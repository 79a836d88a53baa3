package tests

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
)

const crashModel = `
collections:
  authors:
    derive:
      countOfBooks: {count: books.authors}
      books: {ids: books.authors, limit: 2}
      stars: {avg: books.authors, of: stars}
      newest: {recent: books.authors, max: 1, fields: [id, publisherName]}
      best: {max: books.authors, of: stars}
  series: {}
  books:
    unique: [isbn]
    pages: {by: authors, size: 2}
    relations:
      series: {path: series, to: series, strict: true, onDelete: cascade}
      authors: {path: "authors[].id", to: authors}
      publisher: {path: pub-id, to: publishers, onDelete: keep}
    derive:
      "authors[].name": {copy: authors, value: doc.name}
      "authors[].n": {copy: authors, value: doc.countOfBooks}
      publisherName: {copy: publisher, value: doc.name}
      first: {copy: authors, value: doc.name, frozen: true}
  publishers: {}
`

// smallerModel drops, changes and adds rules of crashModel.
const smallerModel = `
collections:
  authors: {derive: {works: {count: books.authors}}}
  books:
    relations: {authors: {path: "authors[].id", to: authors}}
    derive: {"authors[].name": {copy: authors, value: "doc.name + '!'"}}
`

type crashStep struct{ method, path, body, contentType string }

var crashScript = []crashStep{
	{"PUT", "/v1/_model", crashModel, "application/yaml"},
	{"PUT", "/v1/books/b1", `{"authors":[{"id":"a1"},{"id":"a2"}],"pub-id":"p"}`, ""},
	{"PUT", "/v1/authors/a1", `{"name":"One"}`, ""},
	{"PUT", "/v1/publishers/p", `{"name":"Press"}`, ""},
	{"PUT", "/v1/books/b2", `{ "authors": [{"id":"a1"}] }`, ""},
	{"PATCH", "/v1/authors/a1", `{"name":"Uno"}`, "application/merge-patch+json"},
	{"PUT", "/v1/authors/a2", `{"name":"Two"}`, ""},
	{"POST", "/v1/_transactions", `{"operations":[{"op":"put","collection":"books","id":"b3","body":{"authors":[{"id":"a1"},{"id":"a2"}]}},{"op":"patch","collection":"authors","id":"a1","patch":{"n":3}},{"op":"create","collection":"authors","body":{"id":"a3"}},{"op":"check","collection":"books","id":"b1","ifMatch":"*"}]}`, ""},
	{"PUT", "/v1/series/s", `{}`, ""},
	{"PUT", "/v1/books/b4", `{"series":"s","isbn":"1","stars":0.1,"authors":[{"id":"a1"}]}`, ""},
	{"PUT", "/v1/books/b5", `{"series":"s","isbn":"2","stars":0.2,"authors":[{"id":"a1"}]}`, ""},
	{"DELETE", "/v1/series/s", "", ""},
	{"DELETE", "/v1/publishers/p", "", ""},
	{"DELETE", "/v1/authors/a2", "", ""},
	{"PUT", "/v1/_model?allowRemoval=true", smallerModel, "application/yaml"},
	{"PUT", "/v1/authors/a2", `{"name":"Zwei"}`, ""},
	{"PATCH", "/v1/books/b1", `[{"op":"remove","path":"/authors/0"}]`, "application/json-patch+json"},
	{"DELETE", "/v1/books/b2", "", ""},
}

// plainScript is crashScript without what stores more events than there are operations: constraints,
// and the steps that need them.
var plainScript = func() []crashStep {
	script := slices.DeleteFunc(slices.Clone(crashScript), func(st crashStep) bool {
		return slices.Contains([]string{"/v1/series/s", "/v1/books/b4", "/v1/books/b5"}, st.path)
	})
	script[0].body = strings.NewReplacer("    unique: [isbn]\n", "", "strict: true, ", "").Replace(crashModel)
	return script
}()

// runScript sends the steps; acknowledged are those that the store took.
func runScript(t *testing.T, s *harness.Store, script []crashStep) (acknowledged []crashStep) {
	t.Helper()
	for _, st := range script {
		headers := []string{"Fanfold-Timeout", "2"}
		if st.contentType != "" {
			headers = append(headers, "Content-Type", st.contentType)
		}
		r, err := s.Do(st.method, st.path, []byte(st.body), headers...)
		if err != nil {
			t.Fatalf("%s %s: %v", st.method, st.path, err)
		}
		if r.Status < http.StatusMultipleChoices {
			acknowledged = append(acknowledged, st)
		}
	}
	return acknowledged
}

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
	plainOnly(t, oneByOne)
	parallel(t)
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
						if struck, acknowledged := crashAtWrite(t, crashScript, k); struck {
							crashes.Add(1)
						} else if through.Store(true); !slices.Equal(acknowledged, crashScript) {
							t.Fatalf("%d of %d steps were taken without a crash", len(acknowledged), len(crashScript))
						}
					})
				}
			})
		}
	})
	t.Logf("%d crashes", crashes.Load())
	done(crashes.Load(), "crashes of the script, at every write")
}

// crashAtWrite runs a script on a new store whose k-th SQLite write fails, and all later ones, and starts the store
// again. It tells whether the fault struck, and which steps were acknowledged.
func crashAtWrite(t *testing.T, script []crashStep, k int64) (struck bool, acknowledged []crashStep) {
	t.Helper()
	dir := t.TempDir()
	fault, hasStruck := harness.FailWrite(k)
	s, err := harness.Start(t, harness.Options{Dir: dir, FailWrite: fault})
	if err != nil { // struck while the file was made
		s = harness.Open(t, harness.Options{Dir: dir})
	} else {
		acknowledged = runScript(t, s, script)
		s = s.Abandon()
	}
	s.CatchUp()
	if slices.Equal(acknowledged, crashScript) {
		requireFinalState(t, s)
	}
	requireReplayed(t, s)
	return hasStruck(), acknowledged
}

// TestCrashAtRandomWrites runs the script's steps in random orders, in which some are refused, and crashes at a random
// write of each.
func TestCrashAtRandomWrites(t *testing.T) {
	plainOnly(t, oneByOne)
	parallel(t)
	crashes := int64(0)
	s := begin(t, shareCrashes)
	for n := 0; s.goesOn(n, 10) && !t.Failed(); n++ {
		seed := rand.Uint64()
		t.Run(strconv.FormatUint(seed, 10), func(t *testing.T) {
			rng := rand.New(rand.NewPCG(seed, 0))
			script := slices.Clone(crashScript)
			rng.Shuffle(len(script)-1, func(i, j int) { script[i+1], script[j+1] = script[j+1], script[i+1] }) // the model stays first
			if struck, _ := crashAtWrite(t, script, 1+rng.Int64N(250)); struck {
				crashes++
			}
		})
	}
	done(crashes, "crashes of shuffled scripts, at random writes")
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
	plainOnly(t, oneByOne)
	parallel(t)
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
			acknowledged := runScript(t, s, plainScript)
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
				want += max(1, uint64(strings.Count(st.body, `"op":"`)*strings.Count(st.path, "_transactions")))
			}
			if err != nil || events != want {
				t.Fatalf("the log has %d events after a fault at append %d (stored: %v), want %d: %v", events, k, stored, want, err)
			}
			requireReplayed(t, s)
		}
	}
}
