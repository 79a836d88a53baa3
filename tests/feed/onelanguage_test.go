package feed_test

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/fanfold/fanfold/tests/harness"
)

// TestOneLanguage: a filter means the same in a query, a feed and a group. Without a value nothing matches, and an empty answer
// says so.
func TestOneLanguage(t *testing.T) {
	s := harness.OpenTemp(t, `collections: {all: {derive: {dear: {count: things.of, where: "doc.price > 50"}, sum: {sum: things.of, of: none}}}, things: {relations: {of: {path: of, to: all}}}}`)
	s.Put("all", "a", `{}`)
	for id, price := range map[string]string{"dear": `,"price":60`, "free": `,"price":"free"`, "absent": "", "null": `,"price":null`, "cheap": `,"price":10`} {
		s.Put("things", id, `{"of":"a"`+price+`}`)
	}
	for filter, want := range map[string]string{`doc.price > 50`: "dear", `doc.price > 50 || doc.price == "free"`: "dear free", `!(doc.price > 50)`: "cheap", `doc.price.startsWith("x") || doc.price == null`: "null",
		`doc.price.none == 1`: "", `doc.price.matches("^f")`: "free", `doc.id == "fre" + "e" && "\ud83d\ude0d" == "😍"`: "free"} {
		escaped := url.QueryEscape(filter)
		asked, _ := harness.Items(t, s, "/v1/things?sort=id&filter="+escaped)
		var fed []string
		rows, _ := s.Changes("collections=things&filter=" + escaped)
		for _, row := range rows {
			fed = append(fed, row.ID)
		}
		s.Want(http.StatusCreated, "PUT", "/v1/_groups/g", `{"partitions":1,"since":"0","collections":["things"],"filter":`+harness.QuoteJSON(filter)+`}`)
		given, _ := harness.GroupChanges(t, s.Client, "g", harness.Lease(t, s.Client, "g", "m")[0], "")
		s.Want(http.StatusNoContent, "DELETE", "/v1/_groups/g", "")
		for what, ids := range map[string][]string{"query": asked, "feed": fed, "group": given} {
			if got := sorted(ids); got != want {
				t.Errorf("%s: the %s has %q, want %q", filter, what, got, want)
			}
		}
		if want == "" {
			if got := harness.Body(s, "/v1/things?filter="+escaped); got != `{"items":[],"noValue":5}` {
				t.Errorf("%s: the query says %s", filter, got)
			}
			if got := harness.Body(s, "/v1/_changes?collections=things&filter="+escaped); !strings.Contains(got, `"noValue":5,`) {
				t.Errorf("%s: the feed says %s", filter, got)
			}
		}
	}
	s.WantDoc("all", "a", `{"id":"a","dear":1,"sum":0}`)
	if got := harness.Body(s, "/v1/things?compute="+url.QueryEscape("sum(none),min(none),max(none),avg(none)")); !strings.Contains(got, `"values":{"sum(none)":0}`) {
		t.Errorf("aggregates of nothing are %s", got)
	}
}

// sorted returns texts in their order, with spaces between.
func sorted(texts []string) string {
	texts = append([]string(nil), texts...)
	slices.Sort(texts)
	return strings.Join(texts, " ")
}
