package api_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/fanfold/fanfold/tests/harness"
)

// moves are writes after which different principals read a task than before.
var moves = []struct{ method, path, body string }{
	{"PUT", "/v1/projects/p1", `{"members":["ann","bob"]}`},
	{"PUT", "/v1/projects/p2", `{"members":["bob"]}`},
	{"PUT", "/v1/tasks/t1", `{"projectId":"p1","rank":1}`},
	{"PUT", "/v1/tasks/t2", `{"projectId":"p1","rank":1,"parentId":"t1"}`},
	{"PUT", "/v1/tasks/t3", `{"projectId":"p2","rank":1}`},
	{"PUT", "/v1/tasks/t1", `{"projectId":"p2","rank":2}`}, // hidden from ann
	{"PUT", "/v1/tasks/t1", `{"projectId":"p2","rank":3}`},
	{"PUT", "/v1/tasks/t1", `{"projectId":"p1","rank":4}`}, // and shown again
	{"PUT", "/v1/projects/p1", `{"members":["ann"]}`},      // bob loses what he saw
	{"PUT", "/v1/tasks/t2", `{"projectId":"p1","rank":2}`},
	{"PUT", "/v1/tasks/t4", `{"projectId":"p1","rank":1}`},
	{"PUT", "/v1/tasks/t5", `{"projectId":"p1","rank":1}`},
	{"PUT", "/v1/tasks/t5", `{"projectId":"p2","rank":2}`},
	{"DELETE", "/v1/tasks/t4", ""}, // ann saw it last
	{"DELETE", "/v1/tasks/t5", ""}, // bob saw it last
	{"PUT", "/v1/tasks/t5", `{"projectId":"p1","rank":9}`},
	{"PUT", "/v1/projects/p2", `{"members":["bob","eve"]}`},
	{"PUT", "/v1/tasks/t3", `{"projectId":"p2","rank":5}`},
}

// moved has what an admin saw of the store after each of moves.
type moved struct {
	at     []string            // positions
	states []map[string][]byte // by the key of a document, what it had
	last   map[string][]byte   // what a document has, or had last
}

// move makes the moves.
func move(t *testing.T, h *house) *moved {
	t.Helper()
	m := &moved{last: map[string][]byte{}}
	for _, x := range moves {
		r, err := h.admin.Do(x.method, x.path, []byte(x.body))
		if err != nil || r.Status >= http.StatusMultipleChoices {
			t.Fatalf("%s %s: %+v %v", x.method, x.path, r, err)
		}
		m.at = append(m.at, r.Header.Get("Fanfold-Position"))
		state := map[string][]byte{}
		for _, collection := range []string{"projects", "tasks"} {
			var page struct{ Items []json.RawMessage }
			if err := json.Unmarshal(h.admin.Want(http.StatusOK, "GET", "/v1/"+collection, "").Body, &page); err != nil {
				t.Fatal(err)
			}
			for _, item := range page.Items {
				var doc struct{ ID string }
				if err := json.Unmarshal(item, &doc); err != nil {
					t.Fatal(err)
				}
				state[collection+"/"+doc.ID] = item
				m.last[collection+"/"+doc.ID] = item
			}
		}
		m.states = append(m.states, state)
	}
	return m
}

// memberOf tells whether a document names somebody as a member.
func memberOf(doc []byte, sub string) bool {
	var d struct{ Members []string }
	return json.Unmarshal(doc, &d) == nil && slices.Contains(d.Members, sub)
}

// sees tells whether somebody sees a document as it was after a move: it names them then, and now.
func (m *moved) sees(i int, key, sub string) bool {
	return memberOf(m.states[i][key], sub) && memberOf(m.last[key], sub)
}

// TestRulesOfThePast: what a rule hides now, or hid then, is not shown of any time. An oracle of its own compares each document, list and child at each
// position.
func TestRulesOfThePast(t *testing.T) {
	h := openHouse(t, teams, nil)
	m := move(t, h)
	subs := map[string]*harness.Client{}
	for _, sub := range []string{"ann", "bob", "eve"} {
		subs[sub] = h.asSub(t, sub)
	}
	for sub, c := range subs {
		for i, at := range m.at {
			want := map[string][]string{}
			for key := range m.last {
				collection, id, _ := strings.Cut(key, "/")
				for _, form := range []string{"", "&view=referenced"} {
					path := "/v1/" + key + "?at=" + at + form
					if !m.sees(i, key, sub) {
						absent := "/v1/" + key + "?at=" + m.at[0] + form // of a document whose existence is known
						if !memberOf(m.last[key], sub) {
							absent = strings.Replace(path, id, "zz", 1)
						}
						asIfAbsent(t, c, "GET", path, absent, "")
						continue
					}
					if got, all := c.Want(http.StatusOK, "GET", path, "").Body, h.admin.Want(http.StatusOK, "GET", path, "").Body; string(got) != string(all) {
						t.Errorf("%s sees %s at %s as %s, and it was %s", sub, key, at, got, all)
					}
				}
				if m.sees(i, key, sub) {
					want[collection] = append(want[collection], id)
				}
			}
			for _, collection := range []string{"projects", "tasks"} {
				slices.Sort(want[collection])
				for _, limit := range []string{"", "&limit=1", "&limit=2&view=referenced"} {
					path := "/v1/" + collection + "?at=" + at + limit
					if got := idsOf(t, c, path); !slices.Equal(got, want[collection]) {
						t.Errorf("%s: %s gives %s, want %s", sub, path, got, want[collection])
					}
				}
			}
			m.compareChildren(t, c, i, sub)
		}
	}
}

// compareChildren compares the tasks of each project after a move.
func (m *moved) compareChildren(t *testing.T, c *harness.Client, i int, sub string) {
	t.Helper()
	for _, project := range []string{"p1", "p2"} {
		path := "/v1/projects/" + project + "/tasks?limit=1&at=" + m.at[i]
		if !m.sees(i, "projects/"+project, sub) {
			c.Want(http.StatusNotFound, "GET", path, "")
			continue
		}
		var want []string
		for key, doc := range m.states[i] {
			if id, ok := strings.CutPrefix(key, "tasks/"); ok && m.sees(i, key, sub) && strings.Contains(string(doc), `"projectId":"`+project+`"`) {
				want = append(want, id)
			}
		}
		got := idsOf(t, c, path)
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Errorf("%s: %s gives %s, want %s", sub, path, got, want)
		}
	}
}

// pastVersion is an item of a history.
type pastVersion struct {
	Op, Seq string
	Doc     json.RawMessage
	Patch   json.RawMessage
}

// pastVersionsOf returns the versions of all pages of a history.
func pastVersionsOf(t *testing.T, c *harness.Client, key, query string) (all []pastVersion) {
	t.Helper()
	cursor := ""
	for range 100 {
		var page struct {
			Items []pastVersion
			Next  string
		}
		if err := json.Unmarshal(c.Want(http.StatusOK, "GET", "/v1/"+key+"/_history?"+query+cursor, "").Body, &page); err != nil {
			t.Fatal(err)
		}
		all = append(all, page.Items...)
		if page.Next == "" {
			return all
		}
		cursor = "&cursor=" + page.Next
	}
	t.Fatal("the history has no end")
	return nil
}

// TestHistoriesUnderRules: a history has the versions that its reader may read, and no patch from one that may not be read.
func TestHistoriesUnderRules(t *testing.T) {
	h := openHouse(t, teams, nil)
	m := move(t, h)
	for _, sub := range []string{"ann", "bob", "eve"} {
		c := h.asSub(t, sub)
		for key, last := range m.last {
			if !memberOf(last, sub) {
				asIfAbsentHistory(t, c, key)
				continue
			}
			for _, query := range []string{"order=asc", "order=asc&limit=1", "order=asc&limit=3", "order=asc&derived=exclude"} {
				var want []string
				direct := strings.Contains(query, "exclude")
				before := true // there was no version, which hides nothing
				for _, v := range pastVersionsOf(t, h.admin, key, "order=asc") {
					seen := memberOf(v.Doc, sub)
					switch {
					case direct && v.Op == "derive":
					case v.Op == "delete" && before:
						want = append(want, v.Seq+" with patch")
					case v.Op != "delete" && seen:
						want = append(want, v.Seq+map[bool]string{true: " with patch"}[before])
					}
					before = seen || v.Op == "delete"
				}
				var got []string
				for _, v := range pastVersionsOf(t, c, key, query) {
					got = append(got, v.Seq+map[bool]string{true: " with patch"}[v.Patch != nil])
				}
				if fmt.Sprint(got) != fmt.Sprint(want) {
					t.Errorf("%s of %s, %s:\n%q, want\n%q", sub, key, query, got, want)
				}
				slices.Reverse(want)
				got = got[:0]
				for _, v := range pastVersionsOf(t, c, key, strings.Replace(query, "order=asc", "order=desc", 1)) {
					got = append(got, v.Seq+map[bool]string{true: " with patch"}[v.Patch != nil])
				}
				if fmt.Sprint(got) != fmt.Sprint(want) {
					t.Errorf("%s of %s, the newest first, %s:\n%q, want\n%q", sub, key, query, got, want)
				}
			}
		}
	}
}

// asIfAbsentHistory compares the history of a document that may not be read with the one of none.
func asIfAbsentHistory(t *testing.T, c *harness.Client, key string) {
	t.Helper()
	collection, id, _ := strings.Cut(key, "/")
	hidden := c.Want(http.StatusNotFound, "GET", "/v1/"+key+"/_history", "")
	absent := c.Want(http.StatusNotFound, "GET", "/v1/"+collection+"/zz/_history", "")
	if got := strings.ReplaceAll(string(hidden.Body), id, "zz"); got != string(absent.Body) {
		t.Errorf("%s: %s and %s", key, hidden.Body, absent.Body)
	}
}

// TestRevertUnderRules: whoever may change a document goes back to what they may read of it, and to nothing else.
func TestRevertUnderRules(t *testing.T) {
	h := openHouse(t, strings.ReplaceAll(teams, "write: [manager]", `write: { roles: [manager], where: "auth.sub != ''" }`), nil)
	m := move(t, h)
	ann := h.asSub(t, "ann")
	for i, at := range m.at {
		for _, key := range []string{"tasks/t1", "tasks/t3"} {
			status := http.StatusNotFound
			if m.sees(i, key, "ann") {
				status = http.StatusOK
			}
			body := fmt.Sprintf(`{"at":%q}`, at)
			r, err := ann.Do("POST", "/v1/"+key+"/_revert?dryRun=true", []byte(body))
			if err != nil || r.Status != status {
				t.Errorf("%s to %s: %d %s, want %d, %v", key, at, r.Status, r.Body, status, err)
			}
		}
	}
	ann.Want(http.StatusNoContent, "POST", "/v1/tasks/t1/_revert", fmt.Sprintf(`{"at":%q}`, m.at[2]))
	if body := string(ann.Want(http.StatusOK, "GET", "/v1/tasks/t1", "").Body); !strings.Contains(body, `"rank":1`) {
		t.Errorf("t1 is %s", body)
	}
}

// TestCursorsOfThePastUnderRules: a cursor of a state before, and of a history, works for who sees the same.
func TestCursorsOfThePastUnderRules(t *testing.T) {
	h := openHouse(t, teams, nil)
	m := move(t, h)
	ann, again, bob := h.asSub(t, "ann"), h.asSub(t, "ann"), h.asSub(t, "bob")
	at := m.at[len(m.at)-1]
	for _, path := range []string{"/v1/tasks?limit=1&at=" + at, "/v1/projects/p1/tasks?limit=1&at=" + at, "/v1/tasks/t1/_history?limit=1"} {
		var page struct{ Next string }
		if err := json.Unmarshal(ann.Want(http.StatusOK, "GET", path, "").Body, &page); err != nil || page.Next == "" {
			t.Fatalf("%s has no next: %v", path, err)
		}
		more := strings.Replace(path, "&at="+at, "", 1) + "&cursor=" + page.Next
		again.Want(http.StatusOK, "GET", more, "")
		for _, other := range []*harness.Client{bob, h.admin} {
			if r, err := other.Do("GET", more, nil); err != nil || r.Status != http.StatusBadRequest && r.Status != http.StatusNotFound {
				t.Errorf("%s of another: %d %s %v", more, r.Status, r.Body, err)
			}
		}
		if err := json.Unmarshal(h.admin.Want(http.StatusOK, "GET", path, "").Body, &page); err != nil || page.Next == "" {
			t.Fatalf("%s has no next: %v", path, err)
		}
		ann.Want(http.StatusBadRequest, "GET", strings.Replace(path, "&at="+at, "", 1)+"&cursor="+page.Next, "")
	}
}

// TestLongPastUnderRules: a page of a state before looks at 1,000 documents, and ends early with a cursor where its reader sees few of them.
func TestLongPastUnderRules(t *testing.T) {
	h := openHouse(t, teams, nil)
	h.admin.Put("projects", "p1", `{"members":["bob"]}`)
	h.admin.Put("projects", "p2", `{"members":["ann"]}`)
	var lines strings.Builder
	for i := range 1500 {
		fmt.Fprintf(&lines, `{"id":"t%04d","projectId":"p1"}`+"\n", i)
	}
	h.admin.Want(http.StatusOK, "POST", "/v1/_import?collection=tasks", lines.String(), "Content-Type", "application/x-ndjson")
	at := h.admin.Put("tasks", "t2000", `{"projectId":"p2"}`).Header.Get("Fanfold-Position")
	ann := h.asSub(t, "ann")
	var page struct {
		Items []json.RawMessage
		Next  string
	}
	if err := json.Unmarshal(ann.Want(http.StatusOK, "GET", "/v1/tasks?at="+at, "").Body, &page); err != nil || len(page.Items) > 0 || page.Next == "" {
		t.Errorf("the first page has %d documents, next is %q, %v", len(page.Items), page.Next, err)
	}
	if got := idsOf(t, ann, "/v1/tasks?at="+at); !slices.Equal(got, []string{"t2000"}) {
		t.Errorf("all pages have %s", got)
	}
}

// TestCausesOfHistoriesUnderRules: a history does not name the document whose write caused a version, where its reader may not read that now.
func TestCausesOfHistoriesUnderRules(t *testing.T) {
	h := openHouse(t, teams, nil)
	move(t, h)
	sue := h.asSub(t, "sue", "support")
	for name, c := range map[string]*harness.Client{"sue": sue, "admin": h.admin} {
		var page struct {
			Items []struct {
				Op    string
				Cause *struct{ Collection, ID, Rule string }
			}
		}
		if err := json.Unmarshal(c.Want(http.StatusOK, "GET", "/v1/tasks/t1/_history", "").Body, &page); err != nil {
			t.Fatal(err)
		}
		derived := 0
		for _, v := range page.Items {
			if v.Op != "derive" {
				continue
			}
			derived++
			if v.Cause == nil || v.Cause.Rule == "" || (v.Cause.ID == "") != (name == "sue") || (v.Cause.Collection == "") != (name == "sue") {
				t.Errorf("%s sees the cause %+v", name, v.Cause)
			}
		}
		if derived == 0 {
			t.Error("nothing was derived")
		}
	}
}
