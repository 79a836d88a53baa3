package model_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/fanfold/fanfold/access"
	"github.com/fanfold/fanfold/projector/fold"
	"github.com/fanfold/fanfold/tests/harness"
)

// actors has who wrote documents as members, beside elements, and in other documents.
const actors = `
collections:
  notes:
    relations: { up: { path: up, to: notes, onDelete: unlink } }
    derive:
      createdBy: { value: meta.createdBy }
      updatedBy: { value: meta.updatedBy }
      alone:     { value: meta.createdBy == meta.updatedBy }
      marks:     { count: marks.note }
      "lines[].by": { value: "element.n + ' ' + meta.updatedBy" }
    indexes: { by: [updatedBy] }
  marks:
    relations: { note: { path: note, to: notes, onDelete: cascade } }
    derive: { noted: { copy: note, value: doc.updatedBy }, by: { value: meta.createdBy } }
`

// TestActors: values of a document's own see who created the document and who wrote it last, whatever the road.
// Derived changes move neither. Old documents have the values at once, and replays, a base and a prepared model give the same ones.
func TestActors(t *testing.T) {
	s := harness.OpenClosed(t, "collections: {notes: {}, marks: {}}")
	keyA, keyB := s.NewKey("admin"), s.NewKey("admin")
	a, b := s.With(keyA), s.With(keyB)
	byA, byB := "key:"+mustID(t, keyA), "key:"+mustID(t, keyB)
	wrote := func(id, createdBy, updatedBy string) {
		t.Helper()
		var n struct {
			CreatedBy, UpdatedBy string
			Alone                bool
			Lines                []struct{ By string }
		}
		harness.Decode(t, []byte(s.Get("notes", id)), &n)
		if n.CreatedBy != createdBy || n.UpdatedBy != updatedBy || n.Alone != (createdBy == updatedBy) || len(n.Lines) > 0 && n.Lines[0].By != "a "+updatedBy {
			t.Fatalf("notes/%s is %+v, want %s and %s", id, n, createdBy, updatedBy)
		}
	}
	a.Put("notes", "1", `{"lines":[{"n":"a"}]}`)
	a.Put("notes", "2", `{"up":"3"}`)
	b.Merge("notes", "2", `{"n":1}`)
	s.Model(actors)
	wrote("1", byA, byA) // before the rules
	wrote("2", byA, byB)
	at := s.Want(http.StatusOK, "GET", "/v1/notes/1", "").Header.Get("Fanfold-Position")

	b.Put("marks", "1", `{"note":"1"}`)
	wrote("1", byA, byA)
	s.WantDoc("marks", "1", `{"id":"1","note":"1","by":"`+byB+`","noted":"`+byA+`"}`)
	b.Put("notes", "1", `{"n":0,"lines":[{"n":"a"}],"createdBy":"key:mine","updatedBy":"key:mine"}`) // as any derived member that is sent
	wrote("1", byA, byB)
	s.WantDoc("marks", "1", `{"id":"1","note":"1","by":"`+byB+`","noted":"`+byB+`"}`)
	a.Want(http.StatusNoContent, "PATCH", "/v1/notes/1", `[{"op":"increment","path":"/n","value":1}]`, "Content-Type", harness.PatchType)
	wrote("1", byA, byA)
	b.Want(http.StatusOK, "POST", "/v1/_transactions", `{"operations":[{"op":"put","collection":"notes","id":"3","body":{}},{"op":"patch","collection":"notes","id":"1","patch":{"n":2}}]}`)
	wrote("1", byA, byB)
	wrote("3", byB, byB)
	a.Want(http.StatusOK, "POST", "/v1/_import", `{"collection":"notes","doc":{"id":"1","lines":[{"n":"a"}]}}`+"\n"+`{"collection":"notes","doc":{"id":"4"}}`+"\n", "Content-Type", "application/x-ndjson")
	wrote("1", byA, byA)
	wrote("4", byA, byA)
	wrote("2", byA, byB)
	a.Delete("notes", "3") // unlinks 2, which is a write of it
	wrote("2", byA, byA)
	b.Delete("notes", "4")
	b.Put("notes", "4", `{}`) // another document
	wrote("4", byB, byB)
	b.Want(http.StatusOK, "PATCH", `/v1/notes?filter=doc.id%3D%3D%221%22`, `{"m":1}`, "Content-Type", harness.MergeType)
	wrote("1", byA, byB)
	if past := string(s.Want(http.StatusOK, "GET", "/v1/notes/1?at="+at, "").Body); !strings.Contains(past, `"updatedBy":"`+byA) {
		t.Errorf("the document was %s", past)
	}
	if r := s.Want(http.StatusOK, "GET", "/v1/notes?sort=id&fields=id&filter=doc.updatedBy%3D%3D%22"+byA+"%22&explain=true", ""); !strings.Contains(string(r.Body), `"index":"by"`) {
		t.Errorf("the plan is %s", r.Body)
	}
	same := func() {
		t.Helper()
		wrote("1", byA, byB)
		wrote("2", byA, byA)
		wrote("4", byB, byB)
		s.WantDoc("marks", "1", `{"id":"1","note":"1","by":"`+byB+`","noted":"`+byB+`"}`)
		s.Verify()
	}
	digest := s.Digest()
	s.Replay()
	if s.Digest() != digest {
		t.Error("a replay gives other rows")
	}
	same()
	s.Model("collections: {notes: {}, marks: {}}")
	s.CatchUp()
	s.Compact(s.Node.Store.Applied.Seq())
	s.Rebuilt()
	s.Want(http.StatusOK, "PUT", "/v1/_model?background=true", actors, "Content-Type", "application/yaml")
	same()
}

// mustID returns the id of a key.
func mustID(t *testing.T, text string) string {
	t.Helper()
	k, err := access.ParseKey(text)
	if err != nil {
		t.Fatal(err)
	}
	return k.ID
}

// TestActorsOfOpenHouses: without a key nobody in particular writes, so that a value that needs the name is absent, and says why. A check over it
// refuses the writes of others.
func TestActorsOfOpenHouses(t *testing.T) {
	s := harness.OpenTemp(t, actors)
	s.Put("notes", "1", `{"n":1}`)
	s.WantDoc("notes", "1", `{"id":"1","n":1,"marks":0}`)
	if got := lineage(t, s, "/v1/notes/1"); !strings.Contains(got, "meta.createdBy has no value: no key of the request is known") {
		t.Errorf("the lineage is %s", got)
	}
	s.CloseHouse()
	s.Merge("notes", "1", `{"n":2}`)
	s.WantDoc("notes", "1", `{"id":"1","n":2,"marks":0,"updatedBy":"key:`+mustID(t, s.Key)+`"}`)
	s.Model(`collections: {mine: {derive: {own: {value: meta.createdBy == meta.updatedBy}}, checks: {own: {that: doc.own, message: "It is another's"}}}}`)
	s.Put("mine", "1", `{"n":1}`)
	s.Merge("mine", "1", `{"n":2}`)
	other := s.As("admin")
	for _, dry := range []string{"?dryRun=true", ""} {
		if r := other.Want(http.StatusUnprocessableEntity, "PATCH", "/v1/mine/1"+dry, `{"n":3}`, "Content-Type", harness.MergeType); !strings.Contains(string(r.Body), "check-failed") {
			t.Errorf("the answer is %s", r.Body)
		}
	}
	s.WantDoc("mine", "1", `{"id":"1","n":2,"own":true}`)
}

// TestActorsOfOldFolds: documents that were written under an older version of the fold have their writers at once, and a model that asks for
// them under it is refused.
func TestActorsOfOldFolds(t *testing.T) {
	s := harness.Open(t, harness.Options{Dir: t.TempDir(), KeepFold: true})
	defer func() { s.Close() }()
	s.Put("notes", "0", `{}`)
	s.CloseHouse()
	s.Model("collections: {notes: {}}")
	s.Put("notes", "1", `{}`)
	const model = "collections: {notes: {derive: {by: {value: meta.createdBy}}}}"
	if r := s.Want(http.StatusConflict, "PUT", "/v1/_model", model, "Content-Type", harness.YAMLType); !strings.Contains(string(r.Body), "version 9 of the fold brought") {
		t.Errorf("the answer is %s", r.Body)
	}
	s.SetFold(fold.LatestVersion)
	s.Model(model)
	s.WantDoc("notes", "0", `{"id":"0"}`)
	s.WantDoc("notes", "1", `{"id":"1","by":"key:`+mustID(t, s.Key)+`"}`)
	s.Verify()
	s.Replay()
	s.WantDoc("notes", "1", `{"id":"1","by":"key:`+mustID(t, s.Key)+`"}`)
}
