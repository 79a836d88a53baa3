package changefeed

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/fanfold/fanfold"
)

// serveEventStream sends server-sent events (WHATWG HTML, 9.2) until the client leaves, the limit
// is reached or the feed is closed: each change with its position as id, and after each quiet
// heartbeat interval the position alone. Its error is always nil, because the answer has begun.
func (f *Feed) serveEventStream(ctx context.Context, w http.ResponseWriter, req *request) error {
	s := &scan{store: f.store, req: req, at: req.since}
	o := &eventWriter{w: w, feed: f, control: http.NewResponseController(w)}
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("Fanfold-Position", req.since.String())
	w.Header().Set("X-Accel-Buffering", "no")
	w.WriteHeader(http.StatusOK)
	if err := o.flush(); err != nil {
		return nil //nolint:nilerr // the client is gone, and there is nobody to tell
	}
	heartbeats := time.NewTicker(req.heartbeat)
	defer heartbeats.Stop()
	for {
		sent := s.sent
		err := s.sendToHead(ctx, func(row fanfold.ChangeRow) error { return o.writeRow(row, req) })
		if err == nil || errors.Is(err, errLimitReached) {
			err = errors.Join(err, o.flush())
		}
		if err != nil {
			return nil //nolint:nilerr // the client is gone, the limit reached, or the feed closed; each ends the stream
		}
		if s.sent > sent {
			heartbeats.Reset(req.heartbeat)
		}
		select {
		case <-f.store.Changed(s.at.Seq()):
			if f.store.Wait(ctx, s.at.Seq()+1) != nil && !f.awaitHeartbeat(ctx, heartbeats.C, o, s) {
				return nil
			}
		case <-heartbeats.C:
			if o.writeHeartbeat(s.at) != nil {
				return nil
			}
		case <-ctx.Done():
			return nil
		}
	}
}

// awaitHeartbeat sends the next heartbeat when it is due, for a time when nothing is folded. It
// reports whether the stream goes on.
func (f *Feed) awaitHeartbeat(ctx context.Context, heartbeats <-chan time.Time, o *eventWriter, s *scan) bool {
	select {
	case <-heartbeats:
		return o.writeHeartbeat(s.at) == nil
	case <-ctx.Done():
		return false
	}
}

// eventWriter writes events to one client. A client that does not read for the write timeout loses
// its connection; until then it costs one buffer.
type eventWriter struct {
	w       http.ResponseWriter
	feed    *Feed
	control *http.ResponseController
	buf     []byte
}

// writeRow writes one change.
func (o *eventWriter) writeRow(row fanfold.ChangeRow, req *request) error {
	o.buf = append(o.buf, "id: "+row.Position.String()+"\nevent: change\ndata: "...)
	o.buf = append(appendRow(o.buf, row, req.allChanges), "\n\n"...)
	if len(o.buf) > flushSize {
		return o.flush()
	}
	return nil
}

// writeHeartbeat sends an event that has a position alone, so that a consumer whose filter matches
// nothing can still save where it is.
func (o *eventWriter) writeHeartbeat(at fanfold.Position) error {
	o.buf = append(o.buf, "id: "+at.String()+"\nevent: heartbeat\ndata: {\"last_seq\":\""+at.String()+"\"}\n\n"...)
	return o.flush()
}

// flush sends what is buffered. It blocks until the client has room for it, or the write deadline.
func (o *eventWriter) flush() error {
	if err := o.feed.extendWriteDeadline(o.control); err != nil {
		return err
	}
	_, err := o.w.Write(o.buf)
	o.buf = o.buf[:0]
	if err != nil {
		return err
	}
	return o.control.Flush()
}
