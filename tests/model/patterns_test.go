package model_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/fanfold/fanfold/tests/harness"
)

const person = `{"id":"1","firstName":"Thomas","lastName":"Andersen","addresses":[{"line1":"100 Some Street","line2":"Unit 1","city":"Seattle","state":"WA","zip":98012}],"contactDetails":[{"email":"thomas@andersen.com"},{"phone":"+1 555 555-5555","extension":5555}]}`

func TestP01SelfContained(t *testing.T) {
	s := harness.OpenTemp(t, "")
	r := s.Put("people", "1", person)
	if r.Status != http.StatusCreated {
		t.Fatalf("status %d, want 201", r.Status)
	}
	s.WantDoc("people", "1", person)
	if rows, _ := s.Changes("mode=all"); len(rows) != 1 {
		t.Fatalf("one write made %d changes", len(rows))
	}
}

func TestP02NoFixedSchema(t *testing.T) {
	s := harness.OpenTemp(t, "")
	spaced := "{\n  \"zip\": 98012, \"id\" : \"1\",\n  \"contactDetails\": [ {\"email\":\"t@a.com\"}, {\"phone\":\"+1 555\", \"extension\":5555.0} ],\n  \"big\": 12345678901234567890, \"small\": 1E-2\n}"
	s.Put("people", "1", spaced)
	s.Put("people", "2", `{"id":2,"contactDetails":"none","zip":null}`)
	harness.WantText(t, harness.Body(s, "/v1/people/1?view=referenced"), spaced)
	s.WantDoc("people", "1", `{"zip":98012,"id":"1","contactDetails":[{"email":"t@a.com"},{"phone":"+1 555","extension":5555.0}],"big":12345678901234567890,"small":1E-2}`)
	s.WantDoc("people", "2", `{"id":2,"contactDetails":"none","zip":null}`)
}

// TestP03NewestAndPages: the post shows the newest three; all comments stand in pages. A delete makes
// one shorter and changes no other.
func TestP03NewestAndPages(t *testing.T) {
	s := harness.OpenTemp(t, `
collections:
  posts:
    derive:
      recentComments: {recent: comments.post, max: 3, fields: [id, author, comment]}
      comments: {count: comments.post}
  comments:
    relations: {post: {path: postId, to: posts}}
    pages: {by: post, size: 4}
`)
	const post = `{"id":"1","name":"What's new in the coolest Cloud","summary":"A blog post by someone real famous"`
	s.Put("posts", "1", post+"}")
	harness.WantText(t, harness.Body(s, "/v1/posts/1/comments?page=last"), `{"postId":"1","page":1,"pages":1,"comments":[]}`)
	for i := 1; i <= 10; i++ {
		s.Put("comments", strconv.Itoa(i), fmt.Sprintf(`{"id":%d,"postId":1,"author":"anon","comment":"no. %d","ip":"secret"}`, i, i))
	}
	newest := func(ids ...int) string {
		var shown []string
		for _, id := range ids {
			shown = append(shown, fmt.Sprintf(`{"id":%d,"author":"anon","comment":"no. %d"}`, id, id))
		}
		return `"recentComments":[` + strings.Join(shown, ",") + "]}"
	}
	s.WantDoc("posts", "1", post+`,"comments":10,`+newest(10, 9, 8))
	s.Delete("comments", "9")
	s.Delete("comments", "6")
	s.WantDoc("posts", "1", post+`,"comments":8,`+newest(10, 8, 7))

	page := func(which string) (ids []int, number, pages int) {
		var p struct {
			PostID      string `json:"postId"`
			Page, Pages int
			Comments    []struct {
				ID   int
				Meta struct{ Rev, Position any } `json:"_meta"`
			}
		}
		if err := json.Unmarshal([]byte(harness.Body(s, "/v1/posts/1/comments?page="+which)), &p); err != nil || p.PostID != "1" {
			t.Fatalf("%+v: %v", p, err)
		}
		for _, c := range p.Comments {
			if c.Meta.Rev == nil || c.Meta.Position == nil {
				t.Fatalf("no _meta in %+v", c)
			}
			ids = append(ids, c.ID)
		}
		return ids, p.Page, p.Pages
	}
	for which, want := range map[string]string{"1": "[1 2 3 4] 1 3", "2": "[5 7 8] 2 3", "3": "[10] 3 3", "last": "[10] 3 3"} {
		ids, number, pages := page(which)
		harness.WantText(t, fmt.Sprint(ids, number, pages), want)
	}
	s.Merge("comments", "1", `{"postId":2}`) // moves away, and back to the end
	s.Merge("comments", "1", `{"postId":1}`)
	ids, _, _ := page("1")
	harness.WantText(t, fmt.Sprint(ids), "[2 3 4]")
	ids, _, _ = page("last")
	harness.WantText(t, fmt.Sprint(ids), "[10 1]")
	harness.WantText(t, harness.Body(s, "/v1/posts/1/comments?page=2&view=referenced&expand=post")[:40], `{"postId":"1","page":2,"pages":3,"commen`)
	s.Want(http.StatusNotFound, http.MethodGet, "/v1/posts/2/comments?page=1", "")
	s.Want(http.StatusNotFound, http.MethodGet, "/v1/posts/1/comments?page=4", "")
	for _, wrong := range []string{"page=0", "page=x", "page=", "page=1&limit=3", "page=1&cursor=eA"} {
		s.Want(http.StatusBadRequest, http.MethodGet, "/v1/posts/1/comments?"+wrong, "")
	}

	// Another size is another cut of the same order; none is none.
	s.Model(`
collections:
  posts: {}
  comments:
    relations: {post: {path: postId, to: posts}}
    pages: {by: post, size: 100}
`)
	ids, _, _ = page("1")
	harness.WantText(t, fmt.Sprint(ids), "[2 3 4 5 7 8 10 1]")
	s.Model("collections: {posts: {}, comments: {relations: {post: {path: postId, to: posts}}}}")
	s.Want(http.StatusBadRequest, http.MethodGet, "/v1/posts/1/comments?page=1", "")
}

func TestP04EmbeddedStocks(t *testing.T) {
	s := harness.OpenTemp(t, `
collections:
  stocks: {derive: {holders: {count: portfolios.stock}}}
  portfolios:
    relations: {stock: {path: "holdings[].stockId", to: stocks}}
    derive: {"holdings[].stock": {copy: stock, value: "{'symbol': doc.symbol, 'open': doc.open, 'high': doc.high, 'low': doc.low}"}}
`)
	s.Put("stocks", "1", `{"id":"1","symbol":"zaza","open":1,"high":2,"low":0.5}`)
	s.Put("stocks", "2", `{"id":"2","symbol":"xcxc","open":89,"high":93.24,"low":88.87}`)
	s.Put("portfolios", "1", `{"id":"1","firstName":"Thomas","lastName":"Andersen","holdings":[{"numberHeld":100,"stockId":1},{"numberHeld":50,"stockId":2}]}`)
	s.Put("portfolios", "2", `{"id":"2","holdings":[{"numberHeld":1,"stockId":"1"}]}`)
	s.Put("portfolios", "3", `{"id":"3","holdings":[{"numberHeld":1,"stockId":"2"}]}`)
	s.WantDoc("portfolios", "1", `{"id":"1","firstName":"Thomas","lastName":"Andersen","holdings":[`+
		`{"numberHeld":100,"stockId":1,"stock":{"symbol":"zaza","open":1,"high":2,"low":0.5}},`+
		`{"numberHeld":50,"stockId":2,"stock":{"symbol":"xcxc","open":89,"high":93.24,"low":88.87}}]}`)

	// The cost of a trade can be read before it is made.
	s.WantDoc("stocks", "1", `{"id":"1","symbol":"zaza","open":1,"high":2,"low":0.5,"holders":2}`)
	_, before := s.Changes("mode=all")
	s.Merge("stocks", "1", `{"high":2.10}`)
	rows, _ := s.Changes("mode=all&since=" + before)
	var touched []string
	for _, row := range rows[1:] {
		if row.Op != "derive" || row.Cause.Collection != "stocks" || row.Cause.ID != "1" || row.Cause.Rule != "portfolios.holdings[].stock" {
			t.Fatalf("unexpected change %+v", row)
		}
		touched = append(touched, row.ID)
	}
	harness.WantText(t, strings.Join(touched, " "), "1 2")
	s.WantDoc("portfolios", "2", `{"id":"2","holdings":[{"numberHeld":1,"stockId":"1","stock":{"symbol":"zaza","open":1,"high":2.10,"low":0.5}}]}`)
}

func TestP05ReferenceExpand(t *testing.T) {
	s := harness.OpenTemp(t, `
collections:
  stocks: {relations: {exchange: {path: exchange, to: exchanges}}}
  exchanges: {}
  portfolios: {relations: {stock: {path: "holdings[].stockId", to: stocks}}}
`)
	s.Put("exchanges", "x", `{"id":"x","city":"Zurich"}`)
	s.Put("stocks", "1", `{"id":"1","symbol":"zaza","open":1,"high":2,"low":0.5,"vol":11970000,"mkt-cap":42000000,"pe":5.89}`)
	s.Put("stocks", "2", `{"id":"2","symbol":"xcxc","exchange":"x","mkt-cap":1005000,"pe":75.82}`)
	s.Put("portfolios", "1", `{"id":"1","holdings":[{"numberHeld":100,"stockId":1},{"numberHeld":50,"stockId":2},{"numberHeld":1,"stockId":3},{"numberHeld":2,"stockId":1}]}`)
	const doc = `{"id":"1","holdings":[{"numberHeld":100,"stockId":1},{"numberHeld":50,"stockId":2},{"numberHeld":1,"stockId":3},{"numberHeld":2,"stockId":1}]`
	const first = `"1":{"id":"1","symbol":"zaza","open":1,"high":2,"low":0.5,"vol":11970000,"mkt-cap":42000000,"pe":5.89`
	const second = `"2":{"id":"2","symbol":"xcxc","exchange":"x","mkt-cap":1005000,"pe":75.82`
	s.WantDoc("portfolios", "1", doc+`}`)
	harness.WantText(t, harness.Body(s, "/v1/portfolios/1?expand=stock"), doc+`,"_expanded":{"stock":{`+first+`},`+second+`}}}}`)
	harness.WantText(t, harness.Body(s, "/v1/portfolios/1?expand=stock.exchange"),
		doc+`,"_expanded":{"stock":{`+first+`,"_expanded":{"exchange":{}}},`+second+`,"_expanded":{"exchange":{"x":{"id":"x","city":"Zurich"}}}}}}}`)

	_, before := s.Changes("mode=all")
	s.Merge("stocks", "1", `{"pe":6}`)
	if rows, _ := s.Changes("mode=all&since=" + before); len(rows) != 1 {
		t.Fatalf("a quote made %d changes, want its own only", len(rows))
	}
}

func TestP06WeakLinks(t *testing.T) {
	s := harness.OpenTemp(t, `
collections:
  books: {relations: {publisher: {path: pub-id, to: publishers}}, derive: {publisherName: {copy: publisher, value: doc.name}}}
  publishers: {}
`)
	s.Put("books", "1", `{"id":"1","pub-id":"nobody"}`)
	s.WantDoc("books", "1", `{"id":"1","pub-id":"nobody"}`)
	s.Put("publishers", "nobody", `{"id":"nobody","name":"Now Here"}`)
	s.WantDoc("books", "1", `{"id":"1","pub-id":"nobody","publisherName":"Now Here"}`)
	s.Delete("publishers", "nobody")
	s.WantDoc("books", "1", `{"id":"1","pub-id":"nobody"}`)
}

func TestP07OneToMany(t *testing.T) {
	s := harness.OpenTemp(t, `
collections:
  publishers: {}
  books: {relations: {publisher: {path: pub-id, to: publishers}}}
`)
	s.Put("publishers", "mspress", `{"id":"mspress","name":"Microsoft Press"}`)
	s.Put("books", "9", `{"id":"9","name":"DocumentDB for C# developers","pub-id":"mspress"}`)
	s.Put("books", "1", `{"id":"1","name":"Azure Cosmos DB 101","pub-id":"mspress"}`)
	s.Put("books", "3", `{"id":"3","name":"Taking over the world one JSON doc at a time"}`)
	s.Put("books", "2", `{"id":"2","name":"Azure Cosmos DB for RDBMS Users","pub-id":"mspress"}`)
	s.WantDoc("publishers", "mspress", `{"id":"mspress","name":"Microsoft Press"}`)
	ids, next := harness.Items(t, s, "/v1/publishers/mspress/books?limit=2")
	harness.WantText(t, strings.Join(ids, " "), "9 1")
	s.Put("books", "4", `{"id":"4","pub-id":"mspress"}`) // a list under a reader's hands
	ids, next = harness.Items(t, s, "/v1/publishers/mspress/books?limit=2&cursor="+next)
	harness.WantText(t, strings.Join(ids, " "), "2 4")
	if next != "" {
		ids, next = harness.Items(t, s, "/v1/publishers/mspress/books?limit=2&cursor="+next)
	}
	if next != "" {
		t.Fatalf("another page after %v", ids)
	}
	s.Want(http.StatusNotFound, http.MethodGet, "/v1/publishers/gone/books", "")
}

func TestP08JoiningDocuments(t *testing.T) {
	s := harness.OpenTemp(t, `
collections:
  authors: {}
  books: {}
  writings:
    relations: {author: {path: authorId, to: authors}, book: {path: bookId, to: books}}
    derive: {authorName: {copy: author, value: doc.name}}
`)
	s.Put("authors", "a1", `{"id":"a1","name":"Thomas Andersen"}`)
	s.Put("authors", "a2", `{"id":"a2","name":"William Wakefield"}`)
	s.Put("books", "b1", `{"id":"b1","name":"Azure Cosmos DB 101"}`)
	s.Put("books", "b2", `{"id":"b2","name":"Azure Cosmos DB for RDBMS Users"}`)
	s.Put("writings", "w1", `{"id":"w1","authorId":"a1","bookId":"b1"}`)
	s.Put("writings", "w2", `{"id":"w2","authorId":"a2","bookId":"b1"}`)
	s.Put("writings", "w3", `{"id":"w3","authorId":"a1","bookId":"b2"}`)
	ids, _ := harness.Items(t, s, "/v1/books/b1/writings")
	harness.WantText(t, strings.Join(ids, " "), "w1 w2")
	ids, _ = harness.Items(t, s, "/v1/authors/a1/writings")
	harness.WantText(t, strings.Join(ids, " "), "w1 w3")
	harness.WantText(t, harness.Body(s, "/v1/writings/w2?expand=author,book"), `{"id":"w2","authorId":"a2","bookId":"b1","authorName":"William Wakefield",`+
		`"_expanded":{"author":{"a2":{"id":"a2","name":"William Wakefield"}},"book":{"b1":{"id":"b1","name":"Azure Cosmos DB 101"}}}}`)
}

func TestP09ManyToMany(t *testing.T) {
	s := harness.OpenTemp(t, `
collections:
  authors: {derive: {books: {ids: books.authors}}}
  books: {relations: {authors: {path: "authors[]", to: authors}}}
`)
	s.Put("authors", "a1", `{"id":"a1","name":"Thomas Andersen"}`)
	s.Put("authors", "a2", `{"id":"a2","name":"William Wakefield"}`)
	s.WantDoc("authors", "a1", `{"id":"a1","name":"Thomas Andersen","books":[]}`)
	s.Put("books", "b1", `{"id":"b1","name":"Azure Cosmos DB 101","authors":["a1","a2"]}`)
	s.Put("books", "b2", `{"id":"b2","name":"Azure Cosmos DB for RDBMS Users","authors":["a1"]}`)
	s.Put("books", "b3", `{"id":"b3","name":"Taking over the world one JSON doc at a time","authors":["a1"]}`)
	s.WantDoc("authors", "a1", `{"id":"a1","name":"Thomas Andersen","books":["b1","b2","b3"]}`)
	s.WantDoc("authors", "a2", `{"id":"a2","name":"William Wakefield","books":["b1"]}`)
	s.Merge("books", "b2", `{"authors":["a2"]}`)
	s.Delete("books", "b1")
	s.WantDoc("authors", "a1", `{"id":"a1","name":"Thomas Andersen","books":["b3"]}`)
	s.WantDoc("authors", "a2", `{"id":"a2","name":"William Wakefield","books":["b2"]}`)
}

const (
	thomas  = `{"id":"a1","firstName":"Thomas","lastName":"Andersen","images":[{"thumbnail":"http://t1.png"},{"profile":"http://p.png"},{"large":"http://l.png"}]}`
	william = `{"id":"a2","firstName":"William","lastName":"Wakefield","images":[{"profile":"http://p.png"},{"thumbnail":"http://t2.png"}]}`
)

func TestP10Hybrid(t *testing.T) {
	s := harness.OpenTemp(t, harness.Bookshop)
	s.Put("authors", "a1", thomas)
	s.Put("authors", "a2", william)
	s.Put("books", "b1", `{"id":"b1","name":"Azure Cosmos DB 101","authors":[{"id":"a1"},{"id":"a2"}]}`)
	s.Put("books", "b2", `{"id":"b2","authors":[{"id":"a1"}]}`)
	s.Put("books", "b3", `{"id":"b3","authors":[{"id":"a1"}]}`)
	s.WantDoc("authors", "a1", strings.TrimSuffix(thomas, "}")+`,"books":["b1","b2","b3"],"countOfBooks":3}`)
	s.WantDoc("books", "b1", `{"id":"b1","name":"Azure Cosmos DB 101","authors":[`+
		`{"id":"a1","name":"Thomas Andersen","thumbnailUrl":"http://t1.png"},`+
		`{"id":"a2","name":"William Wakefield","thumbnailUrl":"http://t2.png"}]}`)
}

func TestP11CopiedValueChanges(t *testing.T) {
	s := harness.OpenTemp(t, harness.Bookshop)
	s.Put("authors", "a1", thomas)
	s.Put("authors", "a2", william)
	s.Put("books", "b1", `{"id":"b1","authors":[{"id":"a1"},{"id":"a2"}]}`)
	s.Put("books", "b2", `{"id":"b2","authors":[{"id":"a1"}]}`)
	s.Put("books", "b3", `{"id":"b3","authors":[{"id":"a2"}]}`)
	tag := s.Want(http.StatusOK, http.MethodGet, "/v1/books/b2", "").Header.Get("ETag")
	_, before := s.Changes("mode=all")
	s.Merge("authors", "a1", `{"lastName":"Anders","images":[{"thumbnail":"http://new.png"}]}`)
	s.WantDoc("books", "b1", `{"id":"b1","authors":[{"id":"a1","name":"Thomas Anders","thumbnailUrl":"http://new.png"},{"id":"a2","name":"William Wakefield","thumbnailUrl":"http://t2.png"}]}`)
	s.WantDoc("books", "b2", `{"id":"b2","authors":[{"id":"a1","name":"Thomas Anders","thumbnailUrl":"http://new.png"}]}`)
	rows, _ := s.Changes("mode=all&since=" + before)
	if len(rows) != 3 || rows[1].ID != "b1" || rows[2].ID != "b2" {
		t.Fatalf("changes %+v, want the author, b1 and b2", rows)
	}
	harness.WantText(t, string(rows[2].Patch), `[{"op":"replace","path":"/authors/0/name","value":"Thomas Anders","old":"Thomas Andersen"},`+
		`{"op":"replace","path":"/authors/0/thumbnailUrl","value":"http://new.png","old":"http://t1.png"}]`)
	// A copy never makes a writer fail.
	s.Want(http.StatusNoContent, http.MethodPut, "/v1/books/b2", `{"id":"b2","authors":[{"id":"a2"}]}`, "If-Match", tag)
	s.WantDoc("books", "b2", `{"id":"b2","authors":[{"id":"a2","name":"William Wakefield","thumbnailUrl":"http://t2.png"}]}`)
}

func TestP12PreCalculated(t *testing.T) {
	s := harness.OpenTemp(t, harness.Bookshop)
	s.Put("authors", "a1", `{"id":"a1"}`)
	s.WantDoc("authors", "a1", `{"id":"a1","books":[],"countOfBooks":0}`)
	s.Put("books", "b1", `{"id":"b1","authors":[{"id":"a1"},{"id":"a1"}]}`)
	s.WantDoc("authors", "a1", `{"id":"a1","books":["b1"],"countOfBooks":1}`)
	s.Put("books", "b2", `{"id":"b2","authors":[{"id":"a1"}]}`)
	s.WantDoc("authors", "a1", `{"id":"a1","books":["b1","b2"],"countOfBooks":2}`)
	s.Put("books", "b1", `{"id":"b1","authors":[]}`)
	s.Delete("books", "b2")
	s.WantDoc("authors", "a1", `{"id":"a1","books":[],"countOfBooks":0}`)
	if rev := s.Want(http.StatusOK, http.MethodGet, "/v1/authors/a1", "").Header.Get("ETag"); !strings.HasPrefix(rev, `"2.`) {
		t.Fatalf("ETag %s: the count changed the author's revision", rev)
	}
}
