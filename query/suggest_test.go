package query_test

import (
	"errors"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/fanfold/fanfold/internal/jsondoc"
	"github.com/fanfold/fanfold/internal/modelfile"
	"github.com/fanfold/fanfold/query"
)

// take applies a suggestion to the model.
func (w *world) take(t fataler, patch []byte) {
	t.Helper()
	source := jsondoc.Merge(w.model.Source, patch)
	if _, err := modelfile.Parse(source); err != nil {
		t.Fatalf("%s is refused: %v", patch, err)
	}
	w.setModel(t, string(source))
}

// TestSuggestions: a request that needs an index says which, and once that is there the same request is answered, by it.
func TestSuggestions(t *testing.T) {
	seen := map[string]int{}
	rapid.Check(t, func(rt *rapid.T) {
		s := newShelf(rt, 40, tame)
		for range 4 {
			var r query.Request
			if rapid.IntRange(0, 3).Draw(rt, "grouped") == 0 {
				r = drawGroups(rt, s)
			} else {
				r = query.Request{Params: params, Limit: rapid.IntRange(1, 4).Draw(rt, "limit"), Sort: sorts(rt), Count: rapid.Bool().Draw(rt, "count")}
			}
			if rapid.IntRange(0, 5).Draw(rt, "no filter") > 0 {
				r.Filter = filter(rt, 2).cel()
			}
			r.MaxScan = rapid.IntRange(6, 12).Draw(rt, "maxScan")
			_, err := s.ask(r)
			if err == nil {
				seen["answered"]++
				continue
			}
			var e *query.NeedsIndex
			if !errors.As(err, &e) {
				rt.Fatalf("%s: %v", describe(r), err)
			}
			if e.Suggest == nil {
				seen["without"]++
				if !strings.Contains(e.Error(), "ndex") && !strings.Contains(e.Error(), "maxScan") {
					rt.Fatalf("%s: %v", describe(r), err)
				}
				continue
			}
			s.take(rt, e.Suggest)
			name, _, _ := strings.Cut(e.Line, ":")
			a, err := s.ask(r)
			if errors.As(err, &e) && e.Plan.Index != nil && *e.Plan.Index == name && (e.Plan.Residual != "" || e.Plan.Matched >= int64(r.MaxScan)) {
				seen["unlucky"]++ // how many documents it leaves, or match, was judged by a sample
				continue
			}
			if err != nil {
				rt.Fatalf("%s with %s: %v\nbefore %s", describe(r), e.Line, err, explain(e.Plan))
			}
			if a.Plan.Index == nil || *a.Plan.Index != name {
				rt.Fatalf("%s with %s is answered by %s", describe(r), e.Line, explain(a.Plan))
			}
			seen["suggested"]++
		}
	})
	t.Log(seen)
	for _, kind := range []string{"answered", "without", "suggested"} {
		if seen[kind] == 0 && !t.Failed() {
			t.Errorf("no request was %s", kind)
		}
	}
}
