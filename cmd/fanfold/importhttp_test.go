package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"

	"github.com/fanfold/fanfold/internal/wire"
	"github.com/fanfold/fanfold/tests/harness"
)

// overHTTP sends an export to a store, and returns what the server says of it.
func overHTTP(t *testing.T, s *harness.Store, query, text string) (r wire.ImportReport) {
	t.Helper()
	answer := s.Want(http.StatusOK, "POST", "/v1/_import?"+query, text, "Content-Type", "application/octet-stream")
	if err := json.Unmarshal(answer.Body, &r); err != nil {
		t.Fatal(err)
	}
	return r
}

// TestImportOverHTTPIsTheCommands: what another store exports becomes the same documents by _import?from= as by the command, and is counted alike; a dry run
// counts the same and stores nothing.
func TestImportOverHTTPIsTheCommands(t *testing.T) {
	z, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	cosmos := `[{"id":"1","n":12345678901234567890.10,"_rid":"a","_ts":1},` + "\n" + `{"id":"2","_x":1,"_ts":1},{"id":"3"}]`
	for name, tt := range map[string]struct {
		text string
		args []string
	}{
		"lines":     {`{"id":"1","n":1.50}` + "\n\nno json\n" + `{"id":"2"}`, []string{"collection=c"}},
		"array":     {"[{\"id\":\"1\"},\n{\"id\":\"a]},{\\\"\"}]\n", []string{"collection=c"}},
		"cosmos":    {cosmos, []string{"collection=c"}},
		"renamed":   {cosmos, []string{"collection=c", "from=cosmos", "rename=_x=x", "rename=_ts=at", "drop=n"}},
		"mongo":     {`{"_id":{"$oid":"57e193d7a9cc81b4027498b5"},"v":{"$numberDecimal":"1.50"},"b":{"$binary":"x"}}` + "\n" + `{"_id":7,"d":{"$date":"2020-01-01T00:00:00Z"}}`, []string{"collection=c"}},
		"kept":      {`{"_id":1,"b":{"$minKey":1}}`, []string{"collection=c", "keep-extended=true"}},
		"couch":     {`{"total_rows":2,"offset":0,"rows":[{"id":"n","key":"n","value":{},"doc":{"_id":"n","_rev":"1-a"}},{"id":"_design/x","key":"x","value":{},"doc":{"_id":"_design/x"}}]}`, []string{"collection=c"}},
		"firestore": {`{"documents":[{"name":"projects/p/databases/d/documents/rooms/r1","fields":{"seats":{"integerValue":"40"}},"createTime":"x"},{"name":"projects/p/databases/d/documents/rooms/r1/desks/d1"}]}`, nil},
		"own":       {`{"model":{"collections":{"books":{}}}}` + "\n" + `{"collection":"books","doc":{"id":"1"}}` + "\n" + `{"collection":"books","text":"{\"id\":\"2\",\n\"a\":1}"}`, nil},
		"list":      {`{"data":[{"id":"9"}]}`, []string{"collection=c", "list=data"}},
		"gzip":      {gzipped(t, cosmos), []string{"collection=c"}},
		"zstd":      {string(z.EncodeAll([]byte(cosmos), nil)), []string{"collection=c"}},
		"damaged":   {`[{"id":"1"},{"id":"2"`, []string{"collection=c"}},
	} {
		t.Run(name, func(t *testing.T) {
			byCommand, byHTTP := harness.OpenTemp(t, ""), harness.OpenTemp(t, "")
			command, query := []string{"import", "--server", byCommand.URL, "--json"}, url.Values{"name": {"c.json"}}
			for _, arg := range tt.args {
				name, value, _ := strings.Cut(arg, "=")
				command = append(command, "--"+name+"="+value)
				query.Add(strings.Replace(name, "keep-extended", "keepExtended", 1), value)
			}
			if query.Get("from") == "" {
				query.Set("from", "auto")
				command = append(command, "--from=auto")
			}
			var said importResult
			ran := runCommand(t, tt.text, append(command, "-")...)
			_, _, failed := strings.Cut(ran.err, "cannot read the file: line 1: ")
			if err := json.Unmarshal([]byte(ran.out), &said); err != nil && !failed {
				t.Fatalf("%v: %s%s", err, ran.out, ran.err)
			}
			dry := overHTTP(t, byHTTP, query.Encode()+"&dryRun=true", tt.text)
			if left := byHTTP.Want(http.StatusOK, "GET", "/v1/_export", "").Body; len(left) > 0 {
				t.Errorf("a dry run has stored %s", left)
			}
			r := overHTTP(t, byHTTP, query.Encode(), tt.text)
			if want, got := exported(byCommand), exported(byHTTP); got != want && !failed { // the command sends no part of a piece that is damaged
				t.Errorf("by HTTP the store has\n%sby the command\n%s", got, want)
			}
			if r.Done == failed || dry.Done == failed || failed && !strings.Contains(r.Detail, "line 1: the file ends within") {
				t.Errorf("the command has failed: %t, and HTTP says %+v after %+v", failed, r, dry)
			}
			if failed {
				return
			}
			if said.Written != r.Written || said.Refused != r.Refused || len(r.Refusals) != r.Refused || !*r.Folded {
				t.Errorf("HTTP says %+v, the command %+v", r, said)
			}
			if said.From != nil && (!slices.Equal(said.From, []string{r.From}) || said.Documents != r.Documents || // lines that are sent as they are have no report
				!maps.Equal(said.Dropped, r.Dropped) || !maps.Equal(said.LeftOut, r.Left) || !maps.Equal(said.Collections, r.Collections)) {
				t.Errorf("HTTP says %+v, the command %+v", r, said)
			}
			dry.DryRun, dry.Written, dry.Folded, dry.Position = false, r.Written, r.Folded, r.Position
			if !reflect.DeepEqual(dry, r) {
				t.Errorf("the dry run says %+v, the import %+v", dry, r)
			}
			for _, refused := range r.Refusals {
				if !strings.Contains(ran.err, fmt.Sprintf("line %d: ", refused.Line)) || strings.Contains(refused.Detail, "--") {
					t.Errorf("HTTP refuses %+v, the command says %s", refused, ran.err)
				}
			}
		})
	}
}

// exported returns the export of a store.
func exported(s *harness.Store) string {
	return string(s.Want(http.StatusOK, "GET", "/v1/_export", "").Body)
}

// TestDriftOverHTTPIsTheCommands: POST /v1/_drift says of a file what fanfold import --drift says, once it is imported.
func TestDriftOverHTTPIsTheCommands(t *testing.T) {
	const m = `
collections:
  writers: { derive: { works: { count: works.writer } } }
  works:   { relations: { writer: { path: writer, to: writers } }, derive: { writerName: { copy: writer, value: doc.name } } }
`
	writers := `[{"id":"w1","name":"Mary Shelley","works":602},{"id":"w2","name":"Ovid","works":3},{"name":"no id","works":1}]`
	works := strings.Builder{}
	for i := range 600 { // more than are asked for at a time
		fmt.Fprintf(&works, `{"id":"k%d","writer":"w1","writerName":"Mary Shelley"}`+"\n", i)
	}
	for i := range 25 { // more than the examples
		fmt.Fprintf(&works, `{"id":"o%d","writer":"gone%d","writerName":"Nobody"}`+"\n", i, i)
	}
	works.WriteString(`{"id":"o","writer":"..","writerName":"Nobody"}` + "\n")
	works.WriteString(`{"id":"k2","writer":"w1","writerName":"Mary Godwin"}` + "\n" + `{"id":"k3","writer":"w1"}` + "\n" + "no json\n" + `{"id":"..","writerName":"x"}`)
	byCommand, byHTTP := harness.OpenTemp(t, m), harness.OpenTemp(t, m)
	for _, f := range []struct{ collection, text string }{{"writers", writers}, {"works", works.String()}} {
		var said importResult
		ran := runCommand(t, "", "import", "--server", byCommand.URL, "--drift", "--json", "--collection", f.collection, writeTemp(t, "f.json", f.text))
		out := ran.out
		if err := json.Unmarshal([]byte(out), &said); err != nil {
			t.Fatalf("%v: %s", err, ran.err)
		}
		r := overHTTP(t, byHTTP, "from=auto&collection="+f.collection, f.text)
		var got wire.DriftReport
		answer := byHTTP.Want(http.StatusOK, "POST", "/v1/_drift?collection="+f.collection, f.text, "Content-Type", "application/octet-stream", "Fanfold-Min-Position", r.Position.String())
		if err := json.Unmarshal(answer.Body, &got); err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(got.Rules, said.Drift) || got.Documents != said.Compared.Documents || got.WithoutID != said.Compared.WithoutID || got.NotThere != said.Compared.NotThere {
			t.Errorf("HTTP says %s, the command %s", answer.Body, out)
		}
		if f.collection == "works" && (got.Rules[0].Orphaned != 26 || got.Rules[0].Wrong != 1 || got.Rules[0].Missing != 1 || len(got.Rules[0].Examples) != 20 || got.Refused != 1 || got.NotThere != 1) {
			t.Errorf("the report is %s", answer.Body)
		}
	}
	empty := harness.OpenTemp(t, "")
	empty.Want(http.StatusConflict, "POST", "/v1/_drift?collection=c", "{}", "Content-Type", "application/octet-stream")
}
