package api_test

import (
	"cmp"
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/fanfold/fanfold/tests/harness"
)

// TestTwinStoresOnEveryRoute: each route of the program, and each one that comes, answers ann alike in two stores that differ in what she may not read.
// So do a group of her role, and a ticket.
func TestTwinStoresOnEveryRoute(t *testing.T) {
	w := newTwins(t, 7)
	for i := range 14 {
		for _, c := range []string{"tasks", "notes"} {
			id := c[:1] + twinNumber(i)
			if i%3 == 2 {
				w.secretly(c, id)
			} else {
				w.openly(c, id)
			}
		}
	}
	w.group()
	w.ticket()
	for _, route := range w.houses[0].Node.API().Routes() {
		route = inBraces(route)
		for _, collection := range []string{"tasks", "notes", "projects"} {
			ids := []string{collection[:1] + twinNumber(2), collection[:1] + twinNumber(5), collection[:1] + twinNumber(0), "p1", "p2", "zz"}
			if !strings.Contains(route, "{id}") {
				ids = ids[:1]
			}
			for _, id := range ids {
				w.route(route, collection, id)
			}
			if !strings.Contains(route, "{collection}") {
				break
			}
		}
	}
	w.same(twinAsk{"GET", typedPath, "", nil})
	t.Log(w.said)
}

// twinNumber returns the number of an id.
func twinNumber(i int) string { return string([]byte{'0' + byte(i/10), '0' + byte(i%10)}) }

// route asks both stores by one route, with and without what it wants to be told.
func (w *twins) route(route, collection, id string) {
	w.t.Helper()
	method, path, _ := strings.Cut(route, " ")
	fill := strings.NewReplacer("{collection}", collection, "{id}", id, "{child}", "notes", "{name}", "g", "{batch}", "0-1", "{work}", "w", "{number}", "1", "{file}", "console.js")
	url, query := fill.Replace(path), strings.ReplaceAll(cmp.Or(queries[route], queries[path]), "C", collection)
	a := twinAsk{method: method, path: url}
	if method != http.MethodGet && method != http.MethodHead {
		a.body = strings.ReplaceAll(cmp.Or(bodies[route], "{}"), "C", collection)
		a.headers = []string{"Content-Type", cmp.Or(types[route], "application/json")}
	}
	w.same(a)
	if query != "" {
		a.path += query
		w.same(a)
	}
}

// each asks both stores as ann, or as nobody, and compares the answers, without what each store draws by itself. It returns these answers.
func (w *twins) each(name string, ask func(i int) (path, body string), anonymous bool) (got [2]*harness.Response) {
	w.t.Helper()
	var said [2]string
	for i, c := range w.ann {
		if anonymous {
			c = harness.NewClient(w.t, c.URL)
			w.t.Cleanup(c.HTTP.CloseIdleConnections)
		}
		path, body := ask(i)
		method := "GET"
		if body != "" {
			method = "POST"
		}
		r, err := c.Do(method, path, []byte(body), "X-Request-Id", "the-same", "Content-Type", "application/json")
		if err != nil || r.Status != http.StatusOK {
			w.t.Fatal(r, err)
		}
		got[i], said[i] = r, alike(r)
	}
	if name != "" && said[0] != said[1] {
		w.t.Errorf("%s tells what is hidden:\n%s\n\n%s", name, said[0], said[1])
	}
	return got
}

// group makes a group of ann's role, and reads it.
func (w *twins) group() {
	w.t.Helper()
	w.same(twinAsk{"PUT", "/v1/_groups/g", `{"role":"member","partitions":1}`, []string{"Content-Type", "application/json"}})
	leases := w.each("", func(int) (string, string) { return "/v1/_groups/g/_lease", `{"member":"m"}` }, false)
	w.each("a group", func(i int) (string, string) {
		var lease struct {
			Leases []struct{ Token string }
		}
		if err := json.Unmarshal(leases[i].Body, &lease); err != nil || len(lease.Leases) != 1 {
			w.t.Fatalf("%s: %v", leases[i].Body, err)
		}
		return "/v1/_groups/g/_changes?partition=0&include_docs=true&token=" + lease.Leases[0].Token, ""
	}, false)
}

// ticket asks for a ticket, and reads by it.
func (w *twins) ticket() {
	w.t.Helper()
	w.each("a ticket", func(i int) (string, string) {
		return newTicket(w.t, w.ann[i], "/v1/_changes?mode=all&include_docs=true", "1h").URL, ""
	}, true)
}
