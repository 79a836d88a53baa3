package api_test

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/fanfold/fanfold/tests/harness"
)

// zip returns a text as gzip.
func zip(t *testing.T, text string) []byte {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	if _, err := io.WriteString(w, text); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// TestGzipBodies: a compressed body is as good as a plain one, on every route, within the same bounds.
func TestGzipBodies(t *testing.T) {
	s := harness.OpenTemp(t, "")
	gz := []string{"Content-Encoding", "gzip"}
	for _, c := range []struct {
		method, path, media, body string
		status                    int
	}{
		{"PUT", "/v1/_model", "application/yaml", "collections: {books: {}}", 200},
		{"PUT", "/v1/books/b", "application/json", `{"n":1}`, 201},
		{"PATCH", "/v1/books/b", harness.MergeType, `{"n":2}`, 204},
		{"POST", "/v1/books", "application/json", `{"id":"c"}`, 201},
		{"POST", "/v1/_transactions", "application/json", `{"operations":[{"op":"put","collection":"books","id":"d","body":{}}]}`, 200},
		{"POST", "/v1/_import?collection=books", "application/x-ndjson", `{"id":"e"}` + "\n" + `{"id":"f"}`, 200},
		{"PUT", "/v1/books/large", "application/json", `{"x":"` + strings.Repeat("x", 3<<20) + `"}`, 413},
		{"PUT", "/v1/_model", "application/yaml", "#" + strings.Repeat("x", 3<<20), 413},
		{"POST", "/v1/_transactions", "application/json", strings.Repeat(" ", 70<<20), 413},
	} {
		r, err := s.Do(c.method, c.path, zip(t, c.body), append(gz, "Content-Type", c.media)...)
		if err != nil || r.Status != c.status {
			t.Errorf("%s %s: %v, %d %s", c.method, c.path, err, r.Status, r.Body)
		}
	}
	for _, id := range []string{"b", "c", "d", "e", "f"} {
		s.Want(http.StatusOK, "GET", "/v1/books/"+id, "")
	}
	whole := zip(t, `{"n":1}`)
	for name, body := range map[string][]byte{"cut": whole[:len(whole)-4], "none": nil, "garbage": []byte("xx"), "more behind it": append(zip(t, `{}`), 'x')} {
		r, err := s.Do("PUT", "/v1/books/bad", body, append(gz, "Content-Type", "application/json")...)
		if err != nil || r.Status != http.StatusBadRequest {
			t.Errorf("%s: %v, %d %s", name, err, r.Status, r.Body)
		}
	}
	s.Want(http.StatusNotFound, "GET", "/v1/books/bad", "")
	s.Verify()
}

// TestGzipBombs: bodies that hold a thousand times what they have cost no more than the limit of a plain one.
func TestGzipBombs(t *testing.T) {
	p := harness.StartProcess(t, "--data", t.TempDir(), "--durability", "interval")
	before := p.HighWater(t)
	const size = 128 << 20
	bomb := zip(t, strings.Repeat(" ", size))
	t.Logf("%d bytes hold %d", len(bomb), size)
	for _, c := range []struct {
		method, path, media string
		status              int
	}{
		{"PUT", "/v1/books/b", "application/json", 413}, {"PUT", "/v1/_model", "application/json", 413}, {"POST", "/v1/_transactions", "application/json", 413},
		{"POST", "/v1/_import?collection=books", "application/x-ndjson", 200},
	} {
		for range 2 {
			r, err := p.Do(c.method, c.path, bomb, "Content-Encoding", "gzip", "Content-Type", c.media)
			if err != nil || r.Status != c.status {
				t.Errorf("%s %s: %v, %+v", c.method, c.path, err, r)
			}
		}
	}
	if most := p.HighWater(t); most > before+350 {
		t.Errorf("bombs took %d MiB beside the %d before", most-before, before)
	}
}

// plainly sends a request with headers and returns the answer as it came, without the client's own decompression.
func plainly(t *testing.T, s *harness.Store, method, path string, headers ...string) (*http.Response, []byte) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, s.URL+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	resp, err := (&http.Transport{DisableCompression: true}).RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp, body
}

// TestGzipAnswers: every answer of some size comes as gzip where the client asks for that, and holds the same. Its tag is
// another one, by which reads and writes can be conditioned as by the plain one's.
func TestGzipAnswers(t *testing.T) {
	s := harness.OpenTemp(t, "collections: {authors: {}, books: {relations: {author: {path: author, to: authors}}}}")
	s.Put("authors", "a", `{"name":"`+strings.Repeat("A", 5000)+`"}`)
	s.Put("books", "b", `{"author":"a","x":"`+strings.Repeat("x", 200_000)+`"}`)
	s.Put("books", "small", `{}`)
	for _, path := range []string{"/v1/books/b", "/v1/books/b?expand=author", "/v1/books", "/v1/books?expand=author", "/v1/authors/a/books", "/v1/_export",
		"/v1/_changes?include_docs=true", "/v1/_changes?feed=eventsource&limit=1&include_docs=true&mode=all", "/openapi.json", "/v1/books?limit=" + strings.Repeat("9", 2000)} {
		plain, want := plainly(t, s, "GET", path)
		zipped, body := plainly(t, s, "GET", path, "Accept-Encoding", "br;q=1, gzip;q=0.5")
		if plain.Header.Get("Content-Encoding") != "" || zipped.Header.Get("Content-Encoding") != "gzip" || !strings.Contains(zipped.Header.Get("Vary")+plain.Header.Get("Vary"), "Accept-Encoding") {
			t.Errorf("%s: %v and %v", path, plain.Header, zipped.Header)
			continue
		}
		r, err := gzip.NewReader(bytes.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		if got, err := io.ReadAll(r); err != nil || !bytes.Equal(got, want) || zipped.StatusCode != plain.StatusCode {
			t.Errorf("%s: %v, %d bytes, want %d", path, err, len(got), len(want))
		}
	}
	refused, _ := plainly(t, s, "GET", "/v1/books/b", "Accept-Encoding", "gzip;q=0")
	small, _ := plainly(t, s, "GET", "/v1/books/small", "Accept-Encoding", "gzip")
	if refused.Header.Get("Content-Encoding") != "" || small.Header.Get("Content-Encoding") != "" {
		t.Errorf("%v, %v", refused.Header, small.Header)
	}
	for _, path := range []string{"/v1/books/b", "/v1/books/b?expand=author"} {
		zipped, _ := plainly(t, s, "GET", path, "Accept-Encoding", "gzip")
		plain, _ := plainly(t, s, "GET", path)
		tag := zipped.Header.Get("ETag")
		if tag == plain.Header.Get("ETag") || !strings.HasSuffix(tag, `-gzip"`) {
			t.Errorf("%s: the tags are %s and %s", path, tag, plain.Header.Get("ETag"))
		}
		if known, _ := plainly(t, s, "GET", path, "Accept-Encoding", "gzip", "If-None-Match", tag); known.StatusCode != http.StatusNotModified || known.Header.Get("ETag") != tag {
			t.Errorf("%s: %d %v", path, known.StatusCode, known.Header)
		}
		s.Want(http.StatusNoContent, "PATCH", "/v1/books/b", `{"n":1}`, "Content-Type", harness.MergeType, "If-Match", tag)
	}
	s.Verify()
}

// TestEmptyAndRepeated: a header or parameter without a value, or given twice, is refused and not passed over. So no write is made
// although an intended condition does not hold.
func TestEmptyAndRepeated(t *testing.T) {
	s := harness.OpenTemp(t, "collections: {authors: {}, books: {relations: {author: {path: author, to: authors}}, pages: {by: author, size: 2}}}")
	s.Put("authors", "a", `{}`)
	s.Put("books", "b", `{"author":"a"}`)
	before := s.Get("books", "b")
	bad := func(name, method, path, body string, headers ...string) {
		t.Helper()
		if len(headers) == 0 || headers[0] != "Content-Type" {
			headers = append(headers, "Content-Type", "application/json")
		}
		r, err := s.Do(method, path, []byte(body), headers...)
		if err != nil || r.Status != http.StatusBadRequest || r.Problem() != "urn:fanfold:problem:invalid" {
			t.Errorf("%s: %v, %d %s", name, err, r.Status, r.Body)
		}
	}
	for _, header := range []string{"If-Match", "If-None-Match", "Idempotency-Key", "Fanfold-Timeout"} {
		bad("empty "+header, "PUT", "/v1/books/b", `{"x":1}`, header, "")
		bad("empty "+header, "PATCH", "/v1/books/b", `{"x":1}`, "Content-Type", harness.MergeType, header, "")
		bad("empty "+header, "DELETE", "/v1/books/b", ``, header, " ")
		bad("empty "+header, "POST", "/v1/books", `{"x":1}`, header, "")
		bad("empty "+header, "POST", "/v1/_transactions", `{"operations":[{"op":"delete","collection":"books","id":"b"}]}`, header, "")
	}
	for _, header := range []string{"If-Match", "If-None-Match", "If-Unmodified-Since"} {
		bad(header, "POST", "/v1/_transactions", `{"operations":[{"op":"delete","collection":"books","id":"b"}]}`, header, `"1"`)
		bad(header, "POST", "/v1/_import?collection=books", `{"id":"b"}`, "Content-Type", "application/x-ndjson", header, `"1"`)
	}
	bad("If-Unmodified-Since", "PUT", "/v1/books/b", `{"x":1}`, "If-Unmodified-Since", "Sat, 29 Oct 1994 19:43:31 GMT")
	bad("a key of a model", "PUT", "/v1/_model", `{"collections":{}}`, "Idempotency-Key", "k")
	bad("an empty key of an import", "POST", "/v1/_import?collection=books", `{"id":"b"}`, "Content-Type", "application/x-ndjson", "Idempotency-Key", "")
	for _, timeout := range []string{"NaN", "Inf", "-Inf", "-1", "61", "1e300", "5 s", "0x10p20"} {
		bad("timeout "+timeout, "PUT", "/v1/books/b", `{"x":1}`, "Fanfold-Timeout", timeout)
	}
	for _, path := range []string{"/v1/books/b", "/v1/books", "/v1/authors/a/books", "/v1/books/b/_lineage", "/v1/_model", "/v1/_export"} {
		bad("empty Fanfold-Min-Position of "+path, "GET", path, "", "Fanfold-Min-Position", "")
		bad("empty Fanfold-Timeout of "+path, "GET", path+"?consistency=strong", "", "Fanfold-Timeout", "")
	}
	emptyParameters(t, s, bad)
	if after := s.Get("books", "b"); after != before {
		t.Errorf("the document became %s", after)
	}
	s.Verify()
}

// emptyParameters asks every operation of the API's description with each of its parameters empty, and twice.
func emptyParameters(t *testing.T, s *harness.Store, bad func(name, method, path, body string, headers ...string)) {
	t.Helper()
	c := underContract(t, s)
	asked := 0
	for path, item := range c.Doc.Paths.Map() {
		for method, op := range item.Operations() {
			for _, ref := range append(op.Parameters, item.Parameters...) {
				name := ref.Value.Name
				if ref.Value.In != "query" || method == http.MethodHead {
					continue
				}
				to := strings.NewReplacer("{collection}", "books", "{id}", "b", "{child}", "books").Replace(path)
				if strings.Contains(path, "{child}") {
					to = "/v1/authors/a/books"
				}
				media := map[string]string{"PATCH": harness.MergeType}[method]
				if strings.HasSuffix(path, "_import") {
					media = "application/x-ndjson"
				}
				headers := []string{"Content-Type", media}
				if media == "" {
					headers = nil
				}
				if name != "cursor" {
					bad(method+" "+to+" with empty "+name, method, to+"?"+name+"=", `{}`, headers...)
				}
				if asked++; ref.Value.Schema.Value.Type.Is("array") { // which is given once for each element
					continue
				}
				bad(method+" "+to+" with "+name+" twice", method, to+"?"+name+"=1&"+name+"=1", `{}`, headers...)
			}
		}
	}
	if asked < 30 {
		t.Errorf("only %d parameters were found", asked)
	}
}

// TestCursors: a list takes the cursors that it gave, and no other.
func TestCursors(t *testing.T) {
	s := harness.OpenTemp(t, "collections: {authors: {}, books: {relations: {author: {path: author, to: authors}, editor: {path: editor, to: authors}}}}")
	for _, a := range []string{"a", "b"} {
		s.Put("authors", a, `{}`)
	}
	for i := range 5 {
		s.Put("books", fmt.Sprint(i), `{"author":"a","editor":"b"}`)
	}
	lists := []string{"/v1/books", "/v1/authors", "/v1/authors/a/books?relation=author", "/v1/authors/b/books?relation=editor"}
	cursors := map[string]string{}
	for _, path := range lists {
		_, cursors[path] = harness.Items(t, s, path+with(path)+"limit=1")
	}
	for _, path := range lists {
		for of, cursor := range cursors {
			status := http.StatusOK
			if of != path {
				status = http.StatusBadRequest
			}
			r := s.Want(status, "GET", path+with(path)+"limit=1&cursor="+url.QueryEscape(cursor), "")
			if of != path && !strings.Contains(string(r.Body), "the cursor belongs to the list of") {
				t.Errorf("the cursor of %s for %s: %s", of, path, r.Body)
			}
		}
		whole := cursors[path]
		for _, cursor := range []string{"x", "eHg", whole + "A", whole[1:], whole[:len(whole)-1], strings.Repeat("A", 5000), base64.RawURLEncoding.EncodeToString([]byte("1")), "=", "%00"} {
			r := s.Want(http.StatusBadRequest, "GET", path+with(path)+"cursor="+url.QueryEscape(cursor), "")
			if len(r.Body) > 1000 {
				t.Errorf("the refusal has %d bytes", len(r.Body))
			}
		}
	}
}

// with returns what stands before a further parameter of a path.
func with(path string) string {
	if strings.Contains(path, "?") {
		return "&"
	}
	return "?"
}

// TestUnknownRoutes: what is no route is a 404 whatever the method; what is one tells its methods.
func TestUnknownRoutes(t *testing.T) {
	s := harness.OpenTemp(t, "")
	s.Put("books", "b", `{}`)
	for _, path := range []string{"/v2/books", "/v2", "/v1/_nope", "/v1/_nope/x", "/v1/_model/x/y", "/v1/_model/_x", "/v1/books/b/_nope", "/v1/%5Fnope", "/nope"} {
		for _, method := range []string{"GET", "PUT", "POST", "PATCH", "DELETE", "OPTIONS"} {
			r, err := s.Do(method, path, nil)
			if err != nil || r.Status != http.StatusNotFound {
				t.Errorf("%s %s: %v, %d %v", method, path, err, r.Status, r.Header)
			}
		}
	}
	s.Put("books", "a/_nope", `{}`)
	s.Want(http.StatusOK, "GET", "/v1/books/a%2F_nope", "")
	for path, allow := range map[string][]string{"/v1/books/b": {"DELETE", "GET", "PUT", "PATCH"}, "/v1/books": {"GET", "POST"}, "/v1/books/_query": {"OPTIONS", "DELETE", "GET", "HEAD", "PATCH", "POST", "PUT"}, "/v1/_model": {"GET", "PUT"}, "/v1/_changes": {"GET"}, "/healthz": {"GET"}} {
		r, err := s.Do("OPTIONS", path, nil)
		if err != nil || r.Status != http.StatusNoContent {
			t.Errorf("OPTIONS %s: %v, %d", path, err, r.Status)
		}
		for _, method := range allow {
			if !strings.Contains(r.Header.Get("Allow"), method) {
				t.Errorf("OPTIONS %s allows %s, not %s", path, r.Header.Get("Allow"), method)
			}
		}
	}
}

// TestLocationOfKeyedPost: whoever creates a document under a key is told where it is, also where it is not folded yet.
func TestLocationOfKeyedPost(t *testing.T) {
	s := harness.OpenTemp(t, "")
	for _, form := range []string{`{"n":%d}`, `{"id":"given%d"}`} {
		for i, told := 0, false; !told; i++ { // a write that is folded at once is a 201
			body, key := fmt.Sprintf(form, i), fmt.Sprintf("%s%d", form[2:4], i)
			first, err := s.Do(http.MethodPost, "/v1/books", []byte(body), "Idempotency-Key", key, "Prefer", "respond-async")
			if err != nil || first.Status != http.StatusAccepted && first.Status != http.StatusCreated {
				t.Fatalf("POST %s: %v %+v", body, err, first)
			}
			told = first.Status == http.StatusAccepted
			place := first.Header.Get("Location")
			s.Want(http.StatusOK, "GET", place+"?consistency=strong", "")
			if again := s.Want(http.StatusCreated, "POST", "/v1/books", body, "Idempotency-Key", key).Header.Get("Location"); again != place {
				t.Errorf("the places are %q and %q", place, again)
			}
		}
	}
}
