package api

import (
	"cmp"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/labstack/echo/v4"
	"golang.org/x/net/http/httpguts"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/access"
	"github.com/fanfold/fanfold/changefeed"
	"github.com/fanfold/fanfold/internal/params"
	"github.com/fanfold/fanfold/internal/view"
	"github.com/fanfold/fanfold/model"
)

// feed answers requests for the change feed.
type feed struct {
	feed    Feed
	unknown *unknownCollections
}

// changes answers GET and HEAD /v1/_changes.
func (f *feed) changes(c echo.Context) error {
	q, err := FeedQuery(c.Request())
	if err != nil {
		return err
	}
	q.Rights = rightsOf(c)
	if q.Unknown, err = f.unknown.of(c, q.Collections); err != nil {
		return err
	}
	return f.feed.Serve(c.Response(), c.Request(), q)
}

// sendingParameters say how a feed sends changes; selectionParameters say which.
var (
	sendingParameters   = []string{"feed", "limit", "timeout", "heartbeat", "include_docs"}
	selectionParameters = []string{"mode", "collections", "derived", "cascades", "partition", "filter", "params", "view"}
)

// lastEventID is the parameter that clients send who cannot set the header Last-Event-ID, such as the npm package event-source-polyfill.
const lastEventID = "lastEventId"

// FeedQuery returns what a request for the change feed asks for by its parameters and headers. The error is Invalid.
func FeedQuery(r *http.Request) (q changefeed.Query, err error) {
	values, err := params.Parse(r.URL.RawQuery, slices.Concat([]string{"since", lastEventID}, sendingParameters, selectionParameters)...)
	if err != nil {
		return q, err
	}
	if q.Transport, err = transportOf(r, values); err != nil {
		return q, err
	}
	mode := values.Get("mode")
	if mode != "" && mode != "latest" && mode != "all" {
		return q, fanfold.Errorf(fanfold.Invalid, "mode=%s is not one of latest and all", mode)
	}
	q.AllChanges = mode == "all"
	if err := readSending(&q, values); err != nil {
		return q, err
	}
	if q.Collections, err = params.Collections(values, "collections"); err != nil {
		return q, err
	}
	q.Since = cmp.Or(r.Header.Get("Last-Event-ID"), values.Get(lastEventID), values.Get("since"))
	return q, readSelection(&q.Selection, values)
}

// groupQuery returns how the changes of a group are to be sent by a request that asks for them with a partition and its
// token. The scope says where they begin, whatever a Last-Event-ID says. The error is Invalid.
func groupQuery(r *http.Request) (q changefeed.Query, err error) {
	values, err := params.Parse(r.URL.RawQuery, slices.Concat([]string{"partition", "token", lastEventID}, sendingParameters)...)
	if err != nil {
		return q, err
	}
	if q.Transport, err = transportOf(r, values); err != nil {
		return q, err
	}
	return q, readSending(&q, values)
}

// transportOf returns the transport that a request asks for: by the parameter feed, by the handshake of a WebSocket, or by
// Accept. The error is Invalid.
func transportOf(r *http.Request, values url.Values) (string, error) {
	kind, accept := values.Get("feed"), r.Header.Get("Accept")
	switch {
	case kind == "" && isHandshake(r):
		return changefeed.WebSocket, nil
	case kind == "" && strings.Contains(accept, "text/event-stream"):
		return changefeed.EventStream, nil
	case kind == "" && strings.Contains(accept, ndjsonType):
		return changefeed.Continuous, nil
	case kind == "":
		return changefeed.Normal, nil
	case !slices.Contains(changefeed.Transports(), kind):
		return "", fanfold.Errorf(fanfold.Invalid, "feed=%s is not one of %s", kind, strings.Join(changefeed.Transports(), ", "))
	}
	return kind, nil
}

// isHandshake tells whether a request wants to become a WebSocket.
func isHandshake(r *http.Request) bool {
	return httpguts.HeaderValuesContainsToken(r.Header["Upgrade"], "websocket")
}

// readSending reads the parameters that say how changes are sent, but for the transport. Of several errors, all Invalid, it
// returns the first.
func readSending(q *changefeed.Query, values url.Values) (err error) {
	if q.Docs, err = params.Bool(values, "include_docs"); err != nil {
		return err
	}
	if q.Limit, err = params.Int(values, "limit", 0, 1, 1_000_000); err != nil {
		return err
	}
	if values.Has("timeout") {
		ms, err := params.Int(values, "timeout", 0, 0, 3_600_000)
		if err != nil {
			return err
		}
		q.Timeout = new(time.Duration(ms) * time.Millisecond)
	}
	if values.Get("heartbeat") != "true" {
		ms, err := params.Int(values, "heartbeat", 0, 100, 3_600_000)
		if err != nil {
			return err
		}
		q.Heartbeat = time.Duration(ms) * time.Millisecond
	}
	return nil
}

// readSelection reads the parameters that say which changes are asked for, and in which view, but for those that are read
// before. The error is Invalid.
func readSelection(s *changefeed.Selection, values url.Values) error {
	for _, kind := range []struct {
		name    string
		without *bool
	}{{"derived", &s.Direct}, {"cascades", &s.NoCascades}} {
		switch value := values.Get(kind.name); value {
		case "", "include":
		case "exclude":
			*kind.without = true
		default:
			return fanfold.Errorf(fanfold.Invalid, "%s=%s is not one of include and exclude", kind.name, value)
		}
	}
	switch form := values.Get("view"); form {
	case "", "embedded":
	case "referenced":
		s.View = fanfold.Referenced
	default:
		return fanfold.Errorf(fanfold.Invalid, "view=%s is not one of embedded and referenced", form)
	}
	s.Filter, s.Params = values.Get("filter"), values.Get("params")
	return readPartition(s, values.Get("partition"))
}

// readPartition reads partition=i/n. The error is Invalid.
func readPartition(s *changefeed.Selection, text string) error {
	if text == "" {
		return nil
	}
	part, of, _ := strings.Cut(text, "/")
	i, err1 := strconv.Atoi(part)
	n, err2 := strconv.Atoi(of)
	if err1 != nil || err2 != nil || n < 1 || n > changefeed.MaxPartitions || i < 0 || i >= n || text != strconv.Itoa(i)+"/"+strconv.Itoa(n) {
		return fanfold.Errorf(fanfold.Invalid, "partition=%s is not i/n with n from 1 to %d and i from 0 to n-1, such as 3/16", text, changefeed.MaxPartitions)
	}
	s.Partition, s.Partitions = i, n
	return nil
}

// headerUnknown names the collections that a request for changes asks for and that are not there.
const headerUnknown = "Fanfold-Unknown-Collections"

// maxUnknown bounds that header, in bytes: clients take few KiB of headers.
const maxUnknown = 1024

// unknownCollections finds collections that are not there. A list of one is refused. Changes of one may be asked for before its first
// document, so an answer says that it is not there: most likely its name is mistyped.
type unknownCollections struct {
	views interface {
		Open(by *access.Rights) view.View
	}
}

// of returns which collections are not there, and sets the header. Collections that the sender does not read are passed over.
func (u *unknownCollections) of(c echo.Context, names []string) (unknown []string, err error) {
	if len(names) == 0 {
		return nil, nil
	}
	err = u.views.Open(rightsOf(c)).Read(func(snap *view.Prefix) error {
		for _, name := range names {
			if rightsOf(c).CheckSome(name, model.ActRead) != nil {
				continue
			}
			found, err := snap.HasCollection(name)
			if err != nil {
				return err
			}
			if !found {
				unknown = append(unknown, name)
			}
		}
		return nil
	})
	if text := strings.Join(unknown, ","); text != "" {
		if len(text) > maxUnknown {
			text = text[:strings.LastIndex(text[:maxUnknown-3], ",")+1] + "..."
		}
		c.Response().Header().Set(headerUnknown, text)
	}
	return unknown, err
}
