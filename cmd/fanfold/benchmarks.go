package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/fanfold/fanfold/cmd/fanfold/internal/bench"
	"github.com/fanfold/fanfold/events"
	"github.com/fanfold/fanfold/node"
)

// benchGet measures reads of embedded books.
func benchGet(ctx context.Context, dir string, scale int) (r bench.Result, err error) {
	books := 20_000 / scale
	s := benchStore{model: benchModel, authors: benchAuthors, books: books}
	err = s.run(ctx, dir, func(ctx context.Context, n *node.Node) error {
		r, err = bench.Get(ctx, n.Store, n.Addr(), 64, books)
		return err
	})
	return r, err
}

// benchPut measures writes over conns connections. The limit's messages go to a log of their own.
func benchPut(conns int) func(ctx context.Context, dir string, scale int) (bench.Result, error) {
	return func(ctx context.Context, dir string, scale int) (r bench.Result, err error) {
		logger, rawDir := slog.New(slog.DiscardHandler), filepath.Join(dir, "raw")
		server, err := events.StartEmbedded(ctx, events.EmbeddedOptions{Dir: rawDir, Durability: events.Interval, Logger: logger})
		if err != nil {
			return r, err
		}
		defer func() { err = errors.Join(err, server.Close()) }()
		nc, err := server.Connect()
		if err != nil {
			return r, err
		}
		defer nc.Close()
		if _, err := events.Open(ctx, nc, events.Options{Logger: logger}); err != nil {
			return r, err
		}
		s := benchStore{model: benchModel, authors: benchAuthors, books: 10_000 / scale}
		err = s.run(ctx, filepath.Join(dir, "ours"), func(ctx context.Context, n *node.Node) error {
			r, err = bench.Put(ctx, n.Addr(), bench.RawLog{Conn: nc, Dir: rawDir, Subject: "fanfold.fanfold.doc.raw"}, conns)
			return err
		})
		return r, err
	}
}

// benchImport measures POST /v1/_import into a new store each round.
func benchImport(ctx context.Context, dir string, scale int) (bench.Result, error) {
	roundDir := func(round int) string { return filepath.Join(dir, strconv.Itoa(round)) }
	load := func(ctx context.Context, dir string, body []byte) (took time.Duration, err error) {
		s := benchStore{model: benchModel, authors: benchAuthors}
		err = s.run(ctx, dir, func(ctx context.Context, n *node.Node) error {
			c := &client{server: n.URL()}
			ndjson := header{"Content-Type": "application/x-ndjson"}
			began := time.Now()
			_, err := c.send(ctx, http.MethodPost, "/v1/_import?collection=books", bytes.NewReader(body), ndjson)
			took = time.Since(began)
			return err
		})
		return took, err
	}
	return bench.Import(ctx, roundDir, 200_000/scale, load)
}

// benchComments measures writes of comments on a post that has more and more of them.
func benchComments(ctx context.Context, dir string, scale int) (r bench.Result, err error) {
	comment := func(id int) string {
		return fmt.Sprintf(`{"id":"%d","post":"1","text":"comment no. %d","stars":%d.5}`, id, id, id%5)
	}
	err = benchStore{model: commentsModel}.run(ctx, dir, func(ctx context.Context, n *node.Node) error {
		c := &client{server: n.URL()}
		send := func(method, path, mediaType, body string) error {
			_, err := c.send(ctx, method, path, strings.NewReader(body), contentType(mediaType))
			return err
		}
		if err := send(http.MethodPut, "/v1/posts/1", "application/json", `{}`); err != nil {
			return err
		}
		r, err = bench.Comments(100_000/scale, func(id int) error {
			return send(http.MethodPut, "/v1/comments/"+strconv.Itoa(id), "application/json", comment(id))
		}, func(from, to int) error {
			var lines strings.Builder
			for id := from; id < to; id++ {
				lines.WriteString(comment(id) + "\n")
			}
			return send(http.MethodPost, "/v1/_import?collection=comments", "application/x-ndjson", lines.String())
		})
		return err
	})
	return r, err
}

// benchModelChange measures a model that gives a million books copies, and their authors a count.
func benchModelChange(ctx context.Context, dir string, scale int) (r bench.Result, err error) {
	const before = `{"collections":{"authors":{},"books":{"relations":{"authors":{"path":"authors[].id","to":"authors"}}}}}`
	const count = `"authors":{"derive":{"countOfBooks":{"count":"books.authors"}}},`
	model := []byte(strings.Replace(benchModel, `"authors":{},`, count, 1))
	s := benchStore{model: before, authors: benchAuthors, books: 1_000_000 / scale}
	err = s.run(ctx, dir, func(ctx context.Context, n *node.Node) error {
		c := &client{server: n.URL()}
		write := func(ctx context.Context, client, i int) error {
			path := fmt.Sprintf("/v1/books/%d", (i*7919+client)%s.books)
			body := fmt.Sprintf(`{"title":"Book %d of %d","authors":[{"id":"%d"}]}`, i, client, i%1000)
			return c.sendPatient(ctx, http.MethodPut, path, "application/json", body)
		}
		r, err = bench.Model(ctx, write, func(ctx context.Context) (int64, float64, error) {
			if _, err := c.putModel(ctx, model, url.Values{"background": {"true"}}); err != nil {
				return 0, 0, err
			}
			a, err := c.followModel(ctx, model)
			if err != nil {
				return 0, 0, err
			}
			return a.Documents, a.Seconds, nil
		})
		return err
	})
	return r, err
}

// sendPatient sends a write that may wait for its fold for a minute.
func (c *client) sendPatient(ctx context.Context, method, path, mediaType, body string) error {
	h := header{"Content-Type": mediaType, "Fanfold-Timeout": "60"}
	_, err := c.send(ctx, method, path, strings.NewReader(body), h)
	return err
}

// benchReplay measures the replay of a log by a process of its own.
func benchReplay(ctx context.Context, dir string, scale int) (r bench.Result, err error) {
	count := 200_000 / scale
	s := benchStore{model: replayModel, authors: benchAuthors, books: count - 2*benchAuthors - 1} // and one model
	if err := s.run(ctx, dir, func(context.Context, *node.Node) error { return nil }); err != nil {
		return r, err
	}
	self, err := os.Executable()
	if err != nil {
		return r, err
	}
	return bench.Replay(ctx, self, dir, count)
}

// benchRenameAuthor renames the second author of every book, the first being one of a thousand others: a copy in an
// array, which is folded document by document.
func benchRenameAuthor(ctx context.Context, dir string, scale int) (bench.Result, error) {
	same := func(int) int { return 0 }
	return benchRename{
		store:      benchStore{model: benchModel, authors: benchAuthors, books: 100_000 / scale, secondAuthor: same},
		what:       "rename of an author with",
		collection: "authors",
		copyPath:   "$.authors[1].name",
	}.run(ctx, dir)
}

// benchRenamePublisher renames the publisher of every book: one member of each, which is folded by set-oriented SQL.
func benchRenamePublisher(ctx context.Context, dir string, scale int) (bench.Result, error) {
	same := func(int) int { return 0 }
	return benchRename{
		store: benchStore{model: publisherModel, authors: benchAuthors, books: 100_000 / scale,
			secondAuthor: same, publisher: same},
		what:       "rename of a publisher with",
		collection: "publishers",
		copyPath:   "$.publisherName",
	}.run(ctx, dir)
}

// benchRename changes the name of document 0 of a collection, of which every book has a copy.
type benchRename struct {
	store      benchStore
	what       string // the result's name, up to the number of copies
	collection string
	copyPath   string // of the copy in a book, as SQLite's JSON functions take it
}

// run measures the rename on a node in dir.
func (b benchRename) run(ctx context.Context, dir string) (r bench.Result, err error) {
	err = b.store.run(ctx, dir, func(ctx context.Context, n *node.Node) error {
		c := &client{server: n.URL()}
		r, err = bench.Rename{
			Name:   fmt.Sprintf("%s %d copies", b.what, b.store.books),
			Path:   b.copyPath,
			Copies: b.store.books,
			Write: func(name string) error {
				body := `{"firstName":"` + name + `","name":"` + name + `"}`
				return c.sendPatient(ctx, http.MethodPatch, "/v1/"+b.collection+"/0", "application/merge-patch+json", body)
			},
		}.Run(ctx, n.Store, dir)
		return err
	})
	return r, err
}
