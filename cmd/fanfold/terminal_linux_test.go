package main

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"
	"unicode/utf8"
	"unsafe"

	"github.com/fanfold/fanfold/tests/harness"
)

// openTerminal returns both ends of a pseudo terminal.
func openTerminal(t *testing.T) (screen, terminal *os.File) {
	t.Helper()
	screen, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Skipf("no terminals here: %v", err)
	}
	t.Cleanup(func() { screen.Close() })
	var number, unlocked int32
	for request, value := range map[uintptr]*int32{syscall.TIOCGPTN: &number, syscall.TIOCSPTLCK: &unlocked} {
		if _, _, failed := syscall.Syscall(syscall.SYS_IOCTL, screen.Fd(), request, uintptr(unsafe.Pointer(value))); failed != 0 {
			t.Fatal(failed)
		}
	}
	if terminal, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|syscall.O_NOCTTY, 0); err != nil {
		t.Skipf("no terminals here: %v", err)
	}
	t.Cleanup(func() { terminal.Close() })
	return screen, terminal
}

// TestColoursOnTerminals: changes, versions and differences have colours on a terminal, unless NO_COLOR is set or the terminal knows none.
func TestColoursOnTerminals(t *testing.T) {
	s := harness.OpenTemp(t, "")
	s.Put("books", "b1", "{}")
	for _, c := range []struct {
		noColor, term string
		colours       bool
	}{{"", "xterm", true}, {"1", "xterm", false}, {"", "dumb", false}} {
		t.Setenv("NO_COLOR", c.noColor)
		t.Setenv("TERM", c.term)
		for args, want := range map[string]string{"changes --since 0 --once": "books/b1", "history books b1": "1-0", "diff --from 0": "books/b1"} {
			screen, terminal := openTerminal(t)
			root := command()
			root.SetOut(terminal)
			if code := run(t.Context(), root, append(strings.Fields(args), "--server", s.URL)); code != exitDone {
				t.Fatalf("exit code %d", code)
			}
			line := make([]byte, 4096)
			n, err := screen.Read(line)
			if err != nil || !strings.Contains(string(line[:n]), want) || bytes.Contains(line[:n], []byte("\x1b[32mcreate")) != c.colours {
				t.Errorf("%s, NO_COLOR=%s TERM=%s: %q, %v", args, c.noColor, c.term, line[:n], err)
			}
		}
	}
}

// TestTablesFitTerminals: tables take no more columns than a terminal has, and lose nothing that fits.
func TestTablesFitTerminals(t *testing.T) {
	s := harness.OpenTemp(t, "")
	long := strings.Repeat("long", 15)
	s.Want(201, "PUT", "/v1/_groups/"+long, `{"partitions":1}`)
	s.Want(201, "PUT", "/v1/_groups/short", `{"partitions":1}`)
	stdout := os.Stdout
	t.Cleanup(func() { os.Stdout = stdout })
	for _, width := range []uint16{70, 200} {
		screen, terminal := openTerminal(t)
		size := [4]uint16{24, width}
		if _, _, failed := syscall.Syscall(syscall.SYS_IOCTL, terminal.Fd(), syscall.TIOCSWINSZ, uintptr(unsafe.Pointer(&size))); failed != 0 {
			t.Fatal(failed)
		}
		os.Stdout = terminal
		root := command()
		root.SetOut(terminal)
		if code := run(t.Context(), root, []string{"group", "list", "--server", s.URL}); code != exitDone {
			t.Fatalf("exit code %d", code)
		}
		text, n := make([]byte, 4096), 0
		for !strings.Contains(string(text[:n]), "short") { // a terminal gives what was written in pieces
			more, err := screen.Read(text[n:])
			if err != nil {
				t.Fatal(err)
			}
			n += more
		}
		lines := strings.Split(strings.ReplaceAll(string(text[:n]), "\r", ""), "\n")
		for _, line := range lines {
			if utf8.RuneCountInString(line) > int(width) {
				t.Errorf("%q is wider than %d", line, width)
			}
		}
		if whole := strings.Contains(string(text[:n]), long); whole != (width == 200) || !strings.Contains(string(text[:n]), "short") || strings.Contains(string(text[:n]), "…") == whole {
			t.Errorf("%d columns show %q", width, text[:n])
		}
	}
}

// TestFitted: the widest columns are cut, down to their headings, and text without a bound stays as it is.
func TestFitted(t *testing.T) {
	const rows = "ID\tDESCRIPTION\tURL\nabc\tone two three four five six\thttps://receiver.example/books\n"
	for width, want := range map[int]string{
		0:  rows,
		80: rows,
		50: "ID\tDESCRIPTION\tURL\nabc\tone two three four f…\thttps://receiver.exam…\n",
		1:  "ID\tDESCRIPTION\tURL\nabc\tone two th…\thttps:/…\n",
	} {
		if got := fitted(rows, width); got != want {
			t.Errorf("in %d columns they are %q, want %q", width, got, want)
		}
	}
}

// TestCompactAsks: on a terminal nothing goes before the answer is yes.
func TestCompactAsks(t *testing.T) {
	t.Parallel()
	s := harness.OpenTemp(t, "")
	s.Put("books", "b1", `{"n":1}`)
	s.Put("books", "b1", `{"n":2}`)
	for _, c := range []struct {
		answer string
		code   int
	}{{"\n", exitFailed}, {"n\n", exitFailed}, {"yes\n", exitDone}} {
		screen, terminal := openTerminal(t)
		if _, err := screen.WriteString(c.answer); err != nil {
			t.Fatal(err)
		}
		root, out := command(), new(bytes.Buffer)
		root.SetIn(terminal)
		root.SetOut(out)
		root.SetErr(out)
		code := run(t.Context(), root, []string{"compact", "--before", "1", "--server", s.URL})
		if code != c.code || !strings.Contains(out.String(), "Take it away? [y/N]") {
			t.Errorf("%q: exit code %d\n%s", c.answer, code, out)
		}
	}
}

// TestExportShowsProgress: on a terminal an export has a line that says how far it is, and takes it away. Elsewhere it has none.
func TestExportShowsProgress(t *testing.T) {
	s := harness.OpenTemp(t, "")
	s.Put("books", "b1", "{}")
	stderr := os.Stderr
	t.Cleanup(func() { os.Stderr = stderr })
	for _, shows := range []bool{true, false} {
		screen, terminal := openTerminal(t)
		if os.Stderr = stderr; shows {
			os.Stderr = terminal
		}
		root, out, notes := command(), new(bytes.Buffer), new(bytes.Buffer)
		root.SetOut(out)
		root.SetErr(notes)
		if code := run(t.Context(), root, []string{"export", "--collections", "books", "--server", s.URL}); code != exitDone {
			t.Fatalf("exit code %d: %s", code, notes)
		}
		if strings.Contains(out.String()+notes.String(), "\x1b") || !strings.Contains(out.String(), `"id":"b1"`) {
			t.Errorf("the export is %q, with %q", out, notes)
		}
		fmt.Fprint(terminal, "end")
		line := make([]byte, 4096)
		n, err := screen.Read(line)
		if err != nil || bytes.Contains(line[:n], []byte("\r\x1b[K")) != shows {
			t.Errorf("the terminal has %q, %v", line[:n], err)
		}
	}
}
