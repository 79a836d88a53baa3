package main

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strconv"

	"github.com/fanfold/fanfold/client"
	"github.com/fanfold/fanfold/internal/jsondoc"
	"github.com/fanfold/fanfold/internal/sortkey"
	"github.com/fanfold/fanfold/node"
)

// queryBooks makes books for queries, of half a kilobyte. A book's k is a number of its own, in no order; its shelf is one of 20. All
// have the copy of one author's name.
type queryBooks int

func (n queryBooks) text(i int) string {
	return fmt.Sprintf(`{"id":"%d","k":%d,"shelf":%d,"a":%d,"author":"0","s":"the text that is number %d","summary":"%0360d"}`, i, i*7919%int(n), i%20, i%100, i, i)
}

// store returns a store of these books whose model has indexes.
func (n queryBooks) store(indexes string) benchStore {
	return benchStore{model: queryModel(indexes), authors: 1, books: int(n), text: n.text}
}

// queryModel has a copy of the author's name, and indexes.
func queryModel(indexes string) string {
	return `{"collections":{"authors":{},"books":{"relations":{"author":{"path":"author","to":"authors"}},` +
		`"derive":{"authorName":{"copy":"author","value":"doc.firstName"}},"indexes":{` + indexes + `}}}}`
}

// readIndexes are the indexes of the store that is read.
const readIndexes = `"byK":["k"],"byShelf":["shelf","k"],"onShelf":["shelf"]`

// scanned is how many documents a filter without an index looks at.
const scanned = 10_000

// queryReads measures lookups, pages, counts and groups by indexes.
func queryReads(ctx context.Context, b *bench) error {
	n := queryBooks(b.documents)
	return n.store(readIndexes).run(ctx, b.dir, func(ctx context.Context, node *node.Node, c *client.Client) error {
		lookup := func(i int) string {
			return "/v1/books" + params("filter", "doc.k == params.k", "params", fmt.Sprintf(`{"k":%d}`, i%int(n)))
		}
		err := b.pair(pair{name: "lookup by an index, 64 connections", unit: "requests/s", limit: "GET by id",
			ours: rateOf(ctx, node.Addr(), 64, gets(lookup)), plain: rateOf(ctx, node.Addr(), 64, books(int(n)))})
		for _, deep := range []int{0, min(100_000, int(n)/2)} { // at the beginning of a range and deep in it
			if err == nil {
				err = b.queryPage(ctx, node, c, deep)
			}
		}
		if err == nil {
			err = b.queryBare(ctx, node, 1, "count of all entries of an index", "1/s", "SELECT count(*) FROM index_entry WHERE idx = (SELECT id FROM declared_index WHERE name = 'byK')",
				"filter", "doc.k >= 0", "count", "true", "limit", "1", "fields", "id")
		}
		if err == nil {
			err = b.queryBare(ctx, node, 1, "groups of all entries of an index", "1/s", "SELECT key, count(*) FROM index_entry WHERE idx = (SELECT id FROM declared_index WHERE name = 'onShelf') GROUP BY key",
				"group", "shelf")
		}
		return err
	})
}

// queryPage measures a page of 50, deep in the order.
func (b *bench) queryPage(ctx context.Context, node *node.Node, c *client.Client, deep int) error {
	file, err := currentFile(node.Store)
	if err != nil {
		return err
	}
	low := sortkey.AppendInt(nil, int64(deep))
	addr, stop, err := servePages(file, fmt.Sprintf(`SELECT d.body FROM index_entry e JOIN document d ON d.number = e.tie
			WHERE e.idx = (SELECT id FROM declared_index WHERE name = 'byK') AND e.key >= x'%x' ORDER BY e.key, e.tie LIMIT 50`, low))
	if err != nil {
		return err
	}
	query := []string{"filter", "doc.k >= 0", "sort", "k", "limit", "50"}
	if deep > 0 {
		cursor, err := queryCursor(ctx, c, deep)
		if err != nil {
			return errors.Join(err, stop())
		}
		query = append(query, "cursor", cursor)
	}
	err = b.pair(pair{name: fmt.Sprintf("page of 50 in order, %d deep, 16 connections", deep), unit: "pages/s", limit: "a bare Echo handler with the same statement",
		ours: rateOf(ctx, node.Addr(), 16, gets(always("/v1/books"+params(query...)))), plain: rateOf(ctx, addr, 16, gets(always("/page")))})
	return errors.Join(err, stop())
}

// queryCursor goes through pages until it is deep in the order, and returns the cursor there.
func queryCursor(ctx context.Context, c *client.Client, deep int) (cursor string, err error) {
	books := client.Collection[json.RawMessage](c, "books")
	for at := 0; at < deep; at += 1000 {
		_, next, err := books.QueryPage(ctx, client.Query{Filter: "doc.k >= 0", Sort: []string{"k"}, Limit: 1000, Fields: []string{"id"}}, cursor)
		if err != nil || next == "" {
			return "", errors.Join(err, fmt.Errorf("%d documents are not %d", at, deep))
		}
		cursor = next
	}
	return cursor, nil
}

// queryBare compares one query that looks at so many entries or documents with a bare statement.
func (b *bench) queryBare(ctx context.Context, n *node.Node, count int, name, unit, statement string, query ...string) error {
	return withPlain(n.Store, func(db *sql.DB) error {
		return b.pair(pair{name: name, unit: unit, limit: statement,
			ours:  perSecond(count, func(int) error { return ask(ctx, n.URL()+"/v1/books"+params(query...)) }),
			plain: perSecond(count, func(int) error { return readAll(ctx, db, statement) })})
	})
}

// queryScan measures a filter that no index serves, and what it does to others.
func queryScan(ctx context.Context, b *bench) error {
	return queryBooks(scanned).store("").run(ctx, b.dir, func(ctx context.Context, node *node.Node, _ *client.Client) (err error) {
		worst := []string{"filter", `doc.a > 1 && doc.s.contains("x of no text")`, "maxScan", "100000"}
		err = b.queryBare(ctx, node, scanned, fmt.Sprintf("filter that looks at %d documents", scanned), "documents/s",
			"SELECT number, id, revision, position, created, updated, body FROM document WHERE collection = 'books'", worst...)
		if err != nil {
			return err
		}
		return b.beside(ctx, "p99 of GET beside 16 of the worst queries", node.Addr(), func(string) request { return books(scanned) },
			func() string { return "the goal is 0.5: twice the time" },
			func(ctx context.Context) error { return hammer(ctx, 16, node.URL()+"/v1/books"+params(worst...)) })
	})
}

// queryImport measures what an index costs an import.
func queryImport(ctx context.Context, b *bench) error {
	n := queryBooks(b.documents)
	var lines bytes.Buffer
	for i := range int(n) {
		lines.WriteString(n.text(i) + "\n")
	}
	rate := func(name, indexes string) func(round int) (float64, error) {
		return func(round int) (rate float64, err error) {
			return importRate(ctx, benchStore{model: queryModel(indexes), authors: 1}, filepath.Join(b.dir, name+strconv.Itoa(round)), lines.Bytes(), int(n))
		}
	}
	return b.pair(pair{name: fmt.Sprintf("import of %d with one index", n), unit: "documents/s", limit: "without the index",
		ours: rate("index", `"byK":["k"]`), plain: rate("plain", "")})
}

// runTwo runs fn on clients of a store without indexes and of one with them.
func (n queryBooks) runTwo(ctx context.Context, dir, indexes string, fn func(ctx context.Context, plain, indexed *client.Client, plainAddr, addr string) error) error {
	return n.store("").run(ctx, filepath.Join(dir, "plain"), func(ctx context.Context, plain *node.Node, without *client.Client) error {
		return n.store(indexes).run(ctx, filepath.Join(dir, "indexes"), func(ctx context.Context, indexed *node.Node, with *client.Client) error {
			return fn(ctx, without, with, plain.Addr(), indexed.Addr())
		})
	})
}

// queryPuts measures what three indexes cost a write.
func queryPuts(ctx context.Context, b *bench) error {
	const indexes = `"byTitle":["title","year"],"byYear":["year"],"byAuthor":["authors[].id"]`
	return queryBooks(scanned).runTwo(ctx, b.dir, indexes, func(ctx context.Context, _, _ *client.Client, plain, indexed string) error {
		var p99 [2]latencies
		write := func(i int, addr string) func(round int) (float64, error) {
			return func(round int) (float64, error) {
				rate, lats, err := send(ctx, addr, 16, puts(fmt.Sprint("p", round)))
				p99[i].add(lats)
				return rate, err
			}
		}
		return b.pair(pair{name: "durable PUT with three indexes, 16 connections", unit: "writes/s", limit: "without them", ours: write(0, indexed), plain: write(1, plain),
			note: func() string {
				ours, limit := median(p99[0].p99[1:]), median(p99[1].p99[1:])
				return fmt.Sprintf("p99 %.2f ms, limit %.2f ms: %.2f times", ours, limit, ours/limit)
			}})
	})
}

// queryRenames measures a rename whose copies stand in an index, alone and after another value.
func queryRenames(ctx context.Context, b *bench) error {
	n := queryBooks(b.documents)
	rename := func(ctx context.Context, c *client.Client) func(round int) (float64, error) {
		return perSecond(int(n), func(round int) error {
			_, err := client.Collection[json.RawMessage](c, "authors").Patch(ctx, "0", map[string]string{"firstName": fmt.Sprintf("Bob%d", round)}, patient, client.AllowFanout())
			return err
		})
	}
	for i, x := range []struct{ how, index string }{{"alone", `"byName":["authorName"]`}, {"in a composite", `"byShelf":["shelf","authorName"]`}} {
		err := n.runTwo(ctx, filepath.Join(b.dir, strconv.Itoa(i)), x.index, func(ctx context.Context, plain, indexed *client.Client, _, _ string) error {
			return b.pair(pair{name: fmt.Sprintf("rename of %d copies, indexed %s", n, x.how), unit: "copies/s", limit: "without the index",
				ours: rename(ctx, indexed), plain: rename(ctx, plain)})
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// queryBuild measures an index that is added to a full store.
func queryBuild(ctx context.Context, b *bench) error {
	n := queryBooks(b.documents)
	return n.store("").run(ctx, b.dir, func(ctx context.Context, node *node.Node, c *client.Client) error {
		return b.pair(pair{name: fmt.Sprintf("index over %d documents, until it is in force", n), unit: "documents/s", limit: "a bare loop: read, make keys, sort, insert",
			ours: perSecond(int(n), func(round int) error {
				_, err := c.ApplyModel(ctx, []byte(queryModel(fmt.Sprintf(`"byK%d":["k"]`, round))), client.ModelOptions{AllowRemoval: true})
				return err
			}), plain: perSecond(int(n), func(round int) error {
				return withPlain(node.Store, func(db *sql.DB) error { // each model that was prepared has brought another file
					return bareIndex(ctx, db, filepath.Join(b.dir, fmt.Sprintf("bare%d.db", round)), func(body []byte) []byte {
						t := jsondoc.MustParse(body)
						return sortkey.Append(nil, t, t.Member(jsondoc.Root, "k"))
					})
				})
			})})
	})
}
