package api_test

import (
	"bufio"
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/fanfold/fanfold/tests/harness"
	"github.com/fanfold/fanfold/tests/suite"
)

// twinWriteModel is a model whose writes rules judge, with everything that a write of one document does to others.
const twinWriteModel = `
collections:
  projects:
    access:
      read: { where: "auth.sub in doc.members" }
      create: [member]
      update: { where: "auth.sub in old.members && doc.rank != 4" }
      delete: { where: "auth.sub in old.members && old.tasks < 3" }
    derive: { tasks: { count: tasks.project, publish: true } }
  tasks:
    relations:
      project: { path: projectId, to: projects }
      parent:  { path: parentId, to: tasks, onDelete: cascade }
      blocks:  { path: blocks, to: tasks, onDelete: restrict }
      label:   { path: labelId, to: labels, onDelete: unlink }
      seen:    { path: "seen[]", to: tasks }
    unique: [slug]
    sequences: { number: { per: doc.projectId, format: "{per}-{n:3}" } }
    defaults: { state: open }
    schema: { properties: { n: { type: integer } } }
    indexes: { mine: ["members[]"], byRank: [rank] }
    derive:
      members: { copy: project, value: doc.members, publish: true }
      labelName: { copy: label, value: doc.name, frozen: true, publish: true }
      twice: { value: "doc.rank * 2", publish: true }
    access:
      read: { where: "auth.sub in doc.members" }
      create: { where: "doc.owner == auth.sub && doc.rank != 4" }
      update: { where: "auth.sub in doc.members && doc.twice != 4" }
      delete: { where: "old.rank < 4" }
  notes:
    relations: { task: { path: taskId, to: tasks, strict: true } }
    indexes: { byRank: [rank] }
    access:
      read: { where: "doc.owner == auth.sub" }
      create: { where: "doc.rank != 4" }
      update: { where: "doc.rank != 4 && old.rank < 4" }
      delete: { where: "1 / old.rank > 0" }
  labels:
    derive: { used: { count: tasks.label, publish: true } }
    access: { read: [member], write: [member] }
functions:
  g:
    call: [member]
    reads: [tasks, notes]
    source: |
      export default (ctx) => {
        const tried = (f) => { try { return f() } catch (e) { return [e.code, e.message] } }
        const out = [tried(() => ctx.query("notes", {sort: "rank"})), tried(() => ctx.children("projects", "p1", "tasks"))]
        for (let i = 0; i < 14; i++) {
          const id = String(i).padStart(2, "0")
          out.push(tried(() => ctx.get("tasks", "t" + id)), tried(() => ctx.get("notes", "n" + id, {view: "embedded"})),
            tried(() => ctx.patch("notes", "n" + id, {rank: 1})), tried(() => ctx.delete("tasks", "t" + id)))
        }
        return out
      }
`

// twins are two stores with the same history, apart from what ann may not read, and who asks both the same.
type twins struct {
	t      *testing.T
	houses [2]*house
	ann    [2]*harness.Client
	told   *rand.Rand    // of everything that is the same
	hidden [2]*rand.Rand // of the bodies that differ
	writes int
	end    int            // the last event that an answer has told
	said   map[string]int // answers by status and method
}

// newTwins opens two stores.
func newTwins(t *testing.T, seed uint64) *twins {
	w := &twins{t: t, told: rand.New(rand.NewPCG(seed, 52)), said: map[string]int{}, end: 1}
	for i := range w.houses {
		w.houses[i] = openHouse(t, twinWriteModel, nil)
		w.hidden[i] = rand.New(rand.NewPCG(seed, 60+uint64(i)))
		w.ann[i] = w.houses[i].asSub(t, "ann")
	}
	w.both("PUT", "/v1/projects/p1", `{"members":["ann","bob"]}`)
	w.both("PUT", "/v1/projects/p2", `{"members":["bob"]}`)
	w.both("PUT", "/v1/projects/p3", `{"members":["ann"]}`)
	for i := range 3 {
		w.both("PUT", fmt.Sprint("/v1/labels/l", i), fmt.Sprintf(`{"name":"label %d"}`, i))
	}
	return w
}

// both writes as an admin the same to both stores.
func (w *twins) both(method, path, body string) {
	w.t.Helper()
	var status [2]int
	for i, h := range w.houses {
		r, err := h.admin.Do(method, path, []byte(body), "Content-Type", "application/json")
		if err != nil || r.Status >= 500 {
			w.t.Fatal(r, err)
		}
		status[i] = r.Status
	}
	if status[0] != status[1] {
		w.t.Fatalf("%s %s %s: %v: the stores are no twins", method, path, body, status)
	}
}

// of draws one of some texts.
func of(r *rand.Rand, list ...string) string { return list[r.IntN(len(list))] }

// frame draws what is the same of a document in both stores: all that others get of it.
func (w *twins) frame(collection string, hidden bool) string {
	w.writes++
	text := fmt.Sprintf(`"n":%d`, w.writes)
	task := func() string { return fmt.Sprintf("t%02d", w.told.IntN(14)) }
	switch {
	case collection == "tasks" && hidden:
		text += `,"projectId":"p2"`
	case collection == "tasks":
		text += fmt.Sprintf(`,"projectId":%q`, of(w.told, "p1", "p3"))
	case hidden:
		text += `,"owner":"bob"`
	default:
		text += `,"owner":"ann"`
	}
	if collection == "notes" {
		return text + fmt.Sprintf(`,"taskId":%q`, of(w.told, "t00", "t01", "t02"))
	}
	if w.told.IntN(3) == 0 {
		text += fmt.Sprintf(`,"parentId":%q`, task())
	}
	if w.told.IntN(5) == 0 {
		text += fmt.Sprintf(`,"blocks":%q`, task())
	}
	return text + fmt.Sprintf(`,"labelId":"l%d"`, w.told.IntN(3))
}

// filler draws the rest of a document.
func filler(r *rand.Rand) string {
	text := fmt.Sprintf(`,"rank":%s,"title":%q,"tags":%s`, of(r, "0", "1", "2", "3", "4", "5", `"text"`, "null"), strings.Repeat(of(r, "a", "bb", "c"), r.IntN(40)),
		of(r, `[]`, `["x"]`, `["x","y"]`, `"x"`, `null`))
	for range r.IntN(3) {
		text += fmt.Sprintf(`,"m%d":%d`, r.IntN(1e9), r.IntN(1e9))
	}
	return text
}

// secretly writes a document that ann may not read, with another body in each store.
func (w *twins) secretly(collection string, ids ...string) {
	w.t.Helper()
	frames, n := make([]string, len(ids)), w.writes
	for i := range ids {
		frames[i] = w.frame(collection, true)
	}
	var status [2][]int
	for i, h := range w.houses {
		status[i] = make([]int, len(ids))
		for k := range ids {
			body := "{" + frames[k] + filler(w.hidden[i])
			if collection == "tasks" {
				body += fmt.Sprintf(`,"owner":%q,"slug":"h%d-%d-%d"`, of(w.hidden[i], "ann", "bob"), i, n, k)
			}
			r, err := h.admin.Do("PUT", harness.Path(collection, ids[k]), []byte(body+"}"), "Content-Type", "application/json")
			if err != nil || r.Status >= 500 {
				w.t.Fatal(r, err)
			}
			if status[i][k] = r.Status; r.Status >= 300 && r.Status != 409 && r.Status != 422 {
				w.t.Fatalf("%s: %d %s", body, r.Status, r.Body)
			}
		}
	}
	if fmt.Sprint(status[0]) != fmt.Sprint(status[1]) {
		w.t.Fatalf("%v: %v: the stores are no twins", ids, status)
	}
}

// openly writes a document that ann may read, alike in both stores.
func (w *twins) openly(collection, id string) {
	w.t.Helper()
	body := "{" + w.frame(collection, false) + filler(w.told)
	if collection == "tasks" {
		body += fmt.Sprintf(`,"owner":%q,"slug":"o%d"`, of(w.told, "ann", "bob"), w.writes)
	}
	w.both("PUT", harness.Path(collection, id), body+"}")
}

// twinAsk is one request.
type twinAsk struct {
	method, path, body string
	headers            []string
}

// target draws a document.
func (w *twins) target() (collection, id string) {
	switch w.told.IntN(10) {
	case 0:
		return "projects", of(w.told, "p1", "p2", "p3", "p9")
	case 1:
		return "labels", of(w.told, "l0", "l1", "l2", "l9")
	case 2, 3, 4:
		return "notes", fmt.Sprintf("n%02d", w.told.IntN(14))
	}
	return "tasks", fmt.Sprintf("t%02d", w.told.IntN(20))
}

// content draws a body that ann sends.
func (w *twins) content(collection string) string {
	body := "{" + w.frame(collection, w.told.IntN(4) == 0) + filler(w.told)
	if collection == "tasks" {
		body += fmt.Sprintf(`,"owner":%q`, of(w.told, "ann", "bob", "ann"))
		if w.told.IntN(2) == 0 {
			body += fmt.Sprintf(`,"slug":"a%d"`, w.told.IntN(8))
		}
	}
	if w.told.IntN(12) == 0 {
		body += of(w.told, `,"_secret":1`, `,"members":["ann"]`, `,"twice":1`, `,"rank":1`, `,"n":"text"`, `,"x":`)
	}
	if collection == "projects" {
		body = strings.Replace(body, "{", `{"members":`+of(w.told, `["ann"]`, `["ann","bob"]`, `[]`)+",", 1)
	}
	return body + "}"
}

// patch draws a patch, and its type.
func (w *twins) patch() (body, contentType string) {
	if w.told.IntN(3) > 0 {
		return of(w.told, `{"rank":2}`, `{"rank":4}`, `{"title":null,"rank":1}`, `{"projectId":"p2"}`, `{"projectId":"p1"}`, `{}`, `{"members":[]}`, `{"owner":"bob"}`, `{"slug":"a1"}`, `{"blocks":"t03"}`), "application/merge-patch+json"
	}
	return of(w.told, `[{"op":"test","path":"/rank","value":2}]`, `[{"op":"replace","path":"/rank","value":3}]`, `[{"op":"increment","path":"/rank","value":1,"max":3}]`, `[{"op":"remove","path":"/title"}]`,
		`[{"op":"copy","from":"/title","path":"/copied"}]`, `[{"op":"test","path":"/members","value":[]}]`, `[{"op":"remove","path":"/nothing"}]`, `[{"op":"add","path":"/tags/-","value":"z"}]`), "application/json-patch+json"
}

// conditions are what an if asks.
var conditions = []string{"doc.rank == 3", "doc.rank < 3", "1 / doc.rank > 0", "'x' in doc.tags", "doc.title.size() > 5", "has(doc.m1)", "doc.owner == 'bob'", "doc.members == []", "doc.nothing == 1"}

// write draws a write of one document.
func (w *twins) write() twinAsk {
	c, id := w.target()
	a := twinAsk{method: of(w.told, "PUT", "PATCH", "DELETE", "POST", "PUT", "PATCH"), path: harness.Path(c, id), headers: []string{"Content-Type", "application/json"}}
	var query []string
	switch a.method {
	case "PUT":
		a.body = w.content(c)
	case "PATCH":
		a.body, a.headers[1] = w.patch()
	case "POST":
		a.path, a.body = "/v1/"+c, w.content(c)
		a.body = strings.Replace(a.body, "{", fmt.Sprintf(`{"id":%q,`, id), 1) // an id that a store draws has another partition in each
	case "DELETE":
		a.headers = nil
	}
	tag := func() string { return of(w.told, "*", fmt.Sprintf(`"%d"`, w.told.IntN(w.end)), `"7", "8", "9"`) }
	switch w.told.IntN(6) {
	case 0:
		a.headers = append(a.headers, "If-Match", tag())
	case 1:
		a.headers = append(a.headers, "If-None-Match", tag())
	case 2:
		query = append(query, "if="+url.QueryEscape(of(w.told, conditions...)))
	}
	more := [][]string{{"Prefer", "return=representation"}, {"Prefer", "handling=strict"}, {"Prefer", "return=minimal, handling=strict"}, {"Idempotency-Key", fmt.Sprint("k", w.told.IntN(9))}}
	if n := w.told.IntN(len(more) + 3); n < len(more) {
		a.headers = append(a.headers, more[n]...)
	}
	for _, q := range []string{"dryRun=true", "examples=3", "refresh=labelName", "steps=true", "allowFanout=true", "unknown=1&other=2&last=3"} {
		if w.told.IntN(14) == 0 {
			query = append(query, q)
		}
	}
	if len(query) > 0 {
		a.path += "?" + strings.Join(query, "&")
	}
	return a
}

// transaction draws a transaction.
func (w *twins) transaction() twinAsk {
	var ops []string
	for range 1 + w.told.IntN(4) {
		c, id := w.target()
		op := fmt.Sprintf(`{"collection":%q,"id":%q`, c, id)
		switch kind := of(w.told, "put", "create", "patch", "delete", "check"); kind {
		case "put", "create":
			op += fmt.Sprintf(`,"op":%q,"body":%s`, kind, w.content(c))
		case "patch":
			body, _ := w.patch()
			op += `,"op":"patch","patch":` + body
		default:
			op += fmt.Sprintf(`,"op":%q`, kind)
		}
		op += of(w.told, "", "", `,"ifMatch":"*"`, fmt.Sprintf(`,"ifMatch":"%d"`, w.told.IntN(w.end)), `,"ifNoneMatch":"*"`, fmt.Sprintf(`,"if":%q`, of(w.told, conditions...)))
		ops = append(ops, op+"}")
	}
	a := twinAsk{"POST", "/v1/_transactions", `{"operations":[` + strings.Join(ops, ",") + `]}`, []string{"Content-Type", "application/json"}}
	a.path += of(w.told, "", "", "", "?dryRun=true", "?dryRun=true&examples=4", "?allowFanout=true")
	if w.told.IntN(5) == 0 {
		a.headers = append(a.headers, "Idempotency-Key", fmt.Sprint("x", w.told.IntN(5)))
	}
	if w.told.IntN(4) == 0 {
		a.headers = append(a.headers, "Prefer", "return=representation")
	}
	return a
}

// bulk draws an update or a delete by query, an import or an export, or another command.
func (w *twins) bulk() twinAsk {
	c, id := w.target()
	a := twinAsk{method: "PATCH", path: "/v1/" + of(w.told, "labels", "labels", c), headers: []string{"Content-Type", "application/merge-patch+json"}}
	switch w.told.IntN(6) {
	case 0, 1:
		a.body = of(w.told, `{"name":"new"}`, `{"rank":1}`)
		a.path += "?filter=" + url.QueryEscape(of(w.told, "true", "doc.used > 2", "doc.name == 'new'", "doc.rank == 3"))
	case 2:
		a.method, a.headers = "DELETE", nil
		a.path += "?filter=" + url.QueryEscape(of(w.told, "doc.used == 0", "doc.rank == 3", "true"))
		a.path += "&dryRun=true"
	case 3:
		a = twinAsk{"POST", "/v1/_import", fmt.Sprintf("{\"collection\":%q,\"doc\":{\"id\":%q}}\n", c, id), []string{"Content-Type", harness.NDJSON}}
	case 4:
		a = twinAsk{"POST", harness.Path(c, id) + "/_revert", fmt.Sprintf(`{"at":"%d"}`, 1+w.told.IntN(w.end)), []string{"Content-Type", "application/json"}}
	default:
		path := of(w.told, "/v1/_erase", "/v1/_replay", "/v1/_compact", "/v1/_verify", "/v1/_snapshot", "/v1/_find", "/v1/_access/_explain", "/v1/_keys", "/v1/_fold", "/v1/_tickets", "/v1/_tokens/_revoke", harness.Path(c, id)+"/_erase", "/v1/nobody/x", "/v1/tasks/t00/nothing")
		a = twinAsk{of(w.told, "POST", "PUT", "DELETE"), path, of(w.told, `{}`, `{"x":1}`, `{`), []string{"Content-Type", "application/json"}}
	}
	if a.method != "POST" && w.told.IntN(4) == 0 && strings.Contains(a.path, "filter") {
		a.path += of(w.told, "&examples=3", "&dryRun=true", "&refresh=labelName", "&params=%7B%7D")
	}
	return a
}

// read draws a read.
func (w *twins) read() twinAsk {
	c, id := w.target()
	filter := "filter=" + url.QueryEscape(of(w.told, append(conditions, "true", "doc.rank > 1 && doc.title != ''", "doc.id > 't05'", "doc.number == 'p2-002'")...))
	list := of(w.told, "/v1/"+c, harness.Path(c, id)+"/tasks", harness.Path("projects", of(w.told, "p1", "p2"))+"/tasks", harness.Path(c, id)+"/notes", "/v1/tasks", "/v1/notes")
	at := fmt.Sprint("at=", 1+w.told.IntN(w.end))
	query := of(w.told, "limit=3", filter, filter+"&sort=rank", filter+"&sort=-title,rank&limit=4", filter+"&count=true", filter+"&group=rank&compute=count,max(title),sum(n)", "group=owner&compute=count", "relation=parent", "relation=blocks",
		"page=1", "view=referenced", "expand=project,parent,blocks,label", "expand=parent.project", "fields=rank,members", "explain=true&"+filter, at, at+"&"+filter, filter+"&maxScan=3", filter+"&maxScan=2&partial=true", "limit=0", "x=1&y=2&z=3", "count=true", "cursor=AAAA")
	feed := of(w.told, "mode=all", "mode=latest", "mode=all&include_docs=true", "include_docs=true", "mode=all&include_docs=true&view=referenced") + of(w.told, "", "&derived=exclude", "&cascades=exclude", "&limit=3", "&collections="+c, "&partition=1/3", "&"+filter, fmt.Sprint("&since=", w.told.IntN(w.end)), "&feed=longpoll&timeout=1ms")
	from := fmt.Sprintf("from=%d&to=%d", w.told.IntN(w.end), w.told.IntN(w.end))
	a := twinAsk{method: of(w.told, "GET", "GET", "GET", "HEAD")}
	a.path = of(w.told, harness.Path(c, id), harness.Path(c, id)+"?"+query, harness.Path(c, id)+"/_lineage", harness.Path(c, id)+"/_history?include_docs=true", harness.Path(c, id)+"/_history", list+"?"+query, list+"?"+query, list+"?"+query, "/v1/_changes?"+feed, "/v1/_changes?"+feed,
		"/v1/tasks?ids=t00,t03,t05,t07,zz&"+query, "/v1/_diff?"+from, "/v1/_diff?collections="+c+"&"+from, "/v1/_export", "/v1/_export?collections="+c, "/v1", "/v1/_me", "/v1/_status", "/v1/_model", "/v1/_model/_pending", "/v1/_model/_flows", "/v1/_groups", "/v1/_sequences", "/v1/_replicas", "/v1/_erasures", "/v1/_compact", "/v1/_keys", "/v1/_backup", "/metrics", "/readyz", "/", "/v1/_actors/x", "/v1/"+c+"/_query")
	if strings.HasSuffix(a.path, "_query") {
		a.method, a.headers = "POST", []string{"Content-Type", "application/json"}
		a.body = of(w.told, `{"filter":"doc.rank == 2","count":true}`, `{"group":["rank"],"compute":["count"]}`, `{"sort":["-rank","title"],"limit":3}`, `{"filter":"1 / doc.rank > 0"}`, `{"x":1,"y":2}`, `{"filter":"doc.rank =="}`)
	}
	if w.told.IntN(6) == 0 {
		a.headers = append(a.headers, of(w.told, "If-None-Match", "If-Match"), of(w.told, "*", fmt.Sprintf(`"%d.1.9"`, w.told.IntN(w.end))))
	}
	return a
}

// ofTheRun is what differs in the answers of any two stores: their names, times, what is drawn, and the texts of cursors, but not their lengths.
var ofTheRun = regexp.MustCompile(`-[a-z2-7]{8}\b|\d{4}-\d\d-\d\dT[0-9:.]+Z|[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}|[A-Z][a-z]{2}, \d\d [A-Z][a-z]{2} \d{4} [0-9:]{8} GMT|"seconds":[0-9.e-]+|"tx":"[A-Za-z0-9]{22}"|"key:[a-z0-9]{12}"|"id":"[a-z0-9]{12}"|fft_[0-9a-f]+|"token":"[^"]*"`)

// cursorOf finds the text of a cursor.
var cursorOf = regexp.MustCompile(`"next":"[^"]*"`)

// alike returns an answer without what differs in any two stores.
func alike(r *harness.Response) string {
	text := cursorOf.ReplaceAllStringFunc(string(r.Body), func(c string) string { return fmt.Sprint(len(c), " bytes") })
	var headers []string
	for name, values := range r.Header {
		if name != "Date" && name != "Content-Length" { // the length of times differs
			headers = append(headers, fmt.Sprint(name, values))
		}
	}
	slices.Sort(headers)
	return ofTheRun.ReplaceAllString(fmt.Sprint(r.Status, "\n", strings.Join(headers, "\n"), "\n", text), "~")
}

// same asks both stores as ann, and compares the answers.
func (w *twins) same(a twinAsk) {
	w.t.Helper()
	var said [2]string
	for i, ann := range w.ann {
		r, err := ann.Do(a.method, a.path, []byte(a.body), append([]string{"X-Request-Id", "the-same"}, a.headers...)...)
		if err != nil {
			w.t.Fatal(err)
		}
		if r.Status >= 500 {
			w.t.Fatalf("%v: %d %s", a, r.Status, r.Body)
		}
		w.end = max(w.end, int(harness.SeqOf(r.Header.Get("Fanfold-Position"))))
		if said[i] = alike(r); i == 0 {
			w.said[fmt.Sprint(a.method, " ", r.Status)]++
		}
	}
	if said[0] != said[1] {
		w.t.Fatalf("%q tells what is hidden:\n%s\n\n%s", a, said[0], said[1])
	}
}

// TestTwinStoresOfAWriter: two random histories that differ in what ann may not read answer her alike, whatever she reads and writes, on every route.
//
// By contract a writer learns three things, so they are the same in both stores: which ids are taken, which unique values are, and how many events a request
// wrote. Hidden documents have other values of unique members than the ones that she tries.
func TestTwinStoresOfAWriter(t *testing.T) {
	suite.Parallel(t)
	for seed := range uint64(suite.Amount(2, 40)) {
		w := newTwins(t, seed)
		for step := range 120 {
			if step%4 == 0 {
				for _, c := range []string{"tasks", "notes"} {
					var ids []string
					for i := range 14 {
						if i%3 == 2 && w.told.IntN(3) == 0 {
							ids = append(ids, fmt.Sprintf("%.1s%02d", c, i))
						}
					}
					w.secretly(c, ids...)
					w.openly(c, fmt.Sprintf("%.1s%02d", c, 3*w.told.IntN(5)+w.told.IntN(2)))
				}
			}
			if step%40 == 39 {
				w.both("DELETE", fmt.Sprintf("/v1/notes/n%02d", w.told.IntN(14)), "")
			}
			w.same(w.write())
			w.same(w.write())
			w.same(w.transaction())
			w.same(w.bulk())
			for range 4 {
				w.same(w.read())
			}
		}
		w.streams()
		t.Log(w.said)
	}
}

// streams compares what each form of the feed sends, up to a document that ann writes last.
func (w *twins) streams() {
	w.t.Helper()
	w.same(twinAsk{"PUT", "/v1/labels/last", `{"name":"the end of the feed"}`, []string{"Content-Type", "application/json"}})
	for _, form := range []string{"continuous", "eventsource"} {
		for _, query := range []string{"mode=all&include_docs=true", "mode=latest", "mode=latest&include_docs=true&filter=" + url.QueryEscape("doc.name != '' || doc.rank < 3"), "mode=all&derived=exclude"} {
			var said [2]string
			for i := range said {
				said[i] = w.stream(i, "/v1/_changes?since=0&feed="+form+"&"+query)
			}
			if said[0] != said[1] {
				w.t.Fatalf("%s %s tells what is hidden:\n%s\n\n%s", form, query, said[0], said[1])
			}
		}
	}
}

// stream reads a stream of one store up to the last document.
func (w *twins) stream(i int, path string) string {
	w.t.Helper()
	ctx, cancel := context.WithCancel(w.t.Context())
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, w.ann[i].URL+path, nil)
	if err != nil {
		w.t.Fatal(err)
	}
	r, err := w.ann[i].HTTP.Do(req)
	if err != nil {
		w.t.Fatal(err)
	}
	defer r.Body.Close()
	var lines []string
	for in := bufio.NewScanner(r.Body); in.Scan(); {
		lines = append(lines, ofTheRun.ReplaceAllString(in.Text(), "~"))
		if strings.Contains(in.Text(), `"id":"last"`) {
			return strings.Join(lines, "\n")
		}
	}
	w.t.Fatalf("%s ends before the last document: %q", path, lines)
	return ""
}
