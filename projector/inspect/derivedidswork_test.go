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

// TestWorkOfDerivedIDs checks that a document which changes what it refers to by derived ids costs the same however many
// others refer to the same targets.
func TestWorkOfDerivedIDs(t *testing.T) {
	s := harness.OpenTemp(t, `
fanout: {limit: 300}
collections:
  customers:
    derive:
      comments: {count: comments.customer}
      hours: {sum: comments.customer, of: hours}
      longest: {max: comments.customer, of: hours}
      last: {recent: comments.customer, max: 2, fields: [hours], orderBy: hours}
  tickets: {relations: {customer: {path: customer, to: customers}}}
  comments:
    relations: {ticket: {path: ticket, to: tickets}, customer: {path: customer, to: customers}}
    derive: {customer: {copy: ticket, value: doc.customer}, name: {copy: customer, value: doc.name}}
`)
	inspector := inspect.New(s.Node.Store, s.Node.Projector, fanfold.Issuer{})
	for _, c := range []string{"a", "b"} {
		s.Put("customers", c, `{}`)
		s.Put("tickets", c, `{"customer":"`+c+`"}`)
	}
	work := func(from, to int) int64 {
		var lines strings.Builder
		for i := from; i < to; i++ {
			fmt.Fprintf(&lines, `{"id":"%d","ticket":"%c","hours":%d}`+"\n", i, 'a'+i%2, i)
		}
		s.Want(http.StatusOK, http.MethodPost, "/v1/_import?collection=comments", lines.String(), "Content-Type", "application/x-ndjson")
		rows := inspector.RowsRead()
		more, err := inspector.MayExceed(t.Context(), []*fanfold.Event{{Kind: fanfold.KindPut,
			Key: fanfold.Key{Collection: "comments", ID: "1"}, Body: []byte(`{"id":"1","ticket":"a","hours":2}`)}}, 300)
		if err != nil || more {
			t.Errorf("a comment of %d that moves may pass the limit: %v, %v", to, more, err)
		}
		return inspector.RowsRead() - rows
	}
	few, many := work(0, 600), work(600, 3000)
	t.Logf("%d rows of the read model at 600 comments, %d at 3000", few, many)
	if many > few+10 || many > 100 {
		t.Errorf("it took %d rows at 600 comments, and %d at 3000", few, many)
	}
}
