package api_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"runtime/debug"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/fanfold/fanfold/tests/harness"
	"github.com/fanfold/fanfold/tests/suite"
)

// bombsModel is the model of the attacks by functions. Its function run runs a text, and the trigger of armed what the document says.
const bombsModel = `
collections:
  plain: {}
  large: {}
  armed: { trigger: fire, sequences: { no: {} } }
  strict: { unique: [code], schema: { properties: { n: { type: integer } } }, relations: { up: { path: up, to: plain, strict: true } }, trigger: refuse }
functions:
  run: { reads: [plain, large], source: 'export default (ctx, source) => new Function("ctx", source)(ctx)' }
  add: { source: 'export default (ctx, id) => ctx.put("plain", id, { n: (ctx.get("plain", id)?.n ?? 0) + 1 }).n' }
  innocent: { source: 'export default (ctx, n) => { ctx.put("plain", "count", { n }); return [].concat(n, ctx.get("plain", "count").n) }' }
  fire: { source: 'export default (ctx, { op, before, after }) => new Function("ctx", "op", "before", "after", (after ?? before).do)(ctx, op, before, after)' }
  refuse: { source: 'export default (ctx, { after }) => { if (after?.no) { ctx.put("plain", "by-refused", {}); ctx.fail("no") } }' }
`

// bombs are functions that attack by what ctx gives them. Each names how it ends: "ok", or the problem's type, for a passed bound with its name.
var bombs = []struct{ name, source, ends string }{
	{"gets", `for (;;) ctx.get("plain", "d")`, "function-limit reads"},
	{"gets with a catch", `for (;;) try { ctx.get("plain", "d") } catch {} finally { continue }`, "function-limit reads"},
	{"gets of nothing", `for (let i = 0; ; i++) ctx.get("plain", "none" + i)`, "function-limit reads"},
	{"gets of what is no id", `for (;;) try { ctx.get("plain", {}) } catch {}`, "function-limit steps"},
	{"gets of large documents", `for (let i = 0; ; i++) ctx.get("large", i % 5)`, "function-limit bytes"},
	{"embedded gets", `for (;;) ctx.get("plain", "d", { view: "embedded" })`, "function-limit reads"},
	{"queries", `for (;;) ctx.query("plain")`, "function-limit queries"},
	{"queries that are refused", `for (;;) try { ctx.query("plain", { filter: "(" }) } catch {}`, "function-limit queries"},
	{"a query of large documents", `ctx.query("large", { limit: 1000 })`, "function-limit bytes"},
	{"a query of all", `ctx.query("plain", { limit: 1e9 })`, "invalid"},
	{"a query of half a document", `ctx.query("plain", { limit: 0.5 })`, "invalid"},
	{"a long filter", `ctx.query("plain", { filter: "doc.id == '" + "x".repeat(1e6) + "'" })`, "invalid"},
	{"large parameters", `ctx.query("plain", { filter: "doc.id == $a", params: { a: "x".repeat(8.4e6) } })`, "function-limit steps"},
	{"a regular expression of a filter", `return ctx.query("large", { filter: "doc.s.matches('(x+x+)+y')", limit: 1 })`, "ok"},
	{"children of what has none", `for (;;) try { ctx.children("plain", "d", "large") } catch {}`, "function-limit steps"},
	{"long lines of a log", `const s = "x".repeat(2 ** 20); for (;;) ctx.log(s, s)`, "function-limit steps"},
	{"a log of getters", `ctx.log({ get a() { for (;;); } })`, "function-limit steps"},
	{"a log of itself", `const o = { toString() { ctx.log(o); return "" }, toJSON() { throw o } }; ctx.log(o)`, "function-limit stack"},
	{"1,001 writes", `for (let i = 0; i < 1001; i++) ctx.put("plain", "w" + i, {})`, "function-limit messages"},
	{"writes", `for (let i = 0; ; i++) ctx.put("plain", "w" + i, {})`, "function-limit steps"},
	{"large writes", `const s = "x".repeat(1e6); for (let i = 0; ; i++) ctx.put("plain", "w" + i, { s })`, "function-limit steps"},
	{"a document that is too large", `ctx.put("plain", "w", { s: "x".repeat(3e6) })`, "too-large"},
	{"a call that is too large", `ctx.put("plain", "w", { s: "x".repeat(9e6) })`, "function-limit steps"},
	{"a patch that doubles", `ctx.put("plain", "w", { a: "x" }); for (;;) ctx.patch("plain", "w", [{ op: "copy", from: "", path: "/a" }, { op: "copy", from: "", path: "/b" }])`, "too-large"},
	{"a patch of 20,000 operations", `ctx.put("plain", "w", { a: [] }); ctx.patch("plain", "w", Array.from({ length: 20000 }, () => ({ op: "add", path: "/a/0", value: 1 })))`, "invalid"},
	{"increments", `ctx.put("plain", "w", { n: 0 }); for (;;) ctx.patch("plain", "w", [{ op: "increment", path: "/n", value: 1 }])`, "function-limit steps"},
	{"a number of 10,000 digits", `ctx.put("plain", "w", { n: 10n ** 10000n }); return ctx.patch("plain", "w", [{ op: "increment", path: "/n", value: 1 }]).id`, "unprocessable"},
	{"an exponent", `ctx.put("plain", "w", { n: 1 }); ctx.patch("plain", "w", [{ op: "increment", path: "/n", value: new RawNumber("1e999999999") }])`, "unprocessable"},
	{"a document of depth", `let d = {}; for (let i = 0; i < 10000; i++) d = { d }; ctx.put("plain", "w", d)`, "function-limit steps"},
	{"a document of itself", `const d = {}; d.d = d; ctx.put("plain", "w", d)`, "function-error"},
	{"a document that makes itself", `const d = { toJSON: () => ({ d }) }; ctx.put("plain", "w", d)`, "function-limit steps"},
	{"a document that writes itself", `const d = { get x() { return ctx.put("plain", "w", d) } }; ctx.put("plain", "w", d)`, "function-limit stack"},
	{"a name that is no text", `ctx.put({ toString() { for (;;); } }, "w", {})`, "invalid"},
	{"calls that are no arrays", `Array.prototype.toJSON = () => ({}); ctx.get("plain", "d")`, "invalid"},
	{"calls of all objects", `Object.prototype.toJSON = function () { return ctx.get("plain", this) }; ctx.get("plain", "d")`, "function-limit memory"},
	{"the way out by another pattern", `RegExp.prototype.exec = () => ({}); ctx.put("plain", "w", { n: new RawNumber("1}, \"x\": {") })`, "function-error"},
	{"a code by another pattern", `RegExp.prototype.exec = () => ({}); ctx.fail("<script>")`, "function-error"},
	{"a changed ctx", `ctx.get = () => 1; ctx.now = 2; delete ctx.put; ctx.put("plain", "w", {}); return ctx.get("plain", "w").id`, "ok"},
	{"a long refusal", `ctx.fail("long", "x".repeat(2 ** 20))`, "function-failed"},
	{"large details", `ctx.fail("large", "", "x".repeat(70000))`, "function-limit details"},
	{"details of itself", `const d = []; d.push(d); ctx.fail("self", "", d)`, "function-error"},
	{"a long exception", `throw "x".repeat(2 ** 20)`, "function-error"},
	{"an exception that throws", `throw { get message() { throw ctx.fail("a") }, toString() { for (;;); } }`, "function-error"},
	{"a refusal that changes", `try { ctx.put("strict", "s", { n: 0.5 }) } catch (e) { e.message = "x".repeat(1e6); e.code = "ok"; throw e }`, "unprocessable"},
	{"refusals", `for (;;) try { ctx.put("strict", "s", { n: 0.5 }) } catch {}`, "function-limit steps"},
	{"refusals by a trigger", `for (let i = 0; i < 300; i++) try { ctx.put("strict", "s" + i, { no: 1 }) } catch {} return ctx.get("plain", "by-refused")`, "ok"},
	{"references to nothing", `for (let i = 0; i < 1500; i++) try { ctx.put("strict", "s", { up: "none" + i }) } catch {} ctx.put("plain", "w", {})`, "function-limit messages"},
	{"a large result", `return "x".repeat(70000)`, "function-limit result"},
	{"a result of depth", `let d = []; for (let i = 0; i < 1000; i++) d = [d]; return d`, "function-error"},
	{"a result that calls", `return { toJSON: () => { for (;;) ctx.get("plain", "d") } }`, "function-limit reads"},
	{"an asynchronous loop of gets", `return (async () => { for (;;) await ctx.get("plain", "d") })()`, "function-limit reads"},
	{"a promise that waits for a call", `return new Promise(() => ctx.get("plain", "d"))`, "function-error"},
	{"jobs that are left", `const f = () => { ctx.uuid(); Promise.resolve().then(f) }; f()`, "function-limit steps"},
	{"a generator of queries", `function* g() { for (;;) yield* ctx.query("plain") } return [...g()]`, "function-limit queries"},
	{"a sort that reads", `return [..."x".repeat(5000)].sort(() => ctx.get("plain", "d") ? 1 : -1)`, "function-limit reads"},
	{"a query after a write", `ctx.put("plain", "w", {}); ctx.query("plain")`, "unprocessable"},
	{"armed writes", `for (let i = 0; ; i++) ctx.put("armed", "a" + i, { do: "for (let i = 0; i < 2e6; i++);" })`, "function-limit time"},
}

// armed are what triggers do in place of the document, and how a PUT ends.
var armed = []struct{ name, source, ends string }{
	{"loop", `for (;;);`, "function-limit steps"},
	{"memory", `const all = []; for (;;) all.push(new Uint8Array(2 ** 20))`, "function-limit memory"},
	{"recursion", `const f = () => f() + 1; return f()`, "function-limit stack"},
	{"reads", `for (;;) ctx.get("plain", "d")`, "function-limit reads"},
	{"writes", `for (let i = 0; i < 1000; i++) ctx.put("plain", "w" + i, {})`, "function-limit messages"},
	{"writes of armed ones", `ctx.put("armed", "other", { do: "for (;;);" })`, "ok"},
	{"its own document", `ctx.put("armed", after.id, {})`, "unprocessable"},
	{"its own document, caught", `try { ctx.delete("armed", after.id) } catch (e) { return { ...after, code: e.code } }`, "ok"},
	{"another id", `return { ...after, id: "other" }`, "unprocessable"},
	{"what the store owns", `return { ...after, _meta: { rev: 7 } }`, "ok"},
	{"a number", `return { ...after, no: 7 }`, "unprocessable"},
	{"a text", `return "x"`, "function-error"},
	{"a list", `return [after]`, "function-error"},
	{"a document that is too large", `return { ...after, s: "x".repeat(3e6) }`, "too-large"},
	{"a promise", `return new Promise(() => {})`, "function-error"},
	{"a function", `return () => 1`, "ok"},
	{"a long refusal", `ctx.fail("long", "x".repeat(2 ** 20))`, "function-failed"},
}

// endingOf returns how an answer ends a bomb.
func endingOf(t *testing.T, r *harness.Response) string {
	t.Helper()
	if r.Status < 300 {
		return "ok"
	}
	var p struct{ Type, Limit, Detail string }
	if err := json.Unmarshal(r.Body, &p); err != nil {
		t.Fatalf("%d %s: %v", r.Status, r.Body, err)
	}
	if len(p.Detail) > 4<<10 {
		t.Errorf("the detail has %d bytes", len(p.Detail))
	}
	return strings.TrimSpace(strings.TrimPrefix(p.Type, "urn:fanfold:problem:") + " " + p.Limit)
}

// openBombs starts a store with documents for bombs.
func openBombs(t *testing.T) *harness.Store {
	t.Helper()
	s := harness.OpenTemp(t, bombsModel)
	for i := range 5 {
		s.Put("large", fmt.Sprint(i), `{"s":"`+strings.Repeat("x", 1900<<10)+`"}`)
	}
	s.Put("plain", "d", `{}`)
	return s
}

// stillInnocent fails the test where an innocent call, or a PUT, does not answer right.
func stillInnocent(t *testing.T, s *harness.Store, n int) {
	t.Helper()
	r := s.Want(http.StatusOK, "POST", "/v1/_functions/innocent", fmt.Sprint(n))
	if want := fmt.Sprintf(`{"result":[%d,%d],`, n, n); !strings.HasPrefix(string(r.Body), want) {
		t.Errorf("the innocent call answers %s, want %s", r.Body, want)
	}
	s.Put("plain", "put", fmt.Sprintf(`{"n":%d}`, n))
	s.WantDoc("plain", "put", fmt.Sprintf(`{"id":"put","n":%d}`, n))
}

// residentBytes returns how much memory the process has, 0 where that is not known.
func residentBytes() (bytes int) {
	text, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return 0
	}
	var pages int
	if _, err := fmt.Sscan(string(text), new(int), &pages); err != nil {
		return 0
	}
	return pages * os.Getpagesize()
}

// TestAttackByFunctions: each bomb ends in its bound with a problem that says so, within memory. The next call and the next PUT answer right.
func TestAttackByFunctions(t *testing.T) {
	s := openBombs(t)
	before := residentBytes()
	bomb := func(i int, name, want, method, path, body string) {
		r, err := s.Do(method, path, []byte(body))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if got := endingOf(t, r); got != want && (got != "function-limit time" || want != "function-limit steps") { // a busy machine takes its time
			t.Errorf("%s ends by %q, not %q: %d %.500s", name, got, want, r.Status, r.Body)
		}
		stillInnocent(t, s, i)
		debug.FreeOSMemory() // so that what is left is in use
		if now := residentBytes(); now > before+700<<20 {
			t.Errorf("%s: the process has %d MiB, and had %d before", name, now>>20, before>>20)
		}
	}
	for i, b := range bombs {
		bomb(i, b.name, b.ends, "POST", "/v1/_functions/run", harness.QuoteJSON(b.source))
	}
	for i, b := range armed {
		bomb(i, b.name, b.ends, "PUT", fmt.Sprintf("/v1/armed/t%d", i), `{"do":`+harness.QuoteJSON(b.source)+`}`)
	}
	var ops, lines []string
	for i := range 40 {
		ops = append(ops, fmt.Sprintf(`{"op":"put","collection":"armed","id":"o%d","body":{"do":"for (let i = 0; i < 2e6; i++);"}}`, i))
	}
	bomb(0, "a transaction", "function-limit time", "POST", "/v1/_transactions", `{"operations":[`+strings.Join(ops, ",")+`]}`)
	for i, b := range armed[2:] {
		lines = append(lines, fmt.Sprintf(`{"collection":"armed","doc":{"id":"l%d","do":%s}}`, i, harness.QuoteJSON(b.source)))
	}
	refused := 0
	for _, b := range armed[2:] {
		if b.ends != "ok" {
			refused++
		}
	}
	r := s.Want(http.StatusOK, "POST", "/v1/_import", strings.Join(lines, "\n"), "Content-Type", "application/x-ndjson")
	if got := strings.Count(string(r.Body), `"type"`); got != refused || len(r.Body) > 64<<10 {
		t.Errorf("an import of bombs refuses %d lines, want %d, and answers %d bytes: %.1000s", got, refused, len(r.Body), r.Body)
	}
	stillInnocent(t, s, 1)
}

// TestStormOfCalls: 300 long calls at once are answered, or told to come again. Others' reads and writes go on.
func TestStormOfCalls(t *testing.T) {
	suite.Concurrent(t)
	s := openBombs(t)
	const long = `for (let i = 0; i < 1e6; i++); return 1`
	s.Want(http.StatusOK, "POST", "/v1/_functions/run", harness.QuoteJSON(long))
	ends := make(chan string, 300)
	for range cap(ends) {
		go func() {
			r, err := s.Do("POST", "/v1/_functions/run", []byte(harness.QuoteJSON(long)))
			switch {
			case err != nil:
				ends <- err.Error()
			case r.Status == http.StatusOK:
				ends <- string(r.Body)[:10]
			default:
				ends <- endingOf(t, r)
			}
		}()
	}
	counts := map[string]int{}
	for i := range cap(ends) {
		counts[<-ends]++
		s.Put("plain", "put", fmt.Sprintf(`{"n":%d}`, i))
		s.WantDoc("plain", "put", fmt.Sprintf(`{"id":"put","n":%d}`, i))
	}
	if counts["busy"] == 0 || counts[`{"result":`] == 0 || counts["busy"]+counts[`{"result":`]+counts["function-limit time"] != cap(ends) {
		t.Errorf("the calls end by %v", counts)
	}
}

// TestBystandersOfBombs: while 16 clients call bombs again and again, each bomb ends as it must, and counters that functions and PUTs raise meanwhile are exact. The memory
// of the process stays within bounds. It goes on for ten minutes under -full.
func TestBystandersOfBombs(t *testing.T) {
	suite.Concurrent(t)
	s := openBombs(t)
	before := residentBytes()
	end := time.Now().Add(suite.Amount(3*time.Second, 10*time.Minute))
	var clients sync.WaitGroup
	for i := range 16 {
		clients.Go(func() {
			for n := i * 7; time.Now().Before(end); n++ {
				b := bombs[n%len(bombs)]
				r, err := s.Do("POST", "/v1/_functions/run", []byte(harness.QuoteJSON(b.source)))
				if err != nil {
					t.Error(err)
					return
				}
				got := endingOf(t, r)
				// Others write what it reads, or take the core.
				if got != b.ends && got != "busy" && got != "function-limit time" {
					t.Errorf("%s ends by %q, not %q: %.500s", b.name, got, b.ends, r.Body)
				}
				if now := residentBytes(); now > before+900<<20 && !suite.RaceDetector { // which takes several times as much

					t.Errorf("%s: the process has %d MiB, and had %d before", b.name, now>>20, before>>20)
				}
			}
		})
	}
	for i := range 4 {
		clients.Go(func() {
			id, n := fmt.Sprint("counter-", i), 0
			for ; time.Now().Before(end); n++ {
				if n%2 == 0 {
					r, err := s.Do("POST", "/v1/_functions/add", []byte(harness.QuoteJSON(id)), "Idempotency-Key", fmt.Sprint(id, n))
					for err == nil && r.Status == http.StatusTooManyRequests {
						r, err = s.Do("POST", "/v1/_functions/add", []byte(harness.QuoteJSON(id)), "Idempotency-Key", fmt.Sprint(id, n))
					}
					if err != nil || r.Status != http.StatusOK || !strings.HasPrefix(string(r.Body), fmt.Sprintf(`{"result":%d,`, n+1)) {
						t.Errorf("call %d of %s: %v, %+v", n, id, err, r)
						return
					}
				} else if r, err := s.Do("PUT", "/v1/plain/"+id, fmt.Appendf(nil, `{"n":%d}`, n+1)); err != nil || r.Status != http.StatusNoContent {
					t.Errorf("PUT %d of %s: %v, %+v", n, id, err, r)
					return
				}
			}
			t.Logf("%s: %d", id, n)
			s.WantDoc("plain", id, fmt.Sprintf(`{"id":%q,"n":%d}`, id, n))
		})
	}
	clients.Wait()
}
