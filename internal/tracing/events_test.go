package tracing

import (
	"context"
	"fmt"
	"testing"
	"time"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
)

// TestSpansAreBounded: only some events of a batch have spans, and an event has spans for some readers only. It has none if a later one
// took its place, or if its trace context is malformed.
func TestSpansAreBounded(t *testing.T) {
	recorder := tracetest.NewSpanRecorder()
	provider := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(recorder))
	tracer := &Tracer{provider: provider, tracer: provider.Tracer(""), batches: provider.Tracer("")}
	events := make([]Event, 1000)
	for i := range events {
		events[i] = Event{Seq: uint64(i + 1), Parent: fmt.Sprintf("00-%032x-%016x-01", i+1, i+1)}
	}
	tracer.Folded(time.Now(), len(events), events)
	if n := len(recorder.Ended()); n != maxFoldSpans+1 {
		t.Errorf("%d spans of a batch", n)
	}
	count := func(seq uint64) int {
		before := len(recorder.Ended())
		for range 100 {
			tracer.Delivered(context.Background(), seq)
		}
		return len(recorder.Ended()) - before
	}
	if n := count(1); n != maxDeliveries {
		t.Errorf("%d spans of an event's rows", n)
	}
	if n := count(900) + count(1+maxRecent); n != 0 {
		t.Errorf("%d spans of events without a trace", n)
	}
	for _, wrong := range []string{"", "00", "00-x-y-01", "00-" + fmt.Sprintf("%032x-%016x", 0, 1) + "-01", fmt.Sprintf("00-%032x-%016x-00", 1, 1)} {
		before := len(recorder.Ended())
		tracer.Folded(time.Now(), 1, []Event{{Seq: 2, Parent: wrong}})
		if len(recorder.Ended()) != before {
			t.Errorf("%q is taken for a trace context", wrong)
		}
	}
}
