package model_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/client"
	"github.com/fanfold/fanfold/tests/harness"
)

// tasksModel returns a model in which tasks copy from projects. Each is the access of a collection, and a rule may publish.
func tasksModel(projects, tasks, publish string) string {
	return fmt.Sprintf(`
collections:
  projects: { access: %s }
  tasks:
    access: %s
    relations: { project: { path: projectId, to: projects } }
    derive: { members: { copy: project, value: doc.members%s }, n: { value: "size(doc.members)"%s } }
`, projects, tasks, publish, publish)
}

const (
	byMembers = "{ read: { where: 'auth.sub in doc.members' } }"
	publishes = ", publish: true"

	// unsaid is a model with a copy that must say that it publishes, and does not.
	unsaid = `{"collections":{"projects":{"access":{}},"tasks":{"relations":{"p":{"path":"p","to":"projects"}},"derive":{"m":{"copy":"p","value":"doc.m"}}}}}`
)

// wantFlows wants a request for a model to be refused with these flows as its problems, and to change nothing.
func wantFlows(t *testing.T, s *harness.Store, method, path, body, kind string, want ...string) {
	t.Helper()
	before := s.Want(http.StatusOK, "GET", "/v1/_model", "")
	var problem struct {
		Detail   string
		Problems []struct {
			Path, Detail string
			Line         int
		}
	}
	r := s.Want(http.StatusUnprocessableEntity, method, path, body, "Content-Type", kind)
	if err := json.Unmarshal(r.Body, &problem); err != nil {
		t.Fatal(err)
	}
	var told []string
	for _, p := range problem.Problems {
		told = append(told, p.Detail)
		rule, _, _ := strings.Cut(strings.TrimPrefix(p.Detail, "tasks."), " ")
		if p.Path != fmt.Sprintf("collections.tasks.derive[%q]", rule) || kind == harness.YAMLType && strings.Contains(body, "tasks") && p.Line == 0 {
			t.Errorf("%s is told at %s, line %d", p.Detail, p.Path, p.Line)
		}
	}
	if !slices.Equal(told, want) || !strings.Contains(problem.Detail, "publish: true") || !strings.HasSuffix(r.Problem(), "unprocessable") {
		t.Errorf("%s %s %s: %s, want %q", method, path, body, r.Body, want)
	}
	after := s.Want(http.StatusOK, "GET", "/v1/_model", "")
	if string(before.Body) != string(after.Body) || before.Header.Get("ETag") != after.Header.Get("ETag") {
		t.Errorf("%s %s changed the model to %s", method, path, after.Body)
	}
}

var bothTell = []string{"tasks.members tells readers of tasks about projects", "tasks.n tells readers of tasks about projects"}

// TestCopiesSayThatTheyPublish: a model is refused whose derived fields tell readers about documents that they may not all read, by every way
// in which a model comes. It is taken once they say that they publish.
func TestCopiesSayThatTheyPublish(t *testing.T) {
	s := harness.OpenTemp(t, "")
	model := tasksModel(byMembers, byMembers, "")
	wantFlows(t, s, "PUT", "/v1/_model", model, harness.YAMLType, bothTell...)
	wantFlows(t, s, "PUT", "/v1/_model?dryRun=true", model, harness.YAMLType, bothTell...)
	wantFlows(t, s, "PUT", "/v1/_model", tasksModel("{ read: [a] }", "{ read: [a, b] }", ""), harness.YAMLType, bothTell...)
	wantFlows(t, s, "PUT", "/v1/_model", strings.Replace(model, "doc.members }", "doc.members, publish: true }", 1), harness.YAMLType, bothTell[1])
	r := s.Want(http.StatusOK, "POST", "/v1/_import", `{"model":`+unsaid+"}\n", "Content-Type", "application/x-ndjson")
	if !strings.Contains(string(r.Body), "tasks.m tells readers of tasks about projects") {
		t.Errorf("an import is answered %s", r.Body)
	}
	s.Model(tasksModel(byMembers, byMembers, publishes))
	s.Model(tasksModel("{ read: [a, b] }", "{ read: [a] }", ""))
}

// TestSourcesAreTightened: a model that takes a reader's way to the source is refused until the copy says that it publishes, also as a part.
func TestSourcesAreTightened(t *testing.T) {
	s := harness.OpenTemp(t, tasksModel("{ read: [a, b] }", "{ read: [a] }", ""))
	patch := func(access string) string { return `{"collections":{"projects":{"access":` + access + `}}}` }
	wantFlows(t, s, "PATCH", "/v1/_model", patch(`{"read":["b"]}`), harness.MergeType, bothTell...)
	wantFlows(t, s, "PATCH", "/v1/_model", patch(`{"read":{"roles":["b"],"where":"auth.sub in doc.members"}}`), harness.MergeType, bothTell...)
	wantFlows(t, s, "PUT", "/v1/_model/projects", `access: { read: [b] }`, harness.YAMLType, bothTell...)
	wantFlows(t, s, "PATCH", "/v1/_model", `{"collections":{"tasks":{"access":{"read":["a","c"]}}}}`, harness.MergeType, bothTell...)
	s.Model(tasksModel("{ read: [a, b] }", "{ read: [a] }", publishes))
	body := string(s.Want(http.StatusOK, "PATCH", "/v1/_model?dryRun=true", patch(`{"read":["b"]}`), "Content-Type", harness.MergeType).Body)
	for _, told := range bothTell {
		rule, _, _ := strings.Cut(strings.TrimPrefix(told, "tasks."), " ")
		if want := fmt.Sprintf(`{"path":"collections.tasks.derive.%s.publish","change":"added","detail":%q}`, rule, told); !strings.Contains(body, want) {
			t.Errorf("the preview is %s, without %s", body, want)
		}
	}
	s.Want(http.StatusOK, "PATCH", "/v1/_model", patch(`{"read":["b"]}`), "Content-Type", harness.MergeType)
	if body := string(s.Want(http.StatusOK, "PATCH", "/v1/_model?dryRun=true", patch(`{"read":["c"]}`), "Content-Type", harness.MergeType).Body); strings.Contains(body, "tells readers") {
		t.Errorf("flows that were there are told as new: %s", body)
	}
}

// TestFlowsAreListed: an admin is told what derived fields tell, whether they must say so or not. Nobody else is.
func TestFlowsAreListed(t *testing.T) {
	s := harness.OpenClosed(t, tasksModel("{ read: [a] }", byMembers, publishes))
	want := `{"flows":[{"rule":"tasks.members","from":"projects","to":"tasks","publish":true},{"rule":"tasks.n","from":"projects","to":"tasks","publish":true}]}`
	if got := strings.TrimSpace(string(s.Want(http.StatusOK, "GET", "/v1/_model/_flows", "").Body)); got != want {
		t.Errorf("the flows are %s, want %s", got, want)
	}
	s.As("a", "read", "write", "monitor").Want(http.StatusForbidden, "GET", "/v1/_model/_flows", "")
	s.Model(tasksModel("{ read: [a] }", "{ read: [a] }", ""))
	if got := strings.TrimSpace(string(s.Want(http.StatusOK, "GET", "/v1/_model/_flows", "").Body)); got != strings.ReplaceAll(want, "true", "false") {
		t.Errorf("the flows are %s", got)
	}
	s.Model("collections: { projects: {} }")
	if got := strings.TrimSpace(string(s.Want(http.StatusOK, "GET", "/v1/_model/_flows", "").Body)); got != `{"flows":[]}` {
		t.Errorf("without derived fields: %s", got)
	}
}

// TestAcceptedModelsStay: a model of the log that came before copies had to say that they publish is in force after a restart, and may be sent
// again. The next model must say it.
func TestAcceptedModelsStay(t *testing.T) {
	dir := t.TempDir()
	s := harness.Open(t, harness.Options{Dir: dir})
	s.Model("collections: {}")
	if _, err := s.Node.Log.Append(t.Context(), &fanfold.Event{Kind: fanfold.KindModel, Body: []byte(unsaid)}, fanfold.Expect{}); err != nil {
		t.Fatal(err)
	}
	s.Put("projects", "p", `{"m":1}`)
	s.Put("tasks", "t", `{"p":"p"}`)
	s.Close()
	s = harness.Open(t, harness.Options{Dir: dir})
	defer s.Close()
	if got := string(s.Want(http.StatusOK, "GET", "/v1/tasks/t", "").Body); !strings.Contains(got, `"m":1`) {
		t.Errorf("the document is %s", got)
	}
	s.Want(http.StatusOK, "PUT", "/v1/_model", unsaid)
	s.Want(http.StatusOK, "PUT", "/v1/_model?dryRun=true", unsaid)
	wantFlows(t, s, "PATCH", "/v1/_model", `{"collections":{"others":{}}}`, harness.MergeType, "tasks.m tells readers of tasks about projects")
	s.Want(http.StatusOK, "PATCH", "/v1/_model", `{"collections":{"others":{},"tasks":{"derive":{"m":{"publish":true}}}}}`, "Content-Type", harness.MergeType)
}

// TestPublishNeedsAFold: under a version of the fold whose programs cannot read publish a model with it is refused.
func TestPublishNeedsAFold(t *testing.T) {
	s := harness.Open(t, harness.Options{Dir: t.TempDir(), KeepFold: true})
	defer s.Close()
	s.Model("collections: { a: {} }")
	const model = `{"collections":{"a":{"relations":{"a":{"path":"a","to":"a"}},"derive":{"n":{"copy":"a","value":"doc.x","publish":true}}}}}`
	if r := s.Want(http.StatusUnprocessableEntity, "PUT", "/v1/_model", model); !strings.Contains(string(r.Body), "the model has publish") || !strings.Contains(string(r.Body), "fanfold upgrade") {
		t.Errorf("the refusal is %s", r.Body)
	}
	s.SetFold(9)
	s.Model(model)
}

// TestClientListsFlows: the Go client returns the flows.
func TestClientListsFlows(t *testing.T) {
	s := harness.OpenTemp(t, tasksModel(byMembers, byMembers, publishes))
	c, err := client.New(s.URL, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	all, err := client.ModelFlows(t.Context(), c)
	if err != nil || len(all) != 2 || all[0] != (client.Flow{Rule: "tasks.members", From: "projects", To: "tasks", Publish: true}) {
		t.Errorf("%+v, %v", all, err)
	}
}
