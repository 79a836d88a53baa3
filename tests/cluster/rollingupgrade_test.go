package cluster_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/fanfold/fanfold/projector/fold"
	"github.com/fanfold/fanfold/tests/harness"
	"github.com/fanfold/fanfold/tests/natsserver"
	"github.com/fanfold/fanfold/tests/suite"
)

// nextProgram builds, once, the fanfold binary whose fold knows one version more: copies are without spaces at their end.
var nextProgram = sync.OnceValues(func() (string, error) { return programWith("next", "-tags", "nextfold") })

// priorProgram builds, once, the fanfold binary whose fold knows one version less.
var priorProgram = sync.OnceValues(func() (string, error) {
	const file, latest = "../../projector/fold/latestversion.go", "const LatestVersion = decimals"
	path, err := filepath.Abs(file)
	if err != nil {
		return "", err
	}
	source, err := os.ReadFile(path)
	if err != nil || !strings.Contains(string(source), latest) {
		return "", fmt.Errorf("there is no %s in %s: %w", latest, file, err)
	}
	program, err := harness.Program()
	if err != nil {
		return "", err
	}
	prior, overlay := filepath.Join(filepath.Dir(program), "prior.go"), filepath.Join(filepath.Dir(program), "prior.json")
	if err := errors.Join(os.WriteFile(prior, []byte(strings.Replace(string(source), latest, "const LatestVersion = OldestVersion", 1)), 0o600),
		os.WriteFile(overlay, fmt.Appendf(nil, `{"Replace":{%q:%q}}`, path, prior), 0o600)); err != nil {
		return "", err
	}
	return programWith("prior", "-overlay", overlay)
})

// programWith builds the fanfold binary in another way.
func programWith(name string, flags ...string) (string, error) {
	path, err := harness.Program()
	if err != nil {
		return "", err
	}
	path = filepath.Join(filepath.Dir(path), "fanfold-"+name)
	if out, err := exec.Command("go", slices.Concat([]string{"build", "-o", path}, flags, []string{"../../cmd/fanfold"})...).CombinedOutput(); err != nil {
		return "", fmt.Errorf("%w: %s", err, out)
	}
	return path, nil
}

// oldVersion and nextVersion are the newest that the two programs know.
const (
	oldVersion  = fold.OldestVersion + 1
	nextVersion = oldVersion + 1
)

// copiesModel has copies, copies of copies and counts.
const copiesModel = `
collections:
  authors: {derive: {countOfBooks: {count: books.authors}}}
  books:
    relations: {authors: {path: "authors[].id", to: authors}}
    derive:
      "authors[].name": {copy: authors, value: doc.name}
  shelves:
    relations: {book: {path: book, to: books}}
    derive: {first: {copy: book, value: "doc.authors[0].name"}}
`

// rolling is a cluster whose nodes are replaced while it is written, read and followed.
type rolling struct {
	t       *testing.T
	nats    string
	dirs    [3]string
	nodes   [3]atomic.Pointer[harness.Process]
	written atomic.Int64
	stop    atomic.Bool

	mu     sync.Mutex
	truths map[string]truth
	rows   [3]int // of the feed, by node
	shared int    // truths that a second node told too
}

// truth is what a node has told, and which one.
type truth struct {
	text string
	node int
}

// tell notes what a node tells of something that must be the same on all of them.
func (r *rolling) tell(node int, what, text string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	before, known := r.truths[what]
	switch {
	case !known:
		r.truths[what] = truth{text, node}
	case before.text != text:
		r.t.Errorf("two truths of %s:\n node %d: %s\n node %d: %s", what, before.node, before.text, node, text)
		r.stop.Store(true)
	case before.node != node:
		r.shared++
	}
}

// start runs a program as a node, on the node's directory.
func (r *rolling) start(node int, next bool) {
	r.t.Helper()
	r.nodes[node].Store(startVersion(r.t, next, "--data", r.dirs[node], "--nats", r.nats, "--replicas", "3"))
}

// startVersion runs one of the two programs.
func startVersion(t *testing.T, next bool, args ...string) *harness.Process {
	t.Helper()
	if next {
		return serveWith(t, nextProgram, args...)
	}
	return serveWith(t, harness.Program, args...)
}

// serveWith runs a program that is built first.
func serveWith(t *testing.T, build func() (string, error), args ...string) *harness.Process {
	t.Helper()
	path, err := build()
	if err != nil {
		t.Fatal(err)
	}
	return harness.StartCommand(t, exec.Command(path, append([]string{"serve", "--listen", "127.0.0.1:0"}, args...)...))
}

const (
	rollingAuthors = 4
	rollingBooks   = 24
)

// write writes to one node after the other until it is told to stop. A write that a node does not answer, because it is
// being replaced, goes to the next.
func (r *rolling) write(writer int) {
	for i := 0; !r.stop.Load(); i++ {
		path, body := fmt.Sprintf("/v1/authors/a%d", i%rollingAuthors), fmt.Sprintf(`{"name":"N%d%s"}`, i%5, strings.Repeat(" ", i%3))
		if i%3 == writer {
			book := i % rollingBooks
			path, body = fmt.Sprintf("/v1/books/b%d", book), fmt.Sprintf(`{"authors":[{"id":"a%d"},{"id":"a%d"}],"n":%d}`, book%rollingAuthors, (book+1)%rollingAuthors, i)
		}
		resp, err := r.nodes[(i+writer)%len(r.nodes)].Load().Do(http.MethodPut, path, []byte(body))
		if err == nil && resp.Status < 300 {
			r.written.Add(1)
		} else {
			time.Sleep(time.Millisecond) // a node is being replaced
		}
	}
}

// read reads a document from all nodes, one for each that was written meanwhile, until it is told to stop.
func (r *rolling) read() {
	for i, seen := 0, int64(-1); !r.stop.Load(); i++ {
		for seen == r.written.Load() && !r.stop.Load() {
			time.Sleep(time.Millisecond)
		}
		seen = r.written.Load()
		path := fmt.Sprintf("/v1/books/b%d", i%rollingBooks)
		if i%4 == 0 {
			path = fmt.Sprintf("/v1/shelves/s%d", i%rollingBooks)
		}
		for n := range r.nodes {
			resp, err := r.nodes[n].Load().Do(http.MethodGet, path, nil)
			if err != nil || resp.Status != http.StatusOK {
				continue
			}
			r.tell(n, path+" with the ETag "+resp.Header.Get("ETag"), string(resp.Body))
			r.tell(n, path+" at "+resp.Header.Get("Fanfold-Position"), resp.Header.Get("ETag"))
		}
	}
}

// follow follows a node's feed until it is told to stop and has read everything.
func (r *rolling) follow(node int) {
	for since := "0"; ; {
		stopping := r.stop.Load()
		var page struct {
			Results []json.RawMessage
			LastSeq string `json:"last_seq"`
		}
		resp, err := r.nodes[node].Load().Do(http.MethodGet, "/v1/_changes?feed=longpoll&timeout=100&mode=all&include_docs=true&limit=500&since="+since, nil)
		if err != nil || resp.Status != http.StatusOK || json.Unmarshal(resp.Body, &page) != nil {
			time.Sleep(time.Millisecond) // it is being replaced
			continue
		}
		for _, row := range page.Results {
			var at struct{ Seq string }
			if err := json.Unmarshal(row, &at); err != nil {
				r.t.Errorf("%v: %s", err, row)
			}
			r.tell(node, "change "+at.Seq, string(row))
		}
		r.mu.Lock()
		r.rows[node] += len(page.Results)
		r.mu.Unlock()
		if since = page.LastSeq; stopping && len(page.Results) == 0 {
			return
		}
	}
}

// more waits until so many writes more are acknowledged.
func (r *rolling) more(writes int64) {
	r.t.Helper()
	for target, begin := r.written.Load()+writes, time.Now(); r.written.Load() < target; time.Sleep(time.Millisecond) {
		if time.Since(begin) > suite.Deadline(2*time.Minute) || r.t.Failed() {
			r.stop.Store(true)
			r.t.Fatalf("%d of %d writes are acknowledged", r.written.Load(), target)
		}
	}
}

// firstName writes an author's name with spaces at its end to one node, and returns what a book copies of it on another.
func (r *rolling) firstName(writeTo, readFrom int) string {
	r.t.Helper()
	at := r.nodes[writeTo].Load().Put("authors", "x", `{"name":"Xenia  "}`).Header.Get("Fanfold-Position")
	var book struct{ Authors []struct{ Name string } }
	harness.Decode(r.t, r.nodes[readFrom].Load().Want(http.StatusOK, "GET", "/v1/books/x", "", "Fanfold-Min-Position", at, "Fanfold-Timeout", "60").Body, &book)
	return book.Authors[0].Name
}

// inForce waits until a node folds by a version.
func (r *rolling) inForce(node, version int) {
	r.t.Helper()
	for begin := time.Now(); ; time.Sleep(5 * time.Millisecond) {
		s := foldStatus(r.t, r.nodes[node].Load().Client)
		if s.FoldVersion.Version == version && s.Stopped == nil {
			return
		}
		if time.Since(begin) > suite.Deadline(time.Minute) {
			r.t.Fatalf("node %d: %+v", node, s)
		}
	}
}

// TestRollingUpgrade: three nodes on three NATS servers are replaced one by one, under load, by a program whose fold knows
// one version more. They go on folding as before, until fanfold upgrade changes all of them at one event. At no time do two
// nodes tell something else of one position: not in the feed, not in a document. Afterwards the read models are the same
// row by row, as is a new node's; a node with the old program stops at the event and shows what was before.
func TestRollingUpgrade(t *testing.T) {
	suite.Parallel(t)
	r := &rolling{t: t, nats: natsserver.Start(t, 3)[0], truths: map[string]truth{}}
	for n := range r.nodes {
		r.dirs[n] = t.TempDir()
		r.start(n, false)
	}
	first := r.nodes[0].Load()
	first.Model(copiesModel)
	first.Put("books", "x", `{"authors":[{"id":"x"}]}`)
	for i := range rollingBooks {
		first.Put("shelves", fmt.Sprint("s", i), fmt.Sprintf(`{"book":"b%d"}`, i))
	}
	var load, followers sync.WaitGroup
	for w := range 3 {
		load.Go(func() { r.write(w) })
	}
	load.Go(r.read)
	for n := range r.nodes {
		followers.Go(func() { r.follow(n) })
	}
	defer func() {
		r.stop.Store(true)
		load.Wait()
		followers.Wait()
	}()
	r.replaceAndUpgrade()
	r.stop.Store(true)
	load.Wait()
	end := r.nodes[0].Load().Want(http.StatusOK, "GET", "/v1/books?consistency=strong", "").Header.Get("Fanfold-Position")
	followers.Wait()
	for n := range r.nodes {
		r.nodes[n].Load().Want(http.StatusOK, "GET", "/v1/books", "", "Fanfold-Min-Position", end, "Fanfold-Timeout", "60")
		r.follow(n) // what came since
	}
	if r.shared < 1000 {
		t.Errorf("only %d things were told by several nodes", r.shared)
	}
	t.Logf("%d writes, %d things told, %d of them by several nodes", r.written.Load(), len(r.truths), r.shared)
	r.requireOneTruth(end)
}

// replaceAndUpgrade replaces one node after the other, and then changes the version.
func (r *rolling) replaceAndUpgrade() {
	r.t.Helper()
	path, err := nextProgram()
	if err != nil {
		r.t.Fatal(err)
	}
	upgrade := func() (string, error) {
		out, err := exec.Command(path, "upgrade", "--server", r.nodes[1].Load().URL).CombinedOutput()
		return string(out), err
	}
	r.more(100)
	for n := range r.nodes {
		if n == len(r.nodes)-1 { // the only old one
			if out, err := upgrade(); err == nil || !strings.Contains(out, "not known to every live node") {
				r.t.Errorf("with an old node upgrade says %s, %v", out, err)
			}
		}
		r.nodes[n].Load().Signal(syscall.SIGTERM)
		r.start(n, true)
		if said := r.nodes[n].Load().Log.String(); strings.Contains(said, "rebuilt") {
			r.t.Errorf("node %d begins anew: %s", n, said)
		}
		r.more(60)
		if v := foldStatus(r.t, r.nodes[n].Load().Client).FoldVersion; v.Version != oldVersion || v.Newest != nextVersion {
			r.t.Errorf("node %d has %+v", n, v)
		}
	}
	if name := r.firstName(0, 1); name != "Xenia  " {
		r.t.Errorf("before the upgrade the copy is %q", name)
	}
	if out, err := upgrade(); err != nil || !strings.Contains(out, fmt.Sprintf("version %d of the fold is in force", nextVersion)) {
		r.t.Fatalf("upgrade: %v, %s", err, out)
	}
	for n := range r.nodes {
		r.inForce(n, nextVersion)
	}
	r.more(100)
	if name := r.firstName(2, 0); name != "Xenia" {
		r.t.Errorf("after the upgrade the copy is %q", name)
	}
}

// requireOneTruth compares the nodes' read models with each other, with a new node's, and with the answers of a node with
// the old program.
func (r *rolling) requireOneTruth(end string) {
	r.t.Helper()
	dirs, nodes := r.dirs[:], make([]*harness.Process, len(r.nodes), len(r.nodes)+1)
	for n := range r.nodes {
		nodes[n] = r.nodes[n].Load()
	}
	dirs = append(dirs, r.t.TempDir())
	late := startVersion(r.t, true, "--data", dirs[len(nodes)], "--nats", r.nats)
	late.Want(http.StatusOK, "GET", "/v1/books", "", "Fanfold-Min-Position", end, "Fanfold-Timeout", "60")
	nodes = append(nodes, late)
	awaitAnswer(r.t, late.Client, "/readyz", http.StatusOK) // it has folded the event with which it joined
	joined := fmt.Sprint(statusOf(r.t, late.Client).Applied)
	for _, p := range nodes {
		p.Want(http.StatusOK, "GET", "/v1/books", "", "Fanfold-Min-Position", joined, "Fanfold-Timeout", "60")
	}
	requireSameFiles(r.t, nodes, dirs)

	old := startVersion(r.t, false, "--data", r.t.TempDir(), "--nats", r.nats)
	s := foldStatus(r.t, old.Client)
	for begin := time.Now(); s.Stopped == nil || !strings.Contains(s.Stopped.Reason, fmt.Sprintf("version %d", nextVersion)); s = foldStatus(r.t, old.Client) {
		if time.Since(begin) > suite.Deadline(time.Minute) {
			r.t.Fatalf("the old program does not stop: %+v", s)
		}
	}
	old.Want(http.StatusServiceUnavailable, "GET", "/readyz", "")
	if s.FoldVersion.Version != oldVersion || s.Applied+1 != s.Stopped.Seq {
		r.t.Errorf("the old program's status is %+v", s)
	}
	r.nodes[0].Store(old)
	r.follow(0) // tells the same as far as it goes
}

// TestDowngrade: a node with an embedded log sets the newest version by itself when it starts. An older program that is
// started on its files shows them and folds nothing, and the newer one goes on.
func TestDowngrade(t *testing.T) {
	suite.Parallel(t)
	data := t.TempDir()
	p := startVersion(t, false, "--data", data)
	p.Model(copiesModel)
	p.Put("authors", "a", `{"name":"Ann "}`)
	p.Put("books", "b", `{"authors":[{"id":"a"}]}`)
	p.WantDoc("books", "b", `{"id":"b","authors":[{"id":"a","name":"Ann "}]}`)
	p.Signal(syscall.SIGTERM)

	p = startVersion(t, true, "--data", data)
	if !p.Log.Wait("the version of the fold was changed") {
		t.Fatal("the node does not upgrade itself")
	}
	if v := foldStatus(t, p.Client).FoldVersion; v.Version != nextVersion || v.Newest != nextVersion {
		t.Errorf("the versions are %+v", v)
	}
	const upgraded = `{"id":"b","authors":[{"id":"a","name":"Ann"}]}`
	p.WantDoc("books", "b", upgraded)
	rows, last := p.Changes("mode=all")
	if row := rows[len(rows)-1]; row.Op != "derive" || row.ID != "b" || !strings.HasSuffix(row.Seq, fmt.Sprint("-", nextVersion)) || row.Seq != last {
		t.Errorf("the last change is %+v, and the feed ends at %s", row, last)
	}
	p.Verify(t)
	p.Signal(syscall.SIGTERM)

	p = startVersion(t, false, "--data", data)
	if !p.Log.Wait("the projector has stopped") {
		t.Fatal("the old program does not stop")
	}
	if ready := p.Want(http.StatusServiceUnavailable, "GET", "/readyz", ""); !strings.Contains(string(ready.Body), fmt.Sprintf("folded by version %d", nextVersion)) {
		t.Errorf("readyz says %s", ready.Body)
	}
	p.WantDoc("books", "b", upgraded)
	if again, _ := p.Changes("mode=all"); len(again) != len(rows) || again[len(again)-1].Seq != rows[len(rows)-1].Seq {
		t.Errorf("the old program's feed has %d rows, want %d", len(again), len(rows))
	}
	p.Want(http.StatusServiceUnavailable, "POST", "/v1/_verify", "")
	p.Want(http.StatusAccepted, "PUT", "/v1/books/c", `{"authors":[{"id":"a"}]}`)
	p.Want(http.StatusNotFound, "GET", "/v1/books/c", "")
	p.Signal(syscall.SIGTERM)

	p = startVersion(t, true, "--data", data)
	p.Want(http.StatusOK, "GET", "/v1/books/c?consistency=strong", "")
	p.WantDoc("books", "c", `{"id":"c","authors":[{"id":"a","name":"Ann"}]}`)
	p.Verify(t)
}
