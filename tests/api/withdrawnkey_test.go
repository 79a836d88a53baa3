package api_test

import (
	"context"
	"crypto"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/golang-jwt/jwt/v5"

	"github.com/fanfold/fanfold/access"
	"github.com/fanfold/fanfold/access/tokens"
	"github.com/fanfold/fanfold/node"
	"github.com/fanfold/fanfold/tests/harness"
)

// publish gives the issuer a key under a name, and nil takes it away.
func (i *issuer) publish(kid string, key crypto.Signer) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.keys[kid] = key; key == nil {
		delete(i.keys, kid)
	}
}

// movedClock is a clock that a test moves on.
type movedClock struct{ by atomic.Int64 }

func (c *movedClock) now() time.Time       { return time.Now().Add(time.Duration(c.by.Load())) }
func (c *movedClock) move(d time.Duration) { c.by.Add(int64(d)) }

// ofUnknownKey returns a token that names a key which the issuer does not have.
func (i *issuer) ofUnknownKey(t *testing.T) string {
	t.Helper()
	token := jwt.New(jwt.SigningMethodEdDSA)
	token.Header["kid"] = "unknown"
	text, err := token.SignedString(i.keys["ed"])
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// TestWithdrawnKey: a key that the issuer has no more lets nobody in, neither by a token that it has signed nor by a ticket that was made with one. While
// the issuer is down its keys hold.
func TestWithdrawnKey(t *testing.T) {
	i := openIssuer(t)
	var c movedClock
	h := openTokenHouse(t, i, func(of *tokens.Options) { of.Now = c.now })
	stolen, other, unknown := i.token(t, "ec", nil), i.token(t, "ed", nil), i.ofUnknownKey(t)
	plain := harness.NewClient(t, h.URL)
	t.Cleanup(plain.HTTP.CloseIdleConnections)
	byStolen, byOther := newTicket(t, h.clientWith(t, stolen), "/v1/_changes", "1h"), newTicket(t, h.clientWith(t, other), "/v1/_changes", "1h")
	fetch := func() {
		t.Helper()
		c.move(31 * time.Second)
		if status, _ := h.me(t, unknown); status != http.StatusUnauthorized {
			t.Fatalf("an unknown key: %d", status)
		}
	}
	want := func(when string, status int) {
		t.Helper()
		if got, err := plain.Do("GET", byStolen.URL, nil); err != nil || got.Status != status {
			t.Errorf("%s the ticket is answered %+v %v", when, got, err)
		}
		if got, _ := h.me(t, stolen); got != status {
			t.Errorf("%s the token is answered %d", when, got)
		}
		if got, _ := h.me(t, other); got != http.StatusOK {
			t.Errorf("%s the token of another key is answered %d", when, got)
		}
		plain.Want(http.StatusOK, "GET", byOther.URL, "")
	}
	want("at first", http.StatusOK)
	key := i.keys["ec"]
	i.publish("ec", nil)
	i.down.Store(true)
	fetch()
	want("while the issuer is down", http.StatusOK)
	i.down.Store(false)
	fetch()
	want("without the key", http.StatusUnauthorized)
	i.publish("ec", key)
	c.move(31 * time.Second) // the ticket has the keys fetched, as a token does
	want("with the key again", http.StatusOK)
	i.publish("ec", i.keys["rsa"])
	fetch()
	want("with another key of the same name", http.StatusUnauthorized)
	i.publish("ec", nil)
	i.publish("moved", key)
	fetch()
	want("with the key under another name", http.StatusUnauthorized)
}

// TestLastKeyWithdrawn: an issuer that says that it has no key lets nobody in. An answer that says nothing of keys changes nothing.
func TestLastKeyWithdrawn(t *testing.T) {
	i := openIssuer(t)
	var c movedClock
	h := openTokenHouse(t, i, func(of *tokens.Options) { of.Now = c.now })
	token, unknown := i.token(t, "ec", nil), i.ofUnknownKey(t)
	for _, x := range []struct {
		says   string
		status int
	}{{`{}`, http.StatusOK}, {``, http.StatusOK}, {`{"keys":null}`, http.StatusOK}, {`{"keys":{}}`, http.StatusOK}, {`{"keys":[`, http.StatusOK}, {`-----BEGIN PUBLIC KEY-----`, http.StatusOK}, {`{"keys":[]}`, http.StatusUnauthorized}} {
		i.says.Store(&x.says)
		c.move(31 * time.Second)
		if status, _ := h.me(t, unknown); status != http.StatusUnauthorized {
			t.Errorf("%s: an unknown key is answered %d", x.says, status)
		}
		if status, _ := h.me(t, token); status != x.status {
			t.Errorf("%s: the token is answered %d, want %d", x.says, status, x.status)
		}
	}
}

// TestTicketsOfOtherFlags: a ticket ends with what its maker's token was judged by: who else is let in, and as whom, is for the flags of the node to say.
func TestTicketsOfOtherFlags(t *testing.T) {
	i := openIssuer(t)
	first := tokens.Options{Issuer: i.URL, Audience: "fanfold", Map: map[string][]string{"platform-admins": {"admin"}}, Fetch: tokens.NewFetcher(i.Client().Transport), Secret: func() []byte { return make([]byte, 32) }}
	text := i.token(t, "ec", map[string]any{"roles": "platform-admins"})
	of, err := tokens.New(first)
	if err != nil {
		t.Fatal(err)
	}
	p, _, _ := of.Principal(text)
	if p == nil || !of.Holds(p, false) {
		t.Fatalf("the token gives %+v", p)
	}
	for name, change := range map[string]func(o *tokens.Options){
		"issuer":   func(o *tokens.Options) { o.Issuer, o.Keys = "other", i.URL+"/keys" },
		"audience": func(o *tokens.Options) { o.Audience = "other" },
		"roles":    func(o *tokens.Options) { o.Roles = "groups" },
		"map":      func(o *tokens.Options) { o.Map = map[string][]string{"platform-admins": {"admin", "editors"}} },
		"no map":   func(o *tokens.Options) { o.Map = nil },
		"":         func(o *tokens.Options) { o.Map = map[string][]string{"platform-admins": {"admin"}} },
	} {
		opt := first
		change(&opt)
		of, err := tokens.New(opt)
		if err != nil {
			t.Fatal(err)
		}
		if holds := of.Holds(p, true); holds != (name == "") {
			t.Errorf("with another %q a ticket works: %t", name, holds)
		}
	}
}

// TestStreamsEndWithTheIssuersKey: a stream of every kind ends once the issuer withdraws the key that signed its token, or its ticket maker's token. Other
// streams go on.
func TestStreamsEndWithTheIssuersKey(t *testing.T) {
	i := openIssuer(t)
	file := filepath.Join(t.TempDir(), "keys.pem")
	publish := func(kids ...string) {
		t.Helper()
		var text []byte
		for _, kid := range kids {
			der, err := x509.MarshalPKIXPublicKey(i.keys[kid].Public())
			if err != nil {
				t.Fatal(err)
			}
			text = append(text, pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der})...)
		}
		if err := os.WriteFile(file, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	publish("rsa", "ec", "ed")
	h := openHouse(t, tokenModel, func(cfg *node.Config) {
		cfg.Tokens = tokens.Options{Issuer: i.URL, Audience: "fanfold", Keys: file}
	})
	ctx, cancel := context.WithTimeout(t.Context(), harness.WaitTime)
	defer cancel()
	token := i.token(t, "ec", nil)
	ended, count := make(chan string, 8), 0
	follow := func(name, path, token string) {
		count++
		go func() {
			if err := readToEnd(ctx, h.URL+path, token); err != nil {
				name += " " + err.Error()
			}
			ended <- name
		}()
	}
	for _, kind := range []string{"continuous", "eventsource", "longpoll", "websocket"} {
		path := "/v1/_changes?since=now&timeout=60000&heartbeat=1000&collections=notes&feed=" + kind
		follow(kind+" by token", path, token)
		follow(kind+" by ticket", newTicket(t, h.clientWith(t, token), path, "1h").URL, "")
	}
	awaitRunning(t, h.admin, count, harness.WaitTime)
	other, ed := make(chan error, 1), i.token(t, "ed", nil)
	go func() { other <- readToEnd(ctx, h.URL+"/v1/_changes?feed=continuous&heartbeat=1000", ed) }()
	awaitRunning(t, h.admin, count+1, harness.WaitTime)
	publish("rsa", "ed")
	for ; count > 0; count-- {
		if name := <-ended; ctx.Err() != nil || !strings.HasSuffix(name, " token") && !strings.HasSuffix(name, " ticket") {
			t.Fatalf("%s does not end with the key", name)
		}
	}
	awaitRunning(t, h.admin, 1, harness.WaitTime) // a server counts a stream for a moment longer than its client
	select {
	case err := <-other:
		t.Errorf("the stream by another key ends: %v", err)
	default:
	}
}

// readToEnd reads a feed with a token, "" for none, until the server ends it.
func readToEnd(ctx context.Context, url, token string) error {
	header := http.Header{}
	if token != "" {
		header.Set("Authorization", "Bearer "+token)
	}
	if strings.Contains(url, "feed=websocket") {
		conn, _, err := websocket.Dial(ctx, url, &websocket.DialOptions{HTTPHeader: header})
		if err != nil {
			return err
		}
		defer func() { _ = conn.CloseNow() }()
		for {
			if _, _, err := conn.Read(ctx); websocket.CloseStatus(err) > 0 {
				return nil
			} else if err != nil {
				return err
			}
		}
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	req.Header = header
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("it is answered %d", resp.StatusCode)
	}
	_, err = io.Copy(io.Discard, resp.Body)
	return err
}

// TestTokensThatCannotBeJudged: a node that never reached the issuer does not say that a token is wrong, nor that its ticket is.
func TestTokensThatCannotBeJudged(t *testing.T) {
	i := openIssuer(t)
	var c movedClock
	key := access.NewKey().Text()
	file := filepath.Join(t.TempDir(), "admin.key")
	if err := os.WriteFile(file, []byte(key), 0o600); err != nil {
		t.Fatal(err)
	}
	first := harness.Open(t, harness.Options{Dir: t.TempDir(), Key: key, AdminKeyFile: file, Configure: func(cfg *node.Config) {
		cfg.Tokens = tokens.Options{Issuer: i.URL, Audience: "fanfold", Now: c.now, Fetch: tokens.NewFetcher(i.Client().Transport)}
	}})
	token := i.token(t, "ec", nil)
	made := newTicket(t, (&house{Store: first}).clientWith(t, token), "/v1/_changes", "1h")
	i.down.Store(true)
	h := &house{Store: first.Reopen()}
	t.Cleanup(h.Close)
	plain := harness.NewClient(t, h.URL)
	t.Cleanup(plain.HTTP.CloseIdleConnections)
	want := func(status int) {
		t.Helper()
		for name, ask := range map[string]func() (*harness.Response, error){
			"token":  func() (*harness.Response, error) { return h.clientWith(t, token).Do("GET", "/v1/_me", nil) },
			"ticket": func() (*harness.Response, error) { return plain.Do("GET", made.URL, nil) },
		} {
			if r, err := ask(); err != nil || r.Status != status || status == http.StatusServiceUnavailable && !strings.Contains(string(r.Body), "rights-stale") {
				t.Errorf("the %s is answered %+v %v, want %d", name, r, err, status)
			}
		}
		plain.Want(http.StatusUnauthorized, "GET", strings.Replace(made.URL, "ticket=fft_", "ticket=fft_00", 1), "")
	}
	want(http.StatusServiceUnavailable)
	if status, _ := h.me(t, "a.b.c"); status != http.StatusUnauthorized {
		t.Errorf("what is no token is answered %d", status)
	}
	if n := harness.MetricOf(t, h.Client, `fanfold_token_refusals_total{reason="unjudged"}`); n != 1 {
		t.Errorf("%v tokens count as unjudged", n)
	}
	i.down.Store(false)
	c.move(31 * time.Second)
	want(http.StatusOK)
}
