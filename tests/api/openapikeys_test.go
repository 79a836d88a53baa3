package api_test

import (
	"bytes"
	"encoding/json"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/fanfold/fanfold/tests/harness"
)

// keyAnswers has every answer about keys given, and closes the store by that.
func keyAnswers(t *testing.T, s *harness.Store, doc *openapi3.T) {
	t.Helper()
	const merge = "application/merge-patch+json"
	s.Want(http.StatusOK, "GET", "/v1/_me", "")
	s.Want(http.StatusOK, "GET", "/v1/_keys", "")
	s.Want(http.StatusUnprocessableEntity, "POST", "/v1/_keys", `{"name":"first","roles":["read"]}`)
	var first, second struct{ ID, Key string }
	harness.Decode(t, s.Want(http.StatusCreated, "POST", "/v1/_keys", `{"name":"ops","roles":["admin"]}`).Body, &first)
	s.Key = first.Key
	harness.Decode(t, s.Want(http.StatusCreated, "POST", "/v1/_keys", `{"name":"shop","roles":["read","monitor"],"expires":"`+inAYear()+`"}`).Body, &second)
	own, other := "/v1/_keys/"+first.ID, "/v1/_keys/"+second.ID
	long, deep := `{"name":"`+strings.Repeat("x", 40<<10)+`"}`, `{"name":[[[[[[]]]]]]}`
	for _, st := range []step{
		{200, "GET", "/v1/_me", ``, nil},
		{400, "GET", "/v1/_me?x=1", ``, nil},
		{200, "GET", "/v1/_keys", ``, nil},
		{400, "GET", "/v1/_keys?x=1", ``, nil},
		{400, "POST", "/v1/_keys", `{"name":"x"}`, nil},
		{413, "POST", "/v1/_keys", long, nil},
		{415, "POST", "/v1/_keys", `x`, []string{"Content-Type", "text/plain"}},
		{422, "POST", "/v1/_keys", deep, nil},
		{200, "GET", other, ``, nil},
		{400, "GET", other + "?x=1", ``, nil},
		{404, "GET", "/v1/_keys/nosuchkey000", ``, nil},
		{200, "PATCH", other, `{"expires":null}`, []string{"Content-Type", merge}},
		{200, "PATCH", other, `{"name":"books"}`, nil},
		{400, "PATCH", other, `{"name":null}`, nil},
		{404, "PATCH", "/v1/_keys/nosuchkey000", `{"name":"x"}`, nil},
		{409, "PATCH", own, `{"roles":["read"]}`, nil},
		{413, "PATCH", other, long, nil},
		{415, "PATCH", other, `x`, []string{"Content-Type", "application/json-patch+json"}},
		{422, "PATCH", other, deep, nil},
		{200, "POST", other + "/_rotate", `{"overlap":"1h"}`, nil},
		{400, "POST", other + "/_rotate", `{"overlap":"1"}`, nil},
		{404, "POST", "/v1/_keys/nosuchkey000/_rotate", `{}`, nil},
		{413, "POST", other + "/_rotate", long, nil},
		{415, "POST", other + "/_rotate", `x`, []string{"Content-Type", "text/plain"}},
		{422, "POST", other + "/_rotate", deep, nil},
		{409, "DELETE", own, ``, nil},
		{400, "DELETE", other + "?x=1", ``, nil},
		{204, "DELETE", other, ``, nil},
		{200, "GET", other, ``, nil},
		{409, "POST", other + "/_rotate", `{}`, nil},
		{204, "DELETE", other, ``, nil},
		{404, "DELETE", other, ``, nil},
	} {
		s.Want(st.want, st.method, st.path, st.body, st.headers...)
	}
	strangers(t, s, doc)
}

// inPath matches the parameters of a path.
var inPath = regexp.MustCompile(`\{\w+\}`)

// strangers calls every operation of a closed store that needs a right: without a key, and with two.
func strangers(t *testing.T, s *harness.Store, doc *openapi3.T) {
	t.Helper()
	for path, item := range doc.Paths.Map() {
		for method, op := range item.Operations() {
			var right string
			if err := json.Unmarshal(rawExtension(t, op, "x-right"), &right); err != nil {
				t.Fatal(err)
			}
			at := inPath.ReplaceAllString(path, "as")
			if op.Responses.Value("401") != nil && right == "open" {
				at += "?model=true"
			} else if right == "open" {
				continue
			}
			r, err := s.With("").Do(method, at, nil)
			if err != nil || r.Status != http.StatusUnauthorized || r.Header.Get("WWW-Authenticate") != `Bearer realm="fanfold"` {
				t.Errorf("%s %s without a key: %+v, %v", method, path, r, err)
			}
			req, err := http.NewRequestWithContext(t.Context(), method, s.URL+at, bytes.NewReader(nil))
			if err != nil {
				t.Fatal(err)
			}
			req.Header["Authorization"] = []string{"Bearer " + s.Key, "Bearer " + s.Key}
			resp, err := s.HTTP.Do(req)
			if err != nil || resp.StatusCode != http.StatusBadRequest {
				t.Fatalf("%s %s with two keys: %+v, %v", method, path, resp, err)
			}
			_ = resp.Body.Close()
		}
	}
}

// rawExtension returns a member of an operation that the standard does not know.
func rawExtension(t *testing.T, op *openapi3.Operation, name string) []byte {
	t.Helper()
	text, err := json.Marshal(op.Extensions[name])
	if err != nil {
		t.Fatal(err)
	}
	return text
}
