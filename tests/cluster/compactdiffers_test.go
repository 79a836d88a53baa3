package cluster_test

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/tests/harness"
	"github.com/fanfold/fanfold/tests/natsserver"
	"github.com/fanfold/fanfold/tests/suite"
)

// shortenedModel has something of each kind whose guards and rows come from before a horizon.
const shortenedModel = `
collections:
  teams:
    unique: [ name ]
    derive: { members: { count: people.team }, total: { sum: people.team, of: age }, who: { ids: people.team, limit: 5 } }
  people:
    unique: [ email ]
    relations:
      team: { path: team, to: teams, strict: true, onDelete: restrict }
      boss: { path: boss, to: people, onDelete: unlink }
      tags: { path: "tags[]", to: tags, onDelete: keep }
      home: { path: home, to: homes, onDelete: cascade }
    derive:
      teamName: { copy: team, value: doc.name }
      hired: { copy: team, value: doc.name, frozen: true }
      tagName: { copy: tags, value: doc.name }
      bossMail: { copy: boss, value: doc.email }
  tags: {}
  homes: {}
  notes:
    relations: { about: { path: about, to: people, onDelete: cascade } }
    derive: { mail: { copy: about, value: doc.email } }
    pages: { by: about, size: 3 }
`

// twin is a store that begins later now and then, and one that never does.
type twin struct {
	t       *testing.T
	rnd     *rand.Rand
	sides   [2]*harness.Store
	tags    map[string][][2]string // of each document, as each store has them
	at      [][2]string            // positions
	sent    []request
	model   bool
	horizon fanfold.Position
}

// request is what both are sent.
type request struct {
	method, path, kind string
	body               [2]string
	headers            [2][]string
	repeated           bool
}

// pick returns one of some texts.
func (w *twin) pick(of ...string) string { return of[w.rnd.IntN(len(of))] }

// key returns a collection and an id.
func (w *twin) key() (collection, id string) {
	collection = w.pick("teams", "people", "people", "people", "notes", "notes", "tags", "homes")
	return collection, fmt.Sprint(collection[:1], w.rnd.IntN(6))
}

// document returns a body.
func (w *twin) document(collection string) string {
	n := fmt.Sprint(w.rnd.IntN(6))
	switch collection {
	case "teams", "tags", "homes":
		return `{"name":"n` + n + `"}`
	case "notes":
		return `{"about":"p` + n + `","x":` + fmt.Sprint(w.rnd.IntN(100)) + `}`
	}
	var members []string
	for _, m := range []string{`"email":"e%d"`, `"team":"t%d"`, `"boss":"p%d"`, `"tags":["t%d","t0"]`, `"home":"h%d"`, `"age":%d`} {
		if w.rnd.IntN(2) == 0 {
			members = append(members, fmt.Sprintf(m, w.rnd.IntN(6)))
		}
	}
	return "{" + strings.Join(members, ",") + "}"
}

// condition returns a header for each store.
func (w *twin) condition(path string) (headers [2][]string) {
	switch tags := w.tags[path]; w.rnd.IntN(6) {
	case 0:
		return [2][]string{{"If-None-Match", "*"}, {"If-None-Match", "*"}}
	case 1:
		return [2][]string{{"If-Match", "*"}, {"If-Match", "*"}}
	case 2, 3:
		if len(tags) > 0 {
			one := tags[len(tags)-1]
			if w.rnd.IntN(2) == 0 {
				one = tags[w.rnd.IntN(len(tags))]
			}
			return [2][]string{{"If-Match", one[0]}, {"If-Match", one[1]}}
		}
	}
	return headers
}

// operation returns one of a transaction.
func (w *twin) operation() (out [2]string) {
	collection, id := w.key()
	path := "/v1/" + collection + "/" + id
	more := [2]string{}
	if tags := w.tags[path]; len(tags) > 0 && w.rnd.IntN(3) == 0 {
		one := tags[w.rnd.IntN(len(tags))]
		if w.rnd.IntN(2) == 0 {
			one = tags[len(tags)-1]
		}
		for i := range more {
			more[i] = `,"ifMatch":` + harness.QuoteJSON(one[i])
		}
	}
	op := w.pick("put", "put", "patch", "delete", "check", "create")
	body := ""
	switch op {
	case "put", "create":
		body = `,"body":` + w.document(collection)
	case "patch":
		body = `,"patch":` + w.document(collection)
	case "check":
		if more[0] == "" {
			more = [2]string{`,"ifMatch":"*"`, `,"ifMatch":"*"`}
			if w.rnd.IntN(2) == 0 {
				more = [2]string{`,"ifNoneMatch":"*"`, `,"ifNoneMatch":"*"`}
			}
		}
	}
	if op == "create" {
		body = `,"body":` + strings.Replace(w.document(collection), "{", `{"id":"`+id+`",`, 1)
		body = strings.Replace(body, `,}`, `}`, 1)
		return [2]string{`{"op":"create","collection":"` + collection + `"` + body + `}`, `{"op":"create","collection":"` + collection + `"` + body + `}`}
	}
	for i := range out {
		out[i] = `{"op":"` + op + `","collection":"` + collection + `","id":"` + id + `"` + body + more[i] + `}`
	}
	return out
}

// next returns a request.
func (w *twin) next() (r request) {
	collection, id := w.key()
	path := "/v1/" + collection + "/" + id
	both := func(s string) [2]string { return [2]string{s, s} }
	switch n := w.rnd.IntN(100); {
	case n < 35:
		return request{"PUT", path, "", both(w.document(collection)), w.condition(path), false}
	case n < 50:
		return request{"PATCH", path, "application/merge-patch+json", both(w.document(collection)), w.condition(path), false}
	case n < 66:
		return request{"DELETE", path, "", both(""), w.condition(path), false}
	case n < 70:
		body := strings.Replace(strings.Replace(w.document(collection), "{", `{"id":"`+id+`",`, 1), ",}", "}", 1)
		return request{"POST", "/v1/" + collection, "", both(body), [2][]string{}, false}
	case n < 82:
		var ops [2][]string
		for range 1 + w.rnd.IntN(4) {
			op := w.operation()
			ops[0], ops[1] = append(ops[0], op[0]), append(ops[1], op[1])
		}
		r = request{"POST", "/v1/_transactions", "", [2]string{}, [2][]string{}, false}
		for i := range ops {
			r.body[i] = `{"operations":[` + strings.Join(ops[i], ",") + `]}`
		}
		return r
	case n < 86:
		lines := ""
		for range 1 + w.rnd.IntN(5) {
			collection, id := w.key()
			lines += `{"collection":"` + collection + `","document":` + strings.Replace(strings.Replace(w.document(collection), "{", `{"id":"`+id+`",`, 1), ",}", "}", 1) + "}\n"
		}
		return request{"POST", "/v1/_import", "application/x-ndjson", both(lines), [2][]string{}, false}
	case n < 90 && len(w.at) > 0:
		at := w.at[len(w.at)-1-w.rnd.IntN(min(len(w.at), 12))]
		if p, err := fanfold.ParsePosition(harness.Bare(at[0])); err != nil || p < w.horizon {
			return w.next()
		}
		return request{"POST", path + "/_revert", "", [2]string{`{"at":"` + at[0] + `"}`, `{"at":"` + at[1] + `"}`}, w.condition(path), false}
	case n < 94 && len(w.sent) > 0:
		r = w.sent[w.rnd.IntN(len(w.sent))]
		r.repeated = true
		return r
	case n < 96:
		w.model = !w.model
		src := shortenedModel
		if w.model {
			src = strings.Replace(src, "mail: {", "post: {", 1)
			src = strings.Replace(src, "bossMail: {", "bossPost: {", 1)
			src = strings.Replace(src, "unique: [ email ]", "unique: [ email, [ team, age ] ]", 1)
			src = strings.Replace(src, "size: 3", "size: 4", 1)
		}
		return request{"PUT", "/v1/_model?allowRemoval=true&allowMisfits=true", "application/yaml", both(src), [2][]string{}, false}
	}
	return request{"PUT", path, "", both(w.document(collection)), w.condition(path), false}
}

// unlike is what the stores answer with and cannot have in common.
var unlike = regexp.MustCompile(`[0-9]+-[0-9]+-[a-z0-9]{8}(-[0-9]+)?|"(rev|revision|position|createdAt|updatedAt|time|currentETag|etag|currentRevision|current|next|id|tx|seq|event|cause|since|cursor|prev|prior|modelSeq|requestId|instance)":("([^"\\]|\\.)*"|[0-9]+)|event [0-9]+|revision [0-9]+(, not [0-9]+)?`)

// alike returns an answer without what differs between the stores.
func alike(r *harness.Response) string {
	return fmt.Sprint(r.Status, " ", unlike.ReplaceAllStringFunc(string(r.Body), func(s string) string {
		if strings.HasPrefix(s, `"id"`) && len(s) < 12 {
			return s
		}
		return "#"
	}))
}

// send sends a request to both, and compares the answers.
func (w *twin) send(r request) {
	w.t.Helper()
	var answers [2]*harness.Response
	for i, s := range w.sides {
		kind := r.kind
		if kind == "" {
			kind = "application/json"
		}
		a, err := s.Do(r.method, r.path, []byte(r.body[i]), append([]string{"Content-Type", kind}, r.headers[i]...)...)
		if err != nil {
			w.t.Fatal(err)
		}
		answers[i] = a
	}
	a, b := alike(answers[0]), alike(answers[1])
	if r.repeated { // of one before the horizon not all is known: see TestRepeatsBeforeTheHorizon
		a, b = strings.Replace(a[:3], "201", "204", 1), strings.Replace(b[:3], "201", "204", 1)
	}
	if a != b {
		w.t.Fatalf("%s %s %q\n%s\nis answered with\n%s\nand without compactions\n%s", r.method, r.path, r.headers, r.body, answers[0].Body, answers[1].Body)
	}
	if at := answers[0].Header.Get("Fanfold-Position"); at != "" && r.method != "GET" {
		w.at = append(w.at, [2]string{at, answers[1].Header.Get("Fanfold-Position")})
	}
	if tag := answers[0].Header.Get("ETag"); tag != "" {
		w.tags[r.path] = append(w.tags[r.path], [2]string{tag, answers[1].Header.Get("ETag")})
	}
}

// reads compares what both show.
func (w *twin) reads() {
	w.t.Helper()
	get := func(path string) { w.send(request{"GET", path, "", [2]string{}, [2][]string{}, false}) }
	for _, c := range []string{"teams", "people", "notes", "tags", "homes"} {
		get("/v1/" + c)
		get("/v1/" + c + "?view=referenced")
		for i := range 6 {
			get("/v1/" + c + "/" + fmt.Sprint(c[:1], i))
		}
	}
	for i := range 6 {
		p := fmt.Sprint("/v1/people/p", i)
		get(p + "/notes?page=1")
		get(p + "/notes?page=last")
		get(p + "/notes")
		get(p + "/people")
		get(fmt.Sprint("/v1/teams/t", i, "/people"))
	}
	get("/v1/notes?filter=" + "doc.x%20%3E%2050")
	for _, at := range w.at {
		p, err := fanfold.ParsePosition(harness.Bare(at[0]))
		if err != nil {
			w.t.Fatal(err)
		}
		if p < w.horizon {
			continue
		}
		for _, path := range []string{"/v1/people?at=", "/v1/notes?at=", "/v1/people/p1?at=", "/v1/people/p2/notes?page=1&at=", "/v1/teams/t1/people?at="} {
			var out [2]string
			for i, s := range w.sides {
				r, err := s.Do("GET", path+at[i], nil)
				if err != nil {
					w.t.Fatal(err)
				}
				out[i] = alike(r)
			}
			if out[0] != out[1] {
				w.t.Fatalf("%s%s after %s\n%s\nand without compactions\n%s", path, at[0], w.horizon, out[0], out[1])
			}
		}
	}
}

// TestShortenedStoreDecidesAlike: a store that begins later again and again answers each request as one that keeps everything.
func TestShortenedStoreDecidesAlike(t *testing.T) {
	suite.Parallel(t)
	for seed := range uint64(suite.Amount(2, 12)) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) { decideAlike(t, seed) })
	}
}

// decideAlike sends both stores the same requests.
func decideAlike(t *testing.T, seed uint64) {
	w := &twin{t: t, rnd: rand.New(rand.NewPCG(seed, 1)), tags: map[string][][2]string{}}
	dirs := [2]string{t.TempDir(), t.TempDir()}
	urls := [2]string{natsserver.Start(t, 1)[0], natsserver.Start(t, 1)[0]}
	for i := range w.sides {
		w.sides[i] = openKeeper(t, dirs[i], urls[i])
		w.sides[i].Model(shortenedModel)
	}
	defer func() { w.sides[0].Close(); w.sides[1].Close() }()
	for n := range 400 {
		r := w.next()
		if w.rnd.IntN(4) == 0 && w.mayRepeat(r) {
			k := fmt.Sprint("key-", n)
			r.headers = [2][]string{{"Idempotency-Key", k}, {"Idempotency-Key", k}}
			w.sent = append(w.sent, r)
		}
		w.send(r)
		if w.rnd.IntN(40) != 0 {
			continue
		}
		w.compact()
		w.reads()
		if w.rnd.IntN(3) == 0 {
			w.sides[0].Close()
			w.sides[0] = openKeeper(t, dirs[0], urls[0])
		}
	}
	w.reads()
	for _, s := range w.sides {
		s.CatchUp()
		s.Verify()
	}
	w.sides[0].Replay()
}

// mayRepeat tells whether a request can be sent again later under a key. A revert to a position that is gone by then cannot.
func (w *twin) mayRepeat(r request) bool {
	return !r.repeated && len(r.headers[0]) == 0 && !strings.Contains(r.path, "_model") && !strings.Contains(r.path, "_import") && !strings.Contains(r.path, "_revert")
}

// compact lets the first store begin at one of its last events, and waits until the log is purged.
func (w *twin) compact() {
	a := w.sides[0]
	a.CatchUp()
	w.sides[1].CatchUp()
	last := a.Node.Store.Applied.Seq()
	before := last - min(last-1, uint64(w.rnd.IntN(20)))
	if before <= w.horizon.Seq() {
		return
	}
	r, err := a.Do(http.MethodPost, "/v1/_compact", fmt.Appendf(nil, `{"before":"%d"}`, before))
	if err != nil {
		w.t.Fatal(err)
	}
	if r.Status != http.StatusAccepted { // the store cannot begin within a transaction
		return
	}
	w.horizon = a.Compacted()
	h, _, err := a.Node.Projector.Horizon()
	if err != nil {
		w.t.Fatal(err)
	}
	awaitPurged(w.t, a, h.Seq)
}
