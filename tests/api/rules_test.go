package api_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/fanfold/fanfold/access/keys"
	"github.com/fanfold/fanfold/tests/harness"
)

// teams is a model whose tasks are read by the members of their project, who are copied into them.
const teams = `
collections:
  projects:
    access: { read: { where: "auth.sub in doc.members" }, write: [manager] }
    derive: { tasks: { count: tasks.project, publish: true } }
  tasks:
    relations: { project: { path: projectId, to: projects, onDelete: restrict }, parent: { path: parentId, to: tasks } }
    derive: { members: { copy: project, value: doc.members, publish: true } }
    pages: { by: project, size: 2 }
    indexes: { mine: ["members[]"], byRank: [rank] }
    access: { read: { roles: [support], where: "auth.sub in doc.members" }, write: [manager] }
`

// asSub returns a client with a new key for a subject, which has no role that the model names.
func (h *house) asSub(t *testing.T, sub string, roles ...string) *harness.Client {
	t.Helper()
	_, key, err := h.Node.Keys().Create(t.Context(), keys.Settings{Name: sub, Sub: sub, Roles: append([]string{"member"}, roles...)})
	if err != nil {
		t.Fatal(err)
	}
	h.secrets = append(h.secrets, key.Text())
	return h.clientWith(t, key.Text())
}

// openTeams opens a closed store with two projects of three tasks each: p1 with ann and bob, p2 with bob.
func openTeams(t *testing.T) *house {
	t.Helper()
	h := openHouse(t, teams, nil)
	h.admin.Put("projects", "p1", `{"members":["ann","bob"]}`)
	h.admin.Put("projects", "p2", `{"members":["bob"]}`)
	for i := range 6 {
		h.admin.Put("tasks", fmt.Sprintf("t%d", i), fmt.Sprintf(`{"projectId":"p%d","rank":%d,"parentId":"t%d"}`, 1+i%2, i, (i+1)%6))
	}
	return h
}

// idsOf returns the ids of the documents of all pages of a list.
func idsOf(t *testing.T, c *harness.Client, path string) (ids []string) {
	t.Helper()
	cursor := ""
	for range 50 {
		var page struct {
			Items []struct{ ID string }
			Next  string
		}
		at := path
		if cursor != "" {
			at += map[bool]string{true: "&", false: "?"}[strings.Contains(path, "?")] + "cursor=" + url.QueryEscape(cursor)
		}
		if err := json.Unmarshal(c.Want(http.StatusOK, "GET", at, "").Body, &page); err != nil {
			t.Fatal(err)
		}
		for _, item := range page.Items {
			ids = append(ids, item.ID)
		}
		if cursor = page.Next; cursor == "" {
			return ids
		}
	}
	t.Fatalf("the list %s has no end", path)
	return nil
}

// asIfAbsent compares what two answers say, but for the id that they name.
func asIfAbsent(t *testing.T, c *harness.Client, method, hidden, absent, body string, headers ...string) {
	t.Helper()
	of := func(path string) string {
		r, err := c.Do(method, path, []byte(body), headers...)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"Date", "Fanfold-Request-Id", "X-Request-Id", "Traceresponse"} {
			r.Header.Del(name)
		}
		return fmt.Sprintln(r.Status, r.Header, string(r.Body))
	}
	a, b := of(hidden), of(absent)
	if b = strings.ReplaceAll(b, "zz", "t1"); a != b {
		t.Errorf("%s %s:\n%s\n%s is answered:\n%s", method, hidden, a, absent, b)
	}
}

// TestRulesOfReading: whoever a rule lets read a document sees it on every road, and everybody else is answered as if it was not there.
func TestRulesOfReading(t *testing.T) {
	h := openTeams(t)
	ann, bob, eve, support := h.asSub(t, "ann"), h.asSub(t, "bob"), h.asSub(t, "eve"), h.asSub(t, "sue", "support")
	for _, path := range []string{"", "?view=referenced", "?expand=project", "?fields=rank", "/_lineage", "/tasks?relation=parent", "/tasks?filter=true&relation=parent"} {
		asIfAbsent(t, ann, "GET", "/v1/tasks/t1"+path, "/v1/tasks/zz"+path, "")
	}
	for _, etag := range []string{"*", h.admin.Want(http.StatusOK, "GET", "/v1/tasks/t1", "").Header.Get("ETag")} {
		asIfAbsent(t, ann, "GET", "/v1/tasks/t1", "/v1/tasks/zz", "", "If-None-Match", etag)
		asIfAbsent(t, ann, "HEAD", "/v1/tasks/t1", "/v1/tasks/zz", "", "If-None-Match", etag)
	}
	for who, want := range map[*harness.Client]string{ann: "[t0 t2 t4]", bob: "[t0 t1 t2 t3 t4 t5]", eve: "[]", support: "[t0 t1 t2 t3 t4 t5]", h.admin: "[t0 t1 t2 t3 t4 t5]"} {
		for _, path := range []string{"/v1/tasks", "/v1/tasks?limit=1", "/v1/tasks?limit=2&fields=id", "/v1/tasks?sort=id", "/v1/tasks?sort=rank&limit=1", "/v1/tasks?filter=doc.rank>=0&sort=rank",
			"/v1/tasks?ids=t0,t1,t2,t3,t4,t5"} {
			if got := fmt.Sprint(idsOf(t, who, path)); got != want {
				t.Errorf("%s gives %s, want %s", path, got, want)
			}
		}
		n := len(strings.Fields(strings.Trim(want, "[]")))
		for path, want := range map[string]string{
			"/v1/tasks?filter=true&count=true&limit=1": fmt.Sprintf(`"count":%d`, n),
			"/v1/tasks?compute=count":                  fmt.Sprintf(`"values":{"count":%d}`, n),
		} {
			if body := string(who.Want(http.StatusOK, "GET", path, "").Body); n > 0 && !strings.Contains(body, want) {
				t.Errorf("%s is %s, want %s", path, body, want)
			}
		}
	}
	if got := fmt.Sprint(idsOf(t, ann, "/v1/projects/p1/tasks?limit=1"), idsOf(t, ann, "/v1/projects/p1/tasks?sort=-rank")); got != "[t0 t2 t4] [t4 t2 t0]" {
		t.Errorf("children are %s", got)
	}
	body := string(ann.Want(http.StatusOK, "GET", "/v1/tasks/t0?expand=parent,project", "").Body)
	if !strings.Contains(body, `"parent":{}`) || !strings.Contains(body, `"p1":`) {
		t.Errorf("expanded: %s", body)
	}
	if body := string(ann.Want(http.StatusOK, "GET", "/v1/tasks?ids=t1,absent,t0", "").Body); !strings.Contains(body, `"missing":["t1","absent"]`) {
		t.Errorf("by ids: %s", body)
	}
	if body := string(ann.Want(http.StatusOK, "GET", "/v1", "").Body); !strings.Contains(body, `{"name":"tasks","declared":true}`) {
		t.Errorf("collections: %s", body)
	}
	if body := string(ann.Want(http.StatusOK, "GET", "/v1/projects/p1/_lineage", "").Body); strings.Contains(body, "t1") || strings.Contains(body, `"documents":3`) || !strings.Contains(body, `"t0"`) {
		t.Errorf("lineage: %s", body)
	}
	h.admin.Put("projects", "p1", `{"members":["bob"]}`)
	ann.Want(http.StatusNotFound, "GET", "/v1/tasks/t0", "")
	if got := idsOf(t, ann, "/v1/tasks"); len(got) > 0 {
		t.Errorf("who is off a project sees %v", got)
	}
}

// TestRulesRefuse: what does not judge documents one by one, and what tells of an index, needs the unconditional right.
func TestRulesRefuse(t *testing.T) {
	h := openTeams(t)
	ann := h.asSub(t, "ann")
	for _, path := range []string{"/v1/tasks?filter=true&explain=true", "/v1/_export?collections=tasks", "/v1/_diff?collections=tasks&from=1",
		"/v1/projects/p1/tasks?page=1&relation=project", "/v1/projects/p1/tasks?page=1&relation=project&at=5"} {
		r := ann.Want(http.StatusForbidden, "GET", path, "")
		if !strings.Contains(string(r.Body), "the right to read tasks is missing") && !strings.Contains(path, "page=") {
			t.Errorf("%s: %s", path, r.Body)
		}
	}
	if body := string(ann.Want(http.StatusOK, "GET", "/v1/_changes?include_docs=true", "").Body); !strings.Contains(body, `"t0"`) || strings.Contains(body, `"t1"`) && !strings.Contains(body, `"parentId":"t1"`) {
		t.Errorf("the feed shows %s", body)
	}
	ann.Want(http.StatusForbidden, "PUT", "/v1/tasks/t0", "{}")
	ann.Want(http.StatusForbidden, "DELETE", "/v1/tasks/t0", "")
}

// TestCursorsOfRules: a cursor at a hidden document tells nothing of it, and is its reader's alone.
func TestCursorsOfRules(t *testing.T) {
	h := openTeams(t)
	for i := range 40 {
		h.admin.Put("tasks", fmt.Sprintf("secret-name-%02d", i), `{"projectId":"p2","rank":1}`)
	}
	ann, bob := h.asSub(t, "ann"), h.asSub(t, "bob")
	next := func(c *harness.Client, path string) string {
		var page struct{ Next string }
		if err := json.Unmarshal(c.Want(http.StatusOK, "GET", path, "").Body, &page); err != nil {
			t.Fatal(err)
		}
		return page.Next
	}
	for _, path := range []string{"/v1/tasks?limit=1", "/v1/tasks?filter=doc.rank<9&limit=1", "/v1/tasks?sort=rank&limit=1", "/v1/tasks?filter=doc.rank<9&maxScan=2&partial=true"} {
		cursor := next(ann, path)
		if cursor == "" || cursor != next(ann, path) {
			t.Errorf("%s: the cursor is another one each time", path)
		}
		for _, other := range []*harness.Client{bob, h.admin} {
			other.Want(http.StatusBadRequest, "GET", path+"&cursor="+cursor, "")
		}
		ann.Want(http.StatusBadRequest, "GET", path+"&cursor="+next(bob, path), "")
		ann.Want(http.StatusBadRequest, "GET", path+"&cursor="+next(h.admin, path), "")
		twin := h.asSub(t, "ann", "another")
		twin.Want(http.StatusOK, "GET", path+"&cursor="+cursor, "")
	}
	if all := idsOf(t, ann, "/v1/tasks?filter=doc.rank<9&maxScan=2&partial=true"); !slices.Equal(all, []string{"t0", "t2", "t4"}) {
		t.Errorf("pages that end early have %v", all)
	}
}

// TestExplainAccess: an admin is told what somebody may do with a document, and why.
func TestExplainAccess(t *testing.T) {
	h := openTeams(t)
	for _, c := range []struct{ auth, want string }{
		{`{"sub":"ann"}`, `{"read":{"allowed":true,"why":"where is true"},"create":{"allowed":false,"why":"one of these roles is missing: manager"},"update":{"allowed":false,"why":"one of these roles is missing: manager"},"delete":{"allowed":false,"why":"one of these roles is missing: manager"}}`},
		{`{"sub":"eve","roles":["manager"]}`, `{"read":{"allowed":true,"why":"the role manager"},"create":{"allowed":true,"why":"the role manager"},"update":{"allowed":true,"why":"the role manager"},"delete":{"allowed":true,"why":"the role manager"}}`},
		{`{"sub":"eve"}`, `{"read":{"allowed":false,"why":"where is false"},`},
	} {
		body := string(h.admin.Want(http.StatusOK, "POST", "/v1/_access/_explain", `{"collection":"tasks","id":"t0","auth":`+c.auth+`}`).Body)
		if !strings.HasPrefix(body, c.want) {
			t.Errorf("%s: %s, want %s", c.auth, body, c.want)
		}
	}
	h.admin.Put("projects", "p3", `{}`)
	h.admin.Put("tasks", "t9", `{"projectId":"p3"}`)
	if body := string(h.admin.Want(http.StatusOK, "POST", "/v1/_access/_explain", `{"collection":"tasks","id":"t9","auth":{"sub":"ann"}}`).Body); !strings.Contains(body, `where has no value: there is no member \"members\"`) {
		t.Errorf("a missing member: %s", body)
	}
	h.admin.Want(http.StatusNotFound, "POST", "/v1/_access/_explain", `{"collection":"tasks","id":"no"}`)
	h.admin.Want(http.StatusBadRequest, "POST", "/v1/_access/_explain", `{"collection":"tasks","id":"t0","auth":{"roles":["No"]}}`)
	h.asSub(t, "ann").Want(http.StatusForbidden, "POST", "/v1/_access/_explain", `{"collection":"tasks","id":"t0"}`)
}

// TestMeUnderRules: whoever asks is told which of their rights depend on a document, and refusals are counted.
func TestMeUnderRules(t *testing.T) {
	h := openTeams(t)
	ann := h.asSub(t, "ann")
	body := string(ann.Want(http.StatusOK, "GET", "/v1/_me", "").Body)
	if !strings.Contains(body, `"tasks":{"read":true,"write":false,"may":["read"],"where":["read"]}`) || !strings.Contains(body, `"sub":"ann"`) {
		t.Errorf("me: %s", body)
	}
	ann.Want(http.StatusNotFound, "GET", "/v1/tasks/t1", "")
	if body := string(h.admin.Want(http.StatusOK, "GET", "/v1/_status", "").Body); !strings.Contains(body, `"ruleRefusals":[{"collection":"tasks","right":"read","count":1}]`) {
		t.Errorf("status: %s", body)
	}
	if body := string(h.admin.Want(http.StatusOK, "GET", "/metrics", "").Body); !strings.Contains(body, `fanfold_rule_refusals_total{collection="tasks",right="read"} 1`) {
		t.Error("the metrics do not count refusals")
	}
}

// TestRefusedWritesCountOnce: a write that a rule refuses is one refusal, by itself and in a transaction, although a node judges it again before it answers.
func TestRefusedWritesCountOnce(t *testing.T) {
	h := openHouse(t, `collections: {notes: {access: {read: [clerk], create: {where: 'doc.open'}, update: {where: 'old.open'}, delete: {where: 'old.open'}}}}`, nil)
	h.admin.Put("notes", "n1", `{"open":false}`)
	clerk := h.as(t, "clerk")
	clerk.Want(http.StatusForbidden, "PUT", "/v1/notes/n2", `{"open":false}`)
	clerk.Want(http.StatusForbidden, "PUT", "/v1/notes/n1", `{"open":true}`)
	clerk.Want(http.StatusForbidden, "DELETE", "/v1/notes/n1", "")
	clerk.Want(http.StatusForbidden, "POST", "/v1/_transactions", `{"operations":[{"op":"create","collection":"notes","id":"n3","body":{"open":false}}]}`)
	for right, n := range map[string]int{"create": 2, "update": 1, "delete": 1} {
		line := fmt.Sprintf(`fanfold_rule_refusals_total{collection="notes",right=%q} %d`, right, n)
		if body := string(h.admin.Want(http.StatusOK, "GET", "/metrics", "").Body); !strings.Contains(body, line) {
			t.Errorf("the metrics do not have %s", line)
		}
	}
}

// changeWhileWaiting has a key ask for a path, changes the key while the read waits, and returns the answer.
func (h *house) changeWhileWaiting(t *testing.T, path string, own keys.Settings, patch string) *harness.Response {
	t.Helper()
	e, key, err := h.Node.Keys().Create(t.Context(), own)
	if err != nil {
		t.Fatal(err)
	}
	h.secrets = append(h.secrets, key.Text())
	client := h.clientWith(t, key.Text())
	last, err := h.Node.Log.LastSeq(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	type result struct {
		r   *harness.Response
		err error
	}
	answered := make(chan result, 1)
	go func() {
		r, err := client.Do("GET", path, nil, "Fanfold-Min-Position", fmt.Sprint(last+1), "Fanfold-Timeout", "60")
		answered <- result{r, err}
	}()
	harness.Await(t, "a read that waits", harness.WaitTime, func() bool { return h.Node.API().Running() > 0 })
	h.admin.Want(http.StatusOK, "PATCH", "/v1/_keys/"+e.ID, patch)
	h.admin.Put("projects", "p9", fmt.Sprintf(`{"n":%d,"members":[]}`, last))
	got := <-answered
	if got.err != nil {
		t.Fatal(got.err)
	}
	return got.r
}

// TestRulesAfterAWait: a read that waits is answered by the claims and the subject that its key has then.
func TestRulesAfterAWait(t *testing.T) {
	h := openTeams(t)
	for _, path := range []string{"/v1/tasks", "/v1/tasks?filter=true&count=true", "/v1/tasks?sort=rank", "/v1/projects/p1/tasks", "/v1/tasks?ids=t0", "/v1/tasks/t0"} {
		r := h.changeWhileWaiting(t, path, keys.Settings{Name: "ann", Sub: "ann", Roles: []string{"member"}}, `{"sub":"eve"}`)
		if strings.Contains(string(r.Body), `"t0","`) || strings.Contains(string(r.Body), `"projectId"`) {
			t.Errorf("%s: %s", path, r.Body)
		}
	}
}

// TestRuleThatComesInAWait: a list that waits is answered by a rule if the key has lost the role meanwhile that needed none, and without one if it has got
// that role.
func TestRuleThatComesInAWait(t *testing.T) {
	h := openTeams(t)
	all := strings.Count(string(h.admin.Want(http.StatusOK, "GET", "/v1/tasks", "").Body), `"projectId"`)
	some := strings.Count(string(h.asSub(t, "ann").Want(http.StatusOK, "GET", "/v1/tasks", "").Body), `"projectId"`)
	if some == 0 || some == all {
		t.Fatalf("ann sees %d of %d tasks", some, all)
	}
	for _, path := range []string{"/v1/tasks", "/v1/tasks?limit=100", "/v1/projects/p1/tasks"} {
		want := h.asSub(t, "ann").Want(http.StatusOK, "GET", path, "").Body
		if r := h.changeWhileWaiting(t, path, keys.Settings{Name: "ann", Sub: "ann", Roles: []string{"support"}}, `{"roles":["member"]}`); r.Status != http.StatusOK || string(r.Body) != string(want) {
			t.Errorf("%s without the role: %d %s, want %s", path, r.Status, r.Body, want)
		}
		want = h.admin.Want(http.StatusOK, "GET", path, "").Body
		if r := h.changeWhileWaiting(t, path, keys.Settings{Name: "ann", Sub: "ann", Roles: []string{"member"}}, `{"roles":["support"]}`); r.Status != http.StatusOK || string(r.Body) != string(want) {
			t.Errorf("%s with the role: %d %s, want %s", path, r.Status, r.Body, want)
		}
	}
}

// TestLineageWithinACollectionUnderRules: a value that is made of documents of its own collection names those alone that may be read.
func TestLineageWithinACollectionUnderRules(t *testing.T) {
	h := openHouse(t, `
collections:
  tasks:
    relations: { parent: { path: parentId, to: tasks } }
    derive: { children: { count: tasks.parent, publish: true } }
    access: { read: { where: "auth.sub == doc.owner" }, write: [manager] }
`, nil)
	h.admin.Put("tasks", "t0", `{"owner":"ann"}`)
	h.admin.Put("tasks", "t1", `{"owner":"ann","parentId":"t0"}`)
	h.admin.Put("tasks", "hidden", `{"owner":"bob","parentId":"t0"}`)
	body := string(h.asSub(t, "ann").Want(http.StatusOK, "GET", "/v1/tasks/t0/_lineage", "").Body)
	if strings.Contains(body, `"id":"hidden"`) || strings.Contains(body, `"documents":2`) || !strings.Contains(body, `"t1"`) {
		t.Errorf("lineage: %s", body)
	}
}

// TestRulesCostTogether: rules that cost much are bounded on all documents together that one request names.
func TestRulesCostTogether(t *testing.T) {
	h := openHouse(t, `collections: {many: {access: {read: {where: "doc.m.all(a, doc.m.all(b, doc.m.all(c, true)))"}}}}`, nil)
	var lines strings.Builder
	list := "[" + strings.Repeat("1,", 99) + "1]"
	var ids []string
	for i := range 600 {
		fmt.Fprintf(&lines, "{\"id\":\"%d\",\"m\":%s}\n", i, list)
		ids = append(ids, fmt.Sprint(i))
	}
	h.admin.Want(http.StatusOK, "POST", "/v1/_import?collection=many", lines.String(), "Content-Type", "application/x-ndjson")
	ann := h.asSub(t, "ann")
	if body := string(ann.Want(http.StatusOK, "GET", "/v1/many?ids="+strings.Join(ids[:3], ","), "").Body); !strings.Contains(body, `"missing":["0","1","2"]`) {
		t.Errorf("a rule that costs too much lets see %s", body)
	}
	if body := string(ann.Want(http.StatusUnprocessableEntity, "GET", "/v1/many?ids="+strings.Join(ids, ","), "").Body); !strings.Contains(body, "cost more than 50000000") {
		t.Errorf("the refusal says %s", body)
	}
}
