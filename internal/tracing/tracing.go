// Package tracing makes spans by OpenTelemetry: of a request, of the event that it appends, of that event's fold and of its
// rows in the change feed. The trace context of an event is in a header of its message in the log. A nil *Tracer makes none,
// and costs a comparison.
package tracing

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"os"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
)

// Options are the settings of a Tracer.
type Options struct {
	// Endpoint is the URL to which spans are sent by OTLP, such as http://127.0.0.1:4318. If it is "", the
	// environment says it (OTEL_EXPORTER_OTLP_ENDPOINT, OTEL_EXPORTER_OTLP_TRACES_ENDPOINT), or nothing is traced.
	Endpoint string
	// Ratio is the share of requests that are traced, of those that bring no trace context, which says it by itself. It is
	// not used where OTEL_TRACES_SAMPLER is set.
	Ratio   float64
	Version string // of the program
	Logger  *slog.Logger
}

// Tracer makes spans, and sends them in the background. Its methods may be called from many goroutines, and for nil.
type Tracer struct {
	provider *sdktrace.TracerProvider
	tracer   trace.Tracer
	batches  trace.Tracer // makes spans of whole batches, which are there where an event of theirs is traced
	recent   recent
}

// format reads and writes the header traceparent (W3C Trace Context).
var format propagation.TraceContext

// Header names the header with a trace context, in requests and in the log's messages.
const Header = "traceparent"

// New returns a tracer, nil where nothing is to be traced. The caller closes it. It returns an error of the settings, also of those
// in the environment. Whether somebody takes the spans is found out later, and logged.
func New(ctx context.Context, opt Options) (*Tracer, error) {
	exporter, err := newExporter(ctx, opt.Endpoint)
	if exporter == nil || err != nil {
		return nil, err
	}
	about, err := resource.New(ctx, resource.WithAttributes(attribute.String("service.name", "fanfold"), attribute.String("service.version", opt.Version)),
		resource.WithFromEnv(), resource.WithTelemetrySDK())
	if err != nil {
		return nil, errors.Join(err, exporter.Shutdown(ctx))
	}
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) { opt.Logger.Warn("spans are lost", "err", err) }))
	sender := sdktrace.NewBatchSpanProcessor(exporter)
	settings := []sdktrace.TracerProviderOption{sdktrace.WithSpanProcessor(sender), sdktrace.WithResource(about)}
	batches := sdktrace.NewTracerProvider(append(settings, sdktrace.WithSampler(sdktrace.AlwaysSample()))...)
	if os.Getenv("OTEL_TRACES_SAMPLER") == "" {
		settings = append(settings, sdktrace.WithSampler(sdktrace.ParentBased(sdktrace.TraceIDRatioBased(opt.Ratio))))
	}
	provider := sdktrace.NewTracerProvider(settings...)
	return &Tracer{provider: provider, tracer: provider.Tracer("fanfold"), batches: batches.Tracer("fanfold")}, nil
}

// closeTime bounds how long the last spans may take to be sent.
const closeTime = 3 * time.Second

// Close sends the spans that are left, for 3 seconds at most.
func (t *Tracer) Close() error {
	if t == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), closeTime)
	defer cancel()
	return t.provider.Shutdown(ctx)
}

// Span is the span of some work; nil for work that is not traced.
type Span struct{ span trace.Span }

// End ends the span.
func (s *Span) End() {
	if s != nil {
		s.span.End()
	}
}

// Answered ends the span of a request.
func (s *Span) Answered(status int, requestID string) {
	if s == nil {
		return
	}
	s.span.SetAttributes(attribute.Int("http.response.status_code", status), attribute.String("fanfold.request_id", requestID))
	if status >= http.StatusInternalServerError {
		s.span.SetStatus(codes.Error, "")
	}
	s.span.End()
}

// Request begins the span of a request, under the trace context that it brings, and returns the context of its work. route
// is the request's route, with names in place of what a client has chosen.
func (t *Tracer) Request(r *http.Request, method, route string) (context.Context, *Span) {
	if t == nil {
		return r.Context(), nil
	}
	ctx := format.Extract(r.Context(), propagation.HeaderCarrier(r.Header))
	ctx, span := t.tracer.Start(ctx, method+" "+route, trace.WithSpanKind(trace.SpanKindServer),
		trace.WithAttributes(attribute.String("http.request.method", method), attribute.String("http.route", route)))
	return ctx, &Span{span}
}

// Start begins the span of a part of some work that is traced.
func (t *Tracer) Start(ctx context.Context, name string) (context.Context, *Span) {
	if t == nil || !trace.SpanContextFromContext(ctx).IsSampled() {
		return ctx, nil
	}
	ctx, span := t.tracer.Start(ctx, name)
	return ctx, &Span{span}
}

// Parent returns the trace context of some work as the header has it, "" where it is not traced.
func (t *Tracer) Parent(ctx context.Context) string {
	if t == nil || !trace.SpanContextFromContext(ctx).IsSampled() {
		return ""
	}
	carrier := propagation.MapCarrier{}
	format.Inject(ctx, carrier)
	return carrier[Header]
}

// Plan says how a query was answered, without anything of what it asked for.
type Plan struct {
	Index, Order       string
	Entries, Documents int64
	Complete           bool
}

// Planned ends the span of a query.
func (s *Span) Planned(p Plan) {
	if s == nil {
		return
	}
	s.span.SetAttributes(attribute.String("fanfold.query.index", p.Index), attribute.String("fanfold.query.order", p.Order),
		attribute.Int64("fanfold.query.entries", p.Entries), attribute.Int64("fanfold.query.documents", p.Documents),
		attribute.Bool("fanfold.query.complete", p.Complete))
	s.span.End()
}

// ID returns the id of the trace in which some work is a span, "" for work that is not traced.
func ID(ctx context.Context) string {
	if span := trace.SpanContextFromContext(ctx); span.IsSampled() {
		return span.TraceID().String()
	}
	return ""
}
