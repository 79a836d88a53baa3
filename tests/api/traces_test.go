package api_test

import (
	"compress/gzip"
	"context"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	collectorpb "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	tracespb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/fanfold/fanfold/tests/harness"
	"github.com/fanfold/fanfold/tests/suite"
)

// spanReceiver takes spans by OTLP over HTTP.
type spanReceiver struct {
	*httptest.Server
	mu    sync.Mutex
	spans []*tracespb.Span
}

// receiveSpans starts a receiver, which ends with the test.
func receiveSpans(t *testing.T) *spanReceiver {
	t.Helper()
	r := &spanReceiver{}
	r.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		body := io.Reader(req.Body)
		if req.Header.Get("Content-Encoding") == "gzip" {
			var err error
			if body, err = gzip.NewReader(body); err != nil {
				t.Error(err)
				return
			}
		}
		text, err := io.ReadAll(body)
		var export collectorpb.ExportTraceServiceRequest
		if err != nil || req.URL.Path != "/v1/traces" || proto.Unmarshal(text, &export) != nil {
			t.Errorf("%s has %d bytes, %v", req.URL.Path, len(text), err)
			return
		}
		r.mu.Lock()
		defer r.mu.Unlock()
		for _, resource := range export.ResourceSpans {
			for _, scope := range resource.ScopeSpans {
				r.spans = append(r.spans, scope.Spans...)
			}
		}
		w.Header().Set("Content-Type", "application/x-protobuf")
	}))
	t.Cleanup(r.Close)
	return r
}

// named returns the spans of a name, of one trace where that is not "".
func (r *spanReceiver) named(name, traceID string) (found []*tracespb.Span) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, s := range r.spans {
		if s.Name == name && (traceID == "" || hex.EncodeToString(s.TraceId) == traceID) {
			found = append(found, s)
		}
	}
	return found
}

const (
	traceID    = "0af7651916cd43dd8448eb211c80319c"
	clientSpan = "b7ad6b7169203331"
)

// TestOneTrace: a PUT that brings a trace context gives one trace from the client's span down to a row of the feed. The event's fold is
// linked with its batch, and the row with the reader's request. A request that says that it is not traced is not, and without an endpoint
// nothing is.
func TestOneTrace(t *testing.T) {
	t.Parallel()
	receiver := receiveSpans(t)
	s := harness.Open(t, harness.Options{Dir: t.TempDir(), Sync: true, TraceEndpoint: receiver.URL})
	conn := rawRequest(t, s.Client, "GET /v1/_changes?feed=eventsource&since=now HTTP/1.1\r\nHost: localhost\r\ntraceparent: 00-1"+traceID[1:]+"-"+clientSpan+"-01\r\n\r\n")
	awaitMetric(t, s.Client, `fanfold_feed_subscribers{transport="eventsource"}`, 1) // it has read what since=now is
	s.Want(http.StatusCreated, "PUT", "/v1/books/b", `{"n":1}`, "traceparent", "00-"+traceID+"-"+clientSpan+"-01")
	s.Want(http.StatusCreated, "PUT", "/v1/books/c", `{"n":1}`, "traceparent", "00-2"+traceID[1:]+"-"+clientSpan+"-00")
	awaitMetric(t, s.Client, "fanfold_feed_lag_changes", 0)
	_ = conn.Close() // which ends the feed's span
	feedTrace := "1" + traceID[1:]
	for name, of := range map[string]string{"PUT /v1/:collection/:id": traceID, "append": traceID, "log sync": traceID, "fold": traceID, "fold batch": "",
		"feed row": traceID, "GET /v1/_changes": feedTrace} {
		harness.Await(t, name, time.Minute, func() bool { return len(receiver.named(name, of)) > 0 })
	}
	s.Close() // which does not wait for long until what is left is sent
	parent := clientSpan
	for _, name := range []string{"PUT /v1/:collection/:id", "append", "fold", "feed row"} {
		spans := receiver.named(name, traceID)
		if len(spans) != 1 || hex.EncodeToString(spans[0].ParentSpanId) != parent {
			t.Fatalf("%d spans %s: %v, want one below %s", len(spans), name, spans, parent)
		}
		parent = hex.EncodeToString(spans[0].SpanId)
	}
	if n := len(receiver.named("log sync", traceID)); n != 1 {
		t.Errorf("%d spans of the log's fsync", n)
	}
	fold, row := receiver.named("fold", traceID)[0], receiver.named("feed row", traceID)[0]
	batch := receiver.named("fold batch", "")
	if len(batch) != 1 || len(batch[0].Links) != 1 || string(batch[0].Links[0].TraceId) != string(fold.TraceId) ||
		len(fold.Links) != 1 || string(fold.Links[0].SpanId) != string(batch[0].SpanId) {
		t.Errorf("the fold %v and its batch %v are not linked", fold, batch)
	}
	if feed := receiver.named("GET /v1/_changes", feedTrace); len(feed) != 1 || len(row.Links) != 1 || string(row.Links[0].SpanId) != string(feed[0].SpanId) {
		t.Errorf("the row %v and the feed %v are not linked", row, feed)
	}
	if n := len(receiver.named("PUT /v1/:collection/:id", "2"+traceID[1:])); n != 0 {
		t.Errorf("%d spans of a request that is not to be traced", n)
	}
}

// TestTraceContextIsStored: the trace context of a write is in the log, for the nodes that fold it, and is no part of what they
// fold.
func TestTraceContextIsStored(t *testing.T) {
	t.Parallel()
	receiver, dir := receiveSpans(t), t.TempDir()
	s := harness.Open(t, harness.Options{Dir: dir, TraceEndpoint: receiver.URL})
	s.Want(http.StatusCreated, "PUT", "/v1/books/b", `{"n":1}`, "traceparent", "00-"+traceID+"-"+clientSpan+"-01")
	before := s.Digest()
	ctx, cancel := context.WithTimeout(context.Background(), suite.Deadline(harness.WaitTime))
	defer cancel()
	reader, err := s.Node.Log.Read(ctx, 1)
	if err != nil {
		t.Fatal(err)
	}
	ev, _, err := reader.Next(ctx)
	if err != nil || !strings.HasPrefix(ev.Trace, "00-"+traceID+"-") {
		t.Errorf("the event has the trace context %+v, %v", ev, err)
	}
	reader.Close()
	s.Close()
	plain := harness.Open(t, harness.Options{Dir: dir}) // which traces nothing
	defer plain.Close()
	plain.Replay()
	if after := plain.Digest(); after != before {
		t.Error("the read model depends on the trace context")
	}
}

// TestTraceFlags: the ratio is checked at the start, and is not asked of requests that say by themselves that they are traced.
func TestTraceFlags(t *testing.T) {
	suite.Parallel(t)
	for flag, value := range map[string]string{"--trace-ratio": "1.5"} {
		if out, err := harness.RunProgram(t, "serve", "--data", t.TempDir(), "--listen", "127.0.0.1:0", flag, value); err == nil || !strings.Contains(out, flag) {
			t.Errorf("%s %s: %v, %s", flag, value, err, out)
		}
	}
	receiver := receiveSpans(t)
	p := harness.StartProcess(t, "--data", t.TempDir(), "--durability", "interval", "--trace-endpoint", receiver.URL, "--trace-ratio", "0")
	for i := range 20 {
		p.Put("books", fmt.Sprint(i), `{}`)
	}
	p.Want(http.StatusNoContent, "PUT", "/v1/books/1", `{"n":1}`, "traceparent", "00-"+traceID+"-"+clientSpan+"-01")
	p.Signal(syscall.SIGTERM)
	if n := len(receiver.named("PUT /v1/:collection/:id", "")); n != 1 {
		t.Errorf("%d requests were traced, want the one that says so", n)
	}
}

// TestSpansOfQueries: a query has a span below its request's, with its plan and nothing of what it asked for.
func TestSpansOfQueries(t *testing.T) {
	t.Parallel()
	receiver := receiveSpans(t)
	s := harness.Open(t, harness.Options{Dir: t.TempDir(), TraceEndpoint: receiver.URL})
	s.Model("collections: {books: {indexes: {byTitle: [title]}}}")
	s.Put("books", "b", `{"title":"secret"}`)
	s.Want(http.StatusOK, "GET", "/v1/books?filter=doc.title%3D%3D%22secret%22", "", "traceparent", "00-"+traceID+"-"+clientSpan+"-01")
	harness.Await(t, "the query's span", time.Minute, func() bool {
		return len(receiver.named("query", traceID)) > 0 && len(receiver.named("GET /v1/:collection", traceID)) > 0
	})
	s.Close()
	span, request := receiver.named("query", traceID)[0], receiver.named("GET /v1/:collection", traceID)[0]
	attributes := map[string]string{}
	for _, a := range span.Attributes {
		attributes[a.Key] = a.Value.String()
	}
	if string(span.ParentSpanId) != string(request.SpanId) || !strings.Contains(attributes["fanfold.query.index"], "byTitle") || !strings.Contains(attributes["fanfold.query.documents"], "1") {
		t.Errorf("the span is %v, below %x, want it below %x", attributes, span.ParentSpanId, request.SpanId)
	}
	if text := span.String() + request.String(); strings.Contains(text, "secret") {
		t.Errorf("a constant is in the spans: %s", text)
	}
}
