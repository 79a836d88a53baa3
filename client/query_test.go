package client_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/fanfold/fanfold/client"
	"github.com/fanfold/fanfold/tests/harness"
)

// row is a document of the tests of queries.
type row struct {
	ID   string `json:"id"`
	N    int    `json:"n"`
	Kind string `json:"kind,omitempty"`
}

// queried opens a store with 25 rows.
func queried(t *testing.T) (*client.Documents[row], *client.Client) {
	t.Helper()
	s := harness.OpenTemp(t, "")
	for i := range 25 {
		s.Put("rows", fmt.Sprintf("r%02d", i), fmt.Sprintf(`{"n":%d,"kind":"k%d"}`, i, i%3))
	}
	c := connect(t, s.URL, client.Options{})
	return client.Collection[row](c, "rows"), c
}

// TestQuery: a query's documents come in order over all pages, with what is asked of each.
func TestQuery(t *testing.T) {
	rows, _ := queried(t)
	q := client.Query{Filter: "doc.n >= params.from && doc.kind == params.kind", Params: map[string]any{"from": 7, "kind": "k1"}, Sort: []string{"-n"}, Limit: 2}
	var got []string
	for doc, err := range rows.Query(t.Context(), q) {
		if err != nil {
			t.Fatal(err)
		}
		if doc.Revision == 0 || doc.CreatedAt.IsZero() || doc.Value.Kind != "k1" {
			t.Errorf("a document is %+v", doc)
		}
		got = append(got, doc.ID)
	}
	if fmt.Sprint(got) != "[r22 r19 r16 r13 r10 r07]" {
		t.Errorf("the query gives %v", got)
	}
	for doc, err := range rows.Query(t.Context(), client.Query{Fields: []string{"n"}}, client.PageSize(3), client.Strong()) {
		if err != nil || doc.Value.Kind != "" || doc.ID == "" {
			t.Fatalf("%+v, %v", doc, err)
		}
	}
	page, next, err := rows.QueryPage(t.Context(), client.Query{Sort: []string{"n"}}, "", client.PageSize(20), client.View("referenced"))
	if err != nil || len(page) != 20 || next == "" {
		t.Fatalf("%d documents, %q, %v", len(page), next, err)
	}
	if page, next, err = rows.QueryPage(t.Context(), client.Query{Sort: []string{"n"}}, next, client.PageSize(20)); err != nil || len(page) != 5 || next != "" || page[0].ID != "r20" {
		t.Fatalf("%d documents, %q, %v", len(page), next, err)
	}
}

// TestQueryCountsAndGroups: Count counts what matches, and Group groups it over all pages.
func TestQueryCountsAndGroups(t *testing.T) {
	rows, _ := queried(t)
	if n, err := rows.Count(t.Context(), client.Query{Filter: "doc.n < 10", Sort: []string{"-n"}}); n != 10 || err != nil {
		t.Errorf("%d documents, %v", n, err)
	}
	var got []string
	for g, err := range rows.Group(t.Context(), client.Query{Limit: 2, Sort: []string{"-sum(n)"}}, []string{"kind"}, []string{"count", "sum(n)"}) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, string(g.Key)+string(g.Values))
	}
	if want := `[{"kind":"k0"}{"count":9,"sum(n)":108} {"kind":"k2"}{"count":8,"sum(n)":100} {"kind":"k1"}{"count":8,"sum(n)":92}]`; fmt.Sprint(got) != want {
		t.Errorf("the groups are %v, want %s", got, want)
	}
	for g, err := range rows.Group(t.Context(), client.Query{}, nil, nil) {
		if err != nil || string(g.Key) != "{}" || string(g.Values) != `{"count":25}` {
			t.Errorf("%+v, %v", g, err)
		}
	}
}

// TestQueryReferring: a query may be of the documents that refer to one, by parameters in place of a body.
func TestQueryReferring(t *testing.T) {
	s := harness.OpenTemp(t, `collections: { kinds: {}, rows: { relations: { kind: { path: kind, to: kinds }, other: { path: other, to: kinds } } } }`)
	s.Put("kinds", "k 1/x", "{}")
	for i := range 25 {
		s.Put("rows", fmt.Sprintf("r%02d", i), fmt.Sprintf(`{"n":%d,"kind":%q}`, i, []string{"k 1/x", "k2"}[i%2]))
	}
	rows := client.Collection[row](connect(t, s.URL, client.Options{}), "rows")
	q := client.Query{Filter: "doc.n >= params.from", Params: map[string]any{"from": 15}, Sort: []string{"-n"}, Limit: 2, Fields: []string{"n"}, MaxScan: 100,
		Referring: &client.Target{Collection: "kinds", ID: "k 1/x"}}
	by := client.Relation("kind")
	var got []string
	for doc, err := range rows.Query(t.Context(), q, by) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, doc.ID)
	}
	if fmt.Sprint(got) != "[r24 r22 r20 r18 r16]" {
		t.Errorf("the query gives %v", got)
	}
	if n, err := rows.Count(t.Context(), q, by); n != 5 || err != nil {
		t.Errorf("%d documents, %v", n, err)
	}
	for g, err := range rows.Group(t.Context(), client.Query{Referring: q.Referring}, nil, []string{"sum(n)", "count"}, by) {
		if err != nil || string(g.Values) != `{"sum(n)":156,"count":13}` {
			t.Errorf("%+v, %v", g, err)
		}
	}
	if plan, err := rows.Explain(t.Context(), q, nil, nil, by); err != nil || plan.Index != "relation:kind" || plan.Matched != 5 {
		t.Errorf("%+v, %v", plan, err)
	}
	if _, err := rows.Count(t.Context(), q); !errors.Is(err, client.Invalid) {
		t.Errorf("without the relation's name: %v", err)
	}
}

// TestQueryErrors: what is wrong with a query is told, and one that needs an index tells a patch of the model by which it is answered.
func TestQueryErrors(t *testing.T) {
	rows, c := queried(t)
	for _, err := range rows.Query(t.Context(), client.Query{Filter: "doc."}) {
		if !errors.Is(err, client.Invalid) || !strings.Contains(err.Error(), "filter") {
			t.Errorf("%v", err)
		}
	}
	if _, _, err := rows.QueryPage(t.Context(), client.Query{Params: func() {}}, ""); !errors.Is(err, client.Invalid) {
		t.Errorf("%v", err)
	}
	q := client.Query{Filter: "doc.n > 20", MaxScan: 10}
	_, err := rows.Count(t.Context(), q)
	var needs *client.Error
	if !errors.As(err, &needs) || !errors.Is(err, client.NeedsIndex) || !json.Valid(needs.Suggest) {
		t.Fatalf("%v", err)
	}
	plan, err := rows.Explain(t.Context(), q, nil, nil)
	if err != nil || plan.Complete || plan.Index != "" || string(plan.Suggest) != string(needs.Suggest) || plan.Documents != 10 || len(plan.Raw) == 0 {
		t.Errorf("%+v, %v", plan, err)
	}
	if _, err := c.PatchModel(t.Context(), needs.Suggest, client.ModelOptions{}); err != nil {
		t.Fatal(err)
	}
	if n, err := rows.Count(t.Context(), q); n != 4 || err != nil {
		t.Errorf("%d documents, %v", n, err)
	}
	if plan, err = rows.Explain(t.Context(), q, nil, nil); err != nil || plan.Index == "" || !plan.Complete {
		t.Errorf("%+v, %v", plan, err)
	}
	for doc, err := range rows.Query(t.Context(), client.Query{Filter: `doc.kind.contains("9")`, MaxScan: 10, Partial: true}) {
		t.Errorf("a document has a 9: %+v, %v", doc, err)
	}
}

// TestNotesOfAnswers: the client passes on what answers say besides: a filter without a value, collections that are not there.
func TestNotesOfAnswers(t *testing.T) {
	s := harness.OpenTemp(t, model)
	c := connect(t, s.URL, client.Options{})
	must(client.Collection[author](c, "authors").Put(t.Context(), "a", author{Name: "Ann"}))(t)
	var documents, changes int64
	var unknown []string
	q := client.Query{Filter: "doc.nmae == 'Ann'", OnNoValue: func(n int64) { documents = n }}
	must(client.Collection[author](c, "authors").Count(t.Context(), q))(t)
	opt := client.ChangesOptions{Once: true, Mode: client.All, Filter: "doc.nmae == 'Ann'", Collections: []string{"authors", "last_seq", "end"},
		OnNoValue: func(n int64) { changes = n }, OnUnknown: func(names []string) { unknown = names }}
	for change, err := range c.Changes(t.Context(), opt) {
		t.Errorf("a change came: %+v, %v", change, err)
	}
	if documents != 1 || changes != 1 || strings.Join(unknown, " ") != "last_seq end" {
		t.Errorf("no value in %d documents and %d changes, not there: %q", documents, changes, unknown)
	}
	doc := must(client.Collection[author](c, "authors").Get(t.Context(), "a", client.Fields("id")))(t)
	if doc.Value.Name != "" || doc.ID != "a" || doc.ETag == "" {
		t.Errorf("one member is %+v", doc)
	}
}
