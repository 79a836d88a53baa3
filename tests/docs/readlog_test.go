package docs_test

import (
	"fmt"
	"net/http"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/fanfold/fanfold/tests/harness"
	"github.com/fanfold/fanfold/tests/suite"
)

// TestReadTheLog: the program that events/README.md shows, which knows nothing of Fanfold, reads every kind of event from a
// running server, and goes on where it was.
func TestReadTheLog(t *testing.T) {
	addr := harness.FreeAddress(t)
	reader := filepath.Join(t.TempDir(), "readlog")
	if out, err := exec.Command("go", "build", "-o", reader, "../../examples/readlog").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	data := t.TempDir()
	p := harness.StartProcess(t, "--data", data, "--nats-listen", addr, "--durability", "interval")
	read := func(after string) []string {
		t.Helper()
		out, err := exec.Command(reader, "--server", "nats://"+addr, "--after", after, "--once").CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		return strings.Split(strings.TrimSuffix(string(out), "\n"), "\n")
	}
	writeEveryKind(t, p)
	lines := read("0")
	kinds := map[string]bool{}
	for i, line := range lines {
		if seq, rest, _ := strings.Cut(line, " "); seq != fmt.Sprint(i+1) {
			t.Fatalf("line %d is %s", i+1, line)
		} else {
			kinds[regexp.MustCompile(`^patch.*?, (merge|json): |^\w+`).FindString(rest)] = true
		}
	}
	all := strings.Join(lines, "\n")
	for _, want := range []string{
		` put people/a%20b {"id":"a b","email":"x@y","boss":"c/d"}`, ` patch people/c/d of revision \d+, merge: {"age":7}`,
		` patch people/c/d of revision \d+, json: \[{"op":"remove","path":"/age"}\]`, ` delete notes/n`, ` model {"collections"`,
		` prepare {"collections"`, ` cancel {"reason":`, ` import {"line":`, ` check that people/c/d is at revision \d+`,
		` check that nothing behind event \d+ refers to people/e`, ` link: people/a b holds people/c/d`, ` link: people/a b lets go of people/c/d`,
		` claim: people/a b holds email=sx@y`, ` claim: people/a b lets go of email=sx@y`,
	} {
		want = strings.ReplaceAll(want, "a%20b", "a b")
		if !regexp.MustCompile(want).MatchString(all) {
			t.Errorf("nothing reads %q in\n%s", want, all)
		}
	}
	if kinds["fence"] { // examples/readlog has the test of how one is read
		t.Errorf("a strong read has written a fence:\n%s", all)
	}
	if len(kinds) < 10 {
		t.Errorf("only these kinds came: %v", kinds)
	}
	half := len(lines) / 2
	if again := read(fmt.Sprint(half)); strings.Join(again, "\n") != strings.Join(lines[half:], "\n") {
		t.Errorf("behind event %d the reader prints\n%s", half, strings.Join(again, "\n"))
	}
	p.Signal(syscall.SIGTERM)
	p = harness.StartProcess(t, "--data", data, "--nats-listen", addr, "--durability", "interval")
	p.Put("notes", "later", `{}`)
	if more := read(fmt.Sprint(len(lines))); len(more) != 1 || more[0] != fmt.Sprintf(`%d put notes/later {"id":"later"}`, len(lines)+1) {
		t.Errorf("after a restart the reader prints %q", more)
	}
	p.Want(http.StatusAccepted, "POST", "/v1/_compact", `{"before":"3"}`)
	for end := time.Now().Add(suite.Deadline(time.Minute)); !strings.Contains(string(p.Want(http.StatusOK, "GET", "/v1/_compact", "").Body), `"running":false`); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("the compaction goes on")
		}
	}
	if more := strings.Join(read(fmt.Sprint(len(lines)+1)), "\n"); !strings.Contains(more, " compact: the store begins after event 3") {
		t.Errorf("after a compaction the reader prints %q", more)
	}
}

// writeEveryKind makes a server write every kind of event.
func writeEveryKind(t *testing.T, p *harness.Process) {
	t.Helper()
	const yaml = "application/yaml"
	people := `collections: { people: { unique: [email], relations: { boss: { path: boss, to: people, strict: true, onDelete: restrict } } } }`
	p.Want(http.StatusOK, "PUT", "/v1/_model", people, "Content-Type", yaml)
	p.Put("people", "c/d", `{"name":"C"}`)
	p.Put("people", "e", `{}`)
	p.Put("people", "a b", `{"email":"x@y","boss":"c/d"}`)
	path := "/v1/people/c%2Fd"
	p.Want(http.StatusNoContent, "PATCH", path, `{"age":7}`, "Content-Type", "application/merge-patch+json")
	p.Want(http.StatusNoContent, "PATCH", path, `[{"op":"remove","path":"/age"}]`, "Content-Type", "application/json-patch+json")
	p.Put("people", "a b", `{}`)
	p.Put("notes", "n", `{}`)
	p.Want(http.StatusOK, "POST", "/v1/_transactions", `{"operations":[{"op":"check","collection":"people","id":"c/d","ifMatch":"*"},
		{"op":"delete","collection":"notes","id":"n"},{"op":"delete","collection":"people","id":"e"}]}`)
	p.Want(http.StatusOK, "GET", "/v1/people/a%20b?consistency=strong", "")
	p.Want(http.StatusOK, "POST", "/v1/_import?collection=notes&id=load", `{"id":"i"}`+"\n", "Content-Type", "application/x-ndjson")
	for i := range 50 { // until a model is withdrawn before it applies
		more := strings.Replace(people, "people: {", fmt.Sprintf("people: { derive: { reports%d: { count: people.boss } },", i), 1)
		r, err := p.Do("PUT", "/v1/_model?background=true&allowRemoval=true", []byte(more), "Content-Type", yaml, "Fanfold-Timeout", "0")
		if err != nil || r.Status != http.StatusAccepted && r.Status != http.StatusOK { // it may apply by then
			t.Fatalf("%+v, %v", r, err)
		}
		for range 100 { // before its announcement is folded it cannot be withdrawn yet
			if r, err := p.Do("DELETE", "/v1/_model/_pending", nil); err == nil && r.Status < 300 {
				return
			}
		}
		p.Want(http.StatusOK, "PUT", "/v1/_model?background=true&allowRemoval=true", more, "Content-Type", yaml, "Fanfold-Timeout", "60") // it could not be withdrawn any more: wait until it applies
	}
}
