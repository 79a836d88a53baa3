package tests

import (
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/fanfold/fanfold/tests/harness"
	"github.com/fanfold/fanfold/tests/natsserver"
)

// programDir is where program has built the binary; "" where no test needed it.
var programDir string

// program builds the fanfold binary once.
var program = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "fanfold-test-")
	if err != nil {
		return "", err
	}
	programDir = dir
	path := filepath.Join(dir, "fanfold")
	out, err := exec.Command("go", "build", "-o", path, "../cmd/fanfold").CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("%w: %s", err, out)
	}
	return path, nil
})

func TestMain(m *testing.M) {
	if statement := os.Getenv(readerEnv); statement != "" {
		os.Exit(runStatement(statement, os.Args[1]))
	}
	if data := os.Getenv(powerLossEnv); data != "" {
		os.Exit(runNoting(data))
	}
	if setting := os.Getenv(natsserver.ProcessEnv); setting != "" {
		os.Exit(natsserver.RunProcess(setting))
	}
	if setting := os.Getenv(groupMemberEnv); setting != "" {
		os.Exit(runGroupMember(setting))
	}
	flag.Parse()
	flag.Visit(func(f *flag.Flag) { givenFlags[f.Name] = true })
	setFlag("test.parallel", strconv.Itoa(lanes+4))
	code := m.Run()
	if *soak > 0 {
		printSoaked()
	}
	if programDir != "" {
		_ = os.RemoveAll(programDir)
	}
	os.Exit(code)
}

// process is a real fanfold server.
type process struct {
	*harness.Client
	cmd *exec.Cmd
	log processLog
}

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
func (l *processLog) end() { l.wait("\x00") }

// wait waits until text was written, and returns whether it was before the process ended.
func (l *processLog) wait(text string) bool {
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

// readyPort finds where a node says that it listens.
var readyPort = regexp.MustCompile(`url=http://\S+:(\d+)`)

// startProcess runs `fanfold serve` on a free port of the loopback interface and waits until it is ready.
func startProcess(t *testing.T, args ...string) *process {
	t.Helper()
	return startProcessOn(t, "127.0.0.1", args...)
}

// startProcessOn is startProcess on another address, which takes in the loopback interface.
func startProcessOn(t *testing.T, host string, args ...string) *process {
	t.Helper()
	path, err := program()
	if err != nil {
		t.Fatal(err)
	}
	return startCommand(t, exec.Command(path, append([]string{"serve", "--listen", net.JoinHostPort(host, "0")}, args...)...))
}

// startCommand runs a command that serves as fanfold does, and waits until it is ready.
func startCommand(t *testing.T, cmd *exec.Cmd) *process {
	t.Helper()
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	p := &process{Client: harness.NewClient(t, ""), cmd: cmd, log: processLog{more: make(chan struct{})}}
	t.Cleanup(func() {
		p.signal(syscall.SIGKILL)
		if t.Failed() {
			p.log.end()
			t.Logf("%v wrote:\n%s", cmd.Args, p.log.String())
		}
	})
	go p.log.read(stderr)
	if !p.log.wait("fanfold is ready") {
		t.Fatal("the node did not come up")
	}
	said := readyPort.FindStringSubmatch(p.log.String())
	if said == nil {
		t.Fatal("the node does not say where it listens")
	}
	p.URL = "http://127.0.0.1:" + said[1]
	return p
}

// signal ends the process and waits for its end; it may have ended before.
func (p *process) signal(s syscall.Signal) {
	p.HTTP.CloseIdleConnections()
	_ = p.cmd.Process.Signal(s)
	_ = p.cmd.Wait()
}

// verify fails the test unless verify finds nothing wrong.
func (p *process) verify(t *testing.T) {
	t.Helper()
	r := p.Want(http.StatusOK, "POST", "/v1/_verify", "")
	var v struct{ Wrong []json.RawMessage }
	if err := json.Unmarshal(r.Body, &v); err != nil || len(v.Wrong) > 0 {
		t.Fatalf("verify: %s %v", r.Body, err)
	}
}

// TestTwoProcesses lets two API processes on one outside NATS server write the same documents
// with If-Match: no update is lost, and both end with identical read models.
func TestTwoProcesses(t *testing.T) {
	plainOnly(t, otherProcess)
	parallel(t)
	url := natsserver.Start(t, 1)[0]
	dirs := []string{t.TempDir(), t.TempDir()}
	nodes := make([]*process, 2)
	for i := range nodes {
		nodes[i] = startProcess(t, "--data", dirs[i], "--nats", url)
	}
	nodes[0].Model(crashModel)
	const writers, increments, documents = 8, 25, 3
	made := ""
	for d := range documents {
		made = nodes[0].Put("authors", fmt.Sprint(d), `{"name":"x","n":0}`).Header.Get("Fanfold-Position")
	}
	nodes[1].Want(http.StatusOK, "GET", "/v1/authors", "", "Fanfold-Min-Position", made)
	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() {
			for i := range increments {
				increment(t, nodes[w%2], fmt.Sprint((w+i)%documents))
				nodes[w%2].Put("books", fmt.Sprintf("%d-%d", w, i), fmt.Sprintf(`{"authors":[{"id":%d}]}`, i%documents))
			}
		})
	}
	wg.Wait()
	total := 0
	for d := range documents {
		var doc struct{ N, CountOfBooks int }
		r := nodes[1].Want(http.StatusOK, "GET", harness.Path("authors", fmt.Sprint(d))+"?consistency=strong", "")
		if err := json.Unmarshal(r.Body, &doc); err != nil {
			t.Fatal(err)
		}
		total += doc.N
	}
	if total != writers*increments {
		t.Fatalf("%d increments are there of %d", total, writers*increments)
	}
	position := nodes[1].Want(http.StatusOK, "GET", "/v1/authors?consistency=strong", "").Header.Get("Fanfold-Position")
	nodes[0].Want(http.StatusOK, "GET", "/v1/authors", "", "Fanfold-Min-Position", position)
	requireSameFiles(t, nodes, dirs)
}

// increment adds one to a document's n by GET and PUT with If-Match.
func increment(t *testing.T, p *process, id string) {
	for {
		r := p.Want(http.StatusOK, "GET", harness.Path("authors", id), "")
		var doc struct {
			ID, Name string
			N        int
		}
		if err := json.Unmarshal(r.Body, &doc); err != nil {
			t.Error(err)
			return
		}
		w, err := p.Do("PUT", harness.Path("authors", id), fmt.Appendf(nil, `{"id":%q,"name":%q,"n":%d}`, doc.ID, doc.Name, doc.N+1), "If-Match", r.Header.Get("ETag"))
		switch {
		case err != nil:
			t.Error(err)
			return
		case w.Status == http.StatusNoContent:
			return
		case w.Status != http.StatusPreconditionFailed:
			t.Errorf("increment: %d %s", w.Status, w.Body)
			return
		}
		// The answer names the revision that won; a read at that position shows it.
		var lost struct{ Revision uint64 }
		if err := json.Unmarshal(w.Body, &lost); err == nil && lost.Revision > 0 {
			p.Want(http.StatusOK, "GET", harness.Path("authors", id), "", "Fanfold-Min-Position", fmt.Sprintf("%d-0", lost.Revision))
		}
	}
}

// requireSameFiles stops the nodes and compares every row of their read models.
func requireSameFiles(t *testing.T, nodes []*process, dirs []string) {
	t.Helper()
	for _, p := range nodes {
		p.verify(t)
	}
	sums := make([]string, len(nodes))
	for i, p := range nodes {
		p.signal(syscall.SIGTERM)
		files, err := filepath.Glob(filepath.Join(dirs[i], "readmodel", "*.db"))
		if err != nil || len(files) != 1 {
			t.Fatalf("read models %v, %v", files, err)
		}
		if sums[i], err = harness.DigestFile(files[0]); err != nil {
			t.Fatal(err)
		}
	}
	if len(slices.Compact(slices.Clone(sums))) != 1 {
		t.Fatalf("the read models differ: %v", sums)
	}
}

// TestDataDirectoryRefusals: a directory that is in use, or cannot be written, is refused in one line.
func TestDataDirectoryRefusals(t *testing.T) {
	plainOnly(t, otherProcess)
	t.Parallel()
	dir := t.TempDir()
	startProcess(t, "--data", dir)
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	for data, want := range map[string]string{dir: "in use by another fanfold process", file: "cannot make the data directory", "/proc/nowhere": "cannot make the data directory"} {
		out, err := mustProgram(t, "serve", "--data", data, "--listen", "127.0.0.1:0")
		if err == nil || !strings.Contains(out, want) || strings.Count(out, "\n") != 1 {
			t.Errorf("--data %s: %v, %q; want one line with %q", data, err, out, want)
		}
	}
}

// mustProgram runs a command to its end.
func mustProgram(t *testing.T, args ...string) (string, error) {
	t.Helper()
	path, err := program()
	if err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command(path, args...).CombinedOutput()
	return string(out), err
}
