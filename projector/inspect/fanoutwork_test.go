package inspect_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/internal/modelfile"
	"github.com/fanfold/fanfold/model"
	"github.com/fanfold/fanfold/projector/inspect"
	"github.com/fanfold/fanfold/tests/harness"
)

// chainModel has a list of the newest, a unique member and a chain that meet. A section counts its sources, each source has a copy of
// whether there are any, and the section shows the copy of its newest source.
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
	inspector := inspect.New(s.Node.Store, s.Node.Projector, fanfold.Issuer{})
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

// TestMayEachExceed checks that events of one question are judged one by one, each as if the others were not there. A row that several of
// them read is read once.
func TestMayEachExceed(t *testing.T) {
	s := harness.OpenTemp(t, chainModel)
	inspector := inspect.New(s.Node.Store, s.Node.Projector, fanfold.Issuer{})
	s.Put("sections", "empty", `{}`)
	s.Put("sections", "held", `{}`)
	for i := range 20 {
		s.Put("sources", fmt.Sprint(i), strings.Replace(source(i), `"s"`, `"held"`, 1))
	}
	for i := range 100 {
		s.Put("others", fmt.Sprint(i), `{}`) // only the log's length
	}
	gone := &fanfold.Event{Kind: fanfold.KindDelete, Key: fanfold.Key{Collection: "sections", ID: "held"}}
	var events []*fanfold.Event
	for i := range 200 {
		into := strings.Replace(source(1000+i), `"s"`, `"held"`, 1)
		events = append(events, &fanfold.Event{Kind: fanfold.KindPut, Key: fanfold.Key{Collection: "sources", ID: "new"}, Body: []byte(into)})
	}
	few := func() int64 {
		rows := inspector.RowsRead()
		which, err := inspector.MayEachExceed(t.Context(), events, 10)
		if err != nil || len(which) > 0 {
			t.Errorf("sources may each exceed 10 changes: %v, %v", which, err)
		}
		return inspector.RowsRead() - rows
	}()
	if few > 250 {
		t.Errorf("%d events read %d rows", len(events), few)
	}
	which, err := inspector.MayEachExceed(t.Context(), []*fanfold.Event{events[0], gone, events[1], gone, events[2]}, 10)
	if err != nil || !slices.Equal(which, []int{1, 3}) {
		t.Errorf("of a source, a delete of its section, a source, the delete and a source these may exceed 10 changes: %v, %v", which, err)
	}
}

// TestPreviewOfALimitAlone checks that a model which concerns no document is not held against all of them.
func TestPreviewOfALimitAlone(t *testing.T) {
	s := harness.OpenTemp(t, chainModel)
	inspector := inspect.New(s.Node.Store, s.Node.Projector, fanfold.Issuer{})
	s.Put("sections", "s", `{}`)
	for i := range 100 {
		s.Put("sources", fmt.Sprint(i), source(i))
	}
	m, err := modelfile.Parse([]byte(strings.Replace(chainModel, "limit: 300", "limit: 5", 1)))
	if err != nil {
		t.Fatal(err)
	}
	p, err := inspector.Preview(t.Context(), m, model.PreviewOptions{})
	if err != nil || p.Changes != 0 || p.Work != 0 || len(p.Rules) != 3 || p.Rules[0].Change != "same" {
		t.Errorf("the preview is %+v, %v", p, err)
	}
	if rows := inspector.RowsRead(); rows > 20 {
		t.Errorf("the preview read %d rows", rows)
	}
}
