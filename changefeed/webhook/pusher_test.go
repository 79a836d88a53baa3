package webhook

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/changefeed/group"
	"github.com/fanfold/fanfold/internal/wire"
	"github.com/fanfold/fanfold/tests/suite"
)

// memoryGroups has the rows of the partitions of groups, and gives all leases to whoever asks.
type memoryGroups struct {
	mu    sync.Mutex
	parts int
	rows  []string          // of each partition, the same; the position of row i is i+1
	at    map[string]int    // by group and partition: rows that are acknowledged
	nacks map[string]string // likewise: why a batch failed last
	looks int               // requests for changes
	look  time.Duration     // that each takes
}

func (g *memoryGroups) Lease(_ context.Context, _, _ string, _ int) (leases []wire.Lease, err error) {
	for i := range g.parts {
		leases = append(leases, wire.Lease{Partition: i, Token: "1-x", Checkpoint: "0"})
	}
	return leases, nil
}

func (g *memoryGroups) Release(context.Context, string, int, string) error { return nil }
func (g *memoryGroups) Leave(context.Context, string, string) error        { return nil }

func (g *memoryGroups) ServeChanges(w http.ResponseWriter, _ *http.Request, asked group.Reading) error {
	time.Sleep(g.look)
	g.mu.Lock()
	g.looks++
	at := g.at[fmt.Sprint(asked.Group, asked.Partition)]
	rows := g.rows[at:min(len(g.rows), at+asked.Query.Limit)]
	g.mu.Unlock()
	for i, text := range append([]string{`{"results":[`}, rows...) {
		if i > 1 {
			text = "," + text
		}
		if _, err := io.WriteString(w, text+"\n"); err != nil {
			panic(http.ErrAbortHandler)
		}
	}
	if _, err := fmt.Fprintf(w, `],"last_seq":"%d"}`, at+len(rows)); err != nil {
		panic(http.ErrAbortHandler)
	}
	return nil
}

func (g *memoryGroups) Ack(_ context.Context, name string, b group.Batch) error {
	return g.settle(name, b, "")
}

func (g *memoryGroups) Nack(_ context.Context, name string, b group.Batch, why string) error {
	return g.settle(name, b, why)
}

// settle records what became of a batch. One that fails is parked at once.
func (g *memoryGroups) settle(name string, b group.Batch, why string) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	var at int
	if _, err := fmt.Sscan(b.Position, &at); err != nil {
		return fanfold.Errorf(fanfold.Invalid, "position %s", b.Position)
	}
	of := fmt.Sprint(name, b.Partition)
	g.at[of] = at
	if why != "" {
		g.nacks[of] = why
	}
	return nil
}

// done reports whether everything is acknowledged of some groups.
func (g *memoryGroups) done(groups int) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	done := 0
	for _, at := range g.at {
		if at == len(g.rows) {
			done++
		}
	}
	return done == groups*g.parts
}

// push runs a pusher of some groups until everything is acknowledged.
func (g *memoryGroups) push(t *testing.T, to http.HandlerFunc, groups int) *Pusher {
	t.Helper()
	server := httptest.NewServer(to)
	defer server.Close()
	g.at, g.nacks = map[string]int{}, map[string]string{}
	var targets []group.Target
	for i := range groups {
		targets = append(targets, group.Target{Name: fmt.Sprint("g", i, "-"), ID: fmt.Sprint(i), Lease: time.Minute, URL: server.URL, Secrets: []string{"whsec_" + strings.Repeat("QUJD", 8)}})
	}
	p := New(g, g, Options{Member: "m", Allow: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("::1/128")},
		Changed: func() <-chan struct{} { return nil }, Targets: func(context.Context) ([]group.Target, error) { return targets, nil }, Most: 10_000})
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- p.Run(ctx) }()
	for deadline := time.Now().Add(time.Minute); !g.done(groups); {
		if time.Now().After(deadline) {
			t.Fatalf("acknowledged is %v", g.at)
		}
		time.Sleep(time.Millisecond)
	}
	stop()
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	return p
}

// rowsOf returns rows of so many bytes.
func rowsOf(sizes ...int) (rows []string) {
	for i, size := range sizes {
		rows = append(rows, fmt.Sprintf(`{"seq":"%d","x":%q}`, i+1, strings.Repeat("x", size)))
	}
	return rows
}

// TestPostsAreBounded: a node has nodePosts posts at a time, a group groupPosts, and a partition one.
func TestPostsAreBounded(t *testing.T) {
	suite.Concurrent(t)
	for groups, most := range map[int]int{1: groupPosts, 5: nodePosts} {
		var mu sync.Mutex
		running, highest, parts := 0, 0, map[string]int{}
		full := make(chan struct{})
		g := &memoryGroups{parts: 6, rows: rowsOf(1, 1, 1)}
		g.push(t, func(w http.ResponseWriter, r *http.Request) {
			part := r.Header.Get("Fanfold-Group") + r.Header.Get("Fanfold-Partition")
			mu.Lock()
			running++
			parts[part]++
			if parts[part] > 1 {
				t.Errorf("%d posts of a partition at a time", parts[part])
			}
			if highest = max(highest, running); running == most {
				select {
				case <-full:
				default:
					close(full)
				}
			}
			mu.Unlock()
			<-full // the first ones wait until there are as many as may be
			mu.Lock()
			running--
			parts[part]--
			mu.Unlock()
			w.WriteHeader(http.StatusNoContent)
		}, groups)
		if highest != most {
			t.Errorf("%d groups: %d posts at a time, want %d", groups, highest, most)
		}
	}
}

// TestBatchesAreBounded: a post has at most maxRows changes, and more than one only where they fit. A change that is too large is parked, and what
// follows it comes.
func TestBatchesAreBounded(t *testing.T) {
	sizes := []int{4000, 4000, 4000, 50_000, 1, maxRow + 1, 2}
	for range 2 * maxRows {
		sizes = append(sizes, 3)
	}
	g := &memoryGroups{parts: 1, rows: rowsOf(sizes...)}
	var counts []int
	var last string
	p := g.push(t, func(w http.ResponseWriter, r *http.Request) {
		var in struct {
			Results []struct{ Seq string }
			Last    string `json:"last_seq"`
		}
		if err := json.NewDecoder(r.Body).Decode(&in); err != nil || in.Last != in.Results[len(in.Results)-1].Seq {
			t.Errorf("a post up to %s, %v", in.Last, err)
		}
		counts, last = append(counts, len(in.Results)), in.Last
		w.WriteHeader(http.StatusNoContent)
	}, 1)
	if got, want := fmt.Sprint(counts), "[2 1 1 1 100 100 1]"; got != want || last != fmt.Sprint(len(sizes)) {
		t.Errorf("posts have %s changes up to %s, want %s", got, last, want)
	}
	if why := g.nacks["g0-0"]; !strings.Contains(why, "larger") || p.Posts(TooLarge) != 1 {
		t.Errorf("the change that is too large failed %d times, with %q", p.Posts(TooLarge), why)
	}
}

// TestLooksAreBounded: looks for changes take a bounded part of one core's time, however many partitions a node has and however often something is folded.
// A few partitions are looked at soon.
func TestLooksAreBounded(t *testing.T) {
	const look = 2 * time.Millisecond
	folded := make(chan struct{})
	close(folded) // again and again
	for parts, share := range map[int]time.Duration{2: 2 * look * time.Second / pace, 1000: time.Second * lookShare / 100} {
		synctest.Test(t, func(t *testing.T) {
			g := &memoryGroups{parts: parts, look: look}
			p := New(g, g, Options{Member: "m", Changed: func() <-chan struct{} { return folded }, Targets: func(context.Context) ([]group.Target, error) {
				return []group.Target{{Name: "g", ID: "1", Lease: time.Minute, URL: "https://receiver.example"}}, nil
			}})
			ctx, stop := context.WithCancel(t.Context())
			ended := make(chan error, 1)
			go func() { ended <- p.Run(ctx) }()
			const seconds = 100
			time.Sleep(seconds * time.Second)
			stop()
			if err := <-ended; err != nil {
				t.Fatal(err)
			}
			first := time.Duration(2*parts) * look // before it is known how long a look takes
			if took := time.Duration(g.looks) * look; took < seconds*share*9/10 || took > seconds*share+first {
				t.Errorf("%d looks at %d partitions took %v of %d s, want %v a second", g.looks, parts, took, seconds, share)
			}
			if n := p.all.Load(); n != 0 {
				t.Errorf("%d works run at the end", n)
			}
		})
	}
}
