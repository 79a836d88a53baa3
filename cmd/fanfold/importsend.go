package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"

	"github.com/fanfold/fanfold"
)

// importLine is a line of the server's answer: the refusal of a line, progress, or the end.
type importLine struct {
	Line             int
	Detail           string
	Done             *bool // at the end: whether the import came through
	Written, Refused int
	Position         string
	Type             string
	Progress         *struct{ Line, Written, Refused int }
}

// lineSource writes the lines of an import.
type lineSource func(w io.Writer) error

// send streams the lines to the server, of which it has the first done, and prints what it says of refused ones
// meanwhile. It returns once the server has ended the import. The error is Invalid where the lines cannot be read, and
// Unavailable where the server went away.
func (im *importer) send(ctx context.Context, lines lineSource, done int) (result importResult, err error) {
	body := startPipe(lines)
	defer func() {
		if failed := body.stop(); failed != nil { // which is why the server ended
			err = failed
		}
	}()
	path := "/v1/_import?" + im.query(done).Encode()
	resp, err := im.client.do(ctx, http.MethodPost, path, body.r, header{"Content-Type": "application/x-ndjson"})
	if err != nil {
		return result, err
	}
	defer resp.Body.Close()
	return im.readAnswer(ctx, resp.Body, done)
}

// query returns the parameters of an import of which done lines are stored.
func (im *importer) query(done int) url.Values {
	q := url.Values{}
	if im.collection != "" {
		q.Set("collection", im.collection)
	}
	if im.allowFanout {
		q.Set("allowFanout", "true")
	}
	if im.id != "" {
		q.Set("id", im.id)
		q.Set("resume", strconv.FormatBool(im.resume))
		q.Set("first", strconv.Itoa(done+1))
	}
	return q
}

// readAnswer reads the server's answer to its end. stored is how many lines the server has.
func (im *importer) readAnswer(ctx context.Context, body io.Reader, stored int) (result importResult, err error) {
	dec := json.NewDecoder(body)
	for {
		var l importLine
		if err := dec.Decode(&l); err != nil {
			if ctx.Err() != nil {
				return result, ctx.Err()
			}
			return result, fanfold.Wrap(err, fanfold.Unavailable,
				"the server went away after line %d: when it is back, run this again with --resume", stored)
		}
		switch {
		case l.Done != nil && *l.Done:
			return importResult{Written: l.Written, Refused: l.Refused, Position: l.Position}, nil
		case l.Done != nil:
			return result, fanfold.Errorf(codeOf(l.Type),
				"the import ended after line %d: %s; run it again with --resume", l.Line, l.Detail)
		case l.Progress != nil:
			stored = l.Progress.Line
			im.written.Store(int64(l.Progress.Written))
		default:
			fmt.Fprintf(im.stderr, "line %d: %s\n", l.Line, l.Detail)
		}
	}
}

// linePipe is a request's body that a goroutine writes lines to.
type linePipe struct {
	r      *io.PipeReader
	failed chan error // holds the error for which the lines ended early, if any
}

// startPipe starts to write the lines; stop ends that.
func startPipe(lines lineSource) linePipe {
	r, w := io.Pipe()
	p := linePipe{r: r, failed: make(chan error, 1)}
	go func() {
		err := lines(w)
		if err != nil && !errors.Is(err, io.ErrClosedPipe) {
			p.failed <- fanfold.Wrap(err, fanfold.Invalid, "cannot read the file: %s", message(err))
		}
		w.CloseWithError(err)
	}()
	return p
}

// stop ends the writing and returns the error for which it ended by itself.
func (p linePipe) stop() error {
	_ = p.r.Close() // never fails
	select {
	case err := <-p.failed:
		return err
	default:
		return nil
	}
}
