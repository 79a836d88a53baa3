package api_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fanfold/fanfold/tests/harness"
)

// inAYear returns a time in a year.
func inAYear() string { return time.Now().AddDate(1, 0, 0).UTC().Format(time.RFC3339) }

// toldKey is a key as answers have it.
type toldKey struct {
	ID, Name, Key             string
	Roles                     []string
	Created, Expires, Revoked *time.Time
	LastUsed                  string
	Secrets                   []struct{ Created, Until *time.Time }
}

// keyRequest sends a request about keys, and returns the key in the answer.
func keyRequest(t *testing.T, c *harness.Client, status int, method, path, body string) (k toldKey) {
	t.Helper()
	harness.Decode(t, c.Want(status, method, path, body).Body, &k)
	return k
}

// TestKeysOverHTTP: a key is made, shown once, looked at, changed, rotated, revoked and forgotten, and lets in what it should
// meanwhile.
func TestKeysOverHTTP(t *testing.T) {
	s := harness.OpenTemp(t, "")
	if me := string(s.Want(http.StatusOK, "GET", "/v1/_me", "").Body); me != `{"roles":["admin"],"open":true,"collections":{},"otherCollections":{"read":true,"write":true}}`+"\n" {
		t.Fatalf("in an open store one is %s", me)
	}
	r := s.Want(http.StatusCreated, "POST", "/v1/_keys", `{"name":"ops","roles":["admin"],"expires":"`+inAYear()+`"}`)
	var ops toldKey
	harness.Decode(t, r.Body, &ops)
	if r.Header.Get("Location") != "/v1/_keys/"+ops.ID || ops.Name != "ops" || ops.Created == nil || ops.Expires == nil || !strings.HasPrefix(ops.Key, "fan_"+ops.ID+"_") {
		t.Fatalf("%v %s", r.Header, r.Body)
	}
	s.Want(http.StatusUnauthorized, "GET", "/v1/_me", "")
	s.Key = ops.Key
	var me struct {
		ID, Name string
		Roles    []string
		Expires  *time.Time
		Open     bool
	}
	harness.Decode(t, s.Want(http.StatusOK, "GET", "/v1/_me", "").Body, &me)
	if me.ID != ops.ID || me.Name != "ops" || me.Open || me.Expires == nil || !slices.Equal(me.Roles, []string{"admin"}) {
		t.Fatalf("one is %+v", me)
	}
	shop := keyRequest(t, s.Client, http.StatusCreated, "POST", "/v1/_keys", `{"name":"shop","roles":["write","read"]}`)
	path := "/v1/_keys/" + shop.ID
	if k := keyRequest(t, s.Client, http.StatusOK, "GET", path, ""); k.LastUsed != "" {
		t.Fatalf("before its first use the key is %+v", k)
	}
	with := s.With(shop.Key)
	with.Put("books", "b1", `{}`)
	with.Want(http.StatusForbidden, "GET", "/v1/_keys", "")
	k := keyRequest(t, s.Client, http.StatusOK, "GET", path, "")
	if at, err := time.Parse(time.RFC3339, k.LastUsed); err != nil || !strings.HasSuffix(k.LastUsed, "Z") || at.Before(shop.Created.Truncate(time.Second)) || at.After(time.Now()) {
		t.Fatalf("after its first use the key is %+v, %v", k, err)
	}
	if k := keyRequest(t, s.Client, http.StatusOK, "GET", path, ""); k.Key != "" || k.Name != "shop" || k.Revoked != nil || k.Expires != nil || len(k.Secrets) != 1 || !slices.Equal(k.Roles, []string{"read", "write"}) {
		t.Fatalf("the key is %+v", k)
	}
	if k := keyRequest(t, s.Client, http.StatusOK, "PATCH", path, `{"roles":["read"],"expires":"`+inAYear()+`"}`); k.Expires == nil || k.Name != "shop" || !slices.Equal(k.Roles, []string{"read"}) {
		t.Fatalf("the key is %+v", k)
	}
	with.Want(http.StatusForbidden, "PUT", "/v1/books/b1", `{}`)
	with.Get("books", "b1")
	if k := keyRequest(t, s.Client, http.StatusOK, "PATCH", path, `{"expires":null,"name":"new"}`); k.Expires != nil || k.Name != "new" || len(k.Roles) != 1 {
		t.Fatalf("the key is %+v", k)
	}
	if k := keyRequest(t, s.Client, http.StatusOK, "PATCH", path, `{}`); k.Name != "new" {
		t.Fatalf("an empty patch changed %+v", k)
	}
	rotated := keyRequest(t, s.Client, http.StatusOK, "POST", path+"/_rotate", `{}`)
	if rotated.Key == shop.Key || rotated.ID != shop.ID || len(rotated.Secrets) != 2 || rotated.Secrets[1].Until == nil || rotated.Secrets[1].Until.Sub(*rotated.Secrets[0].Created) != 24*time.Hour {
		t.Fatalf("the rotated key is %+v", rotated)
	}
	with.Get("books", "b1")
	s.With(rotated.Key).Get("books", "b1")
	again := keyRequest(t, s.Client, http.StatusOK, "POST", path+"/_rotate", `{"overlap":"0s"}`)
	for _, old := range []string{shop.Key, rotated.Key} {
		s.With(old).Want(http.StatusUnauthorized, "GET", "/v1/books/b1", "")
	}
	with = s.With(again.Key)
	with.Get("books", "b1")
	s.Want(http.StatusNoContent, "DELETE", path, "")
	with.Want(http.StatusUnauthorized, "GET", "/v1/books/b1", "")
	if k := keyRequest(t, s.Client, http.StatusOK, "GET", path, ""); k.Revoked == nil || k.Name != "new" || k.Secrets == nil || len(k.Secrets) != 0 {
		t.Fatalf("the record is %+v", k)
	}
	s.Want(http.StatusNoContent, "DELETE", path, "")
	s.Want(http.StatusNotFound, "GET", path, "")
	var list struct{ Keys []toldKey }
	harness.Decode(t, s.Want(http.StatusOK, "GET", "/v1/_keys", "").Body, &list)
	if len(list.Keys) != 1 || list.Keys[0].ID != ops.ID || list.Keys[0].LastUsed == "" || strings.Contains(string(s.Want(http.StatusOK, "GET", "/v1/_keys", "").Body), "sha") {
		t.Fatalf("the keys are %+v", list)
	}
}

// TestSubjectsOverHTTP: a key has a subject and claims, which a merge patch changes. A rotation keeps them. Numbers keep their digits.
func TestSubjectsOverHTTP(t *testing.T) {
	s := harness.OpenClosed(t, "")
	type told struct {
		ID, Key, Sub string
		Claims       json.RawMessage
	}
	sends := func(c *harness.Client, status int, method, path, body, sub, claims string) (k told) {
		t.Helper()
		harness.Decode(t, c.Want(status, method, path, body).Body, &k)
		if k.Sub != sub || string(k.Claims) != claims {
			t.Fatalf("%s %s %s: %q %s; want %q %s", method, path, body, k.Sub, k.Claims, sub, claims)
		}
		return k
	}
	const claims = `{"tenant":"a","exact":1.50e3,"deep":{"er":{"est":[]}}}`
	k := sends(s.Client, http.StatusCreated, "POST", "/v1/_keys", `{"name":"x","roles":["read"],"sub":"u1","claims": `+strings.ReplaceAll(claims, ",", ", ")+`}`, "u1", claims)
	path, with := "/v1/_keys/"+k.ID, s.With(k.Key)
	sends(s.Client, http.StatusOK, "GET", path, "", "u1", claims)
	sends(with, http.StatusOK, "GET", "/v1/_me", "", "u1", claims)
	sends(s.Client, http.StatusOK, "PATCH", path, `{"name":"y"}`, "u1", claims)
	sends(s.Client, http.StatusOK, "PATCH", path, `{"claims":{"tenant":null,"deep":{"er":7},"new":[null]}}`, "u1", `{"exact":1.50e3,"deep":{"er":7},"new":[null]}`)
	k = sends(s.Client, http.StatusOK, "PATCH", path, `{"sub":null}`, "key:"+k.ID, `{"exact":1.50e3,"deep":{"er":7},"new":[null]}`)
	k = sends(s.Client, http.StatusOK, "POST", path+"/_rotate", `{}`, k.Sub, string(k.Claims))
	sends(s.With(k.Key), http.StatusOK, "GET", "/v1/_me", "", k.Sub, string(k.Claims))
	sends(s.Client, http.StatusOK, "PATCH", path, `{"claims":null,"sub":"u2"}`, "u2", `{}`)
	sends(with, http.StatusOK, "GET", "/v1/_me", "", "u2", ``)
	full := `{"a":"` + strings.Repeat("x", 4<<10-8) + `"}`
	sends(s.Client, http.StatusOK, "PATCH", path, `{"claims":`+full+`,"sub":"`+strings.Repeat("u", 255)+`"}`, strings.Repeat("u", 255), full)
	if r := s.Want(http.StatusBadRequest, "PATCH", path, `{"claims":{"b":1}}`); !strings.Contains(string(r.Body), "4102 bytes") {
		t.Errorf("merged beyond the bound: %s", r.Body)
	}
	sends(s.Client, http.StatusOK, "GET", path, "", strings.Repeat("u", 255), full)
	if list := string(s.Want(http.StatusOK, "GET", "/v1/_keys", "").Body); !strings.Contains(list, `"claims":`+full) || !strings.Contains(list, `"claims":{}`) {
		t.Errorf("the list lacks claims: %s", list)
	}
}

// TestBadRequestsAboutKeys: what a route about keys does not take is refused, says what, and changes nothing.
func TestBadRequestsAboutKeys(t *testing.T) {
	s := harness.OpenClosed(t, "")
	key := keyRequest(t, s.Client, http.StatusCreated, "POST", "/v1/_keys", `{"name":"x","roles":["read"]}`)
	path := "/v1/_keys/" + key.ID
	list := string(s.Want(http.StatusOK, "GET", "/v1/_keys", "").Body)
	past, far := time.Now().Add(-time.Hour).UTC().Format(time.RFC3339), time.Now().AddDate(11, 0, 0).UTC().Format(time.RFC3339)
	bad := []struct{ body, says string }{
		{`{"name":"x","roles":["read"],"id":"y"}`, `unknown member "id"`}, {`{"Name":"x","roles":["read"]}`, `unknown member`}, {`[]`, "object"}, {`{`, ""}, {`{"name":"x","roles":["read"],"expires":5}`, "expires: 5"},
		{`{"name":"x","roles":["read"],"expires":"tomorrow"}`, "2027-01-01"}, {`{"name":"x","roles":["read"],"expires":"` + past + `"}`, "past"}, {`{"name":"x","roles":["read"],"expires":"` + far + `"}`, "10 years"},
		{`{"name":7,"roles":["read"]}`, "a text"}, {`{"name":"x","roles":"read"}`, "a list of texts"}, {`{"name":"","roles":["read"]}`, "1 to 100 bytes"}, {`{"name":"x","roles":["everyone"]}`, "everyone"},
		{`{"name":"x","roles":["read"],"sub":""}`, "1 to 255 bytes"}, {`{"name":"x","roles":["read"],"sub":"` + strings.Repeat("x", 256) + `"}`, "1 to 255 bytes"}, {`{"name":"x","roles":["read"],"sub":"a\u0000"}`, "control characters"},
		{`{"name":"x","roles":["read"],"sub":7}`, "sub: 7 is not a text"}, {`{"name":"x","roles":["read"],"sub":"\ud800"}`, ""}, {`{"name":"x","roles":["read"],"claims":[]}`, "a JSON object"}, {`{"name":"x","roles":["read"],"claims":"a"}`, "a JSON object"},
		{`{"name":"x","roles":["read"],"claims":{"a":1,"\u0061":2}}`, "duplicate member"}, {`{"name":"x","roles":["read"],"claims":{"a":"` + strings.Repeat("x", 4<<10-7) + `"}}`, "4097 bytes"},
		{`{"name":"x","roles":[]}`, "1 to 32 roles"}, {`{"name":null,"roles":["read"]}`, "null"}, {`{"name":"x","roles":null}`, "null"},
	}
	wants := func(status int, method, path, body, says string, headers ...string) {
		t.Helper()
		r, err := s.Do(method, path, []byte(body), headers...)
		if err != nil || r.Status != status || !strings.Contains(string(r.Body), says) {
			t.Errorf("%s %s %s: %v, %+v; want %q", method, path, body, err, r, says)
		}
	}
	for _, one := range bad {
		says := strings.ReplaceAll(one.says, `"`, `\"`)
		wants(http.StatusBadRequest, "POST", "/v1/_keys", one.body, says)
		wants(http.StatusBadRequest, "PATCH", path, one.body, says)
	}
	wants(http.StatusBadRequest, "POST", "/v1/_keys", `{"name":"x","roles":["read"],"expires":null}`, "null")
	for _, member := range []string{"sub", "claims"} {
		wants(http.StatusBadRequest, "POST", "/v1/_keys", `{"name":"x","roles":["read"],"`+member+`":null}`, "null")
	}
	wants(http.StatusUnprocessableEntity, "POST", "/v1/_keys", `{"name":"x","roles":["read"],"claims":{"a":{"b":{"c":{"d":[]}}}}}`, "/claims/a/b/c")
	wants(http.StatusUnprocessableEntity, "PATCH", path, `{"claims":{"a":{"b":{"c":{"d":[]}}}}}`, "/claims/a/b/c")
	wants(http.StatusBadRequest, "POST", "/v1/_keys", ``, "")
	for body, says := range map[string]string{`{"overlap":"1"}`: "30s", `{"overlap":5}`: "a text", `{"overlap":"-1s"}`: "720h", `{"overlap":"720h1s"}`: "720h", `{"overlap":null}`: "null", `{"x":1}`: "unknown member"} {
		wants(http.StatusBadRequest, "POST", path+"/_rotate", body, says)
	}
	for _, header := range []string{"If-Match", "If-None-Match", "Idempotency-Key"} {
		wants(http.StatusBadRequest, "POST", "/v1/_keys", `{"name":"x","roles":["read"]}`, header, header, "*")
		wants(http.StatusBadRequest, "PATCH", path, `{"name":"x"}`, header, header, "*")
		wants(http.StatusBadRequest, "POST", path+"/_rotate", `{}`, header, header, "*")
		wants(http.StatusBadRequest, "DELETE", path, ``, header, header, "*")
	}
	padded := func(n int) string { return fmt.Sprintf(`{"name":"x"%s}`, strings.Repeat(" ", n-12)) }
	wants(http.StatusOK, "PATCH", path, padded(32<<10), "")
	wants(http.StatusRequestEntityTooLarge, "PATCH", path, padded(32<<10+1), "")
	wants(http.StatusBadRequest, "PATCH", path, `{"name":[[[[]]]]}`, "a text")
	wants(http.StatusUnprocessableEntity, "PATCH", path, `{"name":[[[[[]]]]]}`, "")
	wants(http.StatusNotFound, "GET", "/v1/_keys/"+strings.Repeat("x", 500), ``, "there is no key")
	if now := string(s.Want(http.StatusOK, "GET", "/v1/_keys", "").Body); now != list {
		t.Errorf("the keys were\n%s\nand are\n%s", list, now)
	}
}
