package api_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/access/keys"
	"github.com/fanfold/fanfold/api"
	"github.com/fanfold/fanfold/model"
	"github.com/fanfold/fanfold/sqlite"
	"github.com/fanfold/fanfold/tests/harness"
	"github.com/fanfold/fanfold/tests/suite"
)

// twoRooms is a model with one half that editors write, and another that only an admin reads.
const twoRooms = `
collections:
  authors: { access: { write: [editors] } }
  books:
    access: { write: [editors] }
    relations: { author: { path: author, to: authors, onDelete: restrict } }
    derive: { authorName: { copy: author, value: doc.name } }
  files: { access: {} }
`

// keyOf makes a key with roles, and returns its id and a client that sends it.
func keyOf(t *testing.T, s *harness.Store, roles ...string) (id string, c *harness.Client) {
	t.Helper()
	e, key, err := s.Node.Keys().Create(t.Context(), keys.Settings{Name: "of a test", Roles: roles})
	if err != nil {
		t.Fatal(err)
	}
	return e.ID, s.With(key.Text())
}

// eventsIn returns the events of a log, without fences.
func eventsIn(t *testing.T, s *harness.Store) (events []*fanfold.Event) {
	t.Helper()
	last, err := s.Node.Log.LastSeq(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	r, err := s.Node.Log.Read(t.Context(), 1)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	for seq := uint64(0); seq < last; {
		ev, _, err := r.Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		seq = ev.Seq
		if one := *ev; ev.Kind != fanfold.KindFence {
			events = append(events, &one)
		}
	}
	return events
}

// TestRefusedWritesLeaveNoEvent: on every road, who may not write a collection leaves nothing in the log, whatever the body is.
func TestRefusedWritesLeaveNoEvent(t *testing.T) {
	t.Parallel()
	s := harness.OpenClosed(t, twoRooms)
	_, editor := keyOf(t, s, "editors")
	s.Put("files", "f", `{}`)
	before := len(eventsIn(t, s))
	const bad = `{"not json`
	for _, c := range []struct{ method, path, body, contentType, detail string }{
		{"POST", "/v1/files", bad, "application/json", "write files"},
		{"PUT", "/v1/files/f", bad, "application/json", "write files"},
		{"PUT", "/v1/nothing/f", bad, "application/json", "write nothing"},
		{"PATCH", "/v1/files/f", bad, "application/merge-patch+json", "write files"},
		{"DELETE", "/v1/files/f", "", "", "write files"},
		{"DELETE", "/v1/files/f?steps=true", "", "", "write files"},
		{"PUT", "/v1/files/f?dryRun=true", `{}`, "application/json", "write files"},
		{"POST", "/v1/_transactions", `{"operations":[{"op":"put","collection":"authors","id":"a","body":{}},{"op":"put","collection":"files","id":"f","body":[],"what":1}]}`, "application/json", "write files"},
		{"POST", "/v1/_transactions", `{"operations":[{"op":"put","collection":"authors","id":"a","body":{}},{"op":"create","collection":"files","refs":{"/x":"nobody"},"body":{}}]}`, "application/json", "write files"},
		{"POST", "/v1/_transactions", `{"operations":[{"op":"put","collection":"authors","id":"a","body":{}},{"op":"check","collection":"files","id":"f","ifMatch":"*"}]}`, "application/json", "read files"},
		{"POST", "/v1/_transactions?dryRun=true", `{"operations":[{"op":"put","collection":"authors","id":"a","body":{}},{"op":"delete","collection":"files","id":"f"}]}`, "application/json", "write files"},
		{"PUT", "/v1/_model", bad, "application/json", "role admin"},
		{"PUT", "/v1/_model?dryRun=true", bad, "application/json", "role admin"},
		{"PATCH", "/v1/_model", bad, "application/merge-patch+json", "role admin"},
		{"PUT", "/v1/_model/files", bad, "application/json", "role admin"},
		{"DELETE", "/v1/_model/_pending", "", "", "role admin"},
		{"PUT", "/v1/_fold", bad, "application/json", "role admin"},
	} {
		r := editor.Want(http.StatusForbidden, c.method, c.path, c.body, "Content-Type", c.contentType)
		var p struct {
			Detail    string
			Operation *int
		}
		if err := json.Unmarshal(r.Body, &p); err != nil || !strings.Contains(p.Detail, c.detail) {
			t.Errorf("%s %s is refused with %s, %v; want %q", c.method, c.path, r.Body, err, c.detail)
		}
		if at := strings.Contains(c.path, "_transactions"); at != (p.Operation != nil) || at && *p.Operation != 1 {
			t.Errorf("%s %s is refused with %s", c.method, c.path, r.Body)
		}
	}
	for query, lines := range map[string]string{
		"": `{"collection":"files","doc":{"id":"g"}}` + "\n" + `{"model":{"collections":{}}}` + "\n" + `{"model":{"collections":{}},"guards":"last"}` + "\n" +
			`{"collection":"files","text":"{\"id\":\"g\"}"}`,
		"collection=files":         `{"id":"g"}` + "\n" + bad,
		"collection=files&id=load": `{"id":"g"}`,
	} {
		answer := harness.ImportText(t, editor, query, lines)
		if n := strings.Count(answer, `"status":403`); n != strings.Count(lines, "\n")+1 {
			t.Errorf("the import with %q says %s", query, answer)
		}
	}
	if answer := harness.ImportText(t, editor, "", `{"collection":"files","doc":{"id":"g"}}`+"\n"+`{"collection":"authors","doc":{"id":"a"}}`); !strings.Contains(answer, `"written":1`) {
		t.Errorf("the import says %s", answer)
	}
	var left []string
	for _, ev := range eventsIn(t, s)[before:] {
		left = append(left, string(ev.Kind)+" "+ev.Key.String())
	}
	if len(left) != 2 || !strings.HasPrefix(left[0], "import ") || left[1] != "put authors/a" {
		t.Errorf("the log has %q", left)
	}
}

// TestKeysOfPrincipals: an Idempotency-Key is its principal's alone, and a new secret keeps it. A principal that has lost the right to a
// request does not learn what came of it.
func TestKeysOfPrincipals(t *testing.T) {
	t.Parallel()
	s := harness.OpenTemp(t, "")
	open := s.Want(http.StatusCreated, "POST", "/v1/authors", `{}`, "Idempotency-Key", "k").Header.Get("Location")
	s.CloseHouse()
	s.Model(twoRooms)
	ann, a := keyOf(t, s, "editors")
	_, b := keyOf(t, s, "editors", "others")
	create := func(c *harness.Client) string {
		t.Helper()
		return c.Want(http.StatusCreated, "POST", "/v1/authors", `{}`, "Idempotency-Key", "k").Header.Get("Location")
	}
	const tx = `{"operations":[{"op":"create","collection":"authors","body":{}}]}`
	transact := func(c *harness.Client) string {
		t.Helper()
		return string(c.Want(http.StatusOK, "POST", "/v1/_transactions", tx, "Idempotency-Key", "tx").Body)
	}
	first, other := create(a), create(b)
	if first == other || first == open || create(a) != first || create(b) != other || create(s.Client) == first {
		t.Errorf("one key makes %s, %s and %s", open, first, other)
	}
	several := transact(a)
	if transact(b) == several || transact(a) != several {
		t.Errorf("one key makes %s twice", several)
	}
	_, key, err := s.Node.Keys().Rotate(t.Context(), ann, time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	if rotated := s.With(key.Text()); create(rotated) != first || transact(rotated) != several {
		t.Error("a new secret does not keep the keys")
	}
	s.Model(strings.Replace(twoRooms, "write: [editors]", "read: [editors], write: [others]", 1))
	for c, status := range map[*harness.Client]int{a: http.StatusForbidden, b: http.StatusCreated} {
		if r := c.Want(status, "POST", "/v1/authors", `{}`, "Idempotency-Key", "k"); status == http.StatusForbidden && (strings.Contains(string(r.Body), first) || r.Header.Get("Location") != "") {
			t.Errorf("a refused repetition says %s, %v", r.Body, r.Header)
		}
	}
	r := a.Want(http.StatusForbidden, "POST", "/v1/_transactions", tx, "Idempotency-Key", "tx")
	if !strings.Contains(string(r.Body), `"operation":0`) {
		t.Errorf("a refused repetition says %s", r.Body)
	}
}

// TestImportsOfPrincipals: two principals do not share the progress of imports with one id, and each is told its own.
func TestImportsOfPrincipals(t *testing.T) {
	t.Parallel()
	s := harness.OpenTemp(t, "")
	harness.ImportText(t, s.Client, "collection=authors&id=load", `{"id":"1"}`)
	s.CloseHouse()
	s.Model(twoRooms)
	_, a := keyOf(t, s, "editors")
	_, b := keyOf(t, s, "editors")
	line := func(c *harness.Client) string {
		t.Helper()
		r, err := c.Do("GET", "/v1/_import?id=load", nil)
		if err != nil {
			t.Fatal(err)
		}
		return fmt.Sprint(r.Status, " ", string(r.Body))
	}
	if got := line(a); !strings.HasPrefix(got, "404") {
		t.Errorf("the import of an open store is told as that of a key: %s", got)
	}
	harness.ImportText(t, a, "collection=authors&id=load", `{"id":"2"}`+"\n"+`{"id":"3"}`)
	harness.ImportText(t, b, "collection=authors&id=load&resume=true", `{"id":"4"}`)
	for c, want := range map[*harness.Client]string{a: `200 {"line":2,`, b: `200 {"line":1,`, s.Client: "404"} {
		if got := line(c); !strings.HasPrefix(got, want) {
			t.Errorf("the import has come to %s, want %s", got, want)
		}
	}
	r := b.Want(http.StatusConflict, "POST", "/v1/_import?collection=authors&id=load&resume=true&first=3", `{"id":"5"}`, "Content-Type", harness.NDJSON)
	if !strings.Contains(string(r.Body), "the import is at line 1") {
		t.Errorf("the import of another principal is gone on with: %s", r.Body)
	}
	harness.ImportText(t, a, "collection=authors&id=load&resume=true&first=3", `{"id":"5"}`)
}

// TestImportEndsWithItsKey: an import stores nothing that comes after its key was revoked, and says so. An admin's import goes
// on under the model that it brings.
func TestImportEndsWithItsKey(t *testing.T) {
	suite.Concurrent(t)
	t.Parallel()
	s := harness.OpenClosed(t, `collections: { authors: { access: { write: [editors] }, unique: [n] }, files: {} }`)
	id, a := keyOf(t, s, "editors")
	body, send := io.Pipe()
	answer := make(chan string, 1)
	go func() {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, a.URL+"/v1/_import?collection=authors&id=load", body)
		if err != nil {
			answer <- err.Error()
			return
		}
		req.Header.Set("Content-Type", harness.NDJSON)
		req.Header.Set("Authorization", "Bearer "+a.Key)
		resp, err := a.HTTP.Do(req)
		if err != nil {
			answer <- err.Error()
			return
		}
		defer resp.Body.Close()
		text, err := io.ReadAll(resp.Body)
		answer <- fmt.Sprint(string(text), err)
	}()
	for i := range 700 { // the client sends a few thousand bytes at once
		if i == 499 {
			i = 0 // a batch has a document once, so that the first one ends here
		}
		fmt.Fprintf(send, `{"id":"%d","n":%d}`+"\n", i, i)
	}
	harness.Await(t, "the first batch", 20*time.Second, func() bool {
		r, err := s.Do("GET", "/v1/authors/498", nil)
		return err == nil && r.Status == http.StatusOK
	})
	if err := s.Node.Keys().Revoke(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	fmt.Fprintln(send, `{"id":"after","n":-1}`)
	if err := send.Close(); err != nil {
		t.Fatal(err)
	}
	if got := <-answer; !strings.Contains(got, `"done":false`) || !strings.Contains(got, `"status":401`) || !strings.Contains(got, `"line":499`) || strings.Contains(got, `"refused":1`) {
		t.Errorf("the import says %s", got)
	}
	for _, id := range []string{"500", "699", "after"} {
		s.Want(http.StatusNotFound, "GET", "/v1/authors/"+id, "")
	}
	admins := harness.ImportText(t, s.Client, "allowRemoval=true", `{"model":{"collections":{"authors":{"access":{"write":["others"]},"unique":["n"]},"files":{}}}}`+"\n"+`{"collection":"authors","doc":{"id":"later"}}`)
	if !strings.Contains(admins, `"refused":0`) {
		t.Errorf("an admin's import says %s", admins)
	}
}

// guardedModel is a model whose deletes bring others with them, and whose writes have guards.
const guardedModel = `
collections:
  authors: { access: { write: [editors] }, unique: [mail], derive: { books: { count: books.author } } }
  books:
    access: { write: [editors] }
    relations: { author: { path: author, to: authors, onDelete: cascade }, first: { path: first, to: authors, strict: true, onDelete: unlink } }
    derive: { authorName: { copy: author, value: doc.name } }
`

// TestEveryEventHasItsActor: whatever a request stores, its key's id is with it, in the log and in the changes of the read model. A header of
// the client with an actor counts for nothing.
func TestEveryEventHasItsActor(t *testing.T) {
	t.Parallel()
	s := harness.OpenClosed(t, "")
	admin, c := keyOf(t, s, model.RoleAdmin)
	before := len(eventsIn(t, s))
	forged := []string{"Fanfold-Actor", "key:forged"}
	want := func(status int, method, path, body string, headers ...string) {
		t.Helper()
		c.Want(status, method, path, body, append(headers, forged...)...)
	}
	yaml := []string{"Content-Type", harness.YAMLType}
	want(http.StatusOK, "PUT", "/v1/_model", guardedModel, yaml...)
	want(http.StatusCreated, "PUT", "/v1/authors/a", `{"name":"A","mail":"a@x"}`)
	want(http.StatusCreated, "PUT", "/v1/authors/b", `{"name":"B"}`)
	for i := range 20 {
		want(http.StatusCreated, "PUT", fmt.Sprintf("/v1/books/%d", i), `{"author":"a","first":"b"}`)
	}
	want(http.StatusNoContent, "PATCH", "/v1/authors/a", `{"name":"AA","mail":"b@x"}`, "Content-Type", "application/merge-patch+json")
	want(http.StatusOK, "POST", "/v1/_transactions", `{"operations":[{"op":"put","collection":"authors","id":"c","body":{}},{"op":"check","collection":"authors","id":"a","ifMatch":"*"},{"op":"put","collection":"books","id":"x","body":{"author":"c"}}]}`)
	want(http.StatusOK, "POST", "/v1/_import?id=load", `{"collection":"books","doc":{"id":"y","author":"c","first":"b"}}`+"\n"+`{"model":`+harnessJSON(t, s)+`}`, "Content-Type", harness.NDJSON)
	want(http.StatusOK, "PUT", "/v1/_model?background=true", strings.Replace(guardedModel, "doc.name", "doc.mail", 1), append(yaml, "Fanfold-Timeout", "60")...)
	want(http.StatusNoContent, "DELETE", "/v1/authors/b", "") // unlinks
	want(http.StatusOK, "DELETE", "/v1/authors/c?steps=true", "")
	want(http.StatusNoContent, "DELETE", "/v1/authors/a", "") // cascades
	s.CatchUp()
	events := eventsIn(t, s)
	kinds := map[fanfold.Kind]int{}
	for _, ev := range events[before:] {
		if kinds[ev.Kind]++; ev.Actor != "key:"+admin {
			t.Errorf("event %d, a %s of %s, has the actor %q", ev.Seq, ev.Kind, ev.Key, ev.Actor)
		}
	}
	for _, kind := range []fanfold.Kind{fanfold.KindPut, fanfold.KindPatch, fanfold.KindDelete, fanfold.KindModel, fanfold.KindPrepare, fanfold.KindImport, fanfold.KindCheck, fanfold.KindLink, fanfold.KindClaim} {
		if kinds[kind] == 0 {
			t.Errorf("there is no event %s among %v", kind, kinds)
		}
	}
	changes := func(what string) {
		t.Helper()
		ops := map[fanfold.Op]int{}
		for after := fanfold.Position(0); ; {
			var page fanfold.ChangePage
			if err := s.Node.Store.Read(func(snap *sqlite.Snapshot) (err error) {
				page, err = snap.Changes(fanfold.ChangeQuery{After: after, Limit: 1000})
				return err
			}); err != nil {
				t.Fatal(err)
			}
			for _, row := range page.Rows {
				if ops[row.Op]++; row.Actor != "key:"+admin {
					t.Errorf("%s: change %s, a %s of %s, has the actor %q", what, row.Position, row.Op, row.Key, row.Actor)
				}
			}
			if after = page.Last; len(page.Rows) == 0 {
				break
			}
		}
		if ops[fanfold.OpDerive] == 0 || ops[fanfold.OpDelete] == 0 || ops[fanfold.OpPatch] == 0 {
			t.Errorf("%s: the changes are %v", what, ops)
		}
	}
	changes("folded")
	digest := s.Digest()
	s.Replay()
	changes("replayed")
	if again := s.Digest(); again != digest {
		t.Errorf("after a replay the digest is %s, not %s", again, digest)
	}
}

// harnessJSON returns the model that applies, as JSON on one line, with one collection more.
func harnessJSON(t *testing.T, s *harness.Store) string {
	t.Helper()
	var m struct {
		Collections map[string]any `json:"collections"`
	}
	if err := json.Unmarshal(s.Want(http.StatusOK, "GET", "/v1/_model", "").Body, &m); err != nil {
		t.Fatal(err)
	}
	m.Collections["more"] = map[string]any{}
	text, err := json.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// hiddenHolders is a model with two collections that an editor may not read, whose documents stand in the way of its writes.
const hiddenHolders = `
fanout: { limit: 3 }
collections:
  authors: { access: { write: [editors] } }
  hidden:
    access: {}
    relations: { kept: { path: kept, to: authors, onDelete: restrict }, strict: { path: strict, to: authors, strict: true }, gone: { path: "gone[]", to: authors, onDelete: unlink } }
    derive: { name: { copy: kept, value: doc.name } }
    unique: ["doc.gone[0]"]
  chained:
    access: {}
    relations: { author: { path: author, to: authors, onDelete: cascade } }
  books:
    access: { read: [editors] }
    relations: { author: { path: author, to: authors, onDelete: cascade }, chain: { path: chain, to: chained, onDelete: restrict } }
    derive: { name: { copy: author, value: doc.name } }
`

// TestRefusalsNameNoHiddenDocuments: an editor may not read the documents in the way of its writes. Problems, lines of imports and dry
// runs do not tell which they are. An admin is told.
func TestRefusalsNameNoHiddenDocuments(t *testing.T) {
	t.Parallel()
	s := harness.OpenClosed(t, hiddenHolders)
	_, editor := keyOf(t, s, "editors")
	put := func(collection, id, body string) {
		t.Helper()
		s.Want(http.StatusCreated, "PUT", harness.Path(collection, id), body)
	}
	for _, id := range []string{"restrict", "strict", "unlink", "both", "second", "chain", "wide", "many", "dry"} {
		put("authors", id, `{"name":"n"}`)
	}
	put("hidden", "holder-1", `{"kept":"restrict"}`)
	put("hidden", "holder-2", `{"strict":"strict"}`)
	put("hidden", "holder-3", `{"gone":["unlink","secret"]}`) // is not unique without the first
	put("hidden", "holder-4", `{"gone":["secret"]}`)
	put("hidden", "holder-6", `{"gone":["both","secret-2"]}`) // both are not unique without the first
	put("hidden", "holder-7", `{"gone":["second","secret-2"]}`)
	put("chained", "holder-5", `{"author":"chain"}`)
	put("books", "b", `{"chain":"holder-5"}`)
	for i := range 4 {
		put("hidden", fmt.Sprint("holder-wide-", i), `{"kept":"wide"}`)
	}
	lines := ""
	for i := range 1001 {
		lines += fmt.Sprintf(`{"id":"holder-many-%d","author":"many"}`+"\n", i)
	}
	harness.ImportText(t, s.Client, "collection=chained", lines)
	put("chained", "holder-dry", `{"author":"dry"}`)
	put("books", "dry", `{"author":"dry"}`)
	for _, c := range []struct {
		method, path, body string
		status             int
		told               string // to the editor
		admin              string
	}{
		{"DELETE", "/v1/authors/restrict", "", 409, `"a document that you may not read"`, "hidden/holder-1"},
		{"DELETE", "/v1/authors/restrict?steps=true", "", 409, `"a document that you may not read"`, "hidden/holder-1"},
		{"DELETE", "/v1/authors/strict", "", 409, `"a document that you may not read"`, "hidden/holder-2"},
		{"DELETE", "/v1/authors/strict?steps=true", "", 409, `"a document that you may not read"`, "hidden/holder-2"},
		{"DELETE", "/v1/authors/unlink", "", 409, "a document that you may not read", "hidden/holder-4"},
		{"POST", "/v1/_transactions", `{"operations":[{"op":"delete","collection":"authors","id":"both"},{"op":"delete","collection":"authors","id":"second"}]}`, 409, "a document that you may not read", "would both have"},
		{"DELETE", "/v1/authors/chain", "", 409, "books/b", "chained/holder-5"},
		{"PUT", "/v1/authors/wide", `{"name":"o"}`, 422, "more derived changes than the model's fanout.limit, which is 3", "4 derived changes"},
		{"PUT", "/v1/authors/wide?dryRun=true", `{"name":"o"}`, 200, `"derived":0,"rules":{},"collections":{}`, `"hidden.name":4`},
		{"DELETE", "/v1/authors/many", "", 422, "more documents than the 1000", `"steps":true,"documents":1002`},
		{"DELETE", "/v1/authors/dry?dryRun=true", "", 200, `"id":"dry"`, "holder-dry"},
	} {
		if r := s.Want(c.status, c.method, c.path, c.body); !strings.Contains(string(r.Body), c.admin) {
			t.Errorf("%s %s tells an admin %s, want %q", c.method, c.path, r.Body, c.admin)
		}
		r := editor.Want(c.status, c.method, c.path, c.body)
		if text := string(r.Body); !strings.Contains(text, c.told) || strings.Contains(text, "holder") || strings.Contains(text, "1001") || strings.Contains(text, "1002") || strings.Contains(text, "secret") {
			t.Errorf("%s %s tells an editor %s, want %q", c.method, c.path, text, c.told)
		}
	}
	if r := editor.Want(http.StatusOK, "DELETE", "/v1/authors/dry?steps=true", ""); !strings.Contains(string(r.Body), `"done":true,"deleted":2,"changed":0`) { // not holder-dry
		t.Errorf("a step tells an editor %s", r.Body)
	}
	answer := harness.ImportText(t, editor, "collection=authors", `{"id":"wide","name":"p"}`)
	if !strings.Contains(answer, "more derived changes than") || strings.Contains(answer, "hidden") {
		t.Errorf("an import tells an editor %s", answer)
	}
}

// TestRefusalsAreLogged: a right that is missing and what an admin does are a line each, few of many, and an open store has none.
func TestRefusalsAreLogged(t *testing.T) {
	begun := time.Now()
	t.Parallel()
	s, log := logged(t, api.Options{})
	s.Model(`collections: { books: {} }`)
	const refused, admin = `"a request was refused"`, `"an admin's request"`
	if lines := slices.Concat(log.lines(refused), log.lines(admin)); len(lines) > 0 {
		t.Errorf("the log of an open store has %q", lines)
	}
	s.CloseHouse()
	s.Model(`collections: { books: {}, authors: {} }`)
	lines := log.lines(admin)
	if len(lines) != 1 || !strings.Contains(lines[0], `"principal":"key:`) || !strings.Contains(lines[0], `"route":"/v1/_model"`) || !strings.Contains(lines[0], `"right":"admin"`) || !strings.Contains(lines[0], `"request":"`) {
		t.Errorf("the log has %q of an admin", lines)
	}
	s.Want(http.StatusOK, "GET", "/v1/_model", "")
	s.Put("books", "b", `{}`)
	id, reader := keyOf(t, s, "read")
	reader.Want(http.StatusForbidden, "PUT", "/v1/books/b", `{"secret":1}`, "X-Request-Id", "of-a-reader")
	reader.Want(http.StatusForbidden, "POST", "/v1/_transactions", `{"operations":[{"op":"put","collection":"books","id":"b","body":{"secret":1}}]}`, "X-Request-Id", "of-a-writer")
	s.With("nonsense").Want(http.StatusUnauthorized, "PUT", "/v1/books/b", `{}`, "X-Request-Id", "of-nobody")
	for request, want := range map[string][]string{
		"of-a-reader": {`"principal":"key:` + id, `"route":"/v1/:collection/:id"`, `"right":"write"`, `"status":403`, "write books"},
		"of-a-writer": {`"principal":"key:` + id, `"route":"/v1/_transactions"`, `"right":"write"`, `"status":403`, "any collection"},
		"of-nobody":   {`"principal":"nobody"`, `"status":401`},
	} {
		lines := log.lines(request)
		if len(lines) != 1 || !strings.Contains(lines[0], refused) || strings.Contains(lines[0], "secret") || strings.Contains(lines[0], "nonsense") {
			t.Errorf("the log has %q of %s", lines, request)
			continue
		}
		for _, text := range want {
			if !strings.Contains(lines[0], text) {
				t.Errorf("the log has %q of %s, without %s", lines[0], request, text)
			}
		}
	}
	for range 300 {
		reader.Want(http.StatusForbidden, "DELETE", "/v1/books/b", "")
	}
	if n, took := len(log.lines(refused)), time.Since(begun); float64(n) > 60+10*took.Seconds() { // 50 at once, and 10 a second
		t.Errorf("the log has %d lines of refused requests after %v", n, took)
	}
	s.Model(`collections: { books: {}, authors: {}, more: {} }`)
	if n := len(log.lines(admin)); n != 2 {
		t.Errorf("the log has %d lines of an admin", n)
	}
}
