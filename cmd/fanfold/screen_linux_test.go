package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fanfold/fanfold/tests/harness"
)

// hostile is an id, and the name of a member, that would change a terminal: its title and colour, the cursor and the direction of text.
const hostile = "i\x1b]0;title\x07\x1b[31m\u009b2J\r\u202e\u2066x\x7f"

// onScreen runs a command on a terminal, and returns its exit code and what the terminal was sent.
func onScreen(t *testing.T, in string, args ...string) (int, string) {
	t.Helper()
	screen, terminal := openTerminal(t)
	sent := make(chan string)
	go func() {
		var all bytes.Buffer
		for buffer := make([]byte, 4096); ; {
			n, err := screen.Read(buffer)
			all.Write(buffer[:n])
			if text, _, ended := strings.Cut(all.String(), "\x00end"); err != nil || ended { // a command may say more after its end
				sent <- text
				return
			}
		}
	}()
	root := command()
	root.SetIn(strings.NewReader(in))
	root.SetOut(terminal)
	root.SetErr(terminal)
	code := run(t.Context(), root, args)
	if _, err := terminal.WriteString("\x00end"); err != nil {
		t.Fatal(err)
	}
	return code, strings.ReplaceAll(<-sent, "\r\n", "\n") // a terminal begins lines at the left
}

// TestNoCommandMovesTheTerminal: what ids and members are called does not reach a terminal as it is, by any command, its errors included.
func TestNoCommandMovesTheTerminal(t *testing.T) {
	t.Setenv("NO_COLOR", "1")
	s := harness.OpenTemp(t, `{"collections":{"books":{"unique":["code"],"schema":{"properties":{"n":{"type":"number"}}},"relations":{"shelf":{"path":"shelf","to":"shelves","strict":true,"onDelete":"restrict"}}},"shelves":{}},"functions":{"echo":{"source":"export default (ctx, a) => { if (a.ok) return a; ctx.log(a.text); ctx.fail('x', a.text, a) }"}}}`)
	quoted := harness.QuoteJSON(hostile)
	s.Put("shelves", hostile, `{}`)
	s.Put("books", hostile, `{"shelf":`+quoted+`,`+quoted+`:1,"code":`+quoted+`}`)
	s.Put("free", hostile, `{`+quoted+`:1}`)
	s.Put("free", hostile, `{`+quoted+`:2}`)
	write := func(name, text string) string {
		path := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	lines := write("lines.jsonl", `{"id":`+quoted+`,"code":`+quoted+`,"n":"x"}`+"\n"+`{"id":"other`+`","shelf":"none\u001b[31m\u202e"}`+"\n")
	model := write("model.json", `{"collections":{"books":{"derive":{`+quoted+`:{"value":"doc.nothing.here"}}},"shelves":{},`+quoted+`:{}}}`)
	good := write("good.json", `{"collections":{"books":{"derive":{"x":{"value":`+harness.QuoteJSON("doc.nothing == "+harness.QuoteJSON(hostile))+`}}},"shelves":{}}}`)
	foreign := write("foreign.json", `[{"_id":`+quoted+`,"_x\u001b[31m":1},{"_id":`+quoted+`,"of":`+quoted+`},{"id":`+quoted+`,"of":`+quoted+`,`+quoted+`:7}]`)
	derived := write("derived.json", `{"collections":{"free":{"derive":{"of":{"value":"1"},`+quoted+`:{"value":"doc.id"}}}}}`)
	backup := filepath.Join(t.TempDir(), "backup")
	tested := map[string]bool{"serve": true, "demo": true, "version": true, "upgrade": true, "replicas": true} // they show no data
	for _, args := range [][]string{
		{"get", "free", hostile}, {"get", "free", hostile, "--lineage"}, {"get", "free", "none" + hostile}, {"list", "free"}, {"list", "free", "--json"}, {"list", "none" + hostile},
		{"put", "books", "b" + hostile, "-"}, {"put", "books", "b2", write("unique.json", `{"code":`+quoted+`}`)}, {"put", "books", "b3", write("strict.json", `{"shelf":"none`+quoted[1:]+`}`)}, {"put", "books", "b4", hostile},
		{"patch", "free", "none" + hostile, write("patch.json", `{}`)}, {"delete", "shelves", hostile}, {"delete", "free", "none" + hostile},
		{"update", "free", "--filter", "true", "--dry-run", write("all.json", `{`+quoted+`:1}`)}, {"update", "shelves", "--filter", "doc." + hostile, "{}"}, {"update", "books", "--filter", "true", "--yes", write("code.json", `{"code":`+quoted+`}`)},
		{"changes", "--since", "0", "--once"}, {"changes", "--since", "0", "--once", "--json", "--mode", "all"}, {"history", "free", hostile}, {"history", "free", hostile, "--json"}, {"diff", "--from", "0"},
		{"diff", "--from", "0", "--json"}, {"revert", "free", hostile, "--at", "7", "--dry-run"}, {"revert", "--at", "3", "--dry-run"}, {"export"}, {"export", "--sqlite", filepath.Join(t.TempDir(), hostile)}, {"import", lines, "--collection", "books"}, {"import", hostile},
		{"model", "check", model}, {"model", "diff", good}, {"model", "apply", good}, {"model", "apply", good, "--allow-removal"}, {"erase", "free", hostile, "--dry-run"}, {"erase", "--find", "title"}, {"erase", "shelves", hostile, "--dry-run"}, {"erasures"},
		{"compact", "--before", "2", "--dry-run"}, {"group", "list"}, {"webhooks"}, {"group", "show", hostile}, {"keys", "list"}, {"access", "explain", "free/" + hostile, "--sub", hostile}, {"access", "explain", hostile}, {"keys", "revoke", hostile}, {"import", foreign, "--collection", "free", "--from", "mongo"}, {"import", foreign, "--collection", "free", "--model", derived, "--drift", "--dry-run"}, {"drift"}, {"drift", "--model", derived}, {"model", "suggest"}, {"model", "schema"}, {"model", "get"}, {"collections"}, {"put", "free", "j", `{"x":` + quoted + `}`}, {"model", "suggest", "--collection", "free", foreign}, {"status"}, {"verify"}, {"replay", "--check"},
		{"fn", "list"}, {"fn", "show", "echo"}, {"fn", "show", hostile}, {"fn", "call", hostile}, {"fn", "call", "echo", `{"text":` + quoted + `}`}, {"fn", "call", "echo", `{"ok":1,` + quoted + `:` + quoted + `}`}, {"fn", "call", "echo", "--dry-run", `{"ok":1,` + quoted + `:` + quoted + `}`}, {"fn", "remove", hostile}, {"fn", "put", hostile}, {"fn", "put", write(hostile[:1]+"e.js", "export default () => "+quoted)}, {"fn", "put", write("e.js", "export default () => "+quoted+"\n// "+hostile), "--yes"}, {"fn", "test", hostile},
		{"backup", "--out", backup}, {"restore", backup, "--data", filepath.Join(t.TempDir(), hostile)}, {"log", "export", "--data", hostile}, {"snapshot", hostile}, {"nothing" + hostile}, {"get", "--no" + hostile},
	} {
		tested[args[0]] = true
		all := args
		if args[0] != "restore" && args[0] != "log" && (args[0] != "model" || args[1] != "check" && args[1] != "schema") {
			all = append(all, "--server", s.URL)
		}
		code, sent := onScreen(t, `{"n":"x",`+quoted+`:1}`, all...)
		if strings.ContainsFunc(sent, func(r rune) bool { return r != '\n' && r != '\t' && controls(r) }) {
			t.Errorf("%q (exit code %d) sends a terminal %q", args, code, sent)
		}
	}
	for _, c := range command().Commands() {
		if !tested[c.Name()] {
			t.Errorf("%s is not tried", c.Name())
		}
	}
}

// TestOneWriter: no command writes to a terminal by itself.
func TestOneWriter(t *testing.T) {
	files, err := filepath.Glob("*.go")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(name, "_test.go") || name == "screen.go" {
			continue
		}
		for _, std := range []string{"os.Stdout", "os.Stderr", "fmt.Print", `"\x1b`, `"\033`} {
			if n := strings.Count(strings.NewReplacer("os.Stderr.Fd()", "", "os.Stdout.Fd()", "").Replace(string(text)), std); n > 0 {
				t.Errorf("%s has %s: cmd.OutOrStdout and standardError are written to", name, std)
			}
		}
	}
}

// TestScreen: data is escaped, wherever it is cut. The program's own colours are kept, and so are all bytes that are piped on.
func TestScreen(t *testing.T) {
	for text, want := range map[string]string{
		"a\x1b[31mb": `a\u001b[31mb`, "é\u009bx\u202e": `é\u009bx\u202e`, "\xff[36mok\xff[0m\n": "\x1b[36mok\x1b[0m\n", wipe + "1": "\r\x1b[K1", "\xff[2Jx": "\ufffd[2Jx", "\xffé": "\ufffdé", "\xff[3\xff[36m": "\ufffd[3\x1b[36m",
		"a\rb\tc": `a\u000db` + "\tc", "\x80x": "\ufffdx", "\xff[12345m": "\ufffd[12345m", "😍": "😍",
	} {
		for cut := range len(text) + 1 {
			r, w, err := os.Pipe()
			if err != nil {
				t.Fatal(err)
			}
			s := &screen{file: w}
			for _, part := range []string{text[:cut], text[cut:]} {
				if n, err := s.Write([]byte(part)); n != len(part) || err != nil {
					t.Fatal(n, err)
				}
			}
			w.Close()
			var got bytes.Buffer
			if _, err := got.ReadFrom(r); err != nil || got.String() != want {
				t.Errorf("%q, cut at %d, is %q, want %q (%v)", text, cut, got.String(), want, err)
			}
			r.Close()
		}
	}
	if piped := new(bytes.Buffer); screenOf(piped) != piped {
		t.Error("what is piped is changed")
	}
}
