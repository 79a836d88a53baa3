package api_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/url"
	"regexp"
	"testing"

	"github.com/fanfold/fanfold/tests/harness"
)

// twinModel is a model with indexes that serve the rules, and others that serve the filters of readers.
const twinModel = `
collections:
  projects:
    access: { read: { where: "auth.sub in doc.members" }, write: [manager] }
    derive: { tasks: { count: tasks.project, publish: true } }
  tasks:
    relations: { project: { path: projectId, to: projects }, parent: { path: parentId, to: tasks } }
    derive: { members: { copy: project, value: doc.members, publish: true } }
    indexes: { mine: ["members[]"], byRank: [rank], both: [title, rank], tags: ["tags[]"], tagsRank: ["tags[]", rank], mineRank: ["members[]", rank] }
    access: { read: { where: "auth.sub in doc.members" }, write: [manager] }
  other:
    relations: { project: { path: projectId, to: projects } }
    indexes: { byRank: [rank], both: [title, rank], tags: ["tags[]"] }
    access: { read: { where: "doc.owner == auth.sub" }, write: [manager] }
`

// twinBody returns a random document.
func twinBody(r *rand.Rand, n int, project, owner string) string {
	pick := func(list ...string) string { return list[r.IntN(len(list))] }
	return fmt.Sprintf(`{"n":%d,"projectId":%q,"owner":%q,"rank":%s,"title":%q,"tags":%s%s}`, n, project, owner, pick("0", "1", "2", "3", "4", "5", `"text"`),
		pick("", "a", "bb", "a title that has more bytes than others have"), pick(`[]`, `["x"]`, `["x","y"]`, `["z","x"]`, `"x"`, `null`), pick("", "", `,"rnak":1`))
}

// openTwin returns a reader of a store. The number secret makes what the reader may not read, and everything else is always the same. Documents come, go and
// become hidden.
func openTwin(t *testing.T, secret uint64) *harness.Client {
	h := openHouse(t, twinModel, nil)
	h.admin.Put("projects", "p1", `{"members":["ann","bob"]}`)
	h.admin.Put("projects", "p2", `{"members":["bob"]}`)
	told, hidden, n := rand.New(rand.NewPCG(1, 1)), rand.New(rand.NewPCG(secret, 51)), 0
	for round := range 4 {
		for i := range 18 {
			id := fmt.Sprintf("t%02d", i)
			if round == 3 && i%6 == 4 || round == 2 && i%6 == 2 {
				h.admin.Want(204, "DELETE", "/v1/tasks/"+id, "")
				h.admin.Want(204, "DELETE", "/v1/other/"+id, "")
				continue
			}
			r, project, owner := hidden, "p2", "bob"
			if i%3 == 0 || i%3 == 1 && round%2 == 1 && (round < 3 || i%6 != 1) {
				r, project, owner = told, "p1", "ann"
			}
			n++
			h.admin.Put("tasks", id, twinBody(r, n, project, owner))
			h.admin.Put("other", id, twinBody(r, n, "p1", owner))
		}
	}
	return h.asSub(t, "ann")
}

// ofOneStore is what differs in answers of two stores whatever they have: the names of stores, times, and the texts of cursors, but not their lengths.
var ofOneStore = regexp.MustCompile(`"next":"[^"]*"|-[a-z2-7]{8}\b|\d{4}-\d\d-\d\dT[0-9:.]+Z`)

// sameOfTwins asks two stores the same, page by page, and compares the answers.
func sameOfTwins(t *testing.T, a, b *harness.Client, path string) {
	t.Helper()
	var next [2]string
	for range 40 {
		var said [2]string
		for i, c := range []*harness.Client{a, b} {
			at := path
			if next[i] != "" {
				at += "&cursor=" + url.QueryEscape(next[i])
			}
			r, err := c.Do("GET", at, nil)
			if err != nil {
				t.Fatal(err)
			}
			var page struct{ Next string }
			if err := json.Unmarshal(r.Body, &page); err != nil {
				t.Fatalf("%s: %v: %s", path, err, r.Body)
			}
			next[i] = page.Next
			said[i] = fmt.Sprint(r.Status, ofOneStore.ReplaceAllString(string(r.Body), ""), len(page.Next), ofOneStore.ReplaceAllString(fmt.Sprint(r.Header["Etag"], r.Header["Fanfold-Position"], r.Header["Fanfold-Revision"]), ""))
		}
		if said[0] != said[1] {
			t.Errorf("%s tells what is hidden:\n%s\n%s", path, said[0], said[1])
			return
		}
		if next[0] == "" {
			return
		}
	}
	t.Errorf("%s has no end", path)
}

// TestTwinStores: two stores that differ in what a reader may not read answer that reader alike, on every road of reading.
func TestTwinStores(t *testing.T) {
	a, b := openTwin(t, 2), openTwin(t, 3)
	var paths []string
	add := func(path, filter string) { paths = append(paths, path+"filter="+url.QueryEscape(filter)) }
	for _, filter := range []string{"true", "doc.rank == 3", "doc.rank > 2", "'x' in doc.tags", "doc.rnak == 2", "doc.rank < 3 && doc.title != ''", "doc.id > 't05'", "doc.projectId == 'p2'", "doc.title > 'b' && doc.rank == 1", "1 / doc.rank > 0"} {
		for _, list := range []string{"tasks", "other", "projects/p1/tasks", "projects/p1/other"} {
			for _, sort := range []string{"", "&sort=rank", "&sort=-title", "&sort=title,rank"} {
				for _, more := range []string{"limit=2", "maxScan=3", "maxScan=2&partial=true", "count=true&limit=3"} {
					add("/v1/"+list+"?fields=rank"+sort+"&"+more+"&", filter)
				}
			}
			for _, group := range []string{"rank", "tags[]", "owner,rank"} {
				add("/v1/"+list+"?compute=count,max(title)&maxScan=4&limit=2&group="+group+"&", filter)
			}
		}
		for _, feed := range []string{"mode=all", "mode=latest", "mode=all&include_docs=true", "mode=latest&include_docs=true", "mode=all&derived=exclude", "mode=latest&cascades=exclude&limit=5"} {
			add("/v1/_changes?"+feed+"&", filter)
		}
	}
	for i := range 18 {
		for _, more := range []string{"", "?expand=project,parent", "/_lineage", "/tasks?relation=parent"} {
			paths = append(paths, fmt.Sprintf("/v1/tasks/t%02d%s", i, more))
		}
	}
	paths = append(paths, "/v1", "/v1/tasks?limit=3", "/v1/other?limit=3", "/v1/projects/p1/_lineage", "/v1/projects/p2/_lineage", "/v1/_changes?mode=all&include_docs=true", "/v1/tasks?ids=t00,t01,t02,zz")
	for _, path := range paths {
		sameOfTwins(t, a, b, path)
	}
}
