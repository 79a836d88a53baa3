package keys_test

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/access"
	"github.com/fanfold/fanfold/access/keys"
)

// oneToken lets the holder of one token in.
type oneToken struct{ p *access.Principal }

func (o oneToken) Principal(text string) (*access.Principal, bool, error) {
	if text == "a.b.c" {
		return o.p, false, nil
	}
	return nil, false, nil
}

func (oneToken) Issuer() string { return "i" }

func (oneToken) Holds(*access.Principal, bool) bool { return true }

func (oneToken) Version() uint64 { return 1 }

// TestRevokedOnTwoNodes: what one node revokes, another refuses by the next reading. Later tokens work, and an earlier moment takes nothing back.
func TestRevokedOnTwoNodes(t *testing.T) {
	l := newLog(t)
	made := time.Now().Truncate(time.Second)
	of := oneToken{&access.Principal{Issuer: "i", Sub: "ann", Created: made, Ends: made.Add(time.Hour)}}
	of.p.By = access.ActorOf(open(t, bucketOf(l), keys.Options{Tokens: of}).Secret(), "i", "ann")
	first, second := running(t, bucketOf(l), keys.Options{Tokens: of}), running(t, bucketOf(l), keys.Options{Tokens: of})
	header := []string{"Bearer a.b.c"}
	for _, s := range []*keys.Store{first, second} {
		if p, err := s.Authenticate(header); err != nil || p != of.p || !s.Closed() || s.Secret() == nil {
			t.Fatal(p, err)
		}
		if _, err := s.Authenticate(nil); fanfold.CodeOf(err) != fanfold.Unauthenticated {
			t.Errorf("nobody is let in: %v", err)
		}
	}
	if err := first.RevokeTokens(t.Context(), "bob", time.Now()); err != nil {
		t.Fatal(err)
	}
	if err := first.RevokeTokens(t.Context(), "ann", made); err != nil || !first.Valid(of.p) {
		t.Fatalf("a token of that very second: %v", err)
	}
	version := second.Version()
	if err := first.RevokeTokens(t.Context(), "ann", made.Add(time.Second)); err != nil {
		t.Fatal(err)
	}
	if err := first.RevokeTokens(t.Context(), "ann", made.Add(-time.Hour)); err != nil || first.Valid(of.p) {
		t.Fatalf("an earlier moment takes it back: %v", err)
	}
	for begun := time.Now(); second.Valid(of.p); time.Sleep(time.Millisecond) {
		if time.Since(begun) > 20*time.Second {
			t.Fatal("another node lets it in")
		}
	}
	if _, err := second.Authenticate(header); fanfold.CodeOf(err) != fanfold.Unauthenticated || second.Version() == version {
		t.Errorf("it is let in: %v", err)
	}
	if again := open(t, bucketOf(l), keys.Options{Tokens: of}); again.Valid(of.p) {
		t.Error("a new node lets it in")
	}
	at, err := bucketOf(l).Get(t.Context(), "keys._revoked")
	if err != nil {
		t.Fatal(err)
	}
	for _, guess := range []string{"i\x00ann", "iann", "ann"} { // whoever reads the bucket cannot try who it is
		hash := sha256.Sum256([]byte(guess))
		if strings.Contains(string(at.Value), hex.EncodeToString(hash[:8])) || strings.Contains(string(at.Value), guess) {
			t.Errorf("the entry tells who it is: %s", at.Value)
		}
	}
}

// TestManyRevocations: the tokens of so many subjects are revoked, and a day later others.
func TestManyRevocations(t *testing.T) {
	l := newLog(t)
	c := &clock{}
	s := open(t, bucketOf(l), keys.Options{Tokens: oneToken{}, Now: c.now})
	keys.FillRevoked(t.Context(), s, func(i int) string { return fmt.Sprint("u", i) })
	if err := s.RevokeTokens(t.Context(), "one more", c.now()); fanfold.CodeOf(err) != fanfold.Unprocessable {
		t.Errorf("one more: %v", err)
	}
	if err := s.RevokeTokens(t.Context(), "u7", c.now()); err != nil {
		t.Errorf("one again: %v", err)
	}
	c.move(26 * time.Hour)
	if err := s.RevokeTokens(t.Context(), "one more", c.now()); err != nil {
		t.Errorf("after a day: %v", err)
	}
	if open := open(t, bucketOf(newLog(t)), keys.Options{}); fanfold.CodeOf(open.RevokeTokens(t.Context(), "x", time.Now())) != fanfold.Unprocessable {
		t.Error("a house without tokens revokes them")
	}
}
