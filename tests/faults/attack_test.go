package faults_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/fanfold/fanfold/tests/harness"
	"github.com/fanfold/fanfold/tests/suite"
)

// These are things that a few small writes can make the fold do. Each case has a server of its own, whose memory is bounded. An embedded
// document has at most 16 MiB, and the fold holds a few of them at a time: the old view, the new one, their trees and the change. It goes
// on after a restart, and verify finds nothing.
func TestAttackOnTheFold(t *testing.T) {
	suite.Parallel(t)
	for name, attack := range map[string]struct {
		model string
		do    func(t *testing.T, p *harness.Process)
		most  int // MiB
	}{
		"a long value copied to 520 places": {`
collections:
  t: {}
  h: {relations: {r: {path: "r[].id", to: t}}, derive: {"r[].v": {copy: r, value: doc.bio}}}
`, copyLongValue, 900},
		"a chain that doubles 24 times": {doublingChain(24), func(t *testing.T, p *harness.Process) {
			putSlowly(p, "c0", "1", `{"text":"`+strings.Repeat("x", 1000)+`"}`)
			for i := 1; i < 24; i++ {
				putSlowly(p, fmt.Sprintf("c%d", i), "1", `{"up":"1"}`)
			}
			putSlowly(p, "c0", "1", `{"text":"`+strings.Repeat("y", 1001)+`"}`)
			wantOmitted(t, p)
		}, 900},
		"an expression that repeats a list": {`
collections:
  t: {}
  h: {relations: {r: {path: r, to: t}}, derive: {v: {copy: r, value: "doc.l.map(x, doc.l)"}}}
`, func(t *testing.T, p *harness.Process) {
			putSlowly(p, "h", "1", `{"r":"1"}`)
			putSlowly(p, "t", "1", `{"l":[`+strings.Repeat("1234567,", 4999)+`1]}`)
			if got := p.Get("h", "1"); got != `{"id":"1","r":"1"}` {
				t.Errorf("the value is there: %d bytes", len(got))
			}
		}, 500},
		"long documents in one list": {`
collections:
  posts: {derive: {recent: {recent: comments.post, max: 1000, fields: [text]}}}
  comments: {relations: {post: {path: post, to: posts}}}
`, func(t *testing.T, p *harness.Process) {
			putSlowly(p, "posts", "1", `{}`)
			for i := range 40 {
				putSlowly(p, "comments", fmt.Sprint(i), `{"post":"1","text":"`+strings.Repeat("x", 1_000_000)+`"}`)
			}
			wantOmitted(t, p)
			if got := p.Get("posts", "1"); got != `{"id":"1"}` {
				t.Errorf("the list is there: %d bytes", len(got))
			}
		}, 700},
		"eight long values of twenty documents in a thousand places": {`
collections:
  t: {}
  h: {relations: {r: {path: "r[].id", to: t}}, derive: {` + manyCopies(8) + `}}
`, func(t *testing.T, p *harness.Process) {
			for i := range 20 {
				putSlowly(p, "t", fmt.Sprint(i), `{"bio":"`+strings.Repeat("b", 2_000_000)+`"}`)
			}
			ids := make([]string, 1000)
			for i := range ids {
				ids[i] = fmt.Sprintf(`{"id":%d}`, i%20)
			}
			putSlowly(p, "h", "1", `{"r":[`+strings.Join(ids, ",")+`]}`)
			putSlowly(p, "t", "7", `{"bio":"short"}`)
			if n := strings.Count(p.Get("h", "1"), `:"short"`); n != 8*50 {
				t.Errorf("%d of 400 short values are there", n)
			}
		}, 900},
		"a long value copied to 64 documents": {`
collections:
  t: {}
  h: {relations: {r: {path: r, to: t}}, derive: {v: {copy: r, value: doc.bio}, w: {copy: r, value: doc.bio}}}
`, func(_ *testing.T, p *harness.Process) {
			for i := range 64 {
				putSlowly(p, "h", fmt.Sprint(i), `{"r":"1"}`)
			}
			for _, c := range []string{"x", "y"} {
				putSlowly(p, "t", "1", `{"bio":"`+strings.Repeat(c, 2_000_000)+`"}`)
			}
		}, 900},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			// Beside other tests the disk may take long for what such a fold has written.
			p := harness.StartProcess(t, "--data", dir, "--durability", "interval", "--shutdown-timeout", "2m")
			p.Model(attack.model)
			attack.do(t, p)
			if most := p.HighWater(t); most > attack.most {
				t.Errorf("the server took %d MiB", most)
			}
			p.Signal(syscall.SIGTERM)
			if code := p.Cmd.ProcessState.ExitCode(); code != 0 {
				t.Fatalf("the server ends with %d", code)
			}
			p = harness.StartProcess(t, "--data", dir, "--durability", "interval")
			p.Verify(t)
			bound := attack.most
			if strings.Contains(p.Log.String(), "rebuilt from the log") { // several such events in one transaction
				bound = 1500
			}
			if most := p.HighWater(t); most > bound {
				t.Errorf("after a restart the server took %d MiB", most)
			}
		})
	}
}

// copyLongValue has one document take a long value of another 520 times, in two small writes.
func copyLongValue(t *testing.T, p *harness.Process) {
	holder := func(n int) string { return `{"r":[` + strings.TrimSuffix(strings.Repeat(`{"id":"1"},`, n), ",") + `]}` }
	bio := strings.Repeat("b", 2_000_000)
	putSlowly(p, "t", "1", `{"bio":"`+bio+`"}`)
	putSlowly(p, "h", "520", holder(520))
	putSlowly(p, "h", "300", holder(300))
	view := p.Get("h", "520")
	if n := strings.Count(view, `"v":`); n != 8 || len(view) > 16<<20 {
		t.Errorf("the view has %d bytes and %d values", len(view), n)
	}
	harness.WantText(t, wantOmitted(t, p), `[{"rule":"h.r[].v","documents":2,"values":804}]`)
	for path, want := range map[string]string{
		"/v1/h/520/_lineage":                            `"omitted":{"h.r[].v":512}`,
		"/v1/_changes?mode=all&collections=h&limit=100": `"omitted":{"h.r[].v":512}`,
	} {
		if got := string(p.Want(http.StatusOK, http.MethodGet, path, "").Body); !strings.Contains(got, want) {
			t.Errorf("%s does not say %s", path, want)
		}
	}
	putSlowly(p, "t", "1", `{"bio":"short"}`)
	if n := strings.Count(p.Get("h", "520"), `"v":"short"`); n != 520 {
		t.Errorf("the view has %d of 520 values once there is room for them", n)
	}
	putSlowly(p, "t", "1", `{"bio":"`+bio+`"}`)
	p.Want(http.StatusBadRequest, http.MethodPut, "/v1/_model", "embedded: {limit: 67108865}", "Content-Type", "application/yaml")
}

// wantOmitted returns what _status says of values that documents have no room for. There must be some.
func wantOmitted(t *testing.T, p *harness.Process) string {
	t.Helper()
	var status struct{ Omitted json.RawMessage }
	harness.Decode(t, p.Want(http.StatusOK, http.MethodGet, "/v1/_status", "").Body, &status)
	if status.Omitted == nil {
		t.Error("every value is there")
	}
	return string(status.Omitted)
}

// doublingChain is a model of n collections. Each copies the document before it twice.
func doublingChain(n int) string {
	var model strings.Builder
	model.WriteString("collections:\n  c0: {}\n")
	for i := 1; i < n; i++ {
		fmt.Fprintf(&model, "  c%d: {relations: {up: {path: up, to: c%d}}, derive: {a: {copy: up, value: doc}, b: {copy: up, value: doc}}}\n", i, i-1)
	}
	return model.String()
}

// putSlowly puts a document whose fold may take a while, longer than a request may wait for it, too.
func putSlowly(p *harness.Process, collection, id, body string) {
	path := harness.Path(collection, id)
	r, err := p.Do(http.MethodPut, path, []byte(body), "Fanfold-Timeout", "60")
	if err == nil && r.Status == http.StatusAccepted {
		position := r.Header.Get("Fanfold-Position")
		for range 5 {
			r, err = p.Do(http.MethodGet, path, nil, "Fanfold-Min-Position", position, "Fanfold-Timeout", "60")
			if err != nil || r.Status != http.StatusGatewayTimeout {
				break
			}
		}
	}
	if err != nil || !slices.Contains([]int{http.StatusOK, http.StatusCreated, http.StatusNoContent}, r.Status) {
		panic(fmt.Sprintf("PUT %s of %d bytes: %v %+v", path, len(body), err, r))
	}
}

// TestLargeDocumentsInConstantMemory: what looks at every document holds few of them at a time.
func TestLargeDocumentsInConstantMemory(t *testing.T) {
	suite.Parallel(t)
	const documents, size, most = 100, 1_900_000, 520 // 190 MB in all; MiB, mostly for the log's server, which takes it for a replay
	model := `{"collections":{"authors":{},"books":{"relations":{"author":{"path":"author","to":"authors"}},"derive":{"name":{"copy":"author","value":%q}}}}}`
	dir := t.TempDir()
	p := harness.StartProcess(t, "--data", dir, "--durability", "interval")
	p.Model(fmt.Sprintf(model, "doc.name"))
	putSlowly(p, "authors", "a", `{"name":"Ann"}`)
	text := strings.Repeat("x", size)
	for i := range documents {
		putSlowly(p, "books", fmt.Sprint(i), `{"author":"a","text":"`+text+`"}`)
	}
	p.Signal(syscall.SIGTERM) // the log's server holds what was written in the last seconds
	p = harness.StartProcess(t, "--data", dir, "--durability", "interval")
	p.HighWater(t)
	p.Verify(t)
	p.HighWater(t)
	p.Want(http.StatusOK, http.MethodPut, "/v1/_model?dryRun=true", fmt.Sprintf(model, "doc.name + '!'"), "Content-Type", "application/json")
	if got := p.HighWater(t); got > most {
		t.Errorf("verify and a preview take %d MiB", got)
	}
	resp, err := http.Get(p.URL + "/v1/_export")
	if err != nil {
		t.Fatal(err)
	}
	n, err := io.Copy(io.Discard, resp.Body)
	if err = errors.Join(err, resp.Body.Close()); err != nil || n < documents*size {
		t.Fatalf("the export has %d bytes: %v", n, err)
	}
	p.HighWater(t)
	p.Replay(t)
	p.HighWater(t)
	putSlowly(p, "authors", "a", `{"name":"Bea"}`)
	p.Verify(t)
	if got := p.HighWater(t); got > most {
		t.Errorf("an export, a replay and a fan-out take %d MiB", got)
	}
}

// manyCopies are n copies of the same member of each t.
func manyCopies(n int) string {
	rules := make([]string, n)
	for i := range rules {
		rules[i] = fmt.Sprintf(`"r[].w%d": {copy: r, value: doc.bio}`, i)
	}
	return strings.Join(rules, ", ")
}
