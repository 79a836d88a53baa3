package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/client"
	"github.com/fanfold/fanfold/internal/modelfile"
)

// tour loads the bookshop and tells what happens. Everything goes through the HTTP API.
type tour struct {
	server *remote
	client *client.Client
	out    io.Writer
}

// newTour returns a tour of the server at a URL that prints to out.
func newTour(base string, out io.Writer) *tour {
	return &tour{server: &remote{server: base}, out: out}
}

// say prints a line.
func (t *tour) say(format string, args ...any) { fmt.Fprintf(t.out, format+"\n", args...) }

// run takes the tour, up to what to try afterwards.
func (t *tour) run(ctx context.Context) (err error) {
	if t.client, err = t.server.connect(); err != nil {
		return err
	}
	defer t.server.close()
	for _, step := range []func(context.Context) error{t.load, t.before, t.rename, t.publish, t.ask, t.verify} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	return nil
}

// authors returns the authors, as they are.
func (t *tour) authors() *client.Documents[json.RawMessage] {
	return client.Collection[json.RawMessage](t.client, "authors")
}

// books returns the books with the members that the tour reads.
func (t *tour) books() *client.Documents[demoBook] {
	return client.Collection[demoBook](t.client, "books")
}

// demoCollections lists the collections in the order in which the tour names them.
var demoCollections = []string{"books", "authors", "publishers", "shelves", "reviews", "stocks", "portfolios"}

// load applies the model and then imports all documents. Books come before their authors: the order does not matter.
func (t *tour) load(ctx context.Context) error {
	model, err := demoFiles.ReadFile("demo/model.yaml")
	if err != nil {
		return err
	}
	if _, err := t.client.PutModel(ctx, model, client.ModelOptions{}); err != nil {
		return err
	}
	m, err := modelfile.Parse(model)
	if err != nil {
		return err
	}
	began, total := time.Now(), 0
	var counts []string
	for _, collection := range demoCollections {
		n, err := t.loadFile(ctx, collection)
		if err != nil {
			return err
		}
		counts, total = append(counts, fmt.Sprintf("%d %s", n, collection)), total+n
	}
	took := time.Since(began).Seconds()
	t.say("\n1. Loaded\n\n   %s:", strings.Join(counts, ", "))
	t.say("   %d documents in %.2f s (%.0f a second), each on disk before it was answered.",
		total, took, float64(total)/took)
	t.say("   The model declares %d derived fields.", len(m.Rules))
	return nil
}

// loadFile imports the documents of one collection and returns how many there are.
func (t *tour) loadFile(ctx context.Context, collection string) (n int, err error) {
	text, err := demoFiles.ReadFile("demo/" + collection + ".ndjson")
	if err != nil {
		return 0, err
	}
	im := &importer{client: t.client, collection: collection, stderr: io.Discard}
	result, err := im.send(ctx, &source{raw: true}, func(w io.Writer) error {
		_, err := w.Write(text)
		return err
	}, 0)
	if err == nil && result.Refused > 0 {
		err = fmt.Errorf("%d lines of %s.ndjson were refused", result.Refused, collection)
	}
	return result.Written, err
}

// The author whose story the tour tells.
const (
	heroID   = "samuel-clemens"
	heroPath = "/v1/authors/" + heroID
	heroBook = "huckleberry-finn"
	bookPath = "/v1/books/" + heroBook
	penName  = `{"firstName":"Mark","lastName":"Twain"}`
)

// before shows the author before anything is changed.
func (t *tour) before(ctx context.Context) error {
	hero, err := t.authors().Get(ctx, heroID)
	if err != nil {
		return err
	}
	t.say("\n2. An author: countOfBooks and books are the store's, nobody wrote them\n")
	t.say("   GET %s\n%s", heroPath, layout(hero.Value, "   "))
	return nil
}

// demoBook has the members of a book that the tour reads.
type demoBook struct {
	Title   string
	Year    int
	Authors []struct{ ID, Name string }
}

// heroName returns the copy of the hero's name that stands on the book.
func (b *demoBook) heroName() string {
	for _, a := range b.Authors {
		if a.ID == heroID {
			return a.Name
		}
	}
	return "none"
}

// heroBooks returns the hero's books, oldest first; the list is in order of creation.
func (t *tour) heroBooks(ctx context.Context) (books []demoBook, err error) {
	for book, err := range t.books().Referring(ctx, "authors", heroID) {
		if err != nil {
			return nil, err
		}
		books = append(books, book.Value)
	}
	slices.SortFunc(books, func(a, b demoBook) int { return a.Year - b.Year })
	return books, nil
}

// rename shows what the product is for: one write, and every copy is right.
func (t *tour) rename(ctx context.Context) error {
	book, err := t.books().Get(ctx, heroBook)
	if err != nil {
		return err
	}
	old, err := t.heroBooks(ctx)
	if err != nil {
		return err
	}
	since, began := t.client.Position(), time.Now()
	if _, err := t.authors().Patch(ctx, heroID, json.RawMessage(penName)); err != nil {
		return err
	}
	took := time.Since(began)
	now, err := t.heroBooks(ctx)
	if err != nil {
		return err
	}
	if len(now) != len(old) {
		return fmt.Errorf("the author had %d books before the rename and has %d after it", len(old), len(now))
	}
	t.say("\n3. He takes a pen name: one write, to the author alone\n\n   PATCH %s  %s", heroPath, penName)
	t.say("\n   Answered after %s; these books show it, and no reader ever saw some old and some new:\n",
		took.Round(100*time.Microsecond))
	for i := range now {
		t.say("   %-46s %d  %s -> %s", now[i].Title, now[i].Year, old[i].heroName(), now[i].heroName())
	}
	if err := t.feed(ctx, since); err != nil {
		return err
	}
	return t.revision(ctx, book)
}

// feed shows the rows of the change feed since a position: the first few and the last.
func (t *tour) feed(ctx context.Context, since string) error {
	var rows []string
	for change, err := range t.client.Changes(ctx, client.ChangesOptions{Since: since, Mode: client.All, Once: true}) {
		if err != nil {
			return err
		}
		rows = append(rows, wrap(changeStyle{}.line(change), "   "))
	}
	t.say("\n   The change feed has a row for each document, the last a shelf that copies from the books:\n")
	const first = 3
	for i, row := range rows {
		switch {
		case i < first || i == len(rows)-1:
			t.say("%s", row)
		case i == first:
			t.say("   ... %d more ...", len(rows)-first-1)
		}
	}
	return nil
}

// revision shows that the book's writers do not fail because a copy on it has changed.
func (t *tour) revision(ctx context.Context, old *client.Document[demoBook]) error {
	now, err := t.books().Get(ctx, heroBook)
	if err != nil {
		return err
	}
	t.say("\n   Nobody wrote to the book itself: its ETag is new for caches, its revision the old for writers.\n")
	t.say("   %s", bookPath)
	t.say("   revision  %d -> %d", old.Revision, now.Revision)
	t.say("   ETag      %s -> %s", old.ETag, now.ETag)
	if _, err := t.books().Patch(ctx, heroBook, json.RawMessage(`{"shelfmark":"PS1305"}`), client.IfMatch(old.ETag)); err != nil {
		return err
	}
	t.say("   PATCH with If-Match: %s, read before the rename, is still accepted.", old.ETag)
	return nil
}

// newBook is a book that the shop does not have yet.
const newBook = `{"id":"following-the-equator","title":"Following the Equator","year":1897,"language":"en",
    "pub-id":"american-publishing","authors":[{"id":"samuel-clemens"}]}`

// publish shows counts that follow a write.
func (t *tour) publish(ctx context.Context) error {
	before, err := t.counts(ctx)
	if err != nil {
		return err
	}
	if _, err := client.Collection[json.RawMessage](t.client, "books").Create(ctx, json.RawMessage(newBook)); err != nil {
		return err
	}
	after, err := t.counts(ctx)
	if err != nil {
		return err
	}
	t.say("\n4. A new book: the counts are made at the write, a read computes nothing\n")
	t.say("   POST /v1/books\n   %s\n", newBook)
	t.say("   countOfBooks of the author     %d -> %d", before[0], after[0])
	t.say("   countOfBooks of the publisher  %d -> %d", before[1], after[1])
	return nil
}

// counts returns countOfBooks of the hero and of the new book's publisher.
func (t *tour) counts(ctx context.Context) (counts [2]int, err error) {
	for i, key := range []fanfold.Key{{Collection: "authors", ID: heroID}, {Collection: "publishers", ID: "american-publishing"}} {
		doc, err := client.Collection[struct{ CountOfBooks int }](t.client, key.Collection).Get(ctx, key.ID)
		if err != nil {
			return counts, err
		}
		counts[i] = doc.Value.CountOfBooks
	}
	return counts, nil
}

// ask shows that the new name finds the books, and what that took.
func (t *tour) ask(ctx context.Context) error {
	const filter = "doc.authors.exists(a, a.name == params.name)"
	q := client.Query{Filter: filter, Params: map[string]string{"name": "Mark Twain"}, Sort: []string{"-year"}, Limit: 3}
	t.say("\n5. Asked: the new name finds the books, for a copy can be indexed like any other member\n")
	t.say("   POST /v1/books/_query\n   {\"filter\":%q,\n    \"params\":{\"name\":\"Mark Twain\"},\"sort\":[\"-year\"],\"limit\":3}\n", filter)
	books, _, err := t.books().QueryPage(ctx, q, "")
	if err != nil {
		return err
	}
	for _, b := range books {
		t.say("   %-46s %d", b.Value.Title, b.Value.Year)
	}
	plan, err := t.books().Explain(ctx, q, nil, nil)
	if err != nil {
		return err
	}
	t.say("\n   \"explain\": by index %s, which gives the order, %d documents were looked at.", plan.Index, plan.Documents)
	return nil
}

// verify has the store compare every copy with where it came from.
func (t *tour) verify(ctx context.Context) error {
	v, err := t.server.verify(ctx)
	if err != nil {
		return err
	}
	if len(v.Wrong) > 0 {
		return fmt.Errorf("verify found wrong values: %v", v.Wrong)
	}
	t.say("\n6. Verified: everything derived in %d documents was computed anew, and nothing is wrong.", v.Documents)
	return nil
}

// demoCommands has what to try, each with a title; SERVER stands for the server's URL.
var demoCommands = []struct{ title, lines string }{
	{"Mary Ann Evans becomes George Eliot, on every book and on the shelf that copies from one", `curl -sw '%{http_code}\n' -X PATCH SERVER/v1/authors/mary-ann-evans \
  -H 'Content-Type: application/merge-patch+json' -d '{"firstName":"George","lastName":"Eliot"}'
curl -sw '\n' SERVER/v1/shelves/pen-names`},
	{"A book with its copies and counts, and as somebody wrote it", `curl -sw '\n' SERVER/v1/books/gilded-age
curl -sw '\n' 'SERVER/v1/books/gilded-age?view=referenced'`},
	{"A portfolio that only refers to its stocks, with their quotes, in one request",
		`curl -sw '\n' 'SERVER/v1/portfolios/1?expand=stock'`},
	{"A publisher goes; the book keeps the name it had (onDelete: keep)", `curl -sw '%{http_code}\n' -X DELETE SERVER/v1/publishers/newby
curl -sw '\n' SERVER/v1/books/wuthering-heights`},
	{"Every change of a shelf so far, with its cause",
		`curl -sw '\n' 'SERVER/v1/_changes?since=0&mode=all&collections=shelves'`},
	{"How many books there are in each language, the most first", `curl -sw '\n' 'SERVER/v1/books?group=language&sort=-count'`},
	{"The model", `curl -sw '\n' SERVER/v1/_model`},
}

// commands prints what to try while the server is up.
func (t *tour) commands() {
	t.say("\nNow try, in another terminal:")
	for _, c := range demoCommands {
		text := strings.ReplaceAll(c.title+":\n"+c.lines, "SERVER", t.server.server)
		t.say("\n   %s", strings.ReplaceAll(text, "\n", "\n   "))
	}
	t.say("\n   The change feed, as it goes on:\n   %s changes --server %s", invocation(), t.server.server)
	t.say("\n   Replay all events, and check everything derived:\n   %[1]s replay --server %[2]s\n   %[1]s verify --server %[2]s",
		invocation(), t.server.server)
	t.say("\n   A store of your own:\n   %s serve --data ./fanfold-data", invocation())
	t.say("\n   In a checkout, the whole stack with Docker, and all tests:\n   docker compose up --build\n   go test ./...")
	t.say("\nPress Ctrl-C to stop.")
}

// end prints how to go on after a tour whose server ends with it. The directory of its store is kept, or "".
func (t *tour) end(dir string) {
	if dir == "" {
		t.say("\nThe server ends here. Without --once it stays up, with commands to try:\n\n   %s demo", invocation())
		return
	}
	t.say("\nThe server ends here. Its store is kept, and can be served:\n\n   %s serve --data %s", invocation(), shellWord(dir))
}
