package api_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/fanfold/fanfold/tests/harness"
)

// rooms are the collections of the random documents: the half principal reads those that begin with a.
var rooms = []string{"a1", "a2", "a3", "b1", "b2", "b3"}

// readsHalf tells whether the half principal reads a collection.
func readsHalf(collection string) bool { return collection[0] == 'a' }

// halfModel returns a model in which every collection refers to every other, copies from it and counts it.
func halfModel() string {
	var b strings.Builder
	b.WriteString("collections:\n")
	for _, c := range rooms {
		access := "{ read: [half], write: [writers] }"
		if !readsHalf(c) {
			access = "{ read: [writers] }"
		}
		fmt.Fprintf(&b, "  %s:\n    access: %s\n    pages: { by: %s, size: 2 }\n    relations:\n", c, access, "r"+rooms[0])
		for _, to := range rooms {
			fmt.Fprintf(&b, "      r%s: { path: 'r%s[]', to: %s }\n", to, to, to)
		}
		b.WriteString("    derive:\n")
		for _, to := range rooms {
			fmt.Fprintf(&b, "      c%s: { copy: r%s, value: doc.name, publish: true }\n      n%s: { count: %s.r%s, publish: true }\n      s%s: { min: %s.r%s, of: size, publish: true }\n", to, to, to, to, c, to, to, c)
		}
		b.WriteString("      loud: { value: \"doc.name + '!'\" }\n")
	}
	return b.String()
}

// sourceOf returns the collection from which a rule of halfModel makes the values of a collection's documents.
func sourceOf(rule string) string {
	collection, field, _ := strings.Cut(rule, ".")
	if field == "loud" {
		return collection
	}
	return field[1:]
}

// TestHalfReads: whoever reads half of the collections gets of these what admin gets, by every way to read. Of the others it gets
// nothing: the answer is a refusal, or what admin gets without them.
func TestHalfReads(t *testing.T) {
	h := openHouse(t, halfModel(), nil)
	half := h.as(t, "half")
	r := rand.New(rand.NewPCG(30, 17))
	of := func(all []string) string { return all[r.IntN(len(all))] }
	id := func() string { return fmt.Sprint(r.IntN(8)) }
	for range 150 {
		members := []string{fmt.Sprintf(`"name":"n%d"`, r.IntN(5)), fmt.Sprintf(`"size":%d`, r.IntN(100))}
		if r.IntN(4) == 0 {
			members = members[:1]
		}
		for _, to := range rooms {
			if r.IntN(3) == 0 {
				members = append(members, fmt.Sprintf(`"r%s":["%s","%s"]`, to, id(), id()))
			}
		}
		h.admin.Put(of(rooms), id(), "{"+strings.Join(members, ",")+"}")
	}
	h.CatchUp()
	seen := map[string]int{}
	for range 1500 {
		collection, child := of(rooms), of(rooms)
		path, names := fmt.Sprintf("/v1/%s/%s", collection, id()), []string{collection}
		switch r.IntN(9) {
		case 0: // one document
		case 1:
			path = fmt.Sprintf("/v1/%s?limit=%d", collection, 1+r.IntN(9))
		case 2:
			path = fmt.Sprintf("/v1/%s?ids=%s,%s,%s", collection, id(), id(), id())
		case 3:
			path += "/" + child + "?relation=r" + collection
			if names = append(names, child); collection == rooms[0] && r.IntN(2) == 0 {
				path += "&page=last"
			}
		case 4:
			checkLineage(t, h, half, path, collection, seen)
			continue
		case 5:
			path = "/v1/_export?collections=" + collection + "," + child
			names = append(names, child)
		case 6:
			path += "?view=referenced"
		case 7:
			path = fmt.Sprintf("/v1/%s?sort=-size,name&count=true&limit=3&fields=name,size&filter=doc.size%%3E%d", collection, r.IntN(100))
		case 8:
			path += "/" + child + "?compute=count,sum(size)&group=name&relation=r" + collection
			names = append(names, child)
		}
		if child := of(rooms); !strings.Contains(path, "_") && !strings.Contains(path, "group=") && r.IntN(3) == 0 {
			separator, last := "?", of(rooms)
			if strings.Contains(path, "?") {
				separator = "&"
			}
			path += separator + "expand=r" + child
			if names = append(names, child); r.IntN(2) == 0 {
				path += ".r" + last
				names = append(names, last)
			}
		}
		compare(t, h, half, path, !slices.ContainsFunc(names, func(c string) bool { return !readsHalf(c) }), seen)
	}
	for _, what := range []string{"200", "304", "403", "404", "hidden", "shown", "copies"} {
		if seen[what] == 0 {
			t.Errorf("no request was answered by %s: %v", what, seen)
		}
	}
	checkWhole(t, h, half)
}

// readBoth reads a path as admin and as the half principal.
func readBoth(t *testing.T, h *house, half *harness.Client, path string, seen map[string]int) (want, got *harness.Response) {
	t.Helper()
	want, err := h.admin.Do("GET", path, nil)
	if err != nil {
		t.Fatal(err)
	}
	got, err = half.Do("GET", path, nil)
	if err != nil {
		t.Fatal(err)
	}
	seen[fmt.Sprint(got.Status)]++
	return want, got
}

// compare reads a path as admin and as the half principal, who may read it or not.
func compare(t *testing.T, h *house, half *harness.Client, path string, may bool, seen map[string]int) {
	t.Helper()
	want, got := readBoth(t, h, half, path, seen)
	if want.Status != http.StatusOK && want.Status != http.StatusNotFound {
		t.Fatalf("%s: admin is answered with %d %s", path, want.Status, want.Body)
	}
	if !may {
		if got.Status != http.StatusForbidden {
			t.Errorf("%s: status %d, want 403: %s", path, got.Status, got.Body)
		}
		return
	}
	if got.Status != want.Status || string(got.Body) != string(want.Body) || got.Header.Get("ETag") != want.Header.Get("ETag") {
		t.Errorf("%s: %d %s, admin is answered with %d %s", path, got.Status, got.Body, want.Status, want.Body)
	}
	if tag := got.Header.Get("ETag"); tag != "" {
		r, err := half.Do("GET", path, nil, "If-None-Match", tag)
		if err != nil || r.Status != http.StatusNotModified {
			t.Errorf("%s with If-None-Match: %v, %d", path, err, r.Status)
		}
		seen["304"]++
	}
}

// lineage is a lineage as a client reads it.
type lineage struct {
	Position string
	Derived  []derived
	Copies   []struct {
		Rule      string
		Documents int
		First     []string
	}
	Omitted map[string]int
}

// derived is what a lineage says of one value.
type derived struct {
	Path, Rule, State, Reason string
	Hidden                    bool
	Sources                   []struct{ Collection, ID, Position string }
	Documents                 int
	Event                     *struct{ Seq, Op, Collection, ID string }
}

// checkLineage compares a lineage with admin's, without what the half principal may not read.
func checkLineage(t *testing.T, h *house, half *harness.Client, path, collection string, seen map[string]int) {
	t.Helper()
	path += "/_lineage"
	if compareStatus(t, h, half, path, readsHalf(collection), seen) != http.StatusOK {
		return
	}
	var want, got lineage
	for _, c := range []struct {
		from *harness.Client
		to   *lineage
	}{{h.admin, &want}, {half, &got}} {
		if err := json.Unmarshal(c.from.Want(http.StatusOK, "GET", path, "").Body, c.to); err != nil {
			t.Fatal(err)
		}
	}
	for i := range want.Derived {
		d := &want.Derived[i]
		if d.Event != nil && d.Event.Collection != "" && !readsHalf(d.Event.Collection) {
			d.Event.Collection, d.Event.ID = "", ""
		}
		if !readsHalf(sourceOf(d.Rule)) {
			d.Hidden, d.Sources, d.Documents, d.Reason = true, d.Sources[:0], 0, ""
			seen["hidden"]++
		} else {
			seen["shown"]++
		}
	}
	all := len(want.Copies)
	want.Copies = slices.DeleteFunc(want.Copies, func(c struct {
		Rule      string
		Documents int
		First     []string
	}) bool {
		return !readsHalf(c.Rule)
	})
	seen["copies"] += all - len(want.Copies)
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%s: %+v, want %+v", path, got, want)
	}
}

// compareStatus checks the status of a path for the half principal, who may read it or not, and returns it.
func compareStatus(t *testing.T, h *house, half *harness.Client, path string, may bool, seen map[string]int) int {
	t.Helper()
	want, got := readBoth(t, h, half, path, seen)
	if may && got.Status != want.Status || !may && got.Status != http.StatusForbidden {
		t.Errorf("%s: status %d, admin is answered with %d: %s", path, got.Status, want.Status, got.Body)
	}
	return got.Status
}

// checkWhole compares what is told of the whole store: the collections, page by page, and exports.
func checkWhole(t *testing.T, h *house, half *harness.Client) {
	t.Helper()
	h.admin.Put("undeclared", "1", "{}")
	h.CatchUp()
	var names []string
	for _, c := range rooms {
		if readsHalf(c) {
			names = append(names, c)
		}
	}
	list := func(c *harness.Client) (out []string) {
		for path := "/v1?limit=2"; path != ""; {
			var page struct {
				Collections []json.RawMessage
				Next        string
			}
			if err := json.Unmarshal(c.Want(http.StatusOK, "GET", path, "").Body, &page); err != nil {
				t.Fatal(err)
			}
			for _, one := range page.Collections {
				out = append(out, string(one))
			}
			if path = ""; page.Next != "" {
				path = "/v1?limit=2&cursor=" + page.Next
			}
		}
		return out
	}
	want := slices.DeleteFunc(list(h.admin), func(one string) bool {
		return !slices.ContainsFunc(names, func(c string) bool { return strings.Contains(one, `"name":"`+c+`"`) })
	})
	if got := list(half); !slices.Equal(got, want) || len(got) != len(names) {
		t.Errorf("GET /v1 lists %s, want %s", got, want)
	}
	half.Want(http.StatusForbidden, "GET", "/v1/_export", "")
	some := string(half.Want(http.StatusOK, "GET", "/v1/_export?collections="+strings.Join(names, ","), "").Body)
	if want := string(h.admin.Want(http.StatusOK, "GET", "/v1/_export?collections="+strings.Join(names, ","), "").Body); some != want || some == "" {
		t.Errorf("an export is\n%s\nand that of admin\n%s", some, want)
	}
	if strings.Contains(some, `"model"`) {
		t.Errorf("an export of some collections has a model: %s", some)
	}
	half.Want(http.StatusForbidden, "GET", "/v1/_model", "")
	half.Want(http.StatusForbidden, "GET", "/v1/_model/_pending", "")
}
