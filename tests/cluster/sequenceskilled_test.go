package cluster_test

import (
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/fanfold/fanfold/tests/harness"
	"github.com/fanfold/fanfold/tests/natsserver"
	"github.com/fanfold/fanfold/tests/suite"
)

// TestSequencesAndKills: writers create documents on three processes, and send a request again where its outcome is unknown. One process is killed
// meanwhile, and started again. The documents have the numbers from 1 on in the order of the log, none twice, none left out.
func TestSequencesAndKills(t *testing.T) {
	suite.Parallel(t)
	const count, writers, each = 3, 6, 20
	args, nodes, url := make([][]string, count), make([]*harness.Process, count), natsserver.Start(t, 1)[0]
	for i := range nodes {
		args[i] = []string{"--data", t.TempDir(), "--nats", url}
		nodes[i] = harness.StartProcess(t, args[i]...)
	}
	made := nodes[0].Model(`collections: {orders: {sequences: {n: {}, of: {per: doc.w}}}}`).Header.Get("Fanfold-Position")
	for _, n := range nodes {
		n.Want(http.StatusOK, http.MethodGet, "/v1/orders", "", "Fanfold-Min-Position", made, "Fanfold-Timeout", "60")
	}
	var stored atomic.Int64
	var all sync.WaitGroup
	half, once := make(chan struct{}), sync.Once{}
	for w := range writers {
		all.Go(func() {
			for i := range each {
				body := fmt.Appendf(nil, `{"id":"%d-%d","w":%d}`, w, i, w%2)
				for node := w; ; node++ { // the next one, where this one is killed
					r, err := nodes[node%count].Do(http.MethodPost, "/v1/orders", body, "Idempotency-Key", fmt.Sprintf("%d-%d", w, i), "Fanfold-Timeout", "60")
					if err == nil && (r.Status == http.StatusCreated || r.Status == http.StatusAccepted) { // folded, or stored on a busy machine
						break
					}
					if err == nil && r.Status < http.StatusInternalServerError || node > 5000 {
						t.Errorf("%v %+v", err, r)
						return
					}
				}
				if stored.Add(1) == writers*each/3 {
					once.Do(func() { close(half) })
				}
			}
		})
	}
	<-half
	nodes[count-1].Signal(syscall.SIGKILL)
	all.Wait()
	nodes[count-1] = harness.StartProcess(t, args[count-1]...)
	last := nodes[0].Put("others", "x", `{}`).Header.Get("Fanfold-Position")
	number := regexp.MustCompile(`"w":([01]),"n":(\d+),"of":(\d+)`)
	for _, n := range nodes {
		n.Want(http.StatusOK, http.MethodGet, "/v1/orders", "", "Fanfold-Min-Position", last, "Fanfold-Timeout", "60")
		rows := number.FindAllStringSubmatch(string(n.Want(http.StatusOK, http.MethodGet, "/v1/_changes?since=0&include_docs=true&collections=orders&limit=10000", "").Body), -1)
		of := map[string]int{}
		for i, row := range rows {
			if of[row[1]]++; row[2] != fmt.Sprint(i+1) || row[3] != fmt.Sprint(of[row[1]]) {
				t.Fatalf("document %d of the log has %s", i+1, row[0])
			}
		}
		if len(rows) != writers*each {
			t.Errorf("%d documents are there, want %d", len(rows), writers*each)
		}
		n.Verify(t)
	}
	if r := nodes[0].Want(http.StatusOK, http.MethodGet, "/v1/_sequences", ""); !strings.Contains(string(r.Body), fmt.Sprintf(`"path":"n","last":%d`, writers*each)) {
		t.Errorf("the last numbers are %s", r.Body)
	}
}
