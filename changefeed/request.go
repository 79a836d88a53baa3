package changefeed

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/internal/query"
)

// request is what one consumer asks for.
type request struct {
	since       fanfold.Position
	kind        string // normal, longpoll, eventsource
	limit       int    // rows after which the answer ends; 0 for none
	collections []string
	allChanges  bool          // every change, not only each document's newest
	includeDocs bool          // with each document as it is now
	timeout     time.Duration // of a long poll, and of waiting for since
	heartbeat   time.Duration // between positions sent on a quiet event stream
}

// parameters are the names that the query string may have.
var parameters = []string{"since", "feed", "limit", "timeout", "heartbeat", "include_docs", "mode", "collections"}

// parseRequest reads the query string and the headers. It waits for a position that this node has
// yet to reach, for the request's timeout at most. Errors are Invalid, and those of resolveSince.
func (f *Feed) parseRequest(r *http.Request) (*request, error) {
	q, err := query.Parse(r.URL.RawQuery, parameters...)
	if err != nil {
		return nil, err
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
	req.allChanges = q.Get("mode") == "all"
	if err := req.parseOptions(q); err != nil {
		return nil, err
	}
	since := q.Get("since")
	if id := r.Header.Get("Last-Event-ID"); id != "" {
		since = id
	}
	req.since, err = f.resolveSince(r.Context(), since, req.timeout)
	return req, err
}

// parseOptions reads the parameters that do not choose the feed or its beginning. The error is
// Invalid.
func (req *request) parseOptions(q url.Values) error {
	var errs [4]error
	req.includeDocs, errs[0] = query.Bool(q, "include_docs")
	req.limit, errs[1] = query.Int(q, "limit", 0, 1, 1_000_000)
	ms, err := query.Int(q, "timeout", int(req.timeout/time.Millisecond), 0, 3_600_000)
	req.timeout, errs[2] = time.Duration(ms)*time.Millisecond, err
	if q.Get("heartbeat") != "true" {
		ms, err = query.Int(q, "heartbeat", int(req.heartbeat/time.Millisecond), 100, 3_600_000)
		req.heartbeat, errs[3] = time.Duration(ms)*time.Millisecond, err
	}
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	req.collections, err = query.Collections(q, "collections")
	return err
}

// resolveSince returns the position that since names: a position, 0, now, or an RFC 3339 time. It
// blocks until this node has reached the position, for timeout at most. Errors are Invalid;
// Timeout; ctx's; and Unavailable where the projector has stopped.
func (f *Feed) resolveSince(ctx context.Context, s string, timeout time.Duration) (fanfold.Position, error) {
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
