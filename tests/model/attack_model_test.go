package model_test

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/fanfold/fanfold/api"
	"github.com/fanfold/fanfold/tests/harness"
	"github.com/fanfold/fanfold/tests/suite"
)

// doublingSchema returns a schema of n definitions; each refers to the next twice.
func doublingSchema(n int) string {
	var b strings.Builder
	b.WriteString(`{"$ref":"#/$defs/d0","$defs":{`)
	for i := range n {
		fmt.Fprintf(&b, `"d%d":{"allOf":[{"$ref":"#/$defs/d%d"},{"$ref":"#/$defs/d%[2]d"}]},`, i, i+1)
	}
	fmt.Fprintf(&b, `"d%d":{}}}`, n)
	return b.String()
}

// TestSchemasThatDouble: a schema whose definitions double at one place is refused, also by a dry run, with the place. One
// whose definitions double from level to level is taken, and a document that is too deep for it is refused soon.
func TestSchemasThatDouble(t *testing.T) {
	s := harness.OpenTemp(t, "")
	for _, n := range []int{20, 26} {
		for _, query := range []string{"", "?dryRun=true"} {
			r := s.Want(http.StatusBadRequest, "PUT", "/v1/_model"+query, `{"collections":{"a":{"schema":`+doublingSchema(n)+`}}}`)
			if got := problems(t, r); !strings.Contains(got, `collections.a.schema: at "/$defs/d`) || !strings.Contains(got, "10000") {
				t.Errorf("%d%s: %s", n, query, r.Body)
			}
		}
	}
	s.Model(`{"collections":{"a":{"schema":{"additionalProperties":{"allOf":[{"$ref":"#"},{"$ref":"#"}]}}}}}`)
	s.Put("a", "1", `{"x":{"y":{"z":{}}}}`)
	began := time.Now()
	r := s.Want(http.StatusUnprocessableEntity, "PUT", "/v1/a/2", strings.Repeat(`{"a":`, 60)+`{}`+strings.Repeat(`}`, 60))
	if took := time.Since(began); took > 20*time.Second || !strings.Contains(problems(t, r), "too many steps") {
		t.Errorf("%v: %s", took, r.Body)
	}
	s.Want(http.StatusUnprocessableEntity, "PATCH", "/v1/a/1", strings.Repeat(`{"a":`, 60)+`{}`+strings.Repeat(`}`, 60), "Content-Type", harness.MergeType)
}

// TestExpressionsThatGrow: a value that is too long, or that costs too much, is absent and told; the rest of the document
// is as it should be.
func TestExpressionsThatGrow(t *testing.T) {
	s := harness.OpenTemp(t, `
collections:
  ts: {}
  hs:
    relations: {t: {path: t, to: ts}}
    derive:
      lists: {copy: t, value: "doc.l.map(x, doc.l)"}
      texts: {copy: t, value: "doc.l.map(x, doc.s + doc.s)"}
      steps: {copy: t, value: "doc.l.all(x, doc.l.all(y, doc.l.all(z, true)))"}
      name: {copy: t, value: doc.name}
`)
	s.Put("ts", "1", `{"id":"1","name":"n","s":"`+strings.Repeat("s", 100_000)+`","l":[1`+strings.Repeat(",1", 9999)+`]}`)
	s.Put("hs", "1", `{"id":"1","t":"1"}`)
	s.WantDoc("hs", "1", `{"id":"1","t":"1","name":"n"}`)
	status := string(s.Want(http.StatusOK, "GET", "/v1/_status", "").Body)
	for _, want := range []string{"hs.lists", "hs.texts", "hs.steps", "16777216 bytes", "costs more than"} {
		if !strings.Contains(status, want) {
			t.Errorf("%q is not in %s", want, status)
		}
	}
}

// TestReservedPathsAreBounded: models that take rules away cannot leave ever more paths reserved; what is released makes
// room.
func TestReservedPathsAreBounded(t *testing.T) {
	suite.Parallel(t)
	s := harness.OpenTemp(t, "")
	model := func(i int, release string) string {
		var rules []string
		for n := range 1000 {
			rules = append(rules, fmt.Sprintf(`"d%d_%d":{"count":"a.r"}`, i, n))
		}
		return `{"collections":{"a":{"relations":{"r":{"path":"r","to":"a"}},"derive":{` + strings.Join(rules, ",") + `}` + release + `}}}`
	}
	for i := range 3 {
		s.Model(model(i, ""))
	}
	r := s.Want(http.StatusUnprocessableEntity, "PUT", "/v1/_model", model(3, ""))
	if !strings.Contains(string(r.Body), "3000 paths of removed rules") {
		t.Errorf("%s", r.Body)
	}
	var paths []string
	for n := range 1000 {
		paths = append(paths, fmt.Sprintf(`"d0_%d"`, n))
	}
	s.Model(model(3, `,"release":[`+strings.Join(paths, ",")+`]`))
}

// TestModelChecksEndWithTheirClients: a model that waits for another to be checked does so no longer than its client. If the
// checks of clients that have left were not given up, the next model would wait for dozens of them.
func TestModelChecksEndWithTheirClients(t *testing.T) {
	suite.Concurrent(t)
	s := harness.Open(t, harness.Options{Dir: t.TempDir(), API: api.Options{Admission: time.Minute}})
	defer s.Close()
	began := time.Now()
	s.Want(http.StatusOK, "PUT", "/v1/_model?dryRun=true", worstModels[1](1))
	alone := time.Since(began)
	var clients sync.WaitGroup
	for range 100 {
		clients.Go(func() {
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
			defer cancel()
			req, err := http.NewRequestWithContext(ctx, http.MethodPut, s.URL+"/v1/_model?dryRun=true", strings.NewReader(worstModels[1](0)))
			if err != nil {
				t.Error(err)
				return
			}
			req.Header.Set("Content-Type", "application/json")
			if r, err := s.HTTP.Do(req); err == nil {
				_ = r.Body.Close()
			}
		})
	}
	clients.Wait()
	began = time.Now()
	s.Want(http.StatusOK, "PUT", "/v1/_model?dryRun=true", `{"collections":{}}`)
	limit := 5*time.Second + 4*alone // a check that has begun goes on, and several may have begun before it was seen that their clients left
	if took := time.Since(began); took > limit {
		t.Errorf("a model waited %v for those whose clients have left; one check takes %v", took, alone)
	}
	s.Verify()
}

// TestYAMLEscapes: what YAML escapes in text is text that JSON escapes.
func TestYAMLEscapes(t *testing.T) {
	s := harness.OpenTemp(t, "")
	s.Want(http.StatusOK, "PUT", "/v1/_model", `collections: {a: {schema: {title: "\a\0\e\x41\u00e9\U0001F600\N\_\L\P"}}}`, "Content-Type", "application/yaml")
	want := string(s.Want(http.StatusOK, "GET", "/v1/_model", "").Body)
	var m struct {
		Collections map[string]struct{ Schema struct{ Title string } }
	}
	harness.Decode(t, []byte(want), &m)
	harness.WantText(t, m.Collections["a"].Schema.Title, "\a\x00\x1bAé😀\u0085\u00a0\u2028\u2029")
	text := string(s.Want(http.StatusOK, "GET", "/v1/_model", "", "Accept", "application/yaml").Body)
	s.Want(http.StatusOK, "PUT", "/v1/_model", text, "Content-Type", "application/yaml")
	harness.WantText(t, string(s.Want(http.StatusOK, "GET", "/v1/_model", "").Body), want)
}

// latencies measures how long small writes into a collection of its own take, for as long as long says.
func latencies(t *testing.T, s *harness.Store, long time.Duration) []time.Duration {
	t.Helper()
	var all []time.Duration
	for began := time.Now(); time.Since(began) < long; {
		one := time.Now()
		r, err := s.Do("PUT", fmt.Sprintf("/v1/others/%d", len(all)%100), []byte(fmt.Sprintf(`{"n":%d}`, len(all))), "Content-Type", "application/json")
		if err != nil || r.Status >= 300 {
			t.Fatalf("a small write: %v, %+v", err, r)
		}
		all = append(all, time.Since(one))
	}
	slices.Sort(all)
	return all
}

// wantQuickWrites fails the test where small writes beside what goes on take much longer than they may on a busy machine. A cause that
// lasts holds them up in every window of time. A window in which few writes fit may also be a single stall of the machine. So the test
// fails only where three windows are too slow.
func wantQuickWrites(t *testing.T, s *harness.Store, what string) {
	t.Helper()
	const long, limit = 2 * time.Second, 2 * time.Second
	var worst time.Duration
	for range 3 {
		all := latencies(t, s, long)
		worst = all[len(all)*99/100]
		t.Logf("%s: %d writes, p50 %v, p99 %v, longest %v", what, len(all), all[len(all)/2].Round(10*time.Microsecond),
			worst.Round(10*time.Microsecond), all[len(all)-1].Round(10*time.Microsecond))
		if worst <= limit {
			return
		}
	}
	t.Errorf("%s: 99 of 100 writes took up to %v", what, worst)
}

// attacker sends requests one after the other until stop is closed, each made from its number, and counts them by status.
func attacker(s *harness.Store, stop chan struct{}, counts *sync.Map, request func(i int) (method, path, body string)) {
	for i := 0; ; i++ {
		select {
		case <-stop:
			return
		default:
		}
		method, path, body := request(i)
		r, err := s.Do(method, path, []byte(body), "Content-Type", "application/json")
		what := fmt.Sprint(method, " ", path[:min(len(path), 20)], " ", err)
		if err == nil {
			what = fmt.Sprint(method, " ", path[:min(len(path), 20)], " ", r.Status)
		}
		n, _ := counts.LoadOrStore(what, new(atomic.Int64))
		n.(*atomic.Int64).Add(1)
	}
}

// worstModels are the models at the bounds that take longest, each other than the one before.
var worstModels = []func(i int) string{
	func(i int) string { // expressions: as many as a model takes, of those that take longest to check
		var rules []string
		for n := range 20 {
			rules = append(rules, fmt.Sprintf(`"n%d":{"copy":"a","value":"[%d%s]"}`, n, i*20+n, strings.Repeat(",doc.map(x,doc.map(x,x))", 17)))
		}
		return `{"collections":{"others":{},"as":{},"bs":{"relations":{"a":{"path":"a","to":"as"}},"derive":{` + strings.Join(rules, ",") + `}}}}`
	},
	func(i int) string { // a schema of very many definitions
		return fmt.Sprintf(`{"collections":{"others":{},"s":{"schema":{"title":"%d","allOf":[%strue]}}}}`, i, strings.Repeat(`{"not":{}},`, 4500))
	},
	func(i int) string { // patterns
		var patterns []string
		for n := range 10 {
			patterns = append(patterns, fmt.Sprintf(`{"pattern":"%d%s"}`, n, strings.Repeat(`(?i)\\pL`, 100)))
		}
		return fmt.Sprintf(`{"collections":{"others":{},"s":{"schema":{"title":"%d","anyOf":[%s]}}}}`, i, strings.Join(patterns, ","))
	},
	func(i int) string { // as much as there may be of everything, with guards
		var relations, unique, rules []string
		for n := range 500 {
			relations = append(relations, fmt.Sprintf(`"r%d":{"path":"p%d","to":"b","strict":true}`, n, n))
			if n < 200 {
				unique = append(unique, fmt.Sprintf(`"u%d"`, n+i%2))
			}
			rules = append(rules, fmt.Sprintf(`"d%d":{"copy":"r%d","value":"doc.a"}`, n, n))
		}
		return `{"collections":{"others":{},"b":{},"a":{"relations":{` + strings.Join(relations, ",") + `},"unique":[` + strings.Join(unique, ",") + `],"derive":{` + strings.Join(rules, ",") + `}}}}`
	},
}

// TestModelsDoNotHoldUpWrites: while clients check and apply the worst models that are taken, and write documents for
// which a schema asks most, a client that writes small documents elsewhere goes on. The test logs how long its writes
// take, alone and beside the others, and fails only where they take much longer than they may on a busy machine.
func TestModelsDoNotHoldUpWrites(t *testing.T) {
	s := harness.OpenTemp(t, `{"collections":{"others":{}}}`)
	wantQuickWrites(t, s, "alone")
	for n, model := range worstModels {
		for _, query := range []string{"?dryRun=true", ""} {
			var clients sync.WaitGroup
			var counts sync.Map
			stop := make(chan struct{})
			clients.Go(func() {
				attacker(s, stop, &counts, func(i int) (string, string, string) { return "PUT", "/v1/_model" + query, model(i) })
			})
			wantQuickWrites(t, s, fmt.Sprintf("beside model %d%s", n, query))
			close(stop)
			clients.Wait()
			counts.Range(func(what, n any) bool { t.Log(what, n.(*atomic.Int64).Load()); return true })
		}
	}
}

// TestSchemasDoNotHoldUpWrites: the same beside clients that write documents for whose check a schema asks most.
func TestSchemasDoNotHoldUpWrites(t *testing.T) {
	s := harness.OpenTemp(t, `{"collections":{"others":{},"a":{"schema":{"additionalProperties":{"allOf":[{"$ref":"#"},{"$ref":"#"}]}}}}}`)
	var clients sync.WaitGroup
	var counts sync.Map
	stop := make(chan struct{})
	for range 4 {
		clients.Go(func() {
			attacker(s, stop, &counts, func(i int) (string, string, string) {
				return "PUT", fmt.Sprintf("/v1/a/%d", i%10), strings.Repeat(`{"a":`, 60) + `{}` + strings.Repeat(`}`, 60)
			})
		})
	}
	wantQuickWrites(t, s, "beside costly documents")
	close(stop)
	clients.Wait()
	counts.Range(func(what, n any) bool { t.Log(what, n.(*atomic.Int64).Load()); return true })
}
