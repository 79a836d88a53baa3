// Package changefeed serves every change of every document, in order: as one answer, by long poll, as lines of JSON, as
// server-sent events or as messages of a WebSocket. DESIGN.md says why it is as it is.
package changefeed

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"time"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/internal/sending"
)

// Store is what the feed needs of the read model.
type Store interface {
	// Changes returns the page of changes after q.After.
	Changes(q fanfold.ChangeQuery) (fanfold.ChangePage, error)
	// Bounds returns the position of the newest prefix of the log that can be read, and the oldest position after which
	// no change is missing.
	Bounds() (oldest, head fanfold.Position, err error)
	// Before returns a position that separates the changes from before t from all later ones, which come after it.
	Before(t time.Time) (fanfold.Position, error)
	// Changed returns a channel that is closed once more than seq is folded, or nothing more will be.
	Changed(seq uint64) <-chan struct{}
	// Wait blocks until seq is folded. Errors are ctx's, and Unavailable where it will not be.
	Wait(ctx context.Context, seq uint64) error
}

// Options are the settings of a Feed. The zero value works.
type Options struct {
	Heartbeat    time.Duration    // between positions sent on a quiet event stream; default 30 s
	Timeout      time.Duration    // of a long poll; default 60 s
	WriteTimeout time.Duration    // how long a client may take to read what was sent; default 30 s
	Budget       *sending.Budget  // from which what is being sent is taken; default one of its own
	Issuer       fanfold.Issuer   // gives out positions
	Now          func() time.Time // for tests: by which the time is measured that an answer looks for rows; default time.Now
	// OnSent is told of events after a row of theirs was sent, with the context of the request. It must not block; nil for nobody.
	OnSent func(ctx context.Context, seq uint64)
}

// Feed serves the change feed, to many clients at a time.
type Feed struct {
	store  Store
	opt    Options
	closed context.Context // ends with Close
	end    context.CancelFunc

	answers   *answers       // that are under way
	filtering chan struct{}  // has an element for each feed that evaluates its filter
	scoped    bool           // its consumers may have got something before they begin, wherever that is
	leftOut   func(rows int) // is told how many rows a filter leaves out; nil for nobody

	mu          sync.Mutex
	sharedFeeds map[string]*sharedFeed // by what their subscribers ask for; goes before the shared feeds' own locks
}

// New returns a feed over a store. The caller closes it.
func New(store Store, opt Options) *Feed { return newFeed(sharePages(store), opt) }

// newFeed returns a feed over a store that shares its pages.
func newFeed(store Store, opt Options) *Feed {
	if opt.Heartbeat == 0 {
		opt.Heartbeat = 30 * time.Second
	}
	if opt.Timeout == 0 {
		opt.Timeout = 60 * time.Second
	}
	if opt.WriteTimeout == 0 {
		opt.WriteTimeout = 30 * time.Second
	}
	if opt.Now == nil {
		opt.Now = time.Now
	}
	if opt.Budget == nil {
		opt.Budget = sending.NewBudget(0)
	}
	f := &Feed{store: store, opt: opt, answers: newAnswers(), filtering: make(chan struct{}, maxFiltering), sharedFeeds: map[string]*sharedFeed{}}
	f.closed, f.end = context.WithCancel(context.Background())
	return f
}

// Close ends open feeds and makes later ones end at once. It does not wait for them.
func (f *Feed) Close() { f.end() }

// Serve answers a request, by GET or HEAD, with the changes that a query asks for. It blocks for as long as the feed lasts. After an error
// nothing has been written, and the caller answers. It is Invalid for a bad request, StoreChanged or PositionGone for a position from which it
// cannot go on, or Unavailable. A later failure ends the answer.
func (f *Feed) Serve(w http.ResponseWriter, r *http.Request, q Query) error {
	req, err := f.newRequest(q)
	if err != nil {
		return err
	}
	if r.Method == http.MethodHead {
		return f.serveHead(w, req)
	}
	defer f.answers.begin(req.Transport)()
	if req.Transport == WebSocket {
		return f.serveWebSocket(w, r, req)
	}
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	control := http.NewResponseController(w)
	defer f.onClose(func() { // w is not to be used after the return
		cancel()
		// A client that does not read must not hold up the end.
		_ = control.SetWriteDeadline(time.Now().Add(closingWriteTimeout)) // a writer without deadlines does not block for long
	})()
	s := f.newScan(req)
	switch req.Transport {
	case EventStream:
		f.stream(ctx, s, newEventWriter(f, w, s))
	case Continuous:
		f.stream(ctx, s, newLineWriter(f, w, s))
	case LongPoll:
		return f.serveLongPoll(ctx, w, s)
	default:
		return f.serveOnce(ctx, w, s)
	}
	return nil
}

// serveHead answers HEAD: at once, with the headers of the answer to GET, and reads no changes. The error is Invalid for a
// WebSocket, which a GET alone begins.
func (f *Feed) serveHead(w http.ResponseWriter, req *request) error {
	out := newHTTPWriter(f, w, nil)
	switch req.Transport {
	case WebSocket:
		return fanfold.Errorf(fanfold.Invalid, "a WebSocket begins with GET: send its handshake by that")
	case EventStream:
		out.begin(typeEventStream, req, req.since)
	case Continuous:
		out.begin(typeNDJSON, req, req.since)
	default:
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusOK)
	}
	return nil
}

// onClose calls fn in a goroutine of its own once the feed is closed. The function that it returns takes that back, and
// waits for fn where it runs already.
func (f *Feed) onClose(fn func()) (stop func()) {
	done := make(chan struct{})
	takeBack := context.AfterFunc(f.closed, func() {
		defer close(done)
		fn()
	})
	return func() {
		if !takeBack() {
			<-done
		}
	}
}

// Bounds of filters: how many are evaluated at a time, and after how many evaluations it is the next one's turn. An evaluation
// takes up to some 5 ms, and a row up to three.
const (
	maxFiltering      = 2
	evaluationsAtOnce = 16
)

// closingWriteTimeout bounds how long a client may take to read what a feed that is closed still
// sends.
const closingWriteTimeout = 2 * time.Second

// writeTime is how long a client has for the next piece: Options.WriteTimeout, and closingWriteTimeout once the feed is
// closed.
func (f *Feed) writeTime() time.Duration {
	if f.closed.Err() != nil {
		return closingWriteTimeout
	}
	return f.opt.WriteTimeout
}

// extendWriteDeadline gives a client writeTime to read the next piece, at most so much.
func (f *Feed) extendWriteDeadline(control *http.ResponseController, most time.Duration) error {
	for limit := min(f.writeTime(), most); ; limit = closingWriteTimeout {
		if err := control.SetWriteDeadline(time.Now().Add(limit)); err != nil && !errors.Is(err, http.ErrNotSupported) {
			return err
		}
		if limit == closingWriteTimeout || f.closed.Err() == nil {
			return nil
		}
		// It was closed meanwhile, and the shorter deadline is to be the last that is set.
	}
}

// httpWriter writes an answer to one client. The client has writeTime for each piece, and once it has lost its rights
// closingWriteTimeout. A client that does not read for that long loses its connection; until then it costs the piece that is being
// sent.
type httpWriter struct {
	w       http.ResponseWriter
	feed    *Feed
	scan    *scan // whose rows they are; nil for an answer without rows
	control *http.ResponseController
	buf     sending.Buffer
}

func newHTTPWriter(f *Feed, w http.ResponseWriter, s *scan) httpWriter {
	return httpWriter{w: w, feed: f, scan: s, control: http.NewResponseController(w)}
}

// extendWriteDeadline gives the client time to read the next piece.
func (o *httpWriter) extendWriteDeadline() error {
	most := o.feed.opt.WriteTimeout
	if o.scan != nil && o.scan.noticeRights() != nil {
		most = closingWriteTimeout
	}
	return o.feed.extendWriteDeadline(o.control, most)
}

// write sends what is buffered as far as the server does not keep it for more.
func (o *httpWriter) write() error {
	return o.buf.WriteTo(o.w, func(int) error { return o.extendWriteDeadline() })
}

// flush sends what is buffered. It blocks until the client has room for it, or the write deadline.
func (o *httpWriter) flush() error {
	if err := o.write(); err != nil {
		return err
	}
	return o.control.Flush()
}

// begin begins an endless answer.
func (o *httpWriter) begin(contentType string, req *request, at fanfold.Position) {
	h := o.w.Header()
	h.Set("Content-Type", contentType)
	h.Set("Cache-Control", "no-store")
	h.Set("Fanfold-Position", req.issuer.Mark(at).String())
	h.Set("X-Accel-Buffering", "no")
	o.w.WriteHeader(http.StatusOK)
}

// send sends a text that others use too, as far as the server does not keep it for more.
func (o *httpWriter) send(text []byte) error {
	for len(text) > 0 {
		if err := o.extendWriteDeadline(); err != nil {
			return err
		}
		n := min(len(text), writePiece)
		if _, err := o.w.Write(text[:n]); err != nil {
			return err
		}
		text = text[n:]
	}
	return nil
}

// writePiece bounds what a client has writeTime to read, in bytes.
const writePiece = 64 << 10
