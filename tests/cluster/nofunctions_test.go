package cluster_test

import (
	"net/http"
	"os/exec"
	"strings"
	"testing"

	"github.com/fanfold/fanfold/tests/harness"
	"github.com/fanfold/fanfold/tests/natsserver"
	"github.com/fanfold/fanfold/tests/suite"
)

// calledModel has a function that writes two documents, and a trigger that changes one and writes another.
const calledModel = `
collections:
  lines: { relations: { bill: { path: bill, to: bills } } }
  bills: { sequences: { number: {} }, derive: { lines: { count: lines.bill } }, trigger: book }
  books: {}
functions:
  sell:
    reads: [lines]
    source: |
      export default (ctx, { id }) => {
        ctx.create("bills", { id, before: ctx.query("lines").length, by: ctx.uuid(), at: ctx.now })
        ctx.create("lines", { bill: id })
        return id
      }
  book:
    source: |
      export default (ctx, { op, after }) => {
        ctx.create("books", { op, chance: Math.random() })
        return after && { ...after, booked: op }
      }
`

// TestNodeWithoutFunctions: a program that was built without the runtime of functions folds what others' functions have written, live and from the
// log's beginning, to the same rows. It says that it runs none.
func TestNodeWithoutFunctions(t *testing.T) {
	suite.Parallel(t)
	program, err := programWith("nofunctions", "-tags", "nofunctions")
	if err != nil {
		t.Fatal(err)
	}
	url := natsserver.Start(t, 1)[0]
	dirs := []string{t.TempDir(), t.TempDir(), t.TempDir()}
	runs := startOn(t, "", url, dirs[0])
	without := startOn(t, program, url, dirs[1])
	made := runs.Model(calledModel).Header.Get("Fanfold-Position")
	without.Want(http.StatusOK, http.MethodGet, "/v1/lines", "", "Fanfold-Min-Position", made)
	for _, id := range []string{"a", "b", "c"} {
		runs.Want(http.StatusOK, http.MethodPost, "/v1/_functions/sell", `{"id":"`+id+`"}`)
		runs.Merge("bills", id, `{"paid":true}`)
	}
	runs.Delete("bills", "b")
	for _, refused := range [][3]string{
		{http.MethodPost, "/v1/_functions/sell", `{"id":"d"}`},
		{http.MethodPut, "/v1/bills/d", `{}`},
		{http.MethodPost, "/v1/_transactions", `{"operations":[{"op":"delete","collection":"bills","id":"a"}]}`},
		{http.MethodPut, "/v1/_model", strings.Replace(calledModel, "return id", "return [id]", 1)},
	} {
		headers := []string{}
		if strings.HasSuffix(refused[1], "_model") {
			headers = []string{"Content-Type", "application/yaml"}
		}
		r := without.Want(http.StatusServiceUnavailable, refused[0], refused[1], refused[2], headers...)
		if !strings.Contains(string(r.Body), "this program was built without functions: ask another node") {
			t.Errorf("%s %s is refused without saying why: %s", refused[0], refused[1], r.Body)
		}
	}
	last := without.Put("lines", "free", `{"bill":"a"}`).Header.Get("Fanfold-Position") // the collection is gated, and has no trigger
	later := startOn(t, program, url, dirs[2])
	want := ""
	for i, p := range []*harness.Process{runs, without, later} {
		got := string(p.Want(http.StatusOK, http.MethodGet, "/v1/bills", "", "Fanfold-Min-Position", last).Body)
		if want == "" {
			want = got
		}
		if got != want {
			t.Errorf("node %d shows\n%s\nand the first one\n%s", i, got, want)
		}
		p.Verify(t)
	}
	runs.Replay(t)
	last = runs.Put("lines", "last", `{"bill":"c"}`).Header.Get("Fanfold-Position")
	for _, p := range []*harness.Process{runs, without, later} {
		p.Want(http.StatusOK, http.MethodGet, "/v1/lines", "", "Fanfold-Min-Position", last)
	}
	digests := map[string]bool{}
	for i, p := range []*harness.Process{runs, without, later} {
		p.Stop(t)
		sum, err := harness.DigestFile(harness.ReadModel(t, dirs[i]))
		if err != nil {
			t.Fatal(err)
		}
		digests[sum] = true
	}
	if len(digests) != 1 {
		t.Errorf("the nodes have %d kinds of rows", len(digests))
	}
}

// startOn starts a program on a log; "" is the one that harness.Program builds.
func startOn(t *testing.T, program, url, dir string) *harness.Process {
	t.Helper()
	if program == "" {
		var err error
		if program, err = harness.Program(); err != nil {
			t.Fatal(err)
		}
	}
	return harness.StartCommand(t, exec.Command(program, "serve", "--listen", "127.0.0.1:0", "--data", dir, "--nats", url))
}
