package inspect_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/internal/modelfile"
	"github.com/fanfold/fanfold/projector/inspect"
	"github.com/fanfold/fanfold/tests/harness"
)

// chainModel is where a list of the newest, a unique member and a chain meet: a section counts its sources, each has a
// copy of whether there are any, and the section shows that of its newest.
const chainModel = `
fanout: {limit: 300}
collections:
  sections: {derive: {n: {count: sources.section}, latest: {recent: sources.section, max: 3, fields: [id, active]}}}
  sources: {relations: {section: {path: section, to: sections}}, unique: [code], derive: {active: {copy: section, value: string(doc.n > 0)}}}
`

// source returns the text of a source of the one section.
func source(i int) string { return fmt.Sprintf(`{"id":"%d","section":"s","code":"c%d"}`, i, i) }

// TestMayExceedWork checks that whether a write passes the limit costs the same however many documents it could reach,
// where none of their values changes.
func TestMayExceedWork(t *testing.T) {
	s := harness.OpenTemp(t, chainModel)
	inspector := inspect.New(s.Node.Store, s.Node.Projector)
	s.Put("sections", "s", `{}`)
	work := func(from, to int) int64 {
		var lines strings.Builder
		for i := from; i < to; i++ {
			lines.WriteString(source(i) + "\n")
		}
		s.Want(http.StatusOK, http.MethodPost, "/v1/_import?collection=sources", lines.String(), "Content-Type", "application/x-ndjson")
		rows := inspector.RowsRead()
		more, err := inspector.MayExceed(t.Context(), []*fanfold.Event{{Kind: fanfold.KindPut,
			Key: fanfold.Key{Collection: "sources", ID: "next"}, Body: []byte(source(to))}}, 300)
		if err != nil || more {
			t.Errorf("one more source than %d may pass the limit: %v, %v", to, more, err)
		}
		return inspector.RowsRead() - rows
	}
	few, many := work(0, 600), work(600, 3000)
	t.Logf("%d rows of the read model at 600 sources, %d at 3000", few, many)
	if many > few+10 || many > 1500 {
		t.Errorf("it took %d rows at 600 sources, and %d at 3000", few, many)
	}
}

// TestPreviewOfALimitAlone checks that a model which concerns no document is not held against all of them.
func TestPreviewOfALimitAlone(t *testing.T) {
	s := harness.OpenTemp(t, chainModel)
	inspector := inspect.New(s.Node.Store, s.Node.Projector)
	s.Put("sections", "s", `{}`)
	for i := range 100 {
		s.Put("sources", fmt.Sprint(i), source(i))
	}
	m, err := modelfile.Parse([]byte(strings.Replace(chainModel, "limit: 300", "limit: 5", 1)))
	if err != nil {
		t.Fatal(err)
	}
	p, err := inspector.Preview(t.Context(), m)
	if err != nil || p.Changes != 0 || p.Work != 0 || len(p.Rules) != 3 || p.Rules[0].Change != "same" {
		t.Errorf("the preview is %+v, %v", p, err)
	}
	if rows := inspector.RowsRead(); rows > 20 {
		t.Errorf("the preview read %d rows", rows)
	}
}
