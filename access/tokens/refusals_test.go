package tokens

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/fanfold/fanfold"
)

// TestReasons: each reason for which a token lets nobody in is counted by itself. The log has one line for it in a minute, and nothing of the token.
func TestReasons(t *testing.T) {
	var log bytes.Buffer
	var by time.Duration
	var secret []byte
	b := openBackend(t, func(opt *Options) {
		opt.Logger, opt.Now = slog.New(slog.NewTextHandler(&log, nil)), func() time.Time { return time.Now().Add(by) }
		opt.Secret = func() []byte { return secret }
	})
	now := time.Now().Unix()
	of := func(iss, aud, sub string, iat, exp int64, more string) string {
		return fmt.Sprintf(`{"iss":%q,"aud":%q,"sub":%q,"iat":%d,"exp":%d%s}`, iss, aud, sub, iat, exp, more)
	}
	good := of("x", "y", "ann@x.example", now, now+60, "")
	if p, ended, err := b.principal(goodHeader, good); p != nil || ended || fanfold.CodeOf(err) != fanfold.Unavailable || b.Refusals()["unjudged"] != 1 {
		t.Errorf("without the store's secret: %+v %t %v", p, ended, err)
	}
	secret = make([]byte, 32)
	if !b.lets(goodHeader, good) {
		t.Fatal("it does not let in")
	}
	for name, x := range map[string]struct{ header, claims string }{
		"malformed": {goodHeader, good + "x"},
		"type":      {`{"alg":"EdDSA","typ":"logout+jwt"}`, good},
		"key":       {`{"alg":"ES256"}`, good},
		"signature": {`{"alg":"HS256"}`, good},
		"issuer":    {goodHeader, of("ann@x.example", "y", "ann", now, now+60, "")},
		"audience":  {goodHeader, of("x", "ann@x.example", "ann", now, now+60, "")},
		"missing":   {goodHeader, fmt.Sprintf(`{"iss":"x","aud":"y","sub":"ann@x.example","exp":%d}`, now+60)},
		"expired":   {goodHeader, of("x", "y", "ann@x.example", now-600, now-60, "")},
		"early":     {goodHeader, of("x", "y", "ann@x.example", now+600, now+660, "")},
		"life":      {goodHeader, of("x", "y", "ann@x.example", now, now+86401, "")},
		"sub":       {goodHeader, of("x", "y", "key:ann@x.example", now, now+60, "")},
		"claims":    {goodHeader, of("x", "y", "ann@x.example", now, now+60, `,"a":"`+strings.Repeat("x", maxClaims)+`"`)},
		"roles":     {goodHeader, of("x", "y", "ann@x.example", now, now+60, `,"roles":"`+strings.Repeat("ann@x.example ", maxNames+1)+`"`)},
	} {
		log.Reset()
		for n := range uint64(3) {
			p, ended, err := b.principal(x.header, x.claims)
			if p != nil || err != nil || ended != (name == "expired") || b.Refusals()[name] != n+1 {
				t.Errorf("%s: %+v %t %v, and the counts are %v", name, p, ended, err, b.Refusals())
			}
		}
		if text := log.String(); strings.Count(text, "\n") != 1 || !strings.Contains(text, "level=INFO") || !strings.Contains(text, "reason="+name) || strings.Contains(text, "ann@") {
			t.Errorf("%s: the log says %s", name, text)
		}
	}
	before := b.Refusals()["missing"]
	for _, claims := range []string{fmt.Sprintf(`{"aud":"y","sub":"ann","iat":%d,"exp":%d}`, now, now+60), fmt.Sprintf(`{"iss":"x","sub":"ann","iat":%d,"exp":%d}`, now, now+60), fmt.Sprintf(`{"iss":"x","aud":"y","sub":"ann","iat":%d}`, now)} {
		if before++; b.lets(goodHeader, claims) || b.Refusals()["missing"] != before {
			t.Errorf("%s: the counts are %v", claims, b.Refusals())
		}
	}
	log.Reset()
	by = tellEvery
	if b.lets(`{"alg":"HS256"}`, good); strings.Count(log.String(), "\n") != 1 {
		t.Errorf("after a minute the log says %s", log.String())
	}
	for name, n := range (*Tokens)(nil).Refusals() {
		if n != 0 || len(b.Refusals()) != int(reasonCount) {
			t.Errorf("nobody has refused %d for %s", n, name)
		}
	}
	if p, _, err := b.Principal(strings.Repeat(".", 100_000)); p != nil || err != nil {
		t.Errorf("dots: %+v %v", p, err)
	}
	if p, _, err := b.Principal(base64.RawURLEncoding.EncodeToString([]byte(goodHeader)) + strings.Repeat(".", maxToken-100)); p != nil || err != nil {
		t.Errorf("dots: %+v %v", p, err)
	}
}
