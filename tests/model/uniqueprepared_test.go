package model_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/fanfold/fanfold/tests/harness"
	"github.com/fanfold/fanfold/tests/suite"
	"github.com/fanfold/fanfold/writer"
)

// TestUniqueTogetherInBackground: what is unique together, and by an expression, is prepared with what is written meanwhile: two
// documents alike withdraw the model, and once it applies they are refused.
func TestUniqueTogetherInBackground(t *testing.T) {
	suite.Parallel(t)
	hold := harness.NewActivationHold()
	s := harness.Open(t, harness.Options{Dir: t.TempDir(), Writer: writer.Options{BeforeActivate: hold.Wait}})
	defer s.Close()
	const model = `collections: {users: {unique: [[tenant, "lower(doc.email)"], "upper(doc.login)"]}}`
	s.Model("collections: {users: {}}")
	s.Put("users", "1", `{"tenant":"t","email":"a@x","login":"ann"}`)
	s.Put("users", "2", `{"tenant":"u","email":"a@x"}`)
	seq := s.Propose(model)
	s.Prepared()
	s.Put("users", "3", `{"tenant":"t","email":"A@X"}`)
	hold.Release()
	if _, err := s.Node.Projector.Settled(t.Context(), seq); err == nil || !strings.Contains(err.Error(), `users/1 and users/3 both have [tenant, lower(doc.email)] ["t","a@x"]`) {
		t.Fatalf("the model settled as %v", err)
	}
	hold.Renew()
	s.Merge("users", "3", `{"email":"b@x"}`)
	seq = s.Propose(model)
	s.Prepared()
	s.Merge("users", "1", `{"email":"c@x"}`)
	s.Put("users", "4", `{"tenant":"t","email":"A@x","login":"bob"}`)
	s.Delete("users", "2")
	hold.Release()
	s.Activated(seq)
	for id, body := range map[string]string{"5": `{"tenant":"t","email":"a@X"}`, "6": `{"login":"ANN"}`, "7": `{"tenant":"t","email":"C@x"}`} {
		s.Want(http.StatusConflict, http.MethodPut, "/v1/users/"+id, body)
	}
	s.Put("users", "8", `{"tenant":"u","email":"a@x"}`)
	sameAfterReplay(t, s)
}
