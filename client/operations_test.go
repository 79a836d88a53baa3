package client_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"slices"
	"strings"
	"testing"

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
