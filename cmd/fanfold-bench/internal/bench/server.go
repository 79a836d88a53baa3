package bench

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// server is a process of its own, so that what it takes can be told from what its clients take.
type server struct {
	cmd  *exec.Cmd
	addr string
}

// serving finds where a node says that it listens.
var serving = regexp.MustCompile(`url=http://(\S+)`)

// self returns a command that runs this program once more.
func self(ctx context.Context, args ...string) (*exec.Cmd, error) {
	program, err := os.Executable()
	return exec.CommandContext(ctx, program, args...), err
}

// startServer runs a node over dir, and returns when it is ready. The caller stops it.
// args are more of its flags.
func startServer(ctx context.Context, dir string, args ...string) (*server, error) {
	cmd, err := self(ctx, append([]string{"serve", "--data", dir, "--listen", "127.0.0.1:0"}, args...)...)
	if err != nil {
		return nil, err
	}
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	out, err := cmd.StderrPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	said := bufio.NewScanner(out)
	for said.Scan() {
		if at := serving.FindStringSubmatch(said.Text()); at != nil {
			go func() {
				for said.Scan() { // it is not to wait for a reader
				}
			}()
			return &server{cmd: cmd, addr: at[1]}, nil
		}
	}
	return nil, errors.Join(errors.New("the server did not come up"), cmd.Wait())
}

// stop ends the server, and waits for its end.
func (s *server) stop() error {
	_ = s.cmd.Process.Signal(syscall.SIGTERM)
	return s.cmd.Wait()
}

// cpu returns how much processor time the server has taken.
func (s *server) cpu() time.Duration {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", s.cmd.Process.Pid))
	if err != nil {
		return 0 // the system does not say
	}
	_, rest, _ := strings.Cut(string(text), ") ")
	fields := strings.Fields(rest)
	if len(fields) < 13 {
		return 0
	}
	user, _ := strconv.Atoi(fields[11])
	system, _ := strconv.Atoi(fields[12])
	return time.Duration(user+system) * 10 * time.Millisecond // ticks; there are 100 a second
}

// memory returns how much memory the server has now, in KiB; 0 where the system does not say.
func (s *server) memory() (kib int) { return s.status("VmRSS:") }

// ownMemory returns how much of it is not pages of files, in KiB.
func (s *server) ownMemory() (kib int) { return s.status("RssAnon:") }

// status returns a number that the system keeps of the process; 0 where it does not.
func (s *server) status(name string) (value int) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", s.cmd.Process.Pid))
	if err != nil {
		return 0
	}
	_, rest, _ := strings.Cut(string(text), name)
	_, _ = fmt.Sscan(rest, &value) // 0 if it is not there
	return value
}

// Nodes are servers on one log, each a process of its own.
type Nodes struct {
	servers []*server
	dir     string // of the first
}

// StartNodes runs count nodes, with directories below dir, and returns when all are ready. Their log is on the
// NATS servers of url, with so many replicas; where that is "", there is one node with a log of its own. The caller stops them.
func StartNodes(ctx context.Context, dir, url string, count, replicas int) (n *Nodes, err error) {
	n = &Nodes{dir: filepath.Join(dir, "0")}
	var args []string
	if url != "" {
		args = []string{"--nats", url, "--replicas", strconv.Itoa(replicas)}
	}
	for i := range count {
		s, err := startServer(ctx, filepath.Join(dir, strconv.Itoa(i)), args...)
		if err != nil {
			return nil, errors.Join(err, n.Stop())
		}
		n.servers = append(n.servers, s)
	}
	return n, nil
}

// URL returns the URL of a node's API.
func (n *Nodes) URL(i int) string { return "http://" + n.servers[i].addr }

// Stop ends the nodes, the last one first, and waits for their ends.
func (n *Nodes) Stop() (err error) {
	for i := len(n.servers) - 1; i >= 0; i-- {
		err = errors.Join(err, n.servers[i].stop())
	}
	return err
}

// cpu returns how much processor time each node has taken.
func (n *Nodes) cpu() (times []time.Duration) {
	for _, s := range n.servers {
		times = append(times, s.cpu())
	}
	return times
}

// rows returns how many bytes the first node's read model has on the disk, SQLite's log included.
func (n *Nodes) rows() int64 {
	size, err := diskUse(filepath.Join(n.dir, "readmodel"))
	if err != nil {
		return 0 // a file that cannot be looked at
	}
	return size
}

// mostRows watches what fn needs of the disk beside what the first node's read model has, and returns the most of it, with fn's
// error.
func (n *Nodes) mostRows(fn func() error) (most int64, err error) {
	before, done := n.rows(), make(chan struct{})
	var watch sync.WaitGroup
	watch.Go(func() {
		tick := time.NewTicker(20 * time.Millisecond)
		defer tick.Stop()
		for {
			most = max(most, n.rows()-before)
			select {
			case <-tick.C:
			case <-done:
				return
			}
		}
	})
	err = fn()
	close(done)
	watch.Wait()
	return most, err
}
