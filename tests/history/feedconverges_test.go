package history_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/access"
	"github.com/fanfold/fanfold/node"
	"github.com/fanfold/fanfold/tests/harness"
	"github.com/fanfold/fanfold/tests/jsonvalue"
	"github.com/fanfold/fanfold/tests/suite"
)

// feedFilter is a filter with what it says of a document, for the oracle. A filter that cannot be evaluated matches nothing.
type feedFilter struct {
	text    string
	matches func(doc *jsonvalue.Value) bool
}

// textOf returns a member that is a text, "" otherwise.
func memberText(doc *jsonvalue.Value, name string) string {
	if v := doc.Get(name); v != nil {
		return strings.Trim(v.String(), `"`)
	}
	return ""
}

var feedFilters = []feedFilter{
	{`doc.project == "1"`, func(d *jsonvalue.Value) bool { return memberText(d, "project") == "1" }},
	{`doc.projectName == "A"`, func(d *jsonvalue.Value) bool { return memberText(d, "projectName") == "A" }},
	{`doc.n > 1`, func(d *jsonvalue.Value) bool { n := memberText(d, "n"); return n > "1" && n <= "9" }},
	{`doc.v > 1`, func(d *jsonvalue.Value) bool {
		v := d.Get("v")
		return v != nil && v.String() > "1" && v.String() <= "9" // a text is in quotes, and no number
	}},
	{`doc.v != "x" && change.collection == "tickets"`, func(d *jsonvalue.Value) bool {
		return d.Get("v") != nil && d.Get("ticket") == nil && memberText(d, "v") != "x"
	}},
}

// convergeModel has, besides, notes that go with their ticket, and lose projects that go.
var convergeModel = strings.TrimSuffix(strings.NewReplacer("tickets: {", "tickets: {access: {read: [everyone]}, ", "doc.name}", "doc.name, publish: true}").Replace(harness.LeaveModel), "}") + `, notes: {access: {read: [others], write: [everyone]}, relations: {ticket: {path: ticket, to: tickets, onDelete: cascade}, projects: {path: "projects[]", to: projects, onDelete: unlink}}}}`

// halfReads are the collections of convergeModel that half of the followers read: all who have no key.
var halfReads = []string{"notes", "tickets"}

// converging is a history with those who follow it.
type converging struct {
	t         *rapid.T
	s         *harness.Store  // as an administrator
	half      *harness.Client // of whoever has no key
	followers []*filtered
	oldest    fanfold.Position             // that is kept
	gone      map[string][]json.RawMessage // by view, the rows of the feed up to it
}

// open takes in the store after its start.
func (h *converging) open(s *harness.Store, key string) {
	h.s, h.half = s, harness.NewClient(h.t, s.URL)
	s.HTTP.Transport = keyed{s.HTTP.Transport.(*http.Transport), key}
}

// keyed sends a key with each request.
type keyed struct {
	*http.Transport
	key string
}

// RoundTrip implements http.RoundTripper.
func (k keyed) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+k.key)
	return k.Transport.RoundTrip(r)
}

// filtered is a follower with a filter. It reads the feed, or the partitions of a consumer group.
type filtered struct {
	h          *converging
	filter     feedFilter
	mode       string
	referenced bool
	direct     bool
	bare       bool // without cascades
	partition  string
	half       bool   // it has no key
	answered   string // the position of the last page
	group      string // "" for none
	since      string
	has        map[okey]string
}

// TestFilteredFeedsConverge: followers read the feed of any history with a filter, in pages of any length, from positions anywhere, and
// over restarts. They have exactly the documents that match, as they are. Of a document that never matched nobody is told anything. A
// reader of half of the collections has what the others have of those, and nothing else.
func TestFilteredFeedsConverge(t *testing.T) {
	suite.Parallel(t)
	checks := suite.Amount(18, 120) / lanes
	if testing.Short() {
		checks = 1
	}
	checkInLanes(t, checks, suite.ShareFeeds, "filtered feeds", func(t *rapid.T) {
		dir, err := os.MkdirTemp("", "fanfold")
		if err != nil {
			t.Fatal(err)
		}
		defer func() {
			if err := os.RemoveAll(dir); err != nil {
				t.Fatal(err)
			}
		}()
		key := access.NewKey().Text()
		keyFile := filepath.Join(dir, "key")
		if err := os.WriteFile(keyFile, []byte(key), 0o600); err != nil {
			t.Fatal(err)
		}
		h := &converging{t: t}
		h.open(harness.Open(t, harness.Options{Dir: filepath.Join(dir, "data"), Configure: func(cfg *node.Config) {
			cfg.AdminKeyFile, cfg.Anonymous = keyFile, true
		}}), key)
		defer func() {
			h.half.HTTP.CloseIdleConnections()
			h.s.Close()
		}()
		h.s.Model(convergeModel)
		for range 4 {
			h.newFollower()
		}
		for range 10 + upTo(t, 40) {
			if h.step(); chance(t, 30) {
				draw(t, h.followers...).read()
			}
		}
		for range 2 { // what is parked comes again at last
			for _, f := range h.followers {
				f.readOn(true)
			}
		}
		h.check()
		h.checkHalf()
	})
}

// newFollower adds a follower, who begins at the beginning.
func (h *converging) newFollower() {
	f := &filtered{h: h, filter: draw(h.t, feedFilters...), mode: draw(h.t, "all", "latest"), referenced: chance(h.t, 40), direct: chance(h.t, 25), bare: chance(h.t, 20), half: chance(h.t, 50), since: "0", has: map[okey]string{}}
	if chance(h.t, 30) {
		f.partition = draw(h.t, "0/2", "1/2")
	}
	if f.partition == "" && chance(h.t, 40) {
		f.group = fmt.Sprint("g", len(h.followers))
		settings, _ := json.Marshal(map[string]any{"partitions": 1, "mode": f.mode, "filter": f.filter.text, "view": f.view(), "derived": included(f.direct), "cascades": included(f.bare), "maxAttempts": 1, "role": f.role()})
		h.s.Want(http.StatusCreated, "PUT", "/v1/_groups/"+f.group, string(settings))
	}
	h.followers = append(h.followers, f)
}

// role is the role of a group that has the follower as a member.
func (f *filtered) role() string {
	if f.half {
		return "everyone"
	}
	return "admin"
}

// client sends the requests of the follower.
func (f *filtered) client() *harness.Client {
	if f.half {
		return f.h.half
	}
	return f.h.s.Client
}

func (f *filtered) view() string {
	if f.referenced {
		return "referenced"
	}
	return "embedded"
}

// included says whether changes of some kind are left out.
func included(without bool) string {
	if without {
		return "exclude"
	}
	return "include"
}

// step changes something, or starts the store anew.
func (h *converging) step() {
	id := draw(h.t, "1", "2", "3")
	switch n := upTo(h.t, 99); {
	case n < 25:
		h.s.Put("projects", id, fmt.Sprintf(`{"name":%q}`, draw(h.t, "A", "A", "B")))
	case n < 40:
		h.s.Put("notes", id, fmt.Sprintf(`{"ticket":%q,"project":"1","projects":["2","3"],"v":%s}`, draw(h.t, "1", "2"), draw(h.t, "0", "2")))
	case n < 65:
		h.s.Put("tickets", id, fmt.Sprintf(`{"project":%q,"v":%s}`, draw(h.t, "1", "1", "2"), draw(h.t, "0", "2", `"x"`)))
	case n < 80:
		h.delete("tickets", id)
	case n < 86:
		h.delete("projects", id)
	case n < 95:
		var ops []string
		for _, i := range rapid.Permutation([]int{1, 2, 3, 4, 5}).Draw(h.t, "order") {
			op := fmt.Sprintf(`{"op":"put","collection":"tickets","id":"%d","body":{"project":%q}}`, i, draw(h.t, "1", "2"))
			if i > 3 { // tickets that are written, too, get another name in the midst of it
				op = fmt.Sprintf(`{"op":"put","collection":"projects","id":"%d","body":{"name":%q}}`, i-3, draw(h.t, "A", "B"))
			}
			ops = append(ops, op)
		}
		ops = ops[:2+upTo(h.t, 3)]
		h.s.Want(http.StatusOK, "POST", "/v1/_transactions", `{"operations":[`+strings.Join(ops, ",")+`]}`)
	case n < 97:
		key := h.s.HTTP.Transport.(keyed).key
		h.half.HTTP.CloseIdleConnections()
		h.open(h.s.Otherwise(), key)
		h.s.CatchUp()
	case n < 98:
		h.s.Replay()
	default:
		h.compact()
	}
}

// compact lets the history begin later, where no follower needs what is before.
func (h *converging) compact() {
	h.t.Helper()
	const none = 1 << 40
	before := uint64(none)
	for _, f := range h.followers {
		if f.group == "" {
			before = min(before, max(1, harness.SeqOf(f.since))-1) // others changes of the event may be to come
		}
	}
	texts := map[string][]json.RawMessage{}
	for _, view := range []string{"embedded", "referenced"} {
		texts[view] = h.feedTexts(view)
		if n := len(texts[view]); n > 0 {
			before = min(before, positionOf(h.t, texts[view][n-1]).Seq())
		}
	}
	if before <= h.oldest.Seq() || before == none { // or nothing was written yet, and only groups follow
		return
	}
	r, err := h.s.Do("POST", "/v1/_compact", fmt.Appendf(nil, `{"before":"%d"}`, before), "Content-Type", "application/json")
	switch {
	case err != nil:
		h.t.Fatal(err)
	case r.Status == http.StatusConflict && (strings.Contains(string(r.Body), "group") || strings.Contains(string(r.Body), "choose a later position")), r.Status == http.StatusOK:
		return
	case r.Status != http.StatusAccepted:
		h.t.Fatalf("compact: %d %s", r.Status, r.Body)
	}
	h.oldest, h.gone = h.s.Compacted(), map[string][]json.RawMessage{}
	for view, all := range texts {
		for _, text := range all {
			if positionOf(h.t, text) <= h.oldest {
				h.gone[view] = append(h.gone[view], text)
			}
		}
	}
}

// feedTexts returns all rows of the feed, also those that are no longer kept.
func (h *converging) feedTexts(view string) []json.RawMessage {
	h.t.Helper()
	return feedTexts(h.t, served{h.t, h.s}.feed, h.gone[view], h.oldest, view)
}

// delete deletes a document that may not be there.
func (h *converging) delete(collection, id string) {
	if r, err := h.s.Do("DELETE", harness.Path(collection, id), nil); err != nil || r.Status != http.StatusNoContent && r.Status != http.StatusNotFound {
		h.t.Fatalf("%v %+v", err, r)
	}
}

// read reads some of what there is.
func (f *filtered) read() { f.readOn(false) }

// readOn reads some pages, or all that there is.
func (f *filtered) readOn(all bool) {
	f.answered = ""
	if f.group != "" {
		f.readGroup(all)
		return
	}
	query := fmt.Sprintf("mode=%s&include_docs=true&view=%s&derived=%s&cascades=%s&filter=%s", f.mode, f.view(), included(f.direct), included(f.bare), url.QueryEscape(f.filter.text))
	if f.partition != "" {
		query += "&partition=" + f.partition
	}
	for {
		rows, last, more := f.page("/v1/_changes?" + query + f.limit() + "&since=" + f.since)
		if !all && len(rows) > 0 && chance(f.h.t, 30) { // it is interrupted after some row
			rows = rows[:1+upTo(f.h.t, len(rows)-1)]
			last, more = rows[len(rows)-1].Seq, false
		}
		if f.apply(rows); all || f.since == "0" || chance(f.h.t, 80) { // or it has not saved where it is
			f.since = last
		}
		if !more || !all && chance(f.h.t, 30) {
			return
		}
	}
}

// limit is mostly a small one.
func (f *filtered) limit() string {
	if chance(f.h.t, 20) {
		return ""
	}
	return fmt.Sprint("&limit=", 1+upTo(f.h.t, 4))
}

// page reads a page, and whether there are more after it.
func (f *filtered) page(path string) (rows []harness.Change, last string, more bool) {
	var page struct {
		Results []harness.Change
		LastSeq string `json:"last_seq"`
		Pending *int
	}
	r := f.client().Want(http.StatusOK, "GET", path, "")
	if err := json.Unmarshal(r.Body, &page); err != nil {
		f.h.t.Fatalf("%v in %s", err, r.Body)
	}
	more = page.Pending == nil || *page.Pending > 0
	if f.half { // which is not told how many changes there are
		more = page.LastSeq != f.answered
		f.answered = page.LastSeq
	}
	return page.Results, page.LastSeq, more
}

// readGroup reads what a lease gives. Some batches are handled and not acknowledged, some fail and are parked.
func (f *filtered) readGroup(all bool) {
	base := "/v1/_groups/" + f.group
	var parked struct{ Parked []struct{ ID string } }
	if err := json.Unmarshal(f.client().Want(http.StatusOK, "GET", base+"/_parked", "").Body, &parked); err != nil {
		f.h.t.Fatal(err)
	}
	for _, p := range parked.Parked {
		if all || chance(f.h.t, 50) {
			f.h.s.Want(http.StatusNoContent, "POST", base+"/_parked/"+p.ID+"/_retry", "{}")
		}
	}
	var leases struct{ Leases []harness.GroupLease }
	if err := json.Unmarshal(f.client().Want(http.StatusOK, "POST", base+"/_lease", `{"member":"m"}`).Body, &leases); err != nil || len(leases.Leases) != 1 {
		f.h.t.Fatalf("%v, leases %+v", err, leases)
	}
	held := leases.Leases[0]
	for {
		rows, last, more := f.page(fmt.Sprintf("%s/_changes?partition=0&token=%s&include_docs=true%s", base, held.Token, f.limit()))
		how, body := "_ack", harness.BatchOf(held, last, "")
		switch handled := all || chance(f.h.t, 70); {
		case handled:
			f.apply(rows)
		case chance(f.h.t, 60) && f.mode == "latest": // with all changes, parking departs from the order
			how, body = "_nack", harness.BatchOf(held, last, `,"error":"it broke"`)
		default:
			return // the member is gone before it has handled them
		}
		if !all && chance(f.h.t, 20) {
			return // or before it has said so
		}
		f.client().Want(http.StatusNoContent, "POST", base+"/"+how, body)
		if !more || !all && chance(f.h.t, 50) { // parked batches come first, and nobody knows what follows them
			return
		}
	}
}

// apply takes rows in.
func (f *filtered) apply(rows []harness.Change) {
	for _, row := range rows {
		key := okey{row.Collection, row.ID}
		switch row.Op {
		case "leave", "delete":
			if row.Op == "leave" && (row.Doc != nil || row.Previous != nil || row.Patch != nil) {
				f.h.t.Fatalf("it leaves with %+v", row)
			}
			delete(f.has, key)
		default:
			f.has[key] = string(row.Doc)[:max(0, strings.LastIndex(string(row.Doc), `,"_meta":`))] + "}"
		}
	}
}

// check compares what each follower has with what the feed of all changes says.
func (h *converging) check() {
	for _, f := range h.followers {
		var rows []harness.Change
		for _, text := range h.feedTexts(f.view()) {
			var row harness.Change
			if err := json.Unmarshal(text, &row); err != nil {
				h.t.Fatal(err)
			}
			rows = append(rows, row)
		}
		want, now, ever, untold := map[okey]string{}, map[okey]string{}, map[okey]bool{}, map[okey]bool{}
		for _, row := range rows {
			key := okey{row.Collection, row.ID}
			now[key] = string(row.Doc)[:max(0, strings.LastIndex(string(row.Doc), `,"_meta":`))] + "}"
			if f.direct && row.Op == "derive" {
				continue
			}
			if f.half && !slices.Contains(halfReads, row.Collection) {
				continue
			}
			if f.bare && row.Op != "derive" && row.Cause != nil {
				untold[key] = untold[key] || row.Op == "delete"
				continue
			}
			delete(want, key)
			if row.Op != "delete" && f.filter.matches(jsonvalue.Parse(now[key])) {
				want[key], ever[key] = now[key], true
			}
		}
		if i, n, _ := strings.Cut(f.partition, "/"); n != "" {
			maps.DeleteFunc(want, func(key okey, _ string) bool {
				return fmt.Sprint(fanfold.Key{Collection: key.collection, ID: key.id}.Partition(2)) != i
			})
		}
		if (f.direct || f.bare) && f.mode == "latest" { // the document comes as it was when it was read
			for key := range want {
				want[key] = f.has[key]
			}
		}
		for key := range untold { // nobody told that it is gone
			delete(want, key)
			delete(f.has, key)
		}
		if !maps.Equal(f.has, want) {
			h.t.Fatalf("%s, %+v: has\n%v, want\n%v", cmp.Or(f.group, "a follower"), *f, f.has, want)
		}
		f.checkUnseen(ever)
	}
}

// checkUnseen reads everything again, and is told of no document that never matched.
func (f *filtered) checkUnseen(ever map[okey]bool) {
	if f.direct && f.h.oldest > 0 { // such a feed takes the document at the horizon for what a consumer held, derived members included
		return
	}
	rows, _ := f.client().Changes(fmt.Sprintf("mode=%s&view=%s&derived=%s&cascades=%s&since=%s&filter=%s", f.mode, f.view(), included(f.direct), included(f.bare), max(f.h.oldest, fanfold.At(1, 0)), url.QueryEscape(f.filter.text)))
	for _, row := range rows {
		if !ever[okey{row.Collection, row.ID}] {
			f.h.t.Fatalf("%+v is told %+v of a document that never matched", *f, row)
		}
	}
}

// checkHalf compares each feed of a reader of half of the collections with an administrator's.
func (h *converging) checkHalf() {
	for _, f := range h.followers {
		query := fmt.Sprintf("mode=%s&include_docs=true&view=%s&derived=%s&cascades=%s&since=%s", f.mode, f.view(), included(f.direct), included(f.bare), h.oldest)
		if chance(h.t, 50) {
			query += "&filter=" + url.QueryEscape(f.filter.text)
		}
		if chance(h.t, 50) {
			query += "&partition=" + draw(h.t, "0/2", "1/2")
		}
		all, end := h.s.Changes(query)
		got, last := h.half.Changes(query)
		var want []harness.Change
		for _, row := range all {
			if !slices.Contains(halfReads, row.Collection) {
				continue
			}
			if row.Cause != nil && !slices.Contains(halfReads, row.Cause.Collection) {
				row.Cause.Collection, row.Cause.ID = "", ""
			}
			want = append(want, row)
		}
		if last != end || len(got) != len(want) || len(want) > 0 && !reflect.DeepEqual(got, want) {
			h.t.Fatalf("%s: who reads half is told\n%+v, up to %s, want\n%+v, up to %s", query, got, last, want, end)
		}
	}
}
