package changefeed

import (
	"context"
	"errors"
	"net/http"
	"strconv"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/internal/jsondoc"
)

// serveOnce answers with the changes that there are now, as one JSON object.
func (f *Feed) serveOnce(ctx context.Context, w http.ResponseWriter, s *scan) error {
	out := newJSONWriter(f, w, s)
	err := s.sendToHead(ctx, out)
	return out.finish(s, err)
}

// serveLongPoll waits for the first change that the consumer asks about, or for the request's
// timeout, and answers as serveOnce does.
func (f *Feed) serveLongPoll(ctx context.Context, w http.ResponseWriter, s *scan) error {
	out := newJSONWriter(f, w, s)
	limited, cancel := context.WithTimeout(ctx, s.req.timeout)
	defer cancel()
	for {
		err := s.sendToHead(ctx, out)
		if errors.Is(err, context.Canceled) && s.sent == 0 { // closed, or the client is gone
			return out.finish(s, nil)
		}
		if err != nil || s.sent > 0 {
			return out.finish(s, err)
		}
		if !f.awaitMore(ctx, limited, s) {
			return out.finish(s, nil)
		}
	}
}

// awaitMore blocks until there is more after the scan's head. It returns false where the answer is to be given before that:
// limited has ended, or the consumer has lost its rights.
func (f *Feed) awaitMore(ctx, limited context.Context, s *scan) bool {
	for more := f.store.Changed(s.head.Seq()); ; {
		select {
		case <-more:
			if f.store.Wait(ctx, s.head.Seq()+1) == nil {
				return true
			}
			more = nil // nothing more is folded for now
		case <-s.rightsChanged:
			if s.checkRights() != nil {
				return false
			}
		case <-limited.Done():
			return false
		}
	}
}

// jsonWriter writes one JSON answer piece by piece, so that an event with a million rows needs no
// more memory than a page of them.
type jsonWriter struct {
	httpWriter
	req       *request
	separator string // before the next row
	started   bool
}

// newJSONWriter returns a writer of one answer to w.
func newJSONWriter(f *Feed, w http.ResponseWriter, s *scan) *jsonWriter {
	return &jsonWriter{httpWriter: newHTTPWriter(f, w, s), req: s.req, separator: `{"results":[`}
}

// row adds one row of the answer.
func (o *jsonWriter) row(row fanfold.ChangeRow) error {
	o.buf.AddString(o.separator + "\n")
	o.separator = ","
	addRow(&o.buf, row, o.req.issuer, o.req)
	return nil
}

// alive does nothing: nothing can be sent between two rows.
func (o *jsonWriter) alive() error { return nil }

// flush sends what is buffered. It blocks until the client has room for it, or the write deadline.
func (o *jsonWriter) flush() error {
	if !o.started {
		o.started = true
		o.w.Header().Set("Content-Type", "application/json")
	}
	return o.write()
}

// finish ends the answer. An error from before anything was sent is returned for the caller to
// answer. After that it aborts the connection by a panic with http.ErrAbortHandler, because an
// answer that was cut must not look whole. An answer that ends before its time has what there was
// until then. The consumer has lost its rights, changes that follow are no longer kept, or much was looked at. One that would have had everything says so.
func (o *jsonWriter) finish(s *scan, err error) error {
	end := endOf(err)
	if end != "" && s.sent == 0 && fanfold.CodeOf(err) == fanfold.PositionGone { // the client is told by the status
		return err
	}
	if err != nil && end == "" && !errors.Is(err, errLimitReached) {
		if o.started {
			panic(http.ErrAbortHandler)
		}
		return err
	}
	if s.sent == 0 {
		o.buf.AddString(`{"results":[`)
	}
	o.buf.AddString("\n]")
	if s.sent == 0 && s.noValue > 0 {
		o.buf.AddString(`,"noValue":` + strconv.Itoa(s.noValue))
	}
	for i, name := range o.req.Unknown {
		separator := ","
		if i == 0 {
			separator = `,"unknown":[`
		}
		o.buf.AddString(separator)
		o.buf.Add(jsondoc.AppendQuote(nil, name))
	}
	if len(o.req.Unknown) > 0 {
		o.buf.AddString("]")
	}
	o.buf.AddString("," + s.lastSeqMembers() + s.pendingMember())
	if end != "" && o.req.Transport == Normal {
		o.buf.AddString("," + end)
	}
	o.buf.AddString("}\n")
	if err := o.flush(); err != nil {
		panic(http.ErrAbortHandler)
	}
	return nil
}
