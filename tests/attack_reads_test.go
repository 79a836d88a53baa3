package tests

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"
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
	plainOnly(t, otherProcess)
	p := startProcess(t, "--data", t.TempDir(), "--durability", "interval")
	p.Model(expandModel)
	const holders, targets = 100, 100
	var ids []string
	for i := range targets {
		p.Put("books", fmt.Sprint(i), `{"x":"`+strings.Repeat("x", 300_000)+`"}`)
		ids = append(ids, fmt.Sprint(i))
	}
	all := `"` + strings.Join(ids, `","`) + `"`
	for i := range holders {
		p.Put("shelves", fmt.Sprintf("%03d", i), `{"books":[`+all+`]}`)
	}
	p.Put("shelves", "wide", `{"books":[`+all+`],"more":[]}`)
	before := p.highWater(t)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() { expandEverything(t, p) })
	}
	wg.Wait()
	for i := range 300 { // 300 × 300 kB are more than an answer has
		if i >= targets {
			p.Put("books", fmt.Sprint(i), `{"x":"`+strings.Repeat("x", 300_000)+`"}`)
			ids = append(ids, fmt.Sprint(i))
		}
	}
	p.Put("shelves", "wide", `{"books":["`+strings.Join(ids, `","`)+`"]}`)
	r := p.Want(http.StatusUnprocessableEntity, "GET", "/v1/shelves/wide?expand=books", "")
	if !strings.Contains(string(r.Body), "64 MiB") {
		t.Errorf("the refusal does not name the limit: %s", r.Body)
	}
	if most := p.highWater(t); most > before+450 {
		t.Errorf("expanding took %d MiB more than the %d before", most-before, before)
	}
}

// expandEverything reads a few pages of expanded documents, each of which ends early.
func expandEverything(t *testing.T, p *process) {
	cursor := ""
	for range 4 {
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
func slowReaders(t *testing.T, p *process, n int, path string) {
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

// TestSlowReaders: a thousand clients that do not read what they asked for cost a bounded amount of memory, and others
// are served meanwhile.
func TestSlowReaders(t *testing.T) {
	plainOnly(t, otherProcess)
	for _, c := range []struct {
		name, path string
		readers    int
	}{
		{"feeds", "/v1/_changes?feed=eventsource&mode=all&include_docs=true", 1000},
		{"once", "/v1/_changes?include_docs=true", 300},
		{"lists", "/v1/big?limit=100", 300},
		{"documents", "/v1/big/1", 1000},
		{"exports", "/v1/_export", 100},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := startProcess(t, "--data", t.TempDir(), "--durability", "interval", "--max-sending", "67108864")
			for i := range 30 {
				p.Put("big", fmt.Sprint(i), `{"x":"`+strings.Repeat("x", 1_000_000)+`"}`)
			}
			p.Put("small", "s", `{"n":1}`)
			before := p.highWater(t)
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
			if most := p.highWater(t); most > before+250 {
				t.Errorf("%d slow readers took %d MiB beside the %d before", c.readers, most-before, before)
			}
		})
	}
}
