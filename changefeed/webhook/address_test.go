package webhook

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"testing"
	"time"
)

// TestAddresses: what no receiver on the Internet has is refused, in every form, unless it is allowed; without TLS all is that is not allowed.
func TestAddresses(t *testing.T) {
	refused := strings.Fields("0.0.0.0 0.1.2.3 10.0.0.1 100.64.0.1 100.100.100.200 127.0.0.1 127.255.0.1 169.254.169.254 172.16.0.1 172.31.255.255 192.0.0.1 192.0.2.1 192.168.1.1 " +
		"198.18.0.1 198.51.100.7 203.0.113.9 224.0.0.1 240.0.0.1 255.255.255.255 :: ::1 ::ffff:10.0.0.1 ::ffff:169.254.169.254 ::127.0.0.1 64:ff9b::10.0.0.1 64:ff9b:1::1 " +
		"100::1 2001::1 2001:db8::1 2002:7f00:1::1 3fff::1 fc00::1 fd00:ec2::254 fe80::1 fe80::1%eth0 fec0::1 ff02::1")
	for _, text := range refused {
		if (&Options{}).allows(netip.MustParseAddr(text), false) {
			t.Errorf("%s is allowed", text)
		}
	}
	for _, text := range strings.Fields("1.1.1.1 93.184.216.34 172.32.0.1 100.128.0.1 2606:4700::1111 ::ffff:1.1.1.1") {
		if a := netip.MustParseAddr(text); !(&Options{}).allows(a, false) || (&Options{}).allows(a, true) {
			t.Errorf("%s is refused, or allowed without TLS", text)
		}
	}
	some := &Options{Allow: []netip.Prefix{netip.MustParsePrefix("10.1.0.0/16"), netip.MustParsePrefix("fd00:1::/64")}}
	for text, want := range map[string]bool{"10.1.2.3": true, "::ffff:10.1.2.3": true, "10.2.0.1": false, "fd00:1::5": true, "fd00:2::5": false} {
		for _, plain := range []bool{false, true} {
			if some.allows(netip.MustParseAddr(text), plain) != want {
				t.Errorf("%s, plain %v: want %v", text, plain, want)
			}
		}
	}
}

// TestNetworks: what may be allowed is a network, written as one.
func TestNetworks(t *testing.T) {
	for text, good := range map[string]bool{"10.1.0.0/16": true, "127.0.0.1/32": true, "fd00:1::/64": true, "0.0.0.0/0": true, "10.1.0.1/16": false, "10.1.0.0": false, "::ffff:10.1.0.0/112": false, "": false, "a": false} {
		if _, err := ParseAllowed(text); (err == nil) != good {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// TestPinned: a name is looked up once a connection, and a name that means another address the second time leads nowhere else.
func TestPinned(t *testing.T) {
	to := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) }))
	defer to.Close()
	u, err := url.Parse(to.URL)
	if err != nil {
		t.Fatal(err)
	}
	asked := 0
	opt := Options{Allow: []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")}, Resolve: func(context.Context, string) ([]netip.Addr, error) {
		asked++
		return []netip.Addr{netip.MustParseAddr("10.0.0.1"), netip.MustParseAddr(map[bool]string{true: "127.0.0.1", false: "127.0.0.2"}[asked == 1])}, nil
	}}
	opt.setDefaults()
	s := newSender(&opt)
	m := &message{url: "http://rebinding.example:" + u.Port(), id: "msg_1", body: []byte("{}"), secrets: []string{"whsec_" + strings.Repeat("QUJD", 8)}}
	if status, outcome := s.send(t.Context(), m); outcome != Delivered || status != http.StatusNoContent || asked != 1 {
		t.Fatalf("%d, %s after %d look-ups", status, outcome, asked)
	}
	s.plain.CloseIdleConnections()
	if _, outcome := s.send(t.Context(), m); outcome != Forbidden || asked != 2 {
		t.Fatalf("%s after %d look-ups", outcome, asked)
	}
}

// TestTLS: a certificate that nobody vouches for is refused, and one for another name.
func TestTLS(t *testing.T) {
	to := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) }))
	to.Config.ErrorLog = log.New(io.Discard, "", 0)
	to.StartTLS()
	defer to.Close()
	u, err := url.Parse(to.URL)
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AddCert(to.Certificate())
	for _, c := range []struct {
		host  string
		roots *x509.CertPool
		want  Outcome
	}{{"example.com", roots, Delivered}, {"example.com", x509.NewCertPool(), Untrusted}, {"other.example", roots, Untrusted}} {
		opt := Options{Roots: c.roots, Allow: []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")}, Resolve: func(context.Context, string) ([]netip.Addr, error) {
			return []netip.Addr{netip.MustParseAddr("127.0.0.1")}, nil
		}}
		opt.setDefaults()
		m := &message{url: "https://" + c.host + ":" + u.Port(), id: "msg_1", body: []byte("{}"), secrets: []string{"whsec_" + strings.Repeat("QUJD", 8)}}
		if _, outcome := newSender(&opt).send(t.Context(), m); outcome != c.want {
			t.Errorf("%s: %s, want %s", c.host, outcome, c.want)
		}
	}
}

// TestNoProxy: a proxy of the environment is not asked.
func TestNoProxy(t *testing.T) {
	asked := make(chan string, 1)
	proxy := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { asked <- r.URL.String() }))
	defer proxy.Close()
	t.Setenv("HTTP_PROXY", proxy.URL)
	t.Setenv("http_proxy", proxy.URL)
	opt := Options{Allow: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}, Resolve: func(context.Context, string) ([]netip.Addr, error) {
		return []netip.Addr{netip.MustParseAddr("127.0.0.3")}, nil
	}}
	opt.setDefaults()
	m := &message{url: "http://receiver.example:1", id: "msg_1", body: []byte("{}"), secrets: []string{"whsec_" + strings.Repeat("QUJD", 8)}}
	if _, outcome := newSender(&opt).send(t.Context(), m); outcome != Unreachable || len(asked) > 0 || newSender(&opt).plain.Transport.(*http.Transport).Proxy != nil {
		t.Errorf("%s, and the proxy was asked %d times", outcome, len(asked))
	}
}

// TestOtherProtocol: an answer that changes to another protocol ends the post as a failure, though the receiver keeps the connection.
func TestOtherProtocol(t *testing.T) {
	closed := make(chan error, 1)
	to := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		conn, text, err := http.NewResponseController(w).Hijack()
		if err == nil {
			defer conn.Close()
			_, _ = conn.Write([]byte("HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: other\r\n\r\n"))
			_, err = text.ReadByte()
		}
		closed <- err
	}))
	defer to.Close()
	opt := &Options{Allow: prefixes("127.0.0.0/8")}
	opt.setDefaults()
	sent := make(chan string, 1)
	go func() {
		status, outcome := newSender(opt).send(t.Context(), &message{url: to.URL, id: "m"})
		sent <- fmt.Sprint(status, " ", outcome)
	}()
	select {
	case got := <-sent:
		if got != "101 answered" {
			t.Errorf("the post ends with %s", got)
		}
	case <-time.After(3 * postTime):
		to.CloseClientConnections()
		t.Fatal("the post does not end")
	}
	if err := <-closed; !errors.Is(err, io.EOF) {
		t.Errorf("the connection ends with %v", err)
	}
}
