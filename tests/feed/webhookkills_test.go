package feed_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"sync"
	"syscall"
	"testing"

	"github.com/fanfold/fanfold/tests/harness"
	"github.com/fanfold/fanfold/tests/suite"
)

// TestWebhookKills: the node is killed while a receiver has a batch and has not answered, again and again. Every change is posted, and in order within a
// partition. A batch may come again.
func TestWebhookKills(t *testing.T) {
	suite.Parallel(t)
	dir, to := t.TempDir(), newReceiver(t)
	start := func() *harness.Process {
		return harness.StartProcess(t, "--data", dir, "--durability", "interval", "--webhook-allow", "127.0.0.0/8")
	}
	p := start()
	const rounds, each = 6, 25
	var unanswered sync.Map // the ids of posts that had no answer
	made(t, p.Client, "g", to.URL, `,"partitions":4,"lease":"1s","maxAttempts":1000`)
	for round := range rounds {
		posting, killed := make(chan struct{}), make(chan struct{})
		to.answers(func(_ http.ResponseWriter, r *http.Request) { // the first post of the round waits for the kill
			unanswered.Store(r.Header.Get("webhook-id"), true)
			select {
			case posting <- struct{}{}:
				<-killed
			case <-killed:
			}
			panic(http.ErrAbortHandler)
		})
		for i := range each {
			p.Put("books", fmt.Sprintf("b%d-%d", round, i), `{"n":1}`)
		}
		<-posting
		p.Signal(syscall.SIGKILL)
		to.answers(nil)
		close(killed)
		p = start()
	}
	awaitDone(t, p.Client, "g")
	order := map[string]int{}
	rows, _ := p.Changes("since=0&mode=all")
	for i, row := range rows {
		order[row.Seq] = i
	}
	seen, answered, highest := map[string]bool{}, map[string]bool{}, map[string]int{}
	for _, post := range to.all() {
		partition := post.header.Get("Fanfold-Partition")
		var batch struct{ Results []harness.Change }
		if err := json.Unmarshal(post.body, &batch); err != nil {
			t.Fatal(err)
		}
		_, lost := unanswered.LoadAndDelete(post.header.Get("webhook-id"))
		last := -1
		for _, row := range batch.Results {
			at, known := order[row.Seq]
			before, any := highest[partition]
			switch {
			case !known:
				t.Errorf("change %s is not in the feed", row.Seq)
			case at <= last:
				t.Errorf("a batch of partition %s is not in order: %s", partition, post.body)
			case !seen[row.Seq] && any && at < before:
				t.Errorf("change %s of partition %s comes after a later one", row.Seq, partition)
			}
			last = at
			seen[row.Seq], highest[partition] = true, max(before, at)
			answered[row.Seq] = answered[row.Seq] || !lost
		}
	}
	for _, row := range rows {
		if !answered[row.Seq] {
			t.Errorf("no post of change %s was answered", row.Seq)
		}
	}
	if len(rows) != rounds*each {
		t.Errorf("%d changes of %d documents", len(rows), rounds*each)
	}
	t.Logf("%d posts of %d changes", len(to.all()), len(rows))
}
