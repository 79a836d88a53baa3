package tests

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/fanfold/fanfold/tests/harness"
)

const strictModel = `
collections:
  publishers: {derive: {n: {count: books.publisher}}}
  authors: {}
  books:
    unique: [isbn, code.n]
    relations:
      publisher: {path: pub, to: publishers, strict: true, onDelete: restrict}
      authors: {path: "authors[].id", to: authors, strict: true, onDelete: unlink}
      sequel: {path: sequel, to: books, strict: true}
  pages: {relations: {book: {path: book, to: books, strict: true, onDelete: cascade}}}
`

// TestP06StrictLinks: references that are checked, for whoever wants them.
func TestP06StrictLinks(t *testing.T) {
	s := harness.OpenTemp(t, strictModel)
	put := func(status int, path, body string, headers ...string) *harness.Response {
		t.Helper()
		return s.Want(status, http.MethodPut, "/v1/"+path, body, headers...)
	}
	r := put(422, "books/1", `{"pub":"p"}`)
	if !strings.Contains(string(r.Body), "publishers/p") {
		t.Fatalf("the target is not named: %s", r.Body)
	}
	put(422, "books/1?dryRun=true", `{"pub":"p"}`)
	put(201, "publishers/p", `{}`)
	r = put(201, "books/1", `{"pub":"p"}`)
	s.WantDoc("publishers", "p", `{"id":"p","n":1}`)
	wantText(t, s.Want(200, "GET", "/v1/books/1", "").Header.Get("Fanfold-Revision"), r.Header.Get("Fanfold-Revision"))
	put(204, "books/1", `{"pub":"p","title":"T"}`)
	put(204, "publishers/p", `{"name":"a target may be written"}`)
	put(204, "books/1", `{"pub":"p","title":"U"}`)

	// It cannot go while it is held, and can afterwards.
	r = s.Want(409, "DELETE", "/v1/publishers/p", "")
	if !strings.Contains(string(r.Body), "books/1") {
		t.Fatalf("the holder is not named: %s", r.Body)
	}
	s.Want(422, "PATCH", "/v1/books/1", `{"sequel":"2"}`, "Content-Type", mergeType)
	put(204, "books/1", `{"pub":"p","sequel":"1"}`) // itself
	s.Want(409, "POST", "/v1/_transactions", `{"operations":[{"op":"delete","collection":"publishers","id":"p"}]}`)
	s.Merge("books", "1", `{"pub":null}`)
	s.Delete("publishers", "p")
	s.Delete("books", "1") // that it refers to itself is no obstacle

	// Links made and dropped in one transaction are judged together.
	tx := func(status int, ops ...string) *harness.Response {
		t.Helper()
		return s.Want(status, http.MethodPost, "/v1/_transactions", `{"operations":[`+strings.Join(ops, ",")+`]}`)
	}
	doc := func(collection, id, body string) string {
		return fmt.Sprintf(`{"op":"put","collection":%q,"id":%q,"body":%s}`, collection, id, body)
	}
	del := func(collection, id string) string {
		return fmt.Sprintf(`{"op":"delete","collection":%q,"id":%q}`, collection, id)
	}
	tx(200, doc("books", "1", `{"pub":"p","authors":[{"id":"a"},{"id":"b"},{"id":"a"}]}`), doc("publishers", "p", `{}`), doc("authors", "a", `{}`), doc("authors", "b", `{}`))
	tx(200, doc("books", "2", `{"sequel":"3"}`), doc("books", "3", `{"sequel":"2"}`)) // a ring
	tx(409, doc("books", "4", `{"pub":"p"}`), del("publishers", "p"))
	tx(409, del("publishers", "p"))
	tx(422, del("publishers", "p"), doc("books", "1", `{"pub":"p","title":"still"}`))
	tx(409, del("books", "2"))
	tx(200, del("books", "2"), del("books", "3"))
	tx(200, del("publishers", "p"), doc("books", "1", `{"authors":[{"id":"a"},{"id":"b"}]}`))

	// Policies bring the writes that free the target.
	s.Delete("authors", "a")
	s.WantDoc("books", "1", `{"id":"1","authors":[{"id":"b"}]}`)
	put(201, "pages/1", `{"book":1}`)
	put(422, "pages/2", `{"book":2}`)
	s.Delete("books", "1")
	s.Want(404, "GET", "/v1/pages/1", "")

	// Made again, it is another one.
	put(201, "books/1", `{}`)
	put(201, "pages/1", `{"book":"1"}`)
}

// TestUnique: no two documents have one value of a unique member.
func TestUnique(t *testing.T) {
	s := harness.OpenTemp(t, strictModel)
	put := func(status int, id, body string) *harness.Response {
		t.Helper()
		return s.Want(status, http.MethodPut, "/v1/books/"+id, body)
	}
	put(201, "1", `{"isbn":"978","code":{"n":1}}`)
	put(204, "1", `{"isbn":"978","code":{"n":1.0},"title":"T"}`)
	r := put(409, "2", `{"isbn":"978"}`)
	if !strings.Contains(string(r.Body), "books/1") {
		t.Fatalf("the holder is not named: %s", r.Body)
	}
	put(409, "2", `{"code":{"n":10e-1}}`)
	put(201, "2", `{"isbn":978,"code":{"n":"1"}}`) // a number is no string
	put(201, "3", `{"isbn":null,"code":[]}`)
	put(201, "4", `{"isbn":null}`)
	put(422, "5", `{"isbn":"`+strings.Repeat("x", 2000)+`"}`)
	put(204, "1", `{"isbn":"979"}`)
	put(204, "3", `{"isbn":"978","code":{"n":1}}`)
	s.Delete("books", "3")
	put(204, "4", `{"isbn":"978"}`)
	swap := `{"operations":[{"op":"patch","collection":"books","id":"1","patch":{"isbn":"978"}},{"op":"patch","collection":"books","id":"4","patch":{"isbn":"979"}}]}`
	s.Want(200, "POST", "/v1/_transactions", swap)
	s.WantDoc("books", "4", `{"id":"4","isbn":"979"}`)
	s.Want(409, "POST", "/v1/_transactions", `{"operations":[{"op":"put","collection":"books","id":"8","body":{"isbn":"x"}},{"op":"put","collection":"books","id":"9","body":{"isbn":"x"}}]}`)
	s.Want(409, "POST", "/v1/_transactions", `{"operations":[{"op":"put","collection":"books","id":"8","body":{"isbn":"978"}},{"op":"patch","collection":"books","id":"1","patch":{"title":"keeps it"}}]}`)
	s.Want(200, "POST", "/v1/_transactions", `{"operations":[{"op":"put","collection":"books","id":"8","body":{"isbn":"978"}},{"op":"delete","collection":"books","id":"1"}]}`)
	s.Want(409, "POST", "/v1/books", `{"isbn":"978"}`)
	key := []string{"Idempotency-Key", "k"}
	first := s.Want(201, "POST", "/v1/books", `{"isbn":"once"}`, key...)
	again := s.Want(201, "POST", "/v1/books", `{"isbn":"once"}`, key...)
	wantText(t, again.Header.Get("Location")+again.Header.Get("Fanfold-Revision"), first.Header.Get("Location")+first.Header.Get("Fanfold-Revision"))
	before := s.Digest()
	s.Replay()
	if s.Digest() != before {
		t.Fatal("the replay's rows differ")
	}
	put(409, "7", `{"isbn":"once"}`)

	// An import tells which lines break a rule, and stores the others.
	r = s.Want(200, "POST", "/v1/_import", strings.Join([]string{
		`{"collection":"publishers","doc":{"id":"p"}}`,
		`{"collection":"books","doc":{"id":"i1","isbn":"i","pub":"p"}}`,
		`{"collection":"books","doc":{"id":"i2","isbn":"i"}}`,
		`{"collection":"books","doc":{"id":"i3","pub":"none"}}`,
		`{"collection":"books","doc":{"id":"i4","isbn":"978"}}`,
		`{"collection":"books","doc":{"id":"i5","sequel":"i1"}}`}, "\n"), "Content-Type", "application/x-ndjson")
	text := string(r.Body)
	for line, want := range map[int]bool{1: false, 2: false, 3: true, 4: true, 5: true, 6: false} {
		if strings.Contains(text, fmt.Sprintf(`"line":%d,"status":4`, line)) != want {
			t.Errorf("line %d: %s", line, text)
		}
	}
	s.WantDoc("books", "i5", `{"id":"i5","sequel":"i1"}`)
}

// TestStrictOnStoredDocuments: a model is refused while documents break it.
func TestStrictOnStoredDocuments(t *testing.T) {
	s := harness.OpenTemp(t, "collections: {publishers: {}, books: {relations: {publisher: {path: pub, to: publishers}}}}")
	s.Put("publishers", "p", `{}`)
	s.Put("books", "1", `{"pub":"p","isbn":"x"}`)
	s.Put("books", "2", `{"pub":"q","isbn":"x"}`)
	s.Put("books", "3", `{"isbn":1e2000}`)
	const model = "collections: {publishers: {}, books: {unique: [isbn], relations: {publisher: {path: pub, to: publishers, strict: true}}}}"
	r := s.Want(422, "PUT", "/v1/_model", model, "Content-Type", "application/yaml")
	for _, want := range []string{"books/2 refers to publishers/q", "books/1 and books/2 both have isbn", "books/3"} {
		if !strings.Contains(problems(t, r), want) {
			t.Errorf("%q is not in %s", want, problems(t, r))
		}
	}
	s.Put("books", "2", `{"pub":"p","isbn":"y"}`)
	s.Delete("books", "3")
	s.Model(model)
	s.Want(409, "DELETE", "/v1/publishers/p", "") // its holders were there before the rule
	s.Want(409, "PUT", "/v1/books/4", `{"isbn":"y"}`)
	s.Merge("books", "2", `{"isbn":"z","pub":null}`)
	s.Want(201, "PUT", "/v1/books/4", `{"isbn":"y"}`)
	s.Delete("books", "1")
	s.Delete("publishers", "p")

	// Without the rule values are doubled; with it again, what there is then counts.
	s.Model("collections: {publishers: {}, books: {}}")
	s.Put("books", "5", `{"isbn":"w"}`)
	s.Put("books", "2", `{"isbn":"v"}`)
	s.Model(model)
	s.Want(409, "PUT", "/v1/books/6", `{"isbn":"w"}`)
	s.Want(201, "PUT", "/v1/books/6", `{"isbn":"z"}`)
}

// TestStrictUnderConcurrency: writers, movers, deleters and re-creators on two nodes, on one replica
// and on three, never leave a reference without its target, nor one value twice.
func TestStrictUnderConcurrency(t *testing.T) {
	for _, replicas := range []int{1, 3} {
		t.Run(strconv.Itoa(replicas), func(t *testing.T) {
			nodes := cluster(t, replicas, 2)
			nodes[0].Model(`
collections:
  as: {}
  bs: {unique: [u], relations: {a: {path: "as[]", to: as, strict: true}, one: {path: one, to: as, strict: true, onDelete: unlink}}}
`)
			nodes[1].CatchUp()
			var mu sync.Mutex
			seen := map[string]int{}
			var wg sync.WaitGroup
			errs := make(chan error, 64)
			for w := range 8 {
				wg.Go(func() {
					rng := rand.New(rand.NewPCG(uint64(w), 7))
					for range 60 {
						what, err := strictStep(nodes[w%2], rng)
						if err != nil {
							errs <- err
							return
						}
						mu.Lock()
						seen[what]++
						mu.Unlock()
					}
				})
			}
			wg.Wait()
			close(errs)
			for err := range errs {
				t.Fatal(err)
			}
			nodes[0].CatchUp()
			nodes[1].CatchUp()
			if nodes[0].Digest() != nodes[1].Digest() {
				t.Fatal("the nodes differ")
			}
			checkStrict(t, nodes[0])
			for _, what := range []string{"PUT 201", "PUT 204", "PUT 409", "PUT 422", "DELETE 204", "DELETE 409"} {
				if seen[what] == 0 {
					t.Errorf("%s never happened: %v", what, seen)
				}
			}
			t.Log(seen)
		})
	}
}

// TestStrictRaces: a holder is written on one node while its target is deleted on another, and two
// documents take one value at the same moment: one of the two wins.
func TestStrictRaces(t *testing.T) {
	for _, replicas := range []int{1, 3} {
		t.Run(strconv.Itoa(replicas), func(t *testing.T) {
			nodes := cluster(t, replicas, 2)
			nodes[0].Model("collections: {as: {}, bs: {unique: [u], relations: {a: {path: a, to: as, strict: true}}}}")
			nodes[1].CatchUp()
			const rounds, lanes = 60, 4
			var wg sync.WaitGroup
			errs := make(chan error, lanes)
			for lane := range lanes {
				wg.Go(func() {
					for i := range rounds {
						if err := strictRace(nodes, fmt.Sprintf("%d-%d", lane, i)); err != nil {
							errs <- err
							return
						}
					}
				})
			}
			wg.Wait()
			close(errs)
			for err := range errs {
				t.Error(err)
			}
		})
	}
}

// strictRace sends four writes at once: of holder id and of the delete of its target, of two
// documents with one value.
func strictRace(nodes []*harness.Store, id string) error {
	if r, err := nodes[0].Do(http.MethodPut, "/v1/as/"+id, []byte("{}")); err != nil || r.Status != http.StatusCreated {
		return fmt.Errorf("%w %+v", err, r)
	}
	status := make([]int, 4)
	errs := make([]error, 4)
	var wg sync.WaitGroup
	for i, w := range []struct{ method, path, body string }{
		{http.MethodPut, "/v1/bs/h" + id, fmt.Sprintf(`{"a":%q}`, id)},
		{http.MethodDelete, "/v1/as/" + id, ""},
		{http.MethodPut, "/v1/bs/u" + id, fmt.Sprintf(`{"u":%q}`, id)},
		{http.MethodPut, "/v1/bs/v" + id, fmt.Sprintf(`{"u":%q}`, id)},
	} {
		wg.Go(func() {
			r, err := nodes[i%2].Do(w.method, w.path, []byte(w.body))
			if errs[i] = err; err == nil {
				status[i] = r.Status
			}
		})
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		return err
	}
	held, deleted := status[0] == http.StatusCreated, status[1] == http.StatusNoContent
	if held == deleted || !held && status[0] != http.StatusUnprocessableEntity || !deleted && status[1] != http.StatusConflict {
		return fmt.Errorf("%s: the holder's write %d, the target's delete %d", id, status[0], status[1])
	}
	if slices.Sort(status[2:]); status[2] != http.StatusCreated || status[3] != http.StatusConflict {
		return fmt.Errorf("%s: two writes of one value: %v", id, status[2:])
	}
	return nil
}

// strictStep does something at random and tells what, and how it was answered.
func strictStep(n *harness.Store, rng *rand.Rand) (string, error) {
	id := func(most int) string { return strconv.Itoa(rng.IntN(most)) }
	method, path, body, headers := http.MethodPut, "/v1/as/"+id(4), `{}`, []string(nil)
	switch rng.IntN(10) {
	case 0, 1:
	case 2, 3:
		method, body = http.MethodDelete, ""
	case 4:
		method, path, body = http.MethodDelete, "/v1/bs/"+id(6), ""
	case 5:
		method, path, body, headers = http.MethodPatch, "/v1/bs/"+id(6), fmt.Sprintf(`{"one":%q}`, id(4)), []string{"Content-Type", mergeType}
	case 6:
		method, path = http.MethodPost, "/v1/_transactions"
		body = fmt.Sprintf(`{"operations":[{"op":"put","collection":"as","id":%q,"body":{}},{"op":"put","collection":"bs","id":%q,"body":{"as":[%q],"u":%q}}]}`, id(4), id(6), id(4), id(5))
	default:
		path, body = "/v1/bs/"+id(6), fmt.Sprintf(`{"as":[%q,%q],"u":%q}`, id(4), id(4), id(5))
	}
	r, err := n.Do(method, path, []byte(body), headers...)
	if err != nil {
		return "", err
	}
	if !slices.Contains([]int{200, 201, 204, 404, 409, 422}, r.Status) {
		return "", fmt.Errorf("%s %s %s: %d %s", method, path, body, r.Status, r.Body)
	}
	return fmt.Sprintf("%s %d", method, r.Status), nil
}

// checkStrict wants every reference's target to be there, and every value once.
func checkStrict(t *testing.T, s *harness.Store) {
	t.Helper()
	var all []error
	values := map[string]string{}
	listed, _ := items(t, s, "/v1/bs")
	for _, id := range listed {
		doc := parseJSON(s.Get("bs", id))
		for _, target := range append(doc.ids([]string{"as", "[]"}), doc.ids([]string{"one"})...) {
			if r, err := s.Do(http.MethodGet, "/v1/as/"+target, nil); err != nil || r.Status != http.StatusOK {
				all = append(all, fmt.Errorf("bs/%s refers to as/%s, which is not there", id, target))
			}
		}
		for _, u := range doc.ids([]string{"u"}) {
			if other := values[u]; other != "" {
				all = append(all, fmt.Errorf("bs/%s and bs/%s both have %s", id, other, u))
			}
			values[u] = id
		}
	}
	if err := errors.Join(all...); err != nil {
		t.Fatal(err)
	}
}
