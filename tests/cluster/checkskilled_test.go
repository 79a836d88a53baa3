package cluster_test

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/fanfold/fanfold/tests/harness"
	"github.com/fanfold/fanfold/tests/natsserver"
	"github.com/fanfold/fanfold/tests/suite"
)

// TestChecksAndKills: buyers ask for seats on one, two and three processes. One process is killed meanwhile, and started again. No event of the
// log has sold more seats than there are, each answer is true, and in the end all are sold.
func TestChecksAndKills(t *testing.T) {
	suite.Parallel(t)
	for count := 1; count <= 3; count++ {
		t.Run(strconv.Itoa(count), func(t *testing.T) { checksAndKills(t, count) })
	}
}

func checksAndKills(t *testing.T, count int) {
	args := make([][]string, count)
	nodes := make([]*harness.Process, count)
	url := natsserver.Start(t, 1)[0]
	for i := range nodes {
		args[i] = []string{"--data", t.TempDir()}
		if count > 1 {
			args[i] = append(args[i], "--nats", url)
		}
		nodes[i] = harness.StartProcess(t, args[i]...)
	}
	nodes[0].Model(`collections: {events: {derive: {sold: {sum: orders.event, of: n}}, checks: {notOversold: {that: doc.sold <= doc.seats}}}, orders: {relations: {event: {path: event, to: events}}}}`)
	const seats = 60
	made := nodes[0].Put("events", "e", fmt.Sprintf(`{"seats":%d}`, seats)).Header.Get("Fanfold-Position")
	for _, n := range nodes {
		n.Want(http.StatusOK, http.MethodGet, "/v1/events", "", "Fanfold-Min-Position", made)
	}
	var sold atomic.Int64
	var buyers sync.WaitGroup
	half := make(chan struct{})
	var once sync.Once
	for b := range 8 {
		buyers.Go(func() {
			for i := range 12 {
				if sold.Load() >= seats/3 {
					once.Do(func() { close(half) })
				}
				r, err := nodes[b%count].Do(http.MethodPut, fmt.Sprintf("/v1/orders/%d-%d", b, i), []byte(`{"event":"e","n":1}`))
				switch {
				case err != nil: // its node is killed: nobody knows
				case r.Status == http.StatusCreated:
					sold.Add(1)
				case r.Status == http.StatusUnprocessableEntity && strings.Contains(string(r.Body), "events/e notOversold"), r.Status == http.StatusServiceUnavailable:
				default:
					t.Errorf("%d %s", r.Status, r.Body)
				}
			}
		})
	}
	<-half
	last := count - 1
	nodes[last].Signal(syscall.SIGKILL)
	buyers.Wait()
	nodes[last] = harness.StartProcess(t, args[last]...)
	for i := range seats { // whoever is left
		r, err := nodes[i%count].Do(http.MethodPut, fmt.Sprintf("/v1/orders/late-%d", i), []byte(`{"event":"e","n":1}`))
		if err != nil || r.Status != http.StatusCreated && r.Status != http.StatusUnprocessableEntity {
			t.Fatalf("%v %+v", err, r)
		}
	}
	for _, n := range nodes {
		if r := n.Want(http.StatusOK, http.MethodGet, "/v1/events/e?consistency=strong", ""); !strings.Contains(string(r.Body), fmt.Sprintf(`"sold":%d`, seats)) {
			t.Errorf("in the end the event is %s", r.Body)
		}
		n.Verify(t)
	}
	rows := 0
	for row := range strings.SplitSeq(string(nodes[0].Want(http.StatusOK, http.MethodGet, "/v1/_changes?since=0&mode=all&include_docs=true&collections=events&limit=10000", "").Body), `{"seq"`) {
		_, number, found := strings.Cut(row, `"sold":`)
		if !found {
			continue
		}
		rows++
		number = number[:strings.IndexAny(number, ",}")]
		if n, err := strconv.Atoi(number); err != nil || n > seats {
			t.Errorf("%s are sold: %s", number, row)
		}
	}
	if rows < seats {
		t.Errorf("the feed has %d rows", rows)
	}
}
