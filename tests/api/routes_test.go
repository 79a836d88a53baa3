package api_test

import (
	"bufio"
	"bytes"
	"net"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fanfold/fanfold/node"
	"github.com/fanfold/fanfold/tests/harness"
	"github.com/fanfold/fanfold/tests/suite"
)

// TestOtherMethods: a path that is known answers every method that it does not take with 405, and names those that it takes.
func TestOtherMethods(t *testing.T) {
	s := harness.OpenTemp(t, harness.APIModel)
	s.Put("books", "b1", `{}`)
	taken := map[string][]string{}
	for _, r := range s.Node.API().Routes() {
		method, path, _ := strings.Cut(r, " ")
		taken[path] = append(taken[path], method)
	}
	const query = "/v1/:collection/_query" // a document may have this id
	taken[query] = append(taken[query], taken["/v1/:collection/:id"]...)
	parameter := strings.NewReplacer(":collection", "books", ":id", "b1", ":child", "authors", ":name", "g", ":batch", "1")
	for path, methods := range taken {
		slices.Sort(methods)
		for _, method := range []string{"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "REPORT"} {
			if slices.Contains(methods, method) {
				continue
			}
			r, err := s.Do(method, parameter.Replace(path), []byte(`{}`), "Content-Type", "application/json")
			if err != nil || r.Status != http.StatusMethodNotAllowed || method != "HEAD" && !strings.Contains(string(r.Body), "Allow header") {
				t.Errorf("%s %s: %v, %d %s", method, path, err, r.Status, r.Body)
				continue
			}
			allow := strings.Split(r.Header.Get("Allow"), ", ")
			allow = slices.DeleteFunc(allow, func(m string) bool { return m == "OPTIONS" })
			if slices.Sort(allow); !slices.Equal(allow, methods) {
				t.Errorf("%s %s: Allow has %v, the routes are %v", method, path, allow, methods)
			}
		}
	}
	for _, path := range []string{"/v1/_model/_x", "/v1/_model/a/b", "/v1/_status/x", "/v1/%5Fstatus", "/v1/%5Fbooks/b1/_lineage", "/v1/books/b1/_x", "/v1/books/b1/_lineage/x", "/v1/_groups/g/_x", "/v1/_groups/g/_lineage", "/v1/_groups/g/_parked/1/_x", "/v1/_a/b/c/d/e/f/g/h"} {
		for _, method := range []string{"GET", "POST", "PUT", "PATCH", "DELETE"} {
			if r, err := s.Do(method, path, []byte(`{}`), "Content-Type", "application/json"); err != nil || r.Status != http.StatusNotFound {
				t.Errorf("%s %s: %v, %d %s", method, path, err, r.Status, r.Body)
			}
		}
	}
	s.Want(http.StatusCreated, "PUT", "/v1/authors/_b", `{}`)
	s.Want(http.StatusOK, "GET", "/v1/authors/_b/books?limit=1", "")
}

// TestSeveralOrigins: a request that says of two origins, or of none, where it comes from is refused, whichever comes first.
func TestSeveralOrigins(t *testing.T) {
	s := harness.Open(t, harness.Options{Dir: t.TempDir(), Configure: func(cfg *node.Config) { cfg.Origins = []string{"https://app.example"} }})
	defer s.Close()
	for _, origins := range []string{"Origin: https://app.example\r\nOrigin: https://evil.example\r\n", "Origin: https://evil.example\r\nOrigin: https://app.example\r\n",
		"Origin: https://app.example\r\nOrigin: https://app.example\r\n", "Origin:\r\n", "Origin: \r\nOrigin: https://app.example\r\n"} {
		for _, line := range []string{"PUT /v1/as/1", "GET /v1/as"} {
			r, body := ask(t, s, line+" HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nConnection: close\r\n"+origins+"Content-Length: 2\r\n\r\n{}")
			if r.StatusCode != http.StatusBadRequest || !strings.Contains(body, "the header Origin") {
				t.Errorf("%s with %q: %d %s", line, origins, r.StatusCode, body)
			}
		}
	}
	if r, body := ask(t, s, "PUT /v1/as/1 HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nConnection: close\r\nOrigin: https://app.example\r\nContent-Length: 2\r\n\r\n{}"); r.StatusCode != http.StatusCreated {
		t.Errorf("one origin: %d %s", r.StatusCode, body)
	}
}

// TestLengthAndChunks: a request with both Content-Length and Transfer-Encoding ends its connection (RFC 9112, 6.1), so that
// nothing after it is taken for a request.
func TestLengthAndChunks(t *testing.T) {
	s := harness.OpenTemp(t, "")
	const put = "PUT /v1/as/1 HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n"
	for _, lengths := range []string{"", "Content-Length: 2\r\n", "Content-Length: 12\r\n"} {
		r, body := ask(t, s, put+lengths+"\r\n2\r\n{}\r\n0\r\n\r\nPUT /v1/as/2 HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}")
		if r.StatusCode >= 300 || !r.Close || body != "" {
			t.Errorf("%q: %d %v %s", lengths, r.StatusCode, r.Header, body)
		}
	}
	s.Want(http.StatusNotFound, "GET", "/v1/as/2", "")
}

// TestBadChunks: a body whose chunks cannot be read is told as that; nothing is written.
func TestBadChunks(t *testing.T) {
	s := harness.OpenTemp(t, "")
	for _, c := range []struct{ chunks, says string }{
		{"x\r\n{}\r\n0\r\n\r\n", "not in chunks"}, {"2\r\n{}x\r\n0\r\n\r\n", "not in chunks"}, {"\r\n{}\r\n0\r\n\r\n", "not in chunks"},
		{"fffffffffffffffff\r\n{}\r\n0\r\n\r\n", "not in chunks"}, {strings.Repeat("1", 5000) + "\r\n", "not in chunks"},
	} {
		for _, request := range []string{"PUT /v1/as/1 HTTP/1.1\r\nContent-Type: application/json\r\n", "POST /v1/_transactions HTTP/1.1\r\nContent-Type: application/json\r\n",
			"POST /v1/_import?collection=as HTTP/1.1\r\nContent-Type: application/x-ndjson\r\n"} {
			conn, err := net.Dial("tcp", s.Node.Addr())
			if err != nil {
				t.Fatal(err)
			}
			if err := conn.SetDeadline(time.Now().Add(suite.Deadline(time.Minute))); err != nil {
				t.Fatal(err)
			}
			if _, err := conn.Write([]byte(request + "Host: localhost\r\nTransfer-Encoding: chunked\r\n\r\n" + c.chunks)); err != nil {
				t.Fatal(err)
			}
			r, err := http.ReadResponse(bufio.NewReader(conn), nil)
			if err != nil {
				t.Fatal(err)
			}
			var body bytes.Buffer
			if _, err := body.ReadFrom(r.Body); err != nil || !strings.Contains(body.String(), c.says) {
				t.Errorf("%.40q %.20q: %d %s, %v", request, c.chunks, r.StatusCode, body.String(), err)
			}
			if err := conn.Close(); err != nil {
				t.Fatal(err)
			}
		}
	}
	s.Want(http.StatusNotFound, "GET", "/v1/as/1", "")
}

// TestDroppedMembersAreTold: an answer names the members of the body that were not stored, within a bound, and has no ETag
// then; with handling=strict they are refused.
func TestDroppedMembersAreTold(t *testing.T) {
	s := harness.OpenTemp(t, harness.APIModel)
	dropped := func(body, want string, headers ...string) {
		t.Helper()
		r := s.Want(http.StatusNoContent, "PUT", "/v1/books/b1", body, headers...)
		harness.WantHeader(t, r, "Fanfold-Dropped-Members", want)
		if tag := r.Header.Get("ETag"); (tag == "") != (want != "") {
			t.Errorf("%s: the ETag is %q", body, tag)
		}
	}
	s.Put("books", "b1", `{}`)
	dropped(`{"n":1}`, "")
	dropped(`{"_meta":{"rev":1},"n":2}`, "/_meta")
	dropped(`{"authors":[{"id":"a"},{"id":"b","name":"B"}],"publisherName":"P","_expanded":{},"_meta":1}`, "/authors/1/name, /publisherName, /_expanded, /_meta")
	s.WantDoc("books", "b1", `{"id":"b1","authors":[{"id":"a"},{"id":"b"}]}`)
	harness.Refuse(t, s, harness.Refusal{"", 422, "unprocessable", "PUT", "/v1/books/b1", `{"_meta":{},"publisherName":"P"}`, []string{"Prefer", "handling=strict"}, []string{"/_meta", "a read adds", "/publisherName", "is derived"}})
	many := s.Want(http.StatusNoContent, "PUT", "/v1/books/b1", `{"authors":[`+strings.Repeat(`{"id":"a","name":"B"},`, 500)+`{}]}`).Header.Get("Fanfold-Dropped-Members")
	if !regexp.MustCompile(`^/authors/0/name, .*, \.\.\.$`).MatchString(many) || len(many) > 1100 {
		t.Errorf("%d bytes: %s", len(many), many)
	}
	r := s.Want(http.StatusCreated, "POST", "/v1/books", `{"id":"b2","_meta":1}`)
	harness.WantHeader(t, r, "Fanfold-Dropped-Members", "/_meta")
	r = s.Want(http.StatusAccepted, "PUT", "/v1/books/b2", `{"_meta":1,"n":1}`, "Prefer", "respond-async")
	harness.WantHeader(t, r, "Fanfold-Dropped-Members", "/_meta")
	var tx struct {
		Operations []struct {
			ETag    string
			Dropped []string
		}
	}
	harness.Decode(t, s.Want(http.StatusOK, "POST", "/v1/_transactions", `{"operations":[{"op":"put","collection":"books","id":"b3","body":{"_meta":1}},{"op":"put","collection":"books","id":"b4","body":{}}]}`).Body, &tx)
	if o := tx.Operations; !slices.Equal(o[0].Dropped, []string{"/_meta"}) || o[0].ETag != "" || o[1].Dropped != nil || o[1].ETag == "" {
		t.Errorf("the transaction's operations are %+v", o)
	}
	s.Put("odd", "1", `{}`)
	s.Want(http.StatusOK, "PATCH", "/v1/_model", `{"collections":{"odd":{"derive":{"\u00e4, b":{"value":"1"}}}}}`, "Content-Type", harness.MergeType)
	harness.WantHeader(t, s.Want(http.StatusNoContent, "PUT", "/v1/odd/1", `{"\u00e4, b":2}`), "Fanfold-Dropped-Members", "/%C3%A4%2C%20b")
}
