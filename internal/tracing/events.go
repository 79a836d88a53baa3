package tracing

import (
	"context"
	"sync"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
)

// Bounds of what is traced of events.
const (
	maxRecent     = 4096 // events whose trace contexts are kept, for the rows of the feed
	maxFoldSpans  = 128  // of one batch
	maxDeliveries = 16   // spans of rows that one event has in feeds
)

// Event is an event with a trace context, as its message has it.
type Event struct {
	Seq    uint64
	Parent string
}

// recent keeps the trace contexts of the events that were folded last, by their sequence.
type recent struct {
	mu     sync.Mutex
	events [maxRecent]recentEvent
}

// recentEvent is the trace context of an event.
type recentEvent struct {
	seq       uint64
	context   trace.SpanContext
	delivered int // spans
}

// set keeps the trace context of an event.
func (r *recent) set(seq uint64, sc trace.SpanContext) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.events[seq%maxRecent] = recentEvent{seq: seq, context: sc}
}

// take returns the trace context of an event for one more delivery, an invalid one where there is none, or were enough.
func (r *recent) take(seq uint64) trace.SpanContext {
	r.mu.Lock()
	defer r.mu.Unlock()
	e := &r.events[seq%maxRecent]
	if e.seq != seq || e.delivered == maxDeliveries {
		return trace.SpanContext{}
	}
	e.delivered++
	return e.context
}

// Folded makes the spans of a batch of events that was folded since a time. One span is the batch's, linked to the trace of
// each of its events; one in each of these traces is linked to the batch's. Of events that are not traced there is none.
func (t *Tracer) Folded(began time.Time, size int, events []Event) {
	if t == nil || len(events) == 0 {
		return
	}
	events = events[:min(len(events), maxFoldSpans)]
	contexts, links := make([]trace.SpanContext, len(events)), make([]trace.Link, 0, len(events))
	for i, e := range events {
		ctx := format.Extract(context.Background(), propagation.MapCarrier{Header: e.Parent})
		if contexts[i] = trace.SpanContextFromContext(ctx); contexts[i].IsSampled() {
			links = append(links, trace.Link{SpanContext: contexts[i]})
		}
	}
	if len(links) == 0 {
		return
	}
	_, batch := t.batches.Start(context.Background(), "fold batch", trace.WithTimestamp(began), trace.WithLinks(links...),
		trace.WithAttributes(attribute.Int("fanfold.events", size)))
	defer batch.End()
	for i, e := range events {
		if !contexts[i].IsSampled() {
			continue
		}
		_, span := t.tracer.Start(trace.ContextWithRemoteSpanContext(context.Background(), contexts[i]), "fold", trace.WithTimestamp(began),
			trace.WithLinks(trace.Link{SpanContext: batch.SpanContext()}), trace.WithAttributes(seqOf(e.Seq)))
		span.End()
		t.recent.set(e.Seq, span.SpanContext())
	}
}

// Delivered makes the span of an event's rows that were sent to one reader of the feed. It is in the event's trace, with a
// link to the reader's request, whose context is ctx.
func (t *Tracer) Delivered(ctx context.Context, seq uint64) {
	if t == nil {
		return
	}
	event := t.recent.take(seq)
	if !event.IsSampled() {
		return
	}
	_, span := t.tracer.Start(trace.ContextWithRemoteSpanContext(context.Background(), event), "feed row",
		trace.WithLinks(trace.Link{SpanContext: trace.SpanContextFromContext(ctx)}), trace.WithAttributes(seqOf(seq)))
	span.End()
}

// seqOf returns the attribute with an event's sequence.
func seqOf(seq uint64) attribute.KeyValue {
	return attribute.Int64("fanfold.seq", int64(seq)) //nolint:gosec // a log has fewer
}
