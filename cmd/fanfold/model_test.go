package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/tests/harness"
)

// TestModelDiffWarns: model diff and model apply print which rules find no value, and warn of those that find none at all,
// as status does.
func TestModelDiffWarns(t *testing.T) {
	t.Parallel()
	s := harness.OpenTemp(t, "")
	s.Put("authors", "a", `{"name":"Ann","born":1950}`)
	s.Put("authors", "b", `{"name":"Bob"}`)
	s.Put("books", "1", `{"authors":["a","b"]}`)
	s.Put("books", "2", `{"isbn":"978"}`)
	file := filepath.Join(t.TempDir(), "model.yaml")
	if err := os.WriteFile(file, []byte(`
collections:
  authors: {}
  books:
    relations: {authors: {path: "authors[]", to: authors}}
    derive: {names: {copy: authors, value: doc.nme}, born: {copy: authors, value: doc.born}}
    unique: ["lower(doc.tilte)", [id, isbn]]
`), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, command := range []string{"diff", "apply"} {
		var out bytes.Buffer
		if err := fanfoldCommand(t.Context(), &out, "model", command, "--server", s.URL, file); err != nil {
			t.Fatal(err)
		}
		for _, line := range []string{
			`WARNING  collections.books.derive["names"].value: found no value in any of 2 documents, such as authors/a: there is no member "nme"; did you mean "name"?`,
			`         books.born                               value found no value in 1 of 2 documents, such as authors/b: there is no member "born"`,
			`WARNING  collections.books.unique: "lower(doc.tilte)" found no value in any of 2 documents, such as books/1: there is no member "tilte"`,
			`unique   books                                    isbn found no value in 1 of 2 documents, such as books/1: there is no member "isbn"`,
		} {
			if !strings.Contains(out.String(), line+"\n") {
				t.Errorf("%s lacks %s:\n%s", command, line, out.String())
			}
		}
	}
}

// TestModelDiffTellsAccess: model diff prints what a model opens and closes, and which declaration it takes away.
func TestModelDiffTellsAccess(t *testing.T) {
	t.Parallel()
	s := harness.OpenTemp(t, "collections: {news: {access: {read: [support]}}, old: {access: {}}}")
	file := filepath.Join(t.TempDir(), "model.yaml")
	if err := os.WriteFile(file, []byte("collections: {news: {access: {read: [everyone]}}, old: {}}"), 0o600); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := fanfoldCommand(t.Context(), &out, "model", "diff", "--server", s.URL, file); err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{
		"~ collections.news.access  news: everyone may read it now",
		"- collections.old.access  old: roles read and write may read it now; role write may write it now",
	} {
		if !strings.Contains(out.String(), line+"\n") {
			t.Errorf("it lacks %s:\n%s", line, out.String())
		}
	}
}

// TestModelFlows: model check lists copies that do not say that they publish, at their lines. model diff prints the flows that are new, and
// model flows all of them.
func TestModelFlows(t *testing.T) {
	t.Parallel()
	const model = `collections:
  projects: { access: { read: [a] } }
  tasks:
    relations: { project: { path: projectId, to: projects } }
    derive:
      members: { copy: project, value: doc.members }
`
	const tells = "tasks.members tells readers of tasks about projects"
	s := harness.OpenTemp(t, "")
	file := filepath.Join(t.TempDir(), "model.yaml")
	write := func(text string) {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(model)
	var out bytes.Buffer
	var e *fanfold.Error
	if err := fanfoldCommand(t.Context(), &out, "model", "check", file); !errors.As(err, &e) || len(e.Problems) != 1 || e.Problems[0].Detail != tells || e.Problems[0].Line != 6 {
		t.Errorf("the check says %v %+v", err, e)
	}
	write(strings.Replace(model, "doc.members", "doc.members, publish: true", 1))
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"check", file}, "no mistakes"},
		{[]string{"diff", "--server", s.URL, file}, "+ collections.tasks.derive.members.publish  " + tells},
		{[]string{"apply", "--server", s.URL, file}, "+ collections.tasks.derive.members.publish  " + tells},
		{[]string{"flows", "--server", s.URL}, tells + "  publish: true"},
		{[]string{"flows", "--server", s.URL, "--json"}, `"publish": true`},
	} {
		out.Reset()
		if err := fanfoldCommand(t.Context(), &out, append([]string{"model"}, c.args...)...); err != nil || !strings.Contains(out.String(), c.want+"\n") {
			t.Errorf("model %v prints %s, %v; want %s", c.args, out.String(), err, c.want)
		}
	}
}

// TestModelCheckFunctions: model check reads the sources of functions, and names their mistakes at the lines of the file. model diff names what
// differs in one, and model get brings it back in lines.
func TestModelCheckFunctions(t *testing.T) {
	t.Parallel()
	const model = `collections:
    seats: {}
functions:
    reserve:
        source: |
            export default (ctx, args) => {
              return ctx.get("seats", args.seat)
            }
`
	s := harness.OpenTemp(t, model)
	file := filepath.Join(t.TempDir(), "model.yaml")
	run := func(text string, args ...string) (string, error) {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		err := fanfoldCommand(t.Context(), &out, append([]string{"model"}, args...)...)
		return out.String(), err
	}
	if out, err := run(model, "check", file); err != nil || !strings.Contains(out, "1 functions: no mistakes") {
		t.Errorf("the check says %s, %v", out, err)
	}
	var e *fanfold.Error
	_, err := run(strings.Replace(model, "args.seat)", "args.seat", 1), "check", file)
	if !errors.As(err, &e) || len(e.Problems) != 1 || e.Problems[0].Path != "functions.reserve.source" || e.Problems[0].Line != 8 || e.Problems[0].Column != 13 {
		t.Errorf("the check says %+v", e)
	}
	const want = `~ functions.reserve.source  line 2 is "  return 7", was "  return ctx.get(\"seats\", args.seat)"`
	out, err := run(strings.Replace(model, `ctx.get("seats", args.seat)`, "7", 1), "diff", "--server", s.URL, file)
	if err != nil || !strings.Contains(out, want+"\n0 documents would change\n") {
		t.Errorf("the difference is %s, %v, want %s", out, err, want)
	}
	if out, err := run("", "get", "--server", s.URL); err != nil || out != model {
		t.Errorf("the model is %s, %v", out, err)
	}
}

// TestModelSchema: model schema prints what editors take: JSON, with the members of models.
func TestModelSchema(t *testing.T) {
	r := runCommand(t, "", "model", "schema")
	r.want(t, exitDone, `"relations": {`, `"$schema"`)
	if !json.Valid([]byte(r.out)) {
		t.Errorf("it is no JSON: %s", r.out)
	}
}

// TestModelTypes: model types prints the types of a file or of the server's model, and writes no file that another has written.
func TestModelTypes(t *testing.T) {
	t.Parallel()
	s := harness.OpenTemp(t, "")
	run := func(args ...string) (string, error) {
		var out bytes.Buffer
		err := fanfoldCommand(t.Context(), &out, append([]string{"model", "types"}, args...)...)
		return out.String(), err
	}
	if out, err := run("--server", s.URL); err != nil || !strings.HasSuffix(out, "export interface Models {\n}\n") {
		t.Errorf("without a model it prints %q, %v", out, err)
	}
	s.Model("collections: {authors: {derive: {n: {count: books.author}}}, books: {relations: {author: {path: authorId, to: authors}}}}")
	out, err := run("--server", s.URL)
	if err != nil || !strings.Contains(out, "  readonly n?: number;\n") {
		t.Errorf("it prints %q, %v", out, err)
	}
	dir := t.TempDir()
	file, model, other := filepath.Join(dir, "models.ts"), filepath.Join(dir, "model.yaml"), filepath.Join(dir, "other.ts")
	for range 2 {
		if said, err := run("--server", s.URL, "--out", file); err != nil || said != "" {
			t.Errorf("%q, %v", said, err)
		}
	}
	for name, text := range map[string]string{model: "collections: {a: {}}", other: "export {}"} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if written, err := os.ReadFile(file); err != nil || string(written) != out {
		t.Errorf("the file has %q, %v", written, err)
	}
	if out, err := run(model); err != nil || !strings.Contains(out, "export interface A {") {
		t.Errorf("of a file it prints %q, %v", out, err)
	}
	if _, err := run(model, "--out", other); fanfold.CodeOf(err) != fanfold.Invalid {
		t.Errorf("a file of another is written over: %v", err)
	}
}
