package changefeed

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/fanfold/fanfold"
)

// events serves server-sent events (WHATWG HTML, 9.2): each change under its position as id,
// and, when it has been quiet for a heartbeat, the position alone.
func (f *Feed) events(ctx context.Context, w http.ResponseWriter, req *request) error {
	s := &scan{store: f.store, req: req, at: req.since}
	o := &stream{w: w, feed: f, control: http.NewResponseController(w)}
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("Fanfold-Position", req.since.String())
	w.Header().Set("X-Accel-Buffering", "no")
	w.WriteHeader(http.StatusOK)
	if err := o.flush(); err != nil {
		return nil //nolint:nilerr // the client is gone, and there is nobody to tell
	}
	beat := time.NewTicker(req.heartbeat)
	defer beat.Stop()
	for {
		sent := s.sent
		err := s.run(ctx, func(row fanfold.ChangeRow) error { return o.row(row, req) })
		if err == nil || errors.Is(err, errLimit) {
			err = errors.Join(err, o.flush())
		}
		if err != nil {
			return nil //nolint:nilerr // the client is gone, the limit reached, or the feed closed; each ends the stream
		}
		if s.sent > sent {
			beat.Reset(req.heartbeat)
		}
		select {
		case <-f.store.Changed(s.at.Seq()):
			if f.store.Wait(ctx, s.at.Seq()+1) != nil && !f.pause(ctx, beat.C, o, s) {
				return nil
			}
		case <-beat.C:
			if o.heartbeat(s.at) != nil {
				return nil
			}
		case <-ctx.Done():
			return nil
		}
	}
}

// pause waits a heartbeat while the projector is stopped; false ends the stream.
func (f *Feed) pause(ctx context.Context, beat <-chan time.Time, o *stream, s *scan) bool {
	select {
	case <-beat:
		return o.heartbeat(s.at) == nil
	case <-ctx.Done():
		return false
	}
}

// stream writes events to one client. A client that does not read for the write timeout loses
// its connection; what it costs until then is one buffer.
type stream struct {
	w       http.ResponseWriter
	feed    *Feed
	control *http.ResponseController
	buf     []byte
}

func (o *stream) row(row fanfold.ChangeRow, req *request) error {
	o.buf = append(o.buf, "id: "+row.Position.String()+"\nevent: change\ndata: "...)
	o.buf = append(appendRow(o.buf, row, req.all), "\n\n"...)
	if len(o.buf) > flushAt {
		return o.flush()
	}
	return nil
}

func (o *stream) heartbeat(at fanfold.Position) error {
	o.buf = append(o.buf, "id: "+at.String()+"\nevent: heartbeat\ndata: {\"last_seq\":\""+at.String()+"\"}\n\n"...)
	return o.flush()
}

func (o *stream) flush() error {
	if err := o.feed.deadline(o.control); err != nil {
		return err
	}
	_, err := o.w.Write(o.buf)
	o.buf = o.buf[:0]
	if err != nil {
		return err
	}
	return o.control.Flush()
}
