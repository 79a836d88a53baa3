package model_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/fanfold/fanfold/tests/harness"
	"github.com/fanfold/fanfold/tests/jsonvalue"
	"github.com/fanfold/fanfold/tests/suite"
)

// supportDesk has comments that refer to the customer of their ticket by the id that they copy from it.
func supportDesk(policy string) string {
	return `
collections:
  customers:
    derive:
      comments: {count: comments.customer}
      open: {count: comments.customer, where: doc.open}
      hours: {sum: comments.customer, of: hours}
      last: {recent: comments.customer, max: 2, fields: [id, customerName]}
      ids: {ids: comments.customer}
  tickets:
    relations: {customer: {path: customerId, to: customers}}
  comments:
    relations:
      ticket: {path: ticketId, to: tickets}
      customer: {path: customerId, to: customers, onDelete: ` + policy + `}
    pages: {by: customer, size: 2}
    derive:
      customerId: {copy: ticket, value: doc.customerId}
      customerName: {copy: customer, value: doc.name}
fanout: {limit: 1000}
`
}

// openDesk opens a store with two customers, a ticket of the first and three comments of it.
func openDesk(t *testing.T, policy string) *harness.Store {
	s := harness.OpenTemp(t, supportDesk(policy))
	s.Put("customers", "c", `{"name":"Ann"}`)
	s.Put("customers", "d", `{"name":"Bob"}`)
	s.Put("comments", "1", `{"ticketId":"t","hours":1.5,"open":true}`)
	s.Put("tickets", "t", `{"customerId":"c"}`)
	s.Put("comments", "2", `{"ticketId":"t","hours":2}`)
	s.Put("comments", "3", `{"ticketId":"t","hours":0.25}`)
	return s
}

// TestRelationOverDerivedIDs: whatever hangs on a relation follows ids that rules give, in the same transaction.
func TestRelationOverDerivedIDs(t *testing.T) {
	suite.Parallel(t)
	s := openDesk(t, "clear")
	s.WantDoc("comments", "1", `{"id":"1","ticketId":"t","hours":1.5,"open":true,"customerId":"c","customerName":"Ann"}`)
	s.WantDoc("customers", "c", `{"id":"c","name":"Ann","comments":3,"hours":3.75,"ids":["1","2","3"],"last":[{"id":"3","customerName":"Ann"},{"id":"2","customerName":"Ann"}],"open":1}`)
	s.Merge("customers", "c", `{"name":"Anna"}`)
	s.WantDoc("comments", "2", `{"id":"2","ticketId":"t","hours":2,"customerId":"c","customerName":"Anna"}`)
	r := s.Merge("tickets", "t", `{"customerId":"d"}`)
	if n := r.Header.Get("Fanfold-Derived-Changes"); n != "5" {
		t.Errorf("the ticket's move caused %s changes", n)
	}
	s.WantDoc("customers", "c", `{"id":"c","name":"Anna","comments":0,"hours":0,"ids":[],"last":[],"open":0}`)
	s.WantDoc("customers", "d", `{"id":"d","name":"Bob","comments":3,"hours":3.75,"ids":["1","2","3"],"last":[{"id":"3","customerName":"Bob"},{"id":"2","customerName":"Bob"}],"open":1}`)
	s.Merge("comments", "1", `{"open":false}`)
	s.WantDoc("customers", "d", `{"id":"d","name":"Bob","comments":3,"hours":3.75,"ids":["1","2","3"],"last":[{"id":"3","customerName":"Bob"},{"id":"2","customerName":"Bob"}],"open":0}`)
	s.Want(http.StatusNoContent, http.MethodDelete, "/v1/tickets/t", "")
	s.WantDoc("comments", "1", `{"id":"1","ticketId":"t","hours":1.5,"open":false}`)
	s.WantDoc("customers", "d", `{"id":"d","name":"Bob","comments":0,"hours":0,"ids":[],"last":[],"open":0}`)
	s.Put("tickets", "t", `{"customerId":"c"}`)
	s.WantDoc("comments", "3", `{"id":"3","ticketId":"t","hours":0.25,"customerId":"c","customerName":"Anna"}`)
	s.Replay()
	s.WantDoc("comments", "3", `{"id":"3","ticketId":"t","hours":0.25,"customerId":"c","customerName":"Anna"}`)
}

// TestReadsByDerivedIDs: expand, in both views, lists of the documents that refer to one, pages and lineage go by derived ids.
func TestReadsByDerivedIDs(t *testing.T) {
	suite.Parallel(t)
	s := openDesk(t, "clear")
	for _, view := range []string{"embedded", "referenced"} {
		got := harness.Body(s, "/v1/comments/1?expand=customer,ticket.customer&view="+view)
		if !strings.Contains(got, `"_expanded":{"customer":{"c":{"id":"c","name":"Ann"`) || strings.Contains(got, `"customerName"`) != (view == "embedded") {
			t.Errorf("expanded is %s", got)
		}
		if got := harness.Body(s, "/v1/comments?limit=1&expand=customer&view="+view); !strings.Contains(got, `"_expanded":{"customer":{"c":{"id":"c","name":"Ann"`) {
			t.Errorf("the list is %s", got)
		}
	}
	s.Merge("tickets", "t", `{"customerId":"d"}`)
	if got := harness.Body(s, "/v1/customers/d/comments"); strings.Count(got, `"customerName":"Bob"`) != 3 {
		t.Errorf("the list of comments is %s", got)
	}
	if got := harness.Body(s, "/v1/customers/d/comments?page=2"); !strings.Contains(got, `"comments":[{"id":"3"`) || !strings.Contains(got, `"pages":2`) {
		t.Errorf("the second page is %s", got)
	}
	if got := harness.Body(s, "/v1/customers/c/comments?page=1"); !strings.Contains(got, `"comments":[]`) {
		t.Errorf("the page that they left is %s", got)
	}
	if got := harness.Body(s, "/v1/comments/1/_lineage"); !strings.Contains(got, `{"path":"/customerName","rule":"comments.customerName","kind":"copy","sources":[{"collection":"customers","id":"d"`) {
		t.Errorf("the lineage of a comment is %s", got)
	}
	if got := harness.Body(s, "/v1/comments/1/_lineage"); !strings.Contains(got, `{"rule":"customers.comments","documents":1,"first":["d"]}`) {
		t.Errorf("the lineage of a comment is %s", got)
	}
}

// TestDeletesByDerivedIDs: each delete policy looks at the documents that refer to the target by derived ids.
func TestDeletesByDerivedIDs(t *testing.T) {
	suite.Parallel(t)
	for policy, want := range map[string]string{
		"clear":   `{"id":"1","ticketId":"t","hours":1.5,"open":true,"customerId":"c"}`,
		"keep":    `{"id":"1","ticketId":"t","hours":1.5,"open":true,"customerId":"c","customerName":"Ann"}`,
		"cascade": "",
	} {
		t.Run(policy, func(t *testing.T) {
			t.Parallel()
			s := openDesk(t, policy)
			s.Want(http.StatusNoContent, http.MethodDelete, "/v1/customers/c", "")
			if want == "" {
				s.Want(http.StatusNotFound, http.MethodGet, "/v1/comments/1", "")
				s.Want(http.StatusNotFound, http.MethodGet, "/v1/comments/3", "")
				return
			}
			s.WantDoc("comments", "1", want)
			s.Put("customers", "c", `{"name":"Cleo"}`)
			s.WantDoc("comments", "1", `{"id":"1","ticketId":"t","hours":1.5,"open":true,"customerId":"c","customerName":"Cleo"}`)
		})
	}
	t.Run("restrict", func(t *testing.T) {
		t.Parallel()
		s := openDesk(t, "restrict")
		s.Want(http.StatusConflict, http.MethodDelete, "/v1/customers/c", "")
		s.Merge("tickets", "t", `{"customerId":"d"}`)
		s.Want(http.StatusNoContent, http.MethodDelete, "/v1/customers/c", "")
		s.Want(http.StatusConflict, http.MethodDelete, "/v1/customers/d", "")
	})
}

// TestDeleteInStepsByDerivedIDs: a delete in steps takes those that refer to the target by a derived id before the documents
// that the id comes from.
func TestDeleteInStepsByDerivedIDs(t *testing.T) {
	suite.Parallel(t)
	s := harness.OpenTemp(t, strings.ReplaceAll(strings.Replace(supportDesk("cascade"), "{customer: {path: customerId, to: customers}}", "{customer: {path: customerId, to: customers, onDelete: cascade}}", 1), "tickets", "a_tickets"))
	s.Put("customers", "c", `{"name":"Ann"}`)
	const tickets = 700
	var lines strings.Builder
	for i := range tickets {
		fmt.Fprintf(&lines, `{"collection":"a_tickets","doc":{"id":"t%d","customerId":"c"}}`+"\n", i)
		fmt.Fprintf(&lines, `{"collection":"comments","doc":{"id":"m%d","ticketId":"t%d"}}`+"\n", i, i)
	}
	s.Want(http.StatusOK, http.MethodPost, "/v1/_import", lines.String(), "Content-Type", "application/x-ndjson")
	requireGoneInSteps(t, s, "/v1/customers/c", "a_tickets", "comments")
}

// requireGoneInSteps deletes a document in steps, after which nothing may be left in the collections.
func requireGoneInSteps(t *testing.T, s *harness.Store, path string, collections ...string) {
	t.Helper()
	for steps := 0; ; steps++ {
		r := s.Want(http.StatusOK, http.MethodDelete, path+"?steps=true", "", "Fanfold-Timeout", "60")
		if strings.Contains(string(r.Body), `"done":true`) {
			break
		}
		if steps > 10 {
			t.Fatalf("step %d is %s", steps, r.Body)
		}
	}
	for _, c := range collections {
		if got := harness.Body(s, "/v1/"+c+"?limit=1"); !strings.Contains(got, `[]`) {
			t.Errorf("left over are %s", got)
		}
	}
}

// TestFanoutByDerivedIDs: a dry run says what a change of derived ids causes, and the limit holds for it.
func TestFanoutByDerivedIDs(t *testing.T) {
	suite.Parallel(t)
	s := harness.OpenTemp(t, strings.Replace(supportDesk("clear"), "limit: 1000", "limit: 300", 1))
	s.Put("customers", "c", `{"name":"Ann"}`)
	s.Put("customers", "d", `{"name":"Bob"}`)
	s.Put("tickets", "t", `{"customerId":"c"}`)
	for i := range 300 {
		s.Put("comments", fmt.Sprint(i), `{"ticketId":"t","hours":1}`)
	}
	move := func(want int, query string) *harness.Response {
		return s.Want(want, http.MethodPatch, "/v1/tickets/t"+query, `{"customerId":"d"}`, "Content-Type", harness.MergeType)
	}
	if fan := move(http.StatusOK, "?dryRun=true"); !strings.Contains(string(fan.Body), `"collections":{"comments":300,"customers":2}`) {
		t.Errorf("the dry run says %s", fan.Body)
	}
	if p := move(http.StatusUnprocessableEntity, ""); !strings.Contains(string(p.Body), "302") {
		t.Errorf("the refusal says %s", p.Body)
	}
	if r := move(http.StatusNoContent, "?allowFanout=true"); r.Header.Get("Fanfold-Derived-Changes") != "302" {
		t.Errorf("it caused %s changes", r.Header.Get("Fanfold-Derived-Changes"))
	}
	if r := s.Merge("comments", "7", `{"hours":2}`); r.Header.Get("Fanfold-Derived-Changes") != "1" {
		t.Errorf("an edit of one comment caused %s changes", r.Header.Get("Fanfold-Derived-Changes"))
	}
	s.Merge("comments", "7", `{"ticketId":"gone"}`)
	if doc := jsonvalue.Parse(s.Get("customers", "d")); doc.Get("comments").Text != "299" || doc.Get("hours").Text != "299" {
		t.Errorf("the customer is %s", doc)
	}
}

// TestTooManyDerivedIDs: no write can be refused for ids that a rule gives, so a document with more of them than one takes
// refers to nothing.
func TestTooManyDerivedIDs(t *testing.T) {
	suite.Parallel(t)
	s := harness.OpenTemp(t, `
collections:
  tags: {derive: {uses: {count: posts.topics}}}
  users: {}
  posts:
    relations: {author: {path: author, to: users}, topics: {path: "topics[]", to: tags}}
    derive: {topics: {copy: author, value: doc.likes}, topicNames: {copy: topics, value: doc.name}}
`)
	likes := func(n int) string { return `{"likes":["x"` + strings.Repeat(`,"y"`, n-1) + `]}` }
	s.Put("tags", "x", `{"name":"X"}`)
	s.Put("posts", "p", `{"author":"u"}`)
	s.Put("users", "u", likes(100))
	s.WantDoc("tags", "x", `{"id":"x","name":"X","uses":1}`)
	s.Put("users", "u", likes(101))
	s.WantDoc("tags", "x", `{"id":"x","name":"X","uses":0}`)
	if got := s.Get("posts", "p"); strings.Contains(got, "topicNames") {
		t.Errorf("the post is %.200s", got)
	}
	if got := harness.Body(s, "/v1/posts/p/_lineage"); !strings.Contains(got, "more than 100 ids") {
		t.Errorf("the lineage is %.300s", got)
	}
	s.Put("users", "u", `{"likes":["x"]}`)
	s.WantDoc("posts", "p", `{"id":"p","author":"u","topicNames":["X"],"topics":["x"]}`)
}

// TestKeptByDerivedIDs: values that stay on documents by a relation over derived ids go with the id, and come with an export. They are
// lost with the rule only where the model releases it.
func TestKeptByDerivedIDs(t *testing.T) {
	suite.Parallel(t)
	s := openDesk(t, "keep")
	s.Want(http.StatusNoContent, http.MethodDelete, "/v1/customers/c", "")
	s.Merge("comments", "1", `{"ticketId":"other"}`)
	s.Merge("comments", "1", `{"ticketId":"t"}`)
	s.WantDoc("comments", "1", `{"id":"1","ticketId":"t","hours":1.5,"open":true,"customerId":"c"}`)
	kept := `{"id":"2","ticketId":"t","hours":2,"customerId":"c","customerName":"Ann"}`
	s.WantDoc("comments", "2", kept)
	imported := harness.OpenTemp(t, "collections: {}")
	imported.Want(http.StatusOK, http.MethodPost, "/v1/_import", harness.Body(s, "/v1/_export"), "Content-Type", "application/x-ndjson")
	imported.WantDoc("comments", "2", kept)
	imported.WantDoc("comments", "1", `{"id":"1","ticketId":"t","hours":1.5,"open":true,"customerId":"c"}`)
	without := strings.Replace(supportDesk("keep"), "      customerName: {copy: customer, value: doc.name}\n", "", 1)
	without = strings.Replace(without, "[id, customerName]", "[id]", 1)
	if p := s.Want(http.StatusUnprocessableEntity, http.MethodPut, "/v1/_model?allowRemoval=true", without, "Content-Type", "application/yaml"); !strings.Contains(string(p.Body), "2 kept values of comments.customerName would be lost") {
		t.Errorf("the refusal is %s", p.Body)
	}
	s.Want(http.StatusOK, http.MethodPut, "/v1/_model?allowRemoval=true", strings.Replace(without, "    pages:", "    release: [customerName]\n    pages:", 1), "Content-Type", "application/yaml")
	s.WantDoc("comments", "2", `{"id":"2","ticketId":"t","hours":2,"customerId":"c"}`)
}
