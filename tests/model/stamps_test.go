package model_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/fanfold/fanfold/projector/fold"
	"github.com/fanfold/fanfold/tests/harness"
)

// stamps has the times of documents as members, beside elements, and in other documents.
const stamps = `
collections:
  notes:
    derive:
      createdAt: { value: meta.createdAt }
      updatedAt: { value: meta.updatedAt }
      edited:    { value: meta.createdAt != meta.updatedAt }
      day:       { value: "doc.createdAt.substring(0, 10)" }
      "lines[].at": { value: "element.n + ' ' + meta.updatedAt" }
    indexes: { day: [day] }
  books:
    relations: { note: { path: note, to: notes } }
    derive: { noted: { copy: note, value: doc.updatedAt } }
`

// stamped is what a note is read as.
type stamped struct {
	CreatedAt, UpdatedAt, Day string
	Edited                    bool
	Lines                     []struct{ At string }
	Meta                      struct {
		Rev                  int64
		CreatedAt, UpdatedAt string
	} `json:"_meta"`
}

// listed returns a note with its _meta.
func listed(t *testing.T, s *harness.Store, query string) stamped {
	t.Helper()
	var list struct{ Items []stamped }
	harness.Decode(t, s.Want(http.StatusOK, "GET", "/v1/notes?ids=1"+query, "").Body, &list)
	return list.Items[0]
}

// readStamped returns a note, and fails the test where its members differ from its _meta.
func readStamped(t *testing.T, s *harness.Store, query string) stamped {
	t.Helper()
	n := listed(t, s, query)
	if n.CreatedAt == "" || n.CreatedAt != n.Meta.CreatedAt || n.UpdatedAt != n.Meta.UpdatedAt || n.Edited != (n.CreatedAt != n.UpdatedAt) || n.Day != n.CreatedAt[:10] || n.Lines[0].At != "a "+n.UpdatedAt {
		t.Fatalf("%s: the document is %+v", query, n)
	}
	if _, err := time.Parse(time.RFC3339Nano, n.CreatedAt); err != nil {
		t.Fatal(err)
	}
	return n
}

// TestStamps: values of a document's own see the texts of its _meta. They are there for old documents at once, follow each write, change
// neither revision nor updatedAt, and nobody writes them.
func TestStamps(t *testing.T) {
	s := harness.OpenTemp(t, "collections: {notes: {}, books: {}}")
	s.Put("notes", "1", `{"lines":[{"n":"a"}]}`)
	s.Put("books", "1", `{"note":"1"}`)
	before := listed(t, s, "")
	s.Model(stamps)
	first := readStamped(t, s, "")
	if first.Meta.Rev != before.Meta.Rev || first.Meta.UpdatedAt != before.Meta.UpdatedAt || first.Edited {
		t.Errorf("the model made %+v of %+v", first, before)
	}
	s.WantDoc("books", "1", `{"id":"1","note":"1","noted":"`+first.UpdatedAt+`"}`)
	at := s.Want(http.StatusOK, "GET", "/v1/notes?ids=1", "").Header.Get("Fanfold-Position")

	s.Put("notes", "1", `{"lines":[{"n":"a"}],"createdAt":"2001-01-01T00:00:00Z","updatedAt":"2001-01-01T00:00:00Z"}`) // as any derived member that is sent
	s.Merge("notes", "1", `{"text":"x"}`)
	second := readStamped(t, s, "")
	if second.CreatedAt != first.CreatedAt || second.UpdatedAt == first.UpdatedAt || !second.Edited {
		t.Errorf("a write made %+v of %+v", second, first)
	}
	s.WantDoc("books", "1", `{"id":"1","note":"1","noted":"`+second.UpdatedAt+`"}`)
	if past := readStamped(t, s, "&at="+at); past.UpdatedAt != first.UpdatedAt {
		t.Errorf("the document was %+v", past)
	}
	if r := s.Want(http.StatusOK, "GET", "/v1/notes?filter=doc.day%3D%3D%22"+first.Day+"%22&explain=true", ""); !strings.Contains(string(r.Body), `"index":"day"`) {
		t.Errorf("the plan is %s", r.Body)
	}
	s.Verify()
	digest := s.Digest()
	s.Replay()
	if s.Digest() != digest {
		t.Error("a replay gives other rows")
	}

	s.Model(strings.Replace(stamps, "value: meta.updatedAt", "value: meta.createdAt", 1)) // a changed rule
	s.WantDoc("books", "1", `{"id":"1","note":"1","noted":"`+first.CreatedAt+`"}`)
	s.Model(stamps)
	s.CatchUp()
	s.Compact(s.Node.Store.Applied.Seq())
	s.Rebuilt()
	if third := readStamped(t, s, ""); third.UpdatedAt != second.UpdatedAt || third.CreatedAt != first.CreatedAt {
		t.Errorf("the compaction made %+v of %+v", third, second)
	}
	s.Merge("notes", "1", `{"text":"y"}`)
	if last := readStamped(t, s, ""); last.CreatedAt != first.CreatedAt || last.UpdatedAt == second.UpdatedAt {
		t.Errorf("a write after the compaction made %+v", last)
	}
	s.Verify()
}

// TestStampsAreOfValues: meta has four members, and only the values of a document's own see it. They need version 9 of the fold.
func TestStampsAreOfValues(t *testing.T) {
	s := harness.Open(t, harness.Options{Dir: t.TempDir(), KeepFold: true})
	defer func() { s.Close() }()
	s.Model("collections: {notes: {}}")
	model := func(status int, rule string) string {
		r := s.Want(status, "PUT", "/v1/_model", `collections: {notes: {relations: {up: {path: up, to: notes}}, derive: {`+rule+`}}}`, "Content-Type", "application/yaml")
		return string(r.Body)
	}
	for _, rule := range []string{`at: {value: meta.createdAt}`, `"lines[].at": {value: meta.updatedAt}`, `by: {value: meta.createdBy}`} {
		if got := model(http.StatusConflict, rule); !strings.Contains(got, "version 9 of the fold brought, and version 8 is in force") {
			t.Errorf("%s: the answer is %s", rule, got)
		}
	}
	s.SetFold(fold.LatestVersion)
	for rule, want := range map[string]string{
		`by: {value: meta.author}`:                                          "meta has createdAt, updatedAt, createdBy and updatedBy",
		`"lines[].by": {value: meta}`:                                       "meta has createdAt, updatedAt, createdBy and updatedBy",
		`at: {copy: up, value: meta.createdAt}`:                             "there is no '",
		`n: {count: notes.up, where: "meta.createdAt > ''"}`:                "there is no '",
		`n: {count: "lines[]", where: "meta.createdAt > ''"}`:               "there is no '",
		`by: {copy: up, value: meta.createdBy}`:                             "there is no '",
		`by: {value: has(meta.createdBy)}`:                                  "meta has createdAt, updatedAt, createdBy and updatedBy",
		`by: {value: meta.createdBy + 1}`:                                   "does not take",
		`at: {value: meta.createdAt + 1}`:                                   "does not take",
		`at: {value: meta.createdAt + 'x' + doc.at}`:                        "depend on itself",
		`"lines[].at": {value: "nothing + meta.createdAt"}`:                 "there is no '",
		`at: {value: "meta.createdAt + ` + strings.Repeat("x", 4096) + `"}`: "bytes",
	} {
		if got := model(http.StatusBadRequest, rule); !strings.Contains(got, want) {
			t.Errorf("%s: the answer is %s, want %q", rule, got, want)
		}
	}
	s.Put("notes", "1", `{"meta":{"createdAt":"mine"},"list":[{"createdAt":1}]}`)
	model(http.StatusOK, `mine: {value: doc.meta.createdAt}, own: {value: "doc.list.map(meta, meta.createdAt)"}`) // which were names before
	s.WantDoc("notes", "1", `{"id":"1","meta":{"createdAt":"mine"},"list":[{"createdAt":1}],"mine":"mine","own":[1]}`)
	s.Verify()
}

// TestStampsOfWritesToCome: a write that is judged before it is stored has a later time than the last event, even where that is the document's own.
// So the limit of derived changes holds, and checks do.
func TestStampsOfWritesToCome(t *testing.T) {
	s := harness.OpenTemp(t, `
fanout: {limit: 2}
collections:
  notes: {derive: {at: {value: meta.updatedAt}}}
  books: {relations: {note: {path: note, to: notes}}, derive: {noted: {copy: note, value: doc.at}}}
  bills: {derive: {edited: {value: meta.createdAt != meta.updatedAt}}, checks: {final: {that: doc.edited == false, message: A bill stays}}}
`)
	for _, id := range []string{"1", "2", "3"} {
		s.Put("books", id, `{"note":"1"}`)
	}
	s.Want(http.StatusCreated, "PUT", "/v1/notes/1?allowFanout=true", `{"n":1}`)
	if r := s.Want(http.StatusUnprocessableEntity, "PUT", "/v1/notes/1", `{"n":2}`); r.Problem() != "urn:fanfold:problem:fanout-limit" {
		t.Errorf("the answer is %s", r.Body)
	}
	s.Put("bills", "1", `{"n":1}`)
	for _, query := range []string{"?dryRun=true", ""} {
		if r := s.Want(http.StatusUnprocessableEntity, "PUT", "/v1/bills/1"+query, `{"n":2}`); r.Problem() != "urn:fanfold:problem:check-failed" {
			t.Errorf("the answer is %s", r.Body)
		}
	}
}
