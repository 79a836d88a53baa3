package main

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fanfold/fanfold/tests/harness"
)

// reserveFile is a function that says what it reads, who calls it, and what it is given.
const reserveFile = `export const args = { type: "object", required: ["seat", "user"] }
export const call = ["write", "clerks"]
export const reads = ["seats"]

export default (ctx, args) => {
  const seat = ctx.get("seats", args.seat)
  ctx.log("asked", args.seat)
  if (!seat || seat.by) ctx.fail("taken", "This seat is gone", { seat: args.seat })
  if (ctx.query("seats", { filter: "doc.by == params.u", params: { u: args.user } }).length > 1) ctx.fail("enough")
  ctx.patch("seats", args.seat, { by: args.user, at: new Date(ctx.now).toISOString() })
  return { seat: args.seat, drawn: Math.random() }
}
`

// reserveTests has tests that pass, and tests that fail in each way.
const reserveTests = `test("a seat is reserved once", (t) => {
  t.put("seats", "s1", {})
  const first = t.call("reserve", { seat: "s1", user: "ada" })
  t.equal(first, { seat: "s1", drawn: first.drawn })
  t.equal(t.get("seats", "s1"), { id: "s1", by: "ada", at: "2026-01-01T00:00:00.000Z" })
  const error = t.fails("taken", () => t.call("reserve", { seat: "s1", user: "bob" }))
  t.equal(error.message, "This seat is gone")
  t.fails("not-found", () => t.call("none"))
})
test("everything of t", async (t) => {
  for (const id of ["a", "b", "c"]) t.put("seats", id, {})
  t.call("reserve", { seat: "a", user: "ada" })
  t.call("reserve", { seat: "b", user: "ada" })
  await t.fails("enough", async () => t.call("reserve", { seat: "c", user: "ada" }))
  t.equal(t.query("seats", { filter: "has(doc.by)", sort: "-id" }).map((d) => d.id), ["b", "a"])
  t.equal(t.query("seats", { limit: 1 }).length, 1)
  t.equal(t.patch("seats", "c", { n: 1, m: null }), { id: "c", n: 1 })
  t.equal(t.patch("seats", "c", [{ op: "increment", path: "/n", value: 0.5 }]).n, 1.5)
  t.equal(t.create("seats", { id: "d", n: 12345678901234567890n }).n, 12345678901234567890n)
  t.fails("exists", () => t.create("seats", { id: "d" }))
  t.equal(t.delete("seats", "d"), null)
  t.equal([t.get("seats", "d"), t.get("none", "d")], [null, null])
})
test("each store is empty", (t) => t.equal(t.query("seats"), []))
test("it is wrong", (t) => {
  t.put("seats", "s1", { n: 12345678901234567890n })
  t.equal(t.get("seats", "s1").n, 1)
})
test("nothing fails", (t) => t.fails("taken", () => {}))
test("it fails otherwise", (t) => t.fails("taken", () => t.call("reserve", {})))
test("it throws", (t) => t.call("reserve", { seat: "s1", user: "a" }))
test("it has a mistake", (t) => t.none.at)
test("it throws a text", () => { throw "text" })
test("it never ends", () => { for (;;); })
`

// writeIn writes a file into a directory, and returns its path.
func writeIn(t *testing.T, dir, name, text string) string {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestFnTest: tests run on empty stores, and tell where they fail, by both files of a function.
func TestFnTest(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	source, tests := writeIn(t, dir, "reserve.js", reserveFile), writeIn(t, dir, "reserve.test.js", reserveTests)
	for _, path := range []string{source, tests} {
		got := runCommand(t, "", "fn", "test", path)
		got.want(t, exitFailed, "ok    a seat is reserved once (", "ok    everything of t (", "ok    each store is empty (", "7 of 10 tests failed",
			"FAIL  it is wrong\n      "+tests+":27:", ": the values differ\n      expected 1\n      actual   12345678901234567890\n",
			"FAIL  nothing fails\n      "+tests+":29:32: it should have failed\n      expected \"taken\"\n      actual   null\n",
			"FAIL  it fails otherwise\n      "+tests+":30:37: it failed otherwise: ", "      actual   \"unprocessable\"\n",
			"FAIL  it throws\n      "+tests+":31:28: taken: This seat is gone\n",
			"FAIL  it has a mistake\n      "+tests+":32:33: TypeError: cannot read property 'at' of undefined\n",
			"FAIL  it throws a text\n      "+tests+": it threw text\n", "FAIL  it never ends\n      "+tests+": the function takes more than 50000000 steps")
	}
	lines := strings.Split(strings.TrimSpace(runCommand(t, "", "fn", "test", source, "--json").out), "\n")
	if len(lines) != 10 || !strings.HasPrefix(lines[0], `{"test":"a seat is reserved once","ok":true,"milliseconds":`) ||
		!strings.HasPrefix(lines[3], `{"test":"it is wrong","ok":false,`) || !strings.HasSuffix(lines[3], `"message":"the values differ","line":27,"column":13,"expected":1,"actual":12345678901234567890}`) {
		t.Errorf("as JSON:\n%s", strings.Join(lines, "\n"))
	}
}

// TestFnTestModel: the stores of tests have the model that stands beside the function, or that is named. Chance is the same each time.
func TestFnTestModel(t *testing.T) {
	t.Parallel()
	dir, other := t.TempDir(), t.TempDir()
	source := writeIn(t, dir, "number.js", "export default (ctx) => [ctx.create('orders', {}).number, Math.random()]")
	writeIn(t, dir, "number.test.js", `const drawn = []
test("numbers", (t) => { t.equal([t.call("number")[0], t.call("number")[0]], [1, 2]) })
test("chance", (t) => t.equal(t.call("number")[1] === t.call("number")[1], false))
`)
	runCommand(t, "", "fn", "test", source).want(t, exitFailed, "FAIL  numbers", "1 of 2 tests failed")
	const sequence = "collections: { orders: { sequences: { number: {} } } }\nfunctions: { number: { call: [admin], source: 'export default () => 7' } }\n"
	model := writeIn(t, other, "other.yaml", sequence)
	runCommand(t, "", "fn", "test", source, "--model", model).want(t, exitDone, "ok    numbers")
	writeIn(t, dir, "model.yaml", sequence)
	runCommand(t, "", "fn", "test", source).want(t, exitDone, "ok    numbers", "ok    chance")
}

// TestFnTestRefuses: files that are no function, or no tests, are refused with their place, and exit code 2.
func TestFnTestRefuses(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	ok := writeIn(t, dir, "f.js", "export default () => 1")
	runCommand(t, "", "fn", "test", ok).want(t, exitUsage, "cannot read the tests", "f.test.js")
	for _, c := range []struct{ tests, want string }{
		{"", `has no test: begin it with test("it does"`},
		{"\ntest('x', (t) => {\n", "something is not closed"},
		{"\n  test('x', t => 1))", "line 2, column 20"},
		{strings.Repeat("test('x', () => {})\n", 101), "has 101 tests, and 100 is the most"},
		{"//" + strings.Repeat("x", 1<<20), "has more than 1048576 bytes"},
		{"//" + strings.Repeat("x", 64<<10), "at most 65536 are taken"},
	} {
		writeIn(t, dir, "f.test.js", c.tests)
		runCommand(t, "", "fn", "test", ok).want(t, exitUsage, "f.test.js", c.want)
	}
	for text, want := range map[string]string{
		"export default 1": "no function as its default export", "export default () => {": "line 1", "export const read = ['a']; export default () => 1": "exports read, which says nothing of a function: export args, authority, call, reads",
		"export const call = undefined; export default () => 1":                              "exports call with null",
		"export const args = { properties: { a: { const: null } } }; export default () => 1": "exports args with null",
		"export const call = () => 1; export default () => 1":                                "exports call with null",
		"export const helper = () => 1; export default helper":                               "exports helper",
		"export const args = { description: 'x'.repeat(65536) }; export default () => 1":     "export less",
		"export const args = { toJSON() { return { x: 1n } } }; export default () => 1":      "JSON has no BigInt",
		"JSON.stringify = () => '{'; export const call = ['write']; export default () => 1":  "is no JSON object",
		"for (;;); export default () => 1":                                                   "steps",
	} {
		path := writeIn(t, dir, "g.js", text)
		runCommand(t, "", "fn", "put", path, "--server", "127.0.0.1:1").want(t, exitUsage, "g.js", want)
	}
	runCommand(t, "", "fn", "put", writeIn(t, dir, "x.txt", "")).want(t, exitUsage, "is no function")
}

// TestFnCommands: a function is put, listed, printed, called and removed.
func TestFnCommands(t *testing.T) {
	t.Parallel()
	s := harness.OpenTemp(t, "collections: { seats: {} }")
	at := func(stdin string, args ...string) ran {
		return runCommand(t, stdin, append(append([]string{"fn"}, args...), "--server", s.URL)...)
	}
	source := writeIn(t, t.TempDir(), "reserve.js", reserveFile)
	at("", "put", source, "--dry-run").want(t, exitDone, "+ functions.reserve")
	at("", "list", "--json").want(t, exitDone, `"functions": []`)
	at("", "put", source, "--yes").want(t, exitDone, "+ functions.reserve", "the model changed")
	at("", "put", source, "--yes").want(t, exitDone, "the model says so already")
	s.Want(http.StatusCreated, "PUT", "/v1/seats/s1", `{}`)
	ask := `{"seat":"s1","user":"ada"}`
	tried := at("", "call", "reserve", ask, "--dry-run", "--now", "2026-01-02T15:04:05Z", "--seed", "7")
	tried.want(t, exitDone, "asked s1\nwould patch seats/s1\n", "1 documents read")
	if again := at("", "call", "reserve", ask, "--dry-run", "--seed", "7"); again.out != tried.out || !strings.HasPrefix(tried.out, `{"seat":"s1","drawn":0.`) {
		t.Errorf("two dry runs with one seed: %q, %q", tried.out, again.out)
	}
	at("", "call", "reserve", ask, "--dry-run", "--json").want(t, exitDone, `"steps":`, `"log":`)
	s.WantDoc("seats", "s1", `{"id":"s1"}`)
	first := at(ask, "call", "reserve", "-", "--idempotency-key", "k")
	first.want(t, exitDone, `{"seat":"s1","drawn":`)
	if again := at("", "call", "reserve", ask, "--idempotency-key", "k"); again.out != first.out {
		t.Errorf("the call under one key says %q, then %q", first.out, again.out)
	}
	at("", "call", "reserve", ask).want(t, exitFailed, `422 Unprocessable Entity: taken: This seat is gone`, `{"seat":"s1"}`)
	at("", "call", "none").want(t, exitFailed, "404 Not Found")
	at("", "call", "reserve", "{").want(t, exitUsage, "no JSON")
	at(strings.Repeat(" ", 2<<20), "call", "reserve", "-").want(t, exitUsage, "more than 1048576 bytes")
	at("", "call", "reserve", "--seed", "7").want(t, exitUsage, "go with --dry-run")
	at("", "call", "reserve", "--dry-run", "--seed", "-7").want(t, exitUsage, "no integer from 0 on")
	at("", "call", "reserve", "--dry-run", "--now", "noon").want(t, exitUsage, "no time such as")
	at("", "list").want(t, exitDone, "FUNCTION  RUNS  ERRORS  LAST", "reserve   5")
	if shown := at("", "show", "reserve"); shown.out != reserveFile {
		t.Errorf("the source is %q", shown.out)
	}
	at("", "show", "reserve", "--json").want(t, exitDone, `"clerks"`)
	runCommand(t, "", "__complete", "fn", "call", "--server", s.URL, "re").want(t, exitDone, "reserve\n:4")
	at("", "show", "none").want(t, exitFailed, `no function "none"`)

	fewer := writeIn(t, filepath.Dir(source), "reserve.js", "export const args = { type: 'array' }\nexport default () => 1\n")
	at("", "put", fewer, "--yes").want(t, exitFailed, "--allow-removal")
	at("", "put", fewer, "--yes", "--allow-removal", "--json").want(t, exitDone, `"path": "functions.reserve`)
	if text := at("", "show", "reserve", "--json").out; !strings.Contains(text, `"type": "array"`) || strings.Contains(text, "required") || strings.Contains(text, "clerks") {
		t.Errorf("the function is %s", text)
	}
	at("", "remove", "none").want(t, exitFailed, `no function "none"`)
	at("", "remove", "reserve", "--yes").want(t, exitFailed, "--allow-removal")
	at("", "remove", "reserve", "--allow-removal", "--dry-run").want(t, exitDone, "- functions.reserve")
	at("", "remove", "reserve", "--allow-removal", "--yes").want(t, exitDone, "the model changed")
	at("", "list", "--json").want(t, exitDone, `"functions": []`)
}
