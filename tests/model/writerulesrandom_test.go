package model_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/fanfold/fanfold/tests/harness"
	"github.com/fanfold/fanfold/tests/suite"
)

// tri is what an expression is: unknown where a member that it needs is missing.
type tri int

const (
	no tri = iota
	yes
	unknown
)

// world is the documents of a store, as they are written, by collection and id.
type world map[string]map[string]map[string]any

// view returns a document with its derived members, computed in the plainest way; nil for none.
func (w world) view(collection, id string) map[string]any {
	written := w[collection][id]
	if written == nil {
		return nil
	}
	out := maps.Clone(written)
	if collection == "projects" {
		n := 0.0
		for _, task := range w["tasks"] {
			if task["projectId"] == id {
				n++
			}
		}
		out["tasks"] = n
	} else if project, _ := written["projectId"].(string); w["projects"][project]["members"] != nil {
		out["members"] = w["projects"][project]["members"]
	}
	return out
}

// clone returns a copy to which documents may be written.
func (w world) clone() world {
	out := world{}
	for name, docs := range w {
		out[name] = maps.Clone(docs)
	}
	return out
}

// asker is who asks, and what a rule sees.
type asker struct {
	sub   string
	roles []string
	*harness.Client
}

type facts struct {
	sub      string
	old, doc map[string]any
}

type rule func(f facts) tri

func same(a, b any) tri {
	if a == nil || b == nil {
		return unknown
	}
	if a == b {
		return yes
	}
	return no
}

func in(sub string, list any) tri {
	members, isList := list.([]any)
	if !isList {
		return unknown
	}
	if slices.Contains(members, any(sub)) {
		return yes
	}
	return no
}

func not(a tri) tri {
	if a == unknown {
		return a
	}
	return yes - a
}

func and(a, b tri) tri { return not(or(not(a), not(b))) }

func or(a, b tri) tri {
	switch {
	case a == yes || b == yes:
		return yes
	case a == unknown || b == unknown:
		return unknown
	}
	return no
}

func below(a any, most float64) tri {
	n, isNumber := a.(float64)
	if !isNumber {
		return unknown
	}
	if n < most {
		return yes
	}
	return no
}

// right is who may do something: the roles, and the rule with its text.
type right struct {
	roles []string
	text  string
	rule  rule
}

// accesses are the rules of two models, by collection and action. A role that updates or deletes reads, too.
var accesses = []map[string]map[string]right{
	{
		"tasks": {
			"read": {[]string{"support"}, "auth.sub in doc.members", func(f facts) tri { return in(f.sub, f.doc["members"]) }},
			"create": {nil, "doc.owner == auth.sub && auth.sub in doc.members", func(f facts) tri {
				return and(same(f.doc["owner"], f.sub), in(f.sub, f.doc["members"]))
			}},
			"update": {nil, "old.owner == auth.sub && doc.owner == old.owner", func(f facts) tri {
				return and(same(f.old["owner"], f.sub), same(f.doc["owner"], f.old["owner"]))
			}},
			"delete": {[]string{"chief"}, "old.owner == auth.sub", func(f facts) tri { return same(f.old["owner"], f.sub) }},
		},
		"projects": {
			"read":   {nil, "auth.sub in doc.members", func(f facts) tri { return in(f.sub, f.doc["members"]) }},
			"create": {[]string{"everyone"}, "", nil},
			"update": {[]string{"chief"}, "auth.sub in old.members && doc.tasks < 3", func(f facts) tri {
				return and(in(f.sub, f.old["members"]), below(f.doc["tasks"], 3))
			}},
			"delete": {[]string{"chief"}, "", nil},
		},
	},
	{
		"tasks": {
			"read":   {[]string{"everyone"}, "", nil},
			"create": {[]string{"member"}, "", nil},
			"update": {nil, "old.state == 'open' && (doc.state != 'done' || doc.owner == auth.sub)", func(f facts) tri {
				return and(same(f.old["state"], "open"), or(not(same(f.doc["state"], "done")), same(f.doc["owner"], f.sub)))
			}},
		},
		"projects": {
			"read": {nil, "doc.owner == auth.sub || auth.sub in doc.members", func(f facts) tri {
				return or(same(f.doc["owner"], f.sub), in(f.sub, f.doc["members"]))
			}},
			"create": {nil, "doc.owner == auth.sub", func(f facts) tri { return same(f.doc["owner"], f.sub) }},
			"update": {nil, "old.owner == auth.sub || doc.tasks == old.tasks", func(f facts) tri {
				return or(same(f.old["owner"], f.sub), same(f.doc["tasks"], f.old["tasks"]))
			}},
			"delete": {nil, "old.tasks == 0", func(f facts) tri { return same(f.old["tasks"], 0.0) }},
		},
	},
}

// modelOf returns a model with accesses.
func modelOf(all map[string]map[string]right) string {
	text := map[string]string{}
	for collection, rights := range all {
		var parts []string
		for _, act := range slices.Sorted(maps.Keys(rights)) {
			r := rights[act]
			part := fmt.Sprintf("%s: {roles: [%s]", act, strings.Join(r.roles, ", "))
			if r.text != "" {
				part += fmt.Sprintf(", where: %q", r.text)
			}
			parts = append(parts, part+"}")
		}
		text[collection] = "access: {" + strings.Join(parts, ", ") + "}"
	}
	return fmt.Sprintf(`
collections:
  projects: { derive: { tasks: { count: tasks.project, publish: true } }, %s }
  tasks: { relations: { project: { path: projectId, to: projects } }, derive: { members: { copy: project, value: doc.members, publish: true } }, %s }
`, text["projects"], text["tasks"])
}

// judge says whether somebody may do something, and some whether that goes for any document at all.
func (a asker) judge(rights map[string]right, act string, f facts) (may, some bool) {
	roles := slices.Clone(rights[act].roles)
	if act == "read" {
		roles = append(append(roles, rights["update"].roles...), rights["delete"].roles...)
	}
	for _, role := range roles {
		if role == "everyone" || slices.Contains(a.roles, role) {
			return true, true
		}
	}
	if rights[act].rule == nil {
		return false, false
	}
	f.sub = a.sub
	return rights[act].rule(f) == yes, true
}

// step is one operation. condition is "" for none, or one of *, none and if, which stands for doc.state == 'open'.
type step struct {
	op, collection, id, condition string
	body                          map[string]any
}

// draw returns a random step.
func draw(rng *rand.Rand) step {
	pick := func(all ...string) string { return all[rng.IntN(len(all))] }
	s := step{op: pick("put", "put", "create", "patch", "patch", "delete", "check"), collection: pick("tasks", "tasks", "projects"), body: map[string]any{}}
	s.condition = pick("", "", "", "*", "if", "none")
	if s.op == "create" || s.condition == "none" && s.op != "put" && s.op != "check" {
		s.condition = ""
	}
	if s.op == "check" && s.condition == "" {
		s.condition = "*"
	}
	if s.id = pick("t1", "t2", "t3", "t4"); s.collection == "projects" {
		s.id = pick("p1", "p2", "p3")
	}
	set := func(name string, values ...any) {
		if n := rng.IntN(len(values) + 1); n < len(values) {
			s.body[name] = values[n]
		}
	}
	if s.op == "delete" || s.op == "check" {
		return s
	}
	set("owner", "ann", "bob", "cid", "ann")
	set("state", "open", "done", "open")
	if s.collection == "tasks" {
		set("projectId", "p1", "p2", "p3", "p1")
	} else {
		set("members", []any{"ann"}, []any{"ann", "bob"}, []any{"cid"}, []any{"cid", "ann"})
	}
	return s
}

// acts returns the actions that a step may be.
func (s step) acts() []string {
	switch {
	case s.op == "check":
		return []string{"read"}
	case s.op == "patch" || s.op == "put" && (s.condition == "*" || s.condition == "if"):
		return []string{"update"}
	case s.op == "delete":
		return []string{"delete"}
	case s.op == "create" || s.condition == "none":
		return []string{"create"}
	}
	return []string{"create", "update"}
}

// meets returns 0, or the status with which a step is refused before its rule is asked; act is what it turns out to be.
func (s step) meets(w world, a asker, rights map[string]right) (status int, act string) {
	old := w.view(s.collection, s.id)
	seen := false
	if old != nil {
		seen, _ = a.judge(rights, "read", facts{doc: old})
	}
	needs := s.condition == "*" || s.condition == "if"
	switch {
	case s.op == "create" && old != nil:
		return 409, ""
	case s.condition == "none" && (seen || old != nil && s.op != "check"):
		return 412, ""
	case needs && !seen, s.condition == "if" && old["state"] != "open":
		return 412, ""
	case (s.op == "patch" || s.op == "delete") && !seen:
		return 404, ""
	case s.op == "put" && old != nil && !seen:
		return 403, ""
	}
	if act = s.acts()[0]; s.op == "put" {
		if act = "create"; old != nil {
			act = "update"
		}
	}
	if _, some := a.judge(rights, act, facts{}); !some {
		return 403, ""
	}
	return 0, act
}

// apply writes what a step makes.
func (s step) apply(w world) {
	written := map[string]any{"id": s.id}
	switch s.op {
	case "check":
		return
	case "delete":
		delete(w[s.collection], s.id)
		return
	case "patch":
		written = maps.Clone(w[s.collection][s.id])
	}
	maps.Copy(written, s.body)
	w[s.collection][s.id] = written
}

// expect returns the status of the first step that is refused, and the world after; 0 where all are stored.
func expect(w world, a asker, rights map[string]map[string]right, steps []step) (status int, after world) {
	for _, s := range steps {
		if !slices.ContainsFunc(s.acts(), func(act string) bool {
			_, some := a.judge(rights[s.collection], act, facts{})
			return some
		}) {
			return 403, w
		}
	}
	after = w.clone()
	acts := make([]string, len(steps))
	for i, s := range steps {
		if status, acts[i] = s.meets(w, a, rights[s.collection]); status != 0 {
			return status, w
		}
	}
	for _, s := range steps {
		s.apply(after)
	}
	for i, s := range steps {
		f := facts{old: w.view(s.collection, s.id), doc: after.view(s.collection, s.id)}
		if s.op == "check" {
			continue
		}
		if may, _ := a.judge(rights[s.collection], acts[i], f); !may {
			return 403, w
		}
	}
	return 0, after
}

// send sends steps, several as a transaction, and returns the status.
func send(t *testing.T, a asker, steps []step) (status int, text string) {
	t.Helper()
	method, path, content, headers := "POST", "/v1/_transactions", transactionOf(t, steps), []string{"Content-Type", jsonType}
	if len(steps) == 1 && steps[0].op != "check" {
		method, path, content, headers = steps[0].request(t)
	}
	r, err := a.Do(method, path, []byte(content), headers...)
	if err != nil {
		t.Fatal(err)
	}
	return r.Status, fmt.Sprintf("%s %s %s by %s: %d %s", method, path, content, a.sub, r.Status, r.Body)
}

// textOf returns a value as JSON.
func textOf(t *testing.T, v any) string {
	t.Helper()
	out, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

// request returns a step as a request of its own.
func (s step) request(t *testing.T) (method, path, content string, headers []string) {
	t.Helper()
	method, path, content, headers = "PUT", "/v1/"+s.collection+"/"+s.id, textOf(t, s.body), []string{"Content-Type", jsonType}
	switch s.op {
	case "create":
		s.body["id"] = s.id
		method, path, content = "POST", "/v1/"+s.collection, textOf(t, s.body)
	case "patch":
		method, headers[1] = "PATCH", mergeType
	case "delete":
		method, content, headers = "DELETE", "", nil
	}
	switch s.condition {
	case "*":
		headers = append(headers, "If-Match", "*")
	case "none":
		headers = append(headers, "If-None-Match", "*")
	case "if":
		path += "?if=doc.state=='open'"
	}
	return method, path, content, headers
}

// transactionOf returns the body of a transaction.
func transactionOf(t *testing.T, steps []step) string {
	t.Helper()
	var ops []map[string]any
	for _, s := range steps {
		op := map[string]any{"op": s.op, "collection": s.collection, "id": s.id}
		switch s.op {
		case "patch":
			op["patch"] = s.body
		case "put", "create":
			op["body"] = s.body
		}
		switch s.condition {
		case "*":
			op["ifMatch"] = "*"
		case "none":
			op["ifNoneMatch"] = "*"
		case "if":
			op["if"] = "doc.state == 'open'"
		}
		ops = append(ops, op)
	}
	return textOf(t, map[string]any{"operations": ops})
}

// TestRandomWritesUnderRules: random writes and transactions of five principals are stored or refused as a slow oracle says, under rules that change midway.
func TestRandomWritesUnderRules(t *testing.T) {
	for seed := range uint64(suite.Amount(3, 60)) {
		rng := rand.New(rand.NewPCG(seed, 51))
		s := harness.OpenClosed(t, modelOf(accesses[0]))
		var all []asker
		for _, a := range []asker{{sub: "ann"}, {sub: "bob"}, {sub: "cid"}, {sub: "sup", roles: []string{"support"}}, {sub: "chief", roles: []string{"chief"}}} {
			a.roles = append(a.roles, "member")
			a.Client = subject(t, s, a.sub, a.roles[:len(a.roles)-1]...)
			all = append(all, a)
		}
		w, seen := world{"tasks": {}, "projects": {}}, map[int]int{}
		for n := range 250 {
			rights := accesses[n/50%2]
			if n%50 == 0 {
				s.Model(modelOf(rights))
			}
			steps := []step{draw(rng)}
			for range rng.IntN(6) - 3 {
				if more := draw(rng); !slices.ContainsFunc(steps, func(s step) bool { return s.collection == more.collection && s.id == more.id }) {
					steps = append(steps, more)
				}
			}
			a := all[rng.IntN(len(all))]
			want, after := expect(w, a, rights, steps)
			status, text := send(t, a, steps)
			if seen[status]++; want == 0 && status >= 300 || want != 0 && status != want {
				t.Fatalf("seed %d, step %d: %s; want %d", seed, n, text, want)
			}
			w = after
			for _, st := range steps {
				wantView(t, s, w, st, text)
			}
		}
		for _, status := range []int{200, 201, 204, 403, 404, 409, 412} {
			if seen[status] == 0 {
				t.Errorf("no request was answered with %d: %v", status, seen)
			}
		}
	}
}

// wantView compares a document with the oracle's.
func wantView(t *testing.T, s *harness.Store, w world, st step, after string) {
	t.Helper()
	r, err := s.Do("GET", "/v1/"+st.collection+"/"+st.id, nil)
	if err != nil {
		t.Fatal(err)
	}
	var got map[string]any
	if r.Status == 200 {
		if err := json.Unmarshal(r.Body, &got); err != nil {
			t.Fatal(err)
		}
	}
	if want := w.view(st.collection, st.id); !reflect.DeepEqual(got, want) {
		t.Fatalf("%s/%s is %v, want %v, after %s", st.collection, st.id, got, want, after)
	}
}
