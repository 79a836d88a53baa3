package tokens

import (
	"crypto/ed25519"
	"crypto/rand"
	"encoding/base64"
	"fmt"
	"math/big"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// TestBoundsOfTokens: each check of a token lets in up to its bound, and nothing beyond it.
func TestBoundsOfTokens(t *testing.T) {
	now := time.Unix(1_800_000_000, 0)
	b := openBackend(t, func(opt *Options) { opt.Now = func() time.Time { return now } })
	of := func(sub string, iat, exp int64, more string) string {
		return fmt.Sprintf(`{"iss":"x","aud":"y","sub":"%s","iat":%d,"exp":%d%s}`, sub, now.Unix()+iat, now.Unix()+exp, more)
	}
	claims := func(size int) string { return of("ann", 0, 60, `,"c":"`+strings.Repeat("x", size-len(`{"c":""}`))+`"`) }
	good := of("ann", 0, 60, "")
	signature := 1 + base64.RawURLEncoding.EncodedLen(ed25519.SignatureSize)
	header := func(text int) string { // of a token with so many bytes, or the next one that there can be
		size := (text-signature-1-base64.RawURLEncoding.EncodedLen(len(good)))*3/4 - len(`{"alg":"EdDSA","x":""}`)
		return `{"alg":"EdDSA","x":"` + strings.Repeat("x", size) + `"}`
	}
	const day = 24 * 60 * 60
	for name, x := range map[string]struct {
		header, claims string
		lets           bool
	}{
		"largest":           {header(maxToken), good, true},
		"too large":         {header(maxToken + 2), good, false},
		"longest sub":       {goodHeader, of(strings.Repeat("x", maxSub), 0, 60, ""), true},
		"sub too long":      {goodHeader, of(strings.Repeat("x", maxSub+1), 0, 60, ""), false},
		"empty sub":         {goodHeader, of("", 0, 60, ""), false},
		"control in sub":    {goodHeader, of(`a\u0085b`, 0, 60, ""), false},
		"sub is no UTF-8":   {goodHeader, of("a\xffb", 0, 60, ""), false},
		"other sub":         {goodHeader, of(`a b\u00e9`, 0, 60, ""), true},
		"latest iat":        {goodHeader, of("ann", 30, 60, ""), true},
		"iat too late":      {goodHeader, of("ann", 31, 60, ""), false},
		"latest nbf":        {goodHeader, of("ann", 0, 60, fmt.Sprintf(`,"nbf":%d`, now.Unix()+30)), true},
		"nbf too late":      {goodHeader, of("ann", 0, 60, fmt.Sprintf(`,"nbf":%d`, now.Unix()+31)), false},
		"ended a while ago": {goodHeader, of("ann", -60, -29, ""), true},
		"ended":             {goodHeader, of("ann", -60, -30, ""), false},
		"longest life":      {goodHeader, of("ann", 0, day, ""), true},
		"too long a life":   {goodHeader, of("ann", 0, day+1, ""), false},
		"most claims":       {goodHeader, claims(maxClaims), true},
		"too many claims":   {goodHeader, claims(maxClaims + 1), false},
		"deepest claims":    {goodHeader, of("ann", 0, 60, `,"c":[[[]]]`), true},
		"too deep claims":   {goodHeader, of("ann", 0, 60, `,"c":[[[[]]]]`), false},
	} {
		if b.lets(x.header, x.claims) != x.lets {
			t.Errorf("%s lets in: %t", name, !x.lets)
		}
	}
	if !b.lets(goodHeader, good) {
		t.Fatal("it does not let in")
	}
	if p, _, err := b.principal(goodHeader, of("ann", 0, 60, `,"roles":["admin","write","read","monitor","everyone","editors"]`)); err != nil || !slices.Equal(p.Roles, []string{"editors"}) {
		t.Errorf("with roles that the store knows by itself: %+v %v", p, err)
	}
	now = now.Add(60*time.Second + leeway) // of a token that is known
	if p, ended, err := b.principal(goodHeader, good); p != nil || !ended || err != nil {
		t.Errorf("after its end: %+v %t %v", p, ended, err)
	}
}

// TestKnownTokens: a token that was verified is verified again once its key is not the issuer's any more.
func TestKnownTokens(t *testing.T) {
	b := openBackend(t, nil)
	claims := goodClaims("")
	for range 2 {
		if !b.lets(goodHeader, claims) {
			t.Fatal("it does not let in")
		}
	}
	b.keys.put(nil)
	if b.lets(goodHeader, claims) {
		t.Error("a token lets in whose key was withdrawn")
	}
}

// TestStrictTokens: a signature has one text, so a token that was refused comes in no other one.
func TestStrictTokens(t *testing.T) {
	b := openBackend(t, nil)
	text := base64.RawURLEncoding.EncodeToString([]byte(goodHeader)) + "." + base64.RawURLEncoding.EncodeToString([]byte(goodClaims("")))
	text += "." + base64.RawURLEncoding.EncodeToString(ed25519.Sign(b.key, []byte(text)))
	if p, _, err := b.Principal(text); p == nil || err != nil {
		t.Fatal("it does not let in", err)
	}
	const digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
	last := strings.IndexByte(digits, text[len(text)-1])
	if p, _, _ := b.Principal(text[:len(text)-1] + digits[last+1:last+2]); p != nil { // its last bits belong to no byte
		t.Error("a token with another end lets in")
	}
}

// TestKeysOfASet: a key verifies tokens with its id and its alg, and where a token has no kid, any of them may.
func TestKeysOfASet(t *testing.T) {
	public, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	other, _, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	jwk := func(key ed25519.PublicKey, more string) string {
		return fmt.Sprintf(`{"kty":"OKP","crv":"Ed25519","x":"%s"%s}`, base64.RawURLEncoding.EncodeToString(key), more)
	}
	for name, x := range map[string]struct {
		keys, header string
		lets         bool
	}{
		"its kid":                  {jwk(other, `,"kid":"a"`) + "," + jwk(public, `,"kid":"b"`), `{"alg":"EdDSA","kid":"b"}`, true},
		"another key's kid":        {jwk(other, `,"kid":"a"`) + "," + jwk(public, `,"kid":"b"`), `{"alg":"EdDSA","kid":"a"}`, false},
		"a kid that nobody has":    {jwk(public, `,"kid":"b"`), `{"alg":"EdDSA","kid":"c"}`, false},
		"no kid":                   {jwk(other, `,"kid":"a"`) + "," + jwk(public, `,"kid":"b"`), goodHeader, true},
		"no kid, the keys neither": {jwk(other, ``) + "," + jwk(public, ``), goodHeader, true},
		"its alg":                  {jwk(public, `,"alg":"EdDSA"`), goodHeader, true},
		"another alg":              {jwk(public, `,"alg":"ES256"`), goodHeader, false},
		"a kid that is too long":   {jwk(other, ``) + "," + jwk(public, `,"kid":"`+strings.Repeat("k", maxKeyID+1)+`"`), `{"alg":"EdDSA","kid":"` + strings.Repeat("k", maxKeyID+1) + `"}`, false},
		"the last of many":         {strings.Repeat(jwk(other, ``)+",", maxKeys-1) + jwk(public, ``), goodHeader, true},
	} {
		file := filepath.Join(t.TempDir(), "keys.json")
		if err := os.WriteFile(file, []byte(`{"keys":[`+x.keys+`]}`), 0o600); err != nil {
			t.Fatal(err)
		}
		of, err := New(Options{Issuer: "x", Audience: "y", Keys: file, Secret: func() []byte { return make([]byte, 32) }})
		if err != nil {
			t.Fatal(err)
		}
		if (&backend{of, key}).lets(x.header, goodClaims("")) != x.lets {
			t.Errorf("%s lets in: %t", name, !x.lets)
		}
	}
	if keys, err := readKeys([]byte(`{"keys":[` + strings.Repeat(jwk(public, ``)+",", maxKeys) + jwk(public, ``) + `]}`)); err == nil {
		t.Errorf("a set has %d keys", len(keys))
	}
}

// TestUnknownKeysAskOnce: tokens with unknown kids have the issuer asked once in 30 s, and a kid that no key can have does not.
func TestUnknownKeysAskOnce(t *testing.T) {
	var asked atomic.Int64
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked.Add(1)
		fmt.Fprintf(w, `{"keys":[{"kty":"OKP","crv":"Ed25519","x":"%s","kid":"a"}]}`, strings.Repeat("A", 43))
	}))
	defer server.Close()
	now := time.Now()
	of, err := New(Options{Issuer: "x", Audience: "y", Keys: server.URL, Now: func() time.Time { return now }, Secret: func() []byte { return make([]byte, 32) }, Fetch: NewFetcher(server.Client().Transport)})
	if err != nil {
		t.Fatal(err)
	}
	_, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	b := &backend{of, key}
	ask := func(kid string, want int64) {
		t.Helper()
		if b.lets(fmt.Sprintf(`{"alg":"EdDSA","kid":%q}`, kid), goodClaims("")) || asked.Load() != want {
			t.Errorf("the issuer was asked %d times, want %d", asked.Load(), want)
		}
	}
	ask(strings.Repeat("k", maxKeyID+1), 0)
	for n := range 100 {
		ask(fmt.Sprint("k", n), 1)
	}
	now = now.Add(leastPause - time.Millisecond)
	ask("k", 1)
	now = now.Add(time.Millisecond)
	ask("k", 2)
}

// TestBoundsOfRSA: a key of RSA has 2048 to 8192 bits and an odd exponent from 3 on.
func TestBoundsOfRSA(t *testing.T) {
	for _, x := range []struct {
		bits  int
		e     string
		takes bool
	}{{2048, "AQAB", true}, {2047, "AQAB", false}, {8192, "AQAB", true}, {8193, "AQAB", false}, {2048, "Aw", true}, {2048, "AQ", false}, {2048, "Ag", false}, {2048, "AQAA", false}} {
		n := new(big.Int).SetBit(big.NewInt(1), x.bits-1, 1)
		keys, err := readKeys(fmt.Appendf(nil, `{"keys":[{"kty":"RSA","n":%q,"e":%q}]}`, base64.RawURLEncoding.EncodeToString(n.Bytes()), x.e))
		if (err == nil && len(keys) == 1) != x.takes {
			t.Errorf("%d bits, %s: %d keys, %v", x.bits, x.e, len(keys), err)
		}
	}
}

// TestFlagsOfTokens: issuer and audience go together and fit into a token, and no name stands for a role that nobody can be given.
func TestFlagsOfTokens(t *testing.T) {
	file, long := pemFile(t), strings.Repeat("x", maxSub)
	for name, x := range map[string]struct {
		opt   Options
		takes bool
	}{
		"both":            {Options{Issuer: "x", Audience: "y"}, true},
		"no issuer":       {Options{Audience: "y"}, false},
		"no audience":     {Options{Issuer: "x"}, false},
		"longest":         {Options{Issuer: long, Audience: long}, true},
		"a long issuer":   {Options{Issuer: long + "x", Audience: "y"}, false},
		"a long audience": {Options{Issuer: "x", Audience: long + "x"}, false},
		"admin by a name": {Options{Issuer: "x", Audience: "y", Map: map[string][]string{"A": {"admin", "b"}}}, true},
		"everyone":        {Options{Issuer: "x", Audience: "y", Map: map[string][]string{"A": {"everyone"}}}, false},
		"no role":         {Options{Issuer: "x", Audience: "y", Map: map[string][]string{"A": {"b", "B"}}}, false},
	} {
		x.opt.Keys = file
		if _, err := New(x.opt); (err == nil) != x.takes {
			t.Errorf("%s: %v", name, err)
		}
	}
}
