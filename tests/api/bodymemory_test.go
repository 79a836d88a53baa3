package api_test

import (
	"net/http"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/fanfold/fanfold/tests/harness"
)

// allocated returns how many bytes the process has allocated while fn ran.
func allocated(fn func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	fn()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// TestManyOperationsTakeLittleMemory: a transaction is refused at its first mistake, before all of it is read. Whatever is in it costs no
// more than some times what a transaction may have.
func TestManyOperationsTakeLittleMemory(t *testing.T) {
	s := harness.OpenTemp(t, "")
	fill := func(head, part, tail string) string {
		return head + strings.Repeat(part, (64<<20-len(head)-len(tail))/len(part)) + tail
	}
	names := func(head, tail string) string {
		var b strings.Builder
		b.WriteString(head)
		for i := 0; b.Len() < 24<<20; i++ {
			b.WriteString(`"` + strconv.Itoa(i) + `":0,`)
		}
		return b.String() + `"z":0` + tail
	}
	const put = `{"operations":[{"op":"put","collection":"c","id":"1","body":`
	for _, c := range []struct {
		name, body, detail string
		status             int
		most               uint64 // MiB
	}{
		{"operations", fill(`{"operations":[`, `{},`, `{}]}`), "at least 1001", http.StatusUnprocessableEntity, 8},
		{"numbers for operations", fill(`{"operations":[`, `0,`, `0]}`), "at least 1001", http.StatusUnprocessableEntity, 8},
		{"values of one", fill(put+`{"a":[`, `0,`, `0]}}]}`), "operation 0", http.StatusRequestEntityTooLarge, 32},
		{"names of one", names(put+`{`, `}}]}`), "operation 0", http.StatusRequestEntityTooLarge, 32},
		{"members of one", names(`{"operations":[{`, `}]}`), "operation 0", http.StatusRequestEntityTooLarge, 32},
		{"members of the whole", names(`{`, `}`), "the body must be", http.StatusBadRequest, 8},
		{"members after the list", names(`{"operations":[],`, `}`), "the body must be", http.StatusBadRequest, 8},
		{"a list", fill(`[`, `0,`, `0]`), "the body must be", http.StatusBadRequest, 8},
		{"lists in a list", fill(`{"operations":`, `[`, ``), "operation 0", http.StatusRequestEntityTooLarge, 32},
	} {
		t.Run(c.name, func(t *testing.T) {
			bomb := zip(t, c.body)
			var r *harness.Response
			took := allocated(func() {
				var err error
				if r, err = s.Do(http.MethodPost, "/v1/_transactions", bomb, "Content-Encoding", "gzip", "Content-Type", "application/json"); err != nil {
					t.Fatal(err)
				}
			}) >> 20
			t.Logf("%d bytes, as gzip of %d, took %d MiB", len(c.body), len(bomb), took)
			if r.Status != c.status || !strings.Contains(string(r.Body), c.detail) {
				t.Errorf("%d %s, want %d with %q", r.Status, r.Body, c.status, c.detail)
			}
			if took > c.most {
				t.Errorf("it took %d MiB, want %d at most", took, c.most)
			}
		})
	}
}

// TestLongImportLinesTakeLittleMemory: a line that is longer than a document is refused before what is in it is looked at.
func TestLongImportLinesTakeLittleMemory(t *testing.T) {
	s := harness.OpenTemp(t, "")
	const size = 15 << 20
	numbers := strings.Repeat(`0,`, size/2) + `0`
	var names strings.Builder
	for i := 0; names.Len() < size; i++ {
		names.WriteString(`"` + strconv.Itoa(i) + `":0,`)
	}
	names.WriteString(`"z":0`)
	for _, c := range []struct{ name, line, status string }{
		{"numbers", `{"collection":"c","doc":{"a":[` + numbers + `]}}`, `"status":413`},
		{"names", `{"collection":"c","doc":{` + names.String() + `}}`, `"status":413`},
		{"kept numbers", `{"collection":"c","doc":{"id":"1"},"kept":{"a":[` + numbers + `]}}`, `"status":413`},
		{"members", `{` + names.String() + `}`, `"status":400`},
		{"no JSON", `{"doc":{` + names.String() + `}`, `"status":400`},
		{"a list", `[` + numbers + `]`, `"status":400`},
		{"of a collection", `{` + names.String() + `}`, `"status":413`},
	} {
		t.Run(c.name, func(t *testing.T) {
			query := ""
			if c.name == "of a collection" {
				query = "?collection=c"
			}
			bomb := zip(t, c.line)
			var r *harness.Response
			took := allocated(func() {
				r = s.Want(http.StatusOK, http.MethodPost, "/v1/_import"+query, string(bomb), "Content-Encoding", "gzip", "Content-Type", harness.NDJSON)
			}) >> 20
			t.Logf("took %d MiB", took)
			if !strings.Contains(string(r.Body), c.status) || !strings.Contains(string(r.Body), `"done":true`) {
				t.Errorf("%s, want %s", r.Body, c.status)
			}
			if took > 150 { // the line takes some 60 of them while it grows, and the request as text some more
				t.Errorf("it took %d MiB", took)
			}
		})
	}
}

// TestWideOperations: an operation has only so many members, and refreshes only so many fields.
func TestWideOperations(t *testing.T) {
	s := harness.OpenTemp(t, "")
	members, fields := "", ""
	for i := range 2001 {
		members += `,"` + strconv.Itoa(i) + `":0`
		fields += `,"f` + strconv.Itoa(i) + `"`
	}
	const op = `{"op":"put","collection":"c","id":"1","body":{}`
	for text, detail := range map[string]string{op + members + "}": "more than 16 members", op + `,"refresh":[` + fields[1:] + `]}`: "more than 2000 fields"} {
		if r := transact(s.Client, http.StatusBadRequest, text); !strings.Contains(string(r.Body), detail) {
			t.Errorf("%s, want %q", r.Body, detail)
		}
	}
}
