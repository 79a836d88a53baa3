package feed_test

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/coder/websocket"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/backup/transfer"
	"github.com/fanfold/fanfold/client"
	"github.com/fanfold/fanfold/tests/harness"
)

// TestFeedNamesCalls: the rows of a function's transaction have its name in every form of the feed, in groups and in histories, and so have clients
// and filters. Other rows do not. A replay and a restored store make the same of the log.
func TestFeedNamesCalls(t *testing.T) {
	s := harness.OpenTemp(t, `collections: {authors: {}, books: {relations: {author: {path: author, to: authors}}, derive: {name: {copy: author, value: doc.name}}}}`)
	s.Want(http.StatusCreated, http.MethodPut, "/v1/_groups/g", `{"partitions":1}`)
	s.Put("authors", "a", `{"name":"A"}`)
	s.Put("books", "b", `{"author":"a"}`)
	write := func(collection, id, body string) fanfold.Write {
		return fanfold.Write{Event: &fanfold.Event{Kind: fanfold.KindPut, Key: fanfold.Key{Collection: collection, ID: id}, Body: []byte(body)}}
	}
	gate := fanfold.Write{Event: &fanfold.Event{Kind: fanfold.KindGate, Key: fanfold.Key{Collection: "books"}}}
	check := fanfold.Write{Event: &fanfold.Event{Kind: fanfold.KindCheck, Key: gate.Event.Key}, Expect: fanfold.Exactly(0)}
	call := fanfold.Write{Event: &fanfold.Event{Kind: fanfold.KindCall, Call: &fanfold.Call{Function: "rename", Model: 1, Writes: 2, Result: []byte(`{"n":1}`)}, IdempotencyKey: fanfold.IdempotencyKey{Hash: "h", Digest: "d"}}}
	first, err := s.Node.Log.AppendAll(t.Context(), "t", []fanfold.Write{check, call, write("authors", "a", `{"id":"a","name":"B"}`), write("books", "c", `{"id":"c"}`), gate})
	if err != nil {
		t.Fatal(err)
	}
	s.Put("authors", "a", `{"name":"C"}`)
	s.CatchUp()
	want := []string{"create a", "create b", "replace a of rename", "derive b of rename", "create c of rename", "replace a", "derive b"}
	wantRows := func(what string, rows []harness.Change, want []string) {
		t.Helper()
		var got []string
		for _, row := range rows {
			line := row.Op + " " + row.ID
			if row.Call != "" {
				line += " of " + row.Call
			}
			got = append(got, line)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s has %q, want %q", what, got, want)
		}
	}
	all := func(what string) {
		t.Helper()
		rows, _ := s.Changes("mode=all")
		wantRows(what, rows, want)
	}
	all("an answer")
	rows, _ := s.Changes("mode=all&filter=" + url.QueryEscape(`change.call == "rename"`))
	wantRows("a filter", rows, want[2:5])
	rows, _ = s.Changes("")
	wantRows("mode=latest", rows, []string{"create c of rename", "replace a", "derive b"})
	named := func(what, text string) {
		t.Helper()
		if n := strings.Count(text, `"tx":"t","call":"rename"`); n != 3 || strings.Count(text, `"call"`) != n {
			t.Errorf("%s has %s", what, text)
		}
	}
	l := harness.Lease(t, s.Client, "g", "m")[0]
	for _, feed := range []string{"normal", "longpoll", "continuous", "eventsource"} {
		named(feed, string(s.Want(http.StatusOK, http.MethodGet, "/v1/_changes?mode=all&limit=7&timeout=0&feed="+feed, "").Body))
	}
	named("a group", string(s.Want(http.StatusOK, http.MethodGet, fmt.Sprintf("/v1/_groups/g/_changes?partition=0&token=%s&timeout=0", l.Token), "").Body))
	conn, _, err := harness.DialFeed(t, s, "mode=all")
	if err != nil {
		t.Fatal(err)
	}
	named("a WebSocket", readRows(t, conn, len(want)))
	c, err := client.New(s.URL, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	calls := 0
	for row, err := range c.Changes(t.Context(), client.ChangesOptions{Mode: client.All}) {
		if err != nil {
			t.Fatal(err)
		}
		if row.Call == "rename" {
			calls++
		}
		if row.ID == "b" && row.Call == "" && calls > 0 {
			break
		}
	}
	if calls != 3 {
		t.Errorf("the client has %d rows of the call", calls)
	}
	versions := string(s.Want(http.StatusOK, http.MethodGet, "/v1/books/b/_history", "").Body)
	if strings.Count(versions, `"call":"rename"`) != 1 || strings.Count(versions, `"seq"`) < 3 {
		t.Errorf("the versions are %s", versions)
	}
	before := s.Digest()
	s.Replay()
	if after := s.Digest(); after != before {
		t.Errorf("a replay has made %s of %s", after, before)
	}
	all("after a replay")
	data := t.TempDir()
	if _, err := harness.Restore(t.Context(), harness.BackUp(t, s), transfer.RestoreConfig{Data: data}); err != nil {
		t.Fatal(err)
	}
	restored := harness.Open(t, harness.Options{Dir: data})
	defer restored.Close()
	harness.AwaitReady(t, restored, http.StatusOK)
	rows, _ = restored.Changes("mode=all")
	wantRows("a restored store", rows, want)
	if ev, err := restored.Node.Log.EventAt(t.Context(), first+1); err != nil || ev.Call == nil || string(ev.Call.Result) != `{"n":1}` {
		t.Errorf("in a restored store the call is %+v, %v", ev, err)
	}
	late := fanfold.Write{Event: check.Event, Expect: fanfold.Exactly(fanfold.Revision(first + 3))}
	if _, err := restored.Node.Log.AppendAll(t.Context(), "late", []fanfold.Write{late, write("books", "d", `{"id":"d"}`)}); fanfold.CodeOf(err) != fanfold.Stale {
		t.Errorf("a restored store takes what requires an earlier gate: %v", err)
	}
	late.Expect = fanfold.Exactly(fanfold.Revision(first + 4))
	if _, err := restored.Node.Log.AppendAll(t.Context(), "now", []fanfold.Write{late, write("books", "d", `{"id":"d"}`)}); err != nil {
		t.Error(err)
	}
}

// readRows reads some rows of a WebSocket.
func readRows(t *testing.T, conn *websocket.Conn, count int) string {
	t.Helper()
	var b strings.Builder
	for range count {
		_, text, err := conn.Read(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		b.Write(text)
	}
	return b.String()
}
