package feed_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"sync"
	"syscall"
	"testing"
	"time"

	gosse "github.com/tmaxmax/go-sse"

	"github.com/fanfold/fanfold/tests/harness"
	"github.com/fanfold/fanfold/tests/suite"
)

// follower collects what a client of the change feed gets, in order.
type follower struct {
	t    *testing.T
	mu   sync.Mutex
	ids  []string
	beat string // the newest position of a heartbeat
	came chan struct{}
}

func newFollower(t *testing.T) *follower { return &follower{t: t, came: make(chan struct{}, 1)} }

// take takes the JSON of a change or a heartbeat.
func (f *follower) take(text []byte) {
	var row struct {
		ID      string
		LastSeq string `json:"last_seq"`
	}
	if err := json.Unmarshal(text, &row); err != nil {
		f.t.Errorf("%v in %q", err, text)
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if row.ID != "" {
		f.ids = append(f.ids, row.ID)
	} else {
		f.beat = row.LastSeq
	}
	select {
	case f.came <- struct{}{}:
	default:
	}
}

// await waits until the client has got a document's change.
func (f *follower) await(id string) {
	f.t.Helper()
	late := time.After(suite.Deadline(2 * time.Minute))
	for {
		f.mu.Lock()
		n, have := len(f.ids), len(f.ids) > 0 && f.ids[len(f.ids)-1] == id
		f.mu.Unlock()
		if have {
			return
		}
		select {
		case <-f.came:
		case <-late:
			f.t.Fatalf("the client has not got %s, but %d changes", id, n)
		}
	}
}

// surviving lets a client follow the feed of a server through a proxy while connections are cut and the server is killed,
// stopped and started again. It fails the test unless the client gets every change, in order, and no change again but the
// ones whose connections were cut just then.
func surviving(t *testing.T, p *proxy, start func(f *follower)) {
	dir := t.TempDir()
	server := harness.StartProcess(t, "--data", dir)
	p.forwardTo(server.URL)
	f := newFollower(t)
	start(f)
	const rounds, each = 5, 12
	n := 0
	write := func(count int) {
		for range count {
			n++
			server.Put("books", fmt.Sprintf("b%03d", n), `{"pad":"x"}`)
		}
	}
	for round := range rounds {
		write(each / 2)
		if round > 0 { // in the middle of what the client gets
			p.cut()
		}
		write(each / 2)
		f.await(fmt.Sprintf("b%03d", n))
		if round == 1 || round == 3 {
			server.Signal(map[int]syscall.Signal{1: syscall.SIGKILL, 3: syscall.SIGTERM}[round])
			server = harness.StartProcess(t, "--data", dir)
			p.forwardTo(server.URL)
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	next, again := 1, 0
	for _, id := range f.ids {
		var got int
		if _, err := fmt.Sscanf(id, "b%03d", &got); err != nil || got > next {
			t.Fatalf("%s came before b%03d: %v", id, next, f.ids)
		}
		if got < next {
			again++
			continue
		}
		next++
	}
	if next != n+1 || again > rounds*each/4 {
		t.Errorf("%d changes came of %d, and %d again", next-1, n, again)
	}
	t.Logf("%d changes, %d again, heartbeats up to %q", n, again, f.beat)
}

// TestGoClientSurvives: an ordinary client for server-sent events misses nothing.
func TestGoClientSurvives(t *testing.T) {
	suite.Parallel(t)
	p := newProxy(t, nil)
	surviving(t, p, func(f *follower) {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, p.URL+"/v1/_changes?feed=eventsource&mode=all&heartbeat=1000", nil)
		if err != nil {
			t.Fatal(err)
		}
		client := gosse.Client{Backoff: gosse.Backoff{InitialInterval: 20 * time.Millisecond, MaxInterval: time.Second}}
		conn := client.NewConnection(req)
		conn.SubscribeToAll(func(e gosse.Event) { f.take([]byte(e.Data)) })
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			_ = conn.Connect() // until the test has ended
		}()
		t.Cleanup(func() { <-ended })
	})
}
