package query_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/model"
	"github.com/fanfold/fanfold/query"
	"github.com/fanfold/fanfold/sqlite"
)

// TestPlanningIsBounded: a filter with many parts that many indexes decide by many ranges each is planned with few looks at the indexes.
func TestPlanningIsBounded(t *testing.T) {
	var indexes strings.Builder
	for i := range 60 {
		path := `"tags[]", `
		if i >= 32 { // a collection's indexes through arrays have 64 components at most
			path = ""
		}
		fmt.Fprintf(&indexes, `i%d: [%sm%d], `, i, path, i)
	}
	w := bigShelf(t, 10, "{ "+indexes.String()+"}")
	var values []string
	for i := range 1000 {
		values = append(values, fmt.Sprintf(`"v%d"`, i))
	}
	params := `{"x":["x1",` + strings.Join(values, ",") + `]}`
	filter := strings.TrimSuffix(strings.Repeat("doc.tags.exists(t, t in params.x) && ", 20), " && ")
	q, err := query.Compile(w.request(query.Request{Filter: filter, Params: []byte(params), Explain: true}), w.model)
	if err != nil {
		t.Fatal(err)
	}
	looks := 0
	if err := w.store.Read(func(s *sqlite.Snapshot) error {
		result, err := q.Run(t.Context(), looked{s, &looks}, func(*fanfold.Document) (bool, error) { return true, nil })
		if err == nil && result.Plan.Matched != 5 {
			t.Errorf("it is answered by %s", explain(result.Plan))
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	if looks > 12_000 {
		t.Errorf("it takes %d looks", looks)
	}
}

// looked is a snapshot that counts how often entries are counted.
type looked struct {
	*sqlite.Snapshot
	looks *int
}

func (l looked) CountEntries(w model.Walk, distinct bool) (int64, error) {
	*l.looks++
	return l.Snapshot.CountEntries(w, distinct)
}
