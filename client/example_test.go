package client_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"

	"github.com/fanfold/fanfold/client"
	"github.com/fanfold/fanfold/node"
)

// startServer starts a server in this process with a model, and returns its URL and what stops it.
func startServer(model string) (url string, stop func()) {
	dir, err := os.MkdirTemp("", "fanfold-example-")
	check(err)
	n, err := node.Open(context.Background(), node.Config{Data: dir, Listen: "127.0.0.1:0", Durability: "interval", Logger: slog.New(slog.DiscardHandler)})
	check(err)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- n.Run(ctx, nil) }()
	c, err := client.New(n.URL(), client.Options{})
	check(err)
	defer c.Close()
	_, err = c.PutModel(ctx, []byte(model), client.ModelOptions{})
	check(err)
	return n.URL(), func() {
		cancel()
		check(errors.Join(<-done, os.RemoveAll(dir)))
	}
}

// check ends an example that fails.
func check(err error) {
	if err != nil {
		panic(err)
	}
}

const shop = `
collections:
  authors:
    derive: { countOfBooks: { count: books.authors } }
  books:
    relations: { authors: { path: "authors[].id", to: authors } }
    derive: { "authors[].name": { copy: authors, value: "doc.name" } }
`

type Author struct {
	ID           string `json:"id"`
	Name         string `json:"name,omitempty"`
	CountOfBooks int    `json:"countOfBooks,omitempty"`
}

type Book struct {
	ID      string   `json:"id,omitempty"`
	Title   string   `json:"title"`
	Authors []Author `json:"authors"`
}

func Example() {
	url, stop := startServer(shop)
	defer stop()
	ctx := context.Background()
	c, err := client.New(url, client.Options{})
	check(err)
	defer c.Close()
	books, authors := client.Collection[Book](c, "books"), client.Collection[Author](c, "authors")

	_, err = books.Put(ctx, "b1", Book{Title: "The Gilded Age", Authors: []Author{{ID: "a1"}}})
	check(err)
	_, err = authors.Put(ctx, "a1", Author{ID: "a1", Name: "Samuel Clemens"})
	check(err)
	written, err := authors.Patch(ctx, "a1", map[string]any{"name": "Mark Twain"}) // one write: every copy is right
	check(err)
	fmt.Println("copies made right:", written.Derived)

	book, err := books.Get(ctx, "b1")
	check(err)
	fmt.Println(book.Value.Title, "by", book.Value.Authors[0].Name)

	// A copy does not get in a writer's way; another write does.
	book.Value.Title = "The Gilded Age: A Tale of Today"
	_, err = books.Put(ctx, "b1", book.Value, client.IfMatch(book.ETag))
	check(err)
	_, err = books.Put(ctx, "b1", book.Value, client.IfMatch(book.ETag))
	fmt.Println("stale:", errors.Is(err, client.Stale))
	// Output:
	// copies made right: 1
	// The Gilded Age by Mark Twain
	// stale: true
}

func ExampleClient_Transact() {
	url, stop := startServer(shop)
	defer stop()
	ctx := context.Background()
	c, err := client.New(url, client.Options{})
	check(err)
	defer c.Close()

	_, err = c.Transact(ctx, []client.Operation{
		client.Put("authors", "a1", Author{ID: "a1", Name: "Charles Dudley Warner"}).IfAbsent(),
		client.Put("books", "b1", Book{Title: "The Gilded Age", Authors: []Author{{ID: "a1"}}}),
		client.Check("authors", "a2").IfExists(),
	})
	var failure *client.Error
	if errors.As(err, &failure) && failure.Code == client.Stale {
		fmt.Println("nothing was written, because of operation", *failure.Operation)
	}
	_, err = client.Collection[Book](c, "books").Get(ctx, "b1")
	fmt.Println("not found:", errors.Is(err, client.NotFound))
	// Output:
	// nothing was written, because of operation 2
	// not found: true
}

func ExampleClient_Changes() {
	url, stop := startServer(shop)
	defer stop()
	ctx := context.Background()
	c, err := client.New(url, client.Options{})
	check(err)
	defer c.Close()
	_, err = client.Collection[Book](c, "books").Put(ctx, "b1", Book{Title: "The Gilded Age", Authors: []Author{{ID: "a1"}}})
	check(err)
	_, err = client.Collection[Author](c, "authors").Put(ctx, "a1", Author{ID: "a1", Name: "Mark Twain"})
	check(err)

	saved := "0" // a consumer keeps the position of what it has handled, and goes on after it
	for change, err := range c.Changes(ctx, client.ChangesOptions{Since: saved, Collections: []string{"books"}, IncludeDocs: true}) {
		check(err)
		book, err := client.Decode[Book](change.Doc)
		check(err)
		fmt.Println(change.Op, change.ID, book.Authors[0].Name)
		saved = change.Seq
		break // a real one goes on
	}
	for change, err := range c.Changes(ctx, client.ChangesOptions{Since: saved, Once: true}) {
		fmt.Println("there is more:", change.ID, err)
	}
	// Output:
	// derive b1 Mark Twain
}

func ExampleClient_Diff() {
	url, stop := startServer(shop)
	defer stop()
	ctx := context.Background()
	c, err := client.New(url, client.Options{})
	check(err)
	defer c.Close()
	books := client.Collection[Book](c, "books")
	_, err = books.Put(ctx, "b1", Book{Title: "The Gilded Age"})
	check(err)
	before, err := books.Get(ctx, "b1")
	check(err)
	_, err = books.Put(ctx, "b1", Book{Title: "The Gilded Cage"})
	check(err)

	for d, err := range c.Diff(ctx, client.DiffOptions{From: before.Position}) {
		check(err)
		fmt.Println(d.Op, d.ID, string(d.Patch))
	}
	_, err = books.Revert(ctx, "b1", before.Position)
	check(err)
	book, err := books.Get(ctx, "b1")
	check(err)
	fmt.Println(book.Value.Title)
	// Output:
	// change b1 [{"op":"replace","path":"/title","value":"The Gilded Cage","old":"The Gilded Age"}]
	// The Gilded Age
}

func ExampleCollection_rawJSON() {
	url, stop := startServer(shop)
	defer stop()
	ctx := context.Background()
	c, err := client.New(url, client.Options{})
	check(err)
	defer c.Close()

	readings := client.Collection[json.RawMessage](c, "readings")
	_, err = readings.Put(ctx, "1", json.RawMessage(`{"id":1, "value":2.50, "exact":12345678901234567890}`))
	check(err)
	doc, err := readings.Get(ctx, "1")
	check(err)
	fmt.Println(string(doc.Value))
	// Output:
	// {"id":1,"value":2.50,"exact":12345678901234567890}
}

func ExampleDocuments_Query() {
	url, stop := startServer(`collections: {books: {indexes: {byYear: [-year]}}}`)
	defer stop()
	ctx := context.Background()
	c, err := client.New(url, client.Options{})
	check(err)
	defer c.Close()
	type volume struct {
		Title string `json:"title"`
		Year  int    `json:"year"`
	}
	books := client.Collection[volume](c, "books")
	for i := range 5 {
		_, err = books.Put(ctx, fmt.Sprintf("b%d", i), volume{Title: fmt.Sprintf("Volume %d", i), Year: 2000 + i})
		check(err)
	}
	q := client.Query{Filter: "doc.year > params.since", Params: map[string]any{"since": 2002}, Sort: []string{"-year"}}
	for book, err := range books.Query(ctx, q) {
		check(err)
		fmt.Println(book.ID, book.Value.Title)
	}
	n, err := books.Count(ctx, q)
	check(err)
	for group, err := range books.Group(ctx, client.Query{}, nil, []string{"count", "min(year)"}) {
		check(err)
		fmt.Println(n, string(group.Values))
	}
	// Output:
	// b4 Volume 4
	// b3 Volume 3
	// 2 {"count":5,"min(year)":2000}
}

func ExampleDocuments_List() {
	url, stop := startServer(shop)
	defer stop()
	ctx := context.Background()
	c, err := client.New(url, client.Options{})
	check(err)
	defer c.Close()
	books := client.Collection[Book](c, "books")
	for i := range 3 {
		_, err = books.Put(ctx, fmt.Sprintf("b%d", i), Book{Title: fmt.Sprintf("Volume %d", i), Authors: []Author{{ID: "a1"}}})
		check(err)
	}
	for book, err := range books.List(ctx, client.PageSize(2)) {
		check(err)
		fmt.Println(book.ID, book.Value.Title)
	}
	// Output:
	// b0 Volume 0
	// b1 Volume 1
	// b2 Volume 2
}

func ExampleDocuments_History() {
	url, stop := startServer(shop)
	defer stop()
	ctx := context.Background()
	c, err := client.New(url, client.Options{})
	check(err)
	defer c.Close()
	authors := client.Collection[Author](c, "authors")
	_, err = authors.Put(ctx, "a1", Author{ID: "a1", Name: "Samuel Clemens"})
	check(err)
	written, err := authors.Patch(ctx, "a1", map[string]any{"name": "Mark Twain"})
	check(err)
	_, err = authors.Delete(ctx, "a1")
	check(err)

	for version, err := range authors.History(ctx, "a1", client.HistoryOptions{}) { // the newest first
		check(err)
		fmt.Printf("%s %q\n", version.Op, version.Value.Name)
	}
	then, err := authors.Get(ctx, "a1", client.AsOf(written.Position))
	check(err)
	fmt.Println("then:", then.Value.Name)
	// Output:
	// delete ""
	// patch "Mark Twain"
	// create "Samuel Clemens"
	// then: Mark Twain
}
