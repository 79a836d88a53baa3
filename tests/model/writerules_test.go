package model_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/fanfold/fanfold/access/keys"
	"github.com/fanfold/fanfold/tests/harness"
)

// teamModel is a model whose tasks carry the members of their project, and whose forms anybody may send.
const teamModel = `
collections:
  projects: { access: { read: { where: "auth.sub in doc.members" }, write: [manager] } }
  tasks:
    relations: { project: { path: projectId, to: projects } }
    defaults: { state: open }
    derive: { members: { copy: project, value: doc.members, publish: true } }
    access:
      read:   { roles: [support], where: "auth.sub in doc.members" }
      create: { where: "doc.owner == auth.sub && auth.sub in doc.members" }
      update: { where: "old.owner == auth.sub && doc.owner == old.owner" }
      delete: { where: "old.owner == auth.sub" }
  forms: { access: { read: [staff], create: [everyone] } }
  orders:
    sequences: { number: { format: "N-{n:4}" } }
    access: { read: { where: "doc.by == auth.sub" }, create: { where: "doc.by == auth.sub && doc.number != 'N-0002'" }, update: { where: "doc.number == old.number" } }
`

// subject returns a client of a store with a new key whose subject is sub.
func subject(t testing.TB, s *harness.Store, sub string, roles ...string) *harness.Client {
	t.Helper()
	_, key, err := s.Node.Keys().Create(t.Context(), keys.Settings{Name: sub, Sub: sub, Roles: append(roles, "member")})
	if err != nil {
		t.Fatal(err)
	}
	return s.With(key.Text())
}

// answer is what a request is answered with, but for what differs from request to request.
func answer(t testing.TB, c *harness.Client, method, path, body string, headers ...string) string {
	t.Helper()
	r, err := c.Do(method, path, []byte(body), headers...)
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for name, values := range r.Header {
		if name != "Date" && name != "X-Request-Id" {
			all = append(all, name+": "+strings.Join(values, ","))
		}
	}
	slices.Sort(all)
	return fmt.Sprintf("%d %s\n%s", r.Status, strings.Join(all, "\n"), r.Body)
}

const mergeType, jsonType = "application/merge-patch+json", "application/json"

// openTeam opens a store with the model, two projects, and a task in each: t1 of ann, in a project of ann and bob, and t2 of cid.
func openTeam(t *testing.T) (s *harness.Store, ann, bob *harness.Client) {
	t.Helper()
	s = harness.OpenClosed(t, teamModel)
	s.Put("projects", "p1", `{"members":["ann","bob"]}`)
	s.Put("projects", "p2", `{"members":["cid"]}`)
	s.Put("tasks", "t1", `{"owner":"ann","projectId":"p1"}`)
	s.Put("tasks", "t2", `{"owner":"cid","projectId":"p2"}`)
	return s, subject(t, s, "ann"), subject(t, s, "bob")
}

// TestWritesUnderRules: who may create, update and delete goes by each document, as it is and as it is to be, with the members that it copies.
func TestWritesUnderRules(t *testing.T) {
	t.Parallel()
	s, ann, bob := openTeam(t)
	for _, c := range []struct {
		by                 *harness.Client
		status             int
		method, path, body string
		what               string
	}{
		{bob, 403, "PUT", "/v1/tasks/t1", `{"owner":"bob","projectId":"p1"}`, "update"},
		{bob, 403, "PATCH", "/v1/tasks/t1", `{"title":"mine"}`, "update"},
		{bob, 403, "DELETE", "/v1/tasks/t1", "", "delete"},
		{ann, 403, "PATCH", "/v1/tasks/t1", `{"owner":"bob"}`, "update"},
		{ann, 204, "PATCH", "/v1/tasks/t1", `{"title":"one"}`, ""},
		{ann, 204, "PUT", "/v1/tasks/t1", `{"owner":"ann","projectId":"p1","title":"two"}`, ""},
		{ann, 201, "PUT", "/v1/tasks/t3", `{"owner":"ann","projectId":"p1"}`, ""},
		{ann, 403, "PUT", "/v1/tasks/t4", `{"owner":"ann","projectId":"p2"}`, "create"},
		{ann, 403, "PUT", "/v1/tasks/t4", `{"owner":"ann","projectId":"p2","members":["ann"]}`, "create"},
		{ann, 403, "PUT", "/v1/tasks/t4?dryRun=true", `{"owner":"ann","projectId":"p2"}`, "create"},
		{ann, 200, "PUT", "/v1/tasks/t4?dryRun=true", `{"owner":"ann","projectId":"p1"}`, ""},
		{ann, 403, "POST", "/v1/tasks", `{"owner":"bob","projectId":"p1"}`, "create"},
		{ann, 201, "POST", "/v1/tasks", `{"id":"t5","owner":"ann","projectId":"p1"}`, ""},
		{ann, 403, "PUT", "/v1/tasks/t2", `{"owner":"ann","projectId":"p1"}`, "update"},
		{ann, 404, "PATCH", "/v1/tasks/t2", `{"title":"x"}`, ""},
		{ann, 404, "DELETE", "/v1/tasks/t2", "", ""},
		{ann, 204, "DELETE", "/v1/tasks/t3", "", ""},
		{ann, 403, "PUT", "/v1/tasks/t1?refresh=x", `{"owner":"ann","projectId":"p1"}`, ""},
		{ann, 403, "DELETE", "/v1/tasks/t1?steps=true", "", ""},
		{ann, 403, "PATCH", "/v1/tasks?filter=true", `{"title":"x"}`, ""},
		{ann, 403, "DELETE", "/v1/tasks?filter=true", "", ""},
	} {
		contentType := jsonType
		if c.method == "PATCH" {
			contentType = mergeType
		}
		_, before := s.Changes("since=now")
		r := c.by.Want(c.status, c.method, c.path, c.body, "Content-Type", contentType)
		if c.status != 403 {
			continue
		}
		if text := string(r.Body); c.what != "" && (!strings.Contains(text, `"problems":[{"path":"tasks/`) || !strings.Contains(text, `"detail":"`+c.what+": ") || strings.Contains(text, "cid")) {
			t.Errorf("%s %s is refused with %s", c.method, c.path, text)
		}
		if rows, _ := s.Changes("since=" + before); len(rows) > 0 {
			t.Errorf("%s %s is refused and stored %v", c.method, c.path, rows)
		}
	}
	if text := harness.ImportText(t, ann, "", `{"collection":"tasks","doc":{"id":"t9","owner":"ann","projectId":"p1"}}`); !strings.Contains(text, `"status":403`) {
		t.Errorf("an import is answered with %s", text)
	}
	s.Put("projects", "p1", `{"members":["bob"]}`) // ann is taken off, and cannot read her task any more
	ann.Want(404, "PATCH", "/v1/tasks/t1", `{"title":"x"}`, "Content-Type", mergeType)
	ann.Want(403, "PUT", "/v1/tasks/t6", `{"owner":"ann","projectId":"p1"}`)
}

// TestHiddenDocumentsAreAbsent: what is sent about a document that may not be read is answered byte for byte as about one that is not there.
func TestHiddenDocumentsAreAbsent(t *testing.T) {
	t.Parallel()
	s, ann, _ := openTeam(t)
	tag := s.Want(200, "GET", "/v1/tasks/t2", "").Header.Get("ETag")
	transaction := func(op string) func(id string) string {
		return func(id string) string {
			return answer(t, ann, "POST", "/v1/_transactions", `{"operations":[`+strings.ReplaceAll(op, "ID", id)+`]}`, "Content-Type", jsonType)
		}
	}
	request := func(method, query, body string, headers ...string) func(id string) string {
		return func(id string) string {
			headers := append(headers, "Content-Type", jsonType)
			if method == "PATCH" {
				headers[len(headers)-1] = mergeType
			}
			return answer(t, ann, method, "/v1/tasks/"+id+query, body, headers...)
		}
	}
	const mine = `{"owner":"ann","projectId":"p1"}`
	for name, send := range map[string]func(id string) string{
		"PATCH":                      request("PATCH", "", `{"a":1}`),
		"PATCH, If-Match":            request("PATCH", "", `{"a":1}`, "If-Match", tag),
		"PATCH, If-Match: *":         request("PATCH", "", `{"a":1}`, "If-Match", "*"),
		"PATCH, if":                  request("PATCH", "?if=true", `{"a":1}`),
		"PATCH, dry run":             request("PATCH", "?dryRun=true", `{"a":1}`),
		"a test of a value":          request("PATCH", "", `{"owner":"cid"}`),
		"PUT, If-Match":              request("PUT", "", mine, "If-Match", tag),
		"PUT, If-Match: *":           request("PUT", "", mine, "If-Match", "*"),
		"PUT, if":                    request("PUT", "?if=doc.owner=='cid'", mine),
		"DELETE":                     request("DELETE", "", ""),
		"DELETE, If-Match":           request("DELETE", "", "", "If-Match", tag),
		"DELETE, if":                 request("DELETE", "?if=doc.owner=='cid'", ""),
		"a check":                    transaction(`{"op":"check","collection":"tasks","id":"ID","ifMatch":"*"}`),
		"a check of a revision":      transaction(`{"op":"check","collection":"tasks","id":"ID","ifMatch":` + strings.ReplaceAll(tag, `"`, "") + `}`),
		"a check if":                 transaction(`{"op":"check","collection":"tasks","id":"ID","if":"doc.owner == 'cid'"}`),
		"a patch in a transaction":   transaction(`{"op":"patch","collection":"tasks","id":"ID","patch":{"a":1}}`),
		"a delete in a transaction":  transaction(`{"op":"delete","collection":"tasks","id":"ID"}`),
		"a put if, in a transaction": transaction(`{"op":"put","collection":"tasks","id":"ID","body":` + mine + `,"if":"true"}`),
		"a revert": func(id string) string {
			return answer(t, ann, "POST", "/v1/tasks/"+id+"/_revert", `{"at":"0"}`, "Content-Type", jsonType)
		},
		"a check that nothing is there": func(id string) string {
			_, rest, _ := strings.Cut(transaction(`{"op":"check","collection":"tasks","id":"ID","ifNoneMatch":"*"}`)(id), `"operations"`)
			return rest
		},
	} {
		hidden, absent := send("t2"), send("t8")
		if hidden = strings.ReplaceAll(hidden, "t2", "t8"); hidden != absent {
			t.Errorf("%s: hidden\n%s\nabsent\n%s", name, hidden, absent)
		}
	}
	for name, send := range map[string]func(id string) string{
		"403 PUT":                      request("PUT", "", mine),
		"403 PUT, If-None-Match a tag": request("PUT", "", mine, "If-None-Match", tag),
		"412 PUT, If-None-Match":       request("PUT", "", mine, "If-None-Match", "*"),
		"409 POST": func(id string) string {
			return answer(t, ann, "POST", "/v1/tasks", `{"id":"`+id+`","owner":"ann","projectId":"p1"}`, "Content-Type", jsonType)
		},
		"409 create, in a transaction": transaction(`{"op":"create","collection":"tasks","body":{"id":"ID","owner":"ann","projectId":"p1"}}`),
		"412 put of a new one":         transaction(`{"op":"put","collection":"tasks","id":"ID","body":` + mine + `,"ifNoneMatch":"*"}`),
		"403 put, in a transaction":    transaction(`{"op":"put","collection":"tasks","id":"ID","body":` + mine + `}`),
	} {
		status, _, _ := strings.Cut(name, " ")
		if got := send("t2"); !strings.HasPrefix(got, status) || strings.Contains(got, "Etag") || strings.Contains(got, "Revision") || strings.Contains(got, `"revision"`) || strings.Contains(got, "cid") {
			t.Errorf("%s is answered with %s", name, got)
		}
	}
	s.WantDoc("tasks", "t2", `{"id":"t2","owner":"cid","projectId":"p2","state":"open","members":["cid"]}`)
}

// TestFormsAreSentByStrangers: who may only create sends new documents, and neither reads nor replaces any.
func TestFormsAreSentByStrangers(t *testing.T) {
	t.Parallel()
	s, ann, _ := openTeam(t)
	for _, c := range []struct {
		status       int
		method, path string
		headers      []string
	}{
		{201, "POST", "/v1/forms", []string{"Prefer", "return=representation"}},
		{201, "PUT", "/v1/forms/f1", nil},
		{403, "PUT", "/v1/forms/f1", nil},
		{412, "PUT", "/v1/forms/f1", []string{"If-None-Match", "*"}},
		{201, "PUT", "/v1/forms/f2", []string{"If-None-Match", "*"}},
		{403, "PUT", "/v1/forms/f1", []string{"If-Match", "*"}},
		{403, "PATCH", "/v1/forms/f1", nil},
		{403, "DELETE", "/v1/forms/f1", nil},
		{403, "POST", "/v1/forms/f1/_revert", nil},
		{201, "PUT", "/v1/forms/f3", []string{"Idempotency-Key", "k3", "Prefer", "return=representation"}},
		{201, "PUT", "/v1/forms/f3", []string{"Idempotency-Key", "k3", "Prefer", "return=representation"}},
		{201, "POST", "/v1/forms", []string{"Idempotency-Key", "k4"}},
		{201, "POST", "/v1/forms", []string{"Idempotency-Key", "k4"}},
		{200, "POST", "/v1/forms?dryRun=true", nil},
	} {
		contentType := jsonType
		if c.method == "PATCH" {
			contentType = mergeType
		}
		r := ann.Want(c.status, c.method, c.path, `{"at":"0"}`, append(c.headers, "Content-Type", contentType)...)
		if c.status == 201 && len(r.Body) > 0 || c.status > 201 && r.Header.Get("ETag") != "" {
			t.Errorf("%s %s %v is answered with %v %s", c.method, c.path, c.headers, r.Header, r.Body)
		}
	}
	r := ann.Want(200, "POST", "/v1/_transactions", `{"operations":[{"op":"create","collection":"forms","body":{}},{"op":"create","collection":"tasks","body":{"owner":"ann","projectId":"p1"}}]}`)
	if strings.Count(string(r.Body), `"status":201`) != 2 {
		t.Errorf("the transaction is answered with %s", r.Body)
	}
	ann.Want(409, "POST", "/v1/forms", `{"id":"f1"}`)
	s.WantDoc("forms", "f1", `{"id":"f1","at":"0"}`)
}

// TestTransactionsUnderRules: in a transaction each rule sees its document as it was before all operations, and as it is after all of them.
func TestTransactionsUnderRules(t *testing.T) {
	t.Parallel()
	s, ann, bob := openTeam(t)
	s.Model(strings.ReplaceAll(teamModel, `write: [manager] }`, `update: { where: "auth.sub in old.members" }, create: [everyone] }`))
	transact := func(c *harness.Client, status int, ops string) {
		t.Helper()
		c.Want(status, "POST", "/v1/_transactions", `{"operations":[`+ops+`]}`)
	}
	const moves = `{"op":"patch","collection":"projects","id":"p1","patch":{"members":["bob"]}}`
	const creates = `{"op":"create","collection":"tasks","body":{"id":"t7","owner":"ann","projectId":"p1"}}`
	transact(ann, 403, moves+","+creates) // she would be no member
	transact(ann, 403, creates+","+moves)
	transact(bob, 403, `{"op":"patch","collection":"tasks","id":"t1","patch":{"owner":"bob"}},`+moves)
	joins := `{"op":"create","collection":"projects","body":{"id":"p3","members":["ann"]}},` + strings.ReplaceAll(creates, "p1", "p3")
	transact(ann, 200, joins)                                                                           // the member comes with the project that the same transaction makes
	transact(ann, 200, `{"op":"patch","collection":"tasks","id":"t1","patch":{"title":"last"}},`+moves) // as it was before, she might
	transact(ann, 403, `{"op":"put","collection":"tasks","id":"t1","body":{"owner":"ann","projectId":"p1"}}`)
	s.WantDoc("tasks", "t1", `{"id":"t1","owner":"ann","projectId":"p1","state":"open","title":"last","members":["bob"]}`)
	if r := ann.Want(403, "POST", "/v1/_transactions", `{"operations":[`+strings.ReplaceAll(creates, "t7", "t9")+`]}`); !strings.Contains(string(r.Body), `"operation":0`) {
		t.Errorf("the refusal does not name the operation: %s", r.Body)
	}
}

// TestRulesSeeNumbersAndDefaults: a rule sees the number that its document gets, and the defaults.
func TestRulesSeeNumbersAndDefaults(t *testing.T) {
	t.Parallel()
	s, ann, _ := openTeam(t)
	ann.Want(201, "POST", "/v1/orders", `{"by":"ann"}`)
	ann.Want(403, "POST", "/v1/orders", `{"by":"ann"}`) // it would be N-0002
	ann.Want(403, "POST", "/v1/_transactions", `{"operations":[{"op":"create","collection":"orders","body":{"by":"ann"}}]}`)
	s.Want(201, "PUT", "/v1/orders/o2", `{"by":"ann"}`)
	ann.Want(201, "PUT", "/v1/orders/o3", `{"by":"ann"}`)
	ann.Want(200, "PUT", "/v1/orders/o3?dryRun=true", `{"by":"ann"}`)
	ann.Want(204, "PUT", "/v1/orders/o3", `{"by":"ann","again":true}`)
	ann.Want(204, "PATCH", "/v1/orders/o3", `{"again":null}`, "Content-Type", mergeType)
	s.WantDoc("orders", "o3", `{"id":"o3","by":"ann","number":"N-0003"}`)
	s.Model(strings.ReplaceAll(teamModel, `doc.owner == auth.sub && auth.sub in doc.members`, `doc.state == 'open'`))
	ann.Want(201, "PUT", "/v1/tasks/t6", `{"owner":"ann"}`)
	ann.Want(403, "PUT", "/v1/tasks/t7", `{"owner":"ann","state":"closed"}`)
}

// TestCascadesNeedNoRight: a rule decides about the delete that somebody asks for, and about none that this one brings with it.
func TestCascadesNeedNoRight(t *testing.T) {
	t.Parallel()
	s := harness.OpenClosed(t, `
collections:
  albums: { access: { read: [everyone], delete: { where: "old.owner == auth.sub" } } }
  photos: { access: {}, relations: { album: { path: album, to: albums, onDelete: cascade } } }
  shelves: { access: {}, relations: { album: { path: album, to: albums, onDelete: unlink } } }
`)
	ann, bob := subject(t, s, "ann"), subject(t, s, "bob")
	s.Put("albums", "a", `{"owner":"ann"}`)
	s.Put("photos", "p", `{"album":"a"}`)
	s.Put("shelves", "s", `{"album":"a"}`)
	bob.Want(403, "DELETE", "/v1/albums/a", "")
	ann.Want(204, "DELETE", "/v1/albums/a", "")
	s.Want(404, "GET", "/v1/photos/p", "")
	s.WantDoc("shelves", "s", `{"id":"s"}`)
}

// TestRefusalsNameTheDocument: a refusal names the document and the right, once.
func TestRefusalsNameTheDocument(t *testing.T) {
	t.Parallel()
	_, ann, _ := openTeam(t)
	var e struct {
		Problems []struct{ Path, Detail string }
	}
	r := ann.Want(403, "PUT", "/v1/tasks/t4", `{"owner":"ann","projectId":"p2"}`)
	if err := json.Unmarshal(r.Body, &e); err != nil || len(e.Problems) != 1 || e.Problems[0].Path != "tasks/t4" || !strings.HasPrefix(e.Problems[0].Detail, "create: ") {
		t.Errorf("%s, %v", r.Body, err)
	}
}

// TestRehearsalsForRules: where a rule looks at a derived member its document alone is rehearsed, however many copies the write changes. A larger rehearsal
// than 64 MiB is refused.
func TestRehearsalsForRules(t *testing.T) {
	t.Parallel()
	s := harness.OpenClosed(t, `
collections:
  plans:
    derive: { users: { count: users.plan } }
    access: { read: [member], create: { where: "doc.users < 81" }, update: { where: "doc.users < 81" } }
  users: { relations: { plan: { path: plan, to: plans } }, derive: { text: { copy: plan, value: doc.text } }, access: { write: [member] } }
  notes: { relations: { plan: { path: plan, to: plans } }, derive: { text: { copy: plan, value: doc.text } }, access: { create: { where: "doc.text != ''" } } }
`)
	ann := subject(t, s, "ann")
	ann.Want(201, "PUT", "/v1/plans/p", `{"text":"short"}`)
	var lines strings.Builder
	for i := range 80 {
		fmt.Fprintf(&lines, `{"collection":"users","doc":{"id":"u%d","plan":"p"}}`+"\n", i)
	}
	harness.ImportText(t, s.Client, "", lines.String())
	long := fmt.Sprintf(`{"text":%q}`, strings.Repeat("long", 250_000))
	ann.Want(202, "PUT", "/v1/plans/p", long, "Prefer", "respond-async")
	s.CatchUp()
	ann.Want(201, "PUT", "/v1/users/u80", `{"plan":"p"}`)
	ann.Want(403, "PUT", "/v1/plans/p", `{"text":"short"}`)
	var ops []string
	for i := range 80 {
		ops = append(ops, fmt.Sprintf(`{"op":"create","collection":"notes","body":{"id":"n%d","plan":"p"}}`, i))
	}
	r := ann.Want(422, "POST", "/v1/_transactions", `{"operations":[`+strings.Join(ops, ",")+`]}`)
	if !strings.Contains(string(r.Body), "64 MiB") {
		t.Errorf("the refusal is %.300s", r.Body)
	}
}
