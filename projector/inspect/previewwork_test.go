package inspect_test

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/internal/modelfile"
	"github.com/fanfold/fanfold/model"
	"github.com/fanfold/fanfold/projector/inspect"
	"github.com/fanfold/fanfold/tests/harness"
)

// deskModel has few labels and many tickets, which copy from them.
const deskModel = `
collections:
  labels: {derive: {shout: {value: upper(doc.name)}}}
  people: {derive: {tickets: {count: tickets.by}}}
  tickets:
    unique: [code]
    relations: {label: {path: label, to: labels}, by: {path: by, to: people}}
    derive: {labelName: {copy: label, value: doc.name}, byName: {copy: by, value: doc.name}, title: {value: doc.code + doc.labelName}}
`

// TestPreviewWork checks that a preview looks only at what the model concerns. Neither other documents nor the other rules of the model
// change how many rows of the read model it reads.
func TestPreviewWork(t *testing.T) {
	s := harness.OpenTemp(t, deskModel)
	inspector := inspect.New(s.Node.Store, s.Node.Projector, fanfold.Issuer{})
	for i := range 10 {
		s.Put("labels", fmt.Sprint(i), `{"name":"n"}`)
		s.Put("people", fmt.Sprint(i), `{"name":"n"}`)
	}
	more := func(from, to int) {
		var lines strings.Builder
		for i := from; i < to; i++ {
			fmt.Fprintf(&lines, `{"id":"%d","code":"c%d","label":"%d","by":"%d"}`+"\n", i, i, i%10, i%9)
		}
		s.Want(http.StatusOK, http.MethodPost, "/v1/_import?collection=tickets", lines.String(), "Content-Type", "application/x-ndjson")
	}
	// one more rule, of those that read what others give, over the documents of labels alone
	labels := strings.Replace(deskModel, "shout: {", "twice: {value: doc.shout + doc.shout}, shout: {", 1)
	// a rule that the tickets copy from changes
	changed := strings.Replace(deskModel, "value: upper(doc.name)", "value: lower(doc.name)", 1)
	// one more rule over a relation with many links
	counts := strings.Replace(deskModel, "labels: {derive: {", "labels: {derive: {used: {count: tickets.label}, ", 1)
	// a rule of tickets goes
	less := strings.Replace(deskModel, ", byName: {copy: by, value: doc.name}", "", 1)
	work := func(declared string, objects bool) int64 {
		m, err := modelfile.Parse([]byte(declared))
		if err != nil {
			t.Fatal(err)
		}
		rows, refused := inspector.RowsRead(), errors.New("refused")
		_, err = inspector.Preview(t.Context(), m, model.PreviewOptions{Objection: func(p *model.Preview) error {
			if objects && len(model.Removals(p.Differences)) > 0 {
				return refused
			}
			return nil
		}})
		if objects != errors.Is(err, refused) || !objects && err != nil {
			t.Fatal(err)
		}
		return inspector.RowsRead() - rows
	}
	kinds := []struct {
		name, model string
		objects     bool
		most        int64
		each        int64 // rows for each ticket
	}{
		{"a rule over few documents", labels, false, 60, 0}, {"a changed rule", changed, false, 60, 0},
		{"a count", counts, false, 80, 1}, // a link, and no document
		{"a rule that goes, refused", less, true, 20, 0}, {"a rule that goes", less, false, 60, 1},
	}
	for last, n := range []int{300, 1500} {
		more(300*last, n)
		for _, k := range kinds {
			rows := work(k.model, k.objects)
			t.Logf("%s: %d rows at %d tickets", k.name, rows, n)
			if rows > k.most+k.each*int64(n) {
				t.Errorf("%s: %d rows at %d tickets", k.name, rows, n)
			}
		}
	}
}
