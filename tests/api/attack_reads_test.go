package api_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/fanfold/fanfold/tests/harness"
)

// expandModel has documents that refer to many others.
const expandModel = `
collections:
  books: {}
  shelves:
    relations: {books: {path: "books[]", to: books}}
`

// TestExpandIsBounded: what an answer expands is counted before it is read. A document that expands too much is refused,
// a page of such documents ends early, and the server's memory stays within a few answers.
func TestExpandIsBounded(t *testing.T) {
	p := harness.StartProcess(t, "--data", t.TempDir(), "--durability", "interval")
	p.Model(expandModel)
	const holders, narrow, targets = 20, 20, 50 // 20 targets are more than a page has, and 50 more than an answer
	var lines strings.Builder
	var ids []string
	for i := range targets {
		fmt.Fprintf(&lines, `{"id":"%d","x":"%s"}`+"\n", i, strings.Repeat("x", 1_500_000))
		ids = append(ids, fmt.Sprint(i))
	}
	harness.ImportText(t, p.Client, "collection=books", lines.String())
	lines.Reset()
	for i := range holders {
		fmt.Fprintf(&lines, `{"id":"%03d","books":["%s"]}`+"\n", i, strings.Join(ids[:narrow], `","`))
	}
	harness.ImportText(t, p.Client, "collection=shelves", lines.String())
	p.Put("shelves", "wide", `{"books":["`+strings.Join(ids, `","`)+`"]}`)
	before := p.HighWater(t)
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() { expandEverything(t, p) })
	}
	wg.Wait()
	r := p.Want(http.StatusUnprocessableEntity, "GET", "/v1/shelves/wide?expand=books", "")
	if !strings.Contains(string(r.Body), "64 MiB") {
		t.Errorf("the refusal does not name the limit: %s", r.Body)
	}
	if most := p.HighWater(t); most > before+500 {
		t.Errorf("expanding took %d MiB more than the %d before", most-before, before)
	}
}

// expandEverything reads a few pages of expanded documents; each ends early.
func expandEverything(t *testing.T, p *harness.Process) {
	cursor := ""
	for range 2 {
		r, err := p.Do("GET", "/v1/shelves?limit=100&expand=books"+cursor, nil)
		if err != nil || r.Status != http.StatusOK && r.Status != http.StatusTooManyRequests {
			t.Errorf("%v, %+v", err, r)
			return
		}
		if r.Status == http.StatusTooManyRequests {
			return
		}
		var page struct {
			Items []json.RawMessage
			Next  string
		}
		if err := json.Unmarshal(r.Body, &page); err != nil || len(page.Items) == 0 || len(page.Items) > 1 || page.Next == "" {
			t.Errorf("%v, %d items, next %q", err, len(page.Items), page.Next)
			return
		}
		cursor = "&cursor=" + page.Next
	}
}

// slowReaders opens n connections that each send a request and read nothing of the answer. They are closed by the test's
// end.
func slowReaders(t *testing.T, p *harness.Process, n int, path string) {
	t.Helper()
	addr := strings.TrimPrefix(p.URL, "http://")
	for range n {
		conn, err := net.Dial("tcp", addr)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = conn.Close() })
		if err := conn.(*net.TCPConn).SetReadBuffer(4096); err != nil {
			t.Fatal(err)
		}
		if _, err := fmt.Fprintf(conn, "GET %s HTTP/1.1\r\nHost: localhost\r\n\r\n", path); err != nil {
			t.Fatal(err)
		}
	}
}

// TestSlowReaders: hundreds of clients that do not read what they asked for cost a bounded amount of memory, and others
// are served meanwhile.
func TestSlowReaders(t *testing.T) {
	for _, c := range []struct {
		name, path string
		readers    int
	}{
		{"feeds", "/v1/_changes?feed=eventsource&mode=all&include_docs=true", 500},
		{"once", "/v1/_changes?include_docs=true", 300},
		{"lists", "/v1/big?limit=100", 300},
		{"documents", "/v1/big/1", 500},
		{"exports", "/v1/_export", 100},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := harness.StartProcess(t, "--data", t.TempDir(), "--durability", "interval", "--max-sending", "67108864")
			for i := range 30 {
				p.Put("big", fmt.Sprint(i), `{"x":"`+strings.Repeat("x", 1_000_000)+`"}`)
			}
			p.Put("small", "s", `{"n":1}`)
			before := p.HighWater(t)
			slowReaders(t, p, c.readers, c.path)
			begun := time.Now()
			for range 20 {
				p.Want(http.StatusOK, "GET", "/v1/small/s", "")
				p.Want(http.StatusOK, "GET", "/v1/small", "")
				p.Want(http.StatusOK, "GET", "/v1/_changes?collections=small&since=0", "")
			}
			if took := time.Since(begun); took > 10*time.Second {
				t.Errorf("others took %v", took)
			}
			if most := p.HighWater(t); most > before+250 {
				t.Errorf("%d slow readers took %d MiB beside the %d before", c.readers, most-before, before)
			}
		})
	}
}

// TestExportLetsGoOfItsSnapshot: an export whose client reads nothing does not keep the read model's snapshot open, and
// still has everything of one prefix.
func TestExportLetsGoOfItsSnapshot(t *testing.T) {
	s := harness.OpenTemp(t, "")
	for i := range 40 {
		s.Put("big", fmt.Sprintf("%03d", i), `{"x":"`+strings.Repeat("x", 1_000_000)+`"}`)
	}
	conn, err := net.Dial("tcp", strings.TrimPrefix(s.URL, "http://")) // 40 MB are more than the system holds between the two
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := io.WriteString(conn, "GET /v1/_export HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil) // its headers come once the snapshot is open
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	harness.Await(t, "the end of the snapshot", harness.WaitTime, func() bool { return !isExporting() })
	if running(t, s.Client) != 1 {
		t.Error("the client has read everything")
	}
	s.Put("big", "000", `{"late":true}`)
	text, err := io.ReadAll(resp.Body)
	if err != nil || strings.Count(string(text), "\n") != 40 || strings.Contains(string(text), "late") {
		t.Errorf("%v, %d lines", err, strings.Count(string(text), "\n"))
	}
}

// isExporting tells whether a goroutine of this process reads documents for an export.
func isExporting() bool {
	stacks := make([]byte, 4<<20)
	return bytes.Contains(stacks[:runtime.Stack(stacks, true)], []byte("(*exporter)"))
}

// TestLineageIsBounded: the lineage of a document with thousands of derived values and a long history of large changes is
// bounded in values, time and memory.
func TestLineageIsBounded(t *testing.T) {
	s := harness.OpenTemp(t, `
collections:
  authors: {}
  books:
    relations: {authors: {path: "authors[].id", to: authors}}
    derive:
      "authors[].name": {copy: authors, value: doc.name}
      "authors[].also": {copy: authors, value: doc.name}
`)
	var authors []string
	var lines strings.Builder
	for i := range 1000 {
		authors = append(authors, fmt.Sprintf(`{"id":"%d"}`, i))
		fmt.Fprintf(&lines, `{"id":"%d","name":"%d"}`+"\n", i, i)
	}
	harness.ImportText(t, s.Client, "collection=authors", lines.String())
	for i := range 60 {
		s.Put("books", "b", fmt.Sprintf(`{"n":%d,"x":"%s","authors":[%s]}`, i, strings.Repeat("x", 500_000), strings.Join(authors, ",")))
	}
	begun := time.Now()
	r := s.Want(http.StatusOK, "GET", "/v1/books/b/_lineage", "")
	took := time.Since(begun)
	var out struct {
		Derived []json.RawMessage
		More    int
	}
	if err := json.Unmarshal(r.Body, &out); err != nil || len(out.Derived) != 1000 || out.More != 1000 {
		t.Errorf("%v: %d derived values and %d more", err, len(out.Derived), out.More)
	}
	t.Logf("it took %v and has %d bytes", took, len(r.Body))
	if took > 30*time.Second {
		t.Errorf("it took %v", took)
	}
}
