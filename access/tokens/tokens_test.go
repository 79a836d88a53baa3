package tokens

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/fanfold/fanfold/access"
	"github.com/fanfold/fanfold/tests/suite"
)

// FuzzPrincipal: no text is a token without a signature of the issuer, and none ends the process.
func FuzzPrincipal(f *testing.F) {
	for _, seed := range []string{"", ".", "..", "...", "e30.e30.", "eyJhbGciOiJub25lIn0.eyJzdWIiOiJhIn0.", "eyJhbGciOiJFZERTQSIsImtpZCI6ImEifQ.e30.AAAA", "eyJhbGciOiJFUzI1NiJ9.e30.AAAA"} {
		f.Add(seed)
	}
	of, err := New(Options{Issuer: "x", Audience: "y", Keys: pemFile(f), Secret: func() []byte { return make([]byte, 32) }})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if p, _, _ := of.Principal(text); p != nil {
			t.Errorf("%q lets %+v in", text, p)
		}
	})
}

// FuzzKeys: a set of keys is read, or refused with a message.
func FuzzKeys(f *testing.F) {
	for _, seed := range []string{"", "{}", `{"keys":[]}`, `{"keys":[{"kty":"RSA","n":"AQAB","e":"AQAB"}]}`, `{"keys":[{"kty":"oct","k":"AAAA"}]}`, `{"keys":[{"kty":"EC","crv":"P-256","x":"AA","y":"AA"}]}`,
		"-----BEGIN PUBLIC KEY-----\n-----END PUBLIC KEY-----", "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		keys, err := readKeys(text)
		if err == nil && len(keys) == 0 {
			t.Errorf("%q has no key and no mistake", text)
		}
		for _, k := range keys {
			if !verifies(k.key) {
				t.Errorf("%q gives a %T", text, k.key)
			}
		}
	})
}

// TestManyTokens: a node remembers maxKnown tokens.
func TestManyTokens(t *testing.T) {
	suite.Concurrent(t)
	of, err := New(Options{Issuer: "x", Audience: "y", Keys: pemFile(t), Secret: func() []byte { return make([]byte, 32) }})
	if err != nil {
		t.Fatal(err)
	}
	var group sync.WaitGroup
	for range 4 { // beside others who ask
		group.Go(func() {
			for i := range 200 {
				if p, _, _ := of.Principal(fmt.Sprint("a.b.", i)); p != nil {
					t.Errorf("%+v is let in", p)
				}
			}
		})
	}
	defer group.Wait()
	for i := range maxKnown + 10 {
		of.keep([32]byte{byte(i), byte(i >> 8), byte(i >> 16)}, &access.Principal{Ends: time.Now().Add(time.Hour)})
	}
	if len(of.known) > maxKnown {
		t.Errorf("%d tokens are remembered", len(of.known))
	}
}

// TestFetchEndsWithRun: a fetch that waits for the issuer ends with what runs, whoever began it.
func TestFetchEndsWithRun(t *testing.T) {
	asked := make(chan struct{}, 10)
	server := httptest.NewTLSServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		asked <- struct{}{}
		<-r.Context().Done()
	}))
	defer server.Close()
	for name, begin := range map[string]func(of *Tokens){"its own": func(*Tokens) {}, "a token's": func(of *Tokens) { of.keys.refresh() }} {
		of, err := New(Options{Issuer: server.URL, Audience: "y", Secret: func() []byte { return nil }, Fetch: NewFetcher(server.Client().Transport)})
		if err != nil {
			t.Fatal(err)
		}
		begin(of)
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- of.Run(ctx) }()
		<-asked
		stop()
		if err := <-done; err != nil {
			t.Errorf("%s: %v", name, err)
		}
		of.keys.mu.Lock()
		if of.keys.running != nil {
			t.Errorf("%s goes on after the end", name)
		}
		of.keys.mu.Unlock()
	}
}

// pemFile returns a file with a new public key.
func pemFile(tb testing.TB) string {
	tb.Helper()
	public, _, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		tb.Fatal(err)
	}
	return pemOf(tb, public)
}

// pemOf returns a file with a public key.
func pemOf(tb testing.TB, public ed25519.PublicKey) string {
	tb.Helper()
	der, err := x509.MarshalPKIXPublicKey(public)
	if err != nil {
		tb.Fatal(err)
	}
	file := filepath.Join(tb.TempDir(), "key.pem")
	if err := os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der}), 0o600); err != nil {
		tb.Fatal(err)
	}
	return file
}

// TestKeysForOtherUses: a key of a set verifies tokens unless the set says that it is for something else.
func TestKeysForOtherUses(t *testing.T) {
	public, _, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	for more, verifies := range map[string]bool{"": true, `,"use":"sig"`: true, `,"use":"enc"`: false, `,"key_ops":["verify"]`: true, `,"key_ops":["sign","verify"]`: true, `,"key_ops":["encrypt"]`: false, `,"key_ops":[]`: true} {
		keys, err := readKeys(fmt.Appendf(nil, `{"keys":[{"kty":"OKP","crv":"Ed25519","x":%q%s}]}`, base64.RawURLEncoding.EncodeToString(public), more))
		if (err == nil && len(keys) == 1) != verifies || !verifies && !errors.Is(err, errNoKeys) {
			t.Errorf("a key with %s: %d keys, %v", more, len(keys), err)
		}
	}
}

// TestFileThatGoes: a node looks once at a file of keys that has gone, so that the log says so once, and again when it is there.
func TestFileThatGoes(t *testing.T) {
	file := pemFile(t)
	of, err := New(Options{Issuer: "x", Audience: "y", Keys: file, Secret: func() []byte { return nil }})
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(file)
	if err != nil || of.keys.changed() {
		t.Fatal("the file has changed", err)
	}
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	for n := range 3 {
		if of.keys.changed() != (n == 0) {
			t.Errorf("look %d at a file that has gone says otherwise", n)
		}
	}
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	if !of.keys.changed() || of.keys.changed() || of.Version() != 1 {
		t.Error("a file that is there again is not read once")
	}
}
