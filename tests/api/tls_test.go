package api_test

import (
	"bytes"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/net/http2"

	"github.com/fanfold/fanfold/api"
	"github.com/fanfold/fanfold/node"
	"github.com/fanfold/fanfold/tests/harness"
	"github.com/fanfold/fanfold/tests/suite"
)

// TestTLS: the node speaks TLS 1.2 and later, HTTP/1.1 and HTTP/2, and nothing without TLS.
func TestTLS(t *testing.T) {
	suite.Parallel(t)
	s, cert := harness.OpenTLS(t, harness.Options{})
	if !strings.HasPrefix(s.Node.URL(), "https://") {
		t.Fatalf("the URL is %s", s.Node.URL())
	}
	s.Put("books", "b", `{"x":1}`)
	s.WantDoc("books", "b", `{"id":"b","x":1}`)
	s.Speak(cert, 1)
	s.WantDoc("books", "b", `{"id":"b","x":1}`)
	for version, taken := range map[uint16]bool{tls.VersionTLS10: false, tls.VersionTLS11: false, tls.VersionTLS12: true, tls.VersionTLS13: true} {
		conn, err := tls.Dial("tcp", s.Node.Addr(), &tls.Config{RootCAs: cert.Pool, MinVersion: version, MaxVersion: version, NextProtos: []string{"h2", "http/1.1"}})
		if (err == nil) != taken {
			t.Errorf("%s: %v", tls.VersionName(version), err)
		}
		if err != nil {
			continue
		}
		if got := conn.ConnectionState().NegotiatedProtocol; got != "h2" {
			t.Errorf("%s: the protocol is %q", tls.VersionName(version), got)
		}
		if err := conn.Close(); err != nil {
			t.Error(err)
		}
	}
	if resp, err := http.Get("http://" + s.Node.Addr() + "/healthz"); err == nil {
		resp.Body.Close()
		if resp.StatusCode != http.StatusBadRequest {
			t.Errorf("without TLS the status is %d", resp.StatusCode)
		}
	}
	left := regexp.MustCompile(`(?m)^fanfold_tls_expiry_seconds (\S+)$`).FindSubmatch(s.Want(http.StatusOK, http.MethodGet, "/metrics", "").Body)
	if left == nil {
		t.Fatal("no metric says when the certificate ends")
	}
	if seconds, err := strconv.ParseFloat(string(left[1]), 64); err != nil || seconds > 3600 || seconds < 3000 {
		t.Errorf("the certificate ends in %v seconds, %v", seconds, err)
	}
}

// TestStreamsAreBounded: a connection of HTTP/2 has 250 requests at a time, which its client is told.
func TestStreamsAreBounded(t *testing.T) {
	suite.Parallel(t)
	s, cert := harness.OpenTLS(t, harness.Options{})
	conn, err := tls.Dial("tcp", s.Node.Addr(), &tls.Config{RootCAs: cert.Pool, NextProtos: []string{"h2"}})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	framer := http2.NewFramer(conn, conn)
	if _, err := io.WriteString(conn, http2.ClientPreface); err != nil {
		t.Fatal(err)
	}
	if err := framer.WriteSettings(); err != nil {
		t.Fatal(err)
	}
	frame, err := framer.ReadFrame()
	if err != nil {
		t.Fatal(err)
	}
	settings, ok := frame.(*http2.SettingsFrame)
	if !ok {
		t.Fatalf("the first frame is %v", frame)
	}
	if most, ok := settings.Value(http2.SettingMaxConcurrentStreams); !ok || most != 250 {
		t.Errorf("a connection has %d streams, %v", most, ok)
	}
}

// TestImportOverTLS: an import is answered while its lines come, over HTTP/1.1 and HTTP/2, and a silent one ends.
func TestImportOverTLS(t *testing.T) {
	suite.Parallel(t)
	for _, version := range []int{1, 2} {
		t.Run(fmt.Sprint("HTTP/", version), func(t *testing.T) {
			s, cert := harness.OpenTLS(t, harness.Options{API: api.Options{BodyGrace: 4 * time.Second}})
			s.Speak(cert, version)
			body, send := io.Pipe()
			req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.URL+"/v1/_import?collection=books", body)
			if err != nil {
				t.Fatal(err)
			}
			req.Header.Set("Content-Type", "application/x-ndjson")
			go func() {
				for i := range 2000 {
					if _, err := fmt.Fprintf(send, "{\"id\":\"b%d\"}\n", i); err != nil {
						return
					}
				}
				time.Sleep(time.Second)
				_, _ = fmt.Fprintf(send, "{\"id\":\"last\"}\n") // and then nothing
			}()
			resp, err := s.HTTP.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Body.Close()
			text, err := io.ReadAll(resp.Body)
			if err != nil || resp.ProtoMajor != version {
				t.Fatalf("HTTP/%d: %v after %s", resp.ProtoMajor, err, text)
			}
			lines := strings.Split(strings.TrimSpace(string(text)), "\n")
			var end struct {
				Type    string
				Written int
			}
			if err := json.Unmarshal([]byte(lines[len(lines)-1]), &end); err != nil || end.Written != 2001 || end.Type != "urn:fanfold:problem:too-slow" || len(lines) < 2 {
				t.Errorf("%v: the import is answered\n%s", err, text)
			}
			_ = send.Close()
			s.Want(http.StatusOK, http.MethodGet, "/v1/books/last?consistency=strong", "")
		})
	}
}

// TestBodiesOverHTTP2: a silent body is a 408, and a refused one a problem; others on the connection go on.
func TestBodiesOverHTTP2(t *testing.T) {
	suite.Concurrent(t)
	suite.Parallel(t)
	s, _ := harness.OpenTLS(t, harness.Options{API: api.Options{BodyGrace: 300 * time.Millisecond}})
	for path, want := range map[string]int{"/v1/books/b": http.StatusRequestTimeout, "/v1/_nothing/b": http.StatusNotFound} {
		body, send := io.Pipe()
		go func() { _, _ = io.WriteString(send, `{"x":`) }()
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPut, s.URL+path, body)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", "application/json")
		resp, err := s.HTTP.Do(req)
		if err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		if resp.Body.Close(); resp.StatusCode != want || resp.ProtoMajor != 2 {
			t.Errorf("%s: %s %d, want %d", path, resp.Proto, resp.StatusCode, want)
		}
		_ = send.Close()
	}
	large := `{"x":"` + strings.Repeat("x", 1<<20) + `"}`
	s, _ = harness.OpenTLS(t, harness.Options{}) // a busy machine pauses for longer than 300 ms
	s.Put("books", "large", large)
	if got := s.Get("books", "large"); len(got) < len(large) {
		t.Errorf("a large document has %d bytes", len(got))
	}
	if r := s.Want(http.StatusOK, http.MethodGet, "/v1/_export", ""); !strings.Contains(string(r.Body), `"id":"large"`) {
		t.Errorf("the export has %d bytes", len(r.Body))
	}
	s.Want(http.StatusRequestEntityTooLarge, http.MethodPut, "/v1/books/larger", `{"x":"`+strings.Repeat("x", 3<<20)+`"}`)
}

// syncBuffer is a buffer for a log.
type syncBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *syncBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *syncBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

// TestCertificateIsReadAgain: a new pair is shown within ten seconds of the change. One that does not fit, and a key that everybody
// may read, leave the old one in force, with a line in the log.
func TestCertificateIsReadAgain(t *testing.T) {
	suite.Parallel(t)
	said := &syncBuffer{}
	s, cert := harness.OpenTLS(t, harness.Options{Logger: slog.New(slog.NewTextHandler(said, nil))})
	dir := filepath.Dir(cert.File)
	shown := func(c harness.Certificate) string {
		conn, err := tls.Dial("tcp", s.Node.Addr(), &tls.Config{RootCAs: c.Pool})
		if err != nil {
			return err.Error()
		}
		defer func() { _ = conn.Close() }()
		return conn.ConnectionState().PeerCertificates[0].SerialNumber.String()
	}
	within := func(what string, done func() bool) {
		t.Helper()
		for begun := time.Now(); !done(); time.Sleep(50 * time.Millisecond) {
			if time.Since(begun) > suite.Deadline(10*time.Second) {
				t.Fatalf("no %s within ten seconds; the log says\n%s", what, said)
			}
		}
	}
	if got := shown(cert); got != cert.Serial.String() {
		t.Fatalf("the node shows %s", got)
	}
	next := harness.NewCertificate(t, dir)
	within("new certificate", func() bool { return shown(next) == next.Serial.String() })
	key, err := os.ReadFile(next.KeyFile)
	if err != nil {
		t.Fatal(err)
	}
	other := harness.NewCertificate(t, t.TempDir())
	wrong, err := os.ReadFile(other.KeyFile)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(next.KeyFile, wrong, 0o600); err != nil {
		t.Fatal(err)
	}
	within("line about a pair that does not fit", func() bool { return strings.Contains(said.String(), "are no certificate and its key") })
	if got := shown(next); got != next.Serial.String() {
		t.Errorf("the node shows %s", got)
	}
	if err := os.WriteFile(next.KeyFile, key, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(next.KeyFile, 0o644); err != nil {
		t.Fatal(err)
	}
	within("line about a key that everybody may read", func() bool { return strings.Contains(said.String(), "everybody on this machine may read") })
	last := harness.NewCertificate(t, dir) // with the mode that the file has
	time.Sleep(5 * time.Second)
	if got := shown(next); got != next.Serial.String() {
		t.Errorf("with a key that everybody may read the node shows %s", got)
	}
	if err := os.Chmod(last.KeyFile, 0o600); err != nil {
		t.Fatal(err)
	}
	within("last certificate", func() bool { return shown(last) == last.Serial.String() })
	s.Speak(last, 2)
	if n := strings.Count(said.String(), "the certificate was read again"); n != 2 {
		t.Errorf("the log says %d times that the certificate was read again\n%s", n, said)
	}
	if strings.Contains(said.String(), strings.TrimSpace(strings.Split(string(key), "\n")[1])) {
		t.Error("the log has a private key")
	}
}

// TestWrongCertificates: a pair that cannot be used is said before anything is made.
func TestWrongCertificates(t *testing.T) {
	suite.Parallel(t)
	a, b := harness.NewCertificate(t, t.TempDir()), harness.NewCertificate(t, t.TempDir())
	open := harness.NewCertificate(t, t.TempDir())
	if err := os.Chmod(open.KeyFile, 0o604); err != nil {
		t.Fatal(err)
	}
	large := filepath.Join(t.TempDir(), "large.pem")
	if err := os.WriteFile(large, make([]byte, 1<<20+1), 0o600); err != nil {
		t.Fatal(err)
	}
	for want, pair := range map[string][2]string{"belong together": {a.File, ""}, "give both": {"", a.KeyFile}, "are no certificate and its key": {a.File, b.KeyFile},
		"chmod 600": {open.File, open.KeyFile}, "no such file": {a.File, a.KeyFile + ".old"}, "is not a file": {t.TempDir(), a.KeyFile}, "has more than 1048576 bytes": {large, a.KeyFile}} {
		refusedStart(t, want, func(cfg *node.Config) { cfg.TLSCert, cfg.TLSKey = pair[0], pair[1] })
	}
}

// refusedStart wants that a node does not start, says why, and makes nothing.
func refusedStart(t *testing.T, want string, configure func(cfg *node.Config)) {
	t.Helper()
	cfg := node.Config{Data: filepath.Join(t.TempDir(), "data"), Listen: "127.0.0.1:0", Durability: "interval", Logger: slog.New(slog.DiscardHandler)}
	configure(&cfg)
	n, err := node.Open(t.Context(), cfg)
	if n != nil {
		t.Error(n.Close())
	}
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("a start is not refused with %q: %v", want, err)
	}
	if _, err := os.Stat(cfg.Data); !os.IsNotExist(err) {
		t.Errorf("a start that is refused with %q has made the data directory: %v", want, err)
	}
	if conn, err := net.Dial("tcp", cfg.Listen); err == nil && !strings.HasSuffix(cfg.Listen, ":0") {
		conn.Close()
		t.Errorf("a start that is refused with %q listens", want)
	}
}
