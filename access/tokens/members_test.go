package tokens

import (
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/fanfold/fanfold/access"
	"github.com/fanfold/fanfold/model"
)

// backend signs whatever text as a token.
type backend struct {
	*Tokens
	key ed25519.PrivateKey
}

// openBackend returns a backend whose tokens let in.
func openBackend(t *testing.T, configure func(opt *Options)) *backend {
	t.Helper()
	public, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	opt := Options{Issuer: "x", Audience: "y", Keys: pemOf(t, public), Secret: func() []byte { return make([]byte, 32) }}
	if configure != nil {
		configure(&opt)
	}
	of, err := New(opt)
	if err != nil {
		t.Fatal(err)
	}
	return &backend{of, key}
}

// goodHeader is a header that lets in.
const goodHeader = `{"alg":"EdDSA"}`

// goodClaims returns claims that let in, with more at their end.
func goodClaims(more string) string {
	now := time.Now().Unix()
	return fmt.Sprintf(`{"iss":"x","aud":"y","sub":"ann","iat":%d,"exp":%d%s}`, now, now+60, more)
}

// principal signs a token, and returns whom it lets in.
func (b *backend) principal(header, claims string) (*access.Principal, bool, error) {
	text := base64.RawURLEncoding.EncodeToString([]byte(header)) + "." + base64.RawURLEncoding.EncodeToString([]byte(claims))
	return b.Principal(text + "." + base64.RawURLEncoding.EncodeToString(ed25519.Sign(b.key, []byte(text))))
}

// lets tells whether a token lets in.
func (b *backend) lets(header, claims string) bool {
	p, _, err := b.principal(header, claims)
	return p != nil && err == nil
}

// TestSubjectsOfKeys: no issuer says that somebody is a key of the store, whose subject is key:<id> where nobody gave it another one.
func TestSubjectsOfKeys(t *testing.T) {
	b := openBackend(t, nil)
	for sub, lets := range map[string]bool{"key:abcdefghijkl": false, "key:": false, "key:x": false, "key": true, "keys:x": true, "KEY:x": true, "a key:x": true, "ſub:x": true} {
		if b.lets(goodHeader, strings.Replace(goodClaims(``), `"ann"`, `"`+sub+`"`, 1)) != lets {
			t.Errorf("the sub %s lets in: %t", sub, !lets)
		}
	}
}

// TestTypesOfTokens: a token that its issuer made for something else lets nobody in.
func TestTypesOfTokens(t *testing.T) {
	b := openBackend(t, nil)
	for _, more := range []string{``, `,"typ":"JWT"`, `,"typ":"jwt"`, `,"typ":"at+jwt"`, `,"typ":"AT+JWT"`, `,"typ":"application/at+jwt"`, `,"typ":"application/JWT"`, `,"b64":true`} {
		if !b.lets(`{"alg":"EdDSA"`+more+`}`, goodClaims(``)) {
			t.Errorf("a header with %s does not let in", more)
		}
	}
	for _, more := range []string{`,"typ":"logout+jwt"`, `,"typ":"application/logout+jwt"`, `,"typ":"dpop+jwt"`, `,"typ":"secevent+jwt"`, `,"typ":"JOSE"`, `,"typ":""`, `,"typ":null`, `,"typ":1`, `,"typ":["JWT"]`, `,"typ":"at+jwt "`, `,"typ":"application/"`,
		`,"b64":false`, `,"b64":null`, `,"b64":"true"`, `,"b64":false,"crit":["b64"]`, `,"crit":[]`, `,"crit":null`, `,"crit":["exp"]`} {
		if b.lets(`{"alg":"EdDSA"`+more+`}`, goodClaims(``)) {
			t.Errorf("a header with %s lets in", more)
		}
	}
	for claims, lets := range map[string]bool{`,"events":{"http://schemas.openid.net/event/backchannel-logout":{}}`: false, `,"events":{}`: true, `,"events":["a"]`: true} { // OpenID Connect Back-Channel Logout 1.0
		if b.lets(goodHeader, goodClaims(claims)) != lets {
			t.Errorf("a token with %s lets in: %t", claims, !lets)
		}
	}
}

// TestManyRoles: a token with more roles than a principal may have lets nobody in. Names that stand for no role do not count.
func TestManyRoles(t *testing.T) {
	b := openBackend(t, func(opt *Options) { opt.Map = map[string][]string{"both": {"first", "second"}} })
	roles := func(n int, more ...string) string {
		for i := range n {
			more = append(more, fmt.Sprintf("r%d", i))
		}
		text, err := json.Marshal(more)
		if err != nil {
			t.Fatal(err)
		}
		return goodClaims(`,"roles":` + string(text))
	}
	others := make([]string, maxNames-model.MaxRoles)
	for i := range others {
		others[i] = fmt.Sprint("No Role ", i)
	}
	for name, x := range map[string]struct {
		claims string
		lets   bool
	}{
		"as many as there may be": {roles(model.MaxRoles), true}, "one more": {roles(model.MaxRoles + 1), false}, "with others": {roles(model.MaxRoles, others...), true}, "with one more other": {roles(model.MaxRoles, append(others, "No")...), false},
		"mapped": {roles(model.MaxRoles-2, "both"), true}, "mapped, one more": {roles(model.MaxRoles-1, "both"), false}, "one of them twice": {roles(model.MaxRoles, "r1"), true},
	} {
		if b.lets(goodHeader, x.claims) != x.lets {
			t.Errorf("%s lets in: %t", name, !x.lets)
		}
	}
}

// TestNamesOfMembers: a member is known by its very name. One that differs from a known one only in case lets nobody in, nor does one that is there twice:
// whoever reads it otherwise would see another token.
func TestNamesOfMembers(t *testing.T) {
	b := openBackend(t, func(opt *Options) { opt.Roles = "realm.roles" })
	now := time.Now().Unix()
	for _, claims := range []string{goodClaims(``), goodClaims(`,"subs":1,"x":{"SUB":1}`), goodClaims(`,"realm":{"roles":["a"]},"roles":1,"Roles":1`)} {
		if !b.lets(goodHeader, claims) {
			t.Errorf("%s does not let in", claims)
		}
	}
	for _, header := range []string{`{"alg":"EdDSA","x":1}`, ` { "alg" : "EdDSA" } `, `{"\u0061lg":"EdDSA"}`} {
		if !b.lets(header, goodClaims(``)) {
			t.Errorf("%s does not let in", header)
		}
	}
	for _, claims := range []string{
		`{"ISS":"x","aud":"y","sub":"ann","iat":1,"exp":2}`, strings.Replace(goodClaims(``), `"sub"`, `"SUB"`, 1), strings.Replace(goodClaims(``), `"exp"`, `"Exp"`, 1), strings.Replace(goodClaims(``), `"iat"`, `"iAt"`, 1),
		strings.Replace(goodClaims(``), `"aud"`, `"auD"`, 1), strings.Replace(goodClaims(``), `"iss"`, `"Iss"`, 1), strings.Replace(goodClaims(``), `"sub"`, `"\u0053ub"`, 1), strings.Replace(goodClaims(``), `"sub"`, `"ſub"`, 1),
		goodClaims(`,"Sub":"admin"`), goodClaims(`,"SUB":"ann"`), goodClaims(`,"ſub":"eve"`), goodClaims(`,"EXP":` + fmt.Sprint(now+3600)), goodClaims(`,"NBF":1`), goodClaims(`,"Jti":"1"`), goodClaims(`,"AUD":["y"]`), goodClaims(`,"Realm":{}`), goodClaims(`,"REALM.ROLES":["a"]`),
		goodClaims(`,"sub":"eve"`), goodClaims(`,"x":1,"x":1`), goodClaims(`,"x":1,"\u0078":1`), goodClaims(`,"x":{"y":1,"y":1}`), goodClaims("") + "{}", "[]", "null", "1", `"x"`, "", "\xff", goodClaims(",\"x\":\"\xff\""),
	} {
		if b.lets(goodHeader, claims) {
			t.Errorf("the claims %s let in", claims)
		}
	}
	for _, header := range []string{
		`{"Alg":"EdDSA"}`, `{"alg":"EdDSA","ALG":"none"}`, `{"ALG":"none","alg":"EdDSA"}`, `{"alg":"none","alg":"EdDSA"}`, `{"alg":"EdDSA","alg":"EdDSA"}`, `{"alg":"EdDSA","\u0061lg":"EdDSA"}`, `{"alg":"EdDSA","Kid":"a"}`, `{"alg":"EdDSA","Kid":"a"}`,
		`{"alg":"EdDSA","kid":"a","kid":"b"}`, `{"alg":"EdDSA","kid":1}`, `{"alg":"EdDSA","kid":null}`, `{"alg":"EdDSA","kid":["a"]}`, `{"alg":"EdDSA","Crit":["x"]}`, `{"alg":"EdDSA","CRIT":[]}`, `{"alg":"EdDSA","TYP":"logout+jwt"}`, `{"alg":"EdDSA","B64":false}`, `{"alg":"EdDSA","x":1,"x":1}`, `{"alg":"EdDSA"}{}`, `[]`, `null`, ``, "{\"alg\":\"EdDSA\",\"x\":\"\xff\"}",
		`{"alg":"EdDSA","x":` + strings.Repeat("[", 20) + strings.Repeat("]", 20) + `}`,
	} {
		if b.lets(header, goodClaims(``)) {
			t.Errorf("the header %s lets in", header)
		}
	}
}

// TestKeysThatAreNone: a key that is no point of its curve, or of another curve than tokens are signed with, is left out of its set, and the others hold.
func TestKeysThatAreNone(t *testing.T) {
	none := func(curve, x, y string) string {
		return fmt.Sprintf(`{"kty":"EC","crv":%q,"x":%q,"y":%q}`, curve, x, y)
	}
	long := strings.Repeat("_", 43) + "8"
	for _, bad := range []string{none("P-256", "AA", "AA"), none("P-256", "AQ", "AQ"), none("P-256", long, long), none("P-384", "AQ", "AQ"), none("P-521", "AQ", "Ag"), none("secp256k1", "AQ", "AQ"),
		`{"kty":"OKP","crv":"X25519","x":"` + strings.Repeat("A", 43) + `"}`, `{"kty":"OKP","crv":"Ed25519","x":"AA"}`, `{"kty":"RSA","n":"AQ","e":"AQAB"}`, `{"kty":"oct","k":"AAAA"}`} {
		good := `{"kty":"OKP","crv":"Ed25519","x":"` + strings.Repeat("A", 43) + `"}`
		keys, err := readKeys([]byte(`{"keys":[` + bad + `,` + good + `]}`))
		if err != nil || len(keys) != 1 {
			t.Errorf("%s: %d keys, %v", bad, len(keys), err)
		}
		newKeySource(Options{Issuer: "https://x"}).put(keys)
	}
	key, err := ecdsa.GenerateKey(elliptic.P224(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalPKIXPublicKey(key.Public())
	if err != nil {
		t.Fatal(err)
	}
	if keys, err := readKeys(pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der})); err == nil {
		t.Errorf("a curve that no token is signed with gives %v", keys)
	}
}
