package api_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/fanfold/fanfold/tests/harness"
)

// costlyTests returns a JSON Patch of n tests; each compares a value with more than 1 MiB of whitespace in it.
func costlyTests(n int) string {
	return `[` + strings.Repeat(`{"op":"test","path":"/a","value":{"x":1}},`, n) + `{"op":"add","path":"/n","value":1}]`
}

// TestPatchWork sends patches that are small and whose operations look at much.
func TestPatchWork(t *testing.T) {
	s := harness.OpenTemp(t, "")
	wide := `{"a":{"x":1` + strings.Repeat(" ", 1<<20) + `}}`
	for i := range 5 {
		s.Put("docs", fmt.Sprint("d", i), wide)
	}
	s.Want(http.StatusNoContent, "PATCH", "/v1/docs/d0", costlyTests(45), "Content-Type", harness.PatchType, "Fanfold-Timeout", "60")
	r := s.Want(http.StatusUnprocessableEntity, "PATCH", "/v1/docs/d0", costlyTests(64), "Content-Type", harness.PatchType)
	wantDetail(t, r, "work", "operation 5", "split it")

	operations := make([]string, 5)
	for i := range operations {
		operations[i] = fmt.Sprintf(`{"op":"patch","collection":"docs","id":"d%d","patch":%s}`, i, costlyTests(54))
	}
	r = s.Want(http.StatusUnprocessableEntity, "POST", "/v1/_transactions", `{"operations":[`+strings.Join(operations, ",")+`]}`)
	wantDetail(t, r, "work", "split it")
	s.Want(http.StatusOK, "POST", "/v1/_transactions", `{"operations":[`+strings.Join(operations[:4], ",")+`]}`, "Fanfold-Timeout", "60")

	deep := strings.Repeat("/a", 1001)
	r = s.Want(http.StatusConflict, "PATCH", "/v1/docs/d0", `[{"op":"remove","path":"`+deep+`"}]`, "Content-Type", harness.PatchType)
	wantDetail(t, r, "at most 1000")
}

// wantDetail wants a problem's text to contain words.
func wantDetail(t *testing.T, r *harness.Response, words ...string) {
	t.Helper()
	for _, w := range words {
		if !strings.Contains(string(r.Body), w) {
			t.Errorf("the problem does not say %q: %.500s", w, r.Body)
		}
	}
}

// TestPatchesOfManyValues stores the patches that once took a node gigabytes and seconds: copies of a large array that are
// then changed, and moves in an object of many members. They change nothing but what they say.
func TestPatchesOfManyValues(t *testing.T) {
	s := harness.OpenTemp(t, "")
	array := `{"id":"a","a":[0` + strings.Repeat(",0", 1_039_990) + `]}`
	s.Put("docs", "a", array)
	var ops []string
	for i := range 31 {
		ops = append(ops, fmt.Sprintf(`{"op":"copy","from":"/a","path":"/b%d"}`, i))
	}
	for i := range 31 {
		ops = append(ops, fmt.Sprintf(`{"op":"remove","path":"/b%d/0"},{"op":"remove","path":"/b%d"}`, i, i))
	}
	s.Want(http.StatusNoContent, "PATCH", "/v1/docs/a", "["+strings.Join(ops, ",")+"]", "Content-Type", harness.PatchType, "Fanfold-Timeout", "60")
	harness.WantText(t, s.Get("docs", "a"), array)

	const n = 100_000
	members, moves, moved := make([]string, n), make([]string, 1000), make([]string, 1000)
	for i := range members {
		members[i] = fmt.Sprintf(`"m%05d":%d`, i, i%10)
	}
	for i := range moves {
		moves[i] = fmt.Sprintf(`{"op":"move","from":"/m%05d","path":"/x%d"}`, n-1-i, i)
		moved[i] = fmt.Sprintf(`"x%d":%d`, i, (n-1-i)%10)
	}
	s.Put("docs", "m", `{"id":"m",`+strings.Join(members, ",")+`}`)
	s.Want(http.StatusNoContent, "PATCH", "/v1/docs/m", "["+strings.Join(moves, ",")+"]", "Content-Type", harness.PatchType, "Fanfold-Timeout", "60")
	harness.WantText(t, s.Get("docs", "m"), `{"id":"m",`+strings.Join(members[:n-1000], ",")+","+strings.Join(moved, ",")+`}`)
	s.Replay()
	harness.WantText(t, s.Get("docs", "a"), array)
}
