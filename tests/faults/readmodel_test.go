package faults_test

import (
	"context"
	"fmt"
	"io/fs"
	"log/slog"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/backup"
	"github.com/fanfold/fanfold/internal/modelfile"
	"github.com/fanfold/fanfold/node"
	"github.com/fanfold/fanfold/projector/rebuild"
	"github.com/fanfold/fanfold/tests/harness"
	"github.com/fanfold/fanfold/tests/suite"
)

// build makes a read model in a directory.
func build(t *testing.T, dir string, from node.EventSource, past rebuild.Past, failWrite func() error) (node.ReadModel, error) {
	t.Helper()
	b, err := node.PrepareBuild(node.Build{Dir: dir, Command: "fanfold replay --to P --out " + dir, Logger: slog.New(slog.DiscardHandler), FailWrite: failWrite})
	if err != nil {
		return node.ReadModel{}, err
	}
	run, err := b.Begin(from, past)
	if err == nil {
		err = run(t.Context())
	}
	var made node.ReadModel
	if err == nil {
		made, err = b.Finish()
	}
	if closed := b.Close(); err == nil {
		err = closed
	}
	return made, err
}

// source returns the events of a running store.
func source(t *testing.T, s *harness.Store) node.EventSource {
	t.Helper()
	from, err := s.Node.EventSource(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return from
}

// serveReadOnly serves a read model until the test ends, and returns a client.
func serveReadOnly(t *testing.T, dir string, configure func(*node.Config)) (c *harness.Client, stop func()) {
	t.Helper()
	cfg := node.Config{Data: dir, Listen: "127.0.0.1:0", Logger: slog.New(slog.DiscardHandler)}
	if configure != nil {
		configure(&cfg)
	}
	r, err := node.OpenReadOnly(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- r.Run(ctx) }()
	c = harness.NewClient(t, r.URL())
	return c, func() {
		c.HTTP.CloseIdleConnections()
		cancel()
		if err := <-done; err != nil {
			t.Errorf("the end of a read-only server: %v", err)
		}
	}
}

// history writes what a read model of the past may go wrong about.
func history(t *testing.T, s *harness.Store) {
	t.Helper()
	harness.RunScript(t, s, harness.CrashScript[:11])
	for i := range 20 {
		s.Put("books", fmt.Sprint("m", i%7), fmt.Sprintf(`{"authors":[{"id":"a%d"}],"stars":0.%d}`, 1+i%3, i))
	}
	s.Want(http.StatusOK, "POST", "/v1/_transactions", `{"operations":[{"op":"put","collection":"books","id":"t1","body":{"authors":[{"id":"a1"}]}},{"op":"patch","collection":"authors","id":"a1","patch":{"name":"Eins"}},{"op":"delete","collection":"books","id":"m1"}]}`)
	harness.RunScript(t, s, harness.CrashScript[11:])
	s.CatchUp()
}

// TestReplayToShowsWhatWas: a read model of any position shows what at= shows of it, and its rows are the same as a server's that is there. A
// position within a transaction is its end. From a backup comes the same.
func TestReplayToShowsWhatWas(t *testing.T) {
	suite.Parallel(t)
	s := harness.OpenTemp(t, "")
	history(t, s)
	from := source(t, s)
	fromBackup := backupOf(t, s)
	paths := []string{"/v1/books?limit=1000", "/v1/authors?limit=1000", "/v1/books?limit=1000&view=referenced", "/v1/series?limit=1000", "/v1/publishers?limit=1000", "/v1/books/b1", "/v1/authors/a1", "/v1/books/b4?expand=authors",
		"/v1/authors/a1/books?relation=authors"}
	for seq := uint64(0); seq <= from.Last; seq++ {
		events := from
		if seq%2 == 1 {
			events = fromBackup
		}
		dir := filepath.Join(t.TempDir(), "past")
		made, err := build(t, dir, events, rebuild.Past{To: fanfold.Moment{Position: fanfold.At(seq, 0)}}, nil)
		if err != nil {
			t.Fatalf("event %d: %v", seq, err)
		}
		c, stop := serveReadOnly(t, dir, func(cfg *node.Config) { cfg.Insecure = true })
		if made.Position.Seq() == seq { // else a guard of a transaction, whose place at= takes for that before the transaction
			requireAsAt(t, s.Client, c, "/v1/books?limit=1000", fmt.Sprint(seq), made)
		}
		for _, path := range paths {
			requireAsAt(t, s.Client, c, path, made.Position.String(), made)
		}
		stop()
	}
	dir := filepath.Join(t.TempDir(), "all")
	if _, err := build(t, dir, fromBackup, rebuild.Past{To: fanfold.Moment{Time: time.Now()}}, nil); err != nil {
		t.Fatal(err)
	}
	if sum, err := harness.DigestFile(harness.ReadModel(t, dir)); err != nil || sum != s.Digest() {
		t.Errorf("the rows of all of the log are others: %v", err)
	}
	for to, want := range map[fanfold.Moment]uint64{{Time: time.Unix(1, 0)}: 0, {Position: fanfold.At(from.Last+1, 0)}: 0} {
		made, err := build(t, filepath.Join(t.TempDir(), "edge"), from, rebuild.Past{To: to}, nil)
		if to.Time.IsZero() && fanfold.CodeOf(err) != fanfold.Conflict {
			t.Errorf("a position ahead of the log: %v", err)
		}
		if !to.Time.IsZero() && (err != nil || made.Position.Seq() != want) {
			t.Errorf("a time before the log: %+v %v", made, err)
		}
	}
}

// requireAsAt fails the test unless a read of a read model gives what the store gives as of a position.
func requireAsAt(t *testing.T, live, past *harness.Client, path, at string, made node.ReadModel) {
	t.Helper()
	separator := "?"
	if strings.Contains(path, "?") {
		separator = "&"
	}
	want, err := live.Do("GET", path+separator+"at="+at, nil)
	if err != nil {
		t.Fatal(err)
	}
	if want.Problem() == "urn:fanfold:problem:invalid" { // at does not go with it yet
		return
	}
	got, err := past.Do("GET", path, nil)
	if err != nil {
		t.Fatal(err)
	}
	if (got.Status == http.StatusOK) != (want.Status == http.StatusOK) && got.Problem() != "urn:fanfold:problem:unknown-collection" || got.Status == http.StatusOK && string(got.Body) != string(want.Body) || got.Header.Get("Etag") != want.Header.Get("Etag") && !strings.Contains(path, "limit") {
		t.Fatalf("%s of event %s, read model %+v:\n %d %s %s\nwant\n %d %s %s", path, at, made.Position, got.Status, got.Header.Get("Etag"), got.Body, want.Status, want.Header.Get("Etag"), want.Body)
	}
	if got.Status == http.StatusOK && got.Header.Get("Fanfold-Position") != made.Position.String() {
		t.Fatalf("%s is said to be of %s, and is of %s", path, got.Header.Get("Fanfold-Position"), made.Position)
	}
}

// backupOf returns the events of a store from a backup of it.
func backupOf(t *testing.T, s *harness.Store) node.EventSource {
	t.Helper()
	r := s.Want(http.StatusOK, "GET", "/v1/_backup", "")
	dir := filepath.Join(t.TempDir(), "backup")
	if err := backup.Unpack(strings.NewReader(string(r.Body)), dir); err != nil {
		t.Fatal(err)
	}
	b, err := backup.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	from, err := node.EventsOfBackup(b)
	if err != nil {
		t.Fatal(err)
	}
	return from
}

// TestReplayToByTime: a time means the last event that is not later.
func TestReplayToByTime(t *testing.T) {
	s := harness.OpenTemp(t, "")
	for i := range 20 {
		s.Put("books", "b", fmt.Sprintf(`{"n":%d}`, i))
	}
	rows, _ := s.Changes("since=0&mode=all&limit=100")
	for i, row := range rows {
		at, err := time.Parse(time.RFC3339Nano, row.Time)
		if err != nil {
			t.Fatal(err)
		}
		for _, when := range []time.Time{at, at.Add(-1)} {
			made, err := build(t, filepath.Join(t.TempDir(), "past"), source(t, s), rebuild.Past{To: fanfold.Moment{Time: when}}, nil)
			if err != nil {
				t.Fatal(err)
			}
			resolved := s.Want(http.StatusOK, "GET", "/v1/books?at="+when.Format(time.RFC3339Nano), "").Header.Get("Fanfold-Position")
			if made.Position.String() != resolved {
				t.Errorf("row %d: the read model is of %s, and at= resolves to %s", i, made.Position, resolved)
			}
		}
	}
}

// TestReplayToWithModel: under a model of a file the read model is what it would be had that one applied from the first event on.
func TestReplayToWithModel(t *testing.T) {
	m, err := modelfile.Parse([]byte(harness.CrashModel))
	if err != nil {
		t.Fatal(err)
	}
	write := func(s *harness.Store) {
		s.Put("authors", "a1", `{"name":"One"}`)
		s.Put("books", "b1", `{"authors":[{"id":"a1"},{"id":"a2"}],"pub-id":"p","stars":3}`)
		s.Put("authors", "a1", `{"name":"Uno"}`)
	}
	more := func(s *harness.Store) {
		s.Put("publishers", "p", `{"name":"Press"}`)
		s.Put("authors", "a2", `{"name":"Two"}`)
		s.Put("books", "b2", `{"authors":[{"id":"a1"}],"stars":0.5}`)
		s.Delete("publishers", "p")
	}
	want := harness.OpenTemp(t, harness.CrashModel)
	write(want)
	more(want)
	for name, models := range map[string][2]string{"none": {}, "later": {"", harness.SmallerModel}, "first": {harness.SmallerModel, ""}, "two": {"collections: {authors: {}}", harness.SmallerModel}} {
		s := harness.OpenTemp(t, models[0])
		write(s)
		if models[1] != "" {
			s.Model(models[1])
		}
		more(s)
		s.CatchUp()
		dir := filepath.Join(t.TempDir(), "past")
		made, err := build(t, dir, source(t, s), rebuild.Past{To: fanfold.Moment{Time: time.Now()}, Model: m.Source}, nil)
		applies := uint64(1)
		if name == "later" { // the log's first model brings a version of the fold, which the file's model then has as well
			applies = 4
		}
		if err != nil || !made.Replaced || made.Model != applies || made.Position.Seq() != source(t, s).Last {
			t.Fatalf("%s: %+v %v", name, made, err)
		}
		c, stop := serveReadOnly(t, dir, nil)
		for _, path := range []string{"/v1/books/b1", "/v1/books/b2", "/v1/authors/a1", "/v1/authors/a2"} {
			if got, want := c.Want(200, "GET", path, ""), want.Want(200, "GET", path, ""); string(got.Body) != string(want.Body) {
				t.Errorf("%s: %s is\n  %s\nwant\n  %s", name, path, got.Body, want.Body)
			}
		}
		if verified := c.Want(200, "POST", "/v1/_verify", ""); !strings.Contains(string(verified.Body), `"wrong":[]`) {
			t.Errorf("%s: %s", name, verified.Body)
		}
		stop()
	}
}

// crashOfReplayTo: what a cut replay to a position leaves is refused, and the same command begins anew, or it is whole.
var crashOfReplayTo = crash{name: "position", least: 100, begin: func(t *testing.T) func(*testing.T, *failing) {
	s := harness.OpenTemp(t, "")
	history(t, s)
	from, rows := source(t, s), s.Digest()
	to := rebuild.Past{To: fanfold.Moment{Position: fanfold.At(from.Last, 0)}}
	return func(t *testing.T, f *failing) {
		f.arm()
		dir := filepath.Join(t.TempDir(), "past")
		if _, err := build(t, dir, from, to, f.write); err != nil {
			if !f.struck() {
				t.Fatal(err)
			}
			requireUnserved(t, dir)
			if _, err := build(t, dir, from, to, nil); err != nil {
				t.Fatalf("again after a fault: %v", err)
			}
		}
		if sum, err := harness.DigestFile(harness.ReadModel(t, dir)); err != nil || sum != rows {
			t.Fatalf("the rows are others, %v", err)
		}
	}
}}

// requireUnserved fails the test unless a directory is refused: by a read-only server with the command, and by an ordinary one.
func requireUnserved(t *testing.T, dir string) {
	t.Helper()
	cfg := node.Config{Data: dir, Listen: "127.0.0.1:0", Durability: "always", Logger: slog.New(slog.DiscardHandler)}
	_, err := node.OpenReadOnly(t.Context(), cfg)
	if fanfold.CodeOf(err) != fanfold.Invalid || !strings.Contains(err.Error(), "fanfold replay --to") {
		t.Fatalf("what a cut run left is served: %v", err)
	}
	if _, err := os.Stat(filepath.Join(dir, "readmodel.json")); err == nil {
		if _, err := node.Open(t.Context(), cfg); fanfold.CodeOf(err) != fanfold.Invalid {
			t.Fatalf("what a cut run left is a data directory: %v", err)
		}
	}
}

// replayToOnFullDisk: a full disk is told, and what is left is refused.
func replayToOnFullDisk(t *testing.T) {
	s := harness.OpenTemp(t, "")
	for i := range 40 {
		s.Put("docs", fmt.Sprint(i), fmt.Sprintf(`{"x":%q}`, strings.Repeat("y", 200_000)))
	}
	disk := t.TempDir()
	if err := syscall.Mount("tmpfs", disk, "tmpfs", 0, "size=4m"); err != nil {
		t.Skipf("this test mounts a small disk, which this machine does not allow: %v", err)
	}
	defer func() {
		if out, err := exec.Command("umount", disk).CombinedOutput(); err != nil {
			t.Errorf("umount: %v %s", err, out)
		}
	}()
	dir := filepath.Join(disk, "past")
	_, err := build(t, dir, source(t, s), rebuild.Past{To: fanfold.Moment{Time: time.Now()}}, nil)
	if fanfold.CodeOf(err) != fanfold.Unavailable || !strings.Contains(err.Error(), "full") {
		t.Errorf("a full disk is told as %v", err)
	}
	requireUnserved(t, dir)
}

// TestReplayToRefusesOtherDirectories: what holds something else stays as it is.
func TestReplayToRefusesOtherDirectories(t *testing.T) {
	s := harness.OpenTemp(t, "")
	s.Put("books", "b", `{}`)
	from, past := source(t, s), rebuild.Past{To: fanfold.Moment{Time: time.Now()}}
	dir := t.TempDir()
	file := filepath.Join(dir, "mine")
	if err := os.WriteFile(file, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, d := range []string{dir, file, ""} {
		if _, err := build(t, d, from, past, nil); fanfold.CodeOf(err) != fanfold.Invalid {
			t.Errorf("%q is taken: %v", d, err)
		}
	}
	if found, err := os.ReadDir(dir); err != nil || len(found) != 1 {
		t.Errorf("it has %v, %v", found, err)
	}
	made := filepath.Join(t.TempDir(), "past")
	for i, want := range []fanfold.Code{"", fanfold.Invalid} {
		if _, err := build(t, made, from, past, nil); err != nil && fanfold.CodeOf(err) != want || err == nil && want != "" {
			t.Errorf("run %d: %v", i, err)
		}
	}
	if _, err := node.OpenReadOnly(t.Context(), node.Config{Data: dir, Listen: "127.0.0.1:0"}); fanfold.CodeOf(err) != fanfold.Invalid || !strings.Contains(err.Error(), "holds no read model") {
		t.Errorf("a directory of something else: %v", err)
	}
	for _, text := range []string{"", "{}", `{"format":2}`, `{"format":1,"other":true}`, strings.Repeat(" ", 64<<10) + "{}"} {
		if err := os.WriteFile(filepath.Join(dir, "readmodel.json"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := node.OpenReadOnly(t.Context(), node.Config{Data: dir, Listen: "127.0.0.1:0"}); fanfold.CodeOf(err) != fanfold.Invalid {
			t.Errorf("%.40q is taken: %v", text, err)
		}
	}
	path := harness.ReadModel(t, made)
	if err := os.Truncate(path, 4096); err != nil {
		t.Fatal(err)
	}
	if _, err := node.OpenReadOnly(t.Context(), node.Config{Data: made, Listen: "127.0.0.1:0"}); fanfold.CodeOf(err) != fanfold.Unavailable {
		t.Errorf("a read model that was cut is served: %v", err)
	}
}

// filesOf returns the files of a directory with their times and contents.
func filesOf(t *testing.T, dir string) (out []string) {
	t.Helper()
	if err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		text, err := os.ReadFile(path)
		out = append(out, fmt.Sprintf("%s %v %x", path, info.ModTime(), text))
		return err
	}); err != nil {
		t.Fatal(err)
	}
	return out
}

// TestReadOnly: a server without a log reads everything of its position, refuses the rest as read-only, and writes nothing. Two may serve
// one directory.
func TestReadOnly(t *testing.T) {
	s := harness.OpenTemp(t, "")
	history(t, s)
	dir := filepath.Join(t.TempDir(), "past")
	made, err := build(t, dir, source(t, s), rebuild.Past{To: fanfold.Moment{Time: time.Now()}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	before := filesOf(t, dir)
	c, stop := serveReadOnly(t, dir, nil)
	other, stopOther := serveReadOnly(t, dir, nil)
	if front := string(c.Want(200, "GET", "/", "").Body); strings.Contains(front, "/v1/_groups") || !strings.Contains(front, "/v1/_changes") {
		t.Errorf("the first page leads to %s", front)
	}
	for _, path := range []string{"/healthz", "/readyz", "/openapi.json", "/metrics", "/v1", "/v1/books", "/v1/books/b1", "/v1/books/b1?at=3", "/v1/books/b1/_history", "/v1/books/b1/_lineage", "/v1/authors/a1/books",
		"/v1/_model", "/openapi.json?model=true", "/v1/_export", "/v1/_diff?from=0", "/v1/_changes?since=0", "/v1/_me", "/v1/books?expand=authors", "/v1/books?filter=true"} {
		got, want := c.Want(200, "GET", path, ""), s.Want(200, "GET", path, "")
		if path != "/metrics" && string(got.Body) != string(want.Body) {
			t.Errorf("GET %s is\n  %s\nwant\n  %s", path, got.Body, want.Body)
		}
		if at := want.Header.Get("Fanfold-Position"); at != "" && got.Header.Get("Fanfold-Position") != at {
			t.Errorf("GET %s is of %s", path, got.Header.Get("Fanfold-Position"))
		}
		other.Want(200, "GET", path, "")
	}
	if got, want := c.Want(200, "POST", "/v1/books/_query", `{"limit":3}`), s.Want(200, "POST", "/v1/books/_query", `{"limit":3}`); string(got.Body) != string(want.Body) {
		t.Errorf("a query: %s, want %s", got.Body, want.Body)
	}
	ahead := fanfold.Bookmark{Position: fanfold.At(made.Position.Seq()+1, 0), Store: made.Store}.String()
	for _, refused := range [][]string{{"PUT", "/v1/books/b1", "{}"}, {"POST", "/v1/books", "{}"}, {"PATCH", "/v1/books/b1", "{}"}, {"DELETE", "/v1/books/b1", ""}, {"POST", "/v1/_transactions", "{}"}, {"POST", "/v1/_import", ""},
		{"POST", "/v1/books/b1/_revert", `{"at":"1"}`}, {"PUT", "/v1/_model", "{}"}, {"PUT", "/v1/_fold", "{}"}, {"DELETE", "/v1/_model/_pending", ""}, {"GET", "/v1/_groups", ""}, {"GET", "/v1/_groups/g", ""}, {"PUT", "/v1/_groups/g", "{}"},
		{"POST", "/v1/_groups/g/_lease", "{}"}, {"POST", "/v1/_replay", ""}, {"POST", "/v1/_snapshot", ""}, {"GET", "/v1/_keys", ""}, {"POST", "/v1/_keys", "{}"}, {"GET", "/v1/_replicas", ""}, {"GET", "/v1/_backup", ""}, {"POST", "/v1/_verify?log=true", ""}, {"POST", "/v1/_compact", `{"before":"1"}`}, {"GET", "/v1/_compact", ""},
		{"POST", "/v1/_erase", "{}"}, {"POST", "/v1/books/b1/_erase", "{}"}, {"GET", "/v1/_erasures", ""}, {"GET", "/v1/_erasures/1", ""}, {"POST", "/v1/_find", `{"text":"T"}`},
		{"GET", "/v1/books?consistency=strong", ""}, {"GET", "/v1/books?consistency=bounded&maxLag=1s", ""}, {"GET", "/v1/books?at=" + ahead, ""}, {"GET", "/v1/books?at=" + time.Now().UTC().Format(time.RFC3339Nano), ""}} {
		begun := time.Now()
		if r := c.Want(403, refused[0], refused[1], refused[2]); r.Problem() != "urn:fanfold:problem:read-only" || time.Since(begun) > 4*time.Second {
			t.Errorf("%s %s: %s", refused[0], refused[1], r.Body)
		}
	}
	if r := c.Want(403, "GET", "/v1/books", "", "Fanfold-Min-Position", ahead); r.Problem() != "urn:fanfold:problem:read-only" {
		t.Errorf("a later position: %s", r.Body)
	}
	c.Want(200, "GET", "/v1/books", "", "Fanfold-Min-Position", made.Position.String())
	if r := c.Want(410, "GET", "/v1/books", "", "Fanfold-Min-Position", "1-0-aaaaaaaa"); r.Problem() != "urn:fanfold:problem:store-changed" {
		t.Errorf("another store: %s", r.Body)
	}
	if status := string(c.Want(200, "GET", "/v1/_status", "").Body); !strings.Contains(status, `"readOnly":true`) || !strings.Contains(status, `"log":"none"`) {
		t.Errorf("status %s", status)
	}
	stop()
	stopOther()
	if after := filesOf(t, dir); !slices.Equal(before, after) {
		t.Error("the directory has changed")
	}
}

// TestReadOnlyOfClosedStore: without keys a read model of a closed store is not served, unless somebody says so; with a key it is to who has it.
func TestReadOnlyOfClosedStore(t *testing.T) {
	s := harness.OpenClosed(t, "")
	admin := s.As("admin")
	admin.Put("books", "b", `{}`)
	s.CatchUp()
	dir := filepath.Join(t.TempDir(), "past")
	if made, err := build(t, dir, source(t, s), rebuild.Past{To: fanfold.Moment{Time: time.Now()}}, nil); err != nil || !made.Closed {
		t.Fatalf("%+v %v", made, err)
	}
	open := func(cfg node.Config) error {
		cfg.Data, cfg.Logger = dir, slog.New(slog.DiscardHandler)
		r, err := node.OpenReadOnly(t.Context(), cfg)
		if err == nil {
			err = r.Close()
		}
		return err
	}
	file, key := harness.NewKeyFile(t)
	for name, c := range map[string]struct {
		cfg   node.Config
		taken bool
	}{
		"loopback":             {node.Config{Listen: "127.0.0.1:0"}, false},
		"loopback, insecure":   {node.Config{Listen: "127.0.0.1:0", Insecure: true}, true},
		"everybody":            {node.Config{Listen: "0.0.0.0:0", Plaintext: true}, false},
		"everybody with a key": {node.Config{Listen: "0.0.0.0:0", Plaintext: true, AdminKeyFile: file}, true},
		"a key in the clear":   {node.Config{Listen: "0.0.0.0:0", AdminKeyFile: file}, false},
	} {
		if err := open(c.cfg); (err == nil) != c.taken || err != nil && fanfold.CodeOf(err) != fanfold.Invalid {
			t.Errorf("%s: %v", name, err)
		}
	}
	c, stop := serveReadOnly(t, dir, func(cfg *node.Config) { cfg.AdminKeyFile = file })
	defer stop()
	c.Want(401, "GET", "/v1/books", "")
	c.Want(401, "GET", "/v1/_groups", "")
	c.With(key).Want(200, "GET", "/v1/books/b", "")
	c.With(key).Want(403, "GET", "/v1/_groups/g", "")
	c.With(s.NewKey("read")).Want(401, "GET", "/v1/books/b", "")
}
