package api_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/events/servers"
	"github.com/fanfold/fanfold/projector/fold"
	"github.com/fanfold/fanfold/tests/harness"
	"github.com/fanfold/fanfold/tests/natsserver"
)

// statusStore is the id that _status gives.
func statusStore(t *testing.T, s *harness.Store) string {
	t.Helper()
	var status struct{ Store, Position string }
	if err := json.Unmarshal(s.Want(200, "GET", "/v1/_status", "").Body, &status); err != nil {
		t.Fatal(err)
	}
	if !strings.HasSuffix(status.Position, "-"+status.Store) && !strings.Contains(status.Position, "-"+status.Store+"-") {
		t.Errorf("the status is at %s of store %s", status.Position, status.Store)
	}
	return status.Store
}

// TestPositionsNameTheirStore: every position names the store in every form of answer. The name is the same before and after a restart and
// a replay, and on every node. A position of another store is refused.
func TestPositionsNameTheirStore(t *testing.T) {
	url := natsserver.Start(t, 1)[0]
	a := harness.Open(t, harness.Options{Dir: t.TempDir(), NATS: url})
	defer func() { a.Close() }()
	b := harness.Open(t, harness.Options{Dir: t.TempDir(), NATS: url})
	defer b.Close()
	a.Model(harness.APIModel)
	a.Put("authors", "a1", `{"name":"A"}`)
	written := a.Put("books", "b1", `{"authors":[{"id":"a1"}]}`).Header.Get("Fanfold-Position")
	id := statusStore(t, a)
	if !fanfold.StoreID(id).Valid() || statusStore(t, b) != id || !strings.HasSuffix(written, "-"+id) {
		t.Fatalf("the stores are %s and %s, the write at %s", id, statusStore(t, b), written)
	}
	b.Want(200, "GET", "/v1/books/b1", "", "Fanfold-Min-Position", written)
	a = a.Reopen()
	a.Replay()
	if statusStore(t, a) != id {
		t.Error("the id changed")
	}
	a.Want(204, "PATCH", "/v1/authors/a1", `{"name":"B"}`, "Content-Type", harness.MergeType)
	for what, body := range map[string]string{
		"feed": string(a.Want(200, "GET", "/v1/_changes?mode=all&include_docs=true", "").Body), "list": harness.Body(a, "/v1/books"),
		"lineage": harness.Body(a, "/v1/books/b1/_lineage"), "verify": string(a.Want(200, "POST", "/v1/_verify", "", "Content-Type", "application/json").Body),
		"dry run": string(a.Want(200, "DELETE", "/v1/authors/a1?dryRun=true", "").Body),
		"model":   string(a.Want(200, "PUT", "/v1/_model?dryRun=true", harness.APIModel, "Content-Type", "application/yaml").Body),
	} {
		for _, member := range []string{`"seq":"`, `"last_seq":"`, `"position":"`} {
			for i, part := range strings.Split(body, member) {
				if text, _, _ := strings.Cut(part, `"`); i > 0 && !strings.Contains(text+"-", "-"+id+"-") {
					t.Errorf("%s: position %s", what, text)
				}
			}
		}
	}
	other := harness.OpenTemp(t, harness.APIModel)
	for _, headers := range [][]string{{"Last-Event-ID", written}, {"Fanfold-Min-Position", written}} {
		path := map[string]string{"Last-Event-ID": "/v1/_changes", "Fanfold-Min-Position": "/v1/books"}[headers[0]]
		harness.Refuse(t, other, harness.Refusal{"", 410, "store-changed", "GET", path, ``, headers, []string{id, statusStore(t, other), "anew"}})
	}
	r, err := other.Do("GET", "/v1/_changes?feed=eventsource&since="+written, nil)
	if err != nil || r.Status != 410 || !strings.Contains(string(r.Body), `"oldest":"0-0-`+statusStore(t, other)+`"`) {
		t.Errorf("%d %s, %v", r.Status, r.Body, err)
	}
}

// TestStreamWithoutID: nodes on a log that has no id agree on one, which they write down.
func TestStreamWithoutID(t *testing.T) {
	url := natsserver.Start(t, 1)[0]
	harness.Open(t, harness.Options{Dir: t.TempDir(), NATS: url}).Close()
	nc, err := servers.Connect(url)
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	strip := func() (had string) {
		stream, err := js.Stream(t.Context(), "fanfold")
		if err != nil {
			t.Fatal(err)
		}
		config := stream.CachedInfo().Config
		had = config.Metadata["fanfold-store"]
		delete(config.Metadata, "fanfold-store")
		if _, err := js.UpdateStream(t.Context(), config); err != nil {
			t.Fatal(err)
		}
		return had
	}
	seen := map[string]bool{strip(): true}
	for range 2 {
		s := harness.Open(t, harness.Options{Dir: t.TempDir(), NATS: url})
		id := statusStore(t, s)
		s.Close()
		if had := strip(); had != id {
			t.Errorf("the stream has id %q, the node %q", had, id)
		}
		seen[id] = true
	}
	if len(seen) != 2 {
		t.Errorf("the ids are %v", seen)
	}
}

// TestSinceBeyondTheHead: a position that this node has yet to reach is answered at once, without a row, and kept; nothing
// is missed or sent twice when the node gets there.
func TestSinceBeyondTheHead(t *testing.T) {
	s := harness.OpenTemp(t, harness.APIModel)
	s.Put("authors", "a1", `{"name":"A"}`)
	head := s.Put("books", "b1", `{"authors":[{"id":"a1"}]}`).Header.Get("Fanfold-Position")
	at, err := fanfold.ParsePosition(head)
	if err != nil {
		t.Fatal(err)
	}
	_, last := s.Changes("")
	store := string(s.Node.Log.Store())
	ahead := fmt.Sprintf("%d-0-%s", at.Seq()+2, store)
	for _, query := range []string{"", "&feed=longpoll&timeout=10"} {
		got := harness.Body(s, "/v1/_changes?mode=all&since="+ahead+query)
		if want := `{"results":[` + "\n" + `],"last_seq":"` + ahead + `","head":"` + last + `"}` + "\n"; got != want {
			t.Errorf("%s: the answer is %s, want %s", query, got, want)
		}
	}
	e := harness.OpenSSE(t, s, "feed=eventsource&mode=all&heartbeat=100&since="+ahead)
	if id, event, _, ok := e.Next(); !ok || event != "heartbeat" || id != ahead {
		t.Fatalf("%s %s", event, id)
	}
	s.Put("books", "b2", `{}`)
	s.Want(204, "PATCH", "/v1/authors/a1", `{"name":"B"}`, "Content-Type", harness.MergeType)
	for { // the event of the position itself: its changes after the position are sent
		id, event, row, ok := e.Next()
		if !ok {
			t.Fatal("the stream ended")
		}
		if event == "heartbeat" {
			continue
		}
		if row.Op != "derive" || row.ID != "b1" || id != row.Seq || harness.Bare(id) != fmt.Sprintf("%d-1", at.Seq()+2) {
			t.Errorf("the first row is %s %+v", id, row)
		}
		break
	}
}

// TestPositionOfAnotherFold: a position inside an event is given out with the fold version. Under another one it stands for
// the event's start: the rows of the event come again, and those after it once.
func TestPositionOfAnotherFold(t *testing.T) {
	s := harness.OpenTemp(t, harness.APIModel)
	s.Put("authors", "a1", `{"name":"A"}`)
	for i := range 5 {
		s.Put("books", fmt.Sprint("b", i), `{"authors":[{"id":"a1"}]}`)
	}
	s.Want(204, "PATCH", "/v1/authors/a1", `{"name":"B"}`, "Content-Type", harness.MergeType)
	s.Put("cities", "c1", `{}`)
	all, _ := s.Changes("mode=all")
	renamed := len(all) - 7 // a1, b0 to b4, c1
	inside := all[renamed+2].Seq
	if !strings.HasSuffix(inside, fmt.Sprint("-", fold.LatestVersion)) || strings.Count(all[renamed].Seq, "-") != 2 {
		t.Fatalf("the positions are %s and %s", all[renamed].Seq, inside)
	}
	if rows, _ := s.Changes("mode=all&since=" + inside); len(rows) != 4 {
		t.Errorf("%d rows follow", len(rows))
	}
	earlier := strings.TrimSuffix(inside, fmt.Sprint(fold.LatestVersion)) + fmt.Sprint(fold.LatestVersion-1)
	if rows, _ := s.Changes("mode=all&since=" + earlier); len(rows) != 7 || rows[0].Seq != all[renamed].Seq {
		t.Errorf("%d rows follow a position of another fold", len(rows))
	}
	s.Replay()
	s.Model(strings.Replace(harness.APIModel, "value: doc.name", `value: "doc.name + '!'"`, 1))
	rows, _ := s.Changes("mode=all&since=" + inside)
	if len(rows) != 4+5 || rows[0].Seq != all[renamed+3].Seq {
		t.Errorf("after a replay and another model %d rows follow, from %s", len(rows), rows[0].Seq)
	}
}
