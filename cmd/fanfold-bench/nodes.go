package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/client"
	"github.com/fanfold/fanfold/cmd/fanfold-bench/internal/bench"
)

// benchNodes says on which nodes a benchmark runs that starts them as processes of their own.
type benchNodes struct {
	nats  string // URL of the servers that keep their log; "" for the first node's
	count int
	steps int // of bystanders

	replicas int // of the log on these servers
}

// maxBenchNodes is how many nodes a benchmark starts at most.
const maxBenchNodes = 16

// check returns Invalid where the flags are out of range.
func (b benchNodes) check() error {
	if b.count < 1 || b.count > maxBenchNodes {
		return fanfold.Errorf(fanfold.Invalid, "--nodes is a number from 1 to %d, not %d", maxBenchNodes, b.count)
	}
	if b.count > 1 && b.nats == "" {
		return fanfold.Errorf(fanfold.Invalid, "several nodes need --nats, a server for their log: that of a node alone takes the writes of nobody else")
	}
	if b.steps < 1 || b.steps > benchAuthors/2 {
		return fanfold.Errorf(fanfold.Invalid, "--steps is a number from 1 to %d, not %d", benchAuthors/2, b.steps)
	}
	return nil
}

// run starts the nodes in dir, calls fn, and stops them. A log on servers of its own must be empty, for it is filled, and
// is left there.
func (b benchNodes) run(ctx context.Context, dir string, fn func(n *bench.Nodes, c *client.Client) error) (err error) {
	if err := b.check(); err != nil {
		return err
	}
	n, err := bench.StartNodes(ctx, dir, b.nats, b.count, b.replicas)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, n.Stop()) }()
	if err := n.CaughtUp(ctx); err != nil {
		return err
	}
	return withClient(n.URL(0), func(c *client.Client) error {
		s, err := c.Status(ctx)
		if err == nil && s.Model != 0 {
			err = fanfold.Errorf(fanfold.Invalid, "the log on %s is not empty: a benchmark fills it, and needs servers of its own", b.nats)
		}
		if err != nil {
			return err
		}
		return fn(n, c)
	})
}

// load applies the model, and imports the documents over the API.
func (s benchStore) load(ctx context.Context, c *client.Client) error {
	if _, err := c.PutModel(ctx, []byte(s.model), client.ModelOptions{}); err != nil {
		return err
	}
	return importAll(ctx, c, func(w io.Writer) error {
		return s.putEach(func(collection string, _ int, body string) error { return writeLine(w, collection, body) }, inOrder)
	})
}

// writeLine writes a line of an import.
func writeLine(w io.Writer, collection, body string) error {
	_, err := fmt.Fprintf(w, "{\"collection\":%q,\"doc\":%s}\n", collection, body)
	return err
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

// importAll imports what write writes, and returns once it is folded. An error says so where lines were refused.
func importAll(ctx context.Context, c *client.Client, write func(w io.Writer) error) error {
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

// minCopies is how many copies bystanders has at least.
const minCopies = 1000

// bystanderOthers is how many books there are that no rename reaches.
const bystanderOthers = 10_000

// benchBystanders measures requests beside renames of 10,000, 100,000 and so on copies, up to largest.
func benchBystanders(ctx context.Context, dir string, q benchRequest) (results []bench.Result, err error) {
	nodes, largest := q.nodes, q.documents
	if largest < minCopies || largest > maxDocuments {
		return nil, fanfold.Errorf(fanfold.Invalid, "bystanders takes %d to %d copies, not %d", minCopies, maxDocuments, largest)
	}
	for copies := 10_000; ; copies *= 10 {
		copies = min(copies, largest)
		if nodes.nats != "" || nodes.steps > 1 {
			copies = largest // the log is filled once
		}
		b := bench.Bystanders{Copies: copies / q.scale, Steps: nodes.steps, Others: bystanderOthers / q.scale}
		s := benchStore{model: publisherModel, authors: benchAuthors, books: b.Copies + b.Others, publisher: func(i int) int {
			if i < b.Copies {
				return i % b.Steps
			}
			return b.Steps + i%(benchAuthors-b.Steps)
		}}
		b.Book = s.book
		err := nodes.run(ctx, filepath.Join(dir, strconv.Itoa(copies)), func(n *bench.Nodes, c *client.Client) error {
			if err := errors.Join(s.load(ctx, c), n.CaughtUp(ctx)); err != nil {
				return err
			}
			b.Nodes = n
			r, err := b.Run(ctx)
			results = append(results, r)
			return err
		})
		if err != nil || copies == largest {
			return results, err
		}
	}
}

// benchReadsAndWrites measures reads and writes of one node, of two, and so on.
func benchReadsAndWrites(ctx context.Context, dir string, q benchRequest) (results []bench.Result, err error) {
	s := benchStore{model: benchModel, authors: benchAuthors, books: 20_000 / q.scale}
	err = q.nodes.run(ctx, dir, func(n *bench.Nodes, c *client.Client) error {
		if err := errors.Join(s.load(ctx, c), n.CaughtUp(ctx)); err != nil {
			return err
		}
		if results, err = n.Reads(ctx, s.books); err != nil {
			return err
		}
		writes, err := n.Writes(ctx)
		results = append(results, writes...)
		return err
	})
	return results, err
}

// minSized is how many documents sizing takes at least, so that there are the authors to which it refers.
const minSized = 5000

// benchSizing measures what simple and rich documents take of a node.
func benchSizing(ctx context.Context, dir string, documents int) (results []bench.Result, err error) {
	rich := bench.RichData{Documents: documents}
	for _, s := range []bench.Sizing{
		{Name: "simple", Books: documents - benchAuthors, Load: func(ctx context.Context, url string, round int) (int64, error) {
			return simpleLoad(ctx, url, round, documents)
		}},
		{Name: "rich", Books: documents / 5, Load: func(ctx context.Context, url string, round int) (written int64, err error) {
			err = loadInto(ctx, url, round, bench.RichModel(true), func(w io.Writer) (err error) { written, err = rich.WriteTo(w); return err })
			return written, err
		}},
	} {
		s.Dir, s.Documents = filepath.Join(dir, s.Name), documents
		r, err := s.Run(ctx)
		if err != nil {
			return nil, err
		}
		results = append(results, r)
	}
	return results, nil
}

// simpleLoad writes authors, and books with two authors each, to the node at url. Another round has other texts.
func simpleLoad(ctx context.Context, url string, round, documents int) (written int64, err error) {
	s := benchStore{model: benchModel, authors: benchAuthors, books: documents - benchAuthors}
	err = loadInto(ctx, url, round, s.model, func(w io.Writer) error {
		return s.putEach(func(collection string, _ int, body string) error {
			body = strings.Replace(body, `"language":"en"`, fmt.Sprintf(`"language":"e%d"`, round), 1)
			written += int64(len(body))
			return writeLine(w, collection, body)
		}, inOrder)
	})
	return written, err
}

// loadInto imports what write writes to the node at url, in round 0 after its model.
func loadInto(ctx context.Context, url string, round int, model string, write func(w io.Writer) error) error {
	return withClient(url, func(c *client.Client) error {
		if round == 0 {
			if _, err := c.PutModel(ctx, []byte(model), client.ModelOptions{}); err != nil {
				return err
			}
		}
		return importAll(ctx, c, write)
	})
}
