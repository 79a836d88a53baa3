package feed_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/fanfold/fanfold/access/keys"
	"github.com/fanfold/fanfold/tests/harness"
	"github.com/fanfold/fanfold/tests/suite"
)

// reader is a principal whom rules judge.
type reader struct {
	*harness.Client
	id, sub string
	level   int // a claim
}

// readRule is a rule about reading, and what it says in this test's own words.
type readRule struct {
	where string
	sees  func(doc map[string]any, r *reader) bool
}

// isMember tells whether a document lists a reader among its members.
func isMember(doc map[string]any, r *reader) bool {
	members, _ := doc["members"].([]any)
	return slices.Contains(members, any(r.sub))
}

// number returns a document's number of a name.
func number(doc map[string]any, name string) (n float64, found bool) {
	n, found = doc[name].(float64)
	return n, found
}

// readRules are those among which a test draws.
var readRules = []readRule{
	{"auth.sub in doc.members", isMember},
	{"doc.owner == auth.sub", func(doc map[string]any, r *reader) bool { return doc["owner"] == r.sub }},
	{"doc.level < 3", func(doc map[string]any, _ *reader) bool {
		level, found := number(doc, "level")
		return found && level < 3
	}},
	{"doc.level < auth.claims.level && auth.sub in doc.members", func(doc map[string]any, r *reader) bool {
		level, found := number(doc, "level")
		return found && level < float64(r.level) && isMember(doc, r)
	}},
	{"doc.open", func(doc map[string]any, _ *reader) bool { return doc["open"] == true }},
}

// ruledModel is a model whose documents are read by rules. Tasks have their members from their projects, and what more says.
func ruledModel(projects, tasks readRule, more string) string {
	return fmt.Sprintf(`
collections:
  projects: { access: { read: { where: %q }, write: [editors] } }
  tasks:
    relations: { project: { path: project, to: projects, onDelete: unlink } }
    derive: { members: { copy: project, value: doc.members, publish: true }%s }
    access: { read: { where: %q }, write: [editors] }
  notes: { access: { read: [readers], write: [editors] } }
`, projects.where, more, tasks.where)
}

// ruledHouse is a store with readers, whom rules judge, and what these rules are.
type ruledHouse struct {
	t      *testing.T
	s      *harness.Store
	random *rand.Rand
	rules  map[string]readRule

	projects, tasks int // which rules these are
	readers         []*reader
	gone            map[string]bool // documents that are deleted, when somebody has looked last
}

// newRuledHouse returns a house with some readers.
func newRuledHouse(t *testing.T, seed uint64, subs ...string) *ruledHouse {
	h := &ruledHouse{t: t, s: harness.OpenClosed(t, ""), random: rand.New(rand.NewPCG(seed, 51)), gone: map[string]bool{}}
	h.setRules(0, 0)
	for _, sub := range subs {
		r := &reader{sub: sub, level: 2}
		e, key, err := h.s.Node.Keys().Create(t.Context(), keys.Settings{Name: sub, Roles: []string{"readers"}, Sub: sub, Claims: json.RawMessage(`{"level":2}`)})
		if err != nil {
			t.Fatal(err)
		}
		r.id, r.Client = e.ID, h.s.With(key.Text())
		h.readers = append(h.readers, r)
	}
	return h
}

// setRules applies a model with rules of the list.
func (h *ruledHouse) setRules(projects, tasks int) {
	if h.rules != nil && h.random.IntN(3) == 0 {
		projects, tasks = h.projects, h.tasks // the rules stay, and the model is another one
	}
	h.projects, h.tasks = projects, tasks
	h.rules = map[string]readRule{"projects": readRules[projects], "tasks": readRules[tasks]}
	more := []string{"", ", boss: { copy: project, value: doc.owner, publish: true }", ", rank: { copy: project, value: doc.level, publish: true }"}
	h.s.Model(ruledModel(readRules[projects], readRules[tasks], more[h.random.IntN(len(more))]))
}

// setLevel gives a reader another claim.
func (h *ruledHouse) setLevel(r *reader, level int) {
	r.level = level
	if _, err := h.s.Node.Keys().Change(h.t.Context(), r.id, keys.Patch{Claims: json.RawMessage(fmt.Sprintf(`{"level":%d}`, level))}); err != nil {
		h.t.Fatal(err)
	}
}

// shown returns the documents that a reader may read now, without _meta, by an evaluation of this test's own.
func (h *ruledHouse) shown(r *reader) map[string]string {
	out := map[string]string{}
	rows, _ := h.s.Changes("mode=latest&include_docs=true")
	clear(h.gone)
	for _, row := range rows {
		if row.Doc == nil {
			h.gone[row.Collection+"/"+row.ID] = true
			continue
		}
		rule, ruled := h.rules[row.Collection]
		doc, text := withoutMeta(h.t, row.Doc)
		if !ruled || rule.sees(doc, r) {
			out[row.Collection+"/"+row.ID] = text
		}
	}
	return out
}

// withoutMeta returns a document, and its text, without what the store adds to it.
func withoutMeta(t *testing.T, body []byte) (doc map[string]any, text string) {
	t.Helper()
	harness.Decode(t, body, &doc)
	delete(doc, "_meta")
	again, err := json.Marshal(doc)
	if err != nil {
		t.Fatal(err)
	}
	return doc, string(again)
}

// ruledFollower follows the feed as one reader, and stops anywhere.
type ruledFollower struct {
	of                       *reader
	query                    string
	bodies                   bool // it knows the documents, and not only which there are
	admits                   func(doc map[string]any) bool
	since                    string
	gone                     map[string]bool // documents that are deleted, for which their last version counts
	held                     map[string]string
	entered, left, restarted int
}

// read reads a part of what there is, and keeps a part of that. It returns whether there was nothing. Rows tell only of what is shown now.
func (f *ruledFollower) read(t *testing.T, random *rand.Rand, cut bool, shown map[string]string) (end bool) {
	t.Helper()
	query := "/v1/_changes?" + f.query + "&since=" + f.since
	if cut {
		query += fmt.Sprint("&limit=", 1+random.IntN(6))
	}
	r, err := f.of.Do(http.MethodGet, query, nil)
	if err != nil {
		t.Fatal(err)
	}
	if r.Status == http.StatusGone && r.Problem() == "urn:fanfold:problem:rights-changed" {
		f.since, f.held = "0", map[string]string{}
		f.restarted++
		return false
	}
	if r.Status != http.StatusOK {
		t.Fatalf("%s: %d %s", query, r.Status, r.Body)
	}
	var out struct {
		Results []harness.Change
		LastSeq string `json:"last_seq"`
	}
	harness.Decode(t, r.Body, &out)
	stop := len(out.Results)
	if cut && stop > 0 && random.IntN(3) == 0 {
		stop = 1 + random.IntN(stop)
	}
	for _, row := range out.Results[:stop] {
		f.wantNothingHidden(t, row, shown)
		f.take(t, row)
		f.since = row.Seq
	}
	if stop == len(out.Results) {
		f.since = out.LastSeq
	}
	return len(out.Results) == 0
}

// wantNothingHidden checks that a row tells of a document that may be read now, or nothing but that one is gone.
func (f *ruledFollower) wantNothingHidden(t *testing.T, row harness.Change, shown map[string]string) {
	t.Helper()
	key := row.Collection + "/" + row.ID
	_, visible := shown[key]
	bare := row.Op == "leave" && row.Rev == 0 && row.Time == "" && row.Tx == "" && row.Cause == nil || row.Op == "delete" && row.Doc == nil
	if !visible && !bare && !f.gone[key] {
		t.Fatalf("%s of %s is told of what is hidden: %+v", f.query, f.of.sub, row)
	}
	if c := row.Cause; c != nil && c.ID != "" && !f.gone[c.Collection+"/"+c.ID] {
		if _, visible := shown[c.Collection+"/"+c.ID]; !visible {
			t.Fatalf("%s of %s is told of a hidden cause: %+v", f.query, f.of.sub, row)
		}
	}
}

// take takes in one row.
func (f *ruledFollower) take(t *testing.T, row harness.Change) {
	t.Helper()
	key := row.Collection + "/" + row.ID
	switch row.Op {
	case "delete", "erase", "leave":
		delete(f.held, key)
		if row.Op == "leave" {
			f.left++
		}
	default:
		if row.Op == "enter" {
			f.entered++
			if row.Doc == nil || row.Previous != nil || row.Patch != nil {
				t.Fatalf("a document enters by %+v", row)
			}
		}
		f.held[key] = ""
		if f.bodies {
			_, f.held[key] = withoutMeta(t, row.Doc)
		}
	}
}

// want checks that the follower, which has caught up, holds what it may read.
func (f *ruledFollower) want(t *testing.T, shown map[string]string) {
	t.Helper()
	want := map[string]string{}
	for key, text := range shown {
		doc, _ := withoutMeta(t, []byte(text))
		if f.admits != nil && !f.admits(doc) {
			continue
		}
		if want[key] = ""; f.bodies {
			want[key] = text
		}
	}
	if got, want := fmt.Sprint(f.held), fmt.Sprint(want); got != want {
		t.Fatalf("%s of %s holds\n%s, want\n%s", f.query, f.of.sub, got, want)
	}
}

// write makes one random write, or changes who may read what.
func (h *ruledHouse) write() {
	n := func(n int) int { return h.random.IntN(n) }
	members := func() string {
		list := []string{}
		for _, r := range h.readers {
			if n(2) == 0 {
				list = append(list, harness.QuoteJSON(r.sub))
			}
		}
		return "[" + strings.Join(list, ",") + "]"
	}
	project := func() string {
		return fmt.Sprintf(`{"members":%s,"owner":"u%d","level":%d,"open":%t}`, members(), n(5), n(5), n(2) == 0)
	}
	task := func() string {
		return fmt.Sprintf(`{"project":"p%d","owner":"u%d","level":%d,"open":%t}`, n(3), n(5), n(5), n(2) == 0)
	}
	p, t := fmt.Sprint("p", n(3)), fmt.Sprint("t", n(4))
	switch n(12) {
	case 0, 1, 2:
		h.s.Put("projects", p, project())
	case 3, 4, 5:
		h.s.Put("tasks", t, task())
	case 6:
		h.s.Put("notes", "n", fmt.Sprintf(`{"n":%d}`, n(9)))
	case 7:
		r, err := h.s.Do(http.MethodDelete, harness.Path("tasks", t), nil)
		if err != nil || r.Status >= 500 {
			h.t.Fatal(r, err)
		}
	case 8:
		r, err := h.s.Do(http.MethodDelete, harness.Path("projects", p), nil)
		if err != nil || r.Status >= 500 {
			h.t.Fatal(r, err)
		}
	default:
		h.transact(n, p, t, project, task)
	}
}

// transact writes several documents at once, some of them twice.
func (h *ruledHouse) transact(n func(int) int, p, t string, project, task func() string) {
	var ops []string
	for range 2 + n(3) {
		switch n(4) {
		case 0, 1:
			ops = append(ops, fmt.Sprintf(`{"op":"put","collection":"projects","id":%q,"body":%s}`, p, project()))
		case 2:
			ops = append(ops, fmt.Sprintf(`{"op":"put","collection":"tasks","id":%q,"body":%s}`, t, task()))
		default:
			ops = append(ops, fmt.Sprintf(`{"op":"put","collection":"tasks","id":"t%d","body":%s}`, n(4), task()))
		}
	}
	r, err := h.s.Do(http.MethodPost, "/v1/_transactions", []byte(`{"operations":[`+strings.Join(ops, ",")+`]}`), "Content-Type", "application/json")
	if err != nil || r.Status >= 500 || r.Status == http.StatusBadRequest {
		h.t.Fatal(r, err)
	}
}

// TestFollowersHoldWhatTheyMayRead: a follower of either mode that is cut anywhere holds, once it has caught up, exactly the documents that its
// rules show. Members, claims, rules and the model change meanwhile, and there are five readers.
func TestFollowersHoldWhatTheyMayRead(t *testing.T) {
	suite.Parallel(t)
	seeds := 5
	if testing.Short() {
		seeds = 2
	}
	entered, left, restarted := 0, 0, 0
	for seed := range seeds {
		h := newRuledHouse(t, uint64(seed), "u0", "u1", "u2", "u3", "u4")
		var followers []*ruledFollower
		low := func(doc map[string]any) bool { level, found := number(doc, "level"); return found && level < 4 }
		mine := func(doc map[string]any) bool { return isMember(doc, h.readers[0]) }
		for _, r := range h.readers {
			for _, mode := range []string{"mode=all", "mode=latest"} {
				for _, f := range []*ruledFollower{
					{query: "include_docs=true", bodies: true}, {query: "view=referenced"}, {query: "derived=exclude"}, {query: "cascades=exclude&derived=exclude"},
					{query: "include_docs=true&filter=" + url.QueryEscape("doc.level < 4"), bodies: true, admits: low},
					{query: "derived=exclude&filter=" + url.QueryEscape("doc.level < 4"), admits: low},
					{query: "filter=" + url.QueryEscape("'u0' in doc.members"), admits: mine},
				} {
					if h.random.IntN(5) > 1 {
						continue // some of them, for each reader others
					}
					f.of, f.since, f.held, f.gone, f.query = r, "0", map[string]string{}, h.gone, mode+"&"+f.query
					if strings.Contains(f.query, "cascades=exclude") {
						f.admits = nil
					}
					followers = append(followers, f)
				}
			}
		}
		for step := range 60 {
			h.write()
			switch {
			case step%17 == 16:
				h.setRules(h.random.IntN(len(readRules)), h.random.IntN(len(readRules)))
			case step%13 == 12:
				h.setLevel(h.readers[h.random.IntN(len(h.readers))], h.random.IntN(5))
			}
			for _, r := range h.readers {
				shown := h.shown(r)
				for _, f := range followers {
					if f.of == r && h.random.IntN(4) == 0 {
						f.read(t, h.random, true, shown)
					}
				}
				if step%10 < 9 {
					continue
				}
				for _, f := range followers {
					if f.of != r {
						continue
					}
					for !f.read(t, h.random, h.random.IntN(2) == 0, shown) {
					}
					if !strings.Contains(f.query, "cascades=exclude") { // a copy is not told of deletes then
						f.want(t, shown)
					}
				}
			}
		}
		for _, f := range followers {
			entered, left, restarted = entered+f.entered, left+f.left, restarted+f.restarted
		}
	}
	if entered == 0 || left == 0 || restarted == 0 {
		t.Fatalf("%d entered, %d left, %d began again: the histories show nothing", entered, left, restarted)
	}
}
