package client

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// Options configure a Client. The zero value works.
type Options struct {
	// HTTP sends the requests; default a client of its own. It must have no Timeout, which would cut the change feed:
	// Attempt bounds requests.
	HTTP *http.Client
	// CAs sign the server's certificate if the system's do not. It goes with no HTTP of one's own.
	CAs *x509.CertPool
	// Key is sent with every request, to this server alone: a redirect to another one does not carry it.
	Key Key
	// Header is sent with every request.
	Header http.Header
	// RetryFor is how long what may be tried again is tried; default 30 s, negative for never, at most an hour.
	RetryFor time.Duration
	// Attempt is how long an answer may take before the connection counts as lost; default 2 min. Imports, exports,
	// models, verifying and feeds take as long as they take.
	Attempt time.Duration
	// MaxAnswer bounds an answer, and a change of the feed, in bytes; default 256 MiB.
	MaxAnswer int
	// NoSession lets a read show less than this client has seen before. Otherwise every read, on any node, shows at least
	// the client's own writes and its earlier reads. This costs nothing on a node that is up to date.
	NoSession bool
	// NoKeys sends writes without an Idempotency-Key, unless one is given. A write whose connection breaks is then an
	// error, and it is not known whether it was stored.
	NoKeys bool
}

// Client talks to one server. Its methods may be called from many goroutines.
type Client struct {
	base   string
	opt    Options
	latest latestPosition
	own    *http.Transport // nil where Options.HTTP was given
}

// New returns a client of the server at a URL, such as http://127.0.0.1:8080. It does not connect. The error is Invalid
// where the URL or an option is none. The caller closes it.
func New(server string, opt Options) (*Client, error) {
	u, err := url.Parse(server)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.RawQuery != "" {
		return nil, &Error{Code: Invalid, Detail: fmt.Sprintf("%q is not the URL of a server, such as http://127.0.0.1:8080", server), Err: err}
	}
	if opt.RetryFor > time.Hour || opt.Attempt < 0 || opt.MaxAnswer < 0 {
		return nil, &Error{Code: Invalid, Detail: "RetryFor must be at most an hour, Attempt and MaxAnswer must not be negative"}
	}
	if !opt.Key.sendable() {
		return nil, &Error{Code: Invalid, Detail: fmt.Sprintf("Key is none: one has at most %d visible characters of ASCII", maxKey)}
	}
	if opt.HTTP != nil && opt.CAs != nil {
		return nil, &Error{Code: Invalid, Detail: "CAs and HTTP exclude each other: give CAs to the transport of HTTP"}
	}
	if opt.RetryFor == 0 {
		opt.RetryFor = 30 * time.Second
	}
	if opt.Attempt == 0 {
		opt.Attempt = 2 * time.Minute
	}
	if opt.MaxAnswer == 0 {
		opt.MaxAnswer = 256 << 20
	}
	c := &Client{base: strings.TrimSuffix(server, "/"), opt: opt}
	if opt.HTTP == nil {
		c.own = &http.Transport{Proxy: http.ProxyFromEnvironment, MaxIdleConnsPerHost: 256, IdleConnTimeout: 90 * time.Second,
			DialContext: (&net.Dialer{Timeout: 10 * time.Second}).DialContext, TLSHandshakeTimeout: 10 * time.Second, ForceAttemptHTTP2: true}
		if opt.CAs != nil {
			c.own.TLSClientConfig = &tls.Config{RootCAs: opt.CAs, MinVersion: tls.VersionTLS12}
		}
		c.opt.HTTP = &http.Client{Transport: c.own}
	}
	if opt.Key.text != nil {
		c.opt.HTTP = guarded(c.opt.HTTP)
	}
	return c, nil
}

// Server returns the URL that New was given.
func (c *Client) Server() string { return c.base }

// Close closes idle connections. Calls that are running go on.
func (c *Client) Close() {
	if c.own != nil {
		c.own.CloseIdleConnections()
	}
}

// Position returns the newest position that this client has seen in an answer, or was given by See; "" before any.
func (c *Client) Position() string { return c.latest.get() }

// See makes this client's reads show at least a position, such as another client's Position that came with a message. Then
// this client sees everything that the other has written or read. An older position than the newest changes nothing, and
// "" neither. A position of another store takes the place of the newest. The error is Invalid for what is no position.
func (c *Client) See(position string) error {
	if position != "" && !positionRE.MatchString(position) {
		return &Error{Code: Invalid, Detail: fmt.Sprintf("%.80q is not a position: give one as Position or an answer gave it out", position)}
	}
	c.latest.see(position)
	return nil
}

// joinSession makes a read show at least what the client has seen, unless it says by itself what it is to show.
func (c *Client) joinSession(r *request) {
	if c.opt.NoSession || !r.read || r.header.Get(headerMinPosition) != "" || r.query.Get("consistency") == "eventual" {
		return
	}
	if at := c.latest.get(); at != "" {
		r.header.Set(headerMinPosition, at)
	}
}

// request is what is sent to the server, as often as it takes.
type request struct {
	method, path string // the path is escaped
	query        url.Values
	header       http.Header
	body         []byte
	read         bool        // takes Fanfold-Min-Position
	repeatable   bool        // doing it twice is the same as once: see mayRetry
	into         *CallResult // of Into; nil for none
	err          error       // of an option that cannot be sent
	unsure       bool        // it was sent again after the server may have done it
}

// newRequest returns a request without a body.
func newRequest(method, path string) *request {
	r := &request{method: method, path: path, query: url.Values{}, header: http.Header{}}
	if method == http.MethodGet {
		r.repeatable = true
	}
	return r
}

// answer is an answer that was read to its end.
type answer struct {
	status int
	header http.Header
	body   []byte
}

// send sends a request until the server answers it, and returns the answer, whose status is below 400. Errors are *Error,
// and ctx's.
func (c *Client) send(ctx context.Context, r *request) (*answer, error) {
	c.joinSession(r)
	began := time.Now()
	for pause := newBackOff(); ; {
		a, failure := c.attempt(ctx, r)
		if failure == nil {
			c.latest.see(a.header.Get(headerPosition))
			return a, nil
		}
		if failure.Code == StoreChanged {
			c.latest.resume(failure)
		}
		if ctx.Err() != nil {
			return nil, ended(ctx, failure)
		}
		if wait := pause.next(failure.RetryAfter); !r.mayRetry(failure) || time.Since(began)+wait > c.opt.RetryFor {
			return nil, failure
		} else if !sleep(ctx, wait) {
			return nil, ended(ctx, failure)
		}
		r.unsure = r.unsure || failure.Code == OutcomeUnknown || failure.Code == NoAnswer && !failure.unsent
	}
}

// attempt sends a request once.
func (c *Client) attempt(ctx context.Context, r *request) (*answer, *Error) {
	ctx, cancel := context.WithTimeout(ctx, c.opt.Attempt)
	defer cancel()
	resp, failure := c.open(ctx, r, bytes.NewReader(r.body))
	if failure != nil {
		return nil, failure
	}
	defer resp.Body.Close()
	body, err := readAll(resp.Body, c.opt.MaxAnswer)
	if err != nil {
		return nil, c.lost(err)
	}
	if resp.StatusCode == http.StatusNotModified {
		return nil, &Error{Status: resp.StatusCode, Code: NotModified, ETag: resp.Header.Get("ETag"), Detail: "the document is as it was"}
	}
	return &answer{status: resp.StatusCode, header: resp.Header, body: body}, nil
}

// open sends a request once and returns the answer, whose status is below 400, without its body. The caller closes the
// body.
func (c *Client) open(ctx context.Context, r *request, body io.Reader) (*http.Response, *Error) {
	target := c.base + r.path
	if len(r.query) > 0 {
		target += "?" + r.query.Encode()
	}
	req, err := http.NewRequestWithContext(ctx, r.method, target, body)
	if err != nil {
		return nil, &Error{Code: Invalid, Detail: err.Error(), Err: err, unsent: true}
	}
	for _, header := range []http.Header{c.opt.Header, r.header} {
		for name, values := range header {
			req.Header[name] = values
		}
	}
	if c.opt.Key.text != nil {
		req.Header[headerAuthorization] = []string{"Bearer " + c.opt.Key.Text()}
	}
	resp, err := c.opt.HTTP.Do(req)
	if err != nil {
		return nil, c.lost(err)
	}
	if resp.StatusCode < http.StatusBadRequest {
		return resp, nil
	}
	defer resp.Body.Close()
	return nil, errorOf(resp)
}

// readAll reads a body of at most limit bytes. The error is an *Error where it is longer.
func readAll(body io.Reader, limit int) ([]byte, error) {
	var b bytes.Buffer
	n, err := b.ReadFrom(io.LimitReader(body, int64(limit)+1))
	if err == nil && n > int64(limit) {
		err = tooLong(limit)
	}
	return b.Bytes(), err
}

// tooLong returns the error for an answer of more than limit bytes.
func tooLong(limit int) *Error {
	return &Error{Code: AnswerLimit, Detail: fmt.Sprintf("the answer is longer than MaxAnswer, %d bytes: ask for less, or set it higher", limit)}
}

// The names of the store's own headers.
const (
	headerRevision    = "Fanfold-Revision"
	headerPosition    = "Fanfold-Position"
	headerMinPosition = "Fanfold-Min-Position"
	headerTimeout     = "Fanfold-Timeout"
	headerDerived     = "Fanfold-Derived-Changes"
	headerDropped     = "Fanfold-Dropped-Members"
	headerKey         = "Idempotency-Key"
	headerUnknown     = "Fanfold-Unknown-Collections"
)

// documentPath returns the path of a document, or of what is below it.
func documentPath(collection, id string, below ...string) string {
	path := "/v1/" + url.PathEscape(collection) + "/" + url.PathEscape(id)
	for _, name := range below {
		path += "/" + url.PathEscape(name)
	}
	return path
}
