package keys_test

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/access"
	"github.com/fanfold/fanfold/access/keys"
	"github.com/fanfold/fanfold/tests/harness"
	"github.com/fanfold/fanfold/tests/suite"
)

// wantSubject fails the test unless a key lets in with a subject and claims.
func wantSubject(t *testing.T, s *keys.Store, key access.Key, sub, claims string) *access.Principal {
	t.Helper()
	p, err := enter(s, key)
	if err != nil || p.Sub != sub || string(p.Claims) != claims || p.Issuer != "" || p.Actor() != "key:"+key.ID {
		t.Fatalf("%s is %+v, %v; want %q and %s", key, p, err, sub, claims)
	}
	return p
}

// TestSubjects: a key has the subject and the claims that it is given, on each node, byte for byte. A change ends earlier principals,
// and a rotation keeps them.
func TestSubjects(t *testing.T) {
	suite.Concurrent(t)
	l := newLog(t)
	s, other := open(t, bucketOf(l), keys.Options{}), running(t, bucketOf(l), keys.Options{})
	plain := create(t, s, "admin")
	wantSubject(t, s, plain, "key:"+plain.ID, "")
	_, key, err := s.Create(t.Context(), keys.Settings{Name: "x", Roles: []string{"read"}, Sub: "a<b>&\u2028", Claims: json.RawMessage(` {"n" : 1.0e+3, "h":"<&>", "l": [ 1, null ] } `)})
	want(t, "", err)
	const claims = `{"n":1.0e+3,"h":"<&>","l":[1,null]}`
	before := wantSubject(t, s, key, "a<b>&\u2028", claims)
	await := func(sub, claims string) {
		t.Helper()
		harness.Await(t, "the other node to know the subject", harness.WaitTime, func() bool {
			p, err := enter(other, key)
			return err == nil && p.Sub == sub && string(p.Claims) == claims
		})
	}
	await("a<b>&\u2028", claims)
	elsewhere, err := enter(other, key)
	want(t, "", err)
	if !s.Valid(elsewhere) || !other.Valid(before) {
		t.Fatal("two nodes differ about one principal")
	}
	changed := func(p keys.Patch, sub, claims string) {
		t.Helper()
		earlier, _ := enter(s, key)
		far, _ := enter(other, key)
		version := s.Version()
		_, err := s.Change(t.Context(), key.ID, p)
		want(t, "", err)
		if wantSubject(t, s, key, sub, claims); s.Valid(earlier) || s.Version() == version {
			t.Fatalf("%+v leaves the principal of before valid", p)
		}
		await(sub, claims)
		if other.Valid(far) {
			t.Fatalf("%+v leaves the principal of before valid on the other node", p)
		}
	}
	u1, none := "u1", ""
	changed(keys.Patch{Sub: &u1}, u1, claims)
	changed(keys.Patch{Claims: json.RawMessage(`{"n":null,"l":{"a":1},"new":{"b":null}}`)}, u1, `{"h":"<&>","l":{"a":1},"new":{}}`)
	_, next, err := s.Rotate(t.Context(), key.ID, 0)
	want(t, "", err)
	key = next
	await(u1, `{"h":"<&>","l":{"a":1},"new":{}}`)
	changed(keys.Patch{Claims: json.RawMessage(`null`)}, u1, "")
	changed(keys.Patch{Claims: json.RawMessage(`{"a":{"b":1}}`), Sub: &none}, "key:"+key.ID, `{"a":{"b":1}}`)
	changed(keys.Patch{Claims: json.RawMessage(`{"a":null}`)}, "key:"+key.ID, "")
}

// TestBoundsOfSubjects: subject and claims are held at their bounds, and refused beyond them: for a new key and for a change.
func TestBoundsOfSubjects(t *testing.T) {
	s := open(t, bucketOf(newLog(t)), keys.Options{})
	create(t, s, "admin")
	key := create(t, s, "read")
	text := func(n int) string { return `{"a":"` + strings.Repeat("x", n-8) + `"}` }
	for _, one := range []struct {
		sub, claims string
		code        fanfold.Code
	}{
		{strings.Repeat("x", 255), "", ""},
		{strings.Repeat("é", 127), "", ""},
		{strings.Repeat("é", 128), "", fanfold.Invalid},
		{"a\nb", "", fanfold.Invalid},
		{"a\u0085b", "", fanfold.Invalid},
		{"a\xff", "", fanfold.Invalid},
		{"x", text(4 << 10), ""},
		{"x", strings.ReplaceAll(text(4<<10), ":", " : "), ""},
		{"x", text(4<<10 + 1), fanfold.Invalid},
		{"x", `{"a":{"b":{"c":{}}}}`, ""},
		{"x", `{"a":{"b":{"c":[]}}}`, ""},
		{"x", `{"a":{"b":{"c":[[]]}}}`, fanfold.Unprocessable},
		{"x", strings.Repeat("[", 1000), fanfold.Unprocessable},
		{"x", `{"a":1,"a":1}`, fanfold.Invalid},
		{"x", `{"a":{"b":1,"\u0062":1}}`, fanfold.Invalid},
		{"x", `[]`, fanfold.Invalid},
		{"x", `"x"`, fanfold.Invalid},
		{"x", `1`, fanfold.Invalid},
		{"x", `{`, fanfold.Invalid},
		{"x", `{}{}`, fanfold.Invalid},
		{"x", " ", fanfold.Invalid},
		{"x", "{\"a\":\"\xff\"}", fanfold.Invalid},
		{"x", `{"a":"\ud800"}`, fanfold.Invalid},
	} {
		_, made, err := s.Create(t.Context(), keys.Settings{Name: "x", Roles: []string{"read"}, Sub: one.sub, Claims: json.RawMessage(one.claims)})
		if want(t, one.code, err); err == nil {
			want(t, "", s.Revoke(t.Context(), made.ID))
		}
		patch := keys.Patch{Sub: &one.sub}
		if one.claims != "" {
			patch.Claims = json.RawMessage(one.claims)
		}
		before, err := s.Get(key.ID)
		want(t, "", err)
		_, err = s.Change(t.Context(), key.ID, patch)
		if want(t, one.code, err); err != nil {
			if now, err := s.Get(key.ID); err != nil || !reflect.DeepEqual(now, before) {
				t.Errorf("%q and %.20s are refused and change a key: %+v, %v", one.sub, one.claims, now, err)
			}
		}
		if err == nil {
			_, err := s.Change(t.Context(), key.ID, keys.Patch{Claims: json.RawMessage("null")})
			want(t, "", err)
		}
	}
	_, _, err := s.Create(t.Context(), keys.Settings{Name: "x", Roles: []string{"read"}, Claims: json.RawMessage("null")})
	want(t, fanfold.Invalid, err)
	_, err = s.Change(t.Context(), key.ID, keys.Patch{Claims: json.RawMessage(text(4000))})
	want(t, "", err)
	_, err = s.Change(t.Context(), key.ID, keys.Patch{Claims: json.RawMessage(`{"b":"` + strings.Repeat("x", 100) + `"}`)})
	want(t, fanfold.Invalid, err) // each fits, and both together do not
}

// TestEarlierEntries: an entry of a program that knows neither subjects nor claims has the default subject and no claims. An entry with them
// is read by such a program, which leaves out what it does not know.
func TestEarlierEntries(t *testing.T) {
	b := bucketOf(newLog(t))
	s := open(t, b, keys.Options{})
	key := create(t, s, "admin")
	e, err := b.Get(t.Context(), "keys."+key.ID)
	want(t, "", err)
	for _, member := range []string{`"sub"`, `"claims"`} {
		if strings.Contains(string(e.Value), member) {
			t.Fatalf("an entry without them is another one than before: %s", e.Value)
		}
	}
	shown, err := s.Get(key.ID)
	if want(t, "", err); shown.Subject() != "key:"+key.ID || string(shown.ShownClaims()) != "{}" {
		t.Fatalf("%+v", shown)
	}
	wantSubject(t, open(t, b, keys.Options{}), key, "key:"+key.ID, "")
	sub := "u1"
	_, err = s.Change(t.Context(), key.ID, keys.Patch{Sub: &sub, Claims: json.RawMessage(`{"a":1}`)})
	want(t, "", err)
	all, err := b.All(t.Context(), "keys")
	want(t, "", err)
	for _, e := range all {
		var earlier struct { // as programs of before read each entry
			ID      string   `json:"id"`
			Roles   []string `json:"roles"`
			Secrets []struct {
				Hash []byte `json:"sha256"`
			} `json:"secrets"`
		}
		if err := json.Unmarshal(e.Value, &earlier); err != nil || (earlier.ID == key.ID) != (e.Key == "keys."+key.ID) {
			t.Fatalf("%s: %+v, %v", e.Key, earlier, err)
		}
	}
}
