package harness

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/fanfold/fanfold/tests/natsserver"
)

// programDir is where program has built the binary; "" where no test needed it.
var programDir string

// Program builds the fanfold binary once.
var Program = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "fanfold-test-")
	if err != nil {
		return "", err
	}
	programDir = dir
	path := filepath.Join(dir, "fanfold")
	out, err := exec.Command("go", "build", "-o", path, "github.com/fanfold/fanfold/cmd/fanfold").CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("%w: %s", err, out)
	}
	return path, nil
})

// Process is a real fanfold server.
type Process struct {
	*Client
	Cmd *exec.Cmd
	Log processLog
}

// HighWater is the most memory the process has taken, in MiB.
func (p *Process) HighWater(t *testing.T) int {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.Cmd.Process.Pid))
	if err != nil {
		t.Skipf("this system does not tell a process's memory: %v", err)
	}
	_, rest, _ := strings.Cut(string(text), "VmHWM:")
	kib, err := strconv.Atoi(strings.Fields(rest)[0])
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("the server took %d MiB at most", kib>>10)
	return kib >> 10
}

// Replay replays the log and waits for the end of that.
func (p *Process) Replay(t *testing.T) {
	t.Helper()
	p.Want(http.StatusAccepted, http.MethodPost, "/v1/_replay", "")
	for {
		var status struct{ Replay struct{ Running bool } }
		Decode(t, p.Want(http.StatusOK, http.MethodGet, "/v1/_status", "").Body, &status)
		if !status.Replay.Running {
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// Signal ends the process and waits for its end; it may have ended before.
func (p *Process) Signal(s syscall.Signal) {
	p.HTTP.CloseIdleConnections()
	_ = p.Cmd.Process.Signal(s)
	_ = p.Cmd.Wait()
}

// Verify fails the test unless verify finds nothing wrong.
func (p *Process) Verify(t *testing.T) {
	t.Helper()
	r := p.Want(http.StatusOK, "POST", "/v1/_verify", "")
	var v struct{ Wrong []json.RawMessage }
	if err := json.Unmarshal(r.Body, &v); err != nil || len(v.Wrong) > 0 {
		t.Fatalf("verify: %s %v", r.Body, err)
	}
}

// Applies tells whether fullShopModel applies; it fails the test where the process has ended.
func (p *Process) Applies(t *testing.T) bool {
	t.Helper()
	r, err := p.Do(http.MethodGet, "/v1/_model", nil)
	if err != nil {
		p.Log.end()
		t.Fatalf("the node has ended: %v", err)
	}
	return strings.Contains(string(r.Body), `"frozen":true`)
}

// Stop asks the process to end and wants it to have ended well.
func (p *Process) Stop(t *testing.T) {
	t.Helper()
	p.HTTP.CloseIdleConnections()
	if err := p.Cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	p.Log.end()
	if err := p.Cmd.Wait(); err != nil {
		t.Fatalf("the node ended with %v", err)
	}
}

// StartProcess runs `fanfold serve` on a free port of the loopback interface and waits until it is ready.
func StartProcess(t *testing.T, args ...string) *Process {
	t.Helper()
	return StartProcessOn(t, "127.0.0.1", args...)
}

// StartProcessOn is StartProcess on another address, which takes in the loopback interface.
func StartProcessOn(t *testing.T, host string, args ...string) *Process {
	t.Helper()
	path, err := Program()
	if err != nil {
		t.Fatal(err)
	}
	return StartCommand(t, exec.Command(path, append([]string{"serve", "--listen", net.JoinHostPort(host, "0")}, args...)...))
}

// StartCommand runs a command that serves as fanfold does, and waits until it is ready.
func StartCommand(t *testing.T, cmd *exec.Cmd) *Process {
	t.Helper()
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	p := &Process{Client: NewClient(t, ""), Cmd: cmd, Log: processLog{more: make(chan struct{})}}
	t.Cleanup(func() {
		p.Signal(syscall.SIGKILL)
		if t.Failed() {
			p.Log.end()
			t.Logf("%v wrote:\n%s", cmd.Args, p.Log.String())
		}
	})
	go p.Log.read(stderr)
	if !p.Log.Wait("fanfold is ready") {
		t.Fatal("the node did not come up")
	}
	said := readyPort.FindStringSubmatch(p.Log.String())
	if said == nil {
		t.Fatal("the node does not say where it listens")
	}
	p.URL = "http://127.0.0.1:" + said[1]
	return p
}

// readyPort finds where a node says that it listens.
var readyPort = regexp.MustCompile(`url=http://\S+:(\d+)`)

// processLog is what a process has written to its standard error so far.
type processLog struct {
	mu    sync.Mutex
	text  strings.Builder
	ended bool
	more  chan struct{} // is closed when there is more, or the end
}

// read reads r to its end.
func (l *processLog) read(r io.Reader) {
	buf := make([]byte, 64<<10)
	for {
		n, err := r.Read(buf)
		l.mu.Lock()
		l.text.Write(buf[:n])
		l.ended = err != nil
		close(l.more)
		l.more = make(chan struct{})
		l.mu.Unlock()
		if err != nil {
			return
		}
	}
}

// String returns what was written so far.
func (l *processLog) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// end waits until the process has closed its standard error, as it does when it ends.
func (l *processLog) end() { l.Wait("\x00") }

// Wait waits until text was written, and returns whether it was before the process ended.
func (l *processLog) Wait(text string) bool {
	for {
		l.mu.Lock()
		found, ended, more := strings.Contains(l.text.String(), text), l.ended, l.more
		l.mu.Unlock()
		if found || ended {
			return found
		}
		<-more
	}
}

// RunProgram runs a command to its end.
func RunProgram(t *testing.T, args ...string) (string, error) {
	t.Helper()
	path, err := Program()
	if err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command(path, args...).CombinedOutput()
	return string(out), err
}

// FreeAddress returns an address of the loopback interface at which nobody listened a moment ago.
func FreeAddress(t *testing.T) string {
	t.Helper()
	return net.JoinHostPort("127.0.0.1", strconv.Itoa(natsserver.FreePorts(t, 1)[0]))
}

// ExitCode returns the exit code of a command that ended.
func ExitCode(err error) int {
	var e *exec.ExitError
	if errors.As(err, &e) {
		return e.ExitCode()
	}
	return 0
}
