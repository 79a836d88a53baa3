package model_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/fanfold/fanfold/tests/harness"
	"github.com/fanfold/fanfold/tests/suite"
	"github.com/fanfold/fanfold/writer"
)

// TestIDsWrittenAgainInBackground: values that stay by a relation whose ids cease to be derived are those that a replay keeps.
func TestIDsWrittenAgainInBackground(t *testing.T) {
	suite.Parallel(t)
	hold := harness.NewActivationHold()
	s := harness.Open(t, harness.Options{Dir: t.TempDir(), Writer: writer.Options{BeforeActivate: hold.Wait}})
	defer s.Close()
	const head = "collections: {customers: {}, tickets: {}, comments: {relations: {ticket: {path: ticket, to: tickets}, customer: {path: customer, to: customers, onDelete: keep}}, derive: {"
	const name = "customerName: {copy: customer, value: doc.name}"
	s.Model("collections: {customers: {}, tickets: {}, comments: {}}")
	s.Put("customers", "c", `{"name":"Ann"}`)
	s.Put("comments", "1", `{"ticket":"t","customer":"c"}`)
	s.Model(head + "customer: {copy: ticket, value: doc.customer, takeOver: true}, " + name + "}}}")
	s.WantDoc("comments", "1", `{"id":"1","ticket":"t"}`)
	without := head + name + "}, release: [customer]}}"
	seq := s.Propose(without)
	if seq == 0 {
		return // the model has to come at once
	}
	s.Prepared()
	s.Delete("customers", "c")
	hold.Release()
	s.Activated(seq)
	sameAfterReplay(t, s)
	s.WantDoc("comments", "1", `{"id":"1","ticket":"t","customer":"c"}`)
}

// TestRestrictByDerivedIDsInTransaction: a write of the holder beside the delete lets no delete pass that its reference restricts.
func TestRestrictByDerivedIDsInTransaction(t *testing.T) {
	suite.Parallel(t)
	for policy, status := range map[string]int{"restrict": http.StatusConflict, "cascade": http.StatusUnprocessableEntity} {
		s := openDesk(t, policy)
		p := s.Want(status, http.MethodPost, "/v1/_transactions", `{"operations":[{"op":"patch","collection":"comments","id":"1","patch":{"hours":2}},{"op":"delete","collection":"customers","id":"c"}]}`)
		if !strings.Contains(string(p.Body), "comments/1") {
			t.Errorf("%s: the refusal is %s", policy, p.Body)
		}
		s.Want(http.StatusOK, http.MethodGet, "/v1/customers/c", "")
	}
}

// TestDeleteInStepsTakesSourcesLast: a delete in steps leaves nothing over that refers by a derived id to what it deletes, although
// it deletes what the id comes from, too.
func TestDeleteInStepsTakesSourcesLast(t *testing.T) {
	suite.Parallel(t)
	s := harness.OpenTemp(t, `
collections:
  roots: {}
  links: {relations: {root: {path: root, to: roots, onDelete: cascade}}}
  targets: {relations: {root: {path: root, to: roots, onDelete: cascade}}}
  holders:
    relations: {link: {path: link, to: links}, target: {path: target, to: targets, onDelete: cascade}}
    derive: {target: {copy: link, value: doc.target}}
`)
	s.Put("roots", "r", `{}`)
	var lines strings.Builder
	for i := range 700 {
		fmt.Fprintf(&lines, `{"collection":"links","doc":{"id":"%d","root":"r","target":"%d"}}`+"\n", i, i)
		fmt.Fprintf(&lines, `{"collection":"targets","doc":{"id":"%d","root":"r"}}`+"\n", i)
		fmt.Fprintf(&lines, `{"collection":"holders","doc":{"id":"%d","link":"%d"}}`+"\n", i, i)
	}
	s.Want(http.StatusOK, http.MethodPost, "/v1/_import", lines.String(), "Content-Type", "application/x-ndjson")
	requireGoneInSteps(t, s, "/v1/roots/r", "links", "targets", "holders")
}
