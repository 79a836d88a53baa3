// Package changefeed tells every change of every document, in order: as one answer, by long
// poll, or as server-sent events.
package changefeed

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/fanfold/fanfold"
)

// Store is what the feed needs of the read model.
type Store interface {
	// Changes returns the page behind q.After.
	Changes(q fanfold.ChangeQuery) (fanfold.ChangePage, error)
	// Head is the position of the newest prefix.
	Head() (fanfold.Position, error)
	// Before is the position behind which everything from t on is.
	Before(t time.Time) (fanfold.Position, error)
	// Changed is closed once more than seq is folded, or nothing more will be.
	Changed(seq uint64) <-chan struct{}
	// Wait blocks until seq is folded.
	Wait(ctx context.Context, seq uint64) error
}

// Options of a Feed; the zero value works.
type Options struct {
	Heartbeat    time.Duration // between positions sent on a quiet event stream; default 30 s
	Timeout      time.Duration // of a long poll; default 60 s
	WriteTimeout time.Duration // how long a client may take to read what was sent; default 30 s
}

// Feed serves the change feed. Close ends every open one.
type Feed struct {
	store Store
	opt   Options
	done  chan struct{}
}

// New makes a feed over a store.
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
	return &Feed{store: store, opt: opt, done: make(chan struct{})}
}

// Close ends open feeds; later ones end at once. Call it once.
func (f *Feed) Close() { close(f.done) }

// pageRows is how many change rows are held in memory for one consumer.
const pageRows = 256

// request is one consumer's question.
type request struct {
	since       fanfold.Position
	kind        string // normal, longpoll, eventsource
	limit       int
	collections []string
	all         bool // every change, not only each document's newest
	docs        bool
	timeout     time.Duration
	heartbeat   time.Duration
}

// ServeHTTP answers GET /v1/_changes. An error is a problem with the request, and nothing has
// been written; what goes wrong later ends the answer. It blocks as long as the feed lasts.
func (f *Feed) ServeHTTP(w http.ResponseWriter, r *http.Request) error {
	req, err := f.parse(r)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	control := http.NewResponseController(w)
	go func() {
		select {
		case <-f.done:
			cancel()
			// A client that does not read must not hold up the end.
			_ = control.SetWriteDeadline(time.Now().Add(lastWords)) // not supported: then nothing blocks for long
		case <-ctx.Done():
		}
	}()
	switch req.kind {
	case "eventsource":
		return f.events(ctx, w, req)
	case "longpoll":
		return f.longpoll(ctx, w, req)
	}
	return f.answer(ctx, w, req)
}

// lastWords is how long a feed that is closed may take to send what it has.
const lastWords = 500 * time.Millisecond

// deadline gives a client time to read the next piece, less once the feed is closed.
func (f *Feed) deadline(control *http.ResponseController) error {
	limit := f.opt.WriteTimeout
	for range 2 { // closed meanwhile: the shorter time must be the last one set
		select {
		case <-f.done:
			limit = lastWords
		default:
		}
		if err := control.SetWriteDeadline(time.Now().Add(limit)); err != nil && !errors.Is(err, http.ErrNotSupported) {
			return err
		}
	}
	return nil
}

var parameters = []string{"since", "feed", "limit", "timeout", "heartbeat", "include_docs", "mode", "collections"}

func (f *Feed) parse(r *http.Request) (*request, error) {
	q, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return nil, fanfold.Errorf(fanfold.Invalid, "the query string cannot be read: %v", err)
	}
	for name, values := range q {
		if !slices.Contains(parameters, name) {
			return nil, fanfold.Errorf(fanfold.Invalid, "unknown parameter %q: the feed takes %s", name, strings.Join(parameters, ", "))
		}
		if len(values) > 1 {
			return nil, fanfold.Errorf(fanfold.Invalid, "parameter %q is given more than once", name)
		}
	}
	req := &request{kind: q.Get("feed"), timeout: f.opt.Timeout, heartbeat: f.opt.Heartbeat}
	if req.kind == "" {
		req.kind = "normal"
		if strings.Contains(r.Header.Get("Accept"), "text/event-stream") {
			req.kind = "eventsource"
		}
	}
	if !slices.Contains([]string{"normal", "longpoll", "eventsource"}, req.kind) {
		return nil, fanfold.Errorf(fanfold.Invalid, "feed=%s is not one of normal, longpoll and eventsource", req.kind)
	}
	if mode := q.Get("mode"); mode != "" && mode != "latest" && mode != "all" {
		return nil, fanfold.Errorf(fanfold.Invalid, "mode=%s is not one of latest and all", mode)
	}
	req.all = q.Get("mode") == "all"
	if err := req.options(q); err != nil {
		return nil, err
	}
	since := q.Get("since")
	if id := r.Header.Get("Last-Event-ID"); id != "" {
		since = id
	}
	req.since, err = f.since(r.Context(), since, req.timeout)
	return req, err
}

func (req *request) options(q url.Values) error {
	var errs [4]error
	req.docs, errs[0] = flag(q, "include_docs")
	req.limit, errs[1] = number(q, "limit", 0, 1, 1_000_000)
	ms, err := number(q, "timeout", int(req.timeout/time.Millisecond), 0, 3_600_000)
	req.timeout, errs[2] = time.Duration(ms)*time.Millisecond, err
	if q.Get("heartbeat") != "true" {
		ms, err = number(q, "heartbeat", int(req.heartbeat/time.Millisecond), 100, 3_600_000)
		req.heartbeat, errs[3] = time.Duration(ms)*time.Millisecond, err
	}
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	if list := q.Get("collections"); list != "" {
		req.collections = strings.Split(list, ",")
		for _, c := range req.collections {
			if err := fanfold.CheckCollection(c); err != nil {
				return err
			}
		}
	}
	return nil
}

func flag(q url.Values, name string) (bool, error) {
	switch v := q.Get(name); v {
	case "", "false":
		return false, nil
	case "true":
		return true, nil
	default:
		return false, fanfold.Errorf(fanfold.Invalid, "%s=%s is not true or false", name, v)
	}
}

func number(q url.Values, name string, otherwise, low, high int) (int, error) {
	if q.Get(name) == "" {
		return otherwise, nil
	}
	n, err := strconv.Atoi(q.Get(name))
	if err != nil || n < low || n > high {
		return 0, fanfold.Errorf(fanfold.Invalid, "%s=%s is not a whole number from %d to %d", name, q.Get(name), low, high)
	}
	return n, nil
}

// since reads a position, 0, now, or an RFC 3339 time. A position that this node has yet to
// reach is waited for.
func (f *Feed) since(ctx context.Context, s string, timeout time.Duration) (fanfold.Position, error) {
	switch s {
	case "", "0":
		return 0, nil
	case "now":
		return f.store.Head()
	}
	if t, err := time.Parse(time.RFC3339, s); err == nil {
		return f.store.Before(t)
	}
	p, err := fanfold.ParsePosition(s)
	if err != nil {
		return 0, fanfold.Errorf(fanfold.Invalid, "since=%s is not a position (<sequence>-<n>), 0, now or an RFC 3339 time", s)
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	if err := f.store.Wait(ctx, p.Seq()); err != nil {
		if errors.Is(err, context.DeadlineExceeded) {
			return 0, fanfold.Errorf(fanfold.Timeout, "this node has not reached position %s", s)
		}
		return 0, err
	}
	return p, nil
}

// scan is a walk along the feed.
type scan struct {
	store   Store
	req     *request
	at      fanfold.Position // everything up to here was looked at
	pending int64
	sent    int
	lastSeq uint64 // event of the last row sent
	lastTx  string // and its transaction
}

// errLimit says that as many rows as asked for were sent.
var errLimit = errors.New("limit reached")

// run calls send for each row up to the newest prefix, and returns nil there. limit ends it
// behind the event or transaction that reaches it.
func (s *scan) run(ctx context.Context, send func(fanfold.ChangeRow) error) error {
	for ctx.Err() == nil {
		page, err := s.store.Changes(fanfold.ChangeQuery{After: s.at, Limit: pageRows, Collections: s.req.collections, Latest: !s.req.all, Docs: s.req.docs})
		if err != nil {
			return err
		}
		for _, row := range page.Rows {
			if s.req.limit > 0 && s.sent >= s.req.limit && row.Position.Seq() != s.lastSeq && (row.Tx == "" || row.Tx != s.lastTx) {
				s.pending = page.Changes - row.Ordinal + 1
				return errLimit
			}
			if err := send(row); err != nil {
				return err
			}
			s.sent++
			s.at, s.lastSeq, s.lastTx = row.Position, row.Position.Seq(), row.Tx
		}
		s.at, s.pending = page.Last, page.Pending
		if page.Pending == 0 {
			return nil
		}
	}
	return ctx.Err()
}
