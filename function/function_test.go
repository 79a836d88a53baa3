//go:build !nofunctions

package function

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/model"
	"github.com/fanfold/fanfold/writer"
)

// shelf is a World of one document that is as long as it says, and refuses writes.
type shelf struct{ bytes int }

func (s shelf) document() []byte {
	return []byte(`{"id":"d","text":"` + strings.Repeat("x", s.bytes) + `"}`)
}

func (s shelf) Get(fanfold.Key, bool) ([]byte, error) { return s.document(), nil }

func (s shelf) Ask(q writer.Question, show func(*fanfold.Document) error) error {
	for range q.Limit {
		if err := show(&fanfold.Document{Body: s.document()}); err != nil {
			return err
		}
	}
	return nil
}

func (s shelf) Write(op *writer.Operation) ([]byte, error) {
	return nil, &fanfold.Error{Code: fanfold.Conflict, Message: string(op.Kind) + " " + op.Key.String() + " is refused"}
}

func (s shelf) UUID() string { return "u" }

// run runs a source over a world.
func run(t *testing.T, f *Functions, world writer.World, source string) (writer.FunctionRun, error) {
	t.Helper()
	m := model.Empty()
	m.Index()
	return f.Run(t.Context(), writer.FunctionCall{Function: &model.Function{Name: "f", Source: "export default (ctx) => { " + source + " }"}, Now: time.UnixMilli(1), World: world, Model: m})
}

// TestReadsAreBounded: a run ends where it reads more documents, more bytes, or makes more queries than it may, and cannot catch that.
func TestReadsAreBounded(t *testing.T) {
	f := New(nil)
	defer func() { _ = f.Close(context.Background()) }()
	for _, c := range []struct {
		source, limit string
		bytes, reads  int
	}{
		{`for (let i = 0; i < 1000; i++) ctx.get("c", "d")`, "", 1, MaxReads},
		{`for (let i = 0; i < 1001; i++) try { ctx.get("c", "d") } catch {}`, "reads", 1, MaxReads + 1},
		{`ctx.query("c", { limit: 1000 }); ctx.get("c", "d")`, "reads", 1, MaxReads + 1},
		{`for (let i = 0; i < 7; i++) ctx.get("c", "d")`, "", 1 << 20, 7},
		{`for (let i = 0; i < 9; i++) try { ctx.get("c", "d") } catch {}`, "bytes", 1 << 20, 8},
		{`ctx.query("c", { limit: 9 })`, "bytes", 1 << 20, 8},
		{`for (let i = 0; i < 10; i++) ctx.query("c", { limit: 1 })`, "", 1, 10},
		{`for (let i = 0; i < 11; i++) ctx.query("c", { limit: 1 })`, "queries", 1, 10},
	} {
		out, err := run(t, f, shelf{c.bytes}, c.source)
		limit := ""
		var e *fanfold.Error
		if errors.As(err, &e) && e.Code == fanfold.FunctionLimit {
			limit, err = e.Function.Limit, nil
		}
		if err != nil || limit != c.limit || out.Reads != c.reads {
			t.Errorf("%s: limit %q after %d reads, %v", c.source, limit, out.Reads, err)
		}
	}
}

// TestThrownProblems: a function is told of a refusal by its code and message, and may catch it; the problem is the call's where it does not.
func TestThrownProblems(t *testing.T) {
	var runs []string
	f := New(func(r Run) { runs = append(runs, fmt.Sprint(r.Function, " ", r.Steps > 0, " ", r.Reason)) })
	defer func() { _ = f.Close(context.Background()) }()
	out, err := run(t, f, shelf{}, `try { ctx.put("c", 7, {}) } catch (e) { return [e.code, e.message, e instanceof Error] }`)
	if err != nil || string(out.Result) != `["conflict","put c/7 is refused",true]` {
		t.Errorf("%s, %v", out.Result, err)
	}
	if _, err := run(t, f, shelf{}, `ctx.create("c", {})`); fanfold.CodeOf(err) != fanfold.Conflict || fanfold.MessageOf(err) != "create c/ is refused" {
		t.Errorf("%v", err)
	}
	_, err = run(t, f, shelf{}, "\n  throw new Error('no')")
	var e *fanfold.Error
	if !errors.As(err, &e) || e.Code != fanfold.FunctionError || e.Line != 2 || e.Message != "line 2, column 13: no" {
		t.Errorf("%v", err)
	}
	_, err = run(t, f, shelf{}, "ctx.fail('no-way', 'Never', { a: 1.10 })")
	if !errors.As(err, &e) || e.Code != fanfold.FunctionFailed || e.Function.Code != "no-way" || string(e.Function.Details) != `{"a":1.1}` {
		t.Errorf("%v", err)
	}
	if stats := f.Stats("f"); stats.Calls != 4 || stats.Errors != 2 || stats.LastCalled.IsZero() {
		t.Errorf("%+v", stats)
	}
	if got := strings.Join(runs, ", "); got != "f true , f true , f true function-error, f true function-failed" {
		t.Errorf("the runs are %s", got)
	}
}

// TestCheckTellsPlaces: mistakes in sources are told with function, line and column.
func TestCheckTellsPlaces(t *testing.T) {
	f := New(nil)
	defer func() { _ = f.Close(context.Background()) }()
	m := model.Empty()
	m.Functions = []*model.Function{{Name: "good", Source: "export default () => 1"}, {Name: "bad", Source: "export default () => {\n  let 1\n}"}, {Name: "none", Source: "const a = 1"}}
	err := f.Check(t.Context(), m)
	var e *fanfold.Error
	if !errors.As(err, &e) || e.Code != fanfold.Unprocessable || len(e.Problems) != 2 || e.Problems[0].Path != "functions.bad.source" || e.Problems[0].Line != 2 {
		t.Errorf("%v", err)
	}
}

// TestLoadedSources: sources that make much when they are loaded are not all held.
func TestLoadedSources(t *testing.T) {
	f := New(nil)
	defer func() { _ = f.Close(context.Background()) }()
	most := 0
	for i := range 80 {
		if _, err := f.program(t.Context(), &model.Function{Source: fmt.Sprintf("const a = new Uint8Array(2e6).fill(%d); export default () => a[0]", i+1)}); err != nil {
			t.Fatal(err)
		}
		most = max(most, f.held)
	}
	if most > maxProgramBytes || most < maxProgramBytes*9/10 || len(f.programs) >= 80 {
		t.Errorf("%d bytes of %d sources are held", most, len(f.programs))
	}
}

// FuzzHostCalls: whatever a function gives to ctx, the host refuses it or answers.
func FuzzHostCalls(f *testing.F) {
	for _, given := range []string{`["c","d"]`, `["c",7,{"view":"embedded"}]`, `[null]`, `[]`, `{}`, `["c",{"filter":"true","sort":["a"],"limit":1e9}]`, `["c","d","e",{"relation":"r","limit":2.5}]`, `[[],{},"",-1e400]`} {
		for _, name := range []string{"get", "query", "children", "put", "create", "patch", "delete", "uuid", "other"} {
			f.Add(name, []byte(given))
		}
	}
	m := model.Empty()
	m.Index()
	f.Fuzz(func(t *testing.T, name string, given []byte) {
		h := newHost(shelf{1}, m)
		text, err := h.answer(t.Context(), name, given)
		if err == nil && len(text) > 1<<20 {
			t.Errorf("%s(%s) answers with %d bytes", name, given, len(text))
		}
	})
}
