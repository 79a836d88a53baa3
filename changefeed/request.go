package changefeed

import (
	"cmp"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/internal/expr"
	"github.com/fanfold/fanfold/internal/params"
)

// request is what one consumer asks for.
type request struct {
	since       fanfold.Position
	head        fanfold.Position // where the store stood then
	kind        string           // one of kinds
	shape       string           // everything that is asked for but the position, the transport and when it ends: the same for the same rows
	fresh       fanfold.Position // up to here nothing that was there before has been given to the consumer, who begins with nothing
	limit       int              // rows after which the answer ends; 0 for none
	collections []string
	allChanges  bool          // every change, not only each document's newest
	direct      bool          // no derived changes
	noCascades  bool          // no changes that a delete brought with it
	partition   int           // only keys of this one
	partitions  int           // of so many; 0 for keys of all
	filter      *expr.Filter  // only changes of which it is true; nil for none
	includeDocs bool          // with the document as it was after each change
	view        fanfold.View  // of the documents
	timeout     time.Duration // of a long poll, and of a stream where quiet is set
	quiet       bool          // the stream ends where no change comes for timeout
	heartbeat   time.Duration // between positions sent on a quiet stream
}

// The transports, as the parameter feed names them.
const (
	kindNormal      = "normal"
	kindLongPoll    = "longpoll"
	kindContinuous  = "continuous"
	kindEventStream = "eventsource"
	kindWebSocket   = "websocket"
)

var kinds = []string{kindNormal, kindLongPoll, kindContinuous, kindEventStream, kindWebSocket}

// kindOf returns the transport that a request asks for: by the parameter feed, by the handshake of a WebSocket, or by
// Accept. The error is Invalid.
func kindOf(r *http.Request, q url.Values) (string, error) {
	kind, accept := q.Get("feed"), r.Header.Get("Accept")
	switch {
	case kind == "" && isHandshake(r):
		return kindWebSocket, nil
	case kind == "" && strings.Contains(accept, typeEventStream):
		return kindEventStream, nil
	case kind == "" && strings.Contains(accept, typeNDJSON):
		return kindContinuous, nil
	case kind == "":
		return kindNormal, nil
	case !slices.Contains(kinds, kind):
		return "", fanfold.Errorf(fanfold.Invalid, "feed=%s is not one of %s", kind, strings.Join(kinds, ", "))
	}
	return kind, nil
}

// shapeOf returns the parameters of a request that say which rows it gets, and how they look.
func shapeOf(q url.Values) string {
	shape := maps.Clone(q)
	for _, name := range []string{"since", "feed", "limit", "timeout", "heartbeat"} {
		delete(shape, name)
	}
	return shape.Encode()
}

// parameters are the names that the query string may have.
var parameters = []string{"since", "feed", "limit", "timeout", "heartbeat", "include_docs", "mode", "collections", "derived", "cascades", "partition", "filter", "view"}

// parseRequest reads the query string and the headers. Errors are Invalid, and those of resolveSince.
func (f *Feed) parseRequest(r *http.Request) (*request, error) {
	q, err := params.Parse(r.URL.RawQuery, parameters...)
	if err != nil {
		return nil, err
	}
	req := &request{shape: shapeOf(q), timeout: f.opt.Timeout, quiet: q.Has("timeout"), heartbeat: f.opt.Heartbeat}
	if req.kind, err = kindOf(r, q); err != nil {
		return nil, err
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
	req.since, req.head, err = f.resolveSince(since)
	if req.since == 0 && !req.allChanges && !f.scoped {
		req.fresh = req.head
	}
	return req, err
}

// parseOptions reads the parameters that do not choose the feed or its beginning. The error is
// Invalid.
func (req *request) parseOptions(q url.Values) error {
	var errs [4]error
	req.includeDocs, errs[0] = params.Bool(q, "include_docs")
	req.limit, errs[1] = params.Int(q, "limit", 0, 1, 1_000_000)
	ms, err := params.Int(q, "timeout", int(req.timeout/time.Millisecond), 0, 3_600_000)
	req.timeout, errs[2] = time.Duration(ms)*time.Millisecond, err
	if q.Get("heartbeat") != "true" {
		ms, err = params.Int(q, "heartbeat", int(req.heartbeat/time.Millisecond), 100, 3_600_000)
		req.heartbeat, errs[3] = time.Duration(ms)*time.Millisecond, err
	}
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	if req.collections, err = params.Collections(q, "collections"); err != nil {
		return err
	}
	return req.parseSelection(q)
}

// parseSelection reads the parameters that say which changes are asked for, and in which view. The error is Invalid.
func (req *request) parseSelection(q url.Values) error {
	for _, kind := range []struct {
		name    string
		without *bool
	}{{"derived", &req.direct}, {"cascades", &req.noCascades}} {
		switch value := q.Get(kind.name); value {
		case "", "include":
		case "exclude":
			*kind.without = true
		default:
			return fanfold.Errorf(fanfold.Invalid, "%s=%s is not one of include and exclude", kind.name, value)
		}
	}
	switch view := q.Get("view"); view {
	case "", "embedded":
	case "referenced":
		req.view = fanfold.Referenced
	default:
		return fanfold.Errorf(fanfold.Invalid, "view=%s is not one of embedded and referenced", view)
	}
	if err := req.parsePartition(q.Get("partition")); err != nil {
		return err
	}
	return req.parseFilter(q.Get("filter"))
}

// resolveSince returns the position that since names: a position, 0, now, or an RFC 3339 time; and the position at which
// the store stands. It does not wait for a position that this node has yet to reach: the consumer has seen it on a node
// that is ahead, and nothing is sent before this one is there too. Errors are Invalid; StoreChanged for a position of
// another store; PositionGone for one behind which changes are missing; and those of the store.
func (f *Feed) resolveSince(text string) (since, head fanfold.Position, err error) {
	oldest, head, err := f.store.Bounds()
	if err != nil {
		return 0, 0, err
	}
	switch text {
	case "", "0":
	case "now":
		return head, head, nil
	default:
		if since, err = f.parseSince(text); err != nil {
			return 0, 0, err
		}
	}
	if since < oldest {
		mark := f.opt.Issuer.Mark(oldest)
		gone := fanfold.Errorf(fanfold.PositionGone, "changes behind since=%s are no longer kept: the oldest position is %s; begin there, and take what was before from the documents", cmp.Or(text, "0"), mark)
		gone.Oldest = &mark
		return 0, 0, gone
	}
	return since, head, nil
}

// parseSince returns the position that a position or a time stands for. Errors are those of resolveSince.
func (f *Feed) parseSince(text string) (fanfold.Position, error) {
	if t, err := time.Parse(time.RFC3339, text); err == nil {
		return f.store.Before(t)
	}
	b, err := fanfold.ParseBookmark(text)
	if err != nil {
		return 0, fanfold.Errorf(fanfold.Invalid, "since=%s is not a position (<sequence>-<n>-<store>, as it was given out), 0, now or an RFC 3339 time", text)
	}
	return f.opt.Issuer.Resolve(b)
}
