package events_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/events"
	"github.com/fanfold/fanfold/events/buckets"
	"github.com/fanfold/fanfold/events/servers"
	"github.com/fanfold/fanfold/tests/natsserver"
	"github.com/fanfold/fanfold/tests/suite"
)

// TestReplacedLeader: a leader is cut off from the other servers, and does not know yet that they have another. It refuses what is
// conditional on a revision that it has not got. Such a refusal decides nothing, of one event or of several, for the log has that
// revision; nor does what it says of the document.
func TestReplacedLeader(t *testing.T) {
	t.Parallel()
	cluster := natsserver.StartLinked(t, false, false)
	for limit := time.Now().Add(suite.Deadline(time.Minute)); !cluster.Leading(); {
		if time.Now().After(limit) {
			t.Fatal("the cluster has no leader")
		}
	}
	at := func(server int) (*events.Log, *nats.Conn) {
		nc, err := servers.Connect("nats://"+cluster.Addr(server), nats.IgnoreDiscoveredServers())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(nc.Close)
		for limit := time.Now().Add(suite.Deadline(time.Minute)); ; { // a leader may not know the other servers yet
			l, err := events.Open(t.Context(), nc, events.Options{Replicas: 3, Attempt: 200 * time.Millisecond, Timeout: 500 * time.Millisecond})
			if err == nil {
				return l, nc
			}
			if time.Now().After(limit) {
				t.Fatal(err)
			}
		}
	}
	var logs [3]*events.Log
	var conns [3]*nats.Conn
	for i := range logs {
		logs[i], conns[i] = at(i)
	}
	key := fanfold.Key{Collection: "c", ID: "1"}
	for range 10 { // a leader may notice before there is another
		before := uint64(0)
		for limit := time.Now().Add(suite.Deadline(time.Minute)); before == 0; {
			var err error
			if before, err = logs[0].Append(t.Context(), put("1", `{"n":1}`), fanfold.Expect{}); err != nil && time.Now().After(limit) {
				t.Fatal(err)
			}
		}
		if missing := cluster.AwaitWhole(time.Minute); missing != "" {
			t.Fatal(missing)
		}
		old := leader(t, conns[0])
		cluster.EachLink(old, (*natsserver.Link).Cut)
		now := uint64(0)
		for now == 0 {
			seq, err := logs[(old+1)%3].Append(t.Context(), put("1", `{"n":2}`), fanfold.Exactly(fanfold.Revision(before)))
			switch fanfold.CodeOf(err) {
			case fanfold.Unavailable, fanfold.OutcomeUnknown:
			case fanfold.Stale: // an attempt of unknown outcome was stored
				if now, _, err = last(t, logs[(old+1)%3], key); err != nil && fanfold.CodeOf(err) != fanfold.Unavailable {
					t.Fatal(err)
				}
			default:
				if now = seq; err != nil {
					t.Fatal(err)
				}
			}
		}
		knows := func() string {
			resp, err := conns[old].Request("$JS.API.STREAM.MSG.GET.fanfold", fmt.Appendf(nil, `{"seq":%d}`, before), 300*time.Millisecond)
			if err != nil {
				return err.Error()
			}
			return string(resp.Data)
		}
		first := knows()
		_, one := logs[old].Append(t.Context(), put("1", `{"n":3}`), fanfold.Exactly(fanfold.Revision(now)))
		_, several := logs[old].AppendAll(t.Context(), "tx", []fanfold.Write{
			{Event: put("1", `{"n":4}`), Expect: fanfold.Exactly(fanfold.Revision(now))}, {Event: put("2", `{"n":4}`)}})
		rev, _, asked := last(t, logs[old], key)
		unaware := strings.Contains(first, `"message"`) && strings.Contains(knows(), `"message"`)
		whole := logs[old].Check(t.Context(), events.Known{Seq: now}) // also once it knows
		if err := logs[old].Check(t.Context(), events.Known{}); err == nil && logs[old].Led() {
			t.Error("the replaced leader passes for one that is followed")
		}
		cluster.EachLink(old, (*natsserver.Link).Mend)
		t.Logf("the old leader is unaware: %v; an event: %v; several: %v; revision %d of %d, %v; check: %v", unaware, one, several, rev, now, asked, whole)
		for _, err := range []error{one, several, asked, whole} {
			if code := fanfold.CodeOf(err); err == nil || code != fanfold.Unavailable && code != fanfold.OutcomeUnknown {
				t.Errorf("the replaced leader decided: %v", err)
			}
		}
		if unaware {
			return
		}
	}
	t.Error("no leader was replaced without its knowledge")
}

// last returns a document's revision.
func last(t *testing.T, l *events.Log, key fanfold.Key) (uint64, bool, error) {
	t.Helper()
	rev, deleted, err := l.Last(t.Context(), key)
	return uint64(rev), deleted, err
}

// leader returns which server leads the log.
func leader(t *testing.T, nc *nats.Conn) int {
	t.Helper()
	s := streamNamed(t, nc, "fanfold")
	for i := range 3 {
		if s.CachedInfo().Cluster.Leader == fmt.Sprintf("n%d", i) {
			return i
		}
	}
	t.Fatalf("the log has no leader: %+v", s.CachedInfo().Cluster)
	return -1
}

// streamNamed returns a stream.
func streamNamed(t *testing.T, nc *nats.Conn, name string) jetstream.Stream {
	t.Helper()
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	stream, err := js.Stream(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	return stream
}

// TestTwoLeaders: while two servers take themselves for the leader both get what is published. A client stands for the one that was
// replaced: it refuses everything at once, and answers with what it had. An event that the other stores is told as stored, and nothing else as
// refused.
func TestTwoLeaders(t *testing.T) {
	t.Parallel()
	cluster := natsserver.StartCluster(t, 3, false)
	nc, err := servers.Connect(cluster.URLs()[0])
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	open := func(opt events.Options) (*events.Log, *buckets.KeyValue) {
		opt.Replicas = 3
		l, err := events.Open(t.Context(), nc, opt)
		if err != nil {
			t.Fatal(err)
		}
		return l, buckets.NewKeyValue(l, "test")
	}
	patient, patientKV := open(events.Options{})
	l, kv := open(events.Options{Timeout: time.Second})
	const rounds = 40
	var revisions [rounds]fanfold.Revision
	var entries [rounds]uint64
	for i := range revisions {
		for range 2 {
			seq, err := patient.Append(t.Context(), put(fmt.Sprint(i), `{}`), fanfold.Expect{})
			if err != nil {
				t.Fatal(err)
			}
			revisions[i] = fanfold.Revision(seq)
			if entries[i], err = patientKV.Set(t.Context(), fmt.Sprint("k.", i), fmt.Append(nil, seq), entries[i]); err != nil {
				t.Fatal(err)
			}
		}
	}
	end, err := l.LastSeq(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	pretend(t, cluster.URLs()[0], end)
	decided := 0
	is := func(err error, want fanfold.Code, what string, id string) bool { // of an outcome that is not known nothing more is asked
		t.Helper()
		code := fanfold.CodeOf(err)
		if err == nil && want == "" || err != nil && code == want {
			decided++
		} else if code != fanfold.OutcomeUnknown && code != fanfold.Unavailable {
			t.Fatalf("%s %s: %v", what, id, err)
		}
		return err == nil
	}
	for i, revision := range revisions {
		id := fmt.Sprint(i)
		seq, err := l.Append(t.Context(), put(id, `{"n":1}`), fanfold.Exactly(revision))
		if !is(err, "", "an event of", id) {
			continue
		}
		first, err := l.AppendAll(t.Context(), "tx", []fanfold.Write{{Event: put(id, `{"n":2}`), Expect: fanfold.Exactly(fanfold.Revision(seq))},
			{Event: put("other"+id, `{}`), Expect: fanfold.Exactly(0)}})
		if !is(err, "", "events of", id) {
			continue
		}
		check := &fanfold.Event{Kind: fanfold.KindCheck, Key: fanfold.Key{Collection: "c", ID: id}}
		_, err = l.AppendAll(t.Context(), "tx", []fanfold.Write{{Event: put("more"+id, `{}`)}, {Event: check, Expect: fanfold.Exactly(fanfold.Revision(first))}})
		if is(err, "", "an event beside a check of", id) {
			if rev, _, err := last(t, l, fanfold.Key{Collection: "c", ID: "more" + id}); is(err, "", "the last event of more", id) && rev == 0 {
				t.Fatalf("more%s is told to be missing", id)
			}
		}
		_, err = kv.Set(t.Context(), "k."+id, []byte("new"), entries[i])
		is(err, "", "the key", id)
		_, err = l.Append(t.Context(), put(id, `{}`), fanfold.Exactly(revision))
		is(err, fanfold.Stale, "an event at an old revision of", id)
		_, err = l.AppendAll(t.Context(), "tx", []fanfold.Write{{Event: put("never", `{}`)}, {Event: check, Expect: fanfold.Exactly(revision)}})
		is(err, fanfold.Stale, "an event beside a check of an old revision of", id)
	}
	if t.Logf("%d outcomes are known", decided); decided < rounds {
		t.Errorf("only %d outcomes are known", decided)
	}
	if rev, _, err := last(t, patient, fanfold.Key{Collection: "c", ID: "never"}); rev != 0 || err != nil {
		t.Errorf("what was refused is at %d, %v", rev, err)
	}
}

// pretend makes a client answer as a leader of the log and its buckets that was replaced after the event at end.
func pretend(t *testing.T, url string, end uint64) {
	t.Helper()
	nc := natsserver.Connect(t, url)
	s := streamNamed(t, nc, "fanfold")
	had := map[string]string{} // the answers about the last message but one of each subject
	before := map[string]string{}
	for seq := uint64(1); seq <= end; seq++ {
		m, err := s.GetMsg(t.Context(), seq)
		if err != nil {
			t.Fatal(err)
		}
		had[m.Subject] = before[m.Subject]
		before[m.Subject] = fmt.Sprintf(`{"message":{"subject":%q,"seq":%d,"data":%q}}`, m.Subject, seq, base64.StdEncoding.EncodeToString(m.Data))
	}
	const missing = `{"error":{"code":404,"err_code":10037,"description":"no message found"}}`
	refuse := func(*nats.Msg) string {
		return `{"error":{"code":400,"err_code":10071,"description":"wrong last sequence: 1"}}`
	}
	for subject, answer := range map[string]func(m *nats.Msg) string{
		"fanfold.fanfold.doc.>": refuse,
		"$KV.>":                 refuse,
		"$JS.API.STREAM.MSG.GET.>": func(m *nats.Msg) string {
			var q struct {
				Last string `json:"last_by_subj"`
			}
			if err := json.Unmarshal(m.Data, &q); err == nil && had[q.Last] != "" {
				return had[q.Last]
			}
			return missing
		},
	} {
		if _, err := nc.Subscribe(subject, func(m *nats.Msg) {
			if m.Reply != "" {
				_ = m.Respond([]byte(answer(m))) // the connection may be closed
			}
		}); err != nil {
			t.Fatal(err)
		}
	}
	if err := nc.Flush(); err != nil {
		t.Fatal(err)
	}
}
