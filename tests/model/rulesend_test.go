package model_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/fanfold/fanfold/tests/harness"
	"github.com/fanfold/fanfold/tests/suite"
)

// endModels say who reads tasks: both the members of their project. The second one hides half of the tasks from them.
var endModels = []string{
	`{collections: {projects: {access: {read: [lead], write: [lead]}}, tasks: {relations: {project: {path: projectId, to: projects}},
derive: {members: {copy: project, value: doc.members, publish: true}}, indexes: {mine: ["members[]"]}, access: {read: {where: "auth.sub in doc.members"}, write: [lead]}}}}`,
	`{collections: {projects: {access: {read: [lead], write: [lead]}}, tasks: {relations: {project: {path: projectId, to: projects}},
derive: {members: {copy: project, value: doc.members, publish: true}}, indexes: {mine: ["members[]"]}, access: {read: {where: "auth.sub in doc.members && doc.half == 0"}, write: [lead]}}}}`,
}

// membership is who was a member of each project from which event on, as the answers to those who wrote it say.
type membership struct {
	mu sync.Mutex
	of map[string][]since // by project
}

// since are the members from an event on.
type since struct {
	seq     uint64
	members []string
}

// note takes note of a write of a project.
func (m *membership) note(project string, seq uint64, members []string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.of[project] = append(m.of[project], since{seq, members})
}

// had tells whether somebody was a member after an event.
func (m *membership) had(project, sub string, seq uint64) bool {
	var last since
	for _, x := range m.of[project] {
		if x.seq <= seq && x.seq >= last.seq {
			last = x
		}
	}
	return slices.Contains(last.members, sub)
}

// follower is somebody who follows the tasks on one node.
type follower struct {
	c    *harness.Client
	sub  string
	rows []endRow                   // all that came
	now  map[string]json.RawMessage // what it holds
}

// endRow is a row that came with a document.
type endRow struct {
	seq         uint64
	project, op string
}

// follow reads the feed, from its beginning again after each 410, until a position.
func (f *follower) follow(t *testing.T, end *atomic.Uint64) {
	at, reached := "0", uint64(0)
	for e := end.Load(); e == 0 || reached < e; e = end.Load() {
		r, err := f.c.Do("GET", "/v1/_changes?mode=all&include_docs=true&limit=50&collections=tasks&since="+at, nil)
		if err != nil {
			t.Error(err)
			return
		}
		if r.Status == http.StatusGone { // the rules have changed
			at, reached = "0", 0
			clear(f.now)
			continue
		}
		var page struct {
			Results []struct {
				Seq, ID, Op string
				Doc         json.RawMessage
			}
			LastSeq string `json:"last_seq"`
		}
		if err := json.Unmarshal(r.Body, &page); err != nil || r.Status != http.StatusOK {
			t.Errorf("%d %s: %v", r.Status, r.Body, err)
			return
		}
		for _, row := range page.Results {
			if row.Op == "leave" || row.Op == "delete" {
				delete(f.now, row.ID)
				continue
			}
			var doc struct{ ProjectID string }
			if err := json.Unmarshal(row.Doc, &doc); err != nil {
				t.Errorf("%s without a document: %v", row.Seq, err)
			}
			f.rows = append(f.rows, endRow{harness.SeqOf(row.Seq), doc.ProjectID, row.Op})
			f.now[row.ID] = row.Doc
		}
		at, reached = page.LastSeq, harness.SeqOf(page.LastSeq)
	}
}

// TestNoRowAfterTheEnd: while members and rules change on three nodes, nobody gets a row from after the event that ended their right. At the end everybody
// holds what their list shows.
func TestNoRowAfterTheEnd(t *testing.T) {
	suite.Concurrent(t)
	nodes := cluster(t, 1, 3)
	nodes[0].CloseHouse()
	nodes[0].Model(endModels[0])
	keys := make([]string, 3)
	for i := range keys {
		keys[i] = nodes[0].NewKey("member")
	}
	m := &membership{of: map[string][]since{}}
	var end atomic.Uint64
	var followers []*follower
	for _, n := range nodes {
		n.Key = nodes[0].Key
		n.CatchUp()
		awaitKey(t, n.With(keys[len(keys)-1]))
		for _, key := range keys {
			followers = append(followers, &follower{c: n.With(key), sub: "key:" + key[4:16], now: map[string]json.RawMessage{}})
		}
	}
	var reading, writing sync.WaitGroup
	for _, f := range followers {
		reading.Go(func() { f.follow(t, &end) })
	}
	rounds := suite.Amount(60, 1500)
	for w, n := range nodes {
		writing.Go(func() { writeTasks(t, n.With(nodes[0].Key), w, 3*rounds) })
		writing.Go(func() { moveMembers(t, n.With(nodes[0].Key), m, w, rounds, keys) })
	}
	writing.Go(func() {
		for i := range rounds / 15 {
			nodes[1].With(nodes[0].Key).Model(endModels[(i+1)%2])
		}
	})
	writing.Wait()
	for _, n := range nodes {
		n.CatchUp()
	}
	last := nodes[0].Put("projects", "last", `{}`)
	end.Store(harness.SeqOf(last.Header.Get("Fanfold-Position")))
	reading.Wait()
	rows := 0
	for i, f := range followers {
		rows += len(f.rows)
		for _, row := range f.rows {
			if !m.had(row.project, f.sub, row.seq) {
				t.Errorf("follower %d got a row %s of event %d about a task of %s, and was no member", i, row.op, row.seq, row.project)
			}
		}
		if got, want := held(f.now), listedTasks(t, f.c); got != want {
			t.Errorf("follower %d holds\n%s and its list shows\n%s", i, got, want)
		}
	}
	if first := m.of["p0"][0].seq; rows < 100 || first == 0 {
		t.Errorf("there were %d rows, and the first members were those of event %d", rows, first)
	}
}

// writeTasks writes tasks, and moves them between projects.
func writeTasks(t *testing.T, c *harness.Client, w, rounds int) {
	rng := rand.New(rand.NewPCG(22, uint64(w)))
	for n := range rounds {
		r, err := c.Do("PUT", fmt.Sprintf("/v1/tasks/t%02d", rng.IntN(20)), fmt.Appendf(nil, `{"projectId":"p%d","half":%d,"n":"%d.%d"}`, rng.IntN(3), rng.IntN(2), w, n), "Prefer", "respond-async")
		if err != nil || r.Status >= 300 && r.Status != http.StatusTooManyRequests {
			t.Errorf("%+v %v", r, err)
			return
		}
	}
}

// moveMembers changes the members of the project that is a writer's own.
func moveMembers(t *testing.T, c *harness.Client, m *membership, w, rounds int, keys []string) {
	rng := rand.New(rand.NewPCG(23, uint64(w)))
	project := fmt.Sprint("p", w)
	for range rounds {
		var members []string
		for _, key := range keys {
			if rng.IntN(2) == 0 {
				members = append(members, "key:"+key[4:16])
			}
		}
		text, _ := json.Marshal(members)
		r, err := c.Do("PUT", "/v1/projects/"+project, []byte(`{"members":`+strings.Replace(string(text), "null", "[]", 1)+`}`))
		if err != nil || r.Status >= 300 {
			t.Errorf("%+v %v", r, err)
			return
		}
		m.note(project, harness.SeqOf(r.Header.Get("Fanfold-Position")), members)
	}
}

// held returns the documents that a follower holds, by id.
func held(now map[string]json.RawMessage) string {
	var all []string
	for _, doc := range now {
		all = append(all, string(doc))
	}
	slices.Sort(all)
	return strings.Join(all, "\n") + "\n"
}

// listedTasks returns the documents that somebody's list shows, by id.
func listedTasks(t *testing.T, c *harness.Client) string {
	t.Helper()
	var page struct{ Items []json.RawMessage }
	if err := json.Unmarshal(c.Want(http.StatusOK, "GET", "/v1/tasks", "").Body, &page); err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, doc := range page.Items {
		all = append(all, string(doc))
	}
	slices.Sort(all)
	return strings.Join(all, "\n") + "\n"
}
