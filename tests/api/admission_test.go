package api_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/fanfold/fanfold/api"
	"github.com/fanfold/fanfold/tests/harness"
	"github.com/fanfold/fanfold/tests/suite"
)

// TestManyLargeWrites: a thousand connections, under -full two thousand, write bodies of 1 MiB at once. Each is stored, or
// told to come again later; memory stays bounded, and the server answers afterwards.
func TestManyLargeWrites(t *testing.T) {
	conns := suite.Amount(1000, 2000)
	p := harness.StartProcess(t, "--data", t.TempDir(), "--durability", "interval")
	addr := strings.TrimPrefix(p.URL, "http://")
	body := `{"x":"` + strings.Repeat("x", 1<<20-8) + `"}`
	var mu sync.Mutex
	answers := map[string]int{}
	var wg sync.WaitGroup
	for i := range conns {
		wg.Go(func() {
			status := writeRaw(addr, fmt.Sprintf("PUT /v1/big/%d HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nFanfold-Timeout: 30\r\nContent-Length: %d\r\n\r\n", i, len(body)), body)
			mu.Lock()
			defer mu.Unlock()
			answers[status]++
		})
	}
	wg.Wait()
	t.Logf("answers: %v", answers)
	// On a busy machine some of the test's own clients do not get to send their bodies in time, or the log takes too long.
	late := answers["cut"] + answers["408"] + answers["503"]
	if answers["201"] == 0 || answers["201"]+answers["202"]+answers["429"]+late != conns {
		t.Errorf("the answers are %v", answers)
	}
	// The log's own memory, of what was written in the last ten seconds, is in this: all that was let in, on a machine that is fast.
	// If all bodies were held at a time the server would take 5 MiB for each.
	limit := max(2500, 900+2*(answers["201"]+answers["202"]+answers["503"]))
	if most := p.HighWater(t); most > limit {
		t.Errorf("the server took %d MiB, of which %d are allowed", most, limit)
	}
	p.Put("small", "s", `{}`)
}

// writeRaw sends a request and returns the answer's status.
func writeRaw(addr, header, body string) string {
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		return err.Error()
	}
	defer conn.Close()
	if _, err := io.WriteString(conn, header); err != nil {
		return "cut"
	}
	go func() { _, _ = io.WriteString(conn, body) }() // an answer may come before the end of the request
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		return "cut"
	}
	defer resp.Body.Close()
	if resp.StatusCode == http.StatusTooManyRequests && resp.Header.Get("Retry-After") == "" {
		return "429 without Retry-After"
	}
	return strconv.Itoa(resp.StatusCode)
}

// TestBusy: where there is room for one large body, a second writer of such waits, and is told to come again when the first
// does not end.
func TestBusy(t *testing.T) {
	suite.Parallel(t)
	s := harness.Open(t, harness.Options{Dir: t.TempDir(), API: api.Options{MaxInFlight: 8, MaxWaiting: 1, Admission: 300 * time.Millisecond, BodyGrace: 10 * time.Second}})
	defer s.Close()
	addr := strings.TrimPrefix(s.URL, "http://")
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := io.WriteString(conn, "PUT /v1/books/slow HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 70000\r\n\r\n"+strings.Repeat(" ", 2_000)); err != nil {
		t.Fatal(err)
	}
	slow := bufio.NewReader(conn)
	body := `{"x":"` + strings.Repeat("x", 70<<10) + `"}`
	awaitRunning(t, s.Client, 1, harness.WaitTime) // else a write could be let in before the slow one, and have that refused
	harness.Await(t, "a write that is refused", harness.WaitTime, func() bool {
		r, err := s.Do(http.MethodPut, "/v1/books/b", []byte(body))
		if err != nil || r.Status >= 300 && r.Status != http.StatusTooManyRequests {
			t.Fatalf("a write beside the slow one: %v %+v", err, r)
		}
		busy := r.Status == http.StatusTooManyRequests
		if busy && (r.Problem() != "urn:fanfold:problem:busy" || r.Header.Get("Retry-After") == "") {
			t.Errorf("busy is told as %v %s", r.Header, r.Body)
		}
		return busy
	})
	// The slow body's time ends, and then there is room again.
	resp, err := http.ReadResponse(slow, nil)
	if err != nil || resp.StatusCode != http.StatusRequestTimeout {
		t.Fatalf("the slow client is told %v, %v", resp, err)
	}
	_ = resp.Body.Close()
	if r, err := s.Do(http.MethodPut, "/v1/books/b", []byte(body)); err != nil || r.Status >= 300 {
		t.Fatalf("there is no room again: %v %d", err, r.Status)
	}
	s.Want(http.StatusNotFound, http.MethodGet, "/v1/books/slow", "")
	s.Verify()
}

// fewModel takes a moment to recompute for the documents of fewLines.
const fewModel = `
collections:
  authors: {derive: {books: {count: books.author}, stars: {avg: books.author, of: stars}}}
  books: {unique: [isbn], relations: {author: {path: author, to: authors}}, derive: {name: {copy: author, value: doc.name}}}
`

// TestFewAtATime: what looks at every document runs a few at a time. Those that come on top wait for as long as a
// write does, and are then told to come again.
func TestFewAtATime(t *testing.T) {
	suite.Concurrent(t)
	s := harness.Open(t, harness.Options{Dir: t.TempDir(), API: api.Options{Admission: 2 * time.Millisecond}})
	defer s.Close()
	s.Model(fewModel)
	var lines strings.Builder
	for i := range 4000 {
		fmt.Fprintf(&lines, `{"id":"%d","author":%d,"isbn":"978-%d","stars":%d,"place":1}`+"\n", i, i%10, i, i%5)
	}
	harness.ImportText(t, s.Client, "collection=books", lines.String())
	// Its copy would hide the place of every book, so that it is previewed and refused.
	hiding := strings.Replace(fewModel, "derive: {name:", "derive: {place: {copy: author, value: doc.name}, name:", 1)
	// Its copy is new, so that a dry run looks at every book; the model as it is would be previewed in a moment.
	added := strings.Replace(fewModel, "derive: {name:", "derive: {stars_of_author: {copy: author, value: doc.stars}, name:", 1)
	for _, c := range []struct {
		name, method, path, body string
		status                   int
	}{
		{"verify", http.MethodPost, "/v1/_verify", "", http.StatusOK},
		{"a dry run of a model", http.MethodPut, "/v1/_model?dryRun=true", added, http.StatusOK},
		{"a model", http.MethodPut, "/v1/_model", hiding, http.StatusUnprocessableEntity},
		{"queries of many documents", http.MethodGet, "/v1/books?count=true&limit=1&filter=" + url.QueryEscape(strings.Repeat(`!doc.isbn.matches("^(9|7)*8.*z$") && `, 20)+"false"), "", http.StatusOK},
	} {
		t.Run(c.name, func(t *testing.T) {
			seen := map[int]int{}
			for range 20 { // chance may let them run one after the other
				requests := make([]*harness.Response, 16)
				var wg sync.WaitGroup
				for i := range requests {
					wg.Go(func() {
						media := "application/yaml"
						if c.body == "" {
							media = "application/json"
						}
						r, err := s.Do(c.method, c.path, []byte(c.body), "Content-Type", media)
						if err != nil {
							t.Error(err)
							return
						}
						requests[i] = r
					})
				}
				wg.Wait()
				for _, r := range requests {
					if r == nil {
						return
					}
					seen[r.Status]++
					if r.Status == http.StatusTooManyRequests && (r.Problem() != "urn:fanfold:problem:busy" || r.Header.Get("Retry-After") == "") {
						t.Errorf("busy is told as %v %s", r.Header, r.Body)
					}
				}
				if seen[http.StatusTooManyRequests] > 0 {
					break
				}
			}
			if seen[c.status] == 0 || seen[http.StatusTooManyRequests] == 0 || len(seen) != 2 {
				t.Errorf("the answers are %v; want %d, and 429 where too many run", seen, c.status)
			}
		})
	}
	s.Verify()
}

// TestConnectionsAreBounded: a connection past the bound waits until another one ends, and is answered then.
func TestConnectionsAreBounded(t *testing.T) {
	p := harness.StartProcess(t, "--data", t.TempDir(), "--durability", "interval", "--max-connections", "3")
	p.HTTP.CloseIdleConnections()
	addr := strings.TrimPrefix(p.URL, "http://")
	var idle []net.Conn
	for range 3 {
		conn, err := net.Dial("tcp", addr)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		// An answer shows that the connection is one of the three.
		if _, err := io.WriteString(conn, "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"); err != nil {
			t.Fatal(err)
		}
		if _, err := http.ReadResponse(bufio.NewReader(conn), nil); err != nil {
			t.Fatal(err)
		}
		idle = append(idle, conn)
	}
	late, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer late.Close()
	if _, err := io.WriteString(late, "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	answered := make(chan error, 1)
	go func() {
		_, err := http.ReadResponse(bufio.NewReader(late), nil)
		answered <- err
	}()
	select {
	case err := <-answered:
		t.Fatalf("a fourth connection is answered: %v", err)
	case <-time.After(200 * time.Millisecond): // that it is not cannot be waited for otherwise
	}
	if err := idle[0].Close(); err != nil {
		t.Fatal(err)
	}
	if err := <-answered; err != nil {
		t.Fatalf("the fourth connection is not answered once another one has ended: %v", err)
	}
}
