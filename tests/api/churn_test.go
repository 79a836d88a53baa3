package api_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/fanfold/fanfold/access"
	"github.com/fanfold/fanfold/tests/harness"
	"github.com/fanfold/fanfold/tests/natsserver"
	"github.com/fanfold/fanfold/tests/suite"
)

// churn is three nodes whose keys change at random while streams follow them.
type churn struct {
	t     *testing.T
	nodes []*harness.Store
	wg    sync.WaitGroup

	mu    sync.Mutex
	tails []string // of streams that have ended: their last line, and what came after it
}

// follow reads the changes of a node with a key until the stream ends, and notes its end. ready is told once it is open.
func (c *churn) follow(s *harness.Store, key string, ready func()) {
	req, err := http.NewRequestWithContext(c.t.Context(), http.MethodGet, s.URL+"/v1/_changes?feed=continuous&since=now&heartbeat=1000", nil)
	if err != nil {
		c.t.Error(err)
		ready()
		return
	}
	req.Header.Set("Authorization", "Bearer "+key)
	resp, err := http.DefaultClient.Do(req)
	ready()
	if err != nil {
		c.t.Error(err)
		return
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return // the key ended before the stream began
	}
	last, after := "", ""
	for lines := bufio.NewScanner(resp.Body); lines.Scan(); {
		if strings.Contains(last, `"end"`) {
			after += lines.Text()
		}
		last = lines.Text()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.tails = append(c.tails, last+after)
}

// write puts documents of one node until ctx ends, one each pause.
func (c *churn) write(ctx context.Context, s *harness.Store, pause time.Duration) {
	tick := time.NewTicker(pause)
	defer tick.Stop()
	for n := 0; ; n++ {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
		if r, err := s.Do(http.MethodPut, fmt.Sprintf("/v1/books/%s-%d", s.URL[len(s.URL)-5:], n), []byte(`{}`)); err != nil || r.Status != http.StatusCreated {
			c.t.Errorf("a write while keys change: %v, %v", r, err)
			return
		}
	}
}

// end takes the right to read from a key at one node, in one of the ways that there are, and waits for the answer. The key lets
// nobody in after that, or lets in without the right.
func (c *churn) end(at *harness.Store, how int, id string) {
	path := "/v1/_keys/" + id
	switch how {
	case 0:
		at.Want(http.StatusNoContent, "DELETE", path, "")
	case 1:
		at.Want(http.StatusOK, "POST", path+"/_rotate", `{"overlap":"0s"}`)
	case 2:
		at.Want(http.StatusOK, "PATCH", path, `{"roles":["other"]}`, "Content-Type", "application/merge-patch+json")
	default:
		at.Want(http.StatusOK, "PATCH", path, `{"expires":"`+time.Now().Add(300*time.Millisecond).UTC().Format(time.RFC3339Nano)+`"}`, "Content-Type", "application/merge-patch+json")
	}
}

// TestKeysChurn: while three nodes are written to and followed, keys are made, revoked, rotated, changed and expire at random.
// Every stream ends by itself once its key has, with nothing after the end, and no node lets the key read from then on. Under -full
// that takes 1 s at most.
func TestKeysChurn(t *testing.T) {
	suite.Concurrent(t)
	streams, lasting, pause := suite.Amount(9, 100), suite.Amount(4*time.Second, time.Minute), suite.Amount(60*time.Millisecond, 6*time.Millisecond)
	url := natsserver.Start(t, 1)[0]
	c := &churn{t: t}
	for range 3 {
		c.nodes = append(c.nodes, openNode(t, url, nil))
	}
	harness.AwaitReady(t, c.nodes[0], http.StatusOK)
	c.nodes[0].CloseHouse()
	for _, s := range c.nodes[1:] {
		s.Key = c.nodes[0].Key
		harness.Await(t, "the node to know the key", harness.WaitTime, func() bool { return entered(t, s, s.Key) })
	}
	ctx, cancel := context.WithCancel(t.Context())
	var writers sync.WaitGroup
	for _, s := range c.nodes {
		writers.Go(func() { c.write(ctx, s, pause) })
	}
	var longest time.Duration
	begun := 0
	for until := time.Now().Add(lasting); time.Now().Before(until); {
		var keys []access.Key
		var open sync.WaitGroup
		for n := range streams {
			key, err := access.ParseKey(c.nodes[n%3].NewKey("read"))
			if err != nil {
				t.Fatal(err)
			}
			keys = append(keys, key)
			s := c.nodes[rand.IntN(3)]
			harness.Await(t, "the node to know a new key", harness.WaitTime, func() bool { return entered(t, s, key.Text()) })
			open.Add(1)
			c.wg.Go(func() { c.follow(s, key.Text(), open.Done) })
			begun++
		}
		open.Wait()
		for n, key := range keys {
			at, how := c.nodes[rand.IntN(3)], rand.IntN(4)
			c.end(at, how, key.ID)
			answered := time.Now()
			for _, s := range c.nodes {
				harness.Await(t, "the key to end", harness.WaitTime, func() bool {
					r, err := s.With(key.Text()).Do(http.MethodGet, "/v1/books?limit=1", nil)
					return err == nil && (r.Status == http.StatusUnauthorized || r.Status == http.StatusForbidden)
				})
			}
			if took := time.Since(answered); how < 3 && took > longest {
				longest = took
			}
			if n%5 == 0 { // a revoked key can be forgotten
				if r, err := at.Do(http.MethodDelete, "/v1/_keys/"+key.ID, nil); err != nil || r.Status != http.StatusNoContent {
					t.Errorf("%v, %v", r, err)
				}
			}
		}
	}
	ended := make(chan struct{})
	go func() { c.wg.Wait(); close(ended) }()
	select {
	case <-ended:
	case <-time.After(suite.Deadline(harness.WaitTime)):
		t.Fatal("streams go on whose keys have ended")
	}
	cancel()
	writers.Wait()
	for _, tail := range c.tails {
		var end struct {
			End string `json:"end"`
		}
		if json.Unmarshal([]byte(tail), &end) != nil || end.End != "rights-changed" {
			t.Errorf("a stream ends with %.300s", tail)
		}
	}
	t.Logf("%d of %d streams were open; after the answer, all nodes refused a key within %v", len(c.tails), begun, longest)
	if suite.Amount(0, 1) == 1 && longest > time.Second {
		t.Errorf("a node let in with an ended key %v after the answer", longest)
	}
}
