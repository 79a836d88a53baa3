package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/fanfold/fanfold/client"
	"github.com/fanfold/fanfold/cmd/fanfold-bench/internal/bench"
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
		err = withRawLog(ctx, filepath.Join(dir, "raw"), func(raw bench.RawLog) error {
			s := benchStore{model: benchModel, authors: benchAuthors, books: 10_000 / scale}
			return s.run(ctx, filepath.Join(dir, "ours"), func(ctx context.Context, n *node.Node) (err error) {
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
		err = s.run(ctx, dir, func(ctx context.Context, n *node.Node) error {
			c, err := connect(n.URL())
			if err != nil {
				return err
			}
			defer c.Close()
			began := time.Now()
			_, err = c.Import(ctx, bytes.NewReader(body), client.ImportOptions{Collection: "books"})
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
		c, err := connect(n.URL())
		if err != nil {
			return err
		}
		defer c.Close()
		if _, err := client.Collection[json.RawMessage](c, "posts").Put(ctx, "1", json.RawMessage(`{}`)); err != nil {
			return err
		}
		comments := client.Collection[json.RawMessage](c, "comments")
		r, err = bench.Comments(100_000/scale, func(id int) error {
			_, err := comments.Put(ctx, strconv.Itoa(id), json.RawMessage(comment(id)))
			return err
		}, func(from, to int) error {
			var lines strings.Builder
			for id := from; id < to; id++ {
				lines.WriteString(comment(id) + "\n")
			}
			_, err := c.Import(ctx, strings.NewReader(lines.String()), client.ImportOptions{Collection: "comments"})
			return err
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
		c, err := connect(n.URL())
		if err != nil {
			return err
		}
		defer c.Close()
		books := client.Collection[json.RawMessage](c, "books")
		write := func(ctx context.Context, writer, i int) error {
			body := fmt.Sprintf(`{"title":"Book %d of %d","authors":[{"id":"%d"}]}`, i, writer, i%1000)
			_, err := books.Put(ctx, strconv.Itoa((i*7919+writer)%s.books), json.RawMessage(body), patient)
			return err
		}
		r, err = bench.Model(ctx, write, func(ctx context.Context) (int64, float64, error) {
			background := true
			if _, err := c.ApplyModel(ctx, model, client.ModelOptions{Background: &background}); err != nil {
				return 0, 0, err
			}
			a := n.Projector.Status().Activated
			if a == nil {
				return 0, 0, errors.New("the model was not prepared beside the writes")
			}
			return a.Documents, a.Seconds, nil
		})
		return err
	})
	return r, err
}

// patient lets a write wait for its fold for a minute.
var patient = client.FoldWithin(time.Minute)

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
		c, err := connect(n.URL())
		if err != nil {
			return err
		}
		defer c.Close()
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
