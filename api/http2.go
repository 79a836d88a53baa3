package api

import (
	"cmp"
	"go/version"
	"io"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/fanfold/fanfold/internal/admission"
)

// In HTTP/2, net/http ends a stream at its deadline although nobody reads or writes then. Everything here sets deadlines as
// HTTP/1 has them: they bound how long a Read or a Write waits. stream gives a request of HTTP/2 such deadlines.

// deadline is one of a stream: of its reads, or of its writes.
type deadline struct {
	set func(at time.Time) error // of the stream

	mu      sync.Mutex
	at      time.Time // zero for none
	waiting int       // how many calls it bounds now
}

// to sets the deadline, also for a call that waits. The error is the stream's.
func (d *deadline) to(at time.Time) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.at = at
	if d.waiting == 0 {
		return nil
	}
	return d.set(at)
}

// begin puts the deadline in force for a call, until end.
func (d *deadline) begin() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.waiting++
	if !d.at.IsZero() {
		_ = d.set(d.at) // a stream that has ended says so to the call
	}
}

func (d *deadline) end() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.waiting--; d.waiting == 0 && !d.at.IsZero() {
		_ = d.set(time.Time{})
	}
}

// stream is the answer to a request of HTTP/2, and its body.
type stream struct {
	http.ResponseWriter
	io.ReadCloser
	control       *http.ResponseController
	reads, writes deadline
}

// asStream returns what a request of HTTP/2 is answered by, and the request with a body, both with the deadlines of HTTP/1; what it
// is given for other requests. Call last once the request is answered.
func asStream(w http.ResponseWriter, r *http.Request) (answer http.ResponseWriter, request *http.Request, last func()) {
	if r.ProtoMajor < 2 {
		return w, r, func() {}
	}
	s := &stream{ResponseWriter: w, ReadCloser: r.Body, control: http.NewResponseController(w)}
	s.reads.set, s.writes.set = s.control.SetReadDeadline, s.control.SetWriteDeadline
	s.writes.at = time.Now().Add(admission.AnswerTime) // http.Server.WriteTimeout
	_ = s.control.SetWriteDeadline(time.Time{})
	r.Body = s
	return s, r, s.writes.begin // what is buffered is sent after the handler has returned
}

// Read implements io.Reader.
func (s *stream) Read(b []byte) (int, error) {
	s.reads.begin()
	defer s.reads.end()
	return s.ReadCloser.Read(b)
}

// Write implements http.ResponseWriter.
func (s *stream) Write(b []byte) (int, error) {
	s.writes.begin()
	defer s.writes.end()
	return s.ResponseWriter.Write(b)
}

// FlushError is called by http.ResponseController.
func (s *stream) FlushError() error {
	s.writes.begin()
	defer s.writes.end()
	return s.control.Flush()
}

// Flush implements http.Flusher.
func (s *stream) Flush() { _ = s.FlushError() }

// SetReadDeadline is called by http.ResponseController.
func (s *stream) SetReadDeadline(at time.Time) error { return s.reads.to(at) }

// SetWriteDeadline is called by http.ResponseController.
func (s *stream) SetWriteDeadline(at time.Time) error { return s.writes.to(at) }

// EnableFullDuplex is called by http.ResponseController. Streams are so by themselves.
func (s *stream) EnableFullDuplex() error { return nil }

// soundHTTP2 has the first version of each line of Go in which clients cannot end the process by HTTP/2 (CVE-2026-97032). Lines after the last have none
// of the fault.
var soundHTTP2 = []string{"go1.26.9", "go1.27.2", "go1.28"}

// OffersHTTP2 tells whether a program of a version of Go, as runtime.Version has it, may offer HTTP/2. A version that nobody can read may
// not.
func OffersHTTP2(goVersion string) bool {
	goVersion, _, _ = strings.Cut(goVersion, " ") // experiments
	for _, sound := range soundHTTP2 {
		if version.Lang(goVersion) == version.Lang(sound) {
			return version.Compare(goVersion, sound) >= 0
		}
	}
	return version.Compare(goVersion, soundHTTP2[len(soundHTTP2)-1]) > 0
}

// ALPN returns the protocols that a server offers to clients with TLS, the best first.
func (o *Options) ALPN() []string {
	if OffersHTTP2(cmp.Or(o.Runtime, runtime.Version())) {
		return []string{"h2", "http/1.1"}
	}
	return []string{"http/1.1"}
}

// protocols returns the protocols of ALPN, as net/http takes them.
func (o *Options) protocols() *http.Protocols {
	p := &http.Protocols{}
	p.SetHTTP1(true)
	p.SetHTTP2(slices.Contains(o.ALPN(), "h2"))
	return p
}
