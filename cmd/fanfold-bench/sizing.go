package main

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/fanfold/fanfold/client"
)

// sizing measures what documents and events take of a node, which is a process of its own.
type sizing struct {
	*bench
	dir   string
	name  string // of the kind of documents
	model string
	read  request // for books
	// write writes every document as a line of an import, with texts of its own in each round (rich: of books), and returns how many bytes the documents have.
	write func(w io.Writer, round int) (written int64, err error)
}

// benchSizing measures what simple documents take of a node. They come in no order of their ids.
func benchSizing(ctx context.Context, b *bench) error {
	simple := benchStore{model: benchModel, authors: benchAuthors, books: b.documents - benchAuthors}
	return sizing{bench: b, dir: b.dir, name: "simple", model: benchModel, read: books(simple.books), write: func(w io.Writer, round int) (written int64, err error) {
		err = simple.putEach(func(collection string, _ int, body string) error {
			body = strings.Replace(body, `"language":"en"`, fmt.Sprintf(`"language":"e%d"`, round), 1)
			written += int64(len(body))
			return writeLine(w, collection, body)
		}, scattered)
		return written, err
	}}.run(ctx)
}

// benchRichSizing measures what rich documents take of a node.
func benchRichSizing(ctx context.Context, b *bench) error {
	rich := richData{documents: b.documents}
	ids := rich.counts()
	return sizing{bench: b, dir: b.dir, name: "rich", model: richModel(true), read: gets(func(n int) string { return "/v1/books/" + ids.bookID(n%ids.books) }),
		write: func(w io.Writer, round int) (int64, error) { return rich.write(w, round+1) }}.run(ctx)
}

// usage is what a round took.
type usage struct {
	written, log, rows int64 // bytes; log and rows on the disk, more than before
	took, cpu          time.Duration
	most               int // memory, in MB
}

// run loads the documents, looks at the node at rest and at work, and writes each document once more.
func (s sizing) run(ctx context.Context) error {
	first, err := s.round(ctx, 0, usage{})
	if err != nil {
		return err
	}
	work, err := s.work(ctx)
	if err != nil {
		return err
	}
	log, rows, err := storeDisk(s.dir)
	if err != nil {
		return err
	}
	again, err := s.round(ctx, 1, usage{log: log, rows: rows})
	if err != nil {
		return err
	}
	each := func(v int64) float64 { return float64(v) / float64(s.documents) }
	line := func(what string, u usage) string {
		return fmt.Sprintf("%s: log %.0f bytes, read model %.0f bytes, CPU %.0f µs each; %.1f s, %.0f a second; most memory %d MB",
			what, each(u.log), each(u.rows), each(u.cpu.Microseconds()), u.took.Seconds(), float64(s.documents)/u.took.Seconds(), u.most)
	}
	s.one(fmt.Sprintf("%d %s documents on the disk", s.documents, s.name), "bytes each", each(first.log+first.rows), each(first.written),
		append([]string{"limit: the documents' own bytes; less is better", line("imported", first), line("written once more", again)}, work...)...)
	return nil
}

// round starts a node, writes every document, in round 0 after the model, and stops it. before has what is on the disk.
func (s sizing) round(ctx context.Context, round int, before usage) (u usage, err error) {
	model := s.model
	if round > 0 {
		model = ""
	}
	err = withServer(ctx, s.dir, func(n *server) error {
		began, cpu := time.Now(), n.cpu()
		err := withClient(n.url(), func(c *client.Client) error {
			return loadModel(ctx, c, model, func(w io.Writer) (err error) { u.written, err = s.write(w, round); return err })
		})
		u.took, u.cpu, u.most = time.Since(began), n.cpu()-cpu, n.memory("VmHWM")/1024
		return err
	})
	if err != nil {
		return u, err
	}
	log, rows, err := storeDisk(s.dir)
	u.log, u.rows = log-before.log, rows-before.rows
	return u, err
}

// work starts a node on the documents, reads and writes for some seconds, and says how long it took to become ready, and
// how much memory it had.
func (s sizing) work(ctx context.Context) (notes []string, err error) {
	began := time.Now()
	err = withServer(ctx, s.dir, func(n *server) error {
		memory := func(when string) {
			notes = append(notes, fmt.Sprintf("%s: memory %d MB, %d MB without pages of files", when, n.memory("VmRSS")/1024, n.memory("RssAnon")/1024))
		}
		memory(fmt.Sprintf("started in %.1f s", time.Since(began).Seconds()))
		time.Sleep(idleTime)
		memory("at rest")
		for _, load := range []struct {
			of      string
			request request
		}{{"GETs", s.read}, {"durable PUTs", scatteredPuts("p")}} {
			rate, lats, err := send(ctx, n.addr, nodesConns, load.request)
			if err != nil {
				return err
			}
			memory(fmt.Sprintf("after %.0f %s a second over %d connections, p99 %.1f ms", rate, load.of, nodesConns, percentile(lats, 99)))
		}
		return nil
	})
	return notes, err
}
