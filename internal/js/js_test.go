package js

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tetratelabs/wazero"

	"github.com/fanfold/fanfold"
)

var onlyRuntime = sync.OnceValues(func() (*Runtime, error) {
	r, err := New(context.Background())
	if err == nil && (r.maxTime != MaxTime || r.maxSteps != MaxSteps || cap(r.waiting) != MaxWaiting) {
		err = fmt.Errorf("a runtime begins with other bounds: %+v", r)
	}
	if err == nil {
		r.maxTime = time.Minute // steps end runs on a busy machine, too
	}
	return r, err
})

// shared returns the runtime of most tests: compiling the engine takes longer than they do.
func shared(t testing.TB) *Runtime {
	t.Helper()
	r, err := onlyRuntime()
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func load(t testing.TB, r *Runtime, source string) *Program {
	t.Helper()
	p, err := r.Load(t.Context(), source)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func call(t testing.TB, p *Program, input Input) (string, Output) {
	t.Helper()
	out, err := p.Call(t.Context(), input)
	if err != nil {
		t.Fatal(err)
	}
	return string(out.Result), out
}

// answering returns a host that answers everything with a value.
func answering(value string) Host {
	return func(context.Context, string, []byte) ([]byte, error) { return []byte(value), nil }
}

// failing runs a source and returns its error, which must be an *Error.
func failing(t *testing.T, source string, host Host) *Error {
	t.Helper()
	p, err := shared(t).Load(t.Context(), source)
	if err == nil {
		_, err = p.Call(t.Context(), Input{Host: host})
	}
	var e *Error
	if !errors.As(err, &e) {
		t.Fatalf("%s: %v", source, err)
	}
	return e
}

func TestResults(t *testing.T) {
	for _, c := range []struct{ source, want string }{
		{`() => 1`, `1`},
		{`() => {}`, `null`},
		{`(ctx, args) => args`, `{"a":[1,"ä\n",null]}`},
		{`async (ctx, args) => { await null; return args.a }`, `[1,"ä\n",null]`},
		{`async () => { const all = await Promise.all([1, (async () => 2)()]); return all }`, `[1,2]`},
		{`() => ({ then(resolve) { resolve(3) } })`, `3`},
		{`function () { return this === undefined }`, `true`},
		{`(ctx) => [ctx.now, Date.now(), new Date().toISOString(), ctx.caller.id]`, `[1700000000123,1700000000123,"2023-11-14T22:13:20.123Z","me"]`},
		{`() => new Date(2026, 0, 1).toISOString()`, `"2026-01-01T00:00:00.000Z"`},
		{`() => { Promise.resolve().then(() => { throw 1 }); return 1 }`, `1`},
		{`() => [[1, 2, 3, 4].findLast(x => x % 2), Object.groupBy([1, 2], x => x)[1], "ab".at(-1).isWellFormed(), new Set([1]).union(new Set([2])).size]`, `[3,[1],true,2]`},
	} {
		got, _ := call(t, load(t, shared(t), "export default "+c.source), Input{
			Arguments: []byte(`{"a":[1,"ä\n",null]}`), Caller: []byte(`{"id":"me"}`), Now: time.UnixMilli(1700000000123)})
		if got != c.want {
			t.Errorf("%s gives %s, not %s", c.source, got, c.want)
		}
	}
}

// TestExports: what a source exports by name comes as JSON, and nothing of it stays for the next.
func TestExports(t *testing.T) {
	r := shared(t)
	for source, want := range map[string]string{
		"export default () => 1": `{}`,
		"export const reads = ['a'], call = ['write'], args = {type: 'object'}; export const authority = 'model'; export default async () => 1": `{"args":{"type":"object"},"authority":"model","call":["write"],"reads":["a"]}`,
		"const reads = [1]; export {reads}; export const f = () => 1; export let u; export default function main() {}":                          `{"f":null,"reads":[1],"u":null}`,
		"export const x = await Promise.resolve(7); export default () => x; globalThis.left = 1":                                                `{"x":7}`,
		"export const x = typeof left; export default () => x":                                                                                  `{"x":"undefined"}`,
	} {
		if got, err := r.Exports(t.Context(), source); err != nil || string(got) != want {
			t.Errorf("%s exports %s, %v, want %s", source, got, err, want)
		}
	}
	for source, kind := range map[string]Kind{
		"export const x = 1": Thrown, "export default 1": Thrown, "export default () => {": Thrown, "export const x = 1n; export default () => 1": Thrown, "for (;;); export default () => 1": Limited,
		"export const x = 'x'.repeat(65536); export default () => 1": Limited, "JSON.stringify = () => 'x'; export default () => 1": Thrown, "//" + strings.Repeat("x", MaxSource): Limited,
	} {
		var e *Error
		if got, err := r.Exports(t.Context(), source); !errors.As(err, &e) || e.Kind != kind {
			t.Errorf("%.60s exports %s, %v, want an error of kind %s", source, got, err, kind)
		}
	}
}

// TestNothingOfTheWorld: what would reach out of a run, or tell runs apart, is not there.
func TestNothingOfTheWorld(t *testing.T) {
	got, _ := call(t, load(t, shared(t), `export default () => Object.getOwnPropertyNames(globalThis).sort()`), Input{})
	for _, name := range []string{"fetch", "setTimeout", "WebAssembly", "performance", "console", "process", "Atomics", "print", "std", "os", "host", "navigator"} {
		if strings.Contains(got, `"`+name+`"`) {
			t.Errorf("%s is there", name)
		}
	}
	if e := failing(t, "import 'std'\nexport default () => 1", nil); e.Kind != Thrown || !strings.Contains(e.Message, "std") {
		t.Errorf("an import: %+v", e)
	}
	if e := failing(t, `export default async () => { await import("os") }`, nil); e.Kind != Thrown || !strings.Contains(e.Message, "os") {
		t.Errorf("an import: %+v", e)
	}
}

func TestErrors(t *testing.T) {
	refusing := func(context.Context, string, []byte) ([]byte, error) {
		return nil, fmt.Errorf("writing: %w", &Error{Kind: Refused, Code: "unique", Message: "taken by b"})
	}
	for _, c := range []struct {
		source string
		want   Error
	}{
		{"export default () => {\n  null.x\n}", Error{Kind: Thrown, Message: "TypeError: cannot read property 'x' of null", Line: 2, Column: 3}},
		{"export default () => {\n  throw new Error(\"no\")\n}", Error{Kind: Thrown, Message: "no", Line: 2, Column: 13}},
		{"const f = () => { throw new RangeError(\"deep\") }\nexport default () => f()", Error{Kind: Thrown, Message: "RangeError: deep", Line: 1, Column: 29}},
		{"export default async () => {\n  await 1\n  x()\n}", Error{Kind: Thrown, Message: "ReferenceError: x is not defined", Line: 3, Column: 3}},
		{"export default () => {\n  [1].map(() => JSON.parse(\"{\"))\n}", Error{Kind: Thrown, Message: "SyntaxError: Expected property name or '}' in JSON at position 1 (line 1 column 2)", Line: 2, Column: 22}},
		{"export default () => {\n  return {;\n}", Error{Kind: Thrown, Message: "SyntaxError: invalid property name", Line: 2, Column: 11}},
		{"null.x\nexport default 1", Error{Kind: Thrown, Message: "TypeError: cannot read property 'x' of null", Line: 1, Column: 1}},
		{`export default () => { throw 7 }`, Error{Kind: Thrown, Message: "7"}},
		{`export default () => { throw null }`, Error{Kind: Thrown, Message: "null"}},
		{`export default () => Promise.reject({})`, Error{Kind: Thrown, Message: "Error"}},
		{`export default 1`, Error{Kind: Thrown, Message: "the source has no function as its default export: begin it with export default (ctx, args) => ..."}},
		{`export const f = 1`, Error{Kind: Thrown, Message: "the source has no function as its default export: begin it with export default (ctx, args) => ..."}},
		{`await new Promise(() => {}); export default () => 1`, Error{Kind: Thrown, Message: "an await outside of functions never ends"}},
		{`export default () => new Promise(() => {})`, Error{Kind: Thrown, Message: "the function's promise never settles: nothing is left that could settle it"}},
		{`export default () => "\ud800"`, Error{Kind: Thrown, Message: "the result is no JSON value that is taken: invalid surrogate pair `\\ud800\"` in string at byte 1, in the top level"}},
		{`export default (ctx) => ctx.fail("taken", "gone", { seat: 5n })`, Error{Kind: Failed, Code: "taken", Message: "gone", Details: []byte(`{"seat":5}`)}},
		{`export default async (ctx) => { await 1; ctx.fail("taken") }`, Error{Kind: Failed, Code: "taken", Message: "taken"}},
		{"export default (ctx) => {\n ctx.fail(\"Not so\") }", Error{Kind: Thrown, Message: "TypeError: ctx.fail takes a code of 1 to 64 of a-z, 0-9 and -", Line: 2, Column: 6}},
		{`export default (ctx) => ctx.put("a", "b", {})`, Error{Kind: Refused, Code: "unique", Message: "taken by b"}},
		{`export default (ctx) => { try { ctx.put("a", "b", {}) } catch (e) { throw new TypeError(e.code + e.message + (e instanceof Error)) } }`,
			Error{Kind: Thrown, Message: "TypeError: uniquetaken by btrue", Line: 1, Column: 124}},
		{`export default (ctx) => ctx.uuid(ctx.fail)`, Error{Kind: Refused, Code: "unique", Message: "taken by b"}},
		{`let d; export default (ctx) => { const a = {}; a.a = a; ctx.put("a", "b", a) }`, Error{Kind: Thrown, Message: "TypeError: circular reference", Line: 1, Column: 75}},
	} {
		got := failing(t, c.source, refusing)
		if !reflect.DeepEqual(*got, c.want) {
			t.Errorf("%s\n got %+v\nwant %+v", c.source, *got, c.want)
		}
	}
}

// TestHostCalls: the host sees what the function gives, in order, and the function sees what it answers.
func TestHostCalls(t *testing.T) {
	var calls []string
	host := func(_ context.Context, name string, arguments []byte) ([]byte, error) {
		calls = append(calls, name+string(arguments))
		return fmt.Appendf(nil, `{"n":%d}`, len(calls)), nil
	}
	p := load(t, shared(t), `export default (ctx, args) => {
		const all = [ctx.get("seats", args.seat), ctx.get("seats", 1, { view: "embedded" }), ctx.query("seats", { filter: "a", limit: 2 })]
		all.push(ctx.children("a", "b", "c"), ctx.put("a", "b", { x: undefined, y: [undefined] }), ctx.create("a", {}), ctx.patch("a", "b", { z: null }))
		all.push(ctx.delete("a", "b"), ctx.uuid())
		ctx.log("said", 1, { a: 1 }, [2n], undefined, Symbol("s"))
		return all.map(x => x.n)
	}`)
	got, out := call(t, p, Input{Arguments: []byte(`{"seat":"1A"}`), Host: host})
	want := []string{`get["seats","1A"]`, `get["seats",1,{"view":"embedded"}]`, `query["seats",{"filter":"a","limit":2}]`, `children["a","b","c"]`,
		`put["a","b",{"y":[null]}]`, `create["a",{}]`, `patch["a","b",{"z":null}]`, `delete["a","b"]`, `uuid[]`}
	if !slices.Equal(calls, want) || got != `[1,2,3,4,5,6,7,8,9]` {
		t.Errorf("%q\n%s", calls, got)
	}
	if want := []string{`said 1 {"a":1} 2 undefined Symbol(s)`}; !slices.Equal(out.Log, want) {
		t.Errorf("log %q", out.Log)
	}
}

// TestHostErrors: an error of the host that is no refusal ends the run, though the function catches all.
func TestHostErrors(t *testing.T) {
	broken := errors.New("the disk is full")
	p := load(t, shared(t), `export default (ctx) => { for (;;) try { ctx.get("a", "b") } catch {} }`)
	calls := 0
	_, err := p.Call(t.Context(), Input{Host: func(context.Context, string, []byte) ([]byte, error) { calls++; return nil, broken }})
	if !errors.Is(err, broken) || calls != 1 {
		t.Errorf("%v after %d calls", err, calls)
	}
	_, err = p.Call(t.Context(), Input{Host: answering(`{"a":`)})
	var e *fanfold.Error
	if !errors.As(err, &e) || e.Code != fanfold.Internal {
		t.Errorf("no JSON: %v", err)
	}
	e2 := failing(t, `const x = 1; export default (ctx) => ctx.get("a", "b", [[`+strings.Repeat("[", 70)+strings.Repeat("]", 70)+`]])`, answering("1"))
	if e2.Code != "invalid" {
		t.Errorf("too deep: %+v", e2)
	}
}

// TestNumbers: numbers that no double holds come and go as they are written.
func TestNumbers(t *testing.T) {
	exact := []string{`0`, `-0`, `1`, `0.1`, `1.50`, `1e5`, `1E400`, `-1e-400`, `5e-324`, `4e-324`, `9007199254740993`, `9007199254740992`, `12345678901234567890`,
		`0.10000000000000000001`, `123456789.123456789123`, `1.7976931348623157e308`, `1.7976931348623157e+308`, `-99999999999999999999999999999`, `100000000000000000000`, `0.1000000000000000055`}
	p := load(t, shared(t), `export default (ctx, args) => {
		const kinds = args.map(n => typeof n === "object" ? n.constructor.name : typeof n)
		const back = ctx.put("a", "b", { "#": args, "##": ["#"] })
		return [args, kinds, back]
	}`)
	var put string
	host := func(_ context.Context, _ string, arguments []byte) ([]byte, error) {
		put = string(arguments)
		return arguments, nil
	}
	list := "[" + strings.Join(exact, ",") + "]"
	got, _ := call(t, p, Input{Arguments: []byte(list), Host: host})
	written := `[0,0,1,0.1,1.5,100000,1E400,-1e-400,5e-324,4e-324,9007199254740993,9007199254740992,12345678901234567890,` +
		`0.10000000000000000001,123456789.123456789123,1.7976931348623157e+308,1.7976931348623157e+308,-99999999999999999999999999999,100000000000000000000,0.1000000000000000055]`
	kinds := `["number","number","number","number","number","number","RawNumber","RawNumber","number","RawNumber","bigint","number","bigint",` +
		`"RawNumber","RawNumber","number","number","bigint","number","RawNumber"]`
	if want := `["a","b",{"#":` + written + `,"##":["#"]}]`; put != want {
		t.Errorf("put\n%s\n%s", put, want)
	}
	if want := `[` + written + `,` + kinds + `,["a","b",{"#":` + written + `,"##":["#"]}]]`; got != want {
		t.Errorf("\n%s\n%s", got, want)
	}
	for source, want := range map[string]string{
		`() => [new RawNumber("1.10"), 5n, { "a": 1n }]`:                                         `[1.10,5,{"a":1}]`,
		`() => +new RawNumber("1.5") + 1`:                                                        `2.5`,
		`() => JSON.stringify(new RawNumber("1.5"))`:                                             `"{\"raw\":\"1.5\"}"`,
		`() => { try { return JSON.stringify(1n) } catch (e) { return e.name } }`:                `"TypeError"`,
		`() => { try { return new RawNumber("1,0") } catch (e) { return e.name } }`:              `"TypeError"`,
		`() => { RegExp.prototype.exec = () => ["x"]; return { a: new RawNumber("1, \"b\"") } }`: ``,
		`() => { BigInt.prototype.toJSON = function () { return "n" + this }; return 5n }`:       `"n5"`,
		`() => ({ [{ toString() { return "k" } }]: 1n })`:                                        `{"k":1}`,
	} {
		out, err := load(t, shared(t), "export default "+source).Call(t.Context(), Input{})
		if string(out.Result) != want || (err == nil) != (want != "") {
			t.Errorf("%s gives %s, %v", source, out.Result, err)
		}
	}
}

// TestNothingStays: no call sees what another one did to its program, to prototypes or to the engine.
func TestNothingStays(t *testing.T) {
	r := shared(t)
	p := load(t, r, `let calls = 0
		export default (ctx, args) => {
			const seen = [calls, [].mark, Math.random(), Object.keys(globalThis).length, typeof String.prototype.trim, JSON.stringify({ a: 1 })]
			if (args) { calls++; Array.prototype.mark = 1; Math.random = () => 4; globalThis.x = 1; delete String.prototype.trim; JSON.stringify = () => "no"; WeakMap.prototype.get = Promise.prototype.then = String.prototype.slice = () => 5 }
			return seen
		}`)
	other := load(t, r, `export default () => [[].mark, typeof String.prototype.trim]`)
	first, was := call(t, p, Input{Arguments: []byte(`false`), Seed: 3})
	for i := range 20 {
		call(t, p, Input{Arguments: []byte(`true`), Seed: 3})
		if i%3 == 0 { // a trap between them
			if e := failing(t, `export default () => { Array.prototype.mark = 2; for (;;); }`, nil); e.Code != LimitSteps {
				t.Fatal(e)
			}
		}
		if i%3 == 1 { // and much memory
			call(t, load(t, r, `export default () => { const a = new Uint8Array(4e6).fill(7); return a.length }`), Input{})
		}
		again, now := call(t, p, Input{Arguments: []byte(`false`), Seed: 3})
		if again != first || now.Steps != was.Steps || now.Memory != was.Memory {
			t.Fatalf("%s %+v\nwas %s %+v", again, now, first, was)
		}
		if got, _ := call(t, other, Input{}); got != `[null,"function"]` {
			t.Fatal(got)
		}
	}
}

// TestSeeds: Math.random gives the same for the same seed, and other numbers for another one.
func TestSeeds(t *testing.T) {
	p := load(t, shared(t), `export default () => Array.from({ length: 100 }, Math.random)`)
	seen := map[string]bool{}
	for seed := range uint64(20) {
		a, _ := call(t, p, Input{Seed: seed})
		b, _ := call(t, p, Input{Seed: seed})
		if a != b || seen[a] {
			t.Errorf("seed %d: %s", seed, a)
		}
		seen[a] = true
	}
	got, _ := call(t, load(t, shared(t), `export default () => { let n = 0; for (let i = 0; i < 100000; i++) { const x = Math.random(); if (x < 0 || x >= 1) return "no"; n += x }; return Math.round(n / 1000) }`), Input{Seed: 1})
	if got != "50" {
		t.Errorf("the mean of 100,000 is %s", got)
	}
}

// TestInterpreterCountsTheSame: where wazero interprets, a run takes the same steps and gives the same.
func TestInterpreterCountsTheSame(t *testing.T) {
	r, err := newRuntime(t.Context(), wazero.NewRuntimeConfigInterpreter(), 1)
	if err != nil {
		t.Fatal(err)
	}
	r.maxTime = time.Minute
	defer func() {
		if err := r.Close(context.Background()); err != nil {
			t.Error(err)
		}
	}()
	source := `export default async (ctx, args) => {
		const d = ctx.get("a", 1); d.list = Array.from({ length: 100 }, Math.random).sort((a, b) => a - b); await 1
		return [ctx.put("a", 1, d), new Uint8Array(10000).fill(3).reduce((a, b) => a + b), "x".repeat(5000).replace(/x+?x/g, "y").length, 2n ** 2000n % 97n]
	}`
	input := Input{Host: answering(`{"n":1.0,"m":12345678901234567890}`), Seed: 5, Now: time.UnixMilli(5)}
	got, out := call(t, load(t, r, source), input)
	want, as := call(t, load(t, shared(t), source), input)
	if got != want || out.Steps != as.Steps || out.Memory != as.Memory {
		t.Errorf("%s %+v\n%s %+v", got, out, want, as)
	}
}
