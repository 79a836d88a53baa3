package tracing

import (
	"cmp"
	"context"
	"fmt"
	"net/url"
	"os"
	"strings"

	"go.opentelemetry.io/otel/exporters/otlp/otlptrace"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracegrpc"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
)

// newExporter returns what sends spans to an endpoint, or to where the environment says; nil for nowhere. It reads the variables of
// https://opentelemetry.io/docs/specs/otel/configuration/sdk-environment-variables/ and of the OTLP exporter's own. A value that is not known is
// an error.
func newExporter(ctx context.Context, endpoint string) (*otlptrace.Exporter, error) {
	exporter := os.Getenv("OTEL_TRACES_EXPORTER")
	switch {
	case strings.EqualFold(os.Getenv("OTEL_SDK_DISABLED"), "true"), exporter == "none":
		return nil, nil //nolint:nilnil // nobody takes spans
	case exporter != "" && exporter != "otlp":
		return nil, fmt.Errorf("OTEL_TRACES_EXPORTER is %.40q: spans are sent by otlp, or by none", exporter)
	case endpoint == "" && exporter == "" && os.Getenv("OTEL_EXPORTER_OTLP_ENDPOINT") == "" && os.Getenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT") == "":
		return nil, nil //nolint:nilnil // nobody takes spans
	}
	switch protocol := cmp.Or(os.Getenv("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL"), os.Getenv("OTEL_EXPORTER_OTLP_PROTOCOL"), "http/protobuf"); protocol {
	case "grpc":
		var to []otlptracegrpc.Option
		if endpoint != "" {
			to = append(to, otlptracegrpc.WithEndpointURL(endpoint))
		}
		return otlptracegrpc.New(ctx, to...)
	case "http/protobuf":
		var to []otlptracehttp.Option
		if endpoint != "" {
			at, err := url.Parse(endpoint)
			if err != nil {
				return nil, err
			}
			if at.Path == "" || at.Path == "/" { // where OTLP over HTTP takes spans (https://opentelemetry.io/docs/specs/otlp/)
				at.Path = "/v1/traces"
			}
			to = append(to, otlptracehttp.WithEndpointURL(at.String()))
		}
		return otlptracehttp.New(ctx, to...)
	default:
		return nil, fmt.Errorf("OTEL_EXPORTER_OTLP_PROTOCOL is %.40q: spans are sent by http/protobuf, or by grpc", protocol)
	}
}
