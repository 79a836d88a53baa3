package api_test

import (
	"bytes"
	"crypto/tls"
	"io"
	"log/slog"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"github.com/fanfold/fanfold/api"
	"github.com/fanfold/fanfold/tests/harness"
	"github.com/fanfold/fanfold/tests/suite"
)

// attackTime is how long the attack goes on. A process with the fault ends within two seconds.
const attackTime = 4 * time.Second

// TestHeaderTables: clients without a key that alternate the size of the header table do not end a node (CVE-2026-97032). On a version of
// Go with the fault the node offers no HTTP/2, and its log says why.
func TestHeaderTables(t *testing.T) {
	suite.Parallel(t)
	said := &syncBuffer{}
	s, cert := harness.OpenTLS(t, harness.Options{Logger: slog.New(slog.NewTextHandler(said, nil)), API: api.Options{Runtime: runtime.Version()}})
	offered := api.OffersHTTP2(runtime.Version())
	if told := strings.Contains(said.String(), "HTTP/2 is not offered"); told == offered || !offered && !strings.Contains(said.String(), runtime.Version()) {
		t.Errorf("HTTP/2 is offered: %v; the log says\n%s", offered, said)
	}
	var attackers sync.WaitGroup
	for range 2 {
		attackers.Go(func() { alternateTables(t, s, cert, offered) })
	}
	attackers.Wait()
	s.Speak(cert, 1)
	s.Want(http.StatusOK, http.MethodGet, "/healthz", "")
}

// alternateTables asks for /healthz while it alternates the size of the header table, where HTTP/2 is offered. It speaks HTTP/2 in
// vain where not.
func alternateTables(t *testing.T, s *harness.Store, cert harness.Certificate, offered bool) {
	conn, err := tls.Dial("tcp", s.Node.Addr(), &tls.Config{RootCAs: cert.Pool, NextProtos: []string{"h2", "http/1.1"}})
	if err != nil {
		t.Error(err)
		return
	}
	defer func() { _ = conn.Close() }()
	if got := conn.ConnectionState().NegotiatedProtocol; (got == "h2") != offered {
		t.Errorf("the protocol is %q, and HTTP/2 is offered: %v", got, offered)
	}
	if _, err := io.WriteString(conn, http2.ClientPreface); err != nil {
		t.Error(err)
		return
	}
	if !offered {
		if answer, err := io.ReadAll(conn); err != nil || !bytes.HasPrefix(answer, []byte("HTTP/1.1 ")) {
			t.Errorf("HTTP/2 is answered %.200q, %v", answer, err)
		}
		return
	}
	framer := http2.NewFramer(conn, conn)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			if _, err := framer.ReadFrame(); err != nil {
				return
			}
		}
	}()
	var block bytes.Buffer
	head := hpack.NewEncoder(&block)
	head.SetMaxDynamicTableSize(0)
	for _, f := range []hpack.HeaderField{{Name: ":method", Value: "GET"}, {Name: ":scheme", Value: "https"}, {Name: ":authority", Value: "localhost"}, {Name: ":path", Value: "/healthz"}} {
		if err := head.WriteField(hpack.HeaderField{Name: f.Name, Value: f.Value, Sensitive: true}); err != nil {
			t.Error(err)
		}
	}
	_ = framer.WriteSettings()
	for id, end := uint32(1), time.Now().Add(attackTime); time.Now().Before(end); id += 2 {
		_ = framer.WriteHeaders(http2.HeadersFrameParam{StreamID: id, BlockFragment: block.Bytes(), EndStream: true, EndHeaders: true})
		for _, size := range []uint32{0, 4096, 0, 4096} {
			if framer.WriteSettings(http2.Setting{ID: http2.SettingHeaderTableSize, Val: size}) != nil {
				return // the server has had enough of it
			}
		}
		if id%64 == 1 {
			_ = framer.WriteWindowUpdate(0, 1<<16)
		}
	}
	_ = conn.Close()
	<-done
}
