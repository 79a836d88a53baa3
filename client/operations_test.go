package client_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fanfold/fanfold/client"
	"github.com/fanfold/fanfold/tests/harness"
)

// TestImportsAreLight: the package needs the standard library alone, and of this module the vocabulary and the JSON of answers.
func TestImportsAreLight(t *testing.T) {
	out, err := exec.Command("go", "list", "-deps", "-f", "{{if not .Standard}}{{.ImportPath}}{{end}}", ".").Output()
	if err != nil {
		t.Fatal(err)
	}
	const module = "github.com/fanfold/fanfold"
	if got := strings.Fields(string(out)); !slices.Equal(got, []string{module, module + "/internal/wire", module + "/client"}) {
		t.Errorf("the package needs %v", got)
	}
}

// TestModels: models are read, tried, applied at once and in the background, and withdrawn.
func TestModels(t *testing.T) {
	s := harness.OpenTemp(t, "")
	c := connect(t, s.URL, client.Options{})
	ctx := t.Context()
	s.Put("authors", "a", `{"name":"Ann"}`)
	s.Put("books", "b", `{"authors":[{"id":"a"}]}`)
	none := must(c.Model(ctx))(t)
	if none.Revision != 0 {
		t.Errorf("there is a model: %+v", none)
	}
	dry := must(c.DryRunModel(ctx, []byte(model), client.ModelOptions{}))(t)
	if dry.Applied || dry.Preview.Changes != 2 || len(dry.Preview.Rules) != 2 {
		t.Errorf("the dry run says %+v", dry)
	}
	applied := must(c.PutModel(ctx, []byte(model), client.ModelOptions{}))(t)
	if !applied.Applied || applied.Preview.Changes != 2 {
		t.Errorf("the model says %+v", applied)
	}
	now := must(c.Model(ctx, client.AtLeast(applied.Position)))(t)
	if !bytes.Contains(now.Source, []byte("countOfBooks")) || now.Revision == 0 {
		t.Errorf("the model is %+v", now)
	}
	var failure *client.Error
	_, err := c.PutModel(ctx, []byte("collections: { a: { derive: { x: { count: b.c } } }, 9b: {} }"), client.ModelOptions{})
	if !errors.Is(err, client.Invalid) || !errors.As(err, &failure) || len(failure.Problems) != 2 {
		t.Errorf("a wrong model: %v", err)
	}
	if _, err := c.PutModel(ctx, []byte("collections: {}"), client.ModelOptions{IfMatch: `"1"`}); !errors.Is(err, client.Stale) {
		t.Errorf("a stale model: %v", err)
	}
	background := true
	later := must(c.ApplyModel(ctx, []byte(strings.Replace(model, "doc.name", "doc.name + '!'", 1)), client.ModelOptions{Background: &background, IfMatch: now.ETag}))(t)
	if !later.Applied {
		t.Errorf("the model says %+v", later)
	}
	s.WantDoc("books", "b", `{"id":"b","authors":[{"id":"a","name":"Ann!"}]}`)
	tried := must(c.PatchModel(ctx, []byte(`{"collections":{"more":{}}}`), client.ModelOptions{DryRun: true}))(t)
	if waited := must(c.ApplyModel(ctx, []byte("collections: {}"), client.ModelOptions{DryRun: true, AllowRemoval: true}))(t); tried.Applied || waited.Applied || len(tried.Preview.Differences) != 1 {
		t.Errorf("dry runs say %+v, %+v", tried, waited)
	}
	if after := must(c.Model(ctx))(t); bytes.Contains(after.Source, []byte("more")) || !bytes.Contains(after.Source, []byte("countOfBooks")) {
		t.Errorf("after the dry runs the model is %s", after.Source)
	}
	if err := c.CancelModel(ctx); !errors.Is(err, client.NotFound) {
		t.Errorf("cancel: %v", err)
	}
}

// TestWithdrawnModel: who waits for a model that is withdrawn is told so.
func TestWithdrawnModel(t *testing.T) {
	hold := harness.NewActivationHold()
	opt := harness.Options{Dir: t.TempDir()}
	opt.Writer.BeforeActivate = hold.Wait
	s := harness.Open(t, opt)
	defer s.Close()
	c := connect(t, s.URL, client.Options{})
	s.Put("authors", "a", `{"name":"Ann"}`)
	background, cancelled := true, false
	_, err := c.ApplyModel(t.Context(), []byte(model), client.ModelOptions{Background: &background, Progress: func(s *client.Status) {
		if s.Preparing != nil && !cancelled {
			cancelled = true
			if err := c.CancelModel(t.Context()); err != nil {
				t.Error(err)
			}
		}
	}})
	if !errors.Is(err, client.Conflict) {
		t.Errorf("apply: %v", err)
	}
	hold.Release()
}

// TestStatusAndVerify: how the node stands, verifying, replaying, lineage.
func TestStatusAndVerify(t *testing.T) {
	s := harness.OpenTemp(t, model)
	c := connect(t, s.URL, client.Options{})
	s.Put("authors", "a", `{"name":"Ann"}`)
	s.Put("books", "b", `{"authors":[{"id":"a"}]}`)
	status := must(c.Status(t.Context()))(t)
	if status.Model == 0 || status.Position == "" || status.Durability != "interval" || len(status.Raw) == 0 {
		t.Errorf("the status is %+v", status)
	}
	for _, report := range [][]byte{must(c.Verify(t.Context()))(t), must(c.VerifyLog(t.Context()))(t), must(c.Lineage(t.Context(), "books", "b"))(t)} {
		if !bytes.HasPrefix(report, []byte("{")) {
			t.Errorf("the report is %s", report)
		}
	}
	then := must(c.Status(t.Context()))(t).Position
	s.Put("authors", "a", `{"name":"Ann Lee"}`)
	if was := must(c.Lineage(t.Context(), "books", "b", client.AsOf(then)))(t); !bytes.Contains(was, []byte(then)) || bytes.Equal(was, must(c.Lineage(t.Context(), "books", "b"))(t)) {
		t.Errorf("at %s the lineage was %s", then, was)
	}
	if _, err := c.Lineage(t.Context(), "books", "b", client.AsOf("0")); !errors.Is(err, client.NotFound) {
		t.Errorf("the lineage of an empty store: %v", err)
	}
	most := must(client.LargestTargets(t.Context(), c, client.AtLeast(then)))(t)
	if len(most) == 0 || most[0].ID != "a" || most[0].Documents != 1 || most[0].To != "authors" {
		t.Errorf("the largest targets are %+v", most)
	}
	version := must(c.Status(t.Context()))(t).FoldVersion.Version
	if result, err := c.Upgrade(t.Context(), version, nil); err != nil || !result.Applied || result.Changes != 0 || result.Version != version {
		t.Errorf("an upgrade to the version in force: %+v, %v", result, err)
	}
	if _, err := c.Upgrade(t.Context(), version-1, nil); !errors.Is(err, client.Unprocessable) {
		t.Errorf("an upgrade to an earlier version: %v", err)
	}
	if err := c.Replay(t.Context()); err != nil {
		t.Error(err)
	}
	for r := must(c.Status(t.Context()))(t).Replay; r == nil || r.Running; r = must(c.Status(t.Context()))(t).Replay {
		if t.Context().Err() != nil {
			t.Fatal("the replay does not end")
		}
	}
}

// TestDeleteStep: a delete in steps says when it is done.
func TestDeleteStep(t *testing.T) {
	s := harness.OpenTemp(t, `{"collections":{"posts":{},"comments":{"relations":{"post":{"path":"postId","to":"posts","onDelete":"cascade"}}}}}`)
	c := connect(t, s.URL, client.Options{})
	s.Put("posts", "p", `{}`)
	s.Put("comments", "c", `{"postId":"p"}`)
	deleted := 0
	for done := false; !done; {
		step := must(client.Collection[any](c, "posts").DeleteStep(t.Context(), "p"))(t)
		done = step.Done
		deleted += step.Deleted
	}
	if deleted != 2 {
		t.Errorf("%d documents were deleted", deleted)
	}
}

// TestImportAndExport: what is exported is imported elsewhere; refused lines are told; a cut import is resumed.
func TestImportAndExport(t *testing.T) {
	s := harness.OpenTemp(t, model)
	c := connect(t, s.URL, client.Options{})
	ctx := t.Context()
	var lines strings.Builder
	for i := range 1000 {
		fmt.Fprintf(&lines, `{"id":"%d","title":"Book %d","authors":[{"id":"%d"}]}`+"\n", i, i, i%10)
	}
	var refused []client.Refusal
	opt := client.ImportOptions{Collection: "books", ID: "load", Refused: func(r client.Refusal) { refused = append(refused, r) }}
	broken := errors.New("the disk is broken")
	cut := io.MultiReader(strings.NewReader(lines.String()[:lines.Len()/2]), errorReader{broken})
	if _, err := c.Import(ctx, cut, opt); !errors.Is(err, broken) {
		t.Errorf("an import whose lines fail: %v", err)
	}
	opt.Resume = true
	var result client.ImportResult
	for { // the server may still work on what it has
		done, err := c.ImportProgress(ctx, "load")
		if err != nil && !errors.Is(err, client.NotFound) {
			t.Fatal(err)
		}
		opt.First = done.Line + 1
		rest := strings.SplitAfter(lines.String()+"[1]\n", "\n")[done.Line:]
		if result, err = c.Import(ctx, strings.NewReader(strings.Join(rest, "")), opt); errors.Is(err, client.Conflict) {
			continue
		} else if err != nil {
			t.Fatal(err)
		}
		break
	}
	if result.Line != 1001 || result.Written != 1000 || len(refused) != 1 || refused[0].Line != 1001 || refused[0].Code != client.Invalid {
		t.Errorf("the import says %+v, refused %+v", result, refused)
	}
	export := must(c.Export(ctx))(t)
	defer export.Close()
	other := harness.OpenTemp(t, "")
	copied := must(connect(t, other.URL, client.Options{}).Import(ctx, export, client.ImportOptions{}))(t)
	if copied.Refused != 0 || copied.Written < 1000 || export.Position == "" {
		t.Errorf("the copy says %+v", copied)
	}
	other.WantDoc("books", "7", `{"id":"7","title":"Book 7","authors":[{"id":"7"}]}`)
	if _, err := c.Export(ctx, "Nothing!"); !errors.Is(err, client.Invalid) {
		t.Errorf("an export of no collection: %v", err)
	}
	if _, err := c.Import(ctx, strings.NewReader("{}\n"), client.ImportOptions{Collection: "Nothing!"}); !errors.Is(err, client.Invalid) {
		t.Errorf("an import into no collection: %v", err)
	}
}

// errorReader fails.
type errorReader struct{ err error }

func (r errorReader) Read([]byte) (int, error) { return 0, r.err }

// TestUpdateByQuery: the documents that a filter matches are patched and deleted. Refused ones are told, and a key goes on.
func TestUpdateByQuery(t *testing.T) {
	s := harness.OpenTemp(t, `{collections: {docs: {schema: {properties: {n: {maximum: 5}}}}}}`)
	docs := client.Collection[any](connect(t, s.URL, client.Options{}), "docs")
	for i := range 6 {
		s.Put("docs", fmt.Sprint("d", i), fmt.Sprintf(`{"n":%d}`, i))
	}
	above := client.ByQuery{Params: map[string]int{"n": 2}, DryRun: true}
	add := client.JSONPatch{{Op: "increment", Path: "/n", Value: 1}}
	r := must(docs.UpdateByQuery(t.Context(), "doc.n > params.n", add, above))(t)
	if r.Matched != 3 || r.Written != 2 || r.Refused != 1 || !strings.Contains(string(r.Report), `"judged":3`) || r.Position == "" {
		t.Errorf("the dry run: %+v %s", r, r.Report)
	}
	var refused []client.RefusedDocument
	var told []client.ByQueryResult
	above.DryRun = false
	above.Refused, above.Progress = func(d client.RefusedDocument) { refused = append(refused, d) }, func(p client.ByQueryResult) { told = append(told, p) }
	r = must(docs.UpdateByQuery(t.Context(), "doc.n > params.n", add, above))(t)
	if r.Matched != 3 || r.Written != 2 || r.Refused != 1 || !r.Folded || r.Key == "" || len(told) != 1 || told[0].Written != 2 || len(refused) != 1 || refused[0].ID != "d5" || refused[0].Code != client.Unprocessable {
		t.Errorf("the update: %+v, refused %+v, told %+v", r, refused, told)
	}
	above.Key = r.Key
	if again := must(docs.UpdateByQuery(t.Context(), "doc.n > params.n", add, above))(t); again.Written != 2 || again.Position != r.Position {
		t.Errorf("under the same key: %+v", again)
	}
	s.WantDoc("docs", "d3", `{"id":"d3","n":4}`)
	if r = must(docs.UpdateByQuery(t.Context(), "true", map[string]any{"x": 1}, client.ByQuery{}))(t); r.Written != 6 {
		t.Errorf("a merge patch: %+v", r)
	}
	if _, err := docs.DeleteByQuery(t.Context(), "doc.n >", client.ByQuery{}); !errors.Is(err, client.Invalid) {
		t.Errorf("a wrong filter: %v", err)
	}
	if r = must(docs.DeleteByQuery(t.Context(), "doc.n < 2", client.ByQuery{}))(t); r.Written != 2 {
		t.Errorf("deletes: %+v", r)
	}
}

// callModel has functions that write, refuse, fail and do not end.
const callModel = `
collections: { seats: {} }
functions:
  reserve:
    args: { type: object, required: [seat] }
    source: |
      export default (ctx, args) => {
        ctx.log("asked", args.seat)
        if (ctx.get("seats", args.seat).by) ctx.fail("taken", "This seat is gone", {seat: args.seat})
        ctx.patch("seats", args.seat, {by: args.user})
        return {seat: args.seat, n: args.n}
      }
  look: { source: "export default (ctx, id) => ctx.get('seats', id)" }
  now: { source: "export default ctx => [ctx.now, Math.random()]" }
  wrong: { source: "export default ctx =>\n  ctx.none.at" }
  endless: { source: "export default () => { for (;;); }" }
`

// TestCall: functions are called, once under their key, see what the client has seen, and errors say which function refuses, and why.
func TestCall(t *testing.T) {
	s := harness.OpenTemp(t, callModel)
	c := connect(t, s.URL, client.Options{})
	ctx := t.Context()
	seats := client.Collection[map[string]any](c, "seats")
	must(seats.Put(ctx, "s1", map[string]any{}))(t)
	type reserved struct {
		Seat string
		N    json.Number
	}
	ask := map[string]any{"seat": "s1", "user": "a", "n": json.Number("12345678901234567890")}
	var did client.CallResult
	tried := must(client.Call[reserved](ctx, c, "reserve", ask, client.DryRun(), client.Into(&did)))(t)
	if tried.Seat != "s1" || !bytes.Contains(did.Report, []byte(`"log":["asked s1"]`)) || len(did.Operations) != 1 || must(seats.Get(ctx, "s1"))(t).Value["by"] != nil {
		t.Errorf("a dry run: %+v %s", tried, did.Report)
	}
	for _, key := range []string{"k", "k"} {
		got := must(client.Call[reserved](ctx, c, "reserve", ask, client.IdempotencyKey(key), client.Into(&did)))(t)
		if got.Seat != "s1" || got.N != "12345678901234567890" || !did.Folded || did.Tx == "" || len(did.Operations) != 1 || did.Operations[0].ID != "s1" {
			t.Errorf("a call: %+v %+v", got, did)
		}
	}
	if did.Attempts != 0 {
		t.Errorf("the repeated call ran %d times", did.Attempts)
	}
	if got := must(client.Call[map[string]any](ctx, c, "look", "s1"))(t); got["by"] != "a" {
		t.Errorf("a function sees %v", got)
	}
	must(seats.Put(ctx, "s2", map[string]any{}))(t)
	keyless := connect(t, s.URL, client.Options{NoKeys: true}) // under a key the answer may be whole already
	later := must(client.Call[reserved](ctx, keyless, "reserve", map[string]any{"seat": "s2", "user": "b"}, client.Async(), client.Into(&did)))(t)
	if err := c.See(did.Position); err != nil {
		t.Fatal(err)
	}
	if later.Seat != "s2" || did.Folded || must(seats.Get(ctx, "s2"))(t).Value["by"] != "b" {
		t.Errorf("a call that is answered at once: %+v %+v", later, did)
	}
	at := client.Now(time.UnixMilli(1234))
	one, other := must(client.Call[[]json.Number](ctx, c, "now", nil, client.DryRun(), at, client.Seed(1)))(t), must(client.Call[[]json.Number](ctx, c, "now", nil, client.DryRun(), at, client.Seed(1)))(t)
	if one[0] != "1234" || one[1] != other[1] {
		t.Errorf("two dry runs with one time and seed: %v, %v", one, other)
	}
	if list := must(client.Functions(ctx, c))(t); len(list) != 5 || list[4].Name != "wrong" || list[3].Calls != 3 || len(list[3].Args) == 0 {
		t.Errorf("the functions are %+v", list)
	}
}

// TestCallRefused: errors say which function refuses, and why.
func TestCallRefused(t *testing.T) {
	s := harness.OpenTemp(t, callModel)
	c := connect(t, s.URL, client.Options{})
	s.Put("seats", "s1", `{"by":"a"}`)
	for _, want := range []struct {
		name string
		args any
		client.Error
	}{
		{"reserve", map[string]string{"seat": "s1"}, client.Error{Status: 422, Code: client.FunctionFailed, Detail: "This seat is gone", Function: client.FunctionFault{Function: "reserve", Code: "taken", Details: []byte(`{"seat":"s1"}`)}}},
		{"wrong", nil, client.Error{Status: 422, Code: client.FunctionError, Line: 2, Column: 3, Function: client.FunctionFault{Function: "wrong"}}},
		{"endless", nil, client.Error{Status: 422, Code: client.FunctionLimit, Function: client.FunctionFault{Function: "endless", Limit: "steps"}}},
		{"reserve", map[string]string{}, client.Error{Status: 422, Code: client.Unprocessable}},
		{"none", nil, client.Error{Status: 404, Code: client.NotFound}},
	} {
		var failure *client.Error
		_, err := client.Call[any](t.Context(), c, want.name, want.args)
		if !errors.As(err, &failure) || failure.Status != want.Status || failure.Code != want.Code || failure.Line != want.Line || failure.Column != want.Column ||
			want.Detail != "" && failure.Detail != want.Detail || !reflect.DeepEqual(failure.Function, want.Function) {
			t.Errorf("%s: %+v, want %+v", want.name, failure, want.Error)
		}
	}
	if _, err := client.Call[int](t.Context(), c, "look", "s1"); !errors.Is(err, client.BadAnswer) {
		t.Errorf("a document as a number: %v", err)
	}
}

// TestCallNotFolded: a call whose writes the server does not show in time has its result.
func TestCallNotFolded(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusAccepted)
		_, _ = io.WriteString(w, `{"detail":"it is stored","position":"7-0-aaaaaaaa","result":{"result":[1],"position":"7-0-aaaaaaaa","attempts":2,"operations":[]}}`)
	}))
	defer server.Close()
	var did client.CallResult
	got := must(client.Call[[]int](t.Context(), connect(t, server.URL, client.Options{}), "f", nil, client.Into(&did)))(t)
	if !slices.Equal(got, []int{1}) || did.Folded || did.Attempts != 2 || did.Position != "7-0-aaaaaaaa" {
		t.Errorf("the call says %v, %+v", got, did)
	}
}

// TestIncrement: an increment adds to a number, within its bounds.
func TestIncrement(t *testing.T) {
	s := harness.OpenTemp(t, "")
	c := connect(t, s.URL, client.Options{})
	books := client.Collection[map[string]any](c, "books")
	s.Put("books", "b", `{"stock":2}`)
	sell := client.Increment("/stock", -1)
	sell.Min = 1
	must(books.JSONPatch(t.Context(), "b", client.JSONPatch{sell}, client.If("doc.stock > params.n", map[string]int{"n": 1})))(t)
	if _, err := books.JSONPatch(t.Context(), "b", client.JSONPatch{sell}); !errors.Is(err, client.ConditionFailed) {
		t.Errorf("an increment past its bound: %v", err)
	}
	s.WantDoc("books", "b", `{"id":"b","stock":1}`)
}
