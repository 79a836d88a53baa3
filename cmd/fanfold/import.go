package main

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"

	"github.com/fanfold/fanfold"
)

func importCommand() *cobra.Command {
	im := &importer{}
	cmd := &cobra.Command{
		Use:   "import FILE",
		Short: "Load documents from NDJSON, from an export, or from CSV with a mapping file",
		Long: `Load documents from a file, or from standard input where FILE is -.

NDJSON has one document a line; --collection says where they go. Without it each line says so
itself: {"collection":"...","doc":{...}}, as fanfold export writes it. A document with an id
replaces the one that is there; without, it gets a new id.

CSV has a header line. The mapping file (YAML) says what becomes of each row: a list of
  collection: where the documents go
  documents:  a CEL expression over doc, the row (all members are strings), that gives an
              object or a list of objects
Documents that a file gives several times over, byte for byte, are sent once.

A line that is refused is reported with its number, and the rest goes on; the exit code is
then 1. An import that was cut short goes on where it was with --resume: every line is loaded
exactly once. Standard input needs an --id for that.`,
		Example: "  fanfold import --collection books books.ndjson\n  fanfold import --mapping mapping.yaml books.csv\n  fanfold import --resume --collection books books.ndjson",
		Args:    cobra.ExactArgs(1),
	}
	im.client = serverFlag(cmd)
	f := cmd.Flags()
	f.StringVar(&im.collection, "collection", "", "where the documents of NDJSON go")
	f.StringVar(&im.mapping, "mapping", "", "mapping file for CSV")
	f.BoolVar(&im.resume, "resume", false, "go on with an import that was cut short")
	f.StringVar(&im.id, "id", "", "name of the import, for --resume (default: made from the file and the flags)")
	f.BoolVar(&im.json, "json", false, "print the result as JSON")
	cmd.RunE = func(cmd *cobra.Command, args []string) error { return im.run(cmd, args[0]) }
	return cmd
}

// importer sends a file to a server as one stream of lines.
type importer struct {
	client     *client
	collection string
	mapping    string
	resume     bool
	id         string
	json       bool

	stderr  io.Writer
	size    int64 // of the file; 0 where it is not known
	read    atomic.Int64
	written atomic.Int64
	began   time.Time
}

// errRefused makes the exit code 1 after everything else was loaded.
var errRefused = errors.New("some documents were refused; the others are loaded")

// importResult is what the command prints.
type importResult struct {
	Written  int     `json:"written"`
	Refused  int     `json:"refused"`
	Seconds  float64 `json:"seconds"`
	Position string  `json:"position"`
}

func (im *importer) run(cmd *cobra.Command, path string) error {
	im.stderr = cmd.ErrOrStderr()
	im.began = time.Now()
	result, err := im.load(cmd, path)
	for wait := 100 * time.Millisecond; im.resume && path != "-" && fanfold.CodeOf(err) == fanfold.Conflict && wait < 5*time.Second; wait *= 2 {
		time.Sleep(wait) // what the import was cut short with may still be on its way
		result, err = im.load(cmd, path)
	}
	if err != nil {
		return err
	}
	result.Seconds = time.Since(im.began).Seconds()
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

// load sends the file, or what is left of it.
func (im *importer) load(cmd *cobra.Command, path string) (result importResult, err error) {
	in, err := im.open(cmd, path)
	if err != nil {
		return result, err
	}
	defer in.Close()
	done, err := im.done(cmd.Context())
	if err != nil {
		return result, err
	}
	lines, err := im.lines(in, done)
	if err != nil {
		return result, err
	}
	defer im.progress()()
	return im.send(cmd.Context(), lines, done)
}

func (im *importer) open(cmd *cobra.Command, path string) (io.ReadCloser, error) {
	if im.collection != "" && im.mapping != "" {
		return nil, fanfold.Errorf(fanfold.Invalid, "--collection is for NDJSON and --mapping for CSV: give one of them")
	}
	if im.collection != "" {
		if err := fanfold.CheckCollection(im.collection); err != nil {
			return nil, err
		}
	}
	if path == "-" {
		if im.resume && im.id == "" {
			return nil, fanfold.Errorf(fanfold.Invalid, "--resume of standard input needs the --id that the import was started with")
		}
		return io.NopCloser(cmd.InOrStdin()), nil
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, fanfold.Wrap(err, fanfold.Invalid, "cannot read the file: %v", err)
	}
	info, err := f.Stat()
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	if info.Mode().IsRegular() {
		im.size = info.Size()
		if im.id == "" {
			if im.id, err = im.name(f); err != nil {
				return nil, errors.Join(err, f.Close())
			}
		}
	}
	return f, nil
}

// name makes the import's id from the flags and the file's size, beginning and end.
func (im *importer) name(f *os.File) (string, error) {
	const part = 256 << 10
	h := sha256.New()
	fmt.Fprintf(h, "%q %d ", im.collection, im.size)
	if im.mapping != "" {
		text, err := os.ReadFile(im.mapping)
		if err != nil {
			return "", fanfold.Wrap(err, fanfold.Invalid, "cannot read the mapping: %v", err)
		}
		h.Write(text)
	}
	for _, from := range []int64{0, max(0, im.size-part)} {
		if _, err := io.Copy(h, io.NewSectionReader(f, from, part)); err != nil {
			return "", err
		}
	}
	return hex.EncodeToString(h.Sum(nil)[:16]), nil
}

// done asks the server how many lines of the import are stored already.
func (im *importer) done(ctx context.Context) (lines int, err error) {
	if !im.resume {
		return 0, nil
	}
	var p struct{ Line, Written, Refused int }
	err = im.client.json(ctx, http.MethodGet, "/v1/_import?id="+url.QueryEscape(im.id), &p)
	switch fanfold.CodeOf(err) {
	case "":
		fmt.Fprintf(im.stderr, "going on after line %d\n", p.Line)
	case fanfold.NotFound: // it was cut short before anything was stored
		return 0, nil
	}
	return p.Line, err
}

// lines returns what writes the lines after the first skip ones.
func (im *importer) lines(in io.Reader, skip int) (func(w io.Writer) error, error) {
	counted := &countingReader{r: in, n: &im.read}
	if im.mapping == "" {
		return func(w io.Writer) error {
			r := bufio.NewReaderSize(counted, 256<<10)
			for range skip {
				if err := skipLine(r); err != nil {
					return err
				}
			}
			_, err := io.Copy(w, r)
			return err
		}, nil
	}
	m, err := readMapping(im.mapping)
	if err != nil {
		return nil, err
	}
	return func(w io.Writer) error {
		out := bufio.NewWriterSize(w, 64<<10)
		if err := m.readCSV(counted, &lineWriter{w: out, skip: skip}); err != nil {
			return err
		}
		return out.Flush()
	}, nil
}

func skipLine(r *bufio.Reader) error {
	for {
		_, err := r.ReadSlice('\n')
		if !errors.Is(err, bufio.ErrBufferFull) {
			if errors.Is(err, io.EOF) {
				err = nil
			}
			return err
		}
	}
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

// importLine is a line of the server's answer.
type importLine struct {
	Line             int
	Detail           string
	Done             *bool
	Written, Refused int
	Position         string
	Type             string
	Progress         *struct{ Line, Written, Refused int }
}

// send streams the lines to the server and reads what it says of them meanwhile.
func (im *importer) send(ctx context.Context, lines func(w io.Writer) error, done int) (result importResult, err error) {
	q := url.Values{}
	if im.collection != "" {
		q.Set("collection", im.collection)
	}
	if im.id != "" {
		q.Set("id", im.id)
		q.Set("resume", strconv.FormatBool(im.resume))
		q.Set("first", strconv.Itoa(done+1))
	}
	r, w := io.Pipe()
	reading := make(chan error, 1)
	go func() {
		err := lines(w)
		if err != nil && !errors.Is(err, io.ErrClosedPipe) {
			reading <- fanfold.Wrap(err, fanfold.Invalid, "cannot read the file: %s", message(err))
		}
		w.CloseWithError(err)
	}()
	defer func() {
		_ = r.Close() // ends lines
		select {
		case rerr := <-reading: // which is why the server ended
			err = rerr
		default:
		}
	}()
	resp, err := im.client.do(ctx, http.MethodPost, "/v1/_import?"+q.Encode(), r, header{"Content-Type": "application/x-ndjson"})
	if err != nil {
		return result, err
	}
	defer resp.Body.Close()
	dec := json.NewDecoder(resp.Body)
	stored := done
	for {
		var l importLine
		if err := dec.Decode(&l); err != nil {
			if ctx.Err() != nil {
				return result, ctx.Err()
			}
			return result, fanfold.Wrap(err, fanfold.Unavailable, "the server went away after line %d: when it is back, run this again with --resume", stored)
		}
		switch {
		case l.Done != nil && *l.Done:
			return importResult{Written: l.Written, Refused: l.Refused, Position: l.Position}, nil
		case l.Done != nil:
			code := fanfold.Code(strings.TrimPrefix(l.Type, "urn:fanfold:problem:"))
			return result, fanfold.Errorf(code, "the import ended after line %d: %s; run it again with --resume", l.Line, l.Detail)
		case l.Progress != nil:
			stored = l.Progress.Line
			im.written.Store(int64(l.Progress.Written))
		default:
			fmt.Fprintf(im.stderr, "line %d: %s\n", l.Line, l.Detail)
		}
	}
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
