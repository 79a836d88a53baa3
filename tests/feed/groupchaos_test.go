package feed_test

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/node"
	"github.com/fanfold/fanfold/tests/consumer"
	"github.com/fanfold/fanfold/tests/harness"
	"github.com/fanfold/fanfold/tests/natsserver"
	"github.com/fanfold/fanfold/tests/suite"
)

// memberProcess is a member that runs.
type memberProcess struct {
	cmd    *exec.Cmd
	frozen bool
}

// startMember starts a member in a process of its own.
func startMember(t *testing.T, setting string) *memberProcess {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), consumer.Env+"="+setting)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return &memberProcess{cmd: cmd}
}

// kill ends a member at once.
func (m *memberProcess) kill() {
	_ = m.cmd.Process.Kill()
	_ = m.cmd.Wait()
}

// TestGroupUnderChaos: eight members and the posts of two nodes share 16 partitions. Members are killed, frozen and started at random, and posts fail or
// lose their answers, while 500 changes a second come. Every change is handled at least once, and a document's in their order.
func TestGroupUnderChaos(t *testing.T) {
	suite.Parallel(t)
	long := suite.Begin(t, suite.ShareGroups).Left()
	nats := natsserver.Start(t, 1)[0]
	var nodes []*harness.Store
	for range 2 {
		n := harness.Open(t, harness.Options{Dir: t.TempDir(), NATS: nats, Configure: func(cfg *node.Config) { cfg.WebhookAllow = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")} }})
		defer n.Close()
		harness.AwaitReady(t, n, http.StatusOK)
		nodes = append(nodes, n)
	}
	c := &consumer.Collector{Last: map[string]fanfold.Position{}, Times: map[string]int{}, Members: map[string]bool{}}
	target, posts := httptest.NewServer(c), httptest.NewServer(http.HandlerFunc(c.TakePost))
	defer target.Close()
	defer posts.Close()
	nodes[0].Want(http.StatusOK, "PUT", consumer.Group,
		fmt.Sprintf(`{"partitions":%d,"lease":"%v","maxAttempts":1000,"push":{"url":%q}}`, consumer.Partitions, consumer.Lease, posts.URL))
	nodes[0].Put("docs", "first", `{}`)
	for deadline := time.Now().Add(suite.Deadline(time.Minute)); !c.Handles(consumer.Pushed); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("the nodes post nothing")
		}
	}
	setting := func(n int) string { return fmt.Sprintf("m%d %s %s %s", n, target.URL, nodes[0].URL, nodes[1].URL) }
	chaos := &memberChaos{t: t, setting: setting}
	for range 8 {
		chaos.start()
	}
	defer chaos.end()
	writing := time.Now()
	stop := time.After(long)
	written, wrote := writeAtRate(t, nodes, 500, stop)
	for running := true; running; {
		select {
		case <-wrote:
			running = false
		case <-time.After(time.Duration(100+rand.IntN(500)) * time.Millisecond):
			chaos.act()
		}
	}
	rate := float64(written.Load()) / time.Since(writing).Seconds()
	chaos.thaw()
	nodes[0].CatchUp() // it counts how far the group lags by what it has folded itself
	for deadline := time.Now().Add(suite.Deadline(2 * time.Minute)); ; {
		d := harness.DescribeGroup(t, nodes[0].Client, "chaos")
		if d.Lag.Changes != nil && *d.Lag.Changes == 0 {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("the group does not come to its end: %+v", d)
		}
	}
	rows, _ := nodes[0].Changes("since=0&mode=all")
	c.Mu.Lock()
	defer c.Mu.Unlock()
	missing, twice := c.Count(rows)
	if missing > 0 || len(c.Wrong) > 0 || len(c.Times) != len(rows) || int64(len(rows)) != written.Load()+1 {
		t.Fatalf("of %d changes %d are missing, and wrong are %s", len(rows), missing, strings.Join(c.Wrong[:min(len(c.Wrong), 5)], "; "))
	}
	fmt.Printf("%s: %d changes, %.0f a second; %d handled more than once, %d refused because their lease was old; %s\n", t.Name(), len(rows), rate, twice, c.Late, chaos)
	if len(c.Members) < 2 { // how many more have had a partition is left to chance
		t.Errorf("%d members have handled something", len(c.Members))
	}
	suite.Done(int64(len(rows)), "changes handled by a consumer group under chaos")
}

// memberChaos kills, freezes and starts members.
type memberChaos struct {
	t                      *testing.T
	setting                func(n int) string
	members                []*memberProcess
	killed, froze, started int
}

// String says what was done.
func (c *memberChaos) String() string {
	return fmt.Sprintf("%d members started, %d killed, %d frozen", c.started, c.killed, c.froze)
}

// start starts one more member.
func (c *memberChaos) start() {
	c.started++
	c.members = append(c.members, startMember(c.t, c.setting(c.started)))
}

// act does one thing to one member.
func (c *memberChaos) act() {
	i := rand.IntN(len(c.members))
	m := c.members[i]
	switch n := rand.IntN(5); {
	case m.frozen:
		m.frozen = false
		_ = m.cmd.Process.Signal(syscall.SIGCONT)
	case n == 0:
		m.kill()
		c.killed++
		c.members = append(c.members[:i], c.members[i+1:]...)
		if len(c.members) < 6 {
			c.start()
		}
	case n == 1 && len(c.members) < 8:
		c.start()
	case n >= 2:
		m.frozen = true
		c.froze++
		_ = m.cmd.Process.Signal(syscall.SIGSTOP)
	}
}

// thaw lets all members run.
func (c *memberChaos) thaw() {
	for _, m := range c.members {
		_ = m.cmd.Process.Signal(syscall.SIGCONT)
	}
}

// end ends all members.
func (c *memberChaos) end() {
	for _, m := range c.members {
		m.kill()
	}
}

// writeAtRate writes documents through all nodes at a rate, in writes a second, until stop. It returns how many it has written,
// and a channel that is closed at the end.
func writeAtRate(t *testing.T, nodes []*harness.Store, rate int, stop <-chan time.Time) (written *atomic.Int64, done <-chan struct{}) {
	t.Helper()
	written = new(atomic.Int64)
	due, ended := make(chan int, rate), make(chan struct{})
	go func() {
		defer close(due)
		ticks := time.NewTicker(time.Second / time.Duration(rate))
		defer ticks.Stop()
		for n := 0; ; n++ {
			select {
			case <-ticks.C:
			case <-stop:
				return
			}
			select {
			case due <- n:
			case <-stop:
				return
			}
		}
	}()
	var wg sync.WaitGroup
	for range 32 {
		wg.Go(func() {
			for n := range due {
				r, err := nodes[n%len(nodes)].Do("PUT", harness.Path("docs", fmt.Sprint(rand.IntN(300))), fmt.Appendf(nil, `{"n":%d}`, n))
				if err != nil || r.Status >= 300 {
					t.Errorf("a write: %v, %+v", err, r)
					continue
				}
				written.Add(1)
			}
		})
	}
	go func() {
		wg.Wait()
		close(ended)
	}()
	return written, ended
}
