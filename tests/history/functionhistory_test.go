package history_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/fanfold/fanfold/tests/harness"
	"github.com/fanfold/fanfold/tests/suite"
)

// shopModel has functions and a trigger beside what is declared: numbers, defaults, increments and conditions. shop is its twin in Go.
const shopModel = `
collections:
  accounts: {}
  items: { trigger: keep, sequences: { n: {} }, defaults: { state: new } }
  logs: {}
functions:
  move:
    source: |
      export default (ctx, { from, to, cents }) => {
        const a = ctx.get("accounts", from)?.cents ?? 0
        if (a < cents) ctx.fail("too-little")
        ctx.put("accounts", from, { cents: a - cents })
        if (from === to) ctx.put("accounts", from, { cents: a })
        else ctx.put("accounts", to, { cents: (ctx.get("accounts", to)?.cents ?? 0) + cents })
        return a
      }
  make: { source: "export default (ctx, kind) => { const d = ctx.create('items', { kind }); return [d.id, d.n, d.state] }" }
  sweep:
    reads: [items]
    source: |
      export default (ctx) => ctx.query("items", { filter: "doc.state == 'new'", sort: "n", limit: 3 }).map((d) => {
        ctx.patch("items", d.id, { state: "swept" })
        return d.n
      })
  keep:
    source: |
      export default (ctx, { op, before, after }) => {
        ctx.create("logs", { op, item: (after ?? before).id })
        if (after?.kind === "bad") ctx.fail("bad")
        if (after) return { ...after, seen: (before?.seen ?? 0) + 1 }
      }
`

// shopItem is a document of items.
type shopItem struct {
	Kind, State string
	N, Seen     int
}

// shop is what the store must hold, and what functions must answer, if requests come one after the other.
type shop struct {
	accounts map[string]int
	items    map[string]shopItem
	logs     map[string]int
	last     int
}

// put writes an item, as a client or a function does.
func (s *shop) put(id, op, kind, state string) {
	was, had := s.items[id]
	if !had {
		s.last++
		was.N, op = s.last, "create"
		state = cmp.Or(state, "new")
	}
	s.items[id] = shopItem{kind, state, was.N, was.Seen + 1}
	s.logs[op+" "+id]++
}

// shopWrite is a request that was stored.
type shopWrite struct {
	at     int // its first event
	what   string
	apply  func(s *shop) string // makes it, and returns what it must have answered
	answer string
}

// shopper sends requests by chance, and notes those that are stored.
type shopper struct {
	t      *testing.T
	s      *harness.Store
	random *rand.Rand
	mu     *sync.Mutex
	stored *[]shopWrite
}

// send sends a request. It notes it where it was stored, with the answer's result, or "" for one without.
func (c *shopper) send(method, path, body string, apply func(result string) func(s *shop) string, headers ...string) {
	r, err := c.s.Do(method, path, []byte(body), append(headers, "Fanfold-Timeout", "60")...)
	if err != nil {
		c.t.Error(err)
		return
	}
	var out struct {
		Result     json.RawMessage
		Operations []struct{ Revision int }
	}
	at := 0
	switch {
	case r.Status == http.StatusOK:
		if err := json.Unmarshal(r.Body, &out); err != nil || len(out.Operations) == 0 {
			return // it wrote nothing
		}
		at = out.Operations[0].Revision
	case r.Status == http.StatusCreated || r.Status == http.StatusNoContent:
		if _, err := fmt.Sscan(r.Header.Get("Fanfold-Revision"), &at); err != nil {
			c.t.Errorf("%s %s: %v", method, path, err)
		}
	case r.Status == http.StatusTooManyRequests || r.Status == http.StatusNotFound || r.Status == http.StatusPreconditionFailed || strings.Contains(string(r.Body), "function-failed"):
		return
	default:
		c.t.Errorf("%s %s %s: %d %s", method, path, body, r.Status, r.Body)
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	*c.stored = append(*c.stored, shopWrite{at, method + " " + path + " " + body, apply(string(out.Result)), string(out.Result)})
}

// step sends one request.
func (c *shopper) step() {
	account, other, item := fmt.Sprint("a", c.random.IntN(3)), fmt.Sprint("a", c.random.IntN(3)), fmt.Sprint("i", c.random.IntN(4))
	kind := []string{"good", "fine", "bad"}[c.random.IntN(3)]
	cents := c.random.IntN(5)
	none := func(apply func(s *shop)) func(string) func(*shop) string {
		return func(string) func(*shop) string { return func(s *shop) string { apply(s); return "" } }
	}
	switch c.random.IntN(8) {
	case 0, 1:
		c.send("POST", "/v1/_functions/move", fmt.Sprintf(`{"from":%q,"to":%q,"cents":%d}`, account, other, cents), func(string) func(*shop) string {
			return func(s *shop) string {
				had := s.accounts[account]
				s.accounts[account] -= cents
				s.accounts[other] += cents
				return fmt.Sprint(had)
			}
		})
	case 2:
		c.send("POST", "/v1/_functions/make", fmt.Sprintf("%q", kind), func(result string) func(*shop) string {
			return func(s *shop) string {
				id, _, _ := strings.Cut(strings.TrimPrefix(result, `["`), `"`)
				s.put(id, "", kind, "")
				return fmt.Sprintf(`["%s",%d,"new"]`, id, s.last)
			}
		})
	case 3:
		c.send("POST", "/v1/_functions/sweep", "", func(string) func(*shop) string {
			return func(s *shop) string {
				ids := slices.SortedFunc(maps.Keys(s.items), func(a, b string) int { return cmp.Compare(s.items[a].N, s.items[b].N) })
				ids = slices.DeleteFunc(ids, func(id string) bool { return s.items[id].State != "new" })
				var numbers []string
				for _, id := range ids[:min(3, len(ids))] {
					numbers = append(numbers, fmt.Sprint(s.items[id].N))
					s.put(id, "patch", s.items[id].Kind, "swept")
				}
				return "[" + strings.Join(numbers, ",") + "]"
			}
		})
	case 4:
		c.send("PUT", "/v1/items/"+item, fmt.Sprintf(`{"kind":%q,"state":"own"}`, kind), none(func(s *shop) { s.put(item, "replace", kind, "own") }))
	case 5:
		c.send("DELETE", "/v1/items/"+item, "", none(func(s *shop) {
			delete(s.items, item)
			s.logs["delete "+item]++
		}))
	case 6:
		c.send("PATCH", "/v1/accounts/"+account+"?if=doc.cents+%3C+50", `[{"op":"increment","path":"/cents","value":3}]`, none(func(s *shop) { s.accounts[account] += 3 }), "Content-Type", "application/json-patch+json")
	default:
		body := fmt.Sprintf(`{"operations":[{"op":"put","collection":"items","id":%q,"body":{"kind":%q,"state":"tx"}},{"op":"patch","collection":"accounts","id":%q,"patch":[{"op":"increment","path":"/cents","value":1}]}]}`, item, kind, account)
		c.send("POST", "/v1/_transactions", body, none(func(s *shop) {
			s.put(item, "replace", kind, "tx")
			s.accounts[account]++
		}))
	}
}

// TestHistoriesOfFunctions: clients call and write beside each other, by chance. An oracle in Go makes the stored requests one by one, in the order of the log. Each answer
// and, in the end, each document is what that gives.
func TestHistoriesOfFunctions(t *testing.T) {
	suite.Concurrent(t)
	s := harness.OpenTemp(t, shopModel)
	oracle := &shop{accounts: map[string]int{}, items: map[string]shopItem{}, logs: map[string]int{}}
	for i := range 3 {
		id := fmt.Sprint("a", i)
		s.Put("accounts", id, `{"cents":20}`)
		oracle.accounts[id] = 20
	}
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	var mu sync.Mutex
	var stored []shopWrite
	var all sync.WaitGroup
	for i := range 8 {
		c := &shopper{t: t, s: s, random: rand.New(rand.NewPCG(seed, uint64(i))), mu: &mu, stored: &stored}
		all.Go(func() {
			for range suite.Amount(40, 1000) {
				c.step()
			}
		})
	}
	all.Wait()
	slices.SortFunc(stored, func(a, b shopWrite) int { return cmp.Compare(a.at, b.at) })
	for _, w := range stored {
		if want := w.apply(oracle); w.answer != want {
			t.Fatalf("event %d, %s: the answer is %s, and one by one it is %s", w.at, w.what, w.answer, want)
		}
	}
	compareShop(t, s, oracle)
	t.Logf("%d requests of %d were stored", len(stored), 8*suite.Amount(40, 1000))
}

// compareShop compares what the store shows with the oracle.
func compareShop(t *testing.T, s *harness.Store, want *shop) {
	t.Helper()
	got := &shop{accounts: map[string]int{}, items: map[string]shopItem{}, logs: map[string]int{}}
	each := func(collection string, take func(id string, doc []byte) error) {
		for cursor := ""; ; {
			var page struct {
				Items []json.RawMessage
				Next  string
			}
			if err := json.Unmarshal(s.Want(http.StatusOK, http.MethodGet, "/v1/"+collection+"?limit=1000"+cursor, "").Body, &page); err != nil {
				t.Fatal(err)
			}
			for _, doc := range page.Items {
				var key struct{ ID string }
				if err := json.Unmarshal(doc, &key); err != nil {
					t.Fatal(err)
				}
				if err := take(key.ID, doc); err != nil {
					t.Fatal(err)
				}
			}
			if page.Next == "" {
				return
			}
			cursor = "&cursor=" + page.Next
		}
	}
	each("accounts", func(id string, doc []byte) error {
		var a struct{ Cents int }
		err := json.Unmarshal(doc, &a)
		got.accounts[id] = a.Cents
		return err
	})
	each("items", func(id string, doc []byte) error {
		var item shopItem
		err := json.Unmarshal(doc, &item)
		got.items[id] = item
		return err
	})
	each("logs", func(_ string, doc []byte) error {
		var l struct{ Op, Item string }
		err := json.Unmarshal(doc, &l)
		got.logs[l.Op+" "+l.Item]++
		return err
	})
	if !maps.Equal(got.accounts, want.accounts) || !maps.Equal(got.items, want.items) || !maps.Equal(got.logs, want.logs) {
		t.Errorf("the store has\n%v\n%v\n%v\nwant\n%v\n%v\n%v", got.accounts, got.items, got.logs, want.accounts, want.items, want.logs)
	}
}
