package changefeed

import (
	"cmp"
	"context"
	"encoding/base64"
	"errors"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/coder/websocket"
	"golang.org/x/net/http/httpguts"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/internal/sending"
)

// checkHandshake returns an Invalid where a request cannot become a WebSocket.
func checkHandshake(r *http.Request) error {
	keys := r.Header.Values("Sec-WebSocket-Key")
	if len(keys) == 1 && httpguts.HeaderValuesContainsToken(r.Header["Upgrade"], "websocket") && r.ProtoAtLeast(1, 1) && r.Header.Get("Sec-WebSocket-Version") == "13" &&
		httpguts.HeaderValuesContainsToken(r.Header["Connection"], "upgrade") {
		if key, err := base64.StdEncoding.DecodeString(strings.TrimSpace(keys[0])); err == nil && len(key) == 16 {
			return nil
		}
	}
	return fanfold.Errorf(fanfold.Invalid, "feed=websocket takes the handshake of a WebSocket (RFC 6455, 4.1) over HTTP/1.1: the headers Connection: Upgrade, "+
		"Upgrade: websocket, Sec-WebSocket-Version: 13 and Sec-WebSocket-Key; ask from where they are sent by a client for WebSockets")
}

// serveWebSocket makes the connection a WebSocket (RFC 6455) and sends a row a message, as JSON text. The caller has
// checked the page's origin. The error is Invalid, and means that the connection is as it was.
func (f *Feed) serveWebSocket(w http.ResponseWriter, r *http.Request, req *request) error {
	if err := checkHandshake(r); err != nil {
		return err
	}
	w.Header().Set("Fanfold-Position", req.issuer.Mark(req.since).String())
	conn, err := websocket.Accept(w, r, &websocket.AcceptOptions{InsecureSkipVerify: true})
	if err != nil {
		return nil //nolint:nilerr // it has answered
	}
	o := &messageWriter{conn: conn, feed: f, scan: f.newScan(req)}
	reading, stopReading := context.WithCancel(context.WithoutCancel(r.Context()))
	defer stopReading()
	o.cut = stopReading
	ctx, cancel := context.WithCancel(conn.CloseRead(reading)) // which ends with the connection
	defer cancel()
	defer context.AfterFunc(r.Context(), cancel)()
	var late context.CancelFunc
	o.writing, late = context.WithCancel(context.WithoutCancel(r.Context()))
	defer late()
	o.late = time.AfterFunc(f.opt.WriteTimeout, late)
	o.late.Stop()
	defer f.onClose(func() {
		o.late.Reset(closingWriteTimeout)
		cancel()
	})()
	f.stream(ctx, o.scan, o)
	o.pings.Wait()
	return nil
}

// messageWriter sends a row a message to one client. A client that does not read for the write timeout, or does not answer
// a ping for that long, loses its connection.
type messageWriter struct {
	conn    *websocket.Conn
	feed    *Feed
	scan    *scan
	writing context.Context // of writes
	late    *time.Timer     // ends writing
	cut     func()          // cuts the connection
	pinging atomic.Bool
	pings   sync.WaitGroup
}

// send sends a message.
func (o *messageWriter) send(text []byte) error {
	o.late.Reset(o.feed.writeTime())
	defer o.late.Stop()
	return o.conn.Write(o.writing, websocket.MessageText, text)
}

// row sends one change.
func (o *messageWriter) row(row fanfold.ChangeRow) error {
	var text sending.Buffer
	addRow(&text, row, o.scan.req.issuer, o.scan.req)
	if text.Len() <= writePiece {
		return o.send(text.Bytes())
	}
	w, err := o.conn.Writer(o.writing, websocket.MessageText)
	if err != nil {
		return err
	}
	defer o.late.Stop()
	next := func(int) error {
		o.late.Reset(o.feed.writeTime())
		return nil
	}
	return errors.Join(text.WriteTo(w, next), w.Close())
}

// share sends the rows of a piece.
func (o *messageWriter) share(p *piece, after fanfold.Position) error {
	for _, row := range p.rowsAfter(after) {
		if err := o.send(p.text[row.json:row.end]); err != nil {
			return err
		}
	}
	return nil
}

// flush does nothing: a message is sent at once.
func (o *messageWriter) flush() error { return nil }

// alive sends a heartbeat, and finds out whether the client is still there.
func (o *messageWriter) alive() error {
	if o.pinging.CompareAndSwap(false, true) {
		o.pings.Go(func() {
			defer o.pinging.Store(false)
			ctx, cancel := context.WithTimeout(o.writing, o.feed.writeTime())
			defer cancel()
			if o.conn.Ping(ctx) != nil {
				o.cut()
			}
		})
	}
	return o.send([]byte(o.scan.heartbeat()))
}

// finish tells the position, and closes the connection with the reason. It waits for the client's own close for a short
// time.
func (o *messageWriter) finish(err error) {
	defer time.AfterFunc(closingWriteTimeout, o.cut).Stop()
	code, reason, last := websocket.StatusInternalError, "the feed cannot be read now", o.scan.farewell(err)
	switch {
	case errors.Is(err, errRightsChanged):
		code, reason = websocket.StatusPolicyViolation, "the rights have changed"
	case last != "":
		code, reason = websocket.StatusPolicyViolation, "changes that follow are no longer kept"
	case errors.Is(err, errLimitReached):
		code, reason = websocket.StatusNormalClosure, "the limit is reached"
	case errors.Is(err, errQuiet):
		code, reason = websocket.StatusNormalClosure, "no change came in time"
	case errors.Is(err, context.Canceled) && o.feed.closed.Err() == nil: // a group's lease was lost, or the client is gone
		code, reason = websocket.StatusGoingAway, "nothing more comes here"
	case o.feed.closed.Err() != nil:
		code, reason = websocket.StatusGoingAway, "the node is stopping"
	}
	_ = o.send([]byte(cmp.Or(last, o.scan.heartbeat()))) // the client may be gone, and then there is nobody to tell
	_ = o.conn.Close(code, reason+": go on from "+o.scan.bookmark().String())
}
