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

// helpdesk has aggregates over what other rules give, at three levels.
const helpdesk = `
collections:
  regions:
    derive: {hours: {sum: customers.region, of: hours}}
  customers:
    relations: {region: {path: region, to: regions}}
    derive:
      hours: {sum: tickets.customer, of: hours}
      long: {count: tickets.customer, where: "doc.hours >= 2"}
      top: {recent: tickets.customer, max: 2, fields: [id, cost], orderBy: cost}
  tickets:
    relations: {customer: {path: customer, to: customers}}
    derive:
      hours: {sum: comments.ticket, of: hours}
      cost: {sum: comments.ticket, of: cost.all, where: "doc.rate > 0"}
  comments:
    relations: {ticket: {path: ticket, to: tickets}, agent: {path: agent, to: agents}}
    derive: {rate: {copy: agent, value: doc.rate}, cost.all: {copy: agent, value: "doc.rate * 2"}}
  agents: {}
`

// TestAggregatesOfAggregates: what an aggregate looks at may be derived itself, and all levels are right after any write.
func TestAggregatesOfAggregates(t *testing.T) {
	suite.Parallel(t)
	s := harness.OpenTemp(t, helpdesk)
	s.Put("agents", "a", `{"rate":3}`)
	s.Put("comments", "1", `{"ticket":"t","agent":"a","hours":1.5}`)
	s.Put("tickets", "t", `{"customer":"c"}`)
	s.Put("customers", "c", `{"region":"r"}`)
	s.Put("regions", "r", `{}`)
	s.WantDoc("customers", "c", `{"id":"c","region":"r","hours":1.5,"long":0,"top":[{"id":"t","cost":6}]}`)
	s.WantDoc("regions", "r", `{"id":"r","hours":1.5}`)
	s.Put("comments", "2", `{"ticket":"u","agent":"a","hours":2}`)
	s.Put("tickets", "u", `{"customer":"c"}`)
	s.Put("comments", "3", `{"ticket":"u","agent":"b"}`)
	s.WantDoc("customers", "c", `{"id":"c","region":"r","hours":3.5,"long":1,"top":[{"id":"u","cost":6},{"id":"t","cost":6}]}`)
	s.Merge("agents", "a", `{"rate":0}`)
	s.WantDoc("customers", "c", `{"id":"c","region":"r","hours":3.5,"long":1,"top":[{"id":"u","cost":0},{"id":"t","cost":0}]}`)
	s.Put("agents", "b", `{"rate":7}`)
	s.WantDoc("customers", "c", `{"id":"c","region":"r","hours":3.5,"long":1,"top":[{"id":"u","cost":14},{"id":"t","cost":0}]}`)
	s.Want(http.StatusOK, http.MethodPost, "/v1/_transactions", `{"operations":[{"op":"patch","collection":"comments","id":"2","patch":{"ticket":"t"}},{"op":"delete","collection":"tickets","id":"u"},{"op":"patch","collection":"agents","id":"a","patch":{"rate":1.50}}]}`)
	s.WantDoc("customers", "c", `{"id":"c","region":"r","hours":3.5,"long":1,"top":[{"id":"t","cost":6}]}`)
	s.WantDoc("regions", "r", `{"id":"r","hours":3.5}`)
	if lineage := s.Want(http.StatusOK, http.MethodGet, "/v1/tickets/t/_lineage", ""); !strings.Contains(string(lineage.Body), `{"rule":"customers.long","documents":1,"first":["c"]}`) {
		t.Errorf("the lineage is %s", lineage.Body)
	}
}

// TestFanoutIntoAggregates: a rename that many copies follow changes what they enter into the aggregates above. It is told
// before, counted, and refused where it is too much.
func TestFanoutIntoAggregates(t *testing.T) {
	suite.Parallel(t)
	s := harness.OpenTemp(t, helpdesk+"fanout: {limit: 320}\n")
	s.Put("agents", "a", `{"rate":1}`)
	for i := range 300 {
		s.Put("comments", fmt.Sprint(i), fmt.Sprintf(`{"ticket":"t%d","agent":"a"}`, i%30))
	}
	for i := range 30 {
		s.Put("tickets", fmt.Sprint("t", i), `{"customer":"c"}`)
	}
	s.Put("customers", "c", `{}`)
	patch := func(want int, query string) *harness.Response {
		return s.Want(want, http.MethodPatch, "/v1/agents/a"+query, `{"rate":2}`, "Content-Type", harness.MergeType)
	}
	if fan := patch(http.StatusOK, "?dryRun=true"); !strings.Contains(string(fan.Body), `"collections":{"comments":300,"customers":1,"tickets":30}`) {
		t.Errorf("the dry run says %s", fan.Body)
	}
	if p := patch(http.StatusUnprocessableEntity, ""); !strings.Contains(string(p.Body), "331") {
		t.Errorf("the refusal says %s", p.Body)
	}
	if r := patch(http.StatusNoContent, "?allowFanout=true"); r.Header.Get("Fanfold-Derived-Changes") != "331" {
		t.Errorf("it caused %s changes", r.Header.Get("Fanfold-Derived-Changes"))
	}
	s.WantDoc("tickets", "t1", `{"id":"t1","customer":"c","cost":40,"hours":0}`)
	s.Merge("comments", "7", `{"hours":1}`)
	s.WantDoc("tickets", "t7", `{"id":"t7","customer":"c","cost":40,"hours":1}`)
}

// TestManyWaysUp: the ways from documents to the aggregates above them are two to the power of their levels. Each document is worked on
// once by the fold, by a replay, and by those that look into what a write causes.
func TestManyWaysUp(t *testing.T) {
	suite.Parallel(t)
	const levels = 30
	rules := "r0: {sum: n.up, of: n}"
	for i := 1; i < levels; i++ {
		rules += fmt.Sprintf(", r%d: {sum: n.up, of: r%d}", i, i-1)
	}
	s := harness.OpenTemp(t, "collections: {n: {relations: {up: {path: 'up[]', to: n}}, derive: {"+rules+"}}}\nfanout: {limit: 70}\n")
	for i := levels; i >= 0; i-- {
		for _, side := range []string{"a", "b"} {
			s.Put("n", fmt.Sprint(side, i), fmt.Sprintf(`{"up":["a%d","b%d"]}`, i+1, i+1))
		}
	}
	s.Merge("n", "a0", `{"n":1}`)
	top := jsonvalue.Parse(harness.Body(s, fmt.Sprintf("/v1/n/a%d", levels)))
	if sum := top.Get(fmt.Sprint("r", levels-1)); sum == nil || sum.Text != fmt.Sprint(1<<(levels-1)) {
		t.Errorf("the sum above is %v", sum)
	}
	s.Replay()
}
