package main

import (
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"github.com/fanfold/fanfold/tests/harness"
)

// TestHelpGroups: each command is in a group of help, and each flag of serve in one, once.
func TestHelpGroups(t *testing.T) {
	r := runCommand(t, "", "--help")
	r.want(t, exitDone, "Documents:\n", "Looking after a server:\n")
	if strings.Contains(r.out, "Additional Commands") {
		t.Errorf("commands are in no group:\n%s", r.out)
	}
	serve := runCommand(t, "", "serve", "--help")
	serve.want(t, exitDone, " The store:\n", " The log on NATS servers:\n      --nats ")
	for _, f := range []string{"data", "listen", "tls-cert", "token-map", "nats-user", "shutdown-delay", "trace-ratio", "log-level"} {
		if n := strings.Count(serve.out, "\n      --"+f+" "); n != 1 {
			t.Errorf("--%s stands %d times in\n%s", f, n, serve.out)
		}
	}
}

// TestSuggestedFlags: a flag that is mistyped a little is named, and one that is like none is not.
func TestSuggestedFlags(t *testing.T) {
	for line, want := range map[string]string{
		"list books --filtr x": "unknown flag: --filtr: perhaps --filter is meant; see fanfold list --help", "export --colections a": "perhaps --collections is meant", "serve --lisen x": "perhaps --listen is meant",
		"import --foo": "unknown flag: --foo; see", "import --" + strings.Repeat("x", 5000): "; see fanfold import --help", "get a b -z": "unknown shorthand flag",
	} {
		runCommand(t, "", strings.Fields(line)...).want(t, exitUsage, want)
	}
}

// TestStrayVariables: a variable that sets no flag is told of, and neither are those that Kubernetes sets for a service, nor a value.
func TestStrayVariables(t *testing.T) {
	environment := []string{"FANFOLD_SERVR=secret", "FANFOLD_SERVER=x", "FANFOLD_KEY=x", "FANFOLD_CONFIG=x", "FANFOLD_SERVICE_HOST=x", "FANFOLD_PORT=x", "FANFOLD_PORT_8080_TCP_ADDR=x", "FANFOLD_SERVICE_PORT_HTTP=x", "FANFOLD_A_SERVICE_HOST=x", "PATH=x", "FANFOLD_\x1b[2J=x", "FANFOLD_VERSION=1"}
	root := command()
	got := strings.Join(strayVariables(root, environment), "\n")
	want := "warning: no flag is set by FANFOLD_\ufffd[2J in the environment\nwarning: no flag is set by FANFOLD_SERVR in the environment: perhaps FANFOLD_SERVER is meant"
	if got != want {
		t.Errorf("it says %q, want %q", got, want)
	}
	for i := range 100 {
		environment = append(environment, fmt.Sprintf("FANFOLD_X%d=1", i))
	}
	if n := len(strayVariables(root, environment)); n != 10 {
		t.Errorf("it warns %d times", n)
	}
	t.Setenv("FANFOLD_SERVR", "x")
	if r := runCommand(t, "", "version"); !strings.Contains(r.err, "fanfold: warning: no flag is set by FANFOLD_SERVR") || strings.Contains(r.out, "warning") {
		t.Errorf("it prints %q and %q", r.out, r.err)
	}
}

// TestCollectionsCommand: collections are listed with their documents, those without a declaration too.
func TestCollectionsCommand(t *testing.T) {
	s := harness.OpenTemp(t, "collections: {authors: {}, books: {}}")
	s.Put("books", "b1", "{}")
	s.Put("notes", "n1", "{}")
	runCommand(t, "", "collections", "--server", s.URL).want(t, exitDone, "COLLECTION  DOCUMENTS  IN THE MODEL\nauthors     0          yes\nbooks       1          yes\nnotes       1          no\n")
	runCommand(t, "", "collections", "--json", "--server", s.URL).want(t, exitDone, `"name": "notes"`, `"documents": 1`)
	model := runCommand(t, "", "model", "get", "--server", s.URL)
	if model.code != exitDone || model.out != "collections:\n    authors: {}\n    books: {}\n" {
		t.Errorf("the model is %q, %s", model.out, model.err)
	}
	runCommand(t, "", "model", "get", "--json", "--server", s.URL).want(t, exitDone, `{"collections":{"authors":{},"books":{}}}`)
	runCommand(t, "", "model", "get", "--server", harness.OpenTemp(t, "").URL).want(t, exitDone, "collections: {}")
}

// TestJSONArguments: put and patch take JSON as an argument.
func TestJSONArguments(t *testing.T) {
	s := harness.OpenTemp(t, "")
	run := func(args ...string) ran { return runCommand(t, "", append(args, "--server", s.URL)...) }
	run("put", "books", "b1", `{"price":2.50}`).want(t, exitDone, "created books/b1")
	run("patch", "books", "b1", ` [{"op":"add","path":"/x","value":1}]`).want(t, exitDone, "wrote books/b1")
	run("get", "books", "b1", "--json").want(t, exitDone, `{"id":"b1","price":2.50,"x":1}`)
	run("put", "books", "b1", `{"price":`).want(t, exitUsage, "ends too early")
	run("put", "books", "b1", `price`).want(t, exitUsage, "price")
}

// completions returns what a shell is told for a command line whose last word has begun.
func completions(t *testing.T, args ...string) string {
	t.Helper()
	r := runCommand(t, "", append([]string{cobra.ShellCompNoDescRequestCmd}, args...)...)
	if r.code != exitDone {
		t.Errorf("%q ends with %d: %s", args, r.code, r.err)
	}
	lines := strings.Split(strings.TrimSpace(r.out), "\n")
	return strings.Join(lines[:len(lines)-1], " ")
}

// TestCompletion: shells propose collections, ids, groups and what flags take, at most 100, none that would steer a terminal.
func TestCompletion(t *testing.T) {
	s := harness.OpenTemp(t, "collections: {authors: {}, books: {}, boxes: {}}")
	for _, id := range []string{"b1", "b2", "c1", "b\x1b[31m"} {
		s.Put("books", id, "{}")
	}
	for i := range 150 {
		s.Put("authors", fmt.Sprintf("a%d", i), "{}")
	}
	runCommand(t, "", "group", "create", "search", "--server", s.URL).want(t, exitDone)
	t.Setenv("FANFOLD_SERVER", s.URL)
	for line, want := range map[string]string{
		"get bo": "books boxes", "get books b": "b1 b2", "get books ": "b1 b2 c1", "get books b1 ": "", "history books c": "c1", "delete b": "books boxes", "get none x": "",
		"export --collections authors,bo": "authors,books authors,boxes", "group describe s": "search", "group create s": "", "list books --consistency s": "strong bounded session prefix eventual",
		"serve --log-format ": "text json", "import --from m": "auto json fanfold cosmos mongo couch firestore", "model s": "schema suggest",
	} {
		if got := completions(t, strings.Split(line, " ")...); got != want {
			t.Errorf("%q is completed by %q, want %q", line, got, want)
		}
	}
	if n := len(strings.Fields(completions(t, "get", "authors", "a"))); n != maxCompletions {
		t.Errorf("%d ids are proposed", n)
	}
}

// TestSilentCompletion: without a server, or with one that does not answer, a shell is told nothing, and soon.
func TestSilentCompletion(t *testing.T) {
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	for _, server := range []string{"127.0.0.1:1", silent.Addr().String(), "::no address"} {
		began := time.Now()
		r := runCommand(t, "", cobra.ShellCompNoDescRequestCmd, "get", "--server", server, "b")
		if r.code != exitDone || r.out != ":4\n" || strings.Contains(r.err, "refused") || time.Since(began) > 10*completeWithin {
			t.Errorf("%s: %d, %q, %q", server, r.code, r.out, r.err)
		}
	}
}

// TestRolesThatNothingNames: keys create warns of a role that neither the model nor a group names, and of no other.
func TestRolesThatNothingNames(t *testing.T) {
	s := harness.OpenTemp(t, `{collections: {a: {access: {read: [support], write: {where: '"auditor" in auth.roles'}}, private: {x: [staff]}}},
functions: {f: {call: [clerk], source: 'export default (ctx) => ctx.caller.roles.includes("manager")'}}}`)
	create := func(roles string) ran {
		return runCommand(t, "", "keys", "create", "--server", s.URL, "--name", "n", "--role", roles)
	}
	r := create("admin,support,staff,auditor,clerk,manager,supporr,other")
	r.want(t, exitDone, "warning: neither the model nor a group names the role supporr: perhaps support is meant\n", "names the role other\n")
	if n := strings.Count(r.err, "warning"); n != 2 || strings.Contains(r.out, "warning") {
		t.Errorf("it warns %d times: %s", n, r.err)
	}
}
