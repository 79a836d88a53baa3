// Package harness runs real Fanfold nodes, with real NATS and real SQLite, for tests. Every
// store it opens is verified when the test ends.
package harness

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"os"
	"runtime"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/mattn/go-sqlite3"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/api"
	"github.com/fanfold/fanfold/console"
	"github.com/fanfold/fanfold/internal/wire"
	"github.com/fanfold/fanfold/membership"
	"github.com/fanfold/fanfold/node"
	"github.com/fanfold/fanfold/projector"
	"github.com/fanfold/fanfold/projector/inspect"
	"github.com/fanfold/fanfold/projector/rebuild"
	"github.com/fanfold/fanfold/sqlite"
	"github.com/fanfold/fanfold/tests/suite"
	"github.com/fanfold/fanfold/writer"
)

// TB is what the harness needs of a test; *testing.T, *testing.B and *rapid.T have it.
type TB interface {
	Helper()
	Fatalf(format string, args ...any)
	Logf(format string, args ...any)
}

// Options of a store; the zero value works.
type Options struct {
	Dir       string                 // data directory; the caller's to make and remove
	NATS      string                 // URLs of outside servers; "" for the embedded one
	Configure func(cfg *node.Config) // changes anything else; nil for nothing
	Logger    *slog.Logger           // default: none
	FailWrite func() error           // see node.Config
	// FailAppend, see node.Config
	FailAppend      func(stored bool) error
	Sync            bool                 // sync every write, as in production; off makes histories fast
	Fsync           func(*os.File) error // see node.Config
	Replicas        int                  // default 1; negative: as many as the node chooses
	Now             func() time.Time     // see node.Config
	SetOrientedFrom int                  // see projector.Options
	KeepFold        bool                 // the version of the fold is the oldest at first, and requests alone change it
	TraceEndpoint   string               // see node.Config
	Writer          writer.Options       // limits of documents
	API             api.Options          // limits of requests
	MaxLag          membership.LagBound
	Members         membership.Options // of the lease among the nodes
	Key             string             // that the client sends; "" for none
	AdminKeyFile    string             // see node.Config
}

// Store is one running node and a client of it.
type Store struct {
	*Client
	Node *node.Node
	opt  Options
	tb   TB
	stop context.CancelFunc
	done chan error
}

// Open starts a node. Close it, or register Close as a cleanup.
func Open(tb TB, opt Options) *Store {
	tb.Helper()
	s, err := Start(tb, opt)
	if err != nil {
		tb.Fatalf("open: %v", err)
	}
	return s
}

// OpenTemp starts a node on a directory of the test's, waits until it is ready, applies the model ("" for none), and, at
// the test's end, verifies and closes it.
func OpenTemp(t testing.TB, model string) *Store {
	t.Helper()
	s := Open(t, Options{Dir: t.TempDir()})
	t.Cleanup(func() {
		s.Verify()
		s.Close()
	})
	AwaitReady(t, s, http.StatusOK)
	if model != "" {
		s.Model(model)
	}
	return s
}

// Start is Open with an error instead of a failed test.
func Start(tb TB, opt Options) (*Store, error) {
	durability := "interval"
	if opt.Sync {
		durability = "always"
	}
	replicas := max(cmp.Or(opt.Replicas, 1), 0)
	if opt.Logger == nil {
		opt.Logger = slog.New(slog.DiscardHandler)
	}
	cfg := node.Config{Data: opt.Dir, Listen: "127.0.0.1:0", NATS: opt.NATS, Durability: durability,
		Replicas: replicas, Logger: opt.Logger, Trace: node.Trace{Endpoint: opt.TraceEndpoint}, KeepFold: opt.KeepFold, FailWrite: opt.FailWrite, FailAppend: opt.FailAppend,
		Fsync: opt.Fsync, Now: opt.Now, SetOrientedFrom: opt.SetOrientedFrom, Writer: opt.Writer, API: opt.API, MaxLag: opt.MaxLag, Members: opt.Members, AdminKeyFile: opt.AdminKeyFile}
	var err error
	if cfg.API.Console, err = console.New(""); err != nil {
		return nil, err
	}
	if opt.Configure != nil {
		opt.Configure(&cfg)
	}
	n, err := node.Open(context.Background(), cfg)
	if err != nil {
		return nil, err
	}
	ctx, stop := context.WithCancel(context.Background())
	s := &Store{Client: NewClient(tb, n.URL()).With(opt.Key), Node: n, opt: opt, tb: tb, stop: stop, done: make(chan error, 1)}
	go func() { s.done <- n.Run(ctx, nil) }()
	return s, nil
}

// Close stops the node and waits for its end.
func (s *Store) Close() {
	s.tb.Helper()
	if s.done == nil { // it is closed already, as after a Reopen that failed
		return
	}
	s.HTTP.CloseIdleConnections()
	s.stop()
	err := <-s.done
	if s.done = nil; err != nil {
		s.tb.Fatalf("close: %v", err)
	}
}

// Abandon stops the node, does not care how it ends, and starts another on the same files,
// without faults: after a simulated crash.
func (s *Store) Abandon() *Store {
	s.tb.Helper()
	s.HTTP.CloseIdleConnections()
	s.stop()
	if err := <-s.done; err != nil {
		s.tb.Logf("the crashed node ended with %v", err)
	}
	opt := s.opt
	opt.FailWrite, opt.FailAppend, opt.Fsync, opt.Key = nil, nil, nil, s.Key
	return Open(s.tb, opt)
}

// Reopen closes the node and starts another on the same files, without faults.
func (s *Store) Reopen() *Store {
	s.tb.Helper()
	s.Close()
	opt := s.opt
	opt.FailWrite, opt.FailAppend, opt.Fsync, opt.Key = nil, nil, nil, s.Key
	return Open(s.tb, opt)
}

// Otherwise is Reopen with fan-outs folded the other way: see projector.Options.SetOrientedFrom.
func (s *Store) Otherwise() *Store {
	s.opt.SetOrientedFrom = -s.opt.SetOrientedFrom
	return s.Reopen()
}

// CatchUp waits until everything in the log is folded.
func (s *Store) CatchUp() {
	s.tb.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), suite.Deadline(time.Minute))
	defer cancel()
	seq, err := s.Node.Log.LastSeq(ctx)
	if err == nil {
		err = s.Node.Store.Applied.Wait(ctx, seq)
	}
	if err != nil {
		s.tb.Fatalf("catch up: %v", err)
	}
}

// Verify fails the test if any derived value or link is wrong.
func (s *Store) Verify() {
	s.tb.Helper()
	s.CatchUp()
	v, err := inspect.Verify(context.Background(), s.Node.Store, nil)
	if err != nil {
		s.tb.Fatalf("verify: %v", err)
	}
	if len(v.Wrong) > 0 {
		text, _ := json.MarshalIndent(v.Wrong, "", " ")
		s.tb.Fatalf("verify at %s: %s", v.Position, text)
	}
}

// Replay rebuilds the read model and waits for the end.
func (s *Store) Replay() {
	s.tb.Helper()
	if err := s.Node.Projector.Rebuild(context.Background(), rebuild.Replay()); err != nil {
		s.tb.Fatalf("replay: %v", err)
	}
}

// tables are the read model's, with what orders their rows.
var tables = []struct{ name, order string }{
	{"checkpoint", "id"}, {"log_digest", "seq"}, {"horizon", "id"}, {"horizon_version", "number"}, {"horizon_paged", "relation, target"}, {"model", "seq"}, {"proposal", "id"}, {"document", "number"}, {"tombstone", "collection, id"}, {"past_document", "collection, id, number"}, {"collection", "name"},
	{"name", "id"}, {"link", "relation, target, holder"}, {"past_link", "relation, target, until, holder"}, {"relinked", "relation, seq"}, {"kept", "rule, target, holder"},
	{"paged", "relation, target"}, {"entry", "rule, target, sort, holder"}, {"total", "rule, target"}, {"claim", "collection, path, value"}, {"sequence", "collection, path, key"},
	{"change", "position"}, {"form", "id"}, {"omission", "rule"}, {"once", "key"}, {"import_progress", "id"}, {"declared_index", "id"}, {"index_entry", "idx, key, tie"},
}

// Digest is a hash of every row of the read model: equal for equal rows, positions included.
func (s *Store) Digest() string {
	s.tb.Helper()
	s.CatchUp()
	sum, err := s.digest()
	if err != nil {
		s.tb.Fatalf("digest: %v", err)
	}
	return sum
}

// WantSameDigest fails the test unless two nodes of one log have the same rows at a moment when both have folded all of it. There is such
// a moment to wait for, because a node appends fences now and then.
func (s *Store) WantSameDigest(other *Store) {
	s.tb.Helper()
	for _, node := range []*Store{s, other} {
		node.Rebuilt()
	}
	for try := 0; ; try++ {
		before, err := s.Node.Log.LastSeq(context.Background())
		if err != nil {
			s.tb.Fatalf("digest: %v", err)
		}
		a, b := s.Digest(), other.Digest()
		if a == b {
			return
		}
		if after, err := s.Node.Log.LastSeq(context.Background()); err != nil || after == before && try > 0 || try > 100 {
			s.tb.Fatalf("the nodes' digests are %s and %s, %v", a, b, err)
		}
	}
}

func (s *Store) digest() (string, error) {
	var path string
	if err := s.Node.Store.Use(func(db *sqlite.DB) error { path = db.Path(); return nil }); err != nil {
		return "", err
	}
	return DigestFile(path)
}

// DigestFile is Digest of a read model's file.
func DigestFile(path string) (string, error) {
	h := sha256.New()
	c, err := (&sqlite3.SQLiteDriver{}).Open("file:" + url.PathEscape(path) + "?mode=ro")
	if err != nil {
		return "", err
	}
	conn := c.(*sqlite3.SQLiteConn)
	for _, t := range tables {
		columns := "*"
		if t.name == "checkpoint" { // but for the program that made it
			columns = "seq, position, time, changes, event, digest, erasure"
		}
		rows, err := conn.Query("SELECT "+columns+" FROM "+t.name+" ORDER BY "+t.order, nil) //nolint:staticcheck // the plain driver, without a pool
		if err != nil {
			return "", errors.Join(err, c.Close())
		}
		if err := hashRows(h, t.name, rows); err != nil {
			return "", errors.Join(err, c.Close())
		}
	}
	return hex.EncodeToString(h.Sum(nil)), c.Close()
}

// FailWrite returns a fault that lets k-1 writes of SQLite through and fails the k-th and all
// later ones, and a function that tells whether it struck.
func FailWrite(k int64) (fault func() error, struck func() bool) {
	var n atomic.Int64
	return func() error {
		if n.Add(1) >= k {
			return errors.New("injected fault")
		}
		return nil
	}, func() bool { return n.Load() >= k }
}

// Client is a small HTTP client that fails the test on what it does not expect.
type Client struct {
	URL  string
	HTTP *http.Client
	Key  string // is sent with every request that names no other; "" for none
	tb   TB
}

// NewClient makes a client of the server at base.
func NewClient(tb TB, base string) *Client {
	return &Client{URL: base, HTTP: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 256}, Timeout: 5 * time.Minute}, tb: tb}
}

// Response is an answer, read to its end.
type Response struct {
	Status int
	Header http.Header
	Body   []byte
}

// Problem is the answer's problem type, or "".
func (r *Response) Problem() string {
	var p struct{ Type string }
	if json.Unmarshal(r.Body, &p) != nil {
		return ""
	}
	return p.Type
}

// Do sends a request; headers are name, value, name, value. The error is the transport's. ECONNREFUSED says that no server has the
// request. If a connection ends, the transport sends a request with an Idempotency-Key again. If that is refused, the first one may have
// been done.
func (c *Client) Do(method, path string, body []byte, headers ...string) (*Response, error) {
	var sent atomic.Bool
	ctx := httptrace.WithClientTrace(context.Background(), &httptrace.ClientTrace{WroteRequest: func(httptrace.WroteRequestInfo) { sent.Store(true) }})
	req, err := http.NewRequestWithContext(ctx, method, c.URL+path, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	if len(body) > 0 || method == http.MethodPost {
		req.Header.Set("Content-Type", "application/json")
	}
	c.authorize(req.Header)
	for i := 0; i+1 < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	if host := req.Header.Get("Host"); host != "" {
		req.Host = host
	}
	resp, err := c.HTTP.Do(req)
	if sent.Load() && errors.Is(err, syscall.ECONNREFUSED) {
		return nil, fmt.Errorf("sent, and without an answer: %v", err) //nolint:errorlint // it must not be taken for a refusal
	}
	if os.IsTimeout(err) {
		all := make([]byte, 8<<20)
		c.tb.Logf("%s %s has no answer; what runs:\n%s", method, path, all[:runtime.Stack(all, true)])
	}
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	out := &Response{Status: resp.StatusCode, Header: resp.Header}
	out.Body, err = io.ReadAll(resp.Body)
	return out, err
}

// Want sends a request and fails the test unless it is answered with status.
func (c *Client) Want(status int, method, path string, body string, headers ...string) *Response {
	c.tb.Helper()
	r, err := c.Do(method, path, []byte(body), headers...)
	if err != nil {
		c.tb.Fatalf("%s %s: %v", method, path, err)
	}
	if r.Status != status {
		c.tb.Fatalf("%s %s %s: status %d, want %d: %s", method, path, body, r.Status, status, r.Body)
	}
	return r
}

// Path is a document's path.
func Path(collection, id string) string { return "/v1/" + collection + "/" + url.PathEscape(id) }

// patience has writes wait for their fold longer than by default, for a machine that is busy with other tests.
var patience = []string{"Fanfold-Timeout", "60"}

// Put writes a document and waits for its fold.
func (c *Client) Put(collection, id, body string) *Response {
	c.tb.Helper()
	r, err := c.Do(http.MethodPut, Path(collection, id), []byte(body), patience...)
	if err != nil || r.Status != http.StatusCreated && r.Status != http.StatusNoContent {
		c.tb.Fatalf("PUT %s/%s %s: %v %+v", collection, id, body, err, r)
	}
	return r
}

// Delete deletes a document that is there.
func (c *Client) Delete(collection, id string) {
	c.tb.Helper()
	c.Want(http.StatusNoContent, http.MethodDelete, Path(collection, id), "", patience...)
}

// Merge applies a merge patch.
func (c *Client) Merge(collection, id, patch string) *Response {
	c.tb.Helper()
	return c.Want(http.StatusNoContent, http.MethodPatch, Path(collection, id), patch, append([]string{"Content-Type", "application/merge-patch+json"}, patience...)...)
}

// Get returns a document's embedded view.
func (c *Client) Get(collection, id string) string {
	c.tb.Helper()
	return string(c.Want(http.StatusOK, http.MethodGet, Path(collection, id), "").Body)
}

// WantDoc fails the test unless the embedded view is want, byte for byte.
func (c *Client) WantDoc(collection, id, want string) {
	c.tb.Helper()
	if got := c.Get(collection, id); got != want {
		c.tb.Fatalf("%s/%s is\n  %s\nwant\n  %s", collection, id, got, want)
	}
}

// Model applies a model in YAML or JSON. It sends it again while the store cannot answer, as a client does: a node may have
// come that has not told yet by which rules it guards its writes. It takes a minute at most.
func (c *Client) Model(src string) *Response {
	c.tb.Helper()
	for begun := time.Now(); ; time.Sleep(50 * time.Millisecond) {
		r, err := c.Do(http.MethodPut, "/v1/_model?allowRemoval=true", []byte(src), "Content-Type", "application/yaml", "Fanfold-Timeout", "60")
		switch {
		case err == nil && r.Status == http.StatusOK:
			return r
		case err != nil || r.Problem() != "urn:fanfold:problem:unavailable" || time.Since(begun) > suite.Deadline(time.Minute):
			c.tb.Fatalf("a model is refused: %v %+v\n%s", err, r, src)
		}
	}
}

// Change is a row of the change feed.
type Change struct {
	Seq, Collection, ID, Op, Time, Tx, Call string
	Rev                                     uint64
	Within                                  bool
	Cause                                   *struct {
		Seq, Collection, ID, Rule string
		Rules                     []string
	}
	Doc, Previous, Patch json.RawMessage
}

// Bare returns a position as "<sequence>-<n>", without what stands after that.
func Bare(position string) string {
	p, err := fanfold.ParsePosition(position)
	if err != nil {
		return err.Error()
	}
	return p.String()
}

// Changes reads the feed to its end.
func (c *Client) Changes(query string) (rows []Change, last string) {
	c.tb.Helper()
	r := c.Want(http.StatusOK, http.MethodGet, "/v1/_changes?"+query, "")
	var out struct {
		Results []Change
		LastSeq string `json:"last_seq"`
	}
	if err := json.Unmarshal(r.Body, &out); err != nil {
		c.tb.Fatalf("changes: %v in %s", err, r.Body)
	}
	return out.Results, out.LastSeq
}

// CheckReplay compares a read model with one that is replayed, and returns what came of it.
func CheckReplay(ctx context.Context, p *projector.Projector) (*wire.Check, error) {
	err := p.Rebuild(ctx, rebuild.Check())
	return p.Status().Replay.Check, err
}
