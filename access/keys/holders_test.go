package keys_test

import (
	"strings"
	"testing"
	"time"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/access"
	"github.com/fanfold/fanfold/access/keys"
	"github.com/fanfold/fanfold/internal/modelfile"
	"github.com/fanfold/fanfold/model"
)

// issuer lets the holder of one token in as long as it holds the key that signed it.
type issuer struct {
	oneToken
	holds   bool
	version uint64 // of its keys; 0 where they were never read
}

func (i *issuer) Holds(*access.Principal, bool) bool { return i.holds }

func (i *issuer) Version() uint64 { return i.version }

// target is the path and query of a ticket.
const target = "/v1/_changes?since=0"

// judgeOf returns a judge over a store's keys.
func judgeOf(t *testing.T, s *keys.Store) *access.Judge {
	t.Helper()
	m, err := modelfile.Parse([]byte("collections: {}"))
	if err != nil {
		t.Fatal(err)
	}
	return access.NewJudge(s, func() *model.Model { return m })
}

// ticketOf returns a ticket of a principal.
func ticketOf(t *testing.T, j *access.Judge, p *access.Principal, until time.Time) string {
	t.Helper()
	text, err := j.Of(p).Ticket(target, until)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// TestHoldersOfTokensEnd: what somebody had by a token ends with it, with the key that signed it, and where it is revoked, streams and tickets alike. Nobody is
// let in where that is not known.
func TestHoldersOfTokensEnd(t *testing.T) {
	for name, x := range map[string]struct {
		change func(i *issuer, s *keys.Store, c *clock) error
		ticket fanfold.Code // of the error
	}{
		"nothing":         {func(*issuer, *keys.Store, *clock) error { return nil }, ""},
		"its end":         {func(_ *issuer, _ *keys.Store, c *clock) error { c.move(time.Hour); return nil }, fanfold.Unauthenticated},
		"a withdrawn key": {func(i *issuer, _ *keys.Store, _ *clock) error { i.holds = false; return nil }, fanfold.Unauthenticated},
		"unknown keys":    {func(i *issuer, _ *keys.Store, _ *clock) error { i.holds, i.version = false, 0; return nil }, fanfold.RightsStale},
		"a revocation": {func(_ *issuer, s *keys.Store, c *clock) error {
			return s.RevokeTokens(t.Context(), "ann", c.now().Add(30*time.Second))
		}, fanfold.Unauthenticated},
		"a revocation of somebody else": {func(_ *issuer, s *keys.Store, c *clock) error {
			return s.RevokeTokens(t.Context(), "bob", c.now().Add(30*time.Second))
		}, ""},
	} {
		c := &clock{}
		now := c.now().Truncate(time.Second)
		i := &issuer{oneToken{&access.Principal{Issuer: "i", Sub: "ann", Signer: "x", Created: now, Ends: now.Add(time.Hour)}}, true, 1}
		s := open(t, bucketOf(newLog(t)), keys.Options{Tokens: i, Now: c.now, MaxAge: 24 * time.Hour})
		i.p.By = access.ActorOf(s.Secret(), "i", "ann")
		j := judgeOf(t, s)
		ticket := ticketOf(t, j, i.p, now.Add(20*time.Hour))
		if !s.Valid(i.p) {
			t.Fatalf("%s: it is not valid before", name)
		}
		if err := x.change(i, s, c); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if s.Valid(i.p) != (x.ticket == "") {
			t.Errorf("after %s a stream goes on: %t", name, s.Valid(i.p))
		}
		if r, err := j.Admit(ticket, target, now); fanfold.CodeOf(err) != x.ticket {
			t.Errorf("after %s a ticket lets %+v in: %v", name, r, err)
		}
	}
}

// TestTicketsOfKeysEnd: a ticket ends with the secret of its key that asked for it, and works on no node that does not know the keys of late.
func TestTicketsOfKeysEnd(t *testing.T) {
	c := &clock{}
	s := open(t, bucketOf(newLog(t)), keys.Options{Now: c.now, MaxAge: 30 * time.Hour})
	create(t, s, "admin")
	end := c.now().Add(time.Hour)
	_, key, err := s.Create(t.Context(), keys.Settings{Name: "short", Roles: []string{"read"}, Expires: &end})
	want(t, "", err)
	j, until := judgeOf(t, s), c.now().Add(20*time.Hour)
	admit := func(ticket string, code fanfold.Code) {
		t.Helper()
		_, err := j.Admit(ticket, target, time.Now())
		want(t, code, err)
	}
	first := ticketOf(t, j, wantIn(t, s, key, "read"), until)
	admit(first, "")
	_, key, err = s.Rotate(t.Context(), key.ID, 0)
	want(t, "", err)
	admit(first, fanfold.Unauthenticated)
	second := ticketOf(t, j, wantIn(t, s, key, "read"), until)
	admit(second, "")
	c.move(time.Hour)
	admit(second, fanfold.Unauthenticated)
	c.move(30 * time.Hour)
	admit(second, fanfold.RightsStale)
}

// TestBoundsOfRevocations: a subject is one that a token may have, and no moment lies in the future but for clocks that differ.
func TestBoundsOfRevocations(t *testing.T) {
	c := &clock{}
	s := open(t, bucketOf(newLog(t)), keys.Options{Tokens: oneToken{}, Now: c.now})
	for _, sub := range []string{"", strings.Repeat("x", keys.MaxSub+1), "a\nb", "a\xff"} {
		want(t, fanfold.Invalid, s.RevokeTokens(t.Context(), sub, c.now()))
	}
	want(t, "", s.RevokeTokens(t.Context(), strings.Repeat("x", keys.MaxSub), c.now()))
	want(t, "", s.RevokeTokens(t.Context(), "ann", c.now().Add(time.Minute-time.Second)))
	want(t, fanfold.Invalid, s.RevokeTokens(t.Context(), "ann", c.now().Add(time.Minute+time.Second)))
}

// TestRevocationsAtOnce: of two nodes that revoke tokens at once, neither takes back what the other did.
func TestRevocationsAtOnce(t *testing.T) {
	l := newLog(t)
	b := &faultyBucket{Bucket: bucketOf(l)}
	first, second := open(t, b, keys.Options{Tokens: oneToken{}}), open(t, bucketOf(l), keys.Options{Tokens: oneToken{}})
	others := 0
	b.set(func(call, _ string) (before, after error) {
		if call == "set" && others < 3 {
			others++
			want(t, "", second.RevokeTokens(t.Context(), strings.Repeat("x", others), time.Now()))
		}
		return nil, nil
	})
	want(t, "", first.RevokeTokens(t.Context(), "ann", time.Now()))
	at, err := bucketOf(l).Get(t.Context(), "keys._revoked")
	if want(t, "", err); strings.Count(string(at.Value), `"who"`) != 4 || others != 3 {
		t.Errorf("after %d writes of the other node the entry is %s", others, at.Value)
	}
}
