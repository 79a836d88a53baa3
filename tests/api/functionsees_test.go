package api_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/fanfold/fanfold/node"
	"github.com/fanfold/fanfold/tests/harness"
)

// secrets is a model whose notes have a trigger with all rights, which writes documents that the writer of the note does not read.
const secrets = `
collections:
  notes:
    access: { read: { where: "auth.sub == doc.owner" }, create: { where: "auth.sub != ''" }, update: { where: "auth.sub == old.owner" } }
    unique: [email]
    trigger: logged
  logs:
    access: { read: { where: "auth.sub == doc.owner" }, create: { where: "auth.sub != ''" }, update: { where: "auth.sub == old.owner" } }
functions:
  run:
    call: [member]
    source: 'export default (ctx, source) => new Function("ctx", source)(ctx)'
  logged:
    call: [admin]
    authority: model
    source: 'export default (ctx, { after }) => { ctx.put("logs", after.id, { owner: after.log ?? "root", text: "hidden" }) }'
`

// TestFunctionsTellNothingHidden: a function with its caller's rights learns nothing of documents that the caller may not read. It sees neither what a trigger
// with other rights has just written nor the text of a refusal that names them.
func TestFunctionsTellNothingHidden(t *testing.T) {
	h := openHouse(t, secrets, nil)
	h.admin.Put("notes", "theirs", `{"owner":"bob","email":"bob@example.org"}`)
	ann := h.asSub(t, "ann")
	const note = `ctx.put("notes", "mine", { owner: "ann" }); `
	const caught = `try { %s } catch (e) { return [e.code, e.message] }`
	for _, c := range []struct{ source, result string }{
		{note + `return ctx.get("logs", "mine")`, `null`},
		{`ctx.put("notes", "mine", { owner: "ann", log: "ann" }); return ctx.get("logs", "mine").text`, `"hidden"`},
		{note + fmt.Sprintf(caught, `ctx.patch("logs", "mine", { a: 1 })`), `["not-found","there is no document logs/mine"]`},
		{note + fmt.Sprintf(caught, `ctx.put("logs", "mine", {})`), `["forbidden","you may not update logs/mine as the request asks for; nothing was written"]`},
		{note + fmt.Sprintf(caught, `ctx.create("logs", { id: "mine" })`), `["forbidden","you may not update logs/mine as the request asks for; nothing was written"]`},
		{note + fmt.Sprintf(caught, `ctx.delete("logs", "mine")`), `["forbidden","the right to delete logs is missing`},
		{fmt.Sprintf(caught, `ctx.put("notes", "mine", { owner: "ann", email: "bob@example.org" })`), `["conflict","a document that the caller may not read does not let it happen"]`},
		{`ctx.put("notes", "a", { owner: "ann", email: "ann@example.org" }); ` + fmt.Sprintf(caught, `ctx.put("notes", "b", { owner: "ann", email: "ann@example.org" })`), `["conflict","notes/a has email \"ann@example.org\", which is unique"]`},
	} {
		r, err := ann.Do("POST", "/v1/_functions/run", []byte(harness.QuoteJSON(c.source)))
		if err != nil {
			t.Fatal(err)
		}
		if r.Status != http.StatusOK || !strings.HasPrefix(string(r.Body), `{"result":`+c.result) {
			t.Errorf("%s: %d %s, want %s", c.source, r.Status, r.Body, c.result)
		}
	}
}

// TestConditionsOnWhatTriggersWrite: a condition of a transaction's operation is judged on what a trigger of an earlier one has written.
func TestConditionsOnWhatTriggersWrite(t *testing.T) {
	h := openHouse(t, secrets, nil)
	const operations = `{"operations":[{"op":"put","collection":"notes","id":"n","body":{}},{"op":"patch","collection":"logs","id":"n","if":"doc.owner == '%s'","patch":{"seen":true}}]}`
	h.admin.Want(http.StatusPreconditionFailed, "POST", "/v1/_transactions", fmt.Sprintf(operations, "nobody"))
	h.admin.Want(http.StatusOK, "POST", "/v1/_transactions", fmt.Sprintf(operations, "root"))
	h.admin.WantDoc("logs", "n", `{"id":"n","owner":"root","text":"hidden","seen":true}`)
}

// TestTriggersOfOneRequestDiffer: two triggers of one transaction do not see the same random numbers, and each the same in a dry run with the same seed.
func TestTriggersOfOneRequestDiffer(t *testing.T) {
	s := harness.OpenTemp(t, `
collections: { dice: { trigger: throw } }
functions:
  throw: { source: "export default (ctx, { after }) => ({ ...after, n: Math.random() })" }
  two: { source: "export default (ctx) => ['a', 'b'].map(id => ctx.put('dice', id, {}).n)" }
`)
	s.Want(http.StatusOK, "POST", "/v1/_transactions", `{"operations":[{"op":"put","collection":"dice","id":"1","body":{}},{"op":"put","collection":"dice","id":"2","body":{}}]}`)
	var one, two struct{ N float64 }
	harness.Decode(t, []byte(s.Get("dice", "1")), &one)
	harness.Decode(t, []byte(s.Get("dice", "2")), &two)
	if one.N == two.N {
		t.Errorf("both are %v", one.N)
	}
	dry := func() (out struct{ Result json.RawMessage }) {
		harness.Decode(t, s.Want(http.StatusOK, "POST", "/v1/_functions/two?dryRun=true&seed=5", "").Body, &out)
		return out
	}
	if a, b := dry(), dry(); string(a.Result) != string(b.Result) {
		t.Errorf("one seed gives %s and %s", a.Result, b.Result)
	}
}

// TestTriggersOfLargeDocuments: a trigger is given documents as large as the store takes, and returns them.
func TestTriggersOfLargeDocuments(t *testing.T) {
	s := harness.OpenTemp(t, `
collections: { docs: { trigger: mark } }
functions: { mark: { source: "export default (ctx, { before, after }) => after && ({ ...after, was: before?.s.length ?? 0 })" } }
`)
	large := func(letter string) string { return `"s":"` + strings.Repeat(letter, 1900<<10) + `"` }
	s.Put("docs", "d", `{`+large("x")+`}`)
	s.Put("docs", "d", `{`+large("y")+`}`)
	s.WantDoc("docs", "d", `{"id":"d",`+large("y")+`,"was":1945600}`)
}

// TestNumbersWithinNumbers: values that no double holds are written as they came, also where a document reads others while it is written.
func TestNumbersWithinNumbers(t *testing.T) {
	s := harness.OpenTemp(t, `
collections: { docs: {} }
functions: { nest: { source: 'export default (ctx) => { const o = ctx.get("docs", "o"); ctx.put("docs", "d", { get x() { return ctx.get("docs", "o").n }, n: o.n, i: o.i }) }' } }
`)
	s.Put("docs", "o", `{"n":0.10000000000000000001,"i":12345678901234567890}`)
	s.Want(http.StatusOK, "POST", "/v1/_functions/nest", "")
	s.WantDoc("docs", "d", `{"id":"d","x":0.10000000000000000001,"n":0.10000000000000000001,"i":12345678901234567890}`)
}

// TestAttemptsHoldOnlySoMuch: documents that the triggers of one request read have one bound together. An import goes on with fewer lines at once.
func TestAttemptsHoldOnlySoMuch(t *testing.T) {
	s := harness.OpenTemp(t, `
collections: { large: {}, docs: { trigger: look } }
functions: { look: { source: "export default (ctx, { after }) => { for (let i = 0; i < 4; i++) ctx.get('large', Number(after.id) * 4 + i) }" } }
`)
	for i := range 48 {
		s.Put("large", fmt.Sprint(i), `{"s":"`+strings.Repeat("x", 1900<<10)+`"}`)
	}
	var ops, lines []string
	for i := range 12 {
		ops = append(ops, fmt.Sprintf(`{"op":"put","collection":"docs","id":"%d","body":{}}`, i))
		lines = append(lines, fmt.Sprintf(`{"collection":"docs","doc":{"id":"%d"}}`, i))
	}
	r := s.Want(http.StatusUnprocessableEntity, "POST", "/v1/_transactions", `{"operations":[`+strings.Join(ops, ",")+`]}`)
	if !strings.Contains(string(r.Body), `"limit":"bytes"`) {
		t.Errorf("the transaction is refused by %s", r.Body)
	}
	r = s.Want(http.StatusOK, "POST", "/v1/_import", strings.Join(lines, "\n"), "Content-Type", "application/x-ndjson")
	if !strings.Contains(string(r.Body), `"written":12,"refused":0`) {
		t.Errorf("the import answers %s", r.Body)
	}
}

// TestRightsEndDuringCalls: a call under way is judged by the rights that its sender has when it runs.
func TestRightsEndDuringCalls(t *testing.T) {
	const model = `
collections: { docs: { access: { read: [member], write: [member] } } }
functions:
  put: { call: [member], source: "export default (ctx) => { ctx.put('docs', 'd', {}) }" }
`
	var end func()
	h := openHouse(t, model, func(cfg *node.Config) {
		cfg.Writer.Moment = func() (time.Time, uint64) {
			if do := end; do != nil {
				end = nil
				do()
			}
			return time.Now(), 1
		}
	})
	for _, c := range []struct {
		status int
		end    func(key string)
	}{
		{http.StatusUnauthorized, func(key string) { h.admin.Want(http.StatusNoContent, "DELETE", "/v1/_keys/"+key, "") }},
		{http.StatusForbidden, func(string) { h.admin.Model(strings.Replace(model, "call: [member]", "call: [boss]", 1)) }},
		{http.StatusForbidden, func(string) { h.admin.Model(strings.Replace(model, "write: [member]", "write: [boss]", 1)) }},
		{http.StatusNotFound, func(string) {
			h.admin.Want(http.StatusOK, "PATCH", "/v1/_model?allowRemoval=true", `{"functions":null}`, "Content-Type", harness.MergeType)
		}},
		{http.StatusOK, func(string) { h.admin.Model(strings.Replace(model, "{ docs:", "{ more: {}, docs:", 1)) }},
	} {
		h.admin.Want(http.StatusOK, "PUT", "/v1/_model?allowRemoval=true", model, "Content-Type", "application/yaml")
		key := h.newKey(t, "member")
		end = func() { c.end(strings.Split(key, "_")[1]) }
		h.clientWith(t, key).Want(c.status, "POST", "/v1/_functions/put", "")
		if end != nil {
			t.Error("nothing ended the rights")
		}
	}
}
