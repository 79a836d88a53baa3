package api_test

import (
	"cmp"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fanfold/fanfold/access"
	"github.com/fanfold/fanfold/node"
	"github.com/fanfold/fanfold/tests/harness"
)

// matrixModel has a collection of each kind of access.
const matrixModel = `
collections:
  books: { relations: { secret: { path: secret, to: vault } } }
  news:  { access: { read: [everyone], write: [editors] } }
  vault: { access: {} }
functions:
  g: { source: "export default (ctx, args) => args" }
`

// openModel is a model under which the roles read and write read everything.
const openModel = `
collections:
  books: { access: { read: [everyone, read], write: [write] } }
  news:  { access: { read: [everyone], write: [editors] } }
`

// may says which roles read and write the collections of the models. The rest of the table follows from it.
var may = map[string]struct{ read, write []string }{
	"books":   {[]string{"read", "write"}, []string{"write"}},
	"news":    {[]string{"everyone", "editors"}, []string{"editors"}},
	"vault":   {},
	"nowhere": {[]string{"read", "write"}, []string{"write"}}, // nobody declares it, and it holds nothing
}

// sender is one of the principals of the matrix.
type sender struct {
	name   string
	let    bool // it is let in
	roles  []string
	client *harness.Client
}

// has tells whether a sender has one of some roles.
func (s *sender) has(roles ...string) bool {
	return s.let && slices.ContainsFunc(append(roles, "admin"), func(r string) bool { return r == "everyone" || slices.Contains(s.roles, r) })
}

// want returns the status by which a sender is refused a route with a right, 0 where it is not. collections are those that the
// request names.
func (s *sender) want(right string, all bool, collections ...string) int {
	var ok bool
	switch right {
	case "open":
		return 0
	case "known":
		ok = true
	case "read", "write":
		ok = right == "read" || len(collections) > 0 || s.has("write", "editors") // a request that names none needs any
		for _, c := range collections {
			of := may[c].read
			if right == "write" {
				of = may[c].write
			}
			ok = ok && s.has(of...)
		}
	case "all":
		ok = s.has() || all && s.has("read", "write")
	case "group":
		ok = s.has("read") // the right to the group of the test
	case "call":
		ok = s.has("write") // the role that calls a function which says none
	case "maker":
		ok = s.has() // who made the group of the test
	case "monitor":
		ok = s.has("monitor")
	case "admin":
		ok = s.has()
	default:
		return -1
	}
	switch {
	case !s.let || !ok && s.name == everyone:
		return http.StatusUnauthorized
	case !ok:
		return http.StatusForbidden
	}
	return 0
}

// everyone is the name of whoever sends no key, where the store lets such requests in.
const everyone = "everyone"

// senders returns the seven principals of the matrix, and one who monitors. anonymous tells whether the store lets requests
// without a key in: whoever sends none is everyone then.
func senders(t *testing.T, h *house, anonymous bool) []*sender {
	t.Helper()
	plain := harness.NewClient(t, h.URL)
	t.Cleanup(plain.HTTP.CloseIdleConnections)
	out := []*sender{
		{name: "none", let: anonymous, client: plain},
		{name: "a bad key", client: h.clientWith(t, access.NewKey().Text())},
		{name: "admin", let: true, roles: []string{"admin"}, client: h.admin},
	}
	if anonymous {
		out[0].name = everyone
	}
	for _, role := range []string{"stranger", "read", "write", "monitor", "editors"} {
		out = append(out, &sender{name: role, let: true, roles: []string{role}, client: h.as(t, role)})
	}
	return out
}

// bodies belong to the requests that need more than {} to be understood. C stands for the collection.
var bodies = map[string]string{
	"POST /v1/_compact":                  `{"before":"0","dryRun":true}`,
	"POST /v1/_erase":                    `{"documents":[{"collection":"C","id":"m"}]}`,
	"POST /v1/_find":                     `{"text":"m"}`,
	"POST /v1/_tokens/_revoke":           `{"sub":"nobody"}`,
	"POST /v1/_tickets":                  `{"path":"/v1/_changes"}`,
	"POST /v1/_access/_explain":          `{"collection":"books","id":"b1"}`,
	"POST /v1/_transactions":             `{"operations":[{"op":"put","collection":"C","id":"m","body":{}}]}`,
	"PUT /v1/_groups/{name}":             `{"partitions":1,"role":"read"}`,
	"POST /v1/_groups/{name}/_lease":     `{"member":"m"}`,
	"POST /v1/_groups/{name}/_ack":       `{"partition":0,"token":"t","position":"0"}`,
	"POST /v1/_groups/{name}/_nack":      `{"partition":0,"token":"t","position":"0","error":"e"}`,
	"POST /v1/_groups/{name}/_release":   `{"member":"m"}`,
	"POST /v1/_groups/{name}/_reset":     `{"to":"now"}`,
	"POST /v1/_groups/{name}/_rotate":    `{}`,
	"PUT /v1/_fold":                      `{"version":1}`,
	"PUT /v1/_replicas":                  `{"replicas":1}`,
	"PATCH /v1/_model":                   `{}`,
	"POST /v1/_keys":                     `{"name":"m","roles":["read"]}`,
	"POST /v1/_import":                   `{"collection":"C","doc":{"id":"m"}}` + "\n",
	"POST /v1/_drift":                    `{"id":"m"}`,
	"POST /v1/{collection}/{id}/_revert": `{"at":"0"}`,
}

// types are the content types of the requests whose bodies are not plain JSON.
var types = map[string]string{
	"POST /v1/_import":            harness.NDJSON,
	"POST /v1/_drift":             harness.NDJSON,
	"PATCH /v1/_model":            harness.MergeType,
	"PATCH /v1/{collection}":      harness.MergeType,
	"PATCH /v1/{collection}/{id}": harness.MergeType,
}

// queries are the parameters without which a request cannot be answered, by path, or by method and path. C stands for the collection.
var queries = map[string]string{
	"PATCH /v1/{collection}":       "?dryRun=true&filter=true",
	"DELETE /v1/{collection}":      "?dryRun=true&filter=true",
	"POST /v1/_functions/{name}":   "?dryRun=true&now=2026-01-02T15:04:05Z&seed=7",
	"/v1/_export":                  "?collections=C",
	"/v1/_changes":                 "?collections=C",
	"/v1/_diff":                    "?from=0&collections=C",
	"/v1/_import":                  "?id=C",
	"/v1/_erase":                   "?dryRun=true",
	"/v1/{collection}/{id}/_erase": "?dryRun=true",
	"/v1/_groups/{name}/_changes":  "?partition=0&token=t",
	"/v1/_model":                   "?dryRun=true",
	"/v1/_model/{collection}":      "?dryRun=true",
}

// TestMatrix: every route, for every principal and every kind of collection, is refused where the table of docs/security.md says so,
// and there alone. Refusals tell what is missing, and nothing of what is there.
func TestMatrix(t *testing.T) {
	table := rightOf(t)
	for _, c := range []struct {
		name, model    string
		anonymous, all bool
	}{{"closed", matrixModel, false, false}, {"anonymous", matrixModel, true, false}, {"all", openModel, false, true}} {
		t.Run(c.name, func(t *testing.T) {
			h := openHouse(t, c.model, func(cfg *node.Config) { cfg.Anonymous = c.anonymous })
			for _, name := range []string{"books", "news"} {
				h.admin.Put(name, "d", `{"secret":"d"}`)
			}
			if !c.all {
				h.admin.Put("vault", "d", `{}`)
			}
			all := senders(t, h, c.anonymous)
			var routes []string
			for _, r := range h.Node.API().Routes() {
				routes = append(routes, inBraces(r))
			}
			for _, route := range routes {
				right := table[route]
				if right == "" {
					t.Errorf("docs/security.md has no row for %s", route)
				}
				if strings.Contains(route, "/v1/_groups/") { // an earlier route may have deleted it
					if r, err := h.admin.Do("PUT", "/v1/_groups/g", []byte(bodies["PUT /v1/_groups/{name}"])); err != nil || r.Status >= http.StatusBadRequest {
						t.Fatalf("a group cannot be made: %v %+v", err, r)
					}
				}
				for _, collection := range slices.Sorted(maps.Keys(may)) {
					if c.all && right != "all" {
						continue // under this model the table of roles is another one
					}
					for _, s := range all {
						askAs(t, s, route, right, collection, c.all)
					}
				}
			}
		})
	}
}

// askAs sends one request of the matrix, and one for each collection of children.
func askAs(t *testing.T, s *sender, route, right, collection string, all bool) {
	t.Helper()
	method, path, _ := strings.Cut(route, " ")
	children := []string{""}
	if strings.Contains(path, "{child}") {
		children = slices.Sorted(maps.Keys(may))
	}
	id := "d"
	if method != http.MethodGet && method != http.MethodHead { // so that what is read stays
		id = "m"
	}
	for _, child := range children {
		names := []string{collection}
		if child != "" {
			names = append(names, child)
		}
		url := strings.NewReplacer("{collection}", collection, "{id}", id, "{child}", child, "{name}", "g", "{batch}", "1", "{work}", "w", "{number}", "1").Replace(path)
		if query := cmp.Or(queries[route], queries[path]); method == http.MethodDelete && queries[route] != "" || method == http.MethodPut || method == http.MethodPatch || method == http.MethodPost || !strings.Contains(query, "dryRun") {
			url += strings.ReplaceAll(query, "C", collection)
		}
		body := ""
		if method != http.MethodGet && method != http.MethodHead {
			if body = bodies[route]; body == "" {
				body = "{}"
			}
		}
		kind := types[route]
		if kind == "" {
			kind = "application/json"
		}
		if path == "/v1/_import" { // each line is judged by itself, and imports belong to those who began them
			names = nil
		}
		if route == "PUT /v1/_groups/{name}" { // one that is there is changed by admin alone
			right = "admin"
		}
		r, err := s.client.Do(method, url, []byte(strings.ReplaceAll(body, "C", collection)), "Content-Type", kind, "Fanfold-Timeout", "20")
		if err != nil {
			t.Fatalf("%s: %s %s: %v", s.name, method, url, err)
		}
		checkAnswer(t, s, route, url, r, s.want(right, all, names...), right == "open")
		if route == "POST /v1/_import" && r.Status == http.StatusOK {
			if refused := strings.Contains(string(r.Body), `"status":403`); refused != (s.want("write", all, collection) != 0) {
				t.Errorf("%s: an import into %s says %s", s.name, collection, r.Body)
			}
		}
	}
}

// checkAnswer checks the answer to a request that is to be refused with a status, 0 for not to be refused.
func checkAnswer(t *testing.T, s *sender, route, url string, r *harness.Response, want int, open bool) {
	t.Helper()
	refused := r.Status == http.StatusUnauthorized || r.Status == http.StatusForbidden
	if want == 0 && (refused || r.Status == http.StatusInternalServerError) || want != 0 && r.Status != want {
		t.Errorf("%s: %s (%s): status %d, want %d (0: let in): %s", s.name, route, url, r.Status, want, r.Body)
	}
	if want == 0 && (r.Status == http.StatusBadRequest || r.Status == http.StatusUnsupportedMediaType) {
		t.Errorf("%s: %s (%s) is not understood, which proves nothing: %s", s.name, route, url, r.Body)
	}
	if private := r.Header.Get("Cache-Control") == "private, no-cache" && slices.Contains(varies(r), "Authorization"); private == open && !strings.Contains(route, "/readyz") {
		t.Errorf("%s: %s: Cache-Control %q, Vary %q", s.name, route, r.Header.Get("Cache-Control"), r.Header["Vary"])
	}
	if r.Header.Get("X-Content-Type-Options") != "nosniff" {
		t.Errorf("%s: %s lets browsers guess its type: %v", s.name, route, r.Header)
	}
	if !refused || strings.HasPrefix(route, "HEAD ") {
		return
	}
	switch challenge := r.Header.Get("WWW-Authenticate"); {
	case r.Status == http.StatusUnauthorized && (challenge != `Bearer realm="fanfold"` || r.Problem() != "urn:fanfold:problem:unauthenticated"):
		t.Errorf("%s: %s: %q, %s", s.name, route, challenge, r.Body)
	case r.Status == http.StatusForbidden && (challenge != "" || r.Problem() != "urn:fanfold:problem:forbidden" || !strings.Contains(string(r.Body), "missing")):
		t.Errorf("%s: %s: %q, %s", s.name, route, challenge, r.Body)
	}
}

// varies returns the headers that an answer depends on.
func varies(r *harness.Response) (out []string) {
	for _, line := range r.Header.Values("Vary") {
		for name := range strings.SplitSeq(line, ",") {
			out = append(out, strings.TrimSpace(name))
		}
	}
	return out
}

// TestMe: everybody who is let in is told who they are.
func TestMe(t *testing.T) {
	h := openHouse(t, matrixModel, func(cfg *node.Config) { cfg.Anonymous = true })
	for _, s := range senders(t, h, true) {
		r, err := s.client.Do("GET", "/v1/_me", nil)
		switch {
		case err != nil:
			t.Fatal(err)
		case !s.let && r.Status != http.StatusUnauthorized:
			t.Errorf("%s is %s", s.name, r.Body)
		case !s.let:
		case !strings.Contains(string(r.Body), `"open":false`):
			t.Errorf("%s is in an open store: %s", s.name, r.Body)
		default:
			roles := s.roles
			if len(roles) == 0 {
				roles = []string{"everyone"}
			}
			if want := `"roles":["` + strings.Join(roles, `","`) + `"]`; !strings.Contains(string(r.Body), want) {
				t.Errorf("%s is %s, want %s", s.name, r.Body, want)
			}
		}
	}
	open := harness.OpenTemp(t, "")
	harness.WantText(t, strings.TrimSpace(string(open.Want(http.StatusOK, "GET", "/v1/_me", "").Body)), `{"roles":["admin"],"open":true,"collections":{},"otherCollections":{"read":true,"write":true}}`)
}

// TestMeTellsRights: everybody is told which collections they read and write, and no name of another.
func TestMeTellsRights(t *testing.T) {
	h := openHouse(t, matrixModel, func(cfg *node.Config) { cfg.Anonymous = true })
	for _, s := range senders(t, h, true) {
		if !s.let {
			continue
		}
		var me struct {
			Collections map[string]struct{ Read, Write bool }
			Others      struct{ Read, Write bool } `json:"otherCollections"`
		}
		harness.Decode(t, s.client.Want(http.StatusOK, "GET", "/v1/_me", "").Body, &me)
		for name, roles := range may {
			told, there := me.Collections[name]
			reads, writes := slices.ContainsFunc(s.roles, func(r string) bool { return r == "admin" || slices.Contains(slices.Concat(roles.read, roles.write), r) }),
				slices.ContainsFunc(s.roles, func(r string) bool { return r == "admin" || slices.Contains(roles.write, r) })
			reads = reads || slices.Contains(roles.read, "everyone")
			if name == "nowhere" {
				told, there = me.Others, reads
			}
			if there != reads || told.Read != reads || told.Write != writes {
				t.Errorf("%s is told %+v of %s, want read %t, write %t", s.name, told, name, reads, writes)
			}
		}
	}
}

// TestOneRefusal: a 401 has the same text for every reason, and a 403 the same for what is there and what is not.
func TestOneRefusal(t *testing.T) {
	h := openHouse(t, matrixModel, nil)
	h.admin.Put("vault", "d", `{}`)
	key := h.newKey(t, "read")
	id := strings.Split(key, "_")[1]
	expires := time.Now().Add(time.Second)
	expired := h.keyUntil(t, expires)
	revoked := h.newKey(t, "read")
	if err := h.Node.Keys().Revoke(t.Context(), strings.Split(revoked, "_")[1]); err != nil {
		t.Fatal(err)
	}
	time.Sleep(time.Until(expires) + 50*time.Millisecond)
	texts := map[string]bool{}
	for _, header := range []string{"", "Bearer", "Bearer ", "Bearer x", "Basic", "Basic !", "Digest a", key, "Bearer " + access.NewKey().Text(),
		"Bearer " + access.Rotated(id).Text(), "Bearer " + expired, "Bearer " + revoked, "Bearer " + key + "x", "Bearer " + key[:len(key)-1]} {
		r := h.Want(http.StatusUnauthorized, "GET", "/v1/books", "", "Authorization", header)
		texts[string(r.Body)] = true
	}
	if len(texts) != 1 {
		t.Errorf("a 401 has the texts %v", texts)
	}
	for _, header := range []string{"Bearer " + key, "bearer " + key, "BEARER   " + key} {
		h.Want(http.StatusOK, "GET", "/v1/books", "", "Authorization", header)
	}
	reader := h.clientWith(t, key)
	for _, path := range []string{"%s", "%s/d", "%s/none", "%s/d/_lineage", "%s/none/_lineage", "%s?at=0", "%s/d/_history", "%s/none/_history", "%s/d/books", "%s?ids=d", "%s/d?expand=x", "%s?filter=doc.", "%s?explain=true&sort=a", "%s?group=a", "_export?collections=%s", "_diff?from=0&collections=%s", "_changes?collections=%s", "books/d/%s"} {
		there := reader.Want(http.StatusForbidden, "GET", "/v1/"+fmt.Sprintf(path, "vault"), "")
		if !strings.Contains(string(there.Body), "the right to read vault is missing") {
			t.Errorf("%s: %s", path, there.Body)
		}
		stranger := h.as(t, "stranger").Want(http.StatusForbidden, "GET", "/v1/"+fmt.Sprintf(path, "nowhere"), "")
		if path != "books/d/%s" && strings.ReplaceAll(string(stranger.Body), "nowhere", "vault") != string(there.Body) {
			t.Errorf("%s: what is there is refused by %s, and what is not by %s", path, there.Body, stranger.Body)
		}
	}
	for _, path := range []string{"/v1/books/d?expand=secret", "/v1/books?expand=secret", "/v1/books?ids=d&expand=secret", "/v1/%76ault/d", "/v1/v%61ult", "/v1/books/d/v%61ult", "/v1/books?limit=x&expand=secret"} {
		if r := reader.Want(http.StatusForbidden, "GET", path, ""); !strings.Contains(string(r.Body), "vault is missing") {
			t.Errorf("%s: %s", path, r.Body)
		}
	}
	for _, body := range []string{`{"expand":"secret"}`, `{"expand":"secret","filter":"doc."}`, `{"expand":"secret","explain":true}`} {
		if r := reader.Want(http.StatusForbidden, "POST", "/v1/books/_query", body); !strings.Contains(string(r.Body), "vault is missing") {
			t.Errorf("%s: %s", body, r.Body)
		}
	}
}
