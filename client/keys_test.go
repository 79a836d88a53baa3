package client_test

import (
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/fanfold/fanfold/client"
	"github.com/fanfold/fanfold/tests/harness"
	"github.com/fanfold/fanfold/tests/suite"
)

// TestKeyIsNotPrinted: no print shows the key, whatever the verb: of itself, of options, or of a client.
func TestKeyIsNotPrinted(t *testing.T) {
	const text = "fan_k3yabcdef012_Ab0Cd1Ef2Gh3Ij4Kl5Mn6Op7Qr8St9Uv0Wx1Yz2Ab3C_0G6T0E"
	key := client.NewKey(" " + text + "\n")
	opt := client.Options{Key: key}
	c := connect(t, "http://127.0.0.1:1", opt)
	type holder struct{ private client.Options }
	for _, value := range []any{key, &key, opt, &opt, c, holder{opt}, []client.Key{key}, map[string]client.Key{"k": key}, &client.Error{Err: fmt.Errorf("%v", opt)}} {
		var log strings.Builder
		slog.New(slog.NewTextHandler(&log, nil)).Info("x", "v", value)
		slog.New(slog.NewJSONHandler(&log, nil)).Info("x", "v", key)
		for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d"} {
			fmt.Fprintf(&log, verb, value)
		}
		if said := log.String(); strings.Contains(said, "Ab0Cd1") || strings.Contains(strings.ToLower(said), fmt.Sprintf("%x", "Ab0Cd1")) {
			t.Errorf("%T is printed as %s", value, said)
		}
	}
	if out, err := json.Marshal(struct{ Key client.Key }{key}); err != nil || strings.Contains(string(out), "Ab0Cd1") {
		t.Errorf("JSON shows %s, %v", out, err)
	}
	if key.Text() != text || (client.Key{}).Text() != "" || client.NewKey(" ") != (client.Key{}) {
		t.Errorf("the key is %s", key.Text())
	}
	for _, bad := range []string{"a b", "a\nb", "a\x00", "é", strings.Repeat("x", 5000)} {
		if _, err := client.New("http://127.0.0.1:1", client.Options{Key: client.NewKey(bad)}); !errors.Is(err, client.Invalid) || strings.Contains(err.Error(), bad) {
			t.Errorf("%.20q is taken: %v", bad, err)
		}
	}
}

// TestKeyGoesWithEveryRequest: in a closed store everything that a client does works with its key, and nothing without one.
func TestKeyGoesWithEveryRequest(t *testing.T) {
	s := harness.OpenClosed(t, "")
	s.Put("books", "b0", `{}`) // the collection is there, whichever request comes first
	p := newProxy(t, s)
	ctx := t.Context()
	with := connect(t, p.url(), client.Options{Key: client.NewKey(s.Key)})
	without := connect(t, p.url(), client.Options{})
	for i, c := range []*client.Client{with, without} {
		books := client.Collection[book](c, "books")
		for what, do := range map[string]func() error{
			"create": func() error { _, err := books.Create(ctx, book{Title: "x"}); return err },
			"put":    func() error { _, err := books.Put(ctx, "b1", book{Title: "x"}); return err },
			"transact": func() error {
				_, err := c.Transact(ctx, []client.Operation{client.Create("books", "", book{})})
				return err
			},
			"list": func() error {
				for _, err := range books.List(ctx) {
					return err
				}
				return nil
			},
			"import": func() error {
				_, err := c.Import(ctx, strings.NewReader(`{"collection":"books","id":"i","doc":{}}`+"\n"), client.ImportOptions{})
				return err
			},
			"export": func() error {
				e, err := c.Export(ctx)
				if err == nil {
					err = e.Close()
				}
				return err
			},
			"feed": func() error {
				for _, err := range c.Changes(ctx, client.ChangesOptions{Since: "0", Once: true}) {
					return err
				}
				return nil
			},
			"group":  func() error { _, err := c.PutGroup(ctx, "g", client.GroupSettings{}); return err },
			"status": func() error { _, err := c.Status(ctx); return err },
			"verify": func() error { _, err := c.Verify(ctx); return err },
			"me":     func() error { _, err := c.Me(ctx); return err },
		} {
			if err := do(); i == 0 && err != nil || i == 1 && !errors.Is(err, client.Unauthenticated) {
				t.Errorf("%s with the key %v: %v", what, i == 0, err)
			}
		}
	}
	p.dropAnswers(2) // what is sent again has the key, too
	if _, err := client.Collection[book](with, "books").Put(ctx, "b2", book{}); err != nil {
		t.Error(err)
	}
	reader := connect(t, s.URL, client.Options{Key: client.NewKey(s.NewKey("read"))})
	if _, err := client.Collection[book](reader, "books").Put(ctx, "b1", book{}); !errors.Is(err, client.Forbidden) {
		t.Errorf("a reader writes: %v", err)
	}
}

// TestKeysByTheClient: the client makes, shows, changes, rotates, revokes and forgets keys.
func TestKeysByTheClient(t *testing.T) {
	s := harness.OpenTemp(t, "")
	ctx := t.Context()
	open := connect(t, s.URL, client.Options{})
	if me := must(open.Me(ctx))(t); !me.Open || !slices.Contains(me.Roles, "admin") {
		t.Fatalf("in an open store one is %+v", me)
	}
	_, first, err := open.CreateKey(ctx, client.KeySettings{Name: "ops", Roles: []string{"admin"}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := open.Keys(ctx); !errors.Is(err, client.Unauthenticated) {
		t.Fatalf("the store is open: %v", err)
	}
	s.Key = first.Text()
	c := connect(t, s.URL, client.Options{Key: first})
	end := time.Now().Add(time.Hour)
	e, key, err := c.CreateKey(ctx, client.KeySettings{Name: "shop", Roles: []string{"write", "read"}, Expires: &end})
	if err != nil || e.Name != "shop" || e.Expires == nil || !e.Expires.Equal(end) || !strings.Contains(key.Text(), e.ID) {
		t.Fatalf("%+v, %v", e, err)
	}
	shop := connect(t, s.URL, client.Options{Key: key})
	if me := must(shop.Me(ctx))(t); me.ID != e.ID || me.Open || me.Name != "shop" || len(me.Roles) != 2 {
		t.Fatalf("one is %+v", me)
	}
	ticket := must(client.MakeTicket(ctx, shop, "/v1/_changes?since=now", time.Minute))(t)
	if r, err := http.Get(s.URL + ticket.URL); err != nil || r.StatusCode != http.StatusOK || r.Body.Close() != nil || !strings.HasSuffix(ticket.URL, "&ticket="+ticket.Ticket) {
		t.Fatalf("%+v, %v", ticket, err)
	}
	if e = must(c.ChangeKey(ctx, e.ID, client.KeyChange{Name: "new", NeverExpires: true}))(t); e.Name != "new" || e.Expires != nil || len(e.Roles) != 2 {
		t.Fatalf("%+v", e)
	}
	if e = must(c.ChangeKey(ctx, e.ID, client.KeyChange{Roles: []string{"read"}, Expires: &end}))(t); e.Name != "new" || e.Expires == nil || len(e.Roles) != 1 {
		t.Fatalf("%+v", e)
	}
	if e.Sub != "key:"+e.ID || string(e.Claims) != "{}" {
		t.Fatalf("%+v", e)
	}
	e = must(c.ChangeKey(ctx, e.ID, client.KeyChange{Sub: "u1", Claims: json.RawMessage(`{"tenant":"<a>","n":1.0}`)}))(t)
	if me := must(shop.Me(ctx))(t); me.Sub != "u1" || me.Issuer != "" || !strings.Contains(string(me.Claims), `"n":1.0`) || e.Sub != "u1" || e.Name != "new" {
		t.Fatalf("one is %+v, of %+v", me, e)
	}
	if e = must(c.ChangeKey(ctx, e.ID, client.KeyChange{DefaultSub: true, Claims: json.RawMessage(`{"tenant":null}`)}))(t); e.Sub != "key:"+e.ID || string(e.Claims) != `{"n":1.0}` {
		t.Fatalf("%+v", e)
	}
	if e = must(c.ChangeKey(ctx, e.ID, client.KeyChange{Claims: json.RawMessage(`null`)}))(t); string(e.Claims) != "{}" {
		t.Fatalf("%+v", e)
	}
	made, _, err := c.CreateKey(ctx, client.KeySettings{Name: "ann", Roles: []string{"read"}, Sub: "u2", Claims: json.RawMessage(`{"a":1}`)})
	if err != nil || made.Sub != "u2" || string(made.Claims) != `{"a":1}` {
		t.Fatalf("%+v, %v", made, err)
	}
	for range 2 { // revoked, and forgotten
		if err := c.RevokeKey(ctx, made.ID); err != nil {
			t.Fatal(err)
		}
	}
	e, next, err := c.RotateKey(ctx, e.ID, time.Hour)
	if err != nil || next.Text() == key.Text() || len(e.Secrets) != 2 || e.Secrets[1].Until == nil {
		t.Fatalf("%+v, %v", e, err)
	}
	if _, _, err = c.RotateKey(ctx, e.ID, 0); err != nil {
		t.Fatal(err)
	}
	if _, err := shop.Me(ctx); !errors.Is(err, client.Unauthenticated) {
		t.Fatalf("an old secret works: %v", err)
	}
	if err := c.RevokeKey(ctx, e.ID); err != nil {
		t.Fatal(err)
	}
	if list := must(c.Keys(ctx))(t); len(list) != 2 || list[1].Revoked == nil || list[1].Name != "new" {
		t.Fatalf("%+v", list)
	}
	if err := c.RevokeKey(ctx, e.ID); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Key(ctx, e.ID); !errors.Is(err, client.NotFound) {
		t.Fatal(err)
	}
	own := must(c.Me(ctx))(t).ID
	if err := c.RevokeKey(ctx, own); !errors.Is(err, client.Conflict) {
		t.Fatal(err)
	}
	if e := must(c.Key(ctx, own))(t); e.ID != own || e.Revoked != nil {
		t.Fatalf("%+v", e)
	}
}

// TestLostAnswerAboutKeys: a request that must not be made twice is not sent again: to make a key, to rotate or to revoke one.
func TestLostAnswerAboutKeys(t *testing.T) {
	suite.Concurrent(t)
	s := harness.OpenClosed(t, "")
	s.Put("books", "b0", `{}`) // the collection is there, whichever request comes first
	p := newProxy(t, s)
	c := connect(t, p.url(), client.Options{Key: client.NewKey(s.Key)})
	key := strings.Split(s.NewKey("read"), "_")[1]
	p.dropAnswers(1)
	if _, _, err := c.CreateKey(t.Context(), client.KeySettings{Name: "x", Roles: []string{"read"}}); !errors.Is(err, client.NoAnswer) {
		t.Fatal(err)
	}
	if list := must(c.Keys(t.Context()))(t); len(list) != 3 {
		t.Fatalf("%d keys", len(list))
	}
	p.dropAnswers(1)
	if _, _, err := c.RotateKey(t.Context(), key, time.Hour); !errors.Is(err, client.NoAnswer) {
		t.Fatal(err)
	}
	p.dropAnswers(1)
	if err := c.RevokeKey(t.Context(), key); !errors.Is(err, client.NoAnswer) {
		t.Fatal(err)
	}
	if e := must(c.Key(t.Context(), key))(t); e.Revoked == nil {
		t.Fatalf("%+v", e)
	}
}

// TestRedirectsDoNotCarryTheKey: a redirect carries the key to the server that it was meant for, and to no other.
func TestRedirectsDoNotCarryTheKey(t *testing.T) {
	var mu sync.Mutex
	got := map[string]string{}
	note := func(name string, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		got[name+r.URL.Path] = r.Header.Get("Authorization")
	}
	answer := func(w http.ResponseWriter) { _, _ = w.Write([]byte(`{"roles":[],"open":true}`)) }
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		note("other", r)
		answer(w)
	}))
	defer other.Close()
	first := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		note("first", r)
		switch r.URL.Path {
		case "/near/v1/_me":
			http.Redirect(w, r, "/there", http.StatusTemporaryRedirect)
		case "/far/v1/_me":
			http.Redirect(w, r, other.URL+"/away", http.StatusTemporaryRedirect)
		default:
			answer(w)
		}
	}))
	defer first.Close()
	follows := 0
	own := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { follows++; return nil }}
	for _, h := range []*http.Client{nil, own} {
		for _, path := range []string{"/near", "/far"} {
			must(connect(t, first.URL+path, client.Options{Key: client.NewKey("secret"), HTTP: h}).Me(t.Context()))(t)
		}
	}
	want := map[string]string{"first/near/v1/_me": "Bearer secret", "first/there": "Bearer secret", "first/far/v1/_me": "Bearer secret", "other/away": ""}
	if fmt.Sprint(got) != fmt.Sprint(want) || follows != 2 {
		t.Errorf("the key went %v, want %v; %d redirects were asked about", got, want, follows)
	}
	loop := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "/loop", http.StatusTemporaryRedirect)
	}))
	defer loop.Close()
	if _, err := connect(t, loop.URL, client.Options{Key: client.NewKey("secret"), RetryFor: -1}).Me(t.Context()); err == nil || !strings.Contains(err.Error(), "10 redirects") {
		t.Errorf("a loop of redirects: %v", err)
	}
}

// TestPrivateCA: a server whose certificate a private authority signs is reached with that authority alone.
func TestPrivateCA(t *testing.T) {
	s := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(`{"roles":[],"open":true}`)) }))
	defer s.Close()
	s.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, 0)
	pool := x509.NewCertPool()
	pool.AddCert(s.Certificate())
	must(connect(t, s.URL, client.Options{CAs: pool}).Me(t.Context()))(t)
	if _, err := connect(t, s.URL, client.Options{RetryFor: -1}).Me(t.Context()); !errors.Is(err, client.NoAnswer) {
		t.Errorf("without the authority: %v", err)
	}
	if _, err := client.New(s.URL, client.Options{CAs: pool, HTTP: http.DefaultClient}); !errors.Is(err, client.Invalid) {
		t.Error(err)
	}
}
