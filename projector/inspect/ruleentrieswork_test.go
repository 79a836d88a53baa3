package inspect_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/projector/inspect"
	"github.com/fanfold/fanfold/tests/harness"
)

// TestWorkOfAggregatesOfAggregates checks that a document which alters sums of sums costs the same however many documents
// they are made of.
func TestWorkOfAggregatesOfAggregates(t *testing.T) {
	s := harness.OpenTemp(t, `
fanout: {limit: 300}
collections:
  customers:
    relations: {self: {path: self, to: customers}}
    derive:
      hours: {sum: tickets.customer, of: hours}
      longest: {max: tickets.customer, of: hours}
      busy: {count: tickets.customer, where: doc.hours > 0}
      of: {copy: self, value: doc.hours + doc.longest + doc.busy}
  tickets: {relations: {customer: {path: customer, to: customers}}, derive: {hours: {sum: comments.ticket, of: hours}}}
  comments: {relations: {ticket: {path: ticket, to: tickets}}}
`)
	inspector := inspect.New(s.Node.Store, s.Node.Projector, fanfold.Issuer{})
	s.Put("customers", "c", `{"self":"c"}`)
	work := func(from, to int) int64 {
		var lines strings.Builder
		for i := from; i < to; i++ {
			fmt.Fprintf(&lines, `{"id":"%d","customer":"c"}`+"\n", i)
		}
		s.Want(http.StatusOK, http.MethodPost, "/v1/_import?collection=tickets", lines.String(), "Content-Type", "application/x-ndjson")
		rows := inspector.RowsRead()
		more, err := inspector.MayExceed(t.Context(), []*fanfold.Event{{Kind: fanfold.KindPut,
			Key: fanfold.Key{Collection: "comments", ID: "1"}, Body: []byte(`{"id":"1","ticket":"7","hours":2}`)}}, 300)
		if err != nil || more {
			t.Errorf("a comment of one of %d tickets may pass the limit: %v, %v", to, more, err)
		}
		return inspector.RowsRead() - rows
	}
	few, many := work(0, 600), work(600, 3000)
	t.Logf("%d rows of the read model at 600 tickets, %d at 3000", few, many)
	if many > few+10 || many > 100 {
		t.Errorf("it took %d rows at 600 tickets, and %d at 3000", few, many)
	}
}
