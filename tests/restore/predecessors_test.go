package restore_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/client"
	"github.com/fanfold/fanfold/tests/harness"
)

// lostStore is a store whose backup was restored, without its last write.
type lostStore struct {
	*harness.Store // that was restored
	dir            string
	id             fanfold.StoreID // of the store before
	end            uint64          // the last event that was restored
	kept, lost     *harness.Response
	cursor         string // of a list of a state that was restored, that the store before gave
	versions       string // of a document's versions
}

// loseWrites makes a store with documents, backs it up, writes one document more, d, and restores the backup. There d is written, too, by
// another write that has the same revision.
func loseWrites(t *testing.T) *lostStore {
	t.Helper()
	before := open(t, harness.Options{Dir: t.TempDir()})
	before.Model("collections:\n  docs: {}\n")
	for i := range 3 {
		before.Put("docs", fmt.Sprint(i), `{"x":1}`)
	}
	out := new(lostStore)
	out.kept = before.Put("docs", "0", `{"x":2}`)
	before.Want(http.StatusCreated, "PUT", "/v1/_groups/behind", `{"partitions":1,"lease":"1h"}`)
	before.Want(http.StatusCreated, "PUT", "/v1/_groups/ahead", `{"partitions":1,"lease":"1h"}`)
	page := func(path string) string {
		var list struct{ Next string }
		harness.Decode(t, before.Want(http.StatusOK, "GET", path, "").Body, &list)
		return list.Next
	}
	kept := out.kept.Header.Get("Fanfold-Position")
	out.cursor, out.versions = page("/v1/docs?limit=1&at="+kept), page("/v1/docs/0/_history?limit=1&order=asc")
	lease := harness.Lease(t, before.Client, "behind", "m")[0]
	ids, last := harness.GroupChanges(t, before.Client, "behind", lease, "&limit=2")
	if len(ids) != 2 {
		t.Fatalf("the group has %q", ids)
	}
	harness.Settle(before.Client, http.StatusNoContent, "_ack", "behind", lease, last)
	out.dir = harness.BackUp(t, before)
	out.lost = before.Put("docs", "d", `{"x":"lost"}`)
	data, r := restore(t, out.dir, "")
	out.Store, out.id, out.end = open(t, harness.Options{Dir: data}), before.Node.Log.Store(), r.Last
	return out
}

// writeAnew writes d, with the revision that the lost write had.
func (s *lostStore) writeAnew(t *testing.T) (anew *harness.Response) {
	t.Helper()
	anew = s.Put("docs", "d", `{"x":"new"}`)
	if a, b := anew.Header.Get("Fanfold-Revision"), s.lost.Header.Get("Fanfold-Revision"); a != b {
		t.Fatalf("the write has revision %s, and the lost one had %s", a, b)
	}
	return anew
}

// TestLostETag makes a write that gets the revision of a lost one. No tag of the lost one is taken for its, whatever its form.
func TestLostETag(t *testing.T) {
	s := loseWrites(t)
	tag, revision := s.lost.Header.Get("ETag"), s.lost.Header.Get("Fanfold-Revision")
	anew := s.writeAnew(t)
	if anew.Header.Get("ETag") == tag {
		t.Fatalf("both writes have the ETag %s", tag)
	}
	position := s.lost.Header.Get("Fanfold-Position")
	for _, stale := range []string{tag, `"` + revision + `"`, "W/" + tag, `"` + revision + "." + position + `"`, `"` + revision + "." + harness.Bare(position) + `"`} {
		if !strings.HasPrefix(stale, "W/") { // which If-Match takes as it is, and compares the revision
			s.Want(http.StatusPreconditionFailed, "PUT", "/v1/docs/d", `{}`, "If-Match", stale)
		}
		s.Want(http.StatusPreconditionFailed, "PATCH", "/v1/docs/d", `{}`, "If-Match", stale, "Content-Type", "application/merge-patch+json")
		s.Want(http.StatusPreconditionFailed, "DELETE", "/v1/docs/d", "", "If-Match", stale)
		s.Want(http.StatusOK, "GET", "/v1/docs/d", "", "If-None-Match", stale)
		s.Want(http.StatusPreconditionFailed, "POST", "/v1/_transactions", fmt.Sprintf(`{"operations":[{"op":"put","collection":"docs","id":"d","body":{},"ifMatch":%q}]}`, stale))
	}
	s.Want(http.StatusPreconditionFailed, "POST", "/v1/_transactions", `{"operations":[{"op":"check","collection":"docs","id":"d","ifMatch":`+revision+`}]}`)
	if r := s.Want(http.StatusPreconditionFailed, "PUT", "/v1/docs/d", `{}`, "If-Match", `"`+revision+`"`); !strings.Contains(string(r.Body), "that of a restored store is whole") {
		t.Errorf("the revision alone is refused with %s, which does not say what to send", r.Body)
	}
	own := anew.Header.Get("ETag")
	s.Want(http.StatusNotModified, "GET", "/v1/docs/d", "", "If-None-Match", own)
	s.Want(http.StatusNoContent, "PUT", "/v1/docs/d", `{"x":"newer"}`, "If-Match", own)
	kept := s.kept.Header.Get("ETag")
	s.Want(http.StatusNotModified, "GET", "/v1/docs/0", "", "If-None-Match", kept)
	s.Want(http.StatusNoContent, "PUT", "/v1/docs/0", `{"x":3}`, "If-Match", kept)
}

// TestLostModelETag does so for a model.
func TestLostModelETag(t *testing.T) {
	before := open(t, harness.Options{Dir: t.TempDir()})
	before.Model("collections:\n  docs: {}\n")
	dir := harness.BackUp(t, before)
	kept := harness.Tag(before, "/v1/_model")
	lost := before.Model("collections:\n  docs: {}\n  lost: {}\n").Header.Get("ETag")
	data, _ := restore(t, dir, "")
	s := open(t, harness.Options{Dir: data})
	if tag := harness.Tag(s, "/v1/_model"); tag != kept {
		t.Fatalf("the model that was restored has the ETag %s, and had %s", tag, kept)
	}
	anew := s.Model("collections:\n  docs: {}\n  new: {}\n").Header.Get("ETag")
	if anew == lost || lost == "" {
		t.Fatalf("both models have the ETag %s", lost)
	}
	const next = `{"collections":{"docs":{}}}`
	s.Want(http.StatusPreconditionFailed, "PUT", "/v1/_model", next, "Content-Type", "application/json", "If-Match", lost)
	s.Want(http.StatusOK, "GET", "/v1/_model", "", "If-None-Match", lost)
	s.Want(http.StatusOK, "PUT", "/v1/_model", next, "Content-Type", "application/json", "If-Match", anew)
}

// TestPositionsOfPredecessors asks with positions of the store before, in every place that takes one.
func TestPositionsOfPredecessors(t *testing.T) {
	s := loseWrites(t)
	anew := s.writeAnew(t)
	kept, lost := s.kept.Header.Get("Fanfold-Position"), s.lost.Header.Get("Fanfold-Position")
	end := fanfold.Issuer{Store: s.Node.Log.Store()}.Mark(fanfold.EndOf(s.end)).String()
	at := func(format string) (good, bad string) {
		return strings.ReplaceAll(format, "POSITION", kept), strings.ReplaceAll(format, "POSITION", lost)
	}
	requireLost := func(r *harness.Response) {
		t.Helper()
		var p struct {
			Type   string
			Oldest string
		}
		harness.Decode(t, r.Body, &p)
		if r.Status != http.StatusGone || p.Type != "urn:fanfold:problem:store-changed" || !strings.HasPrefix(p.Oldest, end) {
			t.Fatalf("a lost position is answered by %d %s, want one that names %s", r.Status, r.Body, end)
		}
		if rows, _ := s.Changes("since=" + p.Oldest); len(rows) != 1 || rows[0].Seq != harness.Bare(anew.Header.Get("Fanfold-Position")) && !strings.HasPrefix(rows[0].Seq, harness.Bare(anew.Header.Get("Fanfold-Position"))) {
			t.Fatalf("behind %s there is %+v", p.Oldest, rows)
		}
	}
	for _, format := range []string{"/v1/_changes?since=POSITION", "/v1/_changes?since=POSITION&feed=longpoll", "/v1/_changes?since=POSITION&feed=continuous&timeout=1", "/v1/_changes?since=POSITION&feed=eventsource&timeout=1",
		"/v1/docs/0?at=POSITION", "/v1/docs?at=POSITION", "/v1/_export?at=POSITION", "/v1/_backup?after=POSITION", "/v1/docs/0/_history?from=POSITION", "/v1/docs/0/_history?to=POSITION", "/v1/_diff?from=POSITION"} {
		good, bad := at(format)
		s.Want(http.StatusOK, "GET", good, "")
		r, err := s.Do("GET", bad, nil)
		if err != nil {
			t.Fatal(err)
		}
		requireLost(r)
	}
	s.Want(http.StatusOK, "GET", "/v1/docs/0", "", "Fanfold-Min-Position", kept)
	r, err := s.Do("GET", "/v1/docs/0", nil, "Fanfold-Min-Position", lost)
	if err != nil {
		t.Fatal(err)
	}
	requireLost(r)
	if _, resp, err := harness.DialFeed(t, s.Store, "since="+lost); err == nil || resp.StatusCode != http.StatusGone {
		t.Fatalf("a WebSocket since a lost position: %v", err)
	}
	if conn, _, err := harness.DialFeed(t, s.Store, "since="+kept); err != nil {
		t.Fatal(err)
	} else {
		_ = conn.CloseNow()
	}
	s.Want(http.StatusOK, "GET", "/v1/docs?cursor="+s.cursor, "")
	s.Want(http.StatusOK, "GET", "/v1/docs/0/_history?limit=1&order=asc&cursor="+s.versions, "")
	s.Want(http.StatusGone, "GET", "/v1/docs/0?at="+url.QueryEscape(strings.Replace(kept, string(s.id), "aaaaaaaa", 1)), "")
}

// TestGroupsAfterRestore has groups go on where they were, and none after the end of what was restored.
func TestGroupsAfterRestore(t *testing.T) {
	s := loseWrites(t)
	anew := s.writeAnew(t)
	lease := harness.Lease(t, s.Client, "behind", "m2")[0]
	ids, last := harness.GroupChanges(t, s.Client, "behind", lease, "")
	if len(ids) != 3 || ids[2] != "d" {
		t.Fatalf("the group goes on with %q", ids)
	}
	r := harness.Settle(s.Client, http.StatusGone, "_ack", "behind", lease, s.lost.Header.Get("Fanfold-Position"))
	if !strings.Contains(string(r.Body), "oldest") {
		t.Fatalf("a lost position is acknowledged by %s", r.Body)
	}
	harness.Settle(s.Client, http.StatusNoContent, "_ack", "behind", lease, s.kept.Header.Get("Fanfold-Position"))
	harness.Settle(s.Client, http.StatusNoContent, "_ack", "behind", lease, last)
	s.Want(http.StatusCreated, "PUT", "/v1/_groups/anew", `{"partitions":1,"since":`+harness.QuoteJSON(s.kept.Header.Get("Fanfold-Position"))+`}`)
	s.Want(http.StatusGone, "PUT", "/v1/_groups/lost", `{"partitions":1,"since":`+harness.QuoteJSON(s.lost.Header.Get("Fanfold-Position"))+`}`)
	_ = anew
}

// TestGroupsAreCut restores a part of a backup whose groups are further.
func TestGroupsAreCut(t *testing.T) {
	before := open(t, harness.Options{Dir: t.TempDir()})
	before.Model("collections:\n  docs: {}\n")
	for i := range 5 {
		before.Put("docs", fmt.Sprint(i), `{}`)
	}
	before.Want(http.StatusCreated, "PUT", "/v1/_groups/g", `{"partitions":1,"lease":"1h"}`)
	before.Want(http.StatusCreated, "PUT", "/v1/_groups/now", `{"partitions":1,"since":"now"}`)
	lease := harness.Lease(t, before.Client, "g", "m")[0]
	_, last := harness.GroupChanges(t, before.Client, "g", lease, "&limit=4")
	harness.Settle(before.Client, http.StatusNoContent, "_ack", "g", lease, last)
	data, r := restore(t, harness.BackUp(t, before), "3")
	s := open(t, harness.Options{Dir: data})
	if r.Last != 3 || r.Groups != 2 {
		t.Fatalf("restored %+v", r)
	}
	s.Put("docs", "other", `{}`)
	for _, group := range []string{"g", "now"} {
		if ids, _ := harness.GroupChanges(t, s.Client, group, harness.Lease(t, s.Client, group, "m")[0], ""); len(ids) != 1 || ids[0] != "other" {
			t.Fatalf("group %s goes on with %q", group, ids)
		}
	}
}

// TestParkedAfterRestore parks two batches: a restore of everything, and one up to the midst of the second, keep them, and claim nothing about their failures.
func TestParkedAfterRestore(t *testing.T) {
	before := open(t, harness.Options{Dir: t.TempDir()})
	before.Want(http.StatusCreated, "PUT", "/v1/_groups/g", `{"partitions":1,"lease":"1h","maxAttempts":1}`)
	lease := harness.Lease(t, before.Client, "g", "m")[0]
	var end string
	for _, ids := range [][]string{{"a"}, {"b", "c"}} {
		for _, id := range ids {
			end = before.Put("docs", id, `{}`).Header.Get("Fanfold-Position")
		}
		_, last := harness.GroupChanges(t, before.Client, "g", lease, "")
		harness.Settle(before.Client, http.StatusNoContent, "_nack", "g", lease, last)
	}
	dir := harness.BackUp(t, before)
	type batch struct {
		ID, From, To, Error, Time, Member string
		Attempts                          int
	}
	parked := func(s *harness.Client) (list struct{ Parked []batch }, body string) {
		r := s.Want(http.StatusOK, "GET", "/v1/_groups/g/_parked", "")
		harness.Decode(t, r.Body, &list)
		return list, string(r.Body)
	}
	if was, _ := parked(before.Client); len(was.Parked) != 2 || was.Parked[1].Attempts != 1 || was.Parked[1].Error != "it broke" || was.Parked[1].Member != "m" || was.Parked[1].Time == "" {
		t.Fatalf("parked are %+v", was)
	}
	for _, to := range []string{"", end, "2"} {
		data, _ := restore(t, dir, to)
		s := open(t, harness.Options{Dir: data})
		s.CatchUp()
		list, body := parked(s.Client)
		if len(list.Parked) != 2 {
			t.Fatalf("restored up to %q it has %s", to, body)
		}
		for _, member := range []string{"attempts", "error", "time", "member"} {
			if strings.Contains(body, `"`+member+`"`) {
				t.Errorf("restored up to %q it claims: %s", to, body)
			}
		}
		s.Want(http.StatusNoContent, "POST", "/v1/_groups/g/_parked/"+list.Parked[0].ID+"/_retry", `{}`)
		lease := harness.Lease(t, s.Client, "g", "m2")[0]
		ids, last := harness.GroupChanges(t, s.Client, "g", lease, "")
		if len(ids) != 1 || ids[0] != "a" {
			t.Fatalf("restored up to %q it gives %q again", to, ids)
		}
		harness.Settle(s.Client, http.StatusNoContent, "_nack", "g", lease, last)
		if again, body := parked(s.Client); again.Parked[0].Attempts != 1 || again.Parked[0].Error != "it broke" {
			t.Errorf("after another failure it has %s", body)
		}
	}
}

// TestRestoreOfRestore restores a backup of a restored store: what the first store gave out is good up to the lesser end.
func TestRestoreOfRestore(t *testing.T) {
	s := loseWrites(t)
	second := s.writeAnew(t)
	third := s.Put("docs", "e", `{}`)
	dir := harness.BackUp(t, s.Store)
	data, _ := restore(t, dir, fmt.Sprint(s.end+1))
	again := open(t, harness.Options{Dir: data})
	for _, id := range []string{"e", "f"} {
		again.Put("docs", id, `{}`)
	}
	again.Want(http.StatusOK, "GET", "/v1/docs?at="+s.kept.Header.Get("Fanfold-Position"), "")
	again.Want(http.StatusOK, "GET", "/v1/docs?at="+second.Header.Get("Fanfold-Position"), "")
	again.Want(http.StatusGone, "GET", "/v1/docs?at="+s.lost.Header.Get("Fanfold-Position"), "")
	again.Want(http.StatusGone, "GET", "/v1/docs?at="+third.Header.Get("Fanfold-Position"), "")
	again.Want(http.StatusNotModified, "GET", "/v1/docs/0", "", "If-None-Match", s.kept.Header.Get("ETag"))
	again.Want(http.StatusPreconditionFailed, "PUT", "/v1/docs/d", `{}`, "If-Match", s.lost.Header.Get("ETag"))
	again.Want(http.StatusPreconditionFailed, "PUT", "/v1/docs/e", `{}`, "If-Match", third.Header.Get("ETag"))
	again.Want(http.StatusNoContent, "PUT", "/v1/docs/d", `{}`, "If-Match", second.Header.Get("ETag"))
	var status struct{ Store string }
	if err := json.Unmarshal(again.Want(http.StatusOK, "GET", "/v1/_status", "").Body, &status); err != nil || status.Store == "" {
		t.Fatal(err)
	}
	if o := again.Node.Log.Origin(); len(o) != 2 || o[0].Last != s.end+1 || o[1].Last != s.end || o[1].Store != s.id {
		t.Fatalf("the predecessors are %s", o)
	}
}

// TestSessionAfterRestore: a client of the store before goes on with what was restored, and after an error where it has seen more.
func TestSessionAfterRestore(t *testing.T) {
	s := loseWrites(t)
	s.writeAnew(t)
	c, err := client.New(s.URL, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	docs := client.Collection[map[string]any](c, "docs")
	if err := c.See(s.kept.Header.Get("Fanfold-Position")); err != nil {
		t.Fatal(err)
	}
	doc, err := docs.Get(t.Context(), "0")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := docs.Put(t.Context(), "0", map[string]any{}, client.IfMatch(doc.ETag)); err != nil {
		t.Fatal(err)
	}
	behind, err := client.New(s.URL, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer behind.Close()
	docs = client.Collection[map[string]any](behind, "docs")
	if err := behind.See(s.lost.Header.Get("Fanfold-Position")); err != nil {
		t.Fatal(err)
	}
	if _, err := docs.Get(t.Context(), "d"); !errors.Is(err, client.StoreChanged) {
		t.Fatalf("a read that needs a lost write: %v", err)
	}
	if at := behind.Position(); !strings.HasPrefix(at, fmt.Sprint(s.end)+"-") {
		t.Fatalf("the session goes on at %s, want event %d", at, s.end)
	}
	if _, err := docs.Get(t.Context(), "d"); err != nil {
		t.Fatal(err)
	}
	for doc, err := range docs.List(t.Context()) { // whose ETags hold, also of what was written since
		if err != nil {
			t.Fatal(err)
		}
		if _, err := docs.Put(t.Context(), doc.ID, map[string]any{"again": true}, client.IfMatch(doc.ETag)); err != nil {
			t.Fatalf("%s with %s: %v", doc.ID, doc.ETag, err)
		}
	}
}
