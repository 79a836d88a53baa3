package api

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/fanfold/fanfold"
)

// TestFoundKeys: of keys that come in any order, and more than once, the first that follow a key are found, as many as may be held.
func TestFoundKeys(t *testing.T) {
	for name, c := range map[string]struct{ keys, idBytes, held int }{
		"few":        {1000, 10, 999},
		"many":       {3 * maxFoundKeys, 10, maxFoundKeys},
		"many bytes": {80_000, 254, maxFoundBytes / 255},
	} {
		var all []fanfold.Key
		for i := range c.keys {
			all = append(all, fanfold.Key{Collection: "a", ID: fmt.Sprintf("%0*d", c.idBytes, i)})
		}
		f := &foundKeys{after: all[0]}
		for _, i := range rand.New(rand.NewPCG(1, 2)).Perm(2 * c.keys) {
			f.add(all[i%c.keys])
			if len(f.keys) > 2*maxFoundKeys || f.bytes > 2*maxFoundBytes {
				t.Fatalf("%s: %d keys of %d bytes are held", name, len(f.keys), f.bytes)
			}
		}
		f.settle()
		if !slices.Equal(f.keys, all[1:c.held+1]) || f.cut != (c.held+1 < c.keys) {
			t.Fatalf("%s: %d keys are found, cut: %t, want the %d after the first", name, len(f.keys), f.cut, c.held)
		}
		for _, p := range []struct {
			after, limit, keys int
			more, ok           bool
		}{
			{0, 10, 10, true, true},
			{5, 10, 10, true, true},
			{c.held - 11, 10, 10, true, true},
			{c.held - 10, 10, 10, false, !f.cut},
			{c.held, 10, 0, false, !f.cut},
		} {
			keys, more, ok := f.page(all[p.after], p.limit)
			if !slices.Equal(keys, all[p.after+1:][:p.keys]) || more != p.more || ok != p.ok {
				t.Errorf("%s: %d keys follow key %d, more: %t, ok: %t, want %v", name, len(keys), p.after, more, ok, p)
			}
		}
		if _, _, ok := f.page(fanfold.Key{}, 10); ok {
			t.Errorf("%s: keys after one tell what comes before", name)
		}
	}
}

// TestFewFounds: what the last few comparisons have found is kept, for those with the same rights, until its time is over.
func TestFewFounds(t *testing.T) {
	var fs founds
	kept := func(n int, rights string) bool {
		_, _, ok := fs.page(comparison{first: fanfold.At(uint64(n), 0), rights: rights}, fanfold.Key{}, 10)
		return ok
	}
	for n := range maxFounds + 1 {
		fs.keep(&foundKeys{of: comparison{first: fanfold.At(uint64(n), 0), rights: "reader"}})
		if !kept(0, "reader") && n < maxFounds || len(fs.kept) != min(n+1, maxFounds) {
			t.Fatalf("after %d comparisons %d are kept", n+1, len(fs.kept))
		}
	}
	if !kept(0, "reader") || kept(1, "reader") || kept(0, "other") {
		t.Error("the least used is kept, or found with other rights")
	}
	for len(fs.kept) > 0 {
		fs.drop(fs.kept[0])
	}
	if kept(0, "reader") {
		t.Error("it is found after its time")
	}
}

// TestPagesOfDifferencesLookOnce: what changed is looked at for the first page alone. Pages for which nothing is kept are the same.
func TestPagesOfDifferencesLookOnce(t *testing.T) {
	s, m := serving(t)
	m.changed = nil
	for n := range 25 {
		m.changed = append(m.changed, fanfold.Key{Collection: []string{"books", "authors"}[n%2], ID: fmt.Sprint(n)})
	}
	pages := func(query string, forget bool) (bodies []string) {
		clear(m.calls)
		for path := "/v1/_diff?from=1&" + query; path != ""; {
			w := request(s, http.MethodGet, path)
			var page struct{ Next string }
			if err := json.Unmarshal(w.Body.Bytes(), &page); err != nil || w.Code != http.StatusOK {
				t.Fatalf("%s: %d %s", path, w.Code, w.Body)
			}
			bodies = append(bodies, w.Body.String())
			if path = ""; page.Next != "" {
				path = "/v1/_diff?from=1&" + query + "&cursor=" + page.Next
			}
			if forget {
				s.documents.diffs.found = &founds{}
			}
		}
		return bodies
	}
	for query, want := range map[string]int{"limit=2": 13, "limit=3&collections=books": 5, "limit=5&derived=exclude": 5} {
		each := pages(query, true)
		if looked := m.calls["ChangedKeys"]; len(each) != want || looked != want {
			t.Errorf("%s: %d pages looked %d times, want %d", query, len(each), looked, want)
		}
		once := pages(query, false)
		if looked := m.calls["ChangedKeys"]; looked != 1 || !slices.Equal(once, each) {
			t.Errorf("%s: %d looks, and the pages are\n%s\nwant\n%s", query, looked, strings.Join(once, "\n"), strings.Join(each, "\n"))
		}
	}
}
