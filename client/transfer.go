package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/fanfold/fanfold/internal/wire"
)

// ImportOptions say how an import goes. The zero value works.
type ImportOptions struct {
	// Collection says where the documents go, one a line. If it is "", each line says so, as an export has it:
	// {"collection":"...","doc":{...}}.
	Collection string
	// ID names the import, so that it can be resumed: each line is stored exactly once. Resume goes on with it. First is
	// then the number of the first line that you send, counted from 1: one more than the Line of ImportProgress.
	ID          string
	Resume      bool
	First       int
	AllowFanout bool // load also what changes more documents than the model's fanout.limit
	// AllowRemoval lets a model among the lines take rules and guards away.
	AllowRemoval bool
	// Restore keeps the numbers of sequences that documents come with. It needs the role admin.
	Restore  bool
	Refused  func(r Refusal)      // called for each line that is refused; the others are stored
	Progress func(p ImportResult) // called now and then
}

// Refusal tells why a line of an import was not stored.
type Refusal struct {
	Line   int
	Status int
	Code   Code
	Detail string
}

// ImportResult tells how far an import is.
type ImportResult struct {
	Line             int // up to which every line is stored or refused
	Written, Refused int
	Position         string
	Begun            bool `json:"-"` // the server has begun to take lines
	// Folded says that the node shows everything, and all copies. Otherwise, where there is no error, everything is stored for
	// good and will be shown, and Late says why it is not yet.
	Folded bool   `json:"-"`
	Late   string `json:"-"`
}

// Import sends lines of NDJSON, in order, until they end, and returns what was made of them. It blocks until the server
// has stored all, and until it has folded it, for a minute at most: Folded says whether it has. An import is not tried
// again by itself: with an ID you resume it after result.Line, which comes with an error, too. Errors are Conflict where
// an import with the ID is running, the reader's, NoAnswer where the connection broke, and what ended the import. If it
// ended before the lines did, the reader may be in a Read still.
func (c *Client) Import(ctx context.Context, lines io.Reader, opt ImportOptions) (result ImportResult, err error) {
	if opt.First > 0 {
		result.Line = opt.First - 1
	}
	body := &importBody{lines: lines}
	resp, failure := c.open(ctx, importRequest(opt), body)
	if failure != nil {
		return result, body.cause(ctx, failure)
	}
	defer resp.Body.Close()
	result.Begun = true
	result, err = readImport(json.NewDecoder(&boundedLines{r: resp.Body, limit: maxProblem}), result, opt)
	if err != nil {
		return result, body.cause(ctx, err)
	}
	c.latest.see(result.Position)
	return result, nil
}

// importRequest returns the request of an import.
func importRequest(opt ImportOptions) *request {
	r := newRequest(http.MethodPost, "/v1/_import")
	r.header.Set("Content-Type", "application/x-ndjson")
	if opt.Collection != "" {
		r.query.Set("collection", opt.Collection)
	}
	if opt.AllowFanout {
		r.query.Set("allowFanout", "true")
	}
	if opt.Restore {
		r.query.Set("restore", "true")
	}
	if opt.AllowRemoval {
		r.query.Set("allowRemoval", "true")
	}
	if opt.ID != "" {
		r.query.Set("id", opt.ID)
		r.query.Set("resume", strconv.FormatBool(opt.Resume))
	}
	if opt.First > 0 {
		r.query.Set("first", strconv.Itoa(opt.First))
	}
	return r
}

// readImport reads the answer to an import to its end.
func readImport(in *json.Decoder, result ImportResult, opt ImportOptions) (ImportResult, error) {
	for {
		var l struct { // a wire.ImportRefusal, a wire.ImportState or a wire.ImportSummary, which has most of their members
			wire.ImportSummary
			Done     *bool              `json:"done"`
			Position string             `json:"position"`
			Progress *wire.ImportCounts `json:"progress"`
		}
		if err := in.Decode(&l); errors.Is(err, AnswerLimit) {
			return result, err
		} else if err != nil {
			return result, &Error{Code: NoAnswer, Err: err, Detail: fmt.Sprintf("the server went away after line %d", result.Line)}
		}
		code := Code(strings.TrimPrefix(l.Type, problemPrefix))
		switch {
		case l.Done != nil:
			result = ImportResult{Line: l.Line, Written: l.Written, Refused: l.Refused, Position: l.Position, Begun: true}
			if !*l.Done {
				return result, &Error{Status: l.Status, Code: code, Detail: l.Detail}
			}
			if result.Folded = l.Folded == nil || *l.Folded; !result.Folded {
				result.Late = l.Detail
			}
			return result, nil
		case l.Progress != nil:
			result = ImportResult{Line: l.Progress.Line, Written: l.Progress.Written, Refused: l.Progress.Refused, Position: l.Position, Begun: true}
			if opt.Progress != nil {
				opt.Progress(result)
			}
		case opt.Refused != nil:
			opt.Refused(Refusal{Line: l.Line, Status: l.Status, Code: code, Detail: l.Detail})
		}
	}
}

// importBody is what an import sends. It keeps the error for which the lines ended early.
type importBody struct {
	lines  io.Reader
	failed atomic.Pointer[error]
}

// Read implements io.Reader.
func (b *importBody) Read(p []byte) (int, error) {
	n, err := b.lines.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		b.failed.Store(&err)
	}
	return n, err
}

// cause returns the error of an import that err ended: the error of the lines, or of ctx, if one of them was the reason.
func (b *importBody) cause(ctx context.Context, err error) error {
	if failed := b.failed.Load(); failed != nil {
		return fmt.Errorf("the lines cannot be read: %w", *failed)
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return err
}

// boundedLines reads lines of at most limit bytes.
type boundedLines struct {
	r     io.Reader
	limit int
	line  int // bytes since the last line break
}

// Read implements io.Reader. The error is an *Error after a line that is too long.
func (b *boundedLines) Read(p []byte) (int, error) {
	n, err := b.r.Read(p)
	for _, c := range p[:n] {
		if b.line++; c == '\n' {
			b.line = 0
		}
	}
	if b.line > b.limit {
		return n, tooLong(b.limit)
	}
	return n, err
}

// ImportProgress returns how far the import with an ID is. The error is NotFound where the server has none of it.
func (c *Client) ImportProgress(ctx context.Context, id string) (ImportResult, error) {
	r := newRequest(http.MethodGet, "/v1/_import")
	r.query.Set("id", id)
	var p ImportResult
	return p, c.sendJSON(ctx, r, &p)
}

// Export is an export that is being read. The caller closes it. A Read before the last line fails where the connection
// breaks, so that an export that was cut does not look whole.
type Export struct {
	io.ReadCloser
	Position string // all of the export shows this prefix of the log
}

// Export returns the model and all documents as they were written, as lines of NDJSON that Import takes. If you name
// collections, it returns their documents alone. It blocks until the server begins to send.
func (c *Client) Export(ctx context.Context, collections ...string) (*Export, error) {
	return c.ExportAs(ctx, collections)
}

// ExportAs is Export under options that say how fresh it is to be, such as Strong.
func (c *Client) ExportAs(ctx context.Context, collections []string, opts ...ReadOption) (*Export, error) {
	r := readRequest("/v1/_export", opts)
	c.joinSession(r)
	if len(collections) > 0 {
		r.query.Set("collections", strings.Join(collections, ","))
	}
	resp, failure := c.open(ctx, r, nil) //nolint:bodyclose // the caller closes it
	if failure != nil {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return nil, failure
	}
	c.latest.see(resp.Header.Get(headerPosition))
	return &Export{ReadCloser: resp.Body, Position: resp.Header.Get(headerPosition)}, nil
}

// Backup is a backup that is being read: a tar of segments of events, whose last file is a manifest. The caller closes it. A Read before
// the end fails where the connection breaks.
type Backup struct {
	io.ReadCloser
	Position string // up to which the backup goes
}

// HasBase says, to Backup alone, up to which event the base stands that the caller has, so that it does not come again.
func HasBase(event uint64) ReadOption {
	return func(r *request) { r.query.Set("base", strconv.FormatUint(event, 10)) }
}

// Backup returns every event after a position, "" for all of them, in the format that fanfold backup writes and fanfold restore reads. From a
// store that begins later than that, everything from there on comes, with the base, which has what was before. The key needs the role admin. It blocks until the server begins to send.
func (c *Client) Backup(ctx context.Context, after string, opts ...ReadOption) (*Backup, error) {
	r := readRequest("/v1/_backup", opts)
	if after != "" {
		r.query.Set("after", after)
	}
	resp, failure := c.open(ctx, r, nil) //nolint:bodyclose // the caller closes it
	if failure != nil {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return nil, failure
	}
	return &Backup{ReadCloser: resp.Body, Position: resp.Header.Get(headerPosition)}, nil
}
