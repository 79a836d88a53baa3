package changefeed

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"time"

	"github.com/fanfold/fanfold"
)

// answer writes what there is now as one JSON object.
func (f *Feed) answer(ctx context.Context, w http.ResponseWriter, req *request) error {
	s := &scan{store: f.store, req: req, at: req.since}
	out := newWriter(f, w)
	err := s.run(ctx, out.row(req))
	return out.finish(s, err)
}

// longpoll waits for the first change that the consumer asks about, or its timeout.
func (f *Feed) longpoll(ctx context.Context, w http.ResponseWriter, req *request) error {
	s := &scan{store: f.store, req: req, at: req.since}
	out := newWriter(f, w)
	timeout := time.NewTimer(req.timeout)
	defer timeout.Stop()
	for {
		err := s.run(ctx, out.row(req))
		if errors.Is(err, context.Canceled) && s.sent == 0 { // closed, or the client is gone
			return out.finish(s, nil)
		}
		if err != nil || s.sent > 0 {
			return out.finish(s, err)
		}
		select {
		case <-f.store.Changed(s.at.Seq()):
			if err := f.store.Wait(ctx, s.at.Seq()+1); err != nil { // nothing more is folded for now
				select {
				case <-timeout.C:
				case <-ctx.Done():
				}
				return out.finish(s, nil)
			}
		case <-timeout.C:
			return out.finish(s, nil)
		case <-ctx.Done():
			return out.finish(s, nil)
		}
	}
}

// writer writes one JSON answer piece by piece, so that an event with a million rows needs no
// more memory than a page of them.
type writer struct {
	w       http.ResponseWriter
	feed    *Feed
	control *http.ResponseController
	buf     []byte
	begun   bool
}

const flushAt = 64 << 10 // bytes

func newWriter(f *Feed, w http.ResponseWriter) *writer {
	return &writer{w: w, feed: f, control: http.NewResponseController(w)}
}

func (o *writer) row(req *request) func(fanfold.ChangeRow) error {
	separator := `{"results":[`
	return func(row fanfold.ChangeRow) error {
		o.buf = append(o.buf, separator...)
		separator = ","
		o.buf = appendRow(append(o.buf, '\n'), row, req.all)
		if len(o.buf) > flushAt {
			return o.flush()
		}
		return nil
	}
}

func (o *writer) flush() error {
	if !o.begun {
		o.begun = true
		o.w.Header().Set("Content-Type", "application/json")
	}
	if err := o.feed.deadline(o.control); err != nil {
		return err
	}
	_, err := o.w.Write(o.buf)
	o.buf = o.buf[:0]
	return err
}

// finish closes the answer. An error before anything was written is the caller's to tell; one
// afterwards aborts the connection, for a cut answer must not look whole.
func (o *writer) finish(s *scan, err error) error {
	if err != nil && !errors.Is(err, errLimit) {
		if o.begun {
			panic(http.ErrAbortHandler)
		}
		return err
	}
	if len(o.buf) == 0 && !o.begun {
		o.buf = append(o.buf, `{"results":[`...)
	}
	o.buf = append(o.buf, "\n],\"last_seq\":\""+s.at.String()+"\",\"pending\":"+strconv.FormatInt(s.pending, 10)+"}\n"...)
	if err := o.flush(); err != nil {
		panic(http.ErrAbortHandler)
	}
	return nil
}
