package changefeed

import (
	"context"
	"net/http"
	"time"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/internal/sending"
)

// serveEventStream sends server-sent events (WHATWG HTML, 9.2) until the client leaves, the limit
// is reached or the feed is closed: each change with its position as id, and after each quiet
// heartbeat interval the position alone. Its error is always nil, because the answer has begun.
func (f *Feed) serveEventStream(ctx context.Context, w http.ResponseWriter, req *request) error {
	s := f.newScan(req)
	o := &eventWriter{w: w, feed: f, control: http.NewResponseController(w), scan: s}
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("Fanfold-Position", req.since.String())
	w.Header().Set("X-Accel-Buffering", "no")
	w.WriteHeader(http.StatusOK)
	o.buf.AddString(":\n\n") // a comment: a compressed answer does not begin before it has something
	if err := o.flush(); err != nil {
		return nil //nolint:nilerr // the client is gone, and there is nobody to tell
	}
	heartbeats := time.NewTicker(req.heartbeat)
	defer heartbeats.Stop()
	for {
		sent := s.sent
		if err := s.sendToHead(ctx, o); err != nil {
			return nil //nolint:nilerr // the client is gone, the limit reached, or the feed closed; each ends the stream
		}
		if s.sent > sent {
			heartbeats.Reset(req.heartbeat)
		}
		select {
		case <-f.store.Changed(s.at.Seq()):
			if f.store.Wait(ctx, s.at.Seq()+1) != nil && !awaitHeartbeat(ctx, heartbeats.C, o) {
				return nil
			}
		case <-heartbeats.C:
			if o.alive() != nil {
				return nil
			}
		case <-ctx.Done():
			return nil
		}
	}
}

// awaitHeartbeat sends the next heartbeat when it is due, for a time when nothing is folded. It
// reports whether the stream goes on.
func awaitHeartbeat(ctx context.Context, heartbeats <-chan time.Time, o *eventWriter) bool {
	select {
	case <-heartbeats:
		return o.alive() == nil
	case <-ctx.Done():
		return false
	}
}

// eventWriter writes events to one client. A client that does not read for the write timeout loses
// its connection; until then it costs the page that is being sent.
type eventWriter struct {
	w       http.ResponseWriter
	feed    *Feed
	control *http.ResponseController
	scan    *scan
	buf     sending.Buffer
}

// row adds one change.
func (o *eventWriter) row(row fanfold.ChangeRow) error {
	o.buf.AddString("id: " + row.Position.String() + "\nevent: change\ndata: ")
	addRow(&o.buf, row, o.scan.req.allChanges)
	o.buf.AddString("\n\n")
	return nil
}

// alive sends a heartbeat: an event that has a position alone, so that a consumer whose filter matches
// nothing can still save where it is.
func (o *eventWriter) alive() error {
	at := o.scan.at.String()
	o.buf.AddString("id: " + at + "\nevent: heartbeat\ndata: {\"last_seq\":\"" + at + "\"}\n\n")
	return o.flush()
}

// flush sends what is buffered. It blocks until the client has room for it, or the write deadline.
func (o *eventWriter) flush() error {
	if err := o.feed.write(&o.buf, o.w, o.control); err != nil {
		return err
	}
	return o.control.Flush()
}
