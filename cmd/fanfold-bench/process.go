package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/fanfold/fanfold/client"
	"github.com/fanfold/fanfold/internal/memory"
	"github.com/fanfold/fanfold/node"
	"github.com/fanfold/fanfold/projector/rebuild"
)

// A process of its own that is measured is this program, which serves and replays as fanfold does. So what it takes can be told from what
// its clients take.

// serveCommand returns the command that runs a node, as fanfold serve does.
func serveCommand() *cobra.Command {
	cfg := node.Config{Durability: "always"}
	cmd := &cobra.Command{Use: "serve", Hidden: true, Args: cobra.NoArgs}
	f := cmd.Flags()
	f.StringVar(&cfg.Data, "data", "", "directory for the log and the read model")
	f.StringVar(&cfg.Listen, "listen", "", "address of the HTTP API")
	f.StringVar(&cfg.NATS, "nats", "", "URL of NATS servers to keep the log on")
	f.IntVar(&cfg.Replicas, "replicas", 0, "replicas of the log on them")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		cfg.Logger = slog.New(slog.NewTextHandler(os.Stderr, nil))
		defer memory.Reserve()()
		n, err := node.Open(cmd.Context(), cfg)
		if err != nil {
			return err
		}
		cfg.Logger.Info("ready", "url", n.URL())
		return n.Run(cmd.Context(), nil)
	}
	return cmd
}

// replayCommand returns the command that builds the read model of a directory anew, as fanfold replay --data does.
func replayCommand() *cobra.Command {
	var data string
	cmd := &cobra.Command{Use: "replay", Hidden: true, Args: cobra.NoArgs}
	cmd.Flags().StringVar(&data, "data", "", "directory of a server that is not running")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		debug.SetGCPercent(40) // as fanfold replay --data does
		n, err := open(cmd.Context(), data)
		if err != nil {
			return err
		}
		last, err := n.Log.LastSeq(cmd.Context())
		if err == nil {
			err = n.Projector.Rebuild(cmd.Context(), rebuild.ReplayTo(last))
		}
		if p := n.Projector.Status().Replay; err == nil {
			_, err = fmt.Fprintf(cmd.OutOrStdout(), "%d events in %f s, %d MB\n", p.Seq, p.Seconds, memoryOf(os.Getpid(), "VmHWM")/1024)
		}
		return errors.Join(err, n.Close())
	}
	return cmd
}

// open returns a node over the files in dir; the caller runs or closes it. change may change its configuration.
func open(ctx context.Context, dir string, change ...func(cfg *node.Config)) (*node.Node, error) {
	logger := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
	cfg := node.Config{Data: dir, Listen: "127.0.0.1:0", Durability: "always", Logger: logger}
	for _, c := range change {
		c(&cfg)
	}
	return node.Open(ctx, cfg)
}

// withClient calls fn with a client of the node at url, which sends each request once.
func withClient(url string, fn func(c *client.Client) error) error {
	c, err := client.New(url, client.Options{RetryFor: -1, NoKeys: true})
	if err != nil {
		return err
	}
	defer c.Close()
	return fn(c)
}

// replay runs one replay, and returns how many events it folded, how long that took, and the most memory that its
// process had, in MB.
func replay(ctx context.Context, dir string) (events int, seconds float64, peak int, err error) {
	cmd, err := self(ctx, "replay", "--data", dir)
	if err != nil {
		return 0, 0, 0, err
	}
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Run(); err != nil {
		return 0, 0, 0, fmt.Errorf("%w: %s", err, out.Bytes())
	}
	if _, err := fmt.Sscanf(out.String(), "%d events in %f s, %d MB", &events, &seconds, &peak); err != nil {
		return 0, 0, 0, fmt.Errorf("unexpected output %q: %w", out.Bytes(), err)
	}
	return events, seconds, peak, nil
}

// server is a node in a process of its own.
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

// withServer calls fn with a node over dir.
func withServer(ctx context.Context, dir string, fn func(s *server) error) error {
	s, err := startServer(ctx, dir)
	if err != nil {
		return err
	}
	return errors.Join(fn(s), s.stop())
}

// url returns the URL of the node's API.
func (s *server) url() string { return "http://" + s.addr }

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

// memoryOf returns how much memory a process has, in KiB: VmRSS now, RssAnon without pages of files, VmHWM at most so far. It is 0
// where the system does not say.
func memoryOf(pid int, name string) (kib int) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0
	}
	_, rest, _ := strings.Cut(string(text), name+":")
	_, _ = fmt.Sscan(rest, &kib) // 0 if it is not there
	return kib
}

// memory returns how much memory the server has, as memoryOf does.
func (s *server) memory(name string) (kib int) { return memoryOf(s.cmd.Process.Pid, name) }

// nodes are servers on one log, each a process of its own.
type nodes struct {
	servers []*server
	dir     string // of the first
}

// startNodes runs nodes with directories below dir, and returns when all are ready. Their log is on the NATS servers that are wanted;
// without any there is one node with a log of its own. The caller stops them.
func startNodes(ctx context.Context, dir string, wanted nodesWanted) (n *nodes, err error) {
	n = &nodes{dir: filepath.Join(dir, "0")}
	var args []string
	if wanted.nats != "" {
		args = []string{"--nats", wanted.nats, "--replicas", strconv.Itoa(wanted.replicas)}
	}
	for i := range wanted.count {
		s, err := startServer(ctx, filepath.Join(dir, strconv.Itoa(i)), args...)
		if err != nil {
			return nil, errors.Join(err, n.stop())
		}
		n.servers = append(n.servers, s)
	}
	return n, nil
}

// stop ends the nodes, the last one first, and waits for their ends.
func (n *nodes) stop() (err error) {
	for i := len(n.servers) - 1; i >= 0; i-- {
		err = errors.Join(err, n.servers[i].stop())
	}
	return err
}

// cpu returns how much processor time each node has taken.
func (n *nodes) cpu() (times []time.Duration) {
	for _, s := range n.servers {
		times = append(times, s.cpu())
	}
	return times
}

// mostRows watches what fn needs of the disk beside what the first node's read model has, and returns the most of it, with fn's
// error.
func (n *nodes) mostRows(fn func() error) (most int64, err error) {
	rows := func() int64 {
		size, _ := diskUse(filepath.Join(n.dir, "readmodel")) // SQLite's log included; 0 where a file cannot be looked at
		return size
	}
	before, done := rows(), make(chan struct{})
	var watch sync.WaitGroup
	watch.Go(func() {
		tick := time.NewTicker(20 * time.Millisecond)
		defer tick.Stop()
		for {
			most = max(most, rows()-before)
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

// caughtUp returns once every node shows everything acknowledged before.
func (n *nodes) caughtUp(ctx context.Context) error {
	web := &http.Client{Transport: &http.Transport{}}
	defer web.CloseIdleConnections()
	for i := 0; i < len(n.servers); {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, n.servers[i].url()+"/v1/books/0?consistency=strong", http.NoBody)
		if err != nil {
			return err
		}
		req.Header.Set("Fanfold-Timeout", "60")
		status, _, err := answer(web, req, http.StatusOK, http.StatusNotFound, http.StatusGatewayTimeout)
		if err != nil {
			return err
		}
		if status != http.StatusGatewayTimeout { // else it is asked again
			i++
		}
	}
	return nil
}

// storeDisk returns how many bytes the log and the read model below dir have on the disk.
func storeDisk(dir string) (log, rows int64, err error) {
	log, err = diskUse(filepath.Join(dir, "nats"))
	if err == nil {
		rows, err = diskUse(filepath.Join(dir, "readmodel"))
	}
	return log, rows, err
}

// diskUse returns how many bytes the files below dir have. A file that goes meanwhile is passed over.
func diskUse(dir string) (size int64, err error) {
	err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && !strings.HasSuffix(path, "-shm") {
			var info fs.FileInfo
			if info, err = d.Info(); err == nil {
				size += info.Size()
			}
		}
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return err
	})
	return size, err
}
