package api_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/fanfold/fanfold/tests/harness"
)

// TestQueriesByTimes: groups, sorts and aggregates compute with the times of documents, as filters do. An index refuses that.
func TestQueriesByTimes(t *testing.T) {
	s := harness.OpenTemp(t, "")
	s.Put("orders", "a", `{"n":1}`)
	s.Put("orders", "b", `{"n":2}`)
	day := time.Now().UTC().Format(time.DateOnly)
	list := func(status int, query ...string) string {
		t.Helper()
		values := url.Values{}
		for i := 0; i < len(query); i += 2 {
			values.Set(query[i], query[i+1])
		}
		return strings.TrimSpace(string(s.Want(status, http.MethodGet, "/v1/orders?"+values.Encode(), "").Body))
	}
	const byDay = "string(meta.createdAt).substring(0, 10)"
	if got, want := list(http.StatusOK, "group", byDay, "compute", "count,sum(n)"), `{"groups":[{"key":{"`+byDay+`":"`+day+`"},"values":{"count":2,"sum(n)":3}}]}`; got != want {
		t.Errorf("by day there are %s, want %s", got, want)
	}
	if got := list(http.StatusOK, "group", "doc.n + meta.updatedAt.getFullYear()"); !strings.Contains(got, day[:3]) || strings.Count(got, `"key"`) != 2 {
		t.Errorf("by a member and a time there are %s", got)
	}
	long := "string(meta.createdAt) + [" + strings.Repeat("doc.id,", 40) + "doc.id].map(x, '0123456789012345678901234567890123456789').join('')"
	if got := list(http.StatusOK, "group", long); strings.Count(got, `":"`+day) != 2 {
		t.Errorf("by long texts there are %s", got)
	}
	if got := list(http.StatusOK, "sort", "-string(meta.createdAt)", "limit", "1"); !strings.Contains(got, `"id":"b"`) || !strings.Contains(got, `"next"`) {
		t.Errorf("the newest is %s", got)
	}
	if got := list(http.StatusOK, "sort", "(meta.createdAt)", "limit", "1"); !strings.Contains(got, `"id":"a"`) {
		t.Errorf("the oldest is %s", got)
	}
	if got := list(http.StatusOK, "group", byDay, "explain", "true"); strings.Contains(got, "suggest") {
		t.Errorf("an index is suggested that no model takes: %s", got)
	}
	list(http.StatusBadRequest, "group", "string(meta.deletedAt)")
	if r := s.Want(http.StatusBadRequest, http.MethodPut, "/v1/_model", `{"collections":{"orders":{"indexes":{"byDay":["`+byDay+`"]}}}}`, "Content-Type", "application/json"); !strings.Contains(string(r.Body), "_meta.createdAt") {
		t.Errorf("the refusal is %s", r.Body)
	}
}

// TestQueriesSuggestMembers: filters, sorts, groups and aggregates by a member that no document has say which one may be meant.
func TestQueriesSuggestMembers(t *testing.T) {
	s := harness.OpenTemp(t, "")
	s.Put("things", "a", `{"price":1,"at":{"city":"x"},"lines":[{"sku":"s"}]}`)
	s.Put("things", "b", `{"price":2,"optional":true,"lines":[]}`)
	const hint = `"hints":["there is no member \"Price\"; did you mean \"price\"?"]`
	for _, query := range []string{"filter=doc.Price>1", "filter=has(doc.Price)", "sort=Price", "sort=-lower(doc.Price)", "group=Price", "compute=sum(Price)", `filter=doc["Price"]==1||doc.price==1`} {
		name, value, _ := strings.Cut(query, "=")
		if got := string(s.Want(http.StatusOK, http.MethodGet, "/v1/things?"+name+"="+url.QueryEscape(value), "").Body); !strings.Contains(got, hint) {
			t.Errorf("%s: %s", query, got)
		}
	}
	for _, query := range []string{"filter=doc.price>1", "filter=has(doc.optional)", "filter=doc.none==1", "sort=price", "filter=doc.lines.exists(l,l.sku=='s')", "filter=doc.at.city=='x'"} {
		name, value, _ := strings.Cut(query, "=")
		if got := string(s.Want(http.StatusOK, http.MethodGet, "/v1/things?"+name+"="+url.QueryEscape(value), "").Body); strings.Contains(got, "hints") {
			t.Errorf("%s: %s", query, got)
		}
	}
}
