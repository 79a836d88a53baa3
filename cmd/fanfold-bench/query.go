package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"time"

	"github.com/fanfold/fanfold/client"
	"github.com/fanfold/fanfold/cmd/fanfold-bench/internal/bench"
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
func queryReads(ctx context.Context, dir string, documents int) (results []bench.Result, err error) {
	n := queryBooks(documents)
	add := func(r bench.Result, err error) error {
		results = append(results, r)
		return err
	}
	err = n.store(readIndexes).run(ctx, dir, func(ctx context.Context, node *node.Node, c *client.Client) error {
		file, err := bench.CurrentFile(node.Store)
		if err != nil {
			return err
		}
		lookups, err := bench.Pair{Name: "lookup by an index, 64 connections", Unit: "requests/s", Limit: "GET by id",
			Ours: bench.Rate(ctx, node.Addr(), 64, bench.Gets(func(i int) string {
				return "/v1/books" + bench.Escape("filter", "doc.k == params.k", "params", fmt.Sprintf(`{"k":%d}`, i%int(n)))
			})), Plain: bench.Rate(ctx, node.Addr(), 64, bench.Books(int(n)))}.Run()
		if err := add(lookups, err); err != nil {
			return err
		}
		if err := queryPages(ctx, node, c, file, n, add); err != nil {
			return err
		}
		return queryCounts(ctx, node, file, add)
	})
	return results, err
}

// queryPages measures pages of 50 at the beginning of a range and deep in it.
func queryPages(ctx context.Context, node *node.Node, c *client.Client, file string, n queryBooks, add func(bench.Result, error) error) error {
	for _, deep := range []int{0, min(100_000, int(n)/2)} {
		low := sortkey.AppendInt(nil, int64(deep))
		addr, stop, err := bench.PlainPages(file, fmt.Sprintf(`SELECT d.body FROM index_entry e JOIN document d ON d.number = e.tie
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
		path := "/v1/books" + bench.Escape(query...)
		r, err := bench.Pair{Name: fmt.Sprintf("page of 50 in order, %d deep, 16 connections", deep), Unit: "pages/s", Limit: "a bare Echo handler with the same statement",
			Ours: bench.Rate(ctx, node.Addr(), 16, bench.Gets(func(int) string { return path })), Plain: bench.Rate(ctx, addr, 16, bench.Gets(func(int) string { return "/page" }))}.Run()
		if err := errors.Join(add(r, err), stop()); err != nil {
			return err
		}
	}
	return nil
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

// queryCounts measures a count and a grouping that read no document.
func queryCounts(ctx context.Context, n *node.Node, file string, add func(bench.Result, error) error) (err error) {
	db, err := bench.OpenPlain(file)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	for _, c := range []struct {
		name, statement string
		query           []string
	}{
		{"count of all entries of an index", "SELECT count(*) FROM index_entry WHERE idx = (SELECT id FROM declared_index WHERE name = 'byK')",
			[]string{"filter", "doc.k >= 0", "count", "true", "limit", "1", "fields", "id"}},
		{"groups of all entries of an index", "SELECT key, count(*) FROM index_entry WHERE idx = (SELECT id FROM declared_index WHERE name = 'onShelf') GROUP BY key",
			[]string{"group", "shelf"}},
	} {
		r, err := bench.Pair{Name: c.name, Unit: "1/s", Limit: c.statement, Ours: func(int) (float64, error) {
			took, err := bench.Seconds(ctx, n.URL()+"/v1/books"+bench.Escape(c.query...))
			return 1 / took, err
		}, Plain: func(int) (float64, error) {
			took, err := bench.PlainSeconds(ctx, db, c.statement)
			return 1 / took, err
		}}.Run()
		if err := add(r, err); err != nil {
			return err
		}
	}
	return nil
}

// queryScan measures a filter that no index serves, and what it does to others.
func queryScan(ctx context.Context, dir string, _ int) (results []bench.Result, err error) {
	n := queryBooks(scanned)
	err = n.store("").run(ctx, dir, func(ctx context.Context, node *node.Node, _ *client.Client) (err error) {
		file, err := bench.CurrentFile(node.Store)
		if err != nil {
			return err
		}
		db, err := bench.OpenPlain(file)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, db.Close()) }()
		url := node.URL() + "/v1/books" + bench.Escape("filter", `doc.a > 1 && doc.s.contains("x of no text")`, "maxScan", "100000")
		r, err := bench.Pair{Name: fmt.Sprintf("filter that looks at %d documents", scanned), Unit: "documents/s", Limit: "the bare statement that reads them",
			Ours: func(int) (float64, error) {
				took, err := bench.Seconds(ctx, url)
				return scanned / took, err
			}, Plain: func(int) (float64, error) {
				took, err := bench.PlainSeconds(ctx, db, "SELECT number, id, revision, position, created, updated, body FROM document WHERE collection = 'books'")
				return scanned / took, err
			}}.Run()
		results = append(results, r)
		if err != nil {
			return err
		}
		r, err = bench.Beside(ctx, "p99 of GET beside 16 of the worst queries", node.Addr(), func(string) bench.Request { return bench.Books(scanned) },
			"the goal is 0.5: twice the time", func(ctx context.Context) error { return bench.Hammer(ctx, 16, url) })
		results = append(results, r)
		return err
	})
	return results, err
}

// queryImport measures what an index costs an import.
func queryImport(ctx context.Context, dir string, documents int) ([]bench.Result, error) {
	n := queryBooks(documents)
	var lines bytes.Buffer
	for i := range int(n) {
		lines.WriteString(n.text(i) + "\n")
	}
	rate := func(name, indexes string) func(round int) (float64, error) {
		return func(round int) (rate float64, err error) {
			err = benchStore{model: queryModel(indexes), authors: 1}.run(ctx, filepath.Join(dir, name+strconv.Itoa(round)), func(ctx context.Context, _ *node.Node, c *client.Client) error {
				began := time.Now()
				_, err = c.Import(ctx, bytes.NewReader(lines.Bytes()), client.ImportOptions{Collection: "books"})
				rate = float64(n) / time.Since(began).Seconds()
				return err
			})
			return rate, err
		}
	}
	r, err := bench.Pair{Name: fmt.Sprintf("import of %d with one index", n), Unit: "documents/s", Limit: "without the index",
		Ours: rate("index", `"byK":["k"]`), Plain: rate("plain", "")}.Run()
	return []bench.Result{r}, err
}

// queryPuts measures what three indexes cost a write.
func queryPuts(ctx context.Context, dir string, _ int) (results []bench.Result, err error) {
	err = queryBooks(scanned).store("").run(ctx, filepath.Join(dir, "plain"), func(ctx context.Context, plain *node.Node, _ *client.Client) error {
		return queryBooks(scanned).store(`"byTitle":["title","year"],"byYear":["year"],"byAuthor":["authors[].id"]`).run(ctx, filepath.Join(dir, "indexes"), func(ctx context.Context, indexed *node.Node, _ *client.Client) error {
			r, err := bench.PutBeside(ctx, "durable PUT with three indexes, 16 connections", "without them", indexed.Addr(), plain.Addr(), 16)
			results = append(results, r)
			return err
		})
	})
	return results, err
}

// queryRenames measures a rename whose copies stand in an index, alone and after another value.
func queryRenames(ctx context.Context, dir string, documents int) (results []bench.Result, err error) {
	n := queryBooks(documents)
	rename := func(ctx context.Context, c *client.Client) func(round int) (float64, error) {
		authors := client.Collection[json.RawMessage](c, "authors")
		return func(round int) (float64, error) {
			began := time.Now()
			_, err := authors.Patch(ctx, "0", map[string]string{"firstName": fmt.Sprintf("Bob%d", round)}, patient, client.AllowFanout())
			return float64(n) / time.Since(began).Seconds(), err
		}
	}
	err = n.store("").run(ctx, filepath.Join(dir, "plain"), func(ctx context.Context, _ *node.Node, without *client.Client) error {
		for i, x := range []struct{ how, index string }{{"alone", `"byName":["authorName"]`}, {"in a composite", `"byShelf":["shelf","authorName"]`}} {
			if err := n.store(x.index).run(ctx, filepath.Join(dir, strconv.Itoa(i)), func(ctx context.Context, _ *node.Node, with *client.Client) error {
				r, err := bench.Pair{Name: fmt.Sprintf("rename of %d copies, indexed %s", n, x.how), Unit: "copies/s", Limit: "without the index",
					Ours: rename(ctx, with), Plain: rename(ctx, without)}.Run()
				results = append(results, r)
				return err
			}); err != nil {
				return err
			}
		}
		return nil
	})
	return results, err
}

// queryBuild measures an index that is added to a full store.
func queryBuild(ctx context.Context, dir string, documents int) (results []bench.Result, err error) {
	n := queryBooks(documents)
	err = n.store("").run(ctx, dir, func(ctx context.Context, node *node.Node, c *client.Client) error {
		r, err := bench.Pair{Name: fmt.Sprintf("index over %d documents, until it is in force", n), Unit: "documents/s", Limit: "a bare loop: read, make keys, sort, insert",
			Ours: func(round int) (float64, error) {
				began := time.Now()
				_, err := c.ApplyModel(ctx, []byte(queryModel(fmt.Sprintf(`"byK%d":["k"]`, round))), client.ModelOptions{AllowRemoval: true})
				return float64(n) / time.Since(began).Seconds(), err
			}, Plain: func(round int) (float64, error) {
				file, err := bench.CurrentFile(node.Store) // each model that was prepared has brought another one
				if err != nil {
					return 0, err
				}
				took, err := bench.BareIndex(ctx, file, filepath.Join(dir, fmt.Sprintf("bare%d.db", round)), func(body []byte) ([]byte, error) {
					t := jsondoc.MustParse(body)
					return sortkey.Append(nil, t, t.Member(jsondoc.Root, "k")), nil
				})
				return float64(n) / took, err
			}}.Run()
		results = append(results, r)
		return err
	})
	return results, err
}
