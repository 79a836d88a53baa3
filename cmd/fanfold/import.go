package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"io"
	"net/http"
	"net/url"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/internal/jsondoc"
)

func importCommand() *cobra.Command {
	im := &importer{}
	cmd := &cobra.Command{
		Use:   "import FILE",
		Short: "Load documents from NDJSON, or from CSV with a mapping file",
		Long: `Load documents from a file, or from standard input where FILE is -.

NDJSON has one document a line; --collection says where they go. A document with an id
replaces the one that is there; without, it gets a new id.

CSV has a header line. The mapping file (YAML) says what becomes of each row: a list of
  collection: where the documents go
  documents:  a CEL expression over doc, the row (all members are strings), that gives an
              object or a list of objects
Documents that a file gives several times over, byte for byte, are sent once.

A line that is refused is reported with its number, and the rest goes on; the exit code is
then 1.`,
		Example: "  fanfold import --collection books books.ndjson\n  fanfold import --mapping mapping.yaml books.csv",
		Args:    cobra.ExactArgs(1),
	}
	im.client = serverFlag(cmd)
	f := cmd.Flags()
	f.StringVar(&im.collection, "collection", "", "collection of the documents in an NDJSON file")
	f.StringVar(&im.mapping, "mapping", "", "mapping file for CSV")
	f.IntVar(&im.workers, "workers", 64, "writes on their way at a time")
	f.BoolVar(&im.json, "json", false, "print the result as JSON")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		im.client.http.Transport = &http.Transport{MaxIdleConnsPerHost: im.workers}
		return im.run(cmd, args[0])
	}
	return cmd
}

// importer reads documents and writes them through the API.
type importer struct {
	client     *client
	collection string
	mapping    string
	workers    int
	json       bool

	stderr  io.Writer
	size    int64 // of the file; 0 where it is not known
	read    atomic.Int64
	written atomic.Int64
	refused atomic.Int64
	began   time.Time

	mu   sync.Mutex
	last fanfold.Position // of the last write
}

// record is a document on its way.
type record struct {
	line       int
	collection string
	id         string // "" for a new one
	body       []byte
}

// errRefused makes the exit code 1 after everything else was loaded.
var errRefused = errors.New("some documents were refused; the others are loaded")

func (im *importer) run(cmd *cobra.Command, path string) error {
	im.stderr = cmd.ErrOrStderr()
	in, err := im.open(cmd, path)
	if err != nil {
		return err
	}
	defer in.Close()
	source, err := im.source(in)
	if err != nil {
		return err
	}
	if err := im.load(cmd.Context(), source); err != nil {
		return err
	}
	if err := im.settle(cmd.Context()); err != nil {
		return err
	}
	took := time.Since(im.began)
	result := struct {
		Written  int64            `json:"written"`
		Refused  int64            `json:"refused"`
		Seconds  float64          `json:"seconds"`
		Position fanfold.Position `json:"position"`
	}{im.written.Load(), im.refused.Load(), took.Seconds(), im.last}
	if im.json {
		err = printJSON(cmd, result)
	} else {
		_, err = fmt.Fprintf(cmd.OutOrStdout(), "%d documents written in %.1f s (%.0f/s), %d refused, position %s\n",
			result.Written, result.Seconds, float64(result.Written)/result.Seconds, result.Refused, result.Position)
	}
	if err == nil && result.Refused > 0 {
		err = errRefused
	}
	return err
}

func (im *importer) open(cmd *cobra.Command, path string) (io.ReadCloser, error) {
	if (im.collection == "") == (im.mapping == "") {
		return nil, fanfold.Errorf(fanfold.Invalid, "say --collection for NDJSON, or --mapping for CSV")
	}
	if im.workers < 1 || im.workers > 1024 {
		return nil, fanfold.Errorf(fanfold.Invalid, "--workers must be from 1 to 1024")
	}
	if path == "-" {
		return io.NopCloser(cmd.InOrStdin()), nil
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, fanfold.Wrap(err, fanfold.Invalid, "cannot read the file: %v", err)
	}
	if info, err := f.Stat(); err == nil && info.Mode().IsRegular() {
		im.size = info.Size()
	}
	return f, nil
}

// source returns a function that calls emit for each document of the file.
func (im *importer) source(in io.Reader) (func(emit func(record) error) error, error) {
	counted := &countingReader{r: in, n: &im.read}
	if im.collection != "" {
		if err := fanfold.CheckCollection(im.collection); err != nil {
			return nil, err
		}
		return func(emit func(record) error) error { return readNDJSON(counted, im.collection, im.refuse, emit) }, nil
	}
	m, err := readMapping(im.mapping)
	if err != nil {
		return nil, err
	}
	return func(emit func(record) error) error { return m.readCSV(counted, im.refuse, emit) }, nil
}

type countingReader struct {
	r io.Reader
	n *atomic.Int64
}

func (c *countingReader) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.n.Add(int64(n))
	return n, err
}

// load sends documents from as many goroutines as there are workers. Those with one id go
// through one goroutine, so that the last in the file wins.
func (im *importer) load(ctx context.Context, source func(emit func(record) error) error) error {
	im.began = time.Now()
	g, ctx := errgroup.WithContext(ctx)
	queues := make([]chan record, im.workers)
	for i := range queues {
		queues[i] = make(chan record, 16)
		g.Go(func() error { return im.work(ctx, queues[i]) })
	}
	stop := im.progress()
	defer stop()
	g.Go(func() error {
		defer func() {
			for _, q := range queues {
				close(q)
			}
		}()
		seed := maphash.MakeSeed()
		return source(func(r record) error {
			select {
			case queues[maphash.String(seed, r.collection+"/"+r.id)%uint64(len(queues))] <- r:
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		})
	})
	return g.Wait()
}

// sentLimit bounds what a worker remembers of what it sent.
const sentLimit = 1 << 18

func (im *importer) work(ctx context.Context, queue <-chan record) error {
	sent := map[string]uint64{} // the last body sent, by document
	seed := maphash.MakeSeed()
	for r := range queue {
		key, sum := r.collection+"/"+r.id, maphash.Bytes(seed, r.body)
		if r.id != "" && sent[key] == sum {
			continue
		}
		if err := im.send(ctx, r); err != nil {
			return err
		}
		if len(sent) >= sentLimit {
			clear(sent)
		}
		sent[key] = sum
	}
	return nil
}

// send writes one document; a refusal is reported, and what may pass is tried again.
func (im *importer) send(ctx context.Context, r record) error {
	method, path := http.MethodPut, "/v1/"+r.collection+"/"+url.PathEscape(r.id)
	if r.id == "" {
		method, path = http.MethodPost, "/v1/"+r.collection
	}
	for wait := 100 * time.Millisecond; ; wait *= 2 {
		resp, err := im.client.do(ctx, method, path, bytes.NewReader(r.body), header{"Content-Type": "application/json", "Prefer": "respond-async"})
		switch {
		case err == nil:
			im.written.Add(1)
			im.wrote(resp.Header.Get("Fanfold-Position"))
			_, err = io.Copy(io.Discard, resp.Body)
			return errors.Join(err, resp.Body.Close())
		case fanfold.CodeOf(err) == fanfold.Unavailable && r.id != "" && wait < 10*time.Second:
			select {
			case <-time.After(wait):
			case <-ctx.Done():
				return ctx.Err()
			}
		case fanfold.CodeOf(err) == fanfold.Unavailable, fanfold.CodeOf(err) == fanfold.OutcomeUnknown, ctx.Err() != nil:
			return err
		default:
			im.refuse(r.line, message(err))
			return nil
		}
	}
}

func (im *importer) refuse(line int, reason string) {
	im.refused.Add(1)
	im.mu.Lock()
	defer im.mu.Unlock()
	fmt.Fprintf(im.stderr, "line %d: %s\n", line, reason)
}

func (im *importer) wrote(position string) {
	p, err := fanfold.ParsePosition(position)
	if err != nil {
		return
	}
	im.mu.Lock()
	defer im.mu.Unlock()
	im.last = max(im.last, p)
}

// settle waits until the server shows everything that was written.
func (im *importer) settle(ctx context.Context) error {
	if im.last == 0 {
		return nil
	}
	resp, err := im.client.do(ctx, http.MethodGet, "/v1/_model?consistency=local", nil, header{"Fanfold-Min-Position": im.last.String(), "Fanfold-Timeout": "60"})
	if err != nil {
		return err
	}
	return resp.Body.Close()
}

// progress shows rate and time left on a terminal; the function it returns ends that.
func (im *importer) progress() (stop func()) {
	if !onTerminal() {
		return func() {}
	}
	end, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		tick := time.NewTicker(200 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				fmt.Fprint(im.stderr, "\r\033[K"+im.progressLine())
			case <-end:
				fmt.Fprint(im.stderr, "\r\033[K")
				return
			}
		}
	}()
	return func() {
		close(end)
		<-done
	}
}

func (im *importer) progressLine() string {
	took := time.Since(im.began)
	line := fmt.Sprintf("%d documents, %.0f/s", im.written.Load(), float64(im.written.Load())/took.Seconds())
	if read := im.read.Load(); im.size > 0 && read > 0 {
		left := time.Duration(float64(took) * float64(im.size-read) / float64(read))
		line += fmt.Sprintf(", %d%%, %s left", 100*read/im.size, left.Round(time.Second))
	}
	return line
}

// idOf is the id in a document's text, "" where it has none; the error says it is not JSON.
func idOf(body []byte) (string, error) {
	if err := jsondoc.Check(body, fanfold.DefaultMaxDepth); err != nil {
		return "", err
	}
	t := jsondoc.MustParse(body)
	return t.Text(t.Member(jsondoc.Root, "id")), nil
}
