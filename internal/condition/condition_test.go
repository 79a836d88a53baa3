package condition

import (
	"strings"
	"testing"
	"time"

	"github.com/fanfold/fanfold"
)

// TestHolds: a condition is true, false or without a value of a document as it was written, and the refusal has its revision.
func TestHolds(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	doc := &fanfold.Document{Key: fanfold.Key{Collection: "as", ID: "1"}, Revision: 7, Created: now, Updated: now.Add(time.Hour), Body: []byte(`{"id":"1","n":0.30,"list":[1,2]}`)}
	for _, c := range []struct {
		source, params string
		want           fanfold.Code
	}{
		{"doc.n == 0.1 + 0.2", "", ""},
		{"doc.n > params.n", `{"n":0.3}`, fanfold.ConditionFailed},
		{"doc.m > 0", "", fanfold.ConditionFailed},
		{"meta.createdAt < meta.updatedAt", "", ""},
		{`doc.list.exists(e, e == 2) && doc.id == "1"`, "", ""},
		{"doc.n > params.n", "", fanfold.Invalid},
		{"doc.n", "", fanfold.ConditionFailed}, // a member may be true or false, and this one is neither
		{"1", "", fanfold.Invalid},
		{"true", "[]", fanfold.Invalid},
	} {
		var params []byte
		if c.params != "" {
			params = []byte(c.params)
		}
		condition, err := new(Set).Parse(c.source, params)
		if err == nil {
			err = condition.Holds(doc)
		}
		if fanfold.CodeOf(err) != c.want {
			t.Errorf("%s: %v, want %q", c.source, err, c.want)
		}
	}
}

// TestConditionsCost: the conditions of one request have a bound of work together, however often they are judged.
func TestConditionsCost(t *testing.T) {
	body := []byte(`{"list":[`)
	for range 999 {
		body = append(body, "1,"...)
	}
	doc := &fanfold.Document{Body: append(body, "1]}"...)}
	condition, err := new(Set).Parse("doc.list.all(a, doc.list.all(b, doc.list.all(c, a == b && b == c)))", nil)
	if err != nil {
		t.Fatal(err)
	}
	if err = condition.Holds(doc); !strings.Contains(fanfold.MessageOf(err), "too much work") {
		t.Errorf("a condition that costs too much on one document: %v", err)
	}
	for range 2 + 2*maxCost/100_000 {
		if err = condition.Holds(doc); fanfold.CodeOf(err) == fanfold.Unprocessable {
			return
		}
	}
	t.Errorf("no bound was met: %v", err)
}
