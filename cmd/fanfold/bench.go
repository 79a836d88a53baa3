package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/cmd/fanfold/internal/bench"
	"github.com/fanfold/fanfold/events"
	"github.com/fanfold/fanfold/node"
)

func benchCommand() *cobra.Command {
	var only string
	var quick, asJSON bool
	cmd := &cobra.Command{
		Use:   "bench",
		Short: "Measure this machine: each speed as a ratio to the limit measured in the same run",
		Long: `Measure reads, writes, import, replay and fan-out on a temporary directory. Each figure stands
beside the limit for it, measured in the same run: a bare Echo handler that reads one SQLite row,
raw group commit on JetStream, a hand-written SQLite loop that writes the same rows, one UPDATE
with json_set, the first of many comments on a post. The change of a model on a million documents,
which takes minutes, is measured where it is asked for only.`,
		Example: "  fanfold bench\n  fanfold bench --only get --quick",
		Args:    cobra.NoArgs,
	}
	f := cmd.Flags()
	f.StringVar(&only, "only", "", "one of get, put, import, replay, rename, comments, model")
	f.BoolVar(&quick, "quick", false, "a tenth of the size")
	f.BoolVar(&asJSON, "json", false, "print the results as JSON")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		results, err := runBench(cmd.Context(), only, quick)
		if err != nil {
			return err
		}
		if asJSON {
			return printJSON(cmd, results)
		}
		for _, r := range results {
			fmt.Fprintln(cmd.OutOrStdout(), r)
		}
		return nil
	}
	return cmd
}

func runBench(ctx context.Context, only string, quick bool) (results []bench.Result, err error) {
	dir, err := os.MkdirTemp("", "fanfold-bench-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	scale := 1
	if quick {
		scale = 10
	}
	for i, b := range []struct {
		name string
		run  func(ctx context.Context, dir string, scale int) (bench.Result, error)
	}{{"get", benchGet}, {"put", benchPut(64)}, {"put", benchPut(256)}, {"put", benchPut(1)}, {"import", benchImport}, {"replay", benchReplay}, {"rename", benchRename}, {"rename", benchRenamePublisher}, {"comments", benchComments}, {"model", benchModelChange}} {
		if only != b.name && (only != "" || b.name == "model") { // that one takes as long as the others together
			continue
		}
		r, err := b.run(ctx, filepath.Join(dir, b.name+strconv.Itoa(i)), scale)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", b.name, err)
		}
		results = append(results, r)
	}
	if len(results) == 0 {
		return nil, fanfold.Errorf(fanfold.Invalid, "--only %q is not one of get, put, import, replay, rename, comments and model", only)
	}
	return results, nil
}

const benchModel = `{"collections":{"authors":{},"books":{
"relations":{"authors":{"path":"authors[].id","to":"authors"}},
"derive":{"authors[].name":{"copy":"authors","value":"doc.firstName + ' ' + doc.lastName"}}}}}`

// replayModel has two relations and a count.
const replayModel = `{"collections":{"authors":{"derive":{"countOfBooks":{"count":"books.authors"}}},"publishers":{},"books":{
"relations":{"authors":{"path":"authors[].id","to":"authors"},"publisher":{"path":"pub","to":"publishers"}}}}}`

// fill makes a log with the model, authors, and books with two authors each. It is not synced
// while it is filled, and its window for duplicates is short, as in a log that is not new.
func fill(ctx context.Context, dir, model string, authors, books int, second func(i int) int) (err error) {
	logger := slog.New(slog.DiscardHandler)
	server, err := events.StartEmbedded(filepath.Join(dir, "nats"), events.Interval, "", logger)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, server.Close()) }()
	nc, err := server.Connect()
	if err != nil {
		return err
	}
	defer nc.Close()
	log, err := events.Open(ctx, nc, events.Options{Window: 100 * time.Millisecond, Logger: logger})
	if err != nil {
		return err
	}
	if _, err := log.Append(ctx, &fanfold.Event{Kind: fanfold.KindModel, Body: []byte(model)}, fanfold.Expect{}); err != nil {
		return err
	}
	put := func(collection string, i int, body string) error {
		_, err := log.Append(ctx, &fanfold.Event{Kind: fanfold.KindPut, Key: fanfold.Key{Collection: collection, ID: strconv.Itoa(i)}, Body: []byte(body)}, fanfold.Expect{})
		return err
	}
	if strings.Contains(model, "publishers") {
		if err := parallel(authors, func(i int) error { return put("publishers", i, fmt.Sprintf(`{"id":"%d","name":"Press %d"}`, i, i)) }); err != nil {
			return err
		}
	}
	if err := parallel(authors, func(i int) error {
		return put("authors", i, fmt.Sprintf(`{"id":"%d","firstName":"Ann%d","lastName":"Author","born":1900,"bio":"%0200d"}`, i, i, i))
	}); err != nil {
		return err
	}
	publisher := func(i int) int { return i / 7 % authors }
	if strings.Contains(model, "publisherName") {
		publisher = func(int) int { return 0 }
	}
	return parallel(books, func(i int) error {
		return put("books", i, fmt.Sprintf(`{"id":"%d","title":"The book that has the number %d","year":1984,"language":"en","authors":[{"id":"%d"},{"id":"%d"}],"pub":"%d","summary":"%0250d"}`,
			i, i, i%authors, second(i), publisher(i), i))
	})
}

// filled runs fn on a node over such a log, once it has folded it.
func filled(ctx context.Context, dir, model string, books int, second func(i int) int, fn func(ctx context.Context, n *node.Node) error) error {
	if err := fill(ctx, dir, model, 1000, books, second); err != nil {
		return err
	}
	return offline(ctx, dir, fn)
}

// parallel calls fn for 0 to n-1 from a few goroutines.
func parallel(n int, fn func(i int) error) error {
	var next atomic.Int64
	var mu sync.Mutex
	var wg sync.WaitGroup
	var failed error
	for range 32 {
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

func benchGet(ctx context.Context, dir string, scale int) (r bench.Result, err error) {
	err = filled(ctx, dir, benchModel, 20_000/scale, func(i int) int { return (i + 7) % 1000 }, func(ctx context.Context, n *node.Node) error {
		r, err = bench.Get(ctx, n.Store, n.Addr(), 64, 20_000/scale)
		return err
	})
	return r, err
}

// benchPut measures writes over conns connections. The raw messages go to a log of their own.
func benchPut(conns int) func(ctx context.Context, dir string, scale int) (bench.Result, error) {
	return func(ctx context.Context, dir string, scale int) (r bench.Result, err error) {
		logger := slog.New(slog.DiscardHandler)
		server, err := events.StartEmbedded(filepath.Join(dir, "raw"), events.Always, "", logger)
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
		err = filled(ctx, filepath.Join(dir, "ours"), benchModel, 10_000/scale, func(i int) int { return (i + 7) % 1000 }, func(ctx context.Context, n *node.Node) error {
			r, err = bench.Put(ctx, n.Addr(), nc, "fanfold.fanfold.doc.raw", conns)
			return err
		})
		return r, err
	}
}

// benchImport measures POST /v1/_import into empty stores.
func benchImport(ctx context.Context, dir string, scale int) (bench.Result, error) {
	at := func(round int) string { return filepath.Join(dir, strconv.Itoa(round)) }
	return bench.Import(ctx, at, 200_000/scale, func(ctx context.Context, dir string, body []byte) (took time.Duration, err error) {
		if err := fill(ctx, dir, benchModel, 1000, 0, nil); err != nil {
			return 0, err
		}
		err = offline(ctx, dir, func(ctx context.Context, n *node.Node) error {
			c := &client{server: n.URL()}
			began := time.Now()
			resp, err := c.do(ctx, "POST", "/v1/_import?collection=books", bytes.NewReader(body), header{"Content-Type": "application/x-ndjson"})
			if err != nil {
				return err
			}
			if _, err := io.Copy(io.Discard, resp.Body); err != nil {
				return errors.Join(err, resp.Body.Close())
			}
			took = time.Since(began)
			return resp.Body.Close()
		})
		return took, err
	})
}

// benchComments measures writes of comments on a post that has more and more of them.
func benchComments(ctx context.Context, dir string, scale int) (r bench.Result, err error) {
	const model = `{"collections":{"posts":{"derive":{
"recent":{"recent":"comments.post","max":3,"fields":["id","text"]},"n":{"count":"comments.post"},"stars":{"avg":"comments.post","of":"stars"}}},
"comments":{"relations":{"post":{"path":"post","to":"posts"}},"pages":{"by":"post","size":100}}}}`
	if err := fill(ctx, dir, model, 0, 0, nil); err != nil {
		return r, err
	}
	comment := func(id int) string {
		return fmt.Sprintf(`{"id":"%d","post":"1","text":"comment no. %d","stars":%d.5}`, id, id, id%5)
	}
	err = offline(ctx, dir, func(ctx context.Context, n *node.Node) error {
		c := &client{server: n.URL()}
		send := func(method, path, contentType, body string) error {
			resp, err := c.do(ctx, method, path, strings.NewReader(body), header{"Content-Type": contentType})
			if err != nil {
				return err
			}
			_, err = io.Copy(io.Discard, resp.Body)
			return errors.Join(err, resp.Body.Close())
		}
		if err := send("PUT", "/v1/posts/1", "application/json", `{}`); err != nil {
			return err
		}
		r, err = bench.Comments(100_000/scale, func(id int) error {
			return send("PUT", "/v1/comments/"+strconv.Itoa(id), "application/json", comment(id))
		}, func(from, to int) error {
			var lines strings.Builder
			for id := from; id < to; id++ {
				lines.WriteString(comment(id) + "\n")
			}
			return send("POST", "/v1/_import?collection=comments", "application/x-ndjson", lines.String())
		})
		return err
	})
	return r, err
}

// benchModelChange measures a model that gives a million books copies, and their authors a count.
func benchModelChange(ctx context.Context, dir string, scale int) (r bench.Result, err error) {
	const plain = `{"collections":{"authors":{},"books":{"relations":{"authors":{"path":"authors[].id","to":"authors"}}}}}`
	model := []byte(strings.Replace(benchModel, `"authors":{},`, `"authors":{"derive":{"countOfBooks":{"count":"books.authors"}}},`, 1))
	holders := 1_000_000 / scale
	err = filled(ctx, dir, plain, holders, func(i int) int { return (i + 7) % 1000 }, func(ctx context.Context, n *node.Node) error {
		c := &client{server: n.URL()}
		r, err = bench.Model(ctx, func(ctx context.Context, client, i int) error {
			resp, err := c.do(ctx, http.MethodPut, fmt.Sprintf("/v1/books/%d", (i*7919+client)%holders), strings.NewReader(fmt.Sprintf(`{"title":"Book %d of %d","authors":[{"id":"%d"}]}`, i, client, i%1000)),
				header{"Content-Type": "application/json", "Fanfold-Timeout": "60"})
			if err != nil {
				return err
			}
			return resp.Body.Close()
		}, func(ctx context.Context) (int64, float64, error) {
			if _, _, err := c.putModel(ctx, model, false, url.Values{"background": {"true"}}); err != nil {
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

func benchReplay(ctx context.Context, dir string, scale int) (r bench.Result, err error) {
	events := 200_000 / scale
	err = filled(ctx, dir, replayModel, events-2001, func(i int) int { return (i + 7) % 1000 }, func(context.Context, *node.Node) error { return nil })
	if err != nil {
		return r, err
	}
	self, err := os.Executable()
	if err != nil {
		return r, err
	}
	return bench.Replay(ctx, self, dir, events)
}

// benchRename renames the second author of every book, the first being one of a thousand others: a copy
// in an array, which is folded document by document.
func benchRename(ctx context.Context, dir string, scale int) (bench.Result, error) {
	return rename(ctx, dir, scale, benchModel, "rename of an author with", "authors", "$.authors[1].name")
}

// benchRenamePublisher renames the publisher of every book: one member of each, which is folded by
// set-oriented SQL.
func benchRenamePublisher(ctx context.Context, dir string, scale int) (bench.Result, error) {
	const model = `{"collections":{"authors":{},"publishers":{},"books":{
"relations":{"authors":{"path":"authors[].id","to":"authors"},"publisher":{"path":"pub","to":"publishers"}},
"derive":{"publisherName":{"copy":"publisher","value":"doc.name"}}}}}`
	return rename(ctx, dir, scale, model, "rename of a publisher with", "publishers", "$.publisherName")
}

// rename changes the name of document 0 of a collection, which every book has a copy of.
func rename(ctx context.Context, dir string, scale int, model, what, collection, path string) (r bench.Result, err error) {
	holders := 100_000 / scale
	err = filled(ctx, dir, model, holders, func(int) int { return 0 }, func(ctx context.Context, n *node.Node) error {
		c := &client{server: n.URL()}
		r, err = bench.Rename(ctx, n.Store, dir, fmt.Sprintf("%s %d copies", what, holders), path, holders, func(name string) error {
			resp, err := c.do(ctx, "PATCH", "/v1/"+collection+"/0", strings.NewReader(`{"firstName":"`+name+`","name":"`+name+`"}`),
				header{"Content-Type": "application/merge-patch+json", "Fanfold-Timeout": "60"})
			if err != nil {
				return err
			}
			return resp.Body.Close()
		})
		return err
	})
	return r, err
}
