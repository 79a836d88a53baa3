package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strconv"
	"time"

	"github.com/fanfold/fanfold/client"
	"github.com/fanfold/fanfold/cmd/fanfold-bench/internal/bench"
	"github.com/fanfold/fanfold/node"
)

// benchGet measures reads of embedded books.
func benchGet(ctx context.Context, dir string, scale int) (r bench.Result, err error) {
	books := 20_000 / scale
	s := benchStore{model: benchModel, authors: benchAuthors, books: books}
	err = s.run(ctx, dir, func(ctx context.Context, n *node.Node, _ *client.Client) error {
		r, err = bench.Get(ctx, n.Store, n.Addr(), 64, books)
		return err
	})
	return r, err
}

// benchPut measures writes over conns connections. The limit's messages go to a log of their own.
func benchPut(conns int) func(ctx context.Context, dir string, scale int) (bench.Result, error) {
	return func(ctx context.Context, dir string, scale int) (r bench.Result, err error) {
		err = withRawLog(ctx, filepath.Join(dir, "raw"), func(raw bench.RawLog) error {
			s := benchStore{model: benchModel, authors: benchAuthors, books: 10_000 / scale}
			return s.run(ctx, filepath.Join(dir, "ours"), func(ctx context.Context, n *node.Node, _ *client.Client) (err error) {
				r, err = bench.Put(ctx, n.Addr(), raw, conns)
				return err
			})
		})
		return r, err
	}
}

// benchImport measures POST /v1/_import into a new store each round.
func benchImport(ctx context.Context, dir string, scale int) (bench.Result, error) {
	roundDir := func(round int) string { return filepath.Join(dir, strconv.Itoa(round)) }
	load := func(ctx context.Context, dir string, body []byte) (took time.Duration, err error) {
		s := benchStore{model: benchModel, authors: benchAuthors}
		err = s.run(ctx, dir, func(ctx context.Context, _ *node.Node, c *client.Client) error {
			began := time.Now()
			_, err = c.Import(ctx, bytes.NewReader(body), client.ImportOptions{Collection: "books"})
			took = time.Since(began)
			return err
		})
		return took, err
	}
	return bench.Import(ctx, roundDir, 200_000/scale, load)
}

// patient lets a write wait for its fold for a minute.
var patient = client.FoldWithin(time.Minute)

// benchReplay measures the replay of a log by a process of its own.
func benchReplay(ctx context.Context, dir string, scale int) (bench.Result, error) {
	count := 200_000 / scale
	s := benchStore{model: replayModel, authors: benchAuthors, books: count - 2*benchAuthors - 1} // and one model
	return s.leave(ctx, dir, func() (bench.Result, error) { return bench.Replay(ctx, dir, count) })
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

// benchRename changes the name of document 0 of a collection; every book has a copy of it.
type benchRename struct {
	store      benchStore
	what       string // the result's name, up to the number of copies
	collection string
	copyPath   string // of the copy in a book, as SQLite's JSON functions take it
}

// run measures the rename on a node in dir.
func (b benchRename) run(ctx context.Context, dir string) (r bench.Result, err error) {
	err = b.store.run(ctx, dir, func(ctx context.Context, n *node.Node, c *client.Client) error {
		docs := client.Collection[json.RawMessage](c, b.collection)
		r, err = bench.Rename{
			Name:   fmt.Sprintf("%s %d copies", b.what, b.store.books),
			Path:   b.copyPath,
			Copies: b.store.books,
			Write: func(name string) error {
				body := `{"firstName":"` + name + `","name":"` + name + `"}`
				_, err := docs.Patch(ctx, "0", json.RawMessage(body), patient)
				return err
			},
		}.Run(ctx, n.Store, dir)
		return err
	})
	return r, err
}
