package client

import (
	"bytes"
	"context"
	"errors"
	"iter"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/fanfold/fanfold/internal/wire"
)

// Change is one change of one document, written or derived. ChangesOptions.Since asks for the changes after its Seq. Its Doc is there
// under ChangesOptions.IncludeDocs, and Previous and Patch in mode All.
type Change = wire.Change

// Cause names the source of a change. A derived change follows from a write. A delete or patch by a relation's delete
// policy follows from the requested delete.
type Cause = wire.Cause

// The modes of the feed.
const (
	Latest = "latest" // one change a document, its newest
	All    = "all"    // every change
)

// ChangesOptions say which changes are asked for. The zero value asks for the newest change of every document, from the
// beginning, and for what comes then.
type ChangesOptions struct {
	Since       string // a position, whose change is not repeated; 0, now, or an RFC 3339 time; default 0
	Mode        string // Latest (default) or All
	Collections []string
	// IncludeDocs has each change carry the document. In mode All a written change has it as of the end of its transaction, and a derived one
	// as of that very change. In Latest it is as it is now.
	IncludeDocs bool
	Referenced  bool // documents as they were written, without derived fields
	NoDerived   bool // only what was written
	// NoCascades leaves out deletes and patches that the delete of another document brought with it, by the delete policies.
	NoCascades bool
	// Filter selects changes by a CEL expression over doc, previous and change. You also get the change by which a document
	// ceases to match: Change.Gone.
	Filter string
	// Params has the values of params in the filter, as a map or struct; nil for none. A value never becomes an expression.
	Params any
	// Partition and Partitions ask for the documents of one partition of so many: a document is in exactly one, for ever.
	Partition, Partitions int
	// Once ends the loop where there are no more changes by now.
	Once bool
	// MustConnect ends the loop with an error where the first connection fails, as a command wants it that somebody waits
	// for. By default that is tried again, too.
	MustConnect bool
	// OnPosition is called, by the loop's goroutine, with a position up to which the loop has had everything. A consumer
	// can save it, although its changes are rare.
	OnPosition func(position string)
	// OnUnknown is called, by the loop's goroutine, with the names in Collections that are not there, once for each connection.
	// Most likely their names are mistyped.
	OnUnknown func(collections []string)
	// OnNoValue is called, by the loop's goroutine, with how many changes the filter had no value for, where Once gives no change.
	OnNoValue func(changes int64)
	// Heartbeat is how often the server says so where nothing changes, from 100 ms to an hour; default 15 s. A connection on
	// which nothing comes for three times as long, and for five seconds at least, counts as lost.
	Heartbeat time.Duration
	// Query has further parameters of the API.
	Query url.Values
}

// Changes returns the changes of the feed, in order, and waits for more at the end. If the connection breaks, or the
// server restarts or cannot answer, the loop goes on by itself after the last change, however long that takes. So it has
// every change at least once. It ends
//
//   - with ctx, whose error is its last element;
//   - with an *Error if going on would lose something or cannot help: the position is gone (410: Gone, PositionGone,
//     StoreChanged), or the request is refused (400, 401, 403);
//   - with Once, after the newest change.
//
// While the loop's body runs, nothing is read. The server cuts off a slow consumer after some time, and the loop connects
// again.
func (c *Client) Changes(ctx context.Context, opt ChangesOptions) iter.Seq2[Change, error] {
	return func(yield func(Change, error) bool) {
		f := &follower{c: c, opt: opt, path: "/v1/_changes", yield: yield, since: opt.Since, pause: newBackOff()}
		if f.opt.Heartbeat == 0 {
			f.opt.Heartbeat = 15 * time.Second
		}
		if opt.Params != nil {
			text, err := encode(opt.Params)
			if err != nil {
				yield(Change{}, err)
				return
			}
			f.params = string(text)
		}
		f.run(ctx)
	}
}

// follower is one loop over the feed.
type follower struct {
	c         *Client
	opt       ChangesOptions
	params    string // of the options, as JSON
	path      string
	yield     func(Change, error) bool
	since     string // everything up to here was yielded
	connected bool   // the server has answered once
	pause     *backOff
}

// errStop says that the loop's body has ended the loop, or that everything was read.
var errStop = errors.New("the loop has ended")

// run follows the feed until the loop ends.
func (f *follower) run(ctx context.Context) {
	for {
		err := f.connect(ctx)
		var failure *Error
		errors.As(err, &failure)
		switch {
		case errors.Is(err, errStop):
			return
		case ctx.Err() != nil:
			f.yield(Change{}, ctx.Err())
			return
		case failure != nil && (f.final(failure) || f.opt.MustConnect && !f.connected):
			f.yield(Change{}, failure)
			return
		}
		wait := f.pause.next(0)
		if failure != nil {
			wait = max(wait, failure.RetryAfter)
		}
		if !sleep(ctx, wait) {
			f.yield(Change{}, ctx.Err())
			return
		}
	}
}

// final tells whether a failure stays the same, however often it is tried.
func (f *follower) final(failure *Error) bool {
	switch failure.Code {
	case Busy, TooSlow:
		return false
	case AnswerLimit, BadAnswer, Gone, PositionGone, StoreChanged:
		return true
	}
	return failure.Status >= http.StatusBadRequest && failure.Status < http.StatusInternalServerError
}

// connect asks for the changes after f.since, and yields them until the connection ends. The error is errStop, an *Error,
// or nil where a connection broke that the server had answered.
func (f *follower) connect(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	watch := time.AfterFunc(f.c.opt.Attempt, cancel)
	defer watch.Stop()
	resp, failure := f.c.open(ctx, f.request(), nil)
	if failure != nil {
		return failure
	}
	defer resp.Body.Close()
	f.connected = true
	if unknown := resp.Header.Get(headerUnknown); unknown != "" && f.opt.OnUnknown != nil {
		f.opt.OnUnknown(strings.Split(unknown, ","))
	}
	silence := max(3*f.opt.Heartbeat, 5*time.Second)
	body := &watchedReader{r: resp.Body, alive: func() { watch.Reset(silence) }, pause: func() { watch.Stop() }}
	if f.opt.Once {
		return f.readAnswer(body)
	}
	if at := resp.Header.Get(headerPosition); at != "" && (f.since == "" || f.since == "now") {
		f.since = at // so that it resumes here, even where the connection breaks before the first change
	}
	return f.readEvents(body)
}

// request returns the request for the changes after f.since.
func (f *follower) request() *request {
	r := newRequest(http.MethodGet, f.path)
	for name, values := range f.opt.Query {
		r.query[name] = values
	}
	set := func(name, value string) {
		if value != "" {
			r.query.Set(name, value)
		}
	}
	set("since", f.since)
	set("mode", f.opt.Mode)
	set("collections", strings.Join(f.opt.Collections, ","))
	set("filter", f.opt.Filter)
	set("params", f.params)
	for name, has := range map[string]bool{"include_docs=true": f.opt.IncludeDocs, "view=referenced": f.opt.Referenced, "derived=exclude": f.opt.NoDerived, "cascades=exclude": f.opt.NoCascades} {
		if name, value, _ := strings.Cut(name, "="); has {
			set(name, value)
		}
	}
	if f.opt.Partitions > 0 {
		set("partition", strconv.Itoa(f.opt.Partition)+"/"+strconv.Itoa(f.opt.Partitions))
	}
	if f.opt.Once {
		set("feed", "normal")
		return r
	}
	set("feed", "eventsource")
	set("heartbeat", strconv.FormatInt(f.opt.Heartbeat.Milliseconds(), 10))
	r.header.Set("Accept", "text/event-stream")
	return r
}

// row yields one change of the server's answer.
func (f *follower) row(text []byte) error {
	change, err := parseChange(text)
	if err != nil {
		return err
	}
	if !f.yield(change, nil) {
		return errStop
	}
	f.since = change.Seq // only now: the loop's body has finished the change
	f.pause.reset()
	return nil
}

// parseChange reads a change. It keeps a copy of the text.
func parseChange(text []byte) (change Change, err error) {
	err = decode(text, &change)
	change.Raw = bytes.Clone(text)
	return change, err
}

// at records a position up to which everything was yielded.
func (f *follower) at(position string) {
	if f.since = position; f.opt.OnPosition != nil {
		f.opt.OnPosition(position)
	}
	f.pause.reset()
}
