package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/events"
	"github.com/fanfold/fanfold/events/embedded"
	"github.com/fanfold/fanfold/node"
)

// benchModel gives books the names of their authors.
const benchModel = `{"collections":{"authors":{},"books":{
"relations":{"authors":{"path":"authors[].id","to":"authors"}},
"derive":{"authors[].name":{"copy":"authors","value":"doc.firstName + ' ' + doc.lastName"}}}}}`

// replayModel has two relations and a count.
const replayModel = `{"collections":{"authors":{"derive":{"countOfBooks":{"count":"books.authors"}}},"publishers":{},"books":{
"relations":{"authors":{"path":"authors[].id","to":"authors"},"publisher":{"path":"pub","to":"publishers"}}}}}`

// publisherModel gives books the name of their publisher.
const publisherModel = `{"collections":{"authors":{},"publishers":{},"books":{
"relations":{"authors":{"path":"authors[].id","to":"authors"},"publisher":{"path":"pub","to":"publishers"}},
"derive":{"publisherName":{"copy":"publisher","value":"doc.name"}}}}}`

// commentsModel gives a post its newest comments, their count and a mean, and keeps them in pages.
const commentsModel = `{"collections":{"posts":{"derive":{
"recent":{"recent":"comments.post","max":3,"fields":["id","text"]},"n":{"count":"comments.post"},
"stars":{"avg":"comments.post","of":"stars"}}},
"comments":{"relations":{"post":{"path":"post","to":"posts"}},"pages":{"by":"post","size":100}}}}`

// benchAuthors is how many authors a store has, and how many publishers where its model has them.
const benchAuthors = 1000

// benchStore says what a log that is to be measured holds: its model, authors, and books with two authors each.
type benchStore struct {
	model        string
	authors      int
	books        int
	secondAuthor func(book int) int // default: another one for each book
	publisher    func(book int) int // the same
	text         func(i int) string // of a book; default book
	oneBook      bool               // all texts of books are of the first
}

// fill makes the log in dir. It is not synced while it is filled, and its window for duplicates is short, so that it
// stands as one that is not new.
func (s benchStore) fill(ctx context.Context, dir string) (err error) {
	logger := slog.New(slog.DiscardHandler)
	server, err := embedded.Start(ctx, embedded.Options{Dir: filepath.Join(dir, "nats"), Durability: embedded.Interval, Logger: logger})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, server.Close()) }()
	nc, err := server.Connect()
	if err != nil {
		return err
	}
	defer nc.Close()
	log, err := events.Open(ctx, nc, events.Options{Embedded: server, Window: 100 * time.Millisecond, Logger: logger})
	if err != nil {
		return err
	}
	model := &fanfold.Event{Kind: fanfold.KindModel, Body: []byte(s.model)}
	if _, err := log.Append(ctx, model, fanfold.Expect{}); err != nil {
		return err
	}
	return s.putEach(func(collection string, i int, body string) error {
		if s.oneBook && collection == "books" {
			i = 0
		}
		key := fanfold.Key{Collection: collection, ID: strconv.Itoa(i)}
		_, err := log.Append(ctx, &fanfold.Event{Kind: fanfold.KindPut, Key: key, Body: []byte(body)}, fanfold.Expect{})
		return err
	}, parallel)
}

// putEach calls put for every document, publishers and authors before books, as repeat does, which is called with a number
// and a function for 0 up to it.
func (s benchStore) putEach(put func(collection string, i int, body string) error, repeat func(n int, fn func(i int) error) error) error {
	if strings.Contains(s.model, `"publishers"`) {
		err := repeat(s.authors, func(i int) error {
			return put("publishers", i, fmt.Sprintf(`{"id":"%d","name":"Press %d"}`, i, i))
		})
		if err != nil {
			return err
		}
	}
	err := repeat(s.authors, func(i int) error {
		return put("authors", i, fmt.Sprintf(
			`{"id":"%d","firstName":"Ann%d","lastName":"Author","born":1900,"bio":"%0200d"}`, i, i, i))
	})
	if err != nil {
		return err
	}
	text := s.text
	if text == nil {
		text = s.book
	}
	return repeat(s.books, func(i int) error { return put("books", i, text(i)) })
}

// book returns the text of a book.
func (s benchStore) book(i int) string {
	second, publisher := (i+7)%s.authors, i/7%s.authors
	if s.secondAuthor != nil {
		second = s.secondAuthor(i)
	}
	if s.publisher != nil {
		publisher = s.publisher(i)
	}
	return fmt.Sprintf(`{"id":"%d","title":"The book that has the number %d","year":1984,"language":"en",`+
		`"authors":[{"id":"%d"},{"id":"%d"}],"pub":"%d","summary":"%0250d"}`, i, i, i%s.authors, second, publisher, i)
}

// run fills a log in dir and runs fn on a node over it, once the node has folded it.
func (s benchStore) run(ctx context.Context, dir string, fn func(ctx context.Context, n *node.Node) error) error {
	if err := s.fill(ctx, dir); err != nil {
		return err
	}
	n, err := openNode(ctx, dir)
	if err != nil {
		return err
	}
	return runFolded(ctx, n, fn)
}

// runFolded runs fn on a node, once the node has folded its log, and ends the node.
func runFolded(ctx context.Context, n *node.Node, fn func(ctx context.Context, n *node.Node) error) error {
	ctx, cancel := context.WithCancel(ctx)
	var result error
	err := n.Run(ctx, func(ctx context.Context) error {
		defer cancel()
		last, err := n.Log.LastSeq(ctx)
		if err == nil {
			err = n.Store.Applied.Wait(ctx, last)
		}
		if err == nil {
			err = fn(ctx, n)
		}
		result = err
		return nil
	})
	return errors.Join(result, err)
}

// parallelism is how many goroutines parallel uses.
const parallelism = 32

// parallel calls fn for 0 to n-1 from many goroutines, of which each ends at its first error, and returns the errors.
func parallel(n int, fn func(i int) error) error {
	var next atomic.Int64
	var mu sync.Mutex
	var wg sync.WaitGroup
	var failed error
	for range parallelism {
		wg.Go(func() {
			for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
				if err := fn(i); err != nil {
					mu.Lock()
					defer mu.Unlock()
					failed = errors.Join(failed, err)
					return
				}
			}
		})
	}
	wg.Wait()
	return failed
}
