package servers

import (
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"syscall"
	"testing"

	"github.com/nats-io/nats.go"
)

// TestRefusedCertificateIsExplained: a server that wants a client certificate closes the connection after the handshake; what the
// node sees of that depends on what it was doing.
func TestRefusedCertificateIsExplained(t *testing.T) {
	alert := &net.OpError{Op: "remote error", Err: errors.New("tls: certificate required")}
	write := &net.OpError{Op: "write", Err: syscall.EPIPE}
	closed := func(err error) error { return fmt.Errorf("%w: closed after the handshake: %w", nats.ErrTLS, err) }
	for name, err := range map[string]error{
		"read":                               alert,
		"written before it was read":         closed(fmt.Errorf("%w: %w", write, alert)),
		"joined":                             errors.Join(write, nil, closed(alert)),
		"never read":                         closed(write),
		"the connection just came to an end": closed(io.EOF),
	} {
		for _, c := range []Credentials{{}, {CertFile: "c", KeyFile: "k"}} {
			if got := c.explain(err); !strings.Contains(got, "--nats-cert") {
				t.Errorf("%s, with the certificate %q: %s", name, c.CertFile, got)
			}
		}
		if got := (Credentials{}).explain(err); !strings.Contains(got, "--nats-cert and --nats-key") {
			t.Errorf("%s: %s", name, got)
		}
	}
	if got := (Credentials{}).explain(write); strings.Contains(got, "--nats-cert") {
		t.Errorf("a connection that broke: %s", got)
	}
}
