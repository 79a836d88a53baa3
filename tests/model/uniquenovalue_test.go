package model_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/model"
	"github.com/fanfold/fanfold/tests/harness"
	"github.com/fanfold/fanfold/tests/suite"
)

// misspeltUnique names members that no document has, that some have, and that are no texts.
const misspeltUnique = `
collections:
  users: {unique: ["lower(doc.emial)", [tenant, "lower(doc.email)"], nme, roles, email]}
  empty: {unique: [nothing]}
`

// unguardedUsers is what misspeltUnique finds: in how many documents nothing, in which first, and why.
var unguardedUsers = map[string]model.Evaluation{
	`users unique lower(doc.emial) lower(doc.emial)`:              {NoValue: 3, Document: "users/1", Reason: `there is no member "emial"; did you mean "email"?`},
	`users unique ["tenant","lower(doc.email)"] tenant`:           {NoValue: 1, Document: "users/2", Reason: `there is no member "tenant"`},
	`users unique ["tenant","lower(doc.email)"] lower(doc.email)`: {NoValue: 1, Document: "users/3", Reason: `there is no member "email"`},
	`users unique nme nme`:                                        {NoValue: 3, Document: "users/1", Reason: `there is no member "nme"; did you mean "name"?`},
	`users unique roles roles`:                                    {NoValue: 3, Document: "users/1", Reason: `member roles is neither a text nor a number`},
	`users unique email email`:                                    {NoValue: 1, Document: "users/3", Reason: `there is no member "email"`},
}

// putUsers writes documents that misspeltUnique looks at.
func putUsers(s *harness.Store) {
	s.Put("users", "1", `{"name":"Ann","email":"Ann@x","tenant":"t","roles":["a"]}`)
	s.Put("users", "2", `{"name":"Bob","email":"bob@x","roles":["a"]}`)
	s.Put("users", "3", `{"name":"Cleo","tenant":"t","roles":["b"]}`)
}

// TestUniqueWithoutValueIsTold: a preview says in how many documents a unique member has no value, in which first and why. It warns where
// that is all of them. So do the lineage of a document, _status, the metrics and the log.
func TestUniqueWithoutValueIsTold(t *testing.T) {
	suite.Parallel(t)
	s := harness.OpenTemp(t, "")
	putUsers(s)
	p := previewed(t, s.Want(http.StatusOK, "PUT", "/v1/_model?dryRun=true", misspeltUnique, "Content-Type", harness.YAMLType).Body)
	found := 0
	for _, u := range p.Unique {
		for _, e := range u.Evaluations {
			for name, want := range unguardedUsers {
				if strings.HasPrefix(name, u.Collection+" ") && strings.HasSuffix(name, " "+e.Part) && (len(u.Evaluations) > 1) == strings.Contains(name, "[") {
					found++
					wantUnguarded(t, name, e, want)
				}
			}
		}
	}
	if found != len(unguardedUsers) || len(p.Unique) != 6 || p.Unique[0].Evaluations[0].Evaluated != 0 {
		t.Errorf("%d are told: %+v", found, p.Unique)
	}
	wantWarning := fanfold.Problem{Path: "collections.users.unique", Detail: `"lower(doc.emial)" found no value in any of 3 documents, such as users/1: there is no member "emial"; did you mean "email"?`}
	if len(p.Warnings) != 3 || p.Warnings[0] != wantWarning {
		t.Errorf("the warnings are %+v", p.Warnings)
	}
	s.Model(misspeltUnique)
	var l struct{ Unguarded json.RawMessage }
	if err := json.Unmarshal(s.Want(http.StatusOK, "GET", "/v1/users/2/_lineage", "").Body, &l); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(l.Unguarded), `{"unique":"[tenant, lower(doc.email)]","part":"tenant","reason":"there is no member \"tenant\""}`) {
		t.Errorf("the lineage has %s", l.Unguarded)
	}
}

// wantUnguarded fails the test unless a part of what is unique found what it should.
func wantUnguarded(t *testing.T, name string, got, want model.Evaluation) {
	t.Helper()
	if want.Evaluated, want.Part = 3, got.Part; got != want {
		t.Errorf("%s: %+v, not %+v", name, got, want)
	}
}
