package tracing

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	"google.golang.org/grpc"
)

// spanReceiver is told of spans by gRPC.
type spanReceiver struct {
	collector.UnimplementedTraceServiceServer

	got chan string // names of spans
}

func (r *spanReceiver) Export(_ context.Context, req *collector.ExportTraceServiceRequest) (*collector.ExportTraceServiceResponse, error) {
	for _, resource := range req.ResourceSpans {
		for _, scope := range resource.ScopeSpans {
			for _, span := range scope.Spans {
				r.got <- span.Name
			}
		}
	}
	return &collector.ExportTraceServiceResponse{}, nil
}

// settings are variables of the environment, and what New makes of them.
type settings struct {
	endpoint string
	env      map[string]string
	nothing  bool   // is traced
	mistake  string // which the error names
}

// TestEnvironment: the variables of OpenTelemetry say whether spans are sent, and how.
func TestEnvironment(t *testing.T) {
	const at = "http://127.0.0.1:9"
	for _, c := range []settings{
		{nothing: true},
		{endpoint: at},
		{env: map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": at}},
		{env: map[string]string{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": at}},
		{env: map[string]string{"OTEL_TRACES_EXPORTER": "otlp"}},
		{endpoint: at, env: map[string]string{"OTEL_SDK_DISABLED": "true"}, nothing: true},
		{endpoint: at, env: map[string]string{"OTEL_SDK_DISABLED": "TRUE"}, nothing: true},
		{endpoint: at, env: map[string]string{"OTEL_SDK_DISABLED": "no"}},
		{endpoint: at, env: map[string]string{"OTEL_TRACES_EXPORTER": "none"}, nothing: true},
		{endpoint: at, env: map[string]string{"OTEL_TRACES_EXPORTER": "zipkin"}, mistake: "OTEL_TRACES_EXPORTER"},
		{endpoint: at, env: map[string]string{"OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"}},
		{endpoint: at, env: map[string]string{"OTEL_EXPORTER_OTLP_PROTOCOL": "http/json"}, mistake: "OTEL_EXPORTER_OTLP_PROTOCOL"},
		{endpoint: at, env: map[string]string{"OTEL_EXPORTER_OTLP_PROTOCOL": "http/json", "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL": "http/protobuf"}},
	} {
		for name, value := range c.env {
			t.Setenv(name, value)
		}
		tracer, err := New(t.Context(), Options{Endpoint: c.endpoint})
		if (err != nil) != (c.mistake != "") || err != nil && !strings.Contains(err.Error(), c.mistake) || err == nil && (tracer == nil) != c.nothing {
			t.Errorf("%+v: %v, %v", c, tracer, err)
		}
		_ = tracer.Close()
		for name := range c.env {
			t.Setenv(name, "")
		}
	}
}

// TestSpansByGRPC: spans go by gRPC where the environment says so.
func TestSpansByGRPC(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server, receiver := grpc.NewServer(), &spanReceiver{got: make(chan string, 10)}
	collector.RegisterTraceServiceServer(server, receiver)
	go func() { _ = server.Serve(listener) }()
	defer server.Stop()
	t.Setenv("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc")
	tracer, err := New(t.Context(), Options{Endpoint: "http://" + listener.Addr().String(), Ratio: 1})
	if err != nil {
		t.Fatal(err)
	}
	ctx, span := tracer.Request(httptest.NewRequest(http.MethodGet, "/", nil), "GET", "/x")
	if ID(ctx) == "" || ID(t.Context()) != "" {
		t.Errorf("the trace is %q, and of other work %q", ID(ctx), ID(t.Context()))
	}
	span.End()
	if err := tracer.Close(); err != nil {
		t.Fatal(err)
	}
	select {
	case name := <-receiver.got:
		if name != "GET /x" {
			t.Errorf("the span is %q", name)
		}
	case <-time.After(time.Minute):
		t.Error("no span came")
	}
}
