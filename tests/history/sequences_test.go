package history_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/fanfold/fanfold/tests/harness"
	"github.com/fanfold/fanfold/tests/suite"
)

// numberedModel has orders with a number for each event and, perhaps, one for all of them. There are the events e0 and e1.
func numberedModel(serials bool) string {
	serial := ""
	if serials {
		serial = `, meta.serial: {}`
	}
	return `{collections: {events: {}, orders: {relations: {event: {path: event, to: events, strict: true}},
sequences: {number: {per: doc.event, start: 1000, format: "{per}-{n:6}"}` + serial + `}}}}`
}

// numberedOrder is an order as the oracle has it.
type numberedOrder struct {
	ID     string         `json:"id"`
	Event  string         `json:"event,omitempty"`
	Paid   int            `json:"paid"`
	Meta   map[string]int `json:"meta,omitempty"`
	Number string         `json:"number,omitempty"`
}

// numberedState has the orders, and the last numbers by event, with one for all orders under "". serials tells whether this one is given.
type numberedState struct {
	orders  map[string]numberedOrder
	last    map[string]int
	serials bool
}

func (s numberedState) clone() numberedState {
	return numberedState{maps.Clone(s.orders), maps.Clone(s.last), s.serials}
}

// put puts an order. It is false, and changes nothing, where that is refused.
func (s numberedState) put(o numberedOrder, create bool) bool {
	old, exists := s.orders[o.ID]
	switch {
	case create && exists, o.Event == "e2", !exists && (o.Event == "" || o.Number != ""):
		return false
	case exists && o.Number != "" && o.Number != old.Number, exists && old.Number != "" && o.Event != "" && o.Event != old.Event:
		return false
	case exists:
		if o.Number, o.Meta = old.Number, nil; s.serials {
			o.Meta = old.Meta
		}
	default:
		s.last[o.Event] = max(s.last[o.Event]+1, 1000)
		if o.Number = fmt.Sprintf("%s-%06d", o.Event, s.last[o.Event]); s.serials {
			s.last[""]++
			o.Meta = map[string]int{"serial": s.last[""]}
		}
	}
	s.orders[o.ID] = o
	return true
}

// restore puts a new order with the numbers that it comes with.
func (s numberedState) restore(o numberedOrder, number, serial int) {
	s.orders[o.ID] = o
	s.last[o.Event] = max(s.last[o.Event], number)
	if s.serials {
		s.last[""] = max(s.last[""], serial)
	}
}

// numberedHistory is one random run.
type numberedHistory struct {
	t       *testing.T
	s       *harness.Store
	rng     *rand.Rand
	state   numberedState
	made    int // ids
	refused int
}

// TestRandomSequences: random writes, transactions, imports and models give the numbers that an oracle counts: each once, none left out, in the
// order of the log. Between them the store is replayed, opened again, begins later, and is exported into another one.
func TestRandomSequences(t *testing.T) {
	suite.Concurrent(t)
	for seed := range suite.Amount(4, 40) {
		t.Run(strconv.Itoa(seed), func(t *testing.T) {
			h := &numberedHistory{t: t, rng: rand.New(rand.NewPCG(uint64(seed), 50)), state: numberedState{map[string]numberedOrder{}, map[string]int{}, true}}
			h.s = harness.Open(t, harness.Options{Dir: t.TempDir()})
			h.s.Model(numberedModel(true))
			h.s.Put("events", "e0", `{}`)
			h.s.Put("events", "e1", `{}`)
			for range 120 {
				h.step()
				h.check()
			}
			h.s.Verify()
			h.s.Close()
			if h.refused == 0 {
				t.Error("nothing was refused")
			}
		})
	}
}

// step makes one random step.
func (h *numberedHistory) step() {
	switch k := h.rng.IntN(40); {
	case k == 0:
		h.s.Replay()
	case k == 1:
		h.s = h.s.Reopen()
	case k == 2:
		seq, err := h.s.Node.Log.LastSeq(h.t.Context())
		if err != nil {
			h.t.Fatal(err)
		}
		h.s.Compact(seq)
	case k == 3:
		h.move()
	case k == 4:
		h.state.serials = !h.state.serials
		h.s.Want(http.StatusOK, http.MethodPut, "/v1/_model?allowRemoval=true", numberedModel(h.state.serials), "Content-Type", "application/yaml")
	case k < 9:
		h.transaction()
	case k < 13:
		h.lines()
	case k < 16:
		h.restored()
	case k < 18:
		h.burst()
	case k < 24:
		h.edit()
	default:
		o, headers := h.order(), []string{}
		create := h.rng.IntN(3) == 0
		if create {
			headers = []string{"If-None-Match", "*"}
		}
		after := h.state.clone()
		h.decided(http.MethodPut, "/v1/orders/"+o.ID, text(o), after, after.put(o, create), headers...)
	}
}

// text returns an order as JSON.
func text(o numberedOrder) string {
	b, _ := json.Marshal(o) // it has texts and numbers
	return string(b)
}

// order returns a random order to be put. Some are there already, and some are refused.
func (h *numberedHistory) order() numberedOrder {
	o := numberedOrder{ID: fmt.Sprint("o", h.rng.IntN(8)), Event: []string{"e0", "e1", "e0", "e1", "e2", ""}[h.rng.IntN(6)], Paid: h.rng.IntN(100)}
	if old, exists := h.state.orders[o.ID]; exists && h.rng.IntN(2) == 0 {
		o.Event = old.Event
	}
	if h.rng.IntN(8) == 0 {
		o.Number = "e0-001001"
	}
	return o
}

// decided sends a request, compares the answer with what the oracle says, and goes on from the state after it.
func (h *numberedHistory) decided(method, path, body string, after numberedState, allowed bool, headers ...string) {
	h.t.Helper()
	r, err := h.s.Do(method, path, []byte(body), headers...)
	if err != nil || r.Status < 300 != allowed || r.Status >= 500 {
		h.t.Fatalf("%s %s %s: %v, %d %s; by the oracle it is allowed: %t", method, path, body, err, r.Status, r.Body, allowed)
	}
	if allowed {
		h.state = after
	} else {
		h.refused++
	}
}

// edit patches or deletes an order.
func (h *numberedHistory) edit() {
	id := fmt.Sprint("o", h.rng.IntN(8))
	after := h.state.clone()
	o, exists := after.orders[id]
	switch h.rng.IntN(3) {
	case 0:
		delete(after.orders, id)
		h.decided(http.MethodDelete, "/v1/orders/"+id, "", after, exists)
	case 1:
		o.Paid = h.rng.IntN(100) + 100
		if exists {
			after.orders[id] = o
		}
		h.decided(http.MethodPatch, "/v1/orders/"+id, fmt.Sprintf(`{"paid":%d}`, o.Paid), after, exists, "Content-Type", "application/merge-patch+json")
	default:
		h.decided(http.MethodPatch, "/v1/orders/"+id, `[{"op":"add","path":"/number","value":"e0-001000"}]`, after, false, "Content-Type", "application/json-patch+json")
	}
}

// transaction puts several orders at once, or none.
func (h *numberedHistory) transaction() {
	after, allowed, used := h.state.clone(), true, map[string]bool{}
	var ops []string
	for range 1 + h.rng.IntN(4) {
		o := h.order()
		if used[o.ID] || o.Event == "e2" && h.rng.IntN(3) > 0 {
			continue
		}
		used[o.ID] = true
		ops = append(ops, fmt.Sprintf(`{"op":"put","collection":"orders","id":%q,"body":%s}`, o.ID, text(o)))
		allowed = allowed && after.put(o, false)
	}
	if len(ops) > 0 {
		h.decided(http.MethodPost, "/v1/_transactions", `{"operations":[`+strings.Join(ops, ",")+`]}`, after, allowed)
	}
}

// lines imports orders, each judged by those before it.
func (h *numberedHistory) lines() {
	var lines strings.Builder
	written := 0
	for range 1 + h.rng.IntN(8) {
		o := h.order()
		lines.WriteString(text(o) + "\n")
		if h.state.put(o, false) {
			written++
		} else {
			h.refused++
		}
	}
	h.load(h.s, "?collection=orders", lines.String(), fmt.Sprintf(`"written":%d}`, written))
}

// restored imports new orders with numbers after the last ones, and raises a counter, perhaps to less than it has.
func (h *numberedHistory) restored() {
	var lines strings.Builder
	orders := h.rng.IntN(3)
	for range orders {
		h.made++
		o := numberedOrder{ID: fmt.Sprint("r", h.made), Event: fmt.Sprint("e", h.rng.IntN(2))}
		number, serial := max(h.state.last[o.Event], 999)+1+h.rng.IntN(3), h.state.last[""]+1+h.rng.IntN(3)
		if o.Number = fmt.Sprintf("%s-%06d", o.Event, number); h.state.serials {
			o.Meta = map[string]int{"serial": serial}
		}
		h.state.restore(o, number, serial)
		lines.WriteString(`{"collection":"orders","doc":` + text(o) + "}\n")
	}
	event := fmt.Sprint("e", h.rng.IntN(2))
	to := max(h.state.last[event]+h.rng.IntN(5)-2, 1000)
	counter := fmt.Sprintf(`{"collection":"orders","path":"number","per":%q,"last":%d}`, event, to)
	h.load(h.s, "?restore=true", lines.String()+counter, fmt.Sprintf(`"refused":0,"written":%d}`, orders))
	h.state.last[event] = max(h.state.last[event], to)
	h.load(h.s, "", counter, `"refused":1,"written":0}`)
}

// load imports lines, and requires a text in the answer.
func (h *numberedHistory) load(s *harness.Store, query, lines, want string) {
	h.t.Helper()
	if r := s.Want(http.StatusOK, http.MethodPost, "/v1/_import"+query, lines, "Content-Type", "application/x-ndjson"); !strings.Contains(string(r.Body), want) {
		h.t.Fatalf("import%s of\n%s: %s\nwant %s", query, lines, r.Body, want)
	}
}

// burst creates orders at once; some are refused. The order of the log says which numbers they have.
func (h *numberedHistory) burst() {
	since := h.s.Put("events", "e0", fmt.Sprintf(`{"n":%d}`, h.rng.IntN(1000000))).Header.Get("Fanfold-Position")
	sent := map[string]numberedOrder{}
	var all sync.WaitGroup
	for i := range 8 {
		h.made++
		o := numberedOrder{ID: fmt.Sprint("b", h.made), Event: fmt.Sprint("e", i%3)}
		sent[o.ID] = o
		all.Go(func() {
			if r, err := h.s.Do(http.MethodPut, "/v1/orders/"+o.ID, []byte(text(o))); err != nil || r.Status < 300 != (o.Event != "e2") {
				h.t.Errorf("%+v: %v, %v", o, r, err)
			}
		})
	}
	all.Wait()
	h.s.CatchUp()
	rows, _ := h.s.Changes("since=" + since + "&collections=orders&limit=100")
	for _, row := range rows {
		h.state.put(sent[row.ID], true)
	}
	if len(rows) != 6 {
		h.t.Fatalf("%d orders were created, want 6", len(rows))
	}
}

// move exports the store into another one, and goes on there.
func (h *numberedHistory) move() {
	export := string(h.s.Want(http.StatusOK, http.MethodGet, "/v1/_export", "").Body)
	into := harness.Open(h.t, harness.Options{Dir: h.t.TempDir()})
	h.load(into, "?restore=true", export, `"refused":0`)
	h.s.Verify()
	h.s.Close()
	h.s = into
}

// check compares every order and every last number with the oracle's.
func (h *numberedHistory) check() {
	h.t.Helper()
	orders, last := map[string]numberedOrder{}, []string{}
	for line := range strings.Lines(string(h.s.Want(http.StatusOK, http.MethodGet, "/v1/_export?collections=orders", "").Body)) {
		var l struct {
			Collection, Path, Key string
			Last                  int
			Doc                   *numberedOrder
		}
		d := json.NewDecoder(strings.NewReader(line))
		d.DisallowUnknownFields()
		switch err := d.Decode(&l); {
		case err != nil:
			h.t.Fatalf("%s: %v", line, err)
		case l.Doc != nil:
			orders[l.Doc.ID] = *l.Doc
		default:
			last = append(last, fmt.Sprint(l.Path, " ", l.Last))
		}
	}
	want := []string{}
	for event, n := range h.state.last {
		path := "number"
		if event == "" {
			path = "meta.serial"
		}
		want = append(want, fmt.Sprint(path, " ", n))
	}
	if slices.Sort(last); !slices.Equal(last, slices.Sorted(slices.Values(want))) {
		h.t.Fatalf("the last numbers are %v, want %v", last, want)
	}
	for id, o := range h.state.orders {
		if is := orders[id]; text(is) != text(o) {
			h.t.Fatalf("order %s is %+v, want %+v", id, is, o)
		}
	}
	if len(orders) != len(h.state.orders) {
		h.t.Fatalf("%d orders are there, want %d", len(orders), len(h.state.orders))
	}
}
