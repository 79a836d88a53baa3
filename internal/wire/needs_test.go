package wire

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	"github.com/fanfold/fanfold"
)

// TestNeeds: what needs attention is listed with the most important first, and up to a bound. Queries that were asked once or twice, or
// typed into the console, do not need an index.
func TestNeeds(t *testing.T) {
	node := func(id string, ready, live, self bool, err string) Node {
		return Node{ID: id, NodeState: NodeState{Address: "http://" + id, Ready: ready}, Live: live, Self: self, Error: err}
	}
	suggest := json.RawMessage(`{"collections":{"pages":{"indexes":{"byNumber":["number","-year"]}}}}`)
	s := &Status{LogError: "no space", Projection: Projection{Stopped: &Stopped{Seq: 12, Reason: "it cannot be read"},
		Preparing:  &Preparation{Model: 14, Phase: "computing", Done: 1, Total: 4},
		RuleErrors: []RuleError{{"books.ratio", 2, "authors/a/1", "division by zero"}, {"books.r", 1, "a document", ""}}},
		Nodes: []Node{node("n1", false, true, true, ""), node("n2", false, true, false, ""), node("n3", false, false, false, "gone"), node("n4", true, true, false, "skewed"), node("n5", true, true, false, "")},
		Queries: []QueryShape{{Collection: "pages", Filter: "doc.number == ?", Queries: 4, Console: 1, Documents: 2002, Given: 2, Suggest: suggest},
			{Collection: "pages", Queries: 3, Documents: 1001, Given: 2, Suggest: suggest}, {Collection: "pages", Queries: 3, Documents: 9999},
			{Collection: "pages", Queries: 2, Documents: 9999, Suggest: suggest}, {Collection: "pages", Queries: 9, Console: 7, Documents: 9999, Suggest: suggest}}}
	got := NeedsOf(s, fanfold.Errorf(fanfold.Unavailable, "the log is away"), []Need{{What: "1 parked batch of mail", Place: "/_groups/mail", Role: "mail"}})
	want := []Need{
		{"This node is not ready", "the log is away", "/_status", ""},
		{"The log", "no space", "/_status", ""},
		{"The projector has stopped at event 12", "it cannot be read", "/_status", ""},
		{"Node n2 at http://n2", "is not ready", "/_status", ""},
		{"Node n4 at http://n4", "skewed", "/_status", ""},
		{"A model is being prepared", "the model of event 14: computing, 25%", "/_model", ""},
		{"1 parked batch of mail", "", "/_groups/mail", "mail"},
		{"Rule books.ratio", "failed 2 times: division by zero", "/authors/a%2F1", ""},
		{"Rule books.r", "failed 1 time", "", ""},
		{"Queries of pages need an index", "filter=doc.number == ?: 4 looked at 2002 documents and gave 2. An index that serves them: byNumber: [number, -year]", "/_status", ""},
	}
	if !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	for _, p := range []struct {
		of   Preparation
		want string
	}{{Preparation{Phase: "waiting"}, "waiting"}, {Preparation{Model: 3, Phase: "following", Done: 4, Total: 5}, "the model of event 3: following, event 4 of 5"},
		{Preparation{Model: 3, Phase: "failed", Error: "no room"}, "the model of event 3: failed: no room"}} {
		if got := p.of.text(); got != p.want {
			t.Errorf("got %q, want %q", got, p.want)
		}
	}
	if list := NeedsOf(&Status{}, nil, nil); list != nil {
		t.Errorf("a node that is well needs %q", list)
	}
	for i := range MaxNeeds + 7 {
		s.RuleErrors = append(s.RuleErrors, RuleError{Rule: fmt.Sprint(i)})
	}
	if list := NeedsOf(s, nil, nil); len(list) != MaxNeeds || list[MaxNeeds-1].What != "16 more" {
		t.Errorf("%d are listed, the last one is %q", len(list), list[len(list)-1])
	}
}
