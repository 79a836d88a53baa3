package api_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/internal/sequence"
	"github.com/fanfold/fanfold/projector/inspect"
	"github.com/fanfold/fanfold/tests/harness"
	"github.com/fanfold/fanfold/tests/natsserver"
	"github.com/fanfold/fanfold/tests/suite"
)

// numbered is a model with a sequence for each event, and one for all orders.
const numbered = `{collections: {orders: {sequences: {number: {per: doc.event, start: 1000, format: "{per}-{n:6}"}, "meta.serial": {}}}}}`

// TestSequences: a document that is created gets the next numbers, and keeps them. Nobody else writes them, and refused writes use none.
func TestSequences(t *testing.T) {
	s := harness.OpenTemp(t, numbered)
	s.Put("orders", "a", `{"event":"e1"}`)
	s.WantDoc("orders", "a", `{"id":"a","event":"e1","meta":{"serial":1},"number":"e1-001000"}`)
	s.Put("orders", "b", `{"event":"e2","meta":{"by":"x"}}`)
	s.WantDoc("orders", "b", `{"id":"b","event":"e2","meta":{"by":"x","serial":2},"number":"e2-001000"}`)
	r := s.Want(http.StatusCreated, http.MethodPost, "/v1/orders", `{"id":"c","event":"e1"}`, "Prefer", "return=representation", "Idempotency-Key", "k1")
	if !strings.Contains(string(r.Body), `"number":"e1-001001"`) {
		t.Errorf("the representation is %s", r.Body)
	}
	s.Want(http.StatusCreated, http.MethodPost, "/v1/orders", `{"id":"c","event":"e1"}`, "Idempotency-Key", "k1")

	for _, body := range []string{`{"event":"e1","number":"e1-009999"}`, `{"event":"e1","number":null}`, `{"event":"e1","meta":{"serial":3}}`, `{}`, `{"event":true}`, `{"event":"e1","meta":7}`,
		`{"event":"` + strings.Repeat("x", 256) + `"}`} {
		s.Want(http.StatusUnprocessableEntity, http.MethodPut, "/v1/orders/d", body)
	}
	s.Want(http.StatusNoContent, http.MethodPut, "/v1/orders/a", `{"event":"e1","paid":true}`)
	s.WantDoc("orders", "a", `{"id":"a","event":"e1","paid":true,"meta":{"serial":1},"number":"e1-001000"}`)
	s.Want(http.StatusNoContent, http.MethodPut, "/v1/orders/a", `{"number":"e1-001000","event":"e1","meta":{"serial":1.0}}`)
	for _, body := range []string{`{"event":"e1","number":"e1-001001"}`, `{"event":"e2"}`, `{"event":"e1","meta":{"serial":2}}`, `{"event":"e1","meta":[]}`} {
		s.Want(http.StatusUnprocessableEntity, http.MethodPut, "/v1/orders/a", body)
	}
	s.Want(http.StatusNoContent, http.MethodPatch, "/v1/orders/a", `{"paid":false}`, "Content-Type", "application/merge-patch+json")
	for _, patch := range []string{`{"number":"e1-001000"}`, `{"number":null}`, `{"meta":null}`, `{"event":"e3"}`} {
		s.Want(http.StatusUnprocessableEntity, http.MethodPatch, "/v1/orders/a", patch, "Content-Type", "application/merge-patch+json")
	}
	for _, patch := range []string{`[{"op":"remove","path":"/meta"}]`, `[{"op":"move","from":"/number","path":"/old"}]`, `[{"op":"increment","path":"/meta/serial","value":1}]`} {
		s.Want(http.StatusUnprocessableEntity, http.MethodPatch, "/v1/orders/a", patch, "Content-Type", "application/json-patch+json")
	}

	s.Want(http.StatusNoContent, http.MethodDelete, "/v1/orders/c", "")
	s.Put("orders", "c", `{"event":"e1"}`)
	s.WantDoc("orders", "c", `{"id":"c","event":"e1","meta":{"serial":4},"number":"e1-001002"}`)
	s.Verify()
}

// TestSequencesInRehearsals: dry runs, and checks over derived values, look at documents with numbers for a value of per without a trace.
func TestSequencesInRehearsals(t *testing.T) {
	s := harness.OpenTemp(t, `{collections: {events: {derive: {orders: {count: orders.event}}, checks: {full: {that: doc.orders <= doc.seats}}},
		orders: {relations: {event: {path: event, to: events}}, sequences: {number: {per: doc.event, format: "{per}-{n}"}}}}}`)
	s.Put("events", "e1", `{"seats":2}`)
	s.Want(http.StatusOK, http.MethodPost, "/v1/orders?dryRun=true", `{"event":"e1"}`)
	s.Want(http.StatusOK, http.MethodPost, "/v1/_transactions?dryRun=true", `{"operations":[{"op":"create","collection":"orders","body":{"event":"e1"}}]}`)
	s.Put("orders", "a", `{"event":"e1"}`)
	s.Want(http.StatusOK, http.MethodPost, "/v1/orders?dryRun=true", `{"event":"e1"}`)
	s.Put("orders", "b", `{"event":"e1"}`)
	s.Want(http.StatusUnprocessableEntity, http.MethodPut, "/v1/orders/c", `{"event":"e1"}`)
	s.Put("events", "e1", `{"seats":3}`)
	s.Put("orders", "c", `{"event":"e1"}`)
	s.WantDoc("orders", "c", `{"id":"c","event":"e1","number":"e1-3"}`)
	s.Verify()
}

// TestEraseNumbers: the number of a sequence is erased with its document alone. A request for the member is refused at once, and writes nothing.
func TestEraseNumbers(t *testing.T) {
	s := harness.OpenTemp(t, numbered)
	s.Put("orders", "a", `{"event":"e1","mail":"x@y"}`)
	tag := func() string { return s.Want(http.StatusOK, http.MethodGet, "/v1/orders/a", "").Header.Get("ETag") }
	before := tag()
	for _, member := range []string{"/number", "/meta", "/meta/serial"} {
		for _, query := range []string{"", "?dryRun=true"} {
			r := s.Want(http.StatusConflict, http.MethodPost, "/v1/orders/a/_erase"+query, `{"members":["`+member+`"]}`)
			if !strings.Contains(string(r.Body), "has the number of a sequence") {
				t.Errorf("%s: %s", member, r.Body)
			}
		}
	}
	s.WantDoc("orders", "a", `{"id":"a","event":"e1","mail":"x@y","meta":{"serial":1},"number":"e1-001000"}`)
	if after := tag(); after != before {
		t.Errorf("refused erasures moved the document from %s to %s", before, after)
	}
	awaitErasure(t, s, s.Want(http.StatusAccepted, http.MethodPost, "/v1/orders/a/_erase", `{"members":["/mail"]}`))
	s.WantDoc("orders", "a", `{"id":"a","event":"e1","meta":{"serial":1},"number":"e1-001000"}`)
}

// TestSequenceRefusals: a refusal about numbers says what is refused, and why.
func TestSequenceRefusals(t *testing.T) {
	s := harness.OpenTemp(t, `{collections: {orders: {sequences: {a: {per: doc.t}, b: {per: doc.t}}}}}`)
	s.Put("orders", "1", `{"t":"x"}`)
	s.Want(http.StatusNoContent, http.MethodPut, "/v1/orders/1", `{}`)
	operations := make([]string, 400)
	for i := range operations {
		operations[i] = fmt.Sprintf(`{"op":"create","collection":"orders","body":{"t":%d}}`, i)
	}
	for _, c := range []struct{ method, path, body, want string }{
		{http.MethodPut, "/v1/orders/1", `{"t":"x"}`, "no value of its per"},
		{http.MethodPost, "/v1/_transactions", `{"operations":[` + strings.Join(operations, ",") + `]}`, "unique members and sequences"},
	} {
		if r := s.Want(http.StatusUnprocessableEntity, c.method, c.path, c.body); !strings.Contains(string(r.Body), c.want) {
			t.Errorf("%s %s: %s", c.method, c.path, r.Body)
		}
	}
}

// TestSequencesOfTransactions: the documents of a transaction get consecutive numbers in the order of its operations, or none.
func TestSequencesOfTransactions(t *testing.T) {
	s := harness.OpenTemp(t, numbered)
	s.Put("orders", "z", `{"event":"e1"}`)
	put := func(id string) string {
		return fmt.Sprintf(`{"op":"put","collection":"orders","id":%q,"body":{"event":"e1"}}`, id)
	}
	s.Want(http.StatusConflict, http.MethodPost, "/v1/_transactions", `{"operations":[`+put("a")+`,{"op":"create","collection":"orders","id":"z","body":{"event":"e1"}}]}`)
	s.Want(http.StatusOK, http.MethodPost, "/v1/_transactions", `{"operations":[`+put("b")+`,`+put("z")+`,`+put("a")+`]}`)
	s.WantDoc("orders", "b", `{"id":"b","event":"e1","meta":{"serial":2},"number":"e1-001001"}`)
	s.WantDoc("orders", "z", `{"id":"z","event":"e1","meta":{"serial":1},"number":"e1-001000"}`)
	s.WantDoc("orders", "a", `{"id":"a","event":"e1","meta":{"serial":3},"number":"e1-001002"}`)
	s.Verify()
}

// TestSequenceAddedLater: a sequence numbers new documents alone, and begins above every number that stands there. One that was taken
// away goes on.
func TestSequenceAddedLater(t *testing.T) {
	s := harness.OpenTemp(t, `{collections: {orders: {}}}`)
	s.Put("orders", "old", `{"n":17}`)
	s.Put("orders", "none", `{}`)
	r := s.Want(http.StatusConflict, http.MethodPut, "/v1/_model", `{collections: {orders: {sequences: {n: {start: 17}}}}}`, "Content-Type", "application/yaml")
	if !strings.Contains(string(r.Body), "17") || !strings.Contains(string(r.Body), "orders/old") {
		t.Errorf("the refusal is %s", r.Body)
	}
	s.Model(`{collections: {orders: {sequences: {n: {start: 18}}}}}`)
	s.Put("orders", "a", `{}`)
	s.WantDoc("orders", "a", `{"id":"a","n":18}`)
	s.Want(http.StatusNoContent, http.MethodPut, "/v1/orders/old", `{"x":1}`)
	s.WantDoc("orders", "old", `{"id":"old","x":1,"n":17}`)
	s.Want(http.StatusUnprocessableEntity, http.MethodPut, "/v1/orders/none", `{"n":1}`)
	s.Want(http.StatusConflict, http.MethodPut, "/v1/_model", `{collections: {orders: {}}}`, "Content-Type", "application/yaml")
	s.Want(http.StatusOK, http.MethodPut, "/v1/_model?allowRemoval=true", `{collections: {orders: {}}}`, "Content-Type", "application/yaml")
	s.Put("orders", "b", `{}`)
	s.Model(`{collections: {orders: {sequences: {n: {}}}}}`)
	s.Want(http.StatusNoContent, http.MethodDelete, "/v1/orders/a", "")
	s.Put("orders", "c", `{}`)
	s.WantDoc("orders", "c", `{"id":"c","n":19}`)
	s.Verify()
}

// TestSequenceDeclaredOtherwise: where per changes, a sequence begins above every number that stands there for the new values. The numbers that two
// documents have by then are no mistake.
func TestSequenceDeclaredOtherwise(t *testing.T) {
	declared := func(per string, start int, format string) string {
		return fmt.Sprintf(`{collections: {orders: {sequences: {n: {per: %s, start: %d%s}}}}}`, per, start, format)
	}
	s := harness.OpenTemp(t, declared("doc.tenant", 1, ""))
	for i, tenant := range []string{"a", "a", "a", "b", "b"} {
		s.Put("orders", fmt.Sprint(tenant, i), fmt.Sprintf(`{"tenant":%q,"region":"a"}`, tenant))
	}
	for _, start := range []int{1, 2} { // the counter of "a" is at 3 already
		r := s.Want(http.StatusConflict, http.MethodPut, "/v1/_model", declared("doc.region", start, ""), "Content-Type", "application/yaml")
		if !strings.Contains(string(r.Body), "orders/b4 has 2, the greatest") {
			t.Errorf("start %d: %s", start, r.Body)
		}
	}
	s.Model(declared("doc.region", 3, ""))
	s.Put("orders", "new", `{"tenant":"b","region":"a"}`)
	s.WantDoc("orders", "new", `{"id":"new","tenant":"b","region":"a","n":4}`)
	s.Verify()
	s.Model(declared("doc.region", 3, `, format: "{n}"`)) // its texts are other values
	s.Model(declared("doc.region", 100, `, format: "{n:2}"`))
	s.Want(http.StatusConflict, http.MethodPut, "/v1/_model", declared("doc.region", 1, ""), "Content-Type", "application/yaml")
	s.Model(declared("doc.region", 100, ""))
	s.Put("orders", "last", `{"region":"a"}`)
	s.WantDoc("orders", "last", `{"id":"last","region":"a","n":100}`)
	s.Verify()
}

// TestSequencesAreListed: the last numbers are listed by collection and path, and a transaction tells what it assigned.
func TestSequencesAreListed(t *testing.T) {
	s := harness.OpenTemp(t, numbered)
	r := s.Want(http.StatusOK, http.MethodPost, "/v1/_transactions", `{"operations":[{"op":"put","collection":"orders","id":"a","body":{"event":"e1"}},{"op":"create","collection":"orders","body":{"event":"e1"}}]}`, "Idempotency-Key", "t1")
	for _, want := range []string{`"assigned":{"meta.serial":1,"number":"e1-001000"}`, `"assigned":{"meta.serial":2,"number":"e1-001001"}`} {
		if !strings.Contains(string(r.Body), want) {
			t.Errorf("the result is %s, without %s", r.Body, want)
		}
	}
	if again := s.Want(http.StatusOK, http.MethodPost, "/v1/_transactions", `{"operations":[{"op":"put","collection":"orders","id":"a","body":{"event":"e1"}},{"op":"create","collection":"orders","body":{"event":"e1"}}]}`, "Idempotency-Key", "t1"); string(again.Body) != string(r.Body) {
		t.Errorf("sent again it is answered by %s, not %s", again.Body, r.Body)
	}
	if again := s.Want(http.StatusOK, http.MethodPost, "/v1/_transactions", `{"operations":[{"op":"put","collection":"orders","id":"a","body":{"event":"e1"}}]}`); strings.Contains(string(again.Body), "assigned") {
		t.Errorf("a document that was there is told of by %s", again.Body)
	}
	const items = `{"items":[{"collection":"orders","path":"meta.serial","last":2},{"collection":"orders","path":"number","per":"e1","last":1001}]}`
	for query, want := range map[string]string{"": items, "?collection=orders": items, "?collection=others": `{"items":[]}`} {
		if r := s.Want(http.StatusOK, http.MethodGet, "/v1/_sequences"+query, ""); strings.TrimSpace(string(r.Body)) != want {
			t.Errorf("%s: %s, want %s", query, r.Body, want)
		}
	}
	s.Want(http.StatusBadRequest, http.MethodGet, "/v1/_sequences?cursor=x", "")
	s.Want(http.StatusBadRequest, http.MethodGet, "/v1/_sequences?collection=_x", "")
	s.CloseHouse()
	s.As("read").Want(http.StatusForbidden, http.MethodGet, "/v1/_sequences", "")
	s.As("monitor").Want(http.StatusOK, http.MethodGet, "/v1/_sequences", "")
}

// TestNumbersAreRestored: an import that restores keeps the numbers of its lines, and the counters go on after the greatest. Any other one
// refuses them.
func TestNumbersAreRestored(t *testing.T) {
	s := harness.OpenTemp(t, numbered)
	s.Put("orders", "a", `{"event":"e1"}`)
	s.Put("orders", "b", `{"event":"e1"}`)
	export := string(s.Want(http.StatusOK, http.MethodGet, "/v1/_export", "").Body)
	into := harness.OpenTemp(t, "")
	load := func(query, lines string) string {
		return string(into.Want(http.StatusOK, http.MethodPost, "/v1/_import"+query, lines, "Content-Type", "application/x-ndjson").Body)
	}
	if answer := load("", export); !strings.Contains(answer, `"refused":4`) || !strings.Contains(answer, "restore=true") {
		t.Errorf("without restore: %s", answer)
	}
	if answer := load("?restore=true", export); !strings.Contains(answer, `"refused":0`) {
		t.Errorf("with restore: %s", answer)
	}
	into.WantDoc("orders", "b", `{"id":"b","event":"e1","meta":{"serial":2},"number":"e1-001001"}`)
	load("?restore=true&collection=orders", `{"id":"z","event":"e1","meta":{"serial":40},"number":"e1-000007"}`+"\n"+`{"id":"y","event":"e1"}`)
	into.Put("orders", "c", `{"event":"e1"}`)
	into.WantDoc("orders", "c", `{"id":"c","event":"e1","meta":{"serial":41},"number":"e1-001002"}`)
	into.WantDoc("orders", "y", `{"id":"y","event":"e1"}`)
	load("?collection=orders", `{"id":"d","event":"e1"}`+"\n"+`{"id":"e","event":"e1"}`)
	into.WantDoc("orders", "e", `{"id":"e","event":"e1","meta":{"serial":43},"number":"e1-001004"}`)
	into.Verify()
	into.CloseHouse()
	into.As("write").Want(http.StatusForbidden, http.MethodPost, "/v1/_import?restore=true&collection=orders", "{}", "Content-Type", "application/x-ndjson")
	if r := into.As("write").Want(http.StatusOK, http.MethodPost, "/v1/_import", `{"collection":"orders","path":"meta.serial","last":99}`, "Content-Type", "application/x-ndjson"); !strings.Contains(string(r.Body), `"status":403`) {
		t.Errorf("who is no admin raises a counter: %s", r.Body)
	}
}

// TestCountersAreRestored: an export has the last numbers of sequences, even of deleted documents. An import that restores takes them over,
// and lowers none.
func TestCountersAreRestored(t *testing.T) {
	s := harness.OpenTemp(t, numbered)
	for _, id := range []string{"a", "b", "c"} {
		s.Put("orders", id, `{"event":"e1"}`)
	}
	s.Want(http.StatusNoContent, http.MethodDelete, "/v1/orders/c", "")
	export := string(s.Want(http.StatusOK, http.MethodGet, "/v1/_export", "").Body)
	into := harness.OpenTemp(t, "")
	load := func(query, lines, want string) {
		t.Helper()
		if answer := into.Want(http.StatusOK, http.MethodPost, "/v1/_import"+query, lines, "Content-Type", "application/x-ndjson").Body; !strings.Contains(string(answer), want) {
			t.Errorf("%s is answered by %s, without %s", query, answer, want)
		}
	}
	const counter = `{"collection":"orders","path":"meta.serial","last":`
	load("?restore=true", counter+`3}`, "put a model first")
	load("?restore=true&id=i", export, `"written":2,"refused":0`)
	into.Put("orders", "d", `{"event":"e1"}`)
	into.WantDoc("orders", "d", `{"id":"d","event":"e1","meta":{"serial":4},"number":"e1-001003"}`)
	load("?restore=true", export, `"refused":0`)
	load("", counter+`7}`, "with restore=true")
	load("?restore=true", `{"collection":"Orders","path":"n","last":1}`, `"refused":1`)
	load("?restore=true", counter+`0}`, "as _export writes it")
	load("?restore=true", `{"collection":"orders","path":"`+strings.Repeat("x", 2001)+`","last":1}`, `"refused":1`)
	load("?restore=true", counter+`7}`+"\n"+counter+`9}`+"\n"+`{"collection":"orders","path":"number","per":"e2","last":5000}`+"\n"+`{"collection":"orders","doc":{"id":"x","event":"e2","meta":{"serial":8},"number":"e2-004000"}}`, `"written":1,"refused":0`)
	into.Put("orders", "e", `{"event":"e2"}`)
	into.WantDoc("orders", "e", `{"id":"e","event":"e2","meta":{"serial":10},"number":"e2-005001"}`)
	past := string(into.Want(http.StatusOK, http.MethodGet, "/v1/_export?collections=orders&at=1", "").Body)
	if !strings.Contains(past, `"last":5001}`) || strings.Contains(past, `"model"`) {
		t.Errorf("an export of a state before is %s", past)
	}
	before := into.Digest()
	into.Replay()
	if after := into.Digest(); after != before {
		t.Errorf("a replay gives other rows: %s, not %s", after, before)
	}
	into.Verify()
}

// TestCountersOfOtherPaths: a line that an admin makes up, with the key of a counter and another path, raises the counter. It blocks none.
func TestCountersOfOtherPaths(t *testing.T) {
	s := harness.OpenTemp(t, numbered)
	s.Put("orders", "a", `{"event":"e1"}`)
	load := func(path, per string, last int) {
		t.Helper()
		line := fmt.Sprintf(`{"collection":"orders","path":%q,"key":%q,"last":%d}`, path, sequence.Key("number", per), last)
		if answer := s.Want(http.StatusOK, http.MethodPost, "/v1/_import?restore=true", line, "Content-Type", "application/x-ndjson").Body; !strings.Contains(string(answer), `"refused":0`) {
			t.Errorf("%s is answered by %s", line, answer)
		}
	}
	load("meta.serial", "e1", 1500)
	load("other", "e2", 7)
	load("meta.serial", "e2", 3000)
	s.Put("orders", "b", `{"event":"e1"}`)
	s.WantDoc("orders", "b", `{"id":"b","event":"e1","meta":{"serial":2},"number":"e1-001501"}`)
	s.Put("orders", "c", `{"event":"e2"}`)
	s.WantDoc("orders", "c", `{"id":"c","event":"e2","meta":{"serial":3},"number":"e2-003001"}`)
	list := string(s.Want(http.StatusOK, http.MethodGet, "/v1/_sequences", "").Body)
	if strings.Contains(list, "other") || strings.Count(list, `"path":"number"`) != 2 || strings.Count(list, "meta.serial") != 1 {
		t.Errorf("the counters are %s", list)
	}
	before := s.Digest()
	s.Replay()
	if after := s.Digest(); after != before {
		t.Errorf("a replay gives other rows: %s, not %s", after, before)
	}
	s.Verify()
}

// TestSchemasOfNumbers: a model whose schema refuses the numbers of a sequence is refused, with the place.
func TestSchemasOfNumbers(t *testing.T) {
	s := harness.OpenTemp(t, "")
	for _, c := range []struct {
		sequence, schema string
		taken            bool
	}{
		{`{}`, `{properties: {n: {type: string}}}`, false},
		{`{}`, `{properties: {n: {type: integer, maximum: 7}}}`, true},
		{`{start: 8}`, `{properties: {n: {type: integer, maximum: 7}}}`, false},
		{`{}`, `{additionalProperties: false, properties: {m: {}}}`, false},
		{`{}`, `{properties: {m: {type: string}}, required: [m]}`, true},
		{`{format: "{n:3}"}`, `{properties: {n: {type: integer}}}`, false},
		{`{format: "{n:3}"}`, `{properties: {n: {pattern: "^[0-9]{4}$"}}}`, false},
		{`{per: doc.a, format: "{per}-{n}"}`, `{properties: {n: {type: string, pattern: "^[a-z]+-[0-9]+$"}}}`, true},
		{`{per: doc.a, format: "{per}-{n}"}`, `{properties: {n: {type: number}}}`, false},
	} {
		text := fmt.Sprintf(`{collections: {orders: {sequences: {n: %s}, schema: %s}}}`, c.sequence, c.schema)
		status := http.StatusBadRequest
		if c.taken {
			status = http.StatusOK
		}
		r := s.Want(status, http.MethodPut, "/v1/_model?allowRemoval=true", text, "Content-Type", "application/yaml")
		if !c.taken && !strings.Contains(string(r.Body), `sequences[\"n\"]`) {
			t.Errorf("%s: %s", text, r.Body)
		}
	}
}

// TestDeletedNumbersComeBack: a revert does not create a document with a number, and says how it comes back: an import that restores keeps it.
func TestDeletedNumbersComeBack(t *testing.T) {
	s := harness.OpenTemp(t, numbered)
	s.Put("orders", "a", `{"event":"e1"}`)
	at := s.Node.Store.Applied.Seq()
	s.Want(http.StatusNoContent, http.MethodDelete, "/v1/orders/a", "")
	r := s.Want(http.StatusUnprocessableEntity, http.MethodPost, "/v1/orders/a/_revert", fmt.Sprintf(`{"at":"%d-0"}`, at))
	if !strings.Contains(string(r.Body), "with restore=true, an import keeps it") {
		t.Errorf("the revert is answered by %s", r.Body)
	}
	was := s.Want(http.StatusOK, http.MethodGet, fmt.Sprintf("/v1/orders/a?view=referenced&at=%d-0", at), "").Body
	s.Want(http.StatusOK, http.MethodPost, "/v1/_import?restore=true&collection=orders", string(was), "Content-Type", "application/x-ndjson")
	s.WantDoc("orders", "a", `{"id":"a","event":"e1","meta":{"serial":1},"number":"e1-001000"}`)
	s.Put("orders", "b", `{"event":"e1"}`)
	s.WantDoc("orders", "b", `{"id":"b","event":"e1","meta":{"serial":2},"number":"e1-001001"}`)
	s.Verify()
}

// TestPlantedNumbers: verify finds a number that stands twice, and one above the last one that was given.
func TestPlantedNumbers(t *testing.T) {
	s := harness.Open(t, harness.Options{Dir: t.TempDir()})
	defer s.Close()
	s.Model(numbered)
	s.Put("orders", "a", `{"event":"e1"}`)
	s.Put("orders", "b", `{"event":"e1"}`)
	s.Verify()
	for id, body := range map[string]string{"x": `{"id":"x","event":"e1","number":"e1-001001"}`, "y": `{"id":"y","event":"e1","meta":{"serial":3}}`} { // as no writer does
		if _, err := s.Node.Log.Append(t.Context(), &fanfold.Event{Kind: fanfold.KindPut, Key: fanfold.Key{Collection: "orders", ID: id}, Body: []byte(body)}, fanfold.Expect{}); err != nil {
			t.Fatal(err)
		}
	}
	s.CatchUp()
	v, err := inspect.Verify(t.Context(), s.Node.Store, nil)
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, w := range v.Wrong {
		found = append(found, w.Document+" "+w.Detail)
	}
	slices.Sort(found)
	if want := []string{"orders/x has the number at number that orders/b has", "orders/y has number 3 at meta.serial, where the last one that was given is 2"}; !slices.Equal(found, want) {
		t.Errorf("verify finds %q, want %q", found, want)
	}
}

// TestNumbersStay: the last numbers stay after deletes, a replay, a compaction and a rebuild.
func TestNumbersStay(t *testing.T) {
	s := harness.OpenTemp(t, numbered)
	for _, id := range []string{"a", "b", "c"} {
		s.Put("orders", id, `{"event":"`+id[:1]+`1"}`)
	}
	s.Want(http.StatusNoContent, http.MethodDelete, "/v1/orders/a", "")
	s.Replay()
	s.Put("orders", "d", `{"event":"a1"}`)
	s.WantDoc("orders", "d", `{"id":"d","event":"a1","meta":{"serial":4},"number":"a1-001001"}`)
	before := s.Digest()
	s.Replay()
	if after := s.Digest(); after != before {
		t.Errorf("a replay gives other rows: %s, not %s", after, before)
	}
	s.Want(http.StatusNoContent, http.MethodDelete, "/v1/orders/b", "")
	s.Compact(0)
	s.Put("orders", "e", `{"event":"b1"}`)
	s.WantDoc("orders", "e", `{"id":"e","event":"b1","meta":{"serial":5},"number":"b1-001001"}`)
	s.Verify()
}

// TestNumbersUnderOlderFolds: a model with sequences is refused before the fold that knows their events is in force.
func TestNumbersUnderOlderFolds(t *testing.T) {
	s := harness.Open(t, harness.Options{Dir: t.TempDir(), KeepFold: true})
	defer s.Close()
	s.Model(`{collections: {orders: {}}}`)
	if r := s.Want(http.StatusConflict, http.MethodPut, "/v1/_model", numbered, "Content-Type", "application/yaml"); !strings.Contains(string(r.Body), "fanfold upgrade") {
		t.Errorf("the refusal is %s", r.Body)
	}
	s.SetFold(9)
	s.Model(numbered)
	s.Put("orders", "a", `{"event":"e1"}`)
	s.WantDoc("orders", "a", `{"id":"a","event":"e1","meta":{"serial":1},"number":"e1-001000"}`)
}

// TestNumbersOfNodes: writers on two nodes, some with an Idempotency-Key that they send twice, get every number once, in the order of the log.
func TestNumbersOfNodes(t *testing.T) {
	suite.Parallel(t)
	url := natsserver.Start(t, 1)[0]
	var nodes [2]*harness.Store
	for i := range nodes {
		nodes[i] = harness.Open(t, harness.Options{Dir: t.TempDir(), NATS: url})
		defer nodes[i].Close()
	}
	nodes[0].Model(`{collections: {orders: {sequences: {n: {}}}}}`)
	nodes[1].CatchUp()
	const writers, each = 8, 10
	var all sync.WaitGroup
	for i := range writers {
		all.Go(func() {
			for j := range each {
				body, headers := fmt.Sprintf(`{"id":"%d-%d"}`, i, j), []string{}
				if i%2 == 0 {
					headers = []string{"Idempotency-Key", fmt.Sprintf("%d-%d", i, j)}
				}
				sent := 0
				for _, node := range nodes[:1+(i+1)%2] { // a request with a key goes to both
					if r, err := nodes[(i/2+sent)%2].Do(http.MethodPost, "/v1/orders", []byte(body), headers...); err != nil || r.Status != http.StatusCreated {
						t.Errorf("%s on %v: %v, %v", body, node, r, err)
					}
					sent++
				}
			}
		})
	}
	all.Wait()
	nodes[0].CatchUp()
	rows, _ := nodes[0].Changes("include_docs=true&limit=1000")
	n := 0
	for _, row := range rows {
		if n++; !strings.Contains(string(row.Doc), fmt.Sprintf(`"n":%d,"_meta"`, n)) {
			t.Fatalf("document %d of the log is %s", n, row.Doc)
		}
	}
	if n != writers*each {
		t.Errorf("%d documents, want %d", n, writers*each)
	}
	nodes[0].WantSameDigest(nodes[1])
	nodes[0].Verify()
}
