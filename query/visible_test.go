package query_test

import (
	"bytes"
	"cmp"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/internal/expr"
	"github.com/fanfold/fanfold/internal/jsondoc"
	"github.com/fanfold/fanfold/query"
)

// openSeal is a seal for tests, which hides nothing.
type openSeal string

func (s openSeal) Seal(text []byte) []byte { return append([]byte(s), text...) }

func (s openSeal) Open(sealed []byte) ([]byte, bool) { return bytes.CutPrefix(sealed, []byte(s)) }

// visibleBy returns who sees the documents for which a rule is true.
func visibleBy(t fataler, rule node) *query.Visible {
	t.Helper()
	reading, err := expr.CompileReading(strings.ReplaceAll(rule.cel(), "params", "auth.claims"))
	if err != nil {
		t.Fatalf("%s: %v", rule.cel(), err)
	}
	auth := jsondoc.MustParse([]byte(`{"sub":"ann","claims":` + string(params) + `}`))
	return &query.Visible{Bind: func() (*expr.Bound, error) { return reading.Bind(auth) }, Seal: openSeal("ann")}
}

// ruleOf draws a rule, which sees no times of the document.
func ruleOf(t *rapid.T, s *shelf) node {
	if rapid.Bool().Draw(t, "aimed rule") {
		if f, _ := s.aimed(t); f != nil && !strings.Contains(f.cel(), "meta.") {
			return f
		}
	}
	for {
		if f := filter(t, 2); !strings.Contains(f.cel(), "meta.") {
			return f
		}
	}
}

// TestRandomRules: a query answers as if the documents were not there for which the rule is not true. So does a plain list, in its own order, whatever plan
// its pages have.
func TestRandomRules(t *testing.T) {
	seen := map[string]int{}
	rapid.Check(t, func(rt *rapid.T) {
		s := newShelf(rt, 30, wild)
		for range 10 {
			rule := ruleOf(rt, s)
			r := query.Request{Params: params, Limit: rapid.IntRange(1, 12).Draw(rt, "limit"), Visible: visibleBy(rt, rule), Within: within(rt)}
			var f node
			if r.Visible.Listing = rapid.Bool().Draw(rt, "listing"); r.Visible.Listing {
				r.MaxScan = rapid.IntRange(1, 40).Draw(rt, "maxScan")
			} else {
				r.Sort, r.Count = sorts(rt), rapid.Bool().Draw(rt, "count")
				if rapid.Bool().Draw(rt, "filtered") {
					f = filter(rt, 2)
					r.Filter = f.cel()
				}
			}
			want := referring(s.matching(rule), r.Within)
			want = slices.DeleteFunc(want, func(d *thing) bool { return f != nil && f.eval(d) != 1 })
			switch {
			case len(r.Sort) > 0:
				slices.SortFunc(want, func(a, b *thing) int { return compareThings(a, b, r.Sort) })
			case r.Visible.Listing && r.Within != nil:
				slices.SortFunc(want, func(a, b *thing) int { return cmp.Compare(a.number, b.number) })
			}
			ids, index := s.visiblePages(rt, r, len(want))
			if len(r.Sort) == 0 && !r.Visible.Listing {
				slices.Sort(ids)
			}
			var wanted []string
			for _, d := range want {
				wanted = append(wanted, d.id)
			}
			if !slices.Equal(ids, wanted) {
				rt.Fatalf("where %s: %s (listing %t)\nis  %v\nwant %v", rule.cel(), describe(r), r.Visible.Listing, ids, wanted)
			}
			if r.Visible.Listing {
				seen[index]++
			}
		}
	})
	t.Log(seen)
	for _, kind := range []string{"", "i", "relation"} {
		if seen[kind] == 0 && !t.Failed() {
			t.Errorf("no list was answered by %q: %v", kind, seen)
		}
	}
}

// visiblePages asks for all pages, which may end early, and returns the documents' ids in order, and the kind of index that the last one had.
func (s *shelf) visiblePages(t *rapid.T, r query.Request, matches int) (ids []string, index string) {
	for page := 0; ; page++ {
		if page > 2*len(s.things)+2 {
			t.Fatalf("%s: the pages have no end", describe(r))
		}
		a := s.mustAsk(t, r)
		if r.Count && a.Count != int64(matches) {
			t.Fatalf("%s: page %d counts %d, want %d", describe(r), page, a.Count, matches)
		}
		if ids = append(ids, a.ids...); a.Plan.Index != nil {
			index, _, _ = strings.Cut(*a.Plan.Index, ":")
			index = strings.TrimRight(index, "0123456789")
		}
		if a.Next == "" {
			return ids, index
		}
		other := r
		other.Cursor, other.Visible = a.Next, &query.Visible{Bind: r.Visible.Bind, Seal: openSeal("bob"), Listing: r.Visible.Listing}
		if _, err := s.ask(other); fanfold.CodeOf(err) != fanfold.Invalid {
			t.Fatalf("another's cursor: %v", err)
		}
		if other.Visible = nil; !r.Visible.Listing {
			if _, err := s.ask(other); fanfold.CodeOf(err) != fanfold.Invalid {
				t.Fatalf("the cursor of somebody who does not see all: %v", err)
			}
		}
		r.Cursor = a.Next
	}
}
