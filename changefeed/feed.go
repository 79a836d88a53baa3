// Package changefeed serves every change of every document, in order: as one answer, by long poll,
// or as server-sent events. DESIGN.md says why it is as it is.
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
	// Changes returns the page of changes behind q.After.
	Changes(q fanfold.ChangeQuery) (fanfold.ChangePage, error)
	// Head returns the position of the newest prefix of the log that can be read.
	Head() (fanfold.Position, error)
	// Before returns a position that has every change from before t at or before it, and every later
	// change behind it.
	Before(t time.Time) (fanfold.Position, error)
	// Changed returns a channel that is closed once more than seq is folded, or nothing more will be.
	Changed(seq uint64) <-chan struct{}
	// Wait blocks until seq is folded. Errors are ctx's, and Unavailable where it will not be.
	Wait(ctx context.Context, seq uint64) error
}

// Options are the settings of a Feed. The zero value works.
type Options struct {
	Heartbeat    time.Duration   // between positions sent on a quiet event stream; default 30 s
	Timeout      time.Duration   // of a long poll; default 60 s
	WriteTimeout time.Duration   // how long a client may take to read what was sent; default 30 s
	Budget       *sending.Budget // from which what is being sent is taken; default one of its own
}

// Feed serves the change feed, to many clients at a time.
type Feed struct {
	store  Store
	opt    Options
	closed chan struct{}
}

// New returns a feed over a store. The caller closes it.
func New(store Store, opt Options) *Feed {
	if opt.Heartbeat == 0 {
		opt.Heartbeat = 30 * time.Second
	}
	if opt.Timeout == 0 {
		opt.Timeout = 60 * time.Second
	}
	if opt.WriteTimeout == 0 {
		opt.WriteTimeout = 30 * time.Second
	}
	if opt.Budget == nil {
		opt.Budget = sending.NewBudget(0)
	}
	return &Feed{store: store, opt: opt, closed: make(chan struct{})}
}

// Close ends open feeds and makes later ones end at once. It does not wait for them. It must be
// called only once.
func (f *Feed) Close() { close(f.closed) }

// ServeHTTP answers GET /v1/_changes. It blocks for as long as the feed lasts. An error means that
// nothing has been written, and is the caller's to answer: Invalid for a bad request, Timeout for a
// position that was not reached in time, and Unavailable. What goes wrong later ends the answer.
func (f *Feed) ServeHTTP(w http.ResponseWriter, r *http.Request) error {
	req, err := f.parseRequest(r)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(r.Context())
	control := http.NewResponseController(w)
	var watching sync.WaitGroup
	defer watching.Wait() // w is not to be used behind the return
	defer cancel()
	watching.Go(func() {
		select {
		case <-f.closed:
			cancel()
			// A client that does not read must not hold up the end.
			_ = control.SetWriteDeadline(time.Now().Add(closingWriteTimeout)) // a writer without deadlines does not block for long
		case <-ctx.Done():
		}
	})
	switch req.kind {
	case "eventsource":
		return f.serveEventStream(ctx, w, req)
	case "longpoll":
		return f.serveLongPoll(ctx, w, req)
	}
	return f.serveOnce(ctx, w, req)
}

// closingWriteTimeout bounds how long a client may take to read what a feed that is closed still
// sends.
const closingWriteTimeout = 500 * time.Millisecond

// extendWriteDeadline gives a client Options.WriteTimeout to read the next piece, and
// closingWriteTimeout once the feed is closed.
func (f *Feed) extendWriteDeadline(control *http.ResponseController) error {
	limit := f.opt.WriteTimeout
	for range 2 { // twice, so that the shorter deadline is set last if the feed is closed meanwhile
		select {
		case <-f.closed:
			limit = closingWriteTimeout
		default:
		}
		if err := control.SetWriteDeadline(time.Now().Add(limit)); err != nil && !errors.Is(err, http.ErrNotSupported) {
			return err
		}
	}
	return nil
}

// write sends what is buffered, for each piece of which the client has Options.WriteTimeout.
func (f *Feed) write(buf *sending.Buffer, w http.ResponseWriter, control *http.ResponseController) error {
	return buf.WriteTo(w, func(int) error { return f.extendWriteDeadline(control) })
}
