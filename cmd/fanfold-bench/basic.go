package main

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/fanfold/fanfold/client"
	"github.com/fanfold/fanfold/node"
)

// benchGet compares GETs of embedded books with a bare Echo handler that reads one SQLite row of the same file.
func benchGet(ctx context.Context, b *bench) error {
	s := benchStore{model: benchModel, authors: benchAuthors, books: 20_000 / b.scale}
	return s.run(ctx, b.dir, func(ctx context.Context, n *node.Node, _ *client.Client) (err error) {
		file, err := currentFile(n.Store)
		if err != nil {
			return err
		}
		bare, stop, err := serveRows(file, 16, "SELECT body FROM document WHERE collection = ? AND id = ?", "/v1/:collection/:id", func(stmt *sql.Stmt, c echo.Context) error {
			var body []byte
			if err := stmt.QueryRow(c.Param("collection"), c.Param("id")).Scan(&body); err != nil {
				return err
			}
			return c.JSONBlob(http.StatusOK, body)
		})
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, stop()) }()
		var ours latencies
		return b.pair(pair{name: "GET of an embedded book, 64 connections", unit: "requests/s", limit: "a bare Echo handler that reads one SQLite row",
			ours: func(int) (float64, error) {
				rate, lats, err := send(ctx, n.Addr(), 64, books(s.books))
				ours.add(lats)
				return rate, err
			}, plain: rateOf(ctx, bare, 64, books(s.books)), note: func() string { return fmt.Sprintf("our p99 %.2f ms", median(ours.p99[1:])) }})
	})
}

// benchPut compares durable PUTs of new documents over so many connections with plain durable publishes to a log of their own. Each PUT
// waits for its fold. Both have the same concurrency, and messages of the same size.
func benchPut(conns int) func(ctx context.Context, b *bench) error {
	return func(ctx context.Context, b *bench) error {
		s := benchStore{model: benchModel, authors: benchAuthors, books: 10_000 / b.scale}
		return s.runBesideRaw(ctx, b.dir, func(ctx context.Context, n *node.Node, raw rawLog) error {
			var ours, limit latencies
			return b.pair(pair{name: "durable PUT, " + connections(conns), unit: "writes/s", limit: "a message a write with its condition, one fsync for all that wait", rounds: 4,
				ours: func(round int) (float64, error) {
					rate, lats, err := send(ctx, n.Addr(), conns, puts(fmt.Sprintf("p%d-%d", conns, round)))
					ours.add(lats)
					return rate, err
				}, plain: func(round int) (float64, error) {
					rate, lats, err := rawRound(ctx, raw, fmt.Sprintf("%d-%d", conns, round), conns)
					limit.add(lats)
					return rate, err
				}, note: func() string {
					return fmt.Sprintf("ours p50 %.2f ms, p99 %.2f ms, longest %.0f ms; limit p50 %.2f ms, p99 %.2f ms",
						median(ours.p50[1:]), median(ours.p99[1:]), slices.Max(ours.longest[1:]), median(limit.p50[1:]), median(limit.p99[1:]))
				}})
		})
	}
}

// benchIncrements compares durable increments over 64 connections with durable PUTs. Increments of one document wait for each other,
// so they stand beside PUTs of new documents over one connection. Increments of many stand beside PUTs of the same documents over 64.
func benchIncrements(ctx context.Context, b *bench) error {
	s := benchStore{model: benchModel, authors: benchAuthors, books: 10_000 / b.scale}
	return s.run(ctx, b.dir, func(ctx context.Context, n *node.Node, _ *client.Client) error {
		for _, row := range []struct {
			what, limit  string
			books, conns int
			puts         func(round int) request
		}{
			{"one document", "PUTs of new ones, 1 connection", 1, 1, func(round int) request { return puts(fmt.Sprintf("i%d", round)) }},
			{"many documents", "PUTs of the same ones, 64 connections", s.books, 64, func(round int) request { return rewrites(s.books, round) }},
		} {
			if err := b.pair(pair{name: "durable increments of " + row.what + ", 64 connections", unit: "writes/s", limit: "durable " + row.limit,
				ours: func(int) (float64, error) {
					rate, _, err := send(ctx, n.Addr(), 64, increments(row.books))
					return rate, err
				}, plain: func(round int) (float64, error) {
					rate, _, err := send(ctx, n.Addr(), row.conns, row.puts(round))
					return rate, err
				}}); err != nil {
				return err
			}
		}
		return nil
	})
}

// connections says how many there are.
func connections(n int) string {
	if n == 1 {
		return "1 connection"
	}
	return fmt.Sprintf("%d connections", n)
}

// benchImport compares an import into a new store with a hand-written SQLite loop that writes the rows it wrote.
func benchImport(ctx context.Context, b *bench) error {
	count := 200_000 / b.scale
	var text []byte
	for i := range count {
		text = append(appendBook(text, strconv.Itoa(i)), '\n')
	}
	dir := func(round int) string { return filepath.Join(b.dir, strconv.Itoa(round)) }
	return b.pair(pair{name: fmt.Sprintf("import of %d documents", count), unit: "documents/s", rounds: 3, cold: true, oursFirst: true,
		limit: "a hand-written SQLite loop writing the same rows; ours includes the log, synced, and the fold",
		ours: func(round int) (float64, error) {
			return importRate(ctx, benchStore{model: benchModel, authors: benchAuthors}, dir(round), text, count)
		}, plain: func(round int) (float64, error) { return handWritten(dir(round), count) }})
}

// importRate returns how many documents a second an import of books into a new store in dir takes.
func importRate(ctx context.Context, s benchStore, dir string, lines []byte, count int) (rate float64, err error) {
	err = s.run(ctx, dir, func(ctx context.Context, _ *node.Node, c *client.Client) error {
		rate, err = perSecond(count, func(int) error {
			_, err := c.Import(ctx, bytes.NewReader(lines), client.ImportOptions{Collection: "books"})
			return err
		})(0)
		return err
	})
	return rate, err
}

// patient lets a write wait for its fold for a minute.
var patient = client.FoldWithin(time.Minute)

// benchReplay compares a replay of a log, by a process of its own, with a hand-written loop that writes the rows it wrote.
func benchReplay(ctx context.Context, b *bench) error {
	count := 200_000 / b.scale
	s := benchStore{model: replayModel, authors: benchAuthors, books: count - 2*benchAuthors - 1} // and one model
	if err := s.run(ctx, b.dir, leave); err != nil {
		return err
	}
	memory := 0
	return b.pair(pair{name: fmt.Sprintf("replay of %d events", count), unit: "events/s", limit: "a hand-written SQLite loop writing the same rows",
		rounds: 3, cold: true, oursFirst: true, ours: func(int) (float64, error) {
			n, seconds, peak, err := replay(ctx, b.dir)
			memory = max(memory, peak)
			return float64(n) / seconds, err
		}, plain: func(int) (float64, error) { return handWritten(b.dir, count) },
		note: func() string {
			return fmt.Sprintf("most memory of the replaying process, embedded log included: %d MB", memory)
		}})
}

// benchRename renames one document of a kind, document 0 of a collection. Every book has a copy of the name at path.
func benchRename(kind, collection, path string) func(ctx context.Context, b *bench) error {
	return func(ctx context.Context, b *bench) error {
		s := renamedStore(100_000 / b.scale)
		if collection == "authors" {
			s.model, s.publisher = benchModel, nil
		}
		return s.run(ctx, b.dir, func(ctx context.Context, n *node.Node, c *client.Client) error {
			return b.rename(ctx, n.Store, rename{
				name: fmt.Sprintf("rename of %s with %d copies", kind, s.books), path: path, copies: s.books,
				write: func(name string) error {
					body := `{"firstName":"` + name + `","name":"` + name + `"}`
					_, err := client.Collection[json.RawMessage](c, collection).Patch(ctx, "0", json.RawMessage(body), patient)
					return err
				},
			})
		})
	}
}

// renamedStore has so many books, all with publisher 0 and the second author 0.
func renamedStore(books int) benchStore {
	same := func(int) int { return 0 }
	return benchStore{model: publisherModel, authors: benchAuthors, books: books, secondAuthor: same, publisher: same}
}
