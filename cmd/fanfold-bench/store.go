package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"golang.org/x/sync/errgroup"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/client"
	"github.com/fanfold/fanfold/events"
	"github.com/fanfold/fanfold/events/embedded"
	"github.com/fanfold/fanfold/node"
	"github.com/fanfold/fanfold/projector/fold"
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

// fill makes the log in dir.
func (s benchStore) fill(ctx context.Context, dir string) (err error) {
	return withLog(ctx, filepath.Join(dir, "nats"), func(_ *nats.Conn, log *events.Log) error { return s.append(ctx, log) })
}

// withLog calls fn with a log of its own in dir. It is not synced, and its window for duplicates is short, so that it
// stands as one that is not new.
func withLog(ctx context.Context, dir string, fn func(nc *nats.Conn, log *events.Log) error) (err error) {
	logger := slog.New(slog.DiscardHandler)
	server, err := embedded.Start(ctx, embedded.Options{Dir: dir, Durability: embedded.Interval, Logger: logger})
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
	return fn(nc, log)
}

// append appends the model and every document.
func (s benchStore) append(ctx context.Context, log *events.Log) error {
	model := &fanfold.Event{Kind: fanfold.KindModel, Body: []byte(s.model), Fold: fold.LatestVersion}
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

// measure is what is done with a node and a client of it.
type measure func(ctx context.Context, n *node.Node, c *client.Client) error

// run fills a log in dir and runs fn on a node over it, once the node has folded it. change, if given, changes the node's configuration.
func (s benchStore) run(ctx context.Context, dir string, fn measure, change ...func(cfg *node.Config)) error {
	if err := s.fill(ctx, dir); err != nil {
		return err
	}
	n, err := open(ctx, dir, change...)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	var result error
	err = n.Run(ctx, func(ctx context.Context) error {
		defer cancel()
		last, err := n.Log.LastSeq(ctx)
		if err == nil {
			err = n.Store.Applied.Wait(ctx, last)
		}
		if err == nil {
			err = withClient(n.URL(), func(c *client.Client) error { return fn(ctx, n, c) })
		}
		result = err
		return nil
	})
	return errors.Join(result, err)
}

// leave does nothing with a node: processes of their own are to be started on its directory.
func leave(context.Context, *node.Node, *client.Client) error { return nil }

// runBesideRaw does what run does, with a log of its own for the limit's messages, which is not synced.
func (s benchStore) runBesideRaw(ctx context.Context, dir string, fn func(ctx context.Context, n *node.Node, raw rawLog) error) error {
	beside := filepath.Join(dir, "raw")
	return withLog(ctx, beside, func(nc *nats.Conn, _ *events.Log) error {
		raw := rawLog{conn: nc, dir: beside, subject: "fanfold.fanfold.doc.raw"}
		return s.run(ctx, filepath.Join(dir, "ours"), func(ctx context.Context, n *node.Node, _ *client.Client) error { return fn(ctx, n, raw) })
	})
}

// parallel calls fn for 0 to n-1 from many goroutines, and returns the first error.
func parallel(n int, fn func(i int) error) error {
	var group errgroup.Group
	group.SetLimit(32)
	for i := range n {
		group.Go(func() error { return fn(i) })
	}
	return group.Wait()
}

// scattered calls fn for 0 to n-1 in another order, until it returns an error.
func scattered(n int, fn func(i int) error) error {
	const step = 1_000_003 // a prime number, so that each i comes once where n is not a multiple of it
	return inOrder(n, func(i int) error { return fn(i * step % n) })
}

// inOrder calls fn for 0 to n-1, one after the other, until it returns an error.
func inOrder(n int, fn func(i int) error) error {
	for i := range n {
		if err := fn(i); err != nil {
			return err
		}
	}
	return nil
}

// load applies the model, and imports the documents over the API.
func (s benchStore) load(ctx context.Context, c *client.Client) error {
	return loadModel(ctx, c, s.model, func(w io.Writer) error {
		return s.putEach(func(collection string, _ int, body string) error { return writeLine(w, collection, body) }, inOrder)
	})
}

// writeLine writes a line of an import.
func writeLine(w io.Writer, collection, body string) error {
	_, err := fmt.Fprintf(w, "{\"collection\":%q,\"doc\":%s}\n", collection, body)
	return err
}

// loadModel applies a model, unless it is "", and imports what write writes. It returns once that is folded. An error says so where
// lines were refused.
func loadModel(ctx context.Context, c *client.Client, model string, write func(w io.Writer) error) error {
	if model != "" {
		if _, err := c.PutModel(ctx, []byte(model), client.ModelOptions{}); err != nil {
			return err
		}
	}
	in, out := io.Pipe()
	go func() {
		w := bufio.NewWriterSize(out, 1<<16)
		err := write(w)
		out.CloseWithError(errors.Join(err, w.Flush()))
	}()
	result, err := c.Import(ctx, in, client.ImportOptions{AllowFanout: true})
	_ = in.Close() // never fails; what writes then ends
	if err == nil && result.Refused > 0 {
		err = fmt.Errorf("%d lines were refused", result.Refused)
	}
	return err
}

// importBooks imports the texts of so many books, "" for none, in pieces of 10,000.
func importBooks(ctx context.Context, c *client.Client, count int, text func(i int) string) error {
	const piece = 10_000
	for from := 0; from < count; from += piece {
		var lines strings.Builder
		for i := from; i < min(from+piece, count); i++ {
			if line := text(i); line != "" {
				lines.WriteString(line + "\n")
			}
		}
		if _, err := c.Import(ctx, strings.NewReader(lines.String()), client.ImportOptions{Collection: "books"}); err != nil {
			return err
		}
	}
	return nil
}
