package api_test

import (
	"bufio"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/MicahParks/jwkset"
	"github.com/golang-jwt/jwt/v5"

	"github.com/fanfold/fanfold/access"
	"github.com/fanfold/fanfold/access/tokens"
	"github.com/fanfold/fanfold/node"
	"github.com/fanfold/fanfold/tests/harness"
)

// issuer signs tokens, and tells its public keys by HTTPS.
type issuer struct {
	*httptest.Server
	mu    sync.Mutex
	keys  map[string]crypto.Signer
	asked atomic.Int64 // for the keys
	down  atomic.Bool
	lead  string                 // where its discovery document leads instead
	says  atomic.Pointer[string] // what it says instead of its keys; nil for nothing
}

// openIssuer opens an issuer with keys of each kind.
func openIssuer(t *testing.T) *issuer {
	t.Helper()
	i := &issuer{keys: map[string]crypto.Signer{}}
	r, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	e, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	_, d, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	i.keys["rsa"], i.keys["ec"], i.keys["ed"] = r, e, d
	i.Server = httptest.NewTLSServer(http.HandlerFunc(i.answer))
	t.Cleanup(i.Close)
	return i
}

// answer tells where the keys are, and the keys.
func (i *issuer) answer(w http.ResponseWriter, r *http.Request) {
	i.mu.Lock()
	defer i.mu.Unlock()
	switch {
	case i.down.Load():
		w.WriteHeader(http.StatusServiceUnavailable)
	case strings.HasSuffix(r.URL.Path, "/openid-configuration"):
		at := i.URL + "/keys"
		if i.lead != "" {
			at = i.lead
		}
		fmt.Fprintf(w, `{"issuer":%q,"jwks_uri":%q}`, i.URL, at)
	default:
		i.asked.Add(1)
		text := i.set()
		if says := i.says.Load(); says != nil {
			text = []byte(*says)
		}
		_, _ = w.Write(text)
	}
}

// set returns the public keys as a set.
func (i *issuer) set() []byte {
	var set struct {
		Keys []jwkset.JWKMarshal `json:"keys"`
	}
	for id, key := range i.keys {
		jwk, err := jwkset.NewJWKFromKey(key.Public(), jwkset.JWKOptions{Metadata: jwkset.JWKMetadataOptions{KID: id}})
		if err != nil {
			panic(err)
		}
		set.Keys = append(set.Keys, jwk.Marshal())
	}
	text, err := json.Marshal(set)
	if err != nil {
		panic(err)
	}
	return text
}

// methodOf returns the way to sign with each key.
var methodOf = map[string]jwt.SigningMethod{"rsa": jwt.SigningMethodRS256, "ec": jwt.SigningMethodES256, "ed": jwt.SigningMethodEdDSA}

// token returns a token with some claims instead of those that every one has; nil takes one away.
func (i *issuer) token(t *testing.T, kid string, claims map[string]any) string {
	t.Helper()
	all := jwt.MapClaims{"iss": i.URL, "aud": "fanfold", "sub": "ann", "iat": time.Now().Unix(), "exp": time.Now().Add(time.Hour).Unix(), "roles": []string{"editors"}}
	for name, value := range claims {
		if all[name] = value; value == nil {
			delete(all, name)
		}
	}
	token := jwt.NewWithClaims(methodOf[kid], all)
	token.Header["kid"] = kid
	text, err := token.SignedString(i.keys[kid])
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// tokenModel lets everybody read the notes of theirs.
const tokenModel = `{"collections":{"notes":{"access":{"read":{"roles":["editors"],"where":"doc.owner == auth.sub && auth.iss.startsWith('https://') && auth.claims.tenant == doc.tenant"},"write":["editors"]}}}}`

// openTokenHouse opens a house that takes an issuer's tokens.
func openTokenHouse(t *testing.T, i *issuer, configure func(of *tokens.Options)) *house {
	t.Helper()
	h := openHouse(t, tokenModel, func(cfg *node.Config) {
		cfg.Tokens = tokens.Options{Issuer: i.URL, Audience: "fanfold", Map: map[string][]string{"platform-admins": {"admin"}}, Fetch: tokens.NewFetcher(i.Client().Transport)}
		if configure != nil {
			configure(&cfg.Tokens)
		}
	})
	for begun := time.Now(); i.asked.Load() == 0 && time.Since(begun) < 20*time.Second; { // the first fetch
		time.Sleep(time.Millisecond)
	}
	return h
}

// me returns whom the store takes a token for.
func (h *house) me(t *testing.T, token string) (status int, me struct {
	Sub, Iss, ID string
	Roles        []string
	Claims       json.RawMessage
}) {
	t.Helper()
	r, err := h.clientWith(t, token).Do("GET", "/v1/_me", nil)
	if err != nil {
		t.Fatal(err)
	}
	_ = json.Unmarshal(r.Body, &me)
	return r.Status, me
}

// TestTokens: who holds a token of the issuer is let in as it says, and writes under a name that only the bucket of the keys explains.
func TestTokens(t *testing.T) {
	i := openIssuer(t)
	h := openTokenHouse(t, i, nil)
	for kid := range i.keys {
		status, me := h.me(t, i.token(t, kid, map[string]any{"tenant": "t1", "n": json.Number("1.50")}))
		if status != http.StatusOK || me.Sub != "ann" || me.Iss != i.URL || me.ID != "" || !slices.Equal(me.Roles, []string{"editors"}) || !strings.Contains(string(me.Claims), `"tenant":"t1"`) || !strings.Contains(string(me.Claims), `1.50`) {
			t.Errorf("by %s: %d %+v", kid, status, me)
		}
	}
	for claim, want := range map[string]any{"[admin]": []string{"platform-admins"}, "[everyone]": []string{"admin", "write", "read", "monitor", "everyone", "No Role"}, "[a b]": "b a b"} {
		if status, me := h.me(t, i.token(t, "ec", map[string]any{"roles": want})); status != http.StatusOK || fmt.Sprint(me.Roles) != claim {
			t.Errorf("the roles %v give %d %v, want %s", want, status, me.Roles, claim)
		}
	}
	ann := h.clientWith(t, i.token(t, "rsa", map[string]any{"tenant": "t1"}))
	ann.Put("notes", "n1", `{"owner":"bob","tenant":"t1"}`)
	bob := h.clientWith(t, i.token(t, "ed", map[string]any{"sub": "bob", "roles": nil, "tenant": "t1"}))
	bob.Want(http.StatusOK, "GET", "/v1/notes/n1", "")
	h.clientWith(t, i.token(t, "ed", map[string]any{"sub": "bob", "roles": nil, "tenant": "t2"})).Want(http.StatusNotFound, "GET", "/v1/notes/n1", "")
	var page struct{ Results []struct{ Actor string } }
	if err := json.Unmarshal(h.admin.Want(http.StatusOK, "GET", "/v1/_changes?mode=all&collections=notes", "").Body, &page); err != nil || len(page.Results) != 1 {
		t.Fatal(page, err)
	}
	actor := page.Results[0].Actor
	if !strings.HasPrefix(actor, "sub:") || len(actor) != 36 {
		t.Fatalf("the actor is %s", actor)
	}
	if got, want := strings.TrimSpace(string(h.admin.Want(http.StatusOK, "GET", "/v1/_actors/"+actor, "").Body)), fmt.Sprintf(`{"id":%q,"iss":%q,"sub":"ann"}`, actor, i.URL); got != want {
		t.Errorf("the actor is %s, want %s", got, want)
	}
	ann.Want(http.StatusForbidden, "GET", "/v1/_actors/"+actor, "")
	h.admin.Want(http.StatusNoContent, "DELETE", "/v1/_actors/"+actor, "")
	for _, id := range []string{actor, "sub:", "sub:" + strings.Repeat("0", 32), "key:x", "sub:" + strings.Repeat("g", 32)} {
		h.admin.Want(http.StatusNotFound, "GET", "/v1/_actors/"+id, "")
	}
	let := newTicket(t, bob, "/v1/_changes?include_docs=true", "1h")
	if raw, err := hex.DecodeString(strings.TrimPrefix(let.Ticket, "fft_")); err != nil || strings.Contains(string(raw), "bob") || strings.Contains(string(raw), "tenant") || strings.Contains(string(raw), i.URL) {
		t.Errorf("a ticket, which stands in URLs, tells whose it is: %q %v", raw, err)
	}
	plain := harness.NewClient(t, h.URL)
	t.Cleanup(plain.HTTP.CloseIdleConnections)
	if body := string(plain.Want(http.StatusOK, "GET", let.URL, "").Body); !strings.Contains(body, `"n1"`) {
		t.Errorf("by ticket bob sees %s", body)
	}
	h.admin.Want(http.StatusNoContent, "POST", "/v1/_tokens/_revoke", fmt.Sprintf(`{"sub":"bob","before":%q}`, time.Now().Add(time.Second).Format(time.RFC3339)))
	plain.Want(http.StatusUnauthorized, "GET", let.URL, "")
}

// TestReadersAreNotRemembered: the store keeps whose a name is for events alone. It keeps none of who reads, whatever the method of that, or may not write.
func TestReadersAreNotRemembered(t *testing.T) {
	i := openIssuer(t)
	h := openTokenHouse(t, i, nil)
	bob := h.clientWith(t, i.token(t, "ec", map[string]any{"sub": "bob", "roles": nil, "tenant": "t1"}))
	newTicket(t, bob, "/v1/_changes", "1h")
	bob.Want(http.StatusOK, "POST", "/v1/notes/_query", `{}`)
	bob.Want(http.StatusForbidden, "PUT", "/v1/notes/n1", `{}`)
	bob.Want(http.StatusForbidden, "POST", "/v1/_keys", `{"name":"a","roles":["a"]}`)
	of := func(sub string) string { return "/v1/_actors/" + access.ActorOf(h.Node.Keys().Secret(), i.URL, sub) }
	h.admin.Want(http.StatusNotFound, "GET", of("bob"), "")
	h.clientWith(t, i.token(t, "ec", nil)).Put("notes", "n1", `{}`)
	h.admin.Want(http.StatusOK, "GET", of("ann"), "")
}

// TestBadTokens: what is no token of the issuer for this store lets nobody in, and asks the issuer once.
func TestBadTokens(t *testing.T) {
	i := openIssuer(t)
	h := openTokenHouse(t, i, nil)
	other := openIssuer(t)
	now := time.Now()
	public, err := x509.MarshalPKIXPublicKey(i.keys["rsa"].Public())
	if err != nil {
		t.Fatal(err)
	}
	signed := func(method jwt.SigningMethod, key any, header map[string]any, claims jwt.MapClaims) string {
		token := jwt.NewWithClaims(method, claims)
		for name, value := range header {
			token.Header[name] = value
		}
		text, err := token.SignedString(key)
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	good := jwt.MapClaims{"iss": i.URL, "aud": "fanfold", "sub": "ann", "iat": now.Unix(), "exp": now.Add(time.Hour).Unix()}
	asked := i.asked.Load()
	for name, text := range map[string]string{
		"alg none":         signed(jwt.SigningMethodNone, jwt.UnsafeAllowNoneSignatureType, nil, good),
		"HS256":            signed(jwt.SigningMethodHS256, pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: public}), map[string]any{"kid": "rsa"}, good),
		"another key":      signed(jwt.SigningMethodRS256, other.keys["rsa"], map[string]any{"kid": "rsa"}, good),
		"its own key":      signed(jwt.SigningMethodRS256, other.keys["rsa"], map[string]any{"jwk": map[string]string{"kty": "RSA"}, "jku": other.URL + "/keys", "x5u": other.URL}, good),
		"another method":   signed(jwt.SigningMethodES256, i.keys["ec"], map[string]any{"kid": "rsa"}, good),
		"crit":             signed(jwt.SigningMethodES256, i.keys["ec"], map[string]any{"kid": "ec", "crit": []string{"x"}}, good),
		"another issuer":   i.token(t, "ec", map[string]any{"iss": "https://other.example"}),
		"another audience": i.token(t, "ec", map[string]any{"aud": []string{"x", "y"}}),
		"no iss":           i.token(t, "ec", map[string]any{"iss": nil}),
		"no aud":           i.token(t, "ec", map[string]any{"aud": nil}),
		"no sub":           i.token(t, "ec", map[string]any{"sub": nil}),
		"long sub":         i.token(t, "ec", map[string]any{"sub": strings.Repeat("x", 256)}),
		"control in sub":   i.token(t, "ec", map[string]any{"sub": "a\nb"}),
		"no iat":           i.token(t, "ec", map[string]any{"iat": nil}),
		"no exp":           i.token(t, "ec", map[string]any{"exp": nil}),
		"iat later":        i.token(t, "ec", map[string]any{"iat": now.Add(5 * time.Minute).Unix()}),
		"nbf later":        i.token(t, "ec", map[string]any{"nbf": now.Add(5 * time.Minute).Unix()}),
		"ended":            i.token(t, "ec", map[string]any{"iat": now.Add(-time.Hour).Unix(), "exp": now.Add(-time.Minute).Unix()}),
		"too long":         i.token(t, "ec", map[string]any{"exp": now.Add(25 * time.Hour).Unix()}),
		"many claims":      i.token(t, "ec", map[string]any{"x": strings.Repeat("x", 4096)}),
		"deep claims":      i.token(t, "ec", map[string]any{"x": []any{[]any{[]any{[]any{}}}}}),
		"dots":             strings.Repeat(".", 8000),
		"a part more":      i.token(t, "ec", nil) + ".x",
		"no signature":     strings.TrimRight(i.token(t, "ec", nil), "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"),
		"twice a member":   twice(t, i),
	} {
		if status, me := h.me(t, text); status != http.StatusUnauthorized {
			t.Errorf("%s: %d %+v", name, status, me)
		}
	}
	for _, dots := range []int{10_000, 100_000} { // the server may hang up on who sends so long a header
		if r, err := h.clientWith(t, strings.Repeat(".", dots)).Do("GET", "/v1/_me", nil); r == nil && err == nil || r != nil && r.Status != http.StatusUnauthorized && r.Status != http.StatusRequestHeaderFieldsTooLarge {
			t.Errorf("%d dots: %+v %v", dots, r, err)
		}
	}
	const kids, senders = 10_000, 32
	var group sync.WaitGroup
	for sender := range senders {
		group.Go(func() {
			c := harness.NewClient(t, h.URL)
			defer c.HTTP.CloseIdleConnections()
			for n := sender; n < kids; n += senders {
				token := jwt.NewWithClaims(jwt.SigningMethodEdDSA, good)
				token.Header["kid"] = fmt.Sprint("unknown", n)
				text, err := token.SignedString(i.keys["ed"])
				if err != nil {
					t.Error(err)
				}
				if r, err := c.Do("GET", "/v1/_me", nil, "Authorization", "Bearer "+text); err != nil || r.Status != http.StatusUnauthorized {
					t.Errorf("an unknown key: %+v %v", r, err)
					return
				}
			}
		})
	}
	group.Wait()
	if n := i.asked.Load() - asked; n > 1 {
		t.Errorf("the issuer was asked %d times", n)
	}
}

// twice returns a signed token whose payload has a member twice.
func twice(t *testing.T, i *issuer) string {
	t.Helper()
	parts := strings.Split(i.token(t, "ed", nil), ".")
	now := time.Now().Unix()
	payload := fmt.Sprintf(`{"iss":%q,"aud":"fanfold","sub":"eve","sub":"ann","iat":%d,"exp":%d}`, i.URL, now, now+60)
	text := parts[0] + "." + base64.RawURLEncoding.EncodeToString([]byte(payload))
	signature, err := jwt.SigningMethodEdDSA.Sign(text, i.keys["ed"])
	if err != nil {
		t.Fatal(err)
	}
	return text + "." + base64.RawURLEncoding.EncodeToString(signature)
}

// TestTokensEnd: a stream ends with its token, and where the tokens of its holder are revoked.
func TestTokensEnd(t *testing.T) {
	i := openIssuer(t)
	h := openTokenHouse(t, i, nil)
	follow := func(token string) *bufio.Scanner {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, h.URL+"/v1/_changes?feed=eventsource&heartbeat=1000&collections=notes", nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer "+token)
		resp, err := http.DefaultClient.Do(req)
		if err != nil || resp.StatusCode != http.StatusOK {
			t.Fatal(resp, err)
		}
		t.Cleanup(func() { _ = resp.Body.Close() })
		lines := bufio.NewScanner(resp.Body)
		for lines.Scan() && !strings.HasPrefix(lines.Text(), "event: heartbeat") {
		}
		return lines
	}
	ends := follow(i.token(t, "ec", map[string]any{"sub": "bob", "exp": time.Now().Add(-27 * time.Second).Unix(), "iat": time.Now().Add(-time.Minute).Unix()})) // within the leeway
	revoked := follow(i.token(t, "ec", nil))
	h.admin.Want(http.StatusNoContent, "POST", "/v1/_tokens/_revoke", fmt.Sprintf(`{"sub":"ann","before":%q}`, time.Now().Add(2*time.Second).Format(time.RFC3339)))
	for revoked.Scan() { // until it ends
	}
	for ends.Scan() {
	}
	if status, _ := h.me(t, i.token(t, "ec", nil)); status != http.StatusUnauthorized {
		t.Errorf("a revoked token: %d", status)
	}
	if status, _ := h.me(t, i.token(t, "ec", map[string]any{"iat": time.Now().Add(20 * time.Second).Unix()})); status != http.StatusOK {
		t.Errorf("a later token: %d", status)
	}
	for _, body := range []string{`{}`, `{"sub":""}`, `{"sub":"a\nb"}`, `{"sub":"a","before":"tomorrow"}`, `{"sub":"a","before":"2100-01-01T00:00:00Z"}`, `{"sub":"` + strings.Repeat("x", 256) + `"}`} {
		h.admin.Want(http.StatusBadRequest, "POST", "/v1/_tokens/_revoke", body)
	}
}

// TestKeysOfTheIssuer: keys come from a file, which is read again, and stay while the issuer is down.
func TestKeysOfTheIssuer(t *testing.T) {
	i := openIssuer(t)
	file := filepath.Join(t.TempDir(), "keys.pem")
	public := func(key crypto.Signer) []byte {
		der, err := x509.MarshalPKIXPublicKey(key.Public())
		if err != nil {
			t.Fatal(err)
		}
		return pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der})
	}
	if err := os.WriteFile(file, public(i.keys["rsa"]), 0o600); err != nil {
		t.Fatal(err)
	}
	h := openHouse(t, tokenModel, func(cfg *node.Config) {
		cfg.Tokens = tokens.Options{Issuer: "my backend", Audience: "fanfold", Keys: file}
	})
	token := func(kid string) string { return i.token(t, kid, map[string]any{"iss": "my backend"}) }
	if status, _ := h.me(t, token("rsa")); status != http.StatusOK {
		t.Errorf("by a file: %d", status)
	}
	if status, _ := h.me(t, token("ed")); status != http.StatusUnauthorized {
		t.Errorf("by another key: %d", status)
	}
	if err := os.WriteFile(file, append(public(i.keys["ed"]), public(i.keys["rsa"])...), 0o600); err != nil {
		t.Fatal(err)
	}
	status := 0
	for begun := time.Now(); status != http.StatusOK && time.Since(begun) < 20*time.Second; {
		status, _ = h.me(t, token("ed"))
	}
	if status != http.StatusOK {
		t.Errorf("by the file's new key: %d", status)
	}
	far := openTokenHouse(t, i, nil)
	i.down.Store(true)
	if status, _ := far.me(t, i.token(t, "ec", nil)); status != http.StatusOK {
		t.Errorf("while the issuer is down: %d", status)
	}
	for _, bad := range []tokens.Options{{Issuer: "x"}, {Audience: "x"}, {Issuer: "x", Audience: "y"}, {Issuer: "http://x", Audience: "y"}, {Issuer: "https://x", Audience: "y", Keys: "http://x"},
		{Issuer: "x", Audience: "y", Keys: file + "x"}, {Issuer: "https://x", Audience: "y", Map: map[string][]string{"a": {"No"}}}, {Issuer: "https://x", Audience: "y", Map: map[string][]string{"a": {"everyone"}}}} {
		refusedStart(t, "--token-", func(cfg *node.Config) { cfg.Tokens = bad })
	}
}

// TestIssuersThatLeadElsewhere: a discovery document and a redirect lead to no other host, and an answer without end is not read.
func TestIssuersThatLeadElsewhere(t *testing.T) {
	i := openIssuer(t)
	elsewhere := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(i.set()) }))
	defer elsewhere.Close()
	redirects := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, elsewhere.URL, http.StatusFound) }))
	defer redirects.Close()
	endless := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		for piece := []byte(`{"keys":[` + strings.Repeat(" ", 1<<16)); ; {
			if _, err := w.Write(piece); err != nil {
				return
			}
		}
	}))
	defer endless.Close()
	i.lead = elsewhere.URL
	for name, at := range map[string]string{"discovery": "", "redirect": redirects.URL, "endless": endless.URL} {
		of, err := tokens.New(tokens.Options{Issuer: i.URL, Audience: "fanfold", Keys: at, Fetch: tokens.NewFetcher(i.Client().Transport), Secret: func() []byte { return make([]byte, 32) }})
		if err != nil {
			t.Fatal(err)
		}
		if p, _, _ := of.Principal(i.token(t, "ec", nil)); p != nil {
			t.Errorf("%s: %+v", name, p)
		}
	}
}
