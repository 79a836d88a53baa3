package model_test

import (
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/fanfold/fanfold/tests/harness"
	"github.com/fanfold/fanfold/tests/natsserver"
	"github.com/fanfold/fanfold/tests/suite"
	"github.com/fanfold/fanfold/writer"
)

const shopModel = `
collections:
  authors: {}
  books: {relations: {author: {path: author, to: authors}}}
`

// fullShopModel has everything that is prepared in ways of its own.
const fullShopModel = `
collections:
  authors:
    derive:
      books: {count: books.author}
      stars: {avg: books.author, of: stars}
      newest: {recent: books.author, max: 2, fields: [id, name]}
  books:
    unique: [isbn]
    pages: {by: author, size: 3}
    relations: {author: {path: author, to: authors, strict: true, onDelete: restrict}}
    derive:
      name: {copy: author, value: doc.name}
      first: {copy: author, value: doc.name, frozen: true}
      works: {copy: author, value: doc.books}
    indexes:
      byName: [name, -works, stars]
      byWorks: [-works, "lower(doc.first)"]
      newest: ["-_meta.updatedAt", isbn]
`

// shop fills a store: n books of ten authors.
func shop(s *harness.Store, n int) {
	for i := range 10 {
		s.Put("authors", fmt.Sprint(i), fmt.Sprintf(`{"name":"Author %d"}`, i))
	}
	for i := range n {
		s.Put("books", fmt.Sprint(i), shopBook(i, 0))
	}
}

func shopBook(i, edit int) string {
	return fmt.Sprintf(`{"author":%d,"isbn":"978-%d","stars":%d.1,"edit":%d}`, (i+edit)%10, i, i%5, edit)
}

// sameAfterReplay checks every derived value, and that a replay, which folds the model in one go,
// gives the same rows.
func sameAfterReplay(t *testing.T, s *harness.Store) {
	t.Helper()
	s.Verify()
	for try := 0; ; try++ { // with an outside log a node appends a fence now and then
		last, err := s.Node.Log.LastSeq(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		before := s.Digest()
		s.Replay()
		if s.Digest() == before {
			return
		}
		if now, err := s.Node.Log.LastSeq(t.Context()); err != nil || now == last || try > 20 {
			t.Fatalf("a replay gives other rows; %v", err)
		}
	}
}

// TestModelInBackground prepares a model while clients write, rename, move and delete, and reads go on.
func TestModelInBackground(t *testing.T) {
	suite.Concurrent(t)
	s := harness.OpenTemp(t, shopModel)
	shop(s, 300)
	var writers sync.WaitGroup
	var stop atomic.Bool
	for w := range 4 {
		writers.Go(func() {
			c := harness.NewClient(t, s.Node.URL())
			for i := 0; !stop.Load(); i++ {
				switch book := 50*w + i%50; i % 7 {
				case 3:
					c.Merge("authors", fmt.Sprint((w+i)%10), fmt.Sprintf(`{"name":"Author %d of %d"}`, i, w))
				case 5:
					c.Delete("books", fmt.Sprint(book))
					c.Put("books", fmt.Sprint(book), shopBook(book, i))
				default:
					c.Put("books", fmt.Sprint(book), shopBook(book, i))
				}
			}
		})
	}
	for range suite.Amount(2, 4) {
		applied := s.Activated(s.Propose(fullShopModel))
		if a := s.Node.Projector.Status().Activated; a == nil || a.Model != applied || a.Documents < 300 {
			t.Errorf("activated: %+v, want the model of event %d", a, applied)
		}
		s.Activated(s.Propose(shopModel))
	}
	stop.Store(true)
	writers.Wait()
	sameAfterReplay(t, s)
}

// TestModelWithdrawn: while a model is to come the one before applies, no other one is taken, and it
// can be withdrawn.
func TestModelWithdrawn(t *testing.T) {
	hold := harness.NewActivationHold()
	dir := t.TempDir()
	s := harness.Open(t, harness.Options{Dir: dir, Writer: writer.Options{BeforeActivate: hold.Wait}})
	defer func() { s.Close() }()
	s.Model(shopModel)
	shop(s, 20)
	if r := s.Want(http.StatusNotFound, http.MethodDelete, "/v1/_model/_pending", ""); !strings.HasSuffix(r.Problem(), "not-found") {
		t.Errorf("nothing to withdraw: %s", r.Body)
	}
	s.Want(http.StatusNotFound, http.MethodGet, "/v1/_model/_pending", "")
	seq := s.Propose(fullShopModel)
	s.Prepared()
	if got := string(s.Want(http.StatusOK, http.MethodGet, "/v1/_model/_pending", "").Body); !strings.Contains(got, `"frozen":true`) {
		t.Errorf("the model to come is %s", got)
	}
	s.WantDoc("books", "1", `{"id":"1","author":1,"isbn":"978-1","stars":1.1,"edit":0}`)
	s.Put("books", "x", `{"author":"nobody"}`) // the relation is not strict yet
	s.Delete("books", "x")
	for _, query := range []string{"", "?background=true", "?background=false"} {
		s.Want(http.StatusConflict, http.MethodPut, "/v1/_model"+query, shopModel, "Content-Type", "application/yaml")
	}
	s = s.Reopen() // it is prepared again
	s.Prepared()
	if p, _ := s.Node.Projector.Proposal(); p == nil || p.Seq != seq {
		t.Fatalf("after a restart %+v is to come", p)
	}
	s.Want(http.StatusNoContent, http.MethodDelete, "/v1/_model/_pending", "")
	if _, err := s.Node.Projector.Settled(t.Context(), seq); err == nil || !strings.Contains(err.Error(), "a request asked for it") {
		t.Errorf("the withdrawn model settled as %v", err)
	}
	s.Want(http.StatusNotFound, http.MethodDelete, "/v1/_model/_pending", "")
	s.WantDoc("books", "1", `{"id":"1","author":1,"isbn":"978-1","stars":1.1,"edit":0}`)
	for begin := time.Now(); ; time.Sleep(time.Millisecond) { // files go when nobody reads them, at no position
		files, err := filepath.Glob(filepath.Join(dir, "readmodel", "*.db"))
		if err != nil || time.Since(begin) > suite.Deadline(time.Minute) {
			t.Fatalf("a withdrawn model leaves %v, %v", files, err)
		}
		if len(files) == 1 {
			break
		}
	}
	hold.Release()
	s.Model(fullShopModel)
	sameAfterReplay(t, s)
}

// TestModelWithdrawnByItself: what clients write while a model is prepared can break it.
func TestModelWithdrawnByItself(t *testing.T) {
	for name, book := range map[string]string{"strict": `{"author":"nobody"}`, "unique": `{"isbn":"978-1"}`, "hidden": `{"name":"own"}`,
		"incomparable": `{"isbn":"` + strings.Repeat("9", 3000) + `"}`} {
		t.Run(name, func(t *testing.T) {
			hold := harness.NewActivationHold()
			s := harness.Open(t, harness.Options{Dir: t.TempDir(), Writer: writer.Options{BeforeActivate: hold.Wait}})
			defer s.Close()
			s.Model(shopModel)
			shop(s, 20)
			seq := s.Propose(fullShopModel)
			s.Prepared()
			s.Put("books", "x", book)
			hold.Release()
			if _, err := s.Node.Projector.Settled(t.Context(), seq); err == nil || !strings.Contains(err.Error(), "books/x") {
				t.Fatalf("the model settled as %v", err)
			}
			s.Delete("books", "x")
			s.Activated(s.Propose(fullShopModel))
			if r, err := s.Do(http.MethodPut, "/v1/books/y", []byte(book)); name != "hidden" && (err != nil || r.Status/100 != 4) {
				t.Errorf("books/y: %d %s, %v", r.Status, r.Body, err)
			}
			s.Want(http.StatusConflict, http.MethodDelete, "/v1/authors/1", "")
			sameAfterReplay(t, s)
		})
	}
}

// TestRenameAfterActivation folds a fan-out by set-oriented SQL on a read model that was prepared.
func TestRenameAfterActivation(t *testing.T) {
	s := harness.OpenTemp(t, shopModel)
	shop(s, 100)
	s.Activated(s.Propose(strings.Replace(shopModel, "authors}}}", "authors}}, derive: {name: {copy: author, value: doc.name}}}", 1)))
	for i := range 100 {
		s.Put("books", fmt.Sprint("n", i), `{"author":1}`)
	}
	s.Merge("authors", "1", `{"name":"Ann"}`)
	s.WantDoc("books", "n7", `{"id":"n7","author":1,"name":"Ann"}`)
	sameAfterReplay(t, s)
}

// TestReplayWhilePreparing: what a replay mends does not come back with a model that was being prepared.
func TestReplayWhilePreparing(t *testing.T) {
	hold := harness.NewActivationHold()
	dir := t.TempDir()
	s := harness.Open(t, harness.Options{Dir: dir, Writer: writer.Options{BeforeActivate: hold.Wait}})
	defer s.Close()
	s.Model(shopModel)
	shop(s, 20)
	harness.RunOutside(t, harness.ReadModel(t, dir), `UPDATE document SET body = '{"id":"1","name":"planted"}' WHERE collection = 'authors' AND id = '1'`)
	seq := s.Propose(fullShopModel)
	s.Prepared()
	s.Replay()
	hold.Release()
	s.Activated(seq)
	s.WantDoc("authors", "1", `{"id":"1","name":"Author 1","books":2,"newest":[{"id":"11","name":"Author 1"},{"id":"1","name":"Author 1"}],"stars":1.1}`)
	sameAfterReplay(t, s)
}

// TestModelAfterModel: whoever waits for a model that was withdrawn is not told of another.
func TestModelAfterModel(t *testing.T) {
	hold := harness.NewActivationHold()
	s := harness.Open(t, harness.Options{Dir: t.TempDir(), Writer: writer.Options{BeforeActivate: hold.Wait}})
	defer s.Close()
	s.Model(shopModel)
	seq := s.Propose(fullShopModel)
	s.Want(http.StatusNoContent, http.MethodDelete, "/v1/_model/_pending", "")
	s.Model("collections: {authors: {}}")
	if applied, err := s.Node.Projector.Settled(t.Context(), seq); err == nil {
		t.Errorf("the withdrawn model applies from event %d on", applied)
	}
	hold.Release()
	seq = s.Propose(fullShopModel)
	if applied := s.Activated(seq); applied <= seq {
		t.Errorf("the model of event %d applies from %d on", seq, applied)
	}
}

// TestModelOnlyAtOnce: where values stay on their holders that come from documents which a model
// changes, what stays depends on when the model came.
func TestModelOnlyAtOnce(t *testing.T) {
	const before = `
collections:
  authors: {derive: {books: {count: books.author}}}
  books:
    relations: {author: {path: author, to: authors}}
    derive: {then: {copy: author, value: doc.books, frozen: true}}
`
	s := harness.OpenTemp(t, before)
	shop(s, 20)
	after := strings.Replace(before, "count: books.author", `count: books.author, where: "doc.stars > 2.0"`, 1)
	r := s.Want(http.StatusUnprocessableEntity, http.MethodPut, "/v1/_model?background=true&allowRemoval=true", after, "Content-Type", "application/yaml")
	if !strings.Contains(string(r.Body), "books.then") {
		t.Errorf("refused with %s", r.Body)
	}
	s.Model(after)
	sameAfterReplay(t, s)
}

// TestModelOnTwoNodes: both nodes prepare a model, and change to it at one position.
func TestModelOnTwoNodes(t *testing.T) {
	url := natsserver.Start(t, 1)[0]
	var nodes [2]*harness.Store
	for i := range nodes {
		nodes[i] = harness.Open(t, harness.Options{Dir: t.TempDir(), NATS: url})
		defer nodes[i].Close()
	}
	nodes[0].Model(shopModel)
	shop(nodes[0], 100)
	seq := nodes[0].Propose(fullShopModel)
	if a, b := nodes[0].Activated(seq), nodes[1].Activated(seq); a != b {
		t.Errorf("the nodes changed at %d and %d", a, b)
	}
	nodes[1].Put("books", "1", shopBook(1, 1))
	nodes[0].CatchUp()
	nodes[0].WantSameDigest(nodes[1])
	sameAfterReplay(t, nodes[0])
}
