package feed_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"testing"

	"github.com/fanfold/fanfold/access/keys"
	"github.com/fanfold/fanfold/tests/harness"
	"github.com/fanfold/fanfold/tests/suite"
)

var marked = regexp.MustCompile(`-r[a-z2-7]{16}$`)

// TestEveryPositionIsMarked: a position that any answer gives to a reader whom a rule judges is refused once other rights hold. It is not if they hold for
// other collections than the followed ones. Readers of everything get plain positions, and every read waits for a marked one.
func TestEveryPositionIsMarked(t *testing.T) {
	suite.Parallel(t)
	s := harness.OpenClosed(t, "")
	const model = `
collections:
  projects: { access: { read: { roles: [chief], where: "doc.open" }, write: [%s] } }
  tasks:
    relations: { project: { path: project, to: projects } }
    access: { read: { roles: [chief], where: "doc.level < auth.claims.level" }, write: { where: "auth.sub != ''" } }
  notes: { access: { read: [%s] } }
%s`
	s.Model(fmt.Sprintf(model, "editors", "everyone", ""))
	s.Put("projects", "p", `{"open":true}`)
	s.Put("tasks", "t", `{"level":1,"project":"p"}`)
	s.Put("notes", "n", `{}`)
	e, key, err := s.Node.Keys().Create(t.Context(), keys.Settings{Name: "ann", Sub: "ann", Roles: []string{"reader"}, Claims: json.RawMessage(`{"level":2}`)})
	if err != nil {
		t.Fatal(err)
	}
	ann := s.With(key.Text())
	positions := map[string]string{}
	given := func(c *harness.Client, name string, status int, method, path, body string) string {
		at := c.Want(status, method, path, body).Header.Get("Fanfold-Position")
		if c.Want(http.StatusOK, "GET", "/v1/tasks/t", "", "Fanfold-Min-Position", at); c == ann {
			positions[name] = at
		}
		return at
	}
	for name, ask := range map[string]func(c *harness.Client) string{
		"a document": func(c *harness.Client) string { return given(c, "a document", 200, "GET", "/v1/tasks/t", "") },
		"a list":     func(c *harness.Client) string { return given(c, "a list", 200, "GET", "/v1/tasks", "") },
		"a query":    func(c *harness.Client) string { return given(c, "a query", 200, "POST", "/v1/tasks/_query", `{}`) },
		"children":   func(c *harness.Client) string { return given(c, "children", 200, "GET", "/v1/projects/p/tasks", "") },
		"a write":    func(c *harness.Client) string { return given(c, "a write", 201, "POST", "/v1/tasks", `{"level":1}`) },
		"a transaction": func(c *harness.Client) string {
			return given(c, "a transaction", 200, "POST", "/v1/_transactions", `{"operations":[{"op":"put","collection":"tasks","id":"u","body":{"level":1}}]}`)
		},
		"the feed of them": func(c *harness.Client) string {
			_, last := c.Changes("collections=tasks")
			if c == ann {
				positions["the feed of them"] = last
			}
			return last
		},
	} {
		if at := ask(ann); !marked.MatchString(at) {
			t.Errorf("%s gives %s to a reader by rules", name, at)
		}
		if at := ask(s.Client); marked.MatchString(at) {
			t.Errorf("%s gives %s to a reader of everything", name, at)
		}
	}
	positions["all"] = func() string { _, last := ann.Changes(""); return last }()
	if at := ann.Want(http.StatusOK, "GET", "/v1/notes", "").Header.Get("Fanfold-Position"); marked.MatchString(at) {
		t.Errorf("a list that no rule judges gives %s", at)
	}
	follow := func(when string, tasks, all bool) {
		t.Helper()
		for name, at := range positions {
			for query, goesOn := range map[string]bool{"collections=tasks": tasks && name != "all" && name != "a transaction" || all, "": all} {
				want := http.StatusGone
				if goesOn {
					want = http.StatusOK
				}
				if r, err := ann.Do("GET", "/v1/_changes?"+query+"&since="+at, nil); err != nil || r.Status != want {
					t.Errorf("%s: %q from %s, %s, is answered with %d, want %d", when, query, name, at, r.Status, want)
				}
			}
		}
	}
	follow("before", true, true)
	s.Model(fmt.Sprintf(model, "others", "everyone", "  more: { access: {} }\n"))
	follow("after other rights to write, and a collection that nobody reads", true, true)
	s.Model(fmt.Sprintf(model, "others", "staff", "  more: { access: {} }\n"))
	follow("after other rights to notes", true, false)
	if _, err := s.Node.Keys().Change(t.Context(), e.ID, keys.Patch{Claims: json.RawMessage(`{"level":1}`)}); err != nil {
		t.Fatal(err)
	}
	follow("after another claim", false, false)
}
