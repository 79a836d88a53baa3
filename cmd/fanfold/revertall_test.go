package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/fanfold/fanfold/client"
	"github.com/fanfold/fanfold/cmd/fanfold/internal/revert"
	"github.com/fanfold/fanfold/tests/harness"
)

// shopModel has guards that an order of writes may hurt.
const shopModel = `
collections:
  makers: {}
  parts:
    unique: [code]
    relations:
      maker: {path: maker, to: makers, strict: true}
      inside: {path: inside, to: parts, strict: true}
  notes: {relations: {part: {path: part, to: parts, onDelete: cascade}}}
  tags: {relations: {part: {path: part, to: parts, onDelete: unlink}}}
  orders: {relations: {part: {path: part, to: parts, onDelete: restrict}}}
`

// differing returns the documents that are not written as they were at a position.
func differing(t *testing.T, s *harness.Store, at string) (keys []string) {
	t.Helper()
	for difference, err := range newClient(t, s).Diff(t.Context(), client.DiffOptions{From: at, NoDerived: true}, client.View("referenced")) {
		if err != nil {
			t.Fatal(err)
		}
		keys = append(keys, difference.Collection+"/"+difference.ID)
	}
	return keys
}

// asBefore fails the test unless the documents are written as they were at a position, but for some.
func asBefore(t *testing.T, s *harness.Store, at string, but ...string) {
	t.Helper()
	if keys := differing(t, s, at); !slices.Equal(keys, but) {
		t.Errorf("%q are not as they were, want %q", keys, but)
	}
}

func newClient(t *testing.T, s *harness.Store) *client.Client {
	t.Helper()
	c, err := client.New(s.URL, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// TestRevertAll: all documents go back, whatever guards and delete policies say of the order; what was written later stays.
func TestRevertAll(t *testing.T) {
	s := harness.OpenTemp(t, shopModel)
	s.Put("makers", "m", `{"name":"M"}`)
	s.Put("parts", "frame", `{"maker":"m","code":"F"}`)
	s.Put("parts", "wheel", `{"maker":"m","code":"W","inside":"frame","price":2.50}`)
	s.Put("notes", "n", `{"part":"wheel"}`)
	at := s.Put("tags", "t", `{"part":"frame"}`).Header.Get("Fanfold-Position")
	s.Delete("parts", "wheel") // and the note, by cascade
	s.Put("parts", "axle", `{"maker":"m","code":"W"}`)
	s.Put("makers", "new", `{}`)
	s.Put("parts", "frame", `{"maker":"new","code":"F","inside":"axle"}`)
	s.Put("tags", "t", `{"part":"axle"}`)
	s.Put("notes", "x", `{"part":"axle"}`)
	s.Put("orders", "o", `{"part":"axle"}`)
	until := s.Put("orders", "other", `{"n":1}`).Header.Get("Fanfold-Position")
	run := func(args ...string) ran {
		return runCommand(t, "", append([]string{"revert", "--at", at, "--server", s.URL}, args...)...)
	}
	dry := run("--dry-run")
	dry.want(t, exitDone, "9 documents would go back", "nothing is written")
	if !regexp.MustCompile(`(?m)^parts +1 +1 +1$`).MatchString(dry.out) || strings.Contains(dry.out, "left:") {
		t.Errorf("a dry run says\n%s", dry.out)
	}
	s.Put("orders", "other", `{"n":2}`)
	run("--until", until).want(t, exitFailed, "8 of 9 documents are as they were", "left: orders/other: it was written after "+until)
	asBefore(t, s, at, "orders/other")
	s.WantDoc("parts", "wheel", `{"id":"wheel","maker":"m","code":"W","inside":"frame","price":2.50}`)
	run("--until", until).want(t, exitFailed, "0 of 9", "left: parts/wheel: it was written after")
	run("--until", until, "--resume").want(t, exitFailed, "8 of 9")
	run("--collections", "parts,tags").want(t, exitDone, "0 of 0 documents")
	s.Put("parts", "late", `{"maker":"m","code":"L"}`)
	latest := s.Put("parts", "frame", `{"maker":"m","code":"F","inside":"late"}`).Header.Get("Fanfold-Position")
	s.Put("notes", "later", `{"part":"late"}`)
	s.Put("parts", "frame", `{"maker":"m","code":"F2","inside":"late"}`)
	s.Put("parts", "frame", `{"maker":"m","code":"F"}`)
	run("--until", latest, "--dry-run").want(t, exitFailed, "left: parts/late: its delete would change or delete notes/later", "nothing is written")
	run("--until", latest).want(t, exitFailed, "left: parts/late: its delete would change or delete notes/later")
	s.WantDoc("notes", "later", `{"id":"later","part":"late"}`)
	for _, bad := range [][]string{{"--resume"}, {"--if-match", "3"}, {"parts"}, {"parts", "late", "--until", until}, {"--until", "yesterday"}, {"--until", "1"}} {
		run(bad...).want(t, exitUsage)
	}
	var result revert.Result
	if r := run("--until", latest, "--json"); json.Unmarshal([]byte(r.out), &result) != nil || result.At != at || len(result.Left) == 0 || result.Left[0].Code != client.Stale {
		t.Errorf("as JSON it is %+v", r)
	}
}

// TestRevertOfLateTargets: a target that came later than its holders goes, and the holders stay as they were, whatever the delete policy. No holder is said to
// be written later that was not.
func TestRevertOfLateTargets(t *testing.T) {
	s := harness.OpenTemp(t, `
collections:
  books: {}
  reviews: {relations: {book: {path: book, to: books, onDelete: cascade}}}
  replies: {relations: {review: {path: review, to: reviews, onDelete: cascade}}}
  tags: {relations: {books: {path: "books[].id", to: books, onDelete: unlink}}}
  orders: {relations: {book: {path: book, to: books, onDelete: restrict}}}
  needs: {schema: {required: [book]}, relations: {book: {path: book, to: books, onDelete: cascade}}}
`)
	s.Put("reviews", "v1", `{"book":"b1", "text":"early"}`)
	s.Put("replies", "r", `{"review":"v1"}`)
	s.Put("tags", "t", `{"books":[{"id":"b1"},{"id":"b2","n":1},{"id":"b1"}]}`)
	s.Put("reviews", "v2", `{"book":"b1","n":1}`)
	at := s.Put("orders", "o", `{"book":"b1"}`).Header.Get("Fanfold-Position")
	s.Put("reviews", "v2", `{"book":"b1","n":2}`)
	s.Put("books", "b1", `{}`)
	s.Put("books", "b2", `{}`)
	run := func(args ...string) ran {
		return runCommand(t, "", append([]string{"revert", "--at", at, "--server", s.URL}, args...)...)
	}
	run("--dry-run").want(t, exitDone, "3 documents would go back")
	run().want(t, exitDone, "3 of 3 documents are as they were")
	asBefore(t, s, at)
	if v1 := s.Want(http.StatusOK, http.MethodGet, "/v1/reviews/v1?view=referenced", ""); string(v1.Body) != `{"id":"v1","book":"b1", "text":"early"}` {
		t.Errorf("the review is %s", v1.Body)
	}
	s.WantDoc("tags", "t", `{"id":"t","books":[{"id":"b1"},{"id":"b2","n":1},{"id":"b1"}]}`)
	history := s.Want(http.StatusOK, http.MethodGet, "/v1/replies/r/_history", "")
	if strings.Count(string(history.Body), `"seq"`) != 1 {
		t.Errorf("the reply was written again: %s", history.Body)
	}

	s.Put("books", "b1", `{}`) // a run that was cut short has taken the reference away, and not put it back
	until := s.Put("books", "b3", `{}`).Header.Get("Fanfold-Position")
	s.Put("reviews", "v1", `{"text":"early"}`)
	run("--until", until, "--resume").want(t, exitDone, "2 of 2 documents are as they were")
	asBefore(t, s, at)

	s.Put("needs", "n", `{"book":"b4"}`)
	at = s.Put("reviews", "v1", `{"book":"b5"}`).Header.Get("Fanfold-Position")
	s.Put("books", "b4", `{}`)
	until = s.Put("books", "b5", `{}`).Header.Get("Fanfold-Position")
	s.Put("reviews", "v1", `{"book":"b5","late":true}`)
	left := run("--until", until)
	left.want(t, exitFailed, "0 of 2", "left: books/b4: ", "needs/n", "left: books/b5: its delete would change or delete reviews/v1, which was written after")
	if strings.Contains(left.out, "needs/n, which was written after") {
		t.Errorf("it says of a document from before that it was written later:\n%s", left.out)
	}
	s.WantDoc("needs", "n", `{"id":"n","book":"b4"}`)
}

// TestRevertAllIsCutShort: a run that ends at any transaction goes on with --resume, and takes what it wrote for what it is.
func TestRevertAllIsCutShort(t *testing.T) {
	s := harness.OpenTemp(t, `collections: {books: {}}`)
	const documents = 1203
	write := func(price int) (position string) {
		for first := 0; first < documents; first += 401 {
			operations := make([]client.Operation, 401)
			for i := range operations {
				operations[i] = client.Put("books", fmt.Sprint("b", first+i), map[string]int{"price": price})
			}
			result, err := newClient(t, s).Transact(t.Context(), operations)
			if err != nil {
				t.Fatal(err)
			}
			position = result.Position
		}
		return position
	}
	at := write(1)
	until := write(2)
	for before := 0; before < documents; {
		ctx, cut := context.WithCancel(t.Context())
		plan, err := revert.Compare(ctx, newClient(t, s), revert.Options{At: at, Until: until, Resume: before > 0, Progress: func(done, all int) {
			if all != documents {
				t.Errorf("%d of %d", done, all)
			}
			if done > before {
				cut()
			}
		}})
		if err != nil {
			t.Fatal(err)
		}
		result, err := plan.Write(ctx)
		if err != nil && !errors.Is(err, context.Canceled) || result.Done <= before || len(result.Left) > 0 {
			t.Fatalf("%d documents after %d, and %v", result.Done, before, err)
		}
		before = result.Done
		if err := plan.Close(); err != nil {
			t.Error(err)
		}
	}
	runCommand(t, "", "revert", "--at", at, "--until", until, "--resume", "--server", s.URL).want(t, exitDone, fmt.Sprintf("%d of %d documents", documents, documents))
	asBefore(t, s, at)
}

// TestRandomReverts: after a revert of everything the documents are written as they were, but for those that it names.
func TestRandomReverts(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		s := harness.Open(t, harness.Options{Dir: t.TempDir()})
		defer s.Close()
		s.Model(shopModel)
		positions := []string{"0"}
		ids := rapid.SampledFrom([]string{"a", "b", "c"})
		for range rapid.IntRange(1, 30).Draw(r, "writes") {
			collection, id := rapid.SampledFrom([]string{"makers", "parts", "notes", "tags", "orders"}).Draw(r, "collection"), ids.Draw(r, "id")
			path, method := "/v1/"+collection+"/"+id, rapid.SampledFrom([]string{"PUT", "PUT", "PUT", "DELETE"}).Draw(r, "method")
			body := ""
			if method == "PUT" {
				body = fmt.Sprintf(`{"part":%q,"maker":%q,"inside":%q,"code":%q,"n":%d}`, ids.Draw(r, "part"), ids.Draw(r, "maker"), ids.Draw(r, "inside"), ids.Draw(r, "code"), rapid.IntRange(0, 9).Draw(r, "n"))
				if collection != "parts" || rapid.Bool().Draw(r, "apart") {
					body = fmt.Sprintf(`{"part":%q,"code":%q,"n":%d}`, ids.Draw(r, "part"), ids.Draw(r, "code"), rapid.IntRange(0, 9).Draw(r, "n"))
				}
			}
			answer, err := s.Do(method, path, []byte(body), "Content-Type", "application/json")
			if err != nil {
				r.Fatal(err)
			}
			if at := answer.Header.Get("Fanfold-Position"); answer.Status < 300 && at != "" {
				positions = append(positions, at)
			}
		}
		at := rapid.SampledFrom(positions).Draw(r, "at")
		ran := runCommand(t, "", "revert", "--at", at, "--server", s.URL)
		var left []string
		for _, found := range regexp.MustCompile(`(?m)^left: (\S+):`).FindAllStringSubmatch(ran.out, -1) {
			left = append(left, found[1])
		}
		if (ran.code == exitFailed) != (len(left) > 0) || ran.code > exitFailed {
			r.Fatalf("exit code %d: %s%s", ran.code, ran.out, ran.err)
		}
		if strings.Contains(ran.out, "written after") {
			r.Fatalf("nothing was written after the present: %s", ran.out)
		}
		for _, key := range differing(t, s, at) {
			if !slices.Contains(left, key) {
				r.Fatalf("%s is not as it was, and is not among %q", key, left)
			}
		}
	})
}
