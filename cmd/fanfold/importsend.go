package main

import (
	"context"
	"errors"
	"io"
	"sync/atomic"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/client"
)

// linesFunc writes the lines of an import.
type linesFunc func(w io.Writer) error

// send streams the lines to the server, which has the first done, and prints what it says of refused ones meanwhile.
// It returns once the server has ended the import. The error is Invalid where the lines cannot be read, and
// Unavailable where the server went away.
func (im *importer) send(ctx context.Context, src *source, lines linesFunc, done int) (result importResult, err error) {
	body := startPipe(lines)
	defer func() {
		if failed := body.stop(); failed != nil { // which is why the server ended
			err = failed
		}
	}()
	r, err := im.client.Import(ctx, body, im.options(src, done))
	var failure *client.Error
	switch {
	case err == nil:
		return importResult{Written: r.Written, Refused: r.Refused, Position: r.Position, Folded: r.Folded, Late: r.Late}, nil
	case ctx.Err() != nil:
		return result, ctx.Err()
	case !errors.As(err, &failure):
		return result, err
	case failure.Code == client.NoAnswer && (r.Begun || body.taken.Load()): // what was taken may be stored without an answer
		return result, fanfold.Wrap(err, fanfold.Unavailable,
			"the server went away after line %d: when it is back, %s", r.Line, im.howToGoOn())
	case !r.Begun:
		return result, err
	}
	return result, fanfold.Wrap(err, fanfold.Code(failure.Code),
		"the import ended after line %d: %s; %s", r.Line, failure.Detail, im.howToGoOn())
}

// howToGoOn tells what to do about an import that was cut off.
func (im *importer) howToGoOn() string {
	if im.id == "" {
		return "send what is missing; an import of standard input that has an --id can be run again with --resume"
	}
	return "run this again with --resume"
}

// options returns how an import goes with done lines stored.
func (im *importer) options(src *source, done int) client.ImportOptions {
	opt := client.ImportOptions{AllowFanout: im.allowFanout, AllowRemoval: im.allowRemoval, Restore: im.restore,
		Refused: func(r client.Refusal) { im.refusals.add(im.stderr, r) }, Progress: im.progress.stored}
	if src.raw {
		opt.Collection = im.collection
	}
	if im.id != "" {
		opt.ID, opt.Resume, opt.First = im.id, im.resume, done+1
	}
	return opt
}

// linePipe is a request's body, to which a goroutine writes lines.
type linePipe struct {
	r      *io.PipeReader
	failed chan error   // holds the error for which the lines ended early, if any
	taken  *atomic.Bool // some of them were read, and perhaps sent
}

// Read reads lines, and notes that.
func (p linePipe) Read(b []byte) (n int, err error) {
	if n, err = p.r.Read(b); n > 0 {
		p.taken.Store(true)
	}
	return n, err
}

// startPipe starts to write the lines; stop ends that.
func startPipe(lines linesFunc) linePipe {
	r, w := io.Pipe()
	p := linePipe{r: r, failed: make(chan error, 1), taken: &atomic.Bool{}}
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
