package main

import (
	"bytes"
	"context"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/tests/harness"
	"github.com/fanfold/fanfold/tests/suite"
)

// fanfoldCommand runs a command line as main does, without the process.
func fanfoldCommand(ctx context.Context, out io.Writer, args ...string) error {
	cmd := command()
	cmd.SetArgs(args)
	cmd.SetOut(out)
	cmd.SetErr(out)
	return cmd.ExecuteContext(ctx)
}

func TestDemoTour(t *testing.T) {
	tmp := t.TempDir()
	t.Setenv("TMPDIR", tmp)
	var out bytes.Buffer
	if err := fanfoldCommand(t.Context(), &out, "demo", "--once", "--listen", "127.0.0.1:0"); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`Fanfold demo: a bookshop at http://127\.0\.0\.1:\d+, on a temporary directory\.`,
		`\d+ books, \d+ authors, \d+ publishers,`,
		`"firstName": "Samuel",`,
		`"countOfBooks": 8`,
		`The Innocents Abroad +1869  Samuel Clemens -> Mark Twain\n`,
		`The Gilded Age +1873  Samuel Clemens -> Mark Twain\n`,
		`\d+-0-\S+ +patch +authors/samuel-clemens\n`,
		`derive +books/[a-z-]+\s+/authors/0/name: "Samuel Clemens" -> "Mark Twain"\s+\(books\.authors\[\]\.name, from authors/samuel-clemens\)`,
		`derive +shelves/[a-z-]+\s+/books/0/by: \["Samuel Clemens"\] -> \["Mark Twain"\]`,
		`revision  (\d+) -> (\d+)\n`,
		`countOfBooks of the author +8 -> 9\n`,
		`countOfBooks of the publisher +4 -> 5\n`,
		`Following the Equator +1897\n +A Connecticut Yankee in King Arthur's Court +1889\n`,
		`by index byAuthor, which gives the order, \d documents were looked at`,
		`nothing is wrong`,
		`The server ends here\. Without --once it stays up, with commands to try:\n\n   .+ demo\n$`,
	} {
		if !regexp.MustCompile(want).Match(out.Bytes()) {
			t.Errorf("no %s", want)
		}
	}
	if m := regexp.MustCompile(`revision  (\d+) -> (\d+)\n`).FindStringSubmatch(out.String()); m != nil && m[1] != m[2] {
		t.Errorf("a copy changed the revision from %s to %s", m[1], m[2])
	}
	for _, unwanted := range []string{"Ctrl-C", "curl", "try, in another terminal", "changes --server"} {
		if strings.Contains(out.String(), unwanted) {
			t.Errorf("--once, whose server has ended, prints %q", unwanted)
		}
	}
	checkWidth(t, out.String())
	if left, err := os.ReadDir(tmp); err != nil || len(left) > 0 {
		t.Errorf("left in the temporary directory: %v %v", left, err)
	}
	if t.Failed() {
		t.Log(out.String())
	}
}

func checkWidth(t *testing.T, text string) {
	t.Helper()
	for line := range strings.Lines(text) {
		if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > demoWidth {
			t.Errorf("%d columns: %s", n, line)
		}
	}
}

func TestDemoWrap(t *testing.T) {
	long := strings.Repeat("x", 120)
	for line, want := range map[string]string{
		"1-0  put  a/b":             "  1-0  put  a/b",
		"1-0  put  a/b  " + long:    "  1-0  put  a/b\n          " + long,
		long + "  (from a)":         "  " + long + "\n          (from a)",
		"1-0  a  " + long + "  (b)": "  1-0  a\n          " + long + "\n          (b)",
	} {
		if got := wrap(line, "  "); got != want {
			t.Errorf("wrapped %q to\n%s\nwant\n%s", line, got, want)
		}
	}
}

// printedCommands returns the curl lines of the tour, with their continuations.
func printedCommands(out string) (commands []string) {
	current := ""
	for line := range strings.Lines(out) {
		if current == "" && !strings.HasPrefix(line, "   curl ") {
			continue
		}
		if current += line; !strings.HasSuffix(line, "\\\n") {
			commands, current = append(commands, current), ""
		}
	}
	return commands
}

// TestDemoCommands pastes every line the tour prints into a shell. A .curlrc makes curl fail
// where the server refuses, without a change to the line.
func TestDemoCommands(t *testing.T) {
	if _, err := exec.LookPath("curl"); err != nil {
		t.Skip("no curl here")
	}
	home := t.TempDir()
	if err := os.WriteFile(filepath.Join(home, ".curlrc"), []byte("fail-with-body\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s := harness.OpenTemp(t, "") // verifies at the end
	var out bytes.Buffer
	tour := newTour(s.URL, &out)
	if err := tour.run(t.Context()); err != nil {
		t.Fatal(err)
	}
	tour.commands()
	wants := []string{ // what each answer has, in the order in which they are printed
		"204", `"by":["George Eliot"]`,
		`"authors":[{"id":"samuel-clemens","name":"Mark Twain"`, `"authors":[{"id":"samuel-clemens"},{"id":"charles-dudley-warner"}]}`,
		`"_expanded":{"stock":{"1":{"id":"1","symbol":"zaza"`,
		"204", `"publisherName":"Thomas Cautley Newby"`,
		`["Mary Ann Evans"]`, `{"groups":[{"key":{"language":"en"},"values":{"count":`, `"collections"`,
	}
	commands := printedCommands(out.String())
	if len(commands) != len(wants) {
		t.Fatalf("%d commands, want %d: %q", len(commands), len(wants), commands)
	}
	for i, line := range commands {
		cmd := exec.CommandContext(t.Context(), "sh", "-c", line)
		cmd.Env = append(os.Environ(), "CURL_HOME="+home, "HOME="+home)
		answer, err := cmd.CombinedOutput()
		if err != nil || !strings.Contains(string(answer), wants[i]) {
			t.Errorf("%s%v\n%s\nwant %s", line, err, answer, wants[i])
		}
	}
}

// TestDemoStaysUp interrupts a demo that waits, on a directory that it must keep.
func TestDemoStaysUp(t *testing.T) {
	suite.Concurrent(t)
	dir := filepath.Join(t.TempDir(), "kept")
	ctx, interrupt := context.WithTimeout(t.Context(), suite.Deadline(time.Minute))
	defer interrupt()
	r, w := io.Pipe()
	done := make(chan error, 1)
	go func() {
		err := fanfoldCommand(ctx, w, "demo", "--listen", "127.0.0.1:0", "--data", dir)
		done <- err
		_ = w.CloseWithError(io.EOF)
	}()
	var seen []byte
	buf := make([]byte, 4096)
	for !bytes.Contains(seen, []byte("Press Ctrl-C to stop.\n")) {
		n, err := r.Read(buf)
		if err != nil {
			t.Fatalf("%v: %v after %s", err, <-done, seen)
		}
		seen = append(seen, buf[:n]...)
	}
	base := regexp.MustCompile(`http://[0-9.:]+`).FindString(string(seen))
	if b := harness.NewClient(t, base).Get("books", "tom-sawyer"); !strings.Contains(b, `"Mark Twain"`) {
		t.Errorf("while it waits, tom-sawyer is %s", b)
	}
	interrupt()
	if err := <-done; err != nil {
		t.Fatalf("interrupted: %v", err)
	}
	var out bytes.Buffer
	err := fanfoldCommand(t.Context(), &out, "verify", "--data", dir)
	if err != nil || !strings.Contains(out.String(), "232 documents verified") {
		t.Errorf("verify: %v %s", err, out.String())
	}
	err = fanfoldCommand(t.Context(), &out, "demo", "--once", "--listen", "127.0.0.1:0", "--data", dir)
	if fanfold.CodeOf(err) != fanfold.Invalid {
		t.Errorf("a second demo on %s: %v", dir, err)
	}
}

func TestDemoPortTaken(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	err = fanfoldCommand(t.Context(), io.Discard, "demo", "--once", "--listen", l.Addr().String())
	if err == nil {
		t.Fatal("started on a port that is taken")
	}
	if m := message(err); !strings.HasPrefix(m, l.Addr().String()+" is in use") || !strings.Contains(m, "--listen 127.0.0.1:0") {
		t.Errorf("port taken: %s", m)
	}
}

// TestDemoBesideServe: a demo and a server that are both started without an address do not meet.
func TestDemoBesideServe(t *testing.T) {
	demo, serve := demoCommand().Flags().Lookup("listen").DefValue, serveCommand().Flags().Lookup("listen").DefValue
	if demo == serve || "http://"+serve != defaultServer {
		t.Errorf("the demo listens on %s, serve on %s, commands ask %s", demo, serve, defaultServer)
	}
}

func TestDemoBaseURL(t *testing.T) {
	for addr, want := range map[string]string{
		"127.0.0.1:8080": "http://127.0.0.1:8080", "0.0.0.0:80": "http://127.0.0.1:80",
		"[::]:8080": "http://127.0.0.1:8080", "[::1]:8080": "http://[::1]:8080",
	} {
		if got := baseURL(addr); got != want {
			t.Errorf("%s: %s, want %s", addr, got, want)
		}
	}
}
