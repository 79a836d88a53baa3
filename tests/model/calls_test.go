package model_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/fanfold/fanfold/tests/harness"
)

// callsModel is the model of the tests of calls.
const callsModel = `
collections:
  seats: { relations: { by: { path: by, to: users } } }
  users: { derive: { seats: { count: seats.by } } }
  invoices: { sequences: { number: {} }, trigger: checkInvoice, schema: { properties: { total: { type: number } } } }
  lines: { relations: { invoice: { path: invoice, to: invoices, strict: true } } }
  people: { unique: [email], defaults: { plan: free } }
  audit: {}
  stock: { trigger: enough }
functions:
  reserve:
    args: { type: object, required: [seat, user] }
    source: |
      export default (ctx, args) => {
        const seat = ctx.get("seats", args.seat)
        if (!seat || seat.by) ctx.fail("taken", "This seat is gone", { seat })
        ctx.patch("seats", args.seat, { by: args.user })
        return { seat: args.seat }
      }
  run:
    reads: [seats, users, people]
    source: |
      export default (ctx, source) => new Function("ctx", source)(ctx)
  checkInvoice:
    source: |
      export default (ctx, { op, before, after }) => {
        ctx.create("audit", { op, was: before, now: after })
        if (after && after.total < 0) ctx.fail("negative", "An invoice is not negative", { total: after.total })
        if (after) return { ...after, checked: op }
      }
  enough:
    source: |
      export default (ctx, { after }) => { if (after && after.left < 0) throw new Error("There is not enough") }
`

// openCalls starts a store with the model of calls.
func openCalls(t *testing.T) *harness.Store {
	t.Helper()
	return harness.OpenTemp(t, callsModel)
}

// called is the answer to a call.
type called struct {
	Result     json.RawMessage
	Position   string
	Tx         string
	Attempts   int
	Operations []struct {
		Op, Collection, ID string
		Status, Revision   int
		Assigned           map[string]json.RawMessage
	}
	Log   []string
	Steps int64
	Reads int
}

// shown returns the operations of an answer as "op collection/id status".
func (c called) shown() string {
	var all []string
	for _, op := range c.Operations {
		all = append(all, fmt.Sprintf("%s %s/%s %d", op.Op, op.Collection, op.ID, op.Status))
	}
	return strings.Join(all, ", ")
}

// call calls a function, which must succeed.
func call(t *testing.T, c *harness.Client, name, arguments string, headers ...string) (out called) {
	t.Helper()
	r := c.Want(http.StatusOK, http.MethodPost, "/v1/_functions/"+name, arguments, headers...)
	if err := json.Unmarshal(r.Body, &out); err != nil {
		t.Fatal(err)
	}
	return out
}

// run runs a text as a function, and returns what it answers, or the problem's type, code, trigger and detail.
func run(t *testing.T, c *harness.Client, source string) string {
	t.Helper()
	text, _ := json.Marshal(source)
	r, err := c.Do(http.MethodPost, "/v1/_functions/run", text)
	if err != nil {
		t.Fatal(err)
	}
	if r.Status == http.StatusOK {
		var out called
		if err := json.Unmarshal(r.Body, &out); err != nil {
			t.Fatal(err)
		}
		return string(out.Result)
	}
	var p struct{ Type, Code, Trigger, Limit, Detail string }
	if err := json.Unmarshal(r.Body, &p); err != nil {
		t.Fatal(err)
	}
	return strings.Join(strings.Fields(strings.TrimPrefix(p.Type, "urn:fanfold:problem:")+" "+p.Code+" "+p.Trigger+" "+p.Limit), " ") + ": " + p.Detail
}

// TestP14StoredProcedure: a function reads, decides and writes, all or nothing; its transaction's rows of the feed name it.
func TestP14StoredProcedure(t *testing.T) {
	s := openCalls(t)
	s.Put("seats", "s1", `{"row":1}`)
	got := call(t, s.Client, "reserve", `{"seat":"s1","user":"u"}`)
	if string(got.Result) != `{"seat":"s1"}` || got.shown() != "patch seats/s1 204" || got.Attempts != 1 || got.Tx == "" {
		t.Errorf("the answer is %+v", got)
	}
	r := s.Want(http.StatusUnprocessableEntity, http.MethodPost, "/v1/_functions/reserve", `{"seat":"s1","user":"v"}`)
	want := `{"type":"urn:fanfold:problem:function-failed","title":"The function refuses","status":422,"detail":"This seat is gone","function":"reserve","code":"taken","details":{"seat":{"id":"s1","row":1,"by":"u"}}}`
	if strings.TrimSpace(string(r.Body)) != want {
		t.Errorf("the refusal is %s", r.Body)
	}
	s.WantDoc("seats", "s1", `{"id":"s1","row":1,"by":"u"}`)
	rows, _ := s.Changes("collections=seats&mode=all")
	if len(rows) != 2 || rows[1].Call != "reserve" || rows[0].Call != "" {
		t.Errorf("the rows are %+v", rows)
	}
	for arguments, status := range map[string]int{`{"seat":"s1"}`: http.StatusUnprocessableEntity, `{`: http.StatusBadRequest, `"` + strings.Repeat("x", 64<<10) + `"`: http.StatusRequestEntityTooLarge} {
		s.Want(status, http.MethodPost, "/v1/_functions/reserve", arguments)
	}
	s.Want(http.StatusNotFound, http.MethodPost, "/v1/_functions/nobody", `{}`)
}

// runAll runs texts as functions, in order. Each must answer as it says.
func runAll(t *testing.T, c *harness.Client, all [][2]string) {
	t.Helper()
	for _, one := range all {
		if got := run(t, c, one[0]); got != one[1] {
			t.Errorf("%s\n gives %s\n want  %s", one[0], got, one[1])
		}
	}
}

// TestFunctionSees: a function reads what it has written, and embedded documents of what it says that it reads.
func TestFunctionSees(t *testing.T) {
	s := openCalls(t)
	s.Put("users", "u", `{"name":"U"}`)
	s.Put("seats", "a", `{"by":"u","n":0.10000000000000000001,"big":12345678901234567890}`)
	s.Put("seats", "b", `{}`)
	runAll(t, s.Client, [][2]string{
		{`return ctx.get("seats", "none")`, `null`},
		{`return ctx.get("seats", "a")`, `{"id":"a","by":"u","n":0.10000000000000000001,"big":12345678901234567890}`},
		{`return ctx.get("users", "u")`, `{"id":"u","name":"U"}`},
		{`return ctx.get("users", "u", { view: "embedded" })`, `{"id":"u","name":"U","seats":1}`},
		{`return ctx.query("seats", { filter: "!has(doc.by)" }).map(d => d.id)`, `["b"]`},
		{`return ctx.query("seats", { filter: "doc.id == params.x", params: { x: "b" }, sort: "id", limit: 1 }).map(d => [d.id, typeof d._meta.rev])`, `[["b","number"]]`},
		{`return ctx.children("users", "u", "seats").map(d => d.id)`, `["a"]`},
		{`return ctx.children("users", "u", "seats", { relation: "by", limit: 1 }).length`, `1`},
		{`return ctx.get("audit", "x", { view: "embedded" })`, `unprocessable: the function run asks for embedded documents of audit: add reads: [audit] to it in the model`},
		{`return ctx.query("audit")`, `unprocessable: the function run asks for embedded documents of audit: add reads: [audit] to it in the model`},
		{`try { ctx.query("seats", { filter: "doc.(" }) } catch (e) { return e.code }`, `"invalid"`},
		{`return ctx.query("seats", { limit: 0 })`, `invalid: ctx.query: limit is from 1 to 1000`},
		{`return ctx.query("seats", { max: 0 })`, `invalid: ctx.query: the options cannot be read: unknown field "max"`},
		{`return ctx.get("seats")`, `invalid: ctx.get: the id must be a string or a number`},
		{`return ctx.get("seats", "a", { view: "x" })`, `invalid: ctx.get: view is embedded or referenced, and not "x"`},
		{`return ctx.children("seats", "a", "users")`, `invalid: ctx.children: users has no relation to seats`},
		{`return [ctx.caller, typeof ctx.now, ctx.uuid() !== ctx.uuid(), Date.now() === ctx.now]`, `[null,"number",true,true]`},
		{`return typeof fetch + typeof performance + typeof WebAssembly + typeof setTimeout`, `"undefinedundefinedundefinedundefined"`},
	})
}

// TestFunctionWrites: what a function writes is one event a document, with numbers and defaults, and nothing where it fails.
func TestFunctionWrites(t *testing.T) {
	s := openCalls(t)
	s.Put("people", "ann", `{"email":"a@x"}`)
	runAll(t, s.Client, [][2]string{
		{`const d = ctx.create("people", { id: "b", email: "b@x" }); ctx.patch("people", "b", { name: "B" }); return [d, ctx.get("people", "b")]`, `[{"id":"b","email":"b@x","plan":"free"},{"id":"b","email":"b@x","plan":"free","name":"B"}]`},
		{`return ctx.put("people", "ann", { email: "a@x", n: 12345678901234567890n })`, `{"id":"ann","email":"a@x","n":12345678901234567890}`},
		{`try { ctx.create("people", { id: "c", email: "a@x" }) } catch (e) { return e.code }`, `"conflict"`},
		{`return ctx.create("people", { id: "c", email: "a@x" })`, `conflict: people/ann has email "a@x", which is unique`},
		{`ctx.patch("people", "ann", { email: "z@x" }); ctx.create("people", { id: "d", email: "a@x" }); return 1`, `1`},
		{`return ctx.create("people", { id: "d" })`, `exists: document people/d exists already: PUT replaces it`},
		{`return ctx.patch("people", "nobody", {})`, `not-found: there is no document people/nobody`},
		{`return ctx.delete("people", "nobody")`, `not-found: there is no document people/nobody`},
		{`ctx.delete("people", "d"); return ctx.get("people", "d")`, `null`},
		{`ctx.create("people", { id: "e" }); ctx.delete("people", "e"); return ctx.get("people", "e")`, `null`},
		{`return ctx.create("lines", { id: "l", invoice: "none" })`, `unprocessable: it refers to invoices/none, which does not exist, and the relation is strict: write that one first, or in the same transaction`},
		{`ctx.create("people", { id: "f" }); ctx.query("people")`, `unprocessable: the function has written to people before, and asks for embedded documents of people, which are made of it: ask first, then write`},
		{`ctx.put("seats", "x", {}); ctx.get("users", "u", { view: "embedded" })`, `unprocessable: the function has written to seats before, and asks for embedded documents of users, which are made of it: ask first, then write`},
		{`return ctx.put("people", "g", [1])`, `invalid: the body must be a JSON object, the document`},
		{`return ctx.put("people", "g", { id: "h" })`, `unprocessable: the body's id "h" is not "g", under which it is written`},
		{`return ctx.put("people", "", {})`, `invalid: an id must have 1 to 255 bytes; this one is empty`},
		{`return ctx.patch("people", "ann", [{ op: "add", path: "/tags", value: [1] }]).tags`, `[1]`},
	})
}

// TestP14Triggers: a trigger changes a write, refuses it, and writes itself; no trigger fires a trigger; what a refused write has written is gone.
func TestP14Triggers(t *testing.T) {
	s := openCalls(t)
	s.Put("invoices", "a", `{"total":5}`)
	s.WantDoc("invoices", "a", `{"id":"a","total":5,"checked":"create","number":1}`)
	s.Merge("invoices", "a", `{"note":"x"}`)
	s.Put("invoices", "a", `{"total":6}`)
	s.WantDoc("invoices", "a", `{"id":"a","total":6,"checked":"replace","number":1}`)
	r := s.Want(http.StatusUnprocessableEntity, http.MethodPut, "/v1/invoices/a", `{"total":-1}`)
	want := `{"type":"urn:fanfold:problem:function-failed","title":"The function refuses","status":422,"detail":"An invoice is not negative","trigger":"checkInvoice","code":"negative","details":{"total":-1}}`
	if strings.TrimSpace(string(r.Body)) != want {
		t.Errorf("the refusal is %s", r.Body)
	}
	s.Delete("invoices", "a")
	r = s.Want(http.StatusOK, http.MethodPost, "/v1/_transactions", `{"operations":[{"op":"check","collection":"seats","id":"none","ifNoneMatch":"*"},{"op":"create","collection":"invoices","body":{"id":"t","total":1}},{"op":"put","collection":"stock","id":"s","body":{"left":1}}]}`)
	var tx called
	if err := json.Unmarshal(r.Body, &tx); err != nil || tx.shown() != "check seats/none 204, create invoices/t 201, put stock/s 201" {
		t.Errorf("the transaction's answer is %s", r.Body)
	}
	s.WantDoc("invoices", "t", `{"id":"t","total":1,"checked":"create","number":2}`)
	r = s.Want(http.StatusUnprocessableEntity, http.MethodPost, "/v1/_transactions", `{"operations":[{"op":"put","collection":"invoices","id":"v","body":{"total":1}},{"op":"put","collection":"stock","id":"s","body":{"left":-1}}]}`)
	if !strings.Contains(string(r.Body), `"operation":1`) || !strings.Contains(string(r.Body), `"trigger":"enough"`) || !strings.Contains(string(r.Body), `"type":"urn:fanfold:problem:function-error"`) {
		t.Errorf("the refused transaction's answer is %s", r.Body)
	}
	runAll(t, s.Client, [][2]string{
		{`return ctx.create("invoices", { id: "f", total: 2 })`, `{"id":"f","total":2,"checked":"create","number":3}`},
		{`try { ctx.create("invoices", { id: "g", total: -2 }) } catch (e) { return [e.code, e.message] }`, `["negative","An invoice is not negative"]`},
		{`try { ctx.create("invoices", { id: "g", total: -2 }) } catch {} ctx.create("invoices", { id: "h", total: 3 }); return ctx.get("invoices", "h").number`, `4`},
		{`ctx.create("invoices", { id: "i", total: -2 })`, `function-failed negative checkInvoice: An invoice is not negative`},
	})
	var audits []string
	rows, _ := s.Changes("collections=audit&mode=all&include_docs=true")
	for _, row := range rows {
		var doc struct {
			Op  string
			Now struct{ ID string }
			Was struct{ ID string }
		}
		if err := json.Unmarshal(row.Doc, &doc); err != nil {
			t.Fatal(err)
		}
		audits = append(audits, doc.Op+" "+doc.Now.ID+doc.Was.ID)
	}
	if got := strings.Join(audits, ", "); got != "create a, patch aa, replace aa, delete a, create t, create f, create h" {
		t.Errorf("the audit trail is %s", got)
	}
}

// TestCallUnderAKey: a repeated call gets the answer of the first one, and nothing is written again.
func TestCallUnderAKey(t *testing.T) {
	s := openCalls(t)
	s.Put("seats", "s", `{}`)
	first := call(t, s.Client, "reserve", `{"seat":"s","user":"u"}`, "Idempotency-Key", "k")
	again := call(t, s.Client, "reserve", `{"seat":"s","user":"u"}`, "Idempotency-Key", "k")
	if string(again.Result) != string(first.Result) || again.Position != first.Position || again.Tx != first.Tx || again.shown() != first.shown() || again.Attempts != 0 {
		t.Errorf("the first answer is %+v, the second %+v", first, again)
	}
	s.Want(http.StatusUnprocessableEntity, http.MethodPost, "/v1/_functions/reserve", `{"seat":"s","user":"v"}`, "Idempotency-Key", "k")
	large, _ := json.Marshal(`ctx.put("stock", "s", {}); return "x".repeat(20000)`)
	r := s.Want(http.StatusUnprocessableEntity, http.MethodPost, "/v1/_functions/run", string(large), "Idempotency-Key", "l")
	if !strings.Contains(string(r.Body), `"limit":"result"`) {
		t.Errorf("a large result under a key: %s", r.Body)
	}
	call(t, s.Client, "run", string(large))
}

// TestDryCall: a dry run says what a call would do, with a time and a seed that the request gives, and does nothing.
func TestDryCall(t *testing.T) {
	s := openCalls(t)
	s.Put("users", "u", `{}`)
	s.Put("seats", "s", `{}`)
	text, _ := json.Marshal(`ctx.log("n", 1); ctx.patch("seats", "s", { by: "u" }); return [new Date().toISOString(), Math.random(), ctx.uuid()]`)
	const path = "run?dryRun=true&seed=7&now=2026-01-02T03:04:05Z"
	one, two := call(t, s.Client, path, string(text)), call(t, s.Client, path, string(text))
	if string(one.Result) != string(two.Result) || !strings.HasPrefix(string(one.Result), `["2026-01-02T03:04:05.000Z",0.`) || one.Steps == 0 || one.Reads != 0 || len(one.Log) != 1 || one.Log[0] != "n 1" {
		t.Errorf("the dry runs are %+v and %+v", one, two)
	}
	r := s.Want(http.StatusOK, http.MethodPost, "/v1/_functions/"+path, string(text))
	if !strings.Contains(string(r.Body), `"users.seats"`) && !strings.Contains(string(r.Body), `"users"`) {
		t.Errorf("the derived changes are not told: %s", r.Body)
	}
	s.WantDoc("seats", "s", `{"id":"s"}`)
	for _, bad := range []string{"run?seed=7", "run?dryRun=true&seed=x", "run?dryRun=true&now=now", "run?nonsense=1"} {
		s.Want(http.StatusBadRequest, http.MethodPost, "/v1/_functions/"+bad, string(text))
	}
}

// TestMessagesOfACall: a call that reads and writes more than a transaction has room for is refused, and writes nothing.
func TestMessagesOfACall(t *testing.T) {
	s := openCalls(t)
	const write = `for (let i = 0; i < %d; i++) ctx.put("stock2", i, {}); return 1`
	if got := run(t, s.Client, fmt.Sprintf(write, 999)); got != "1" {
		t.Errorf("999 writes and the call: %s", got)
	}
	if got := run(t, s.Client, fmt.Sprintf(write, 1000)); !strings.HasPrefix(got, "function-limit messages: what the function reads and writes takes 1001 messages") {
		t.Errorf("1,000 writes and the call: %s", got)
	}
}

// TestP14Counter: a counter that calls count up is as high as there were calls, beside rules that count the same.
func TestP14Counter(t *testing.T) {
	s := openCalls(t)
	s.Put("users", "u", `{}`)
	for i := range 5 {
		run(t, s.Client, fmt.Sprintf(`const u = ctx.get("users", "u"); ctx.patch("users", "u", { asked: (u.asked ?? 0) + 1 }); ctx.create("seats", { id: "s%d", by: "u" })`, i))
	}
	s.WantDoc("users", "u", `{"id":"u","asked":5,"seats":5}`)
}
