package embedded

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/events"
	"github.com/fanfold/fanfold/events/buckets"
)

// targets are subjects at which the server stores a message, or takes it for a request that changes something.
var targets = []string{"$KV.fanfold_fanfold_groups.a", "$KV.fanfold_fanfold_keys.a", "$KV.fanfold_fanfold_keys.key.x", "$O.fanfold_fanfold_base2.C.x",
	"fanfold.fanfold.doc.c.1", "fanfold.fanfold.model", "$JS.API.STREAM.PURGE.fanfold", "$JS.API.STREAM.DELETE.KV_fanfold_fanfold_keys",
	"$JS.API.STREAM.CREATE.other", "$JS.API.CONSUMER.CREATE.fanfold", "$JS.API.CONSUMER.DURABLE.CREATE.KV_fanfold_fanfold_keys.d"}

// attackedStreams are the streams of attackedLog.
var attackedStreams = []string{"fanfold", "KV_fanfold_fanfold_groups", "KV_fanfold_fanfold_keys"}

// managing are requests that the server has for who manages it, with a stream's name at %s.
var managing = []string{"$JS.API.ACCOUNT.PURGE.$G", "$JS.API.SERVER.REMOVE", "$JS.API.META.LEADER.STEPDOWN", "$JS.API.STREAM.CREATE.%s", "$JS.API.STREAM.UPDATE.%s",
	"$JS.API.STREAM.DELETE.%s", "$JS.API.STREAM.PURGE.%s", "$JS.API.STREAM.MSG.DELETE.%s", "$JS.API.STREAM.RESTORE.%s", "$JS.API.STREAM.SNAPSHOT.%s",
	"$JS.API.STREAM.PEER.REMOVE.%s", "$JS.API.STREAM.LEADER.STEPDOWN.%s", "$JS.API.CONSUMER.PAUSE.%s.c", "$JS.API.CONSUMER.LEADER.STEPDOWN.%s.c",
	"$JS.API.CONSUMER.UNPIN.%s.c", "$JS.API.CONSUMER.RESET.%s.c", "$JS.API.CONSUMER.DURABLE.CREATE.%s.c", "$JS.API.CONSUMER.CREATE.%s.c", "$JS.API.CONSUMER.CREATE.%s"}

// attackedLog is a log with two buckets beside it, which readers may not change.
type attackedLog struct {
	t      *testing.T
	log    *events.Log
	own    *nats.Conn
	dir    string
	reader *nats.Conn
	before map[string]uint64 // the last sequence of each stream but the log's
}

func attack(t *testing.T) *attackedLog {
	t.Helper()
	l, own, e, addr := listeningServer(t)
	a := &attackedLog{t: t, log: l, own: own, dir: e.opt.Dir}
	for _, purpose := range []string{"groups", "keys"} {
		if _, err := buckets.NewKeyValue(l, purpose).Set(t.Context(), "key.x", []byte(`{"a":1}`), 0); err != nil {
			t.Fatal(err)
		}
	}
	a.append()
	a.reader = connectReader(t, addr)
	a.before = a.lasts()
	return a
}

// connectReader connects a client to which a refused permission is no news.
func connectReader(t *testing.T, addr string, opts ...nats.Option) *nats.Conn {
	t.Helper()
	nc, err := nats.Connect("nats://"+addr, append(opts, nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) {}))...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	return nc
}

// append appends an event, for a consumer to deliver.
func (a *attackedLog) append() {
	a.t.Helper()
	if _, err := a.log.Append(a.t.Context(), &fanfold.Event{Kind: fanfold.KindPut, Key: fanfold.Key{Collection: "c", ID: "1"}, Body: []byte(`{}`)}, fanfold.Expect{}); err != nil &&
		fanfold.CodeOf(err) != fanfold.Stale {
		a.t.Fatal(err)
	}
	if _, err := a.log.Append(a.t.Context(), &fanfold.Event{Kind: fanfold.KindFence}, fanfold.Expect{}); err != nil {
		a.t.Fatal(err)
	}
}

// lasts returns the last sequence of each stream but the log's.
func (a *attackedLog) lasts() map[string]uint64 {
	a.t.Helper()
	js, err := jetstream.New(a.own)
	if err != nil {
		a.t.Fatal(err)
	}
	out := map[string]uint64{}
	list := js.ListStreams(a.t.Context())
	for info := range list.Info() {
		out[info.Config.Name] = info.State.LastSeq
	}
	if err := list.Err(); err != nil {
		a.t.Fatal(err)
	}
	delete(out, "fanfold")
	return out
}

// ask sends a request of the reader's, and waits for its answer for a moment.
func (a *attackedLog) ask(subject, body string) string {
	answer, err := a.reader.Request(subject, []byte(body), 50*time.Millisecond)
	if err != nil {
		return err.Error()
	}
	return string(answer.Data)
}

// unharmed checks that nothing was stored but what the node has written.
func (a *attackedLog) unharmed(after string) {
	a.t.Helper()
	if got, err := a.reader.Request("$JS.API.INFO", nil, 30*time.Second); err != nil { // what was asked before is done
		a.t.Fatal(got, err)
	}
	known, err := a.log.LastSeq(a.t.Context())
	if err != nil {
		a.t.Fatal(err)
	}
	a.append()
	a.append()
	if last, err := a.log.LastSeq(a.t.Context()); err != nil || last > known+4 {
		a.t.Fatalf("after %s the log ends with %d, not %d: %v", after, last, known+4, err)
	}
	if now := a.lasts(); fmt.Sprint(now) != fmt.Sprint(a.before) {
		a.t.Fatalf("after %s the streams end with %v, not %v", after, now, a.before)
	}
	if files, err := filepath.Glob(filepath.Join(a.dir, "jetstream", "*", "streams", "*", "obs", "*")); err != nil || len(files) > 0 {
		a.t.Fatalf("after %s the server has written %v, %v", after, files, err)
	}
	if err := a.log.Check(a.t.Context(), events.Known{Seq: known}); err != nil {
		a.t.Fatalf("after %s: %v", after, err)
	}
}

// TestReadersWriteNowhere: no request, reply subject, header, or consumer of a reader makes the server store anything.
func TestReadersWriteNowhere(t *testing.T) {
	a := attack(t)
	for _, target := range targets { // interest, without which a push consumer delivers nothing
		if _, err := a.reader.SubscribeSync(target); err != nil {
			t.Fatal(err)
		}
	}
	a.publish()
	a.manage()
	a.redirect()
	a.trace()
}

// publish publishes at what the server stores or obeys.
func (a *attackedLog) publish() {
	a.t.Helper()
	for _, target := range targets {
		_ = a.reader.Publish(target, []byte(`{}`))
		_ = a.reader.PublishRequest(target, "_INBOX.x", []byte(`{"stream_name":"fanfold","config":{"durable_name":"d"}}`))
		a.unharmed("a publish to " + target)
	}
}

// manage sends the requests of those who manage the server.
func (a *attackedLog) manage() {
	a.t.Helper()
	for _, subject := range managing {
		for _, stream := range attackedStreams {
			s := strings.Replace(subject, "%s", stream, 1)
			for _, body := range []string{"", `{"seq":1}`, `{"pause_until":"2099-01-01T00:00:00Z"}`, `{"name":"` + stream + `","subjects":["x"],"max_msgs":1}`,
				`{"stream_name":"` + stream + `","config":{"durable_name":"c","name":"c","ack_policy":"none"}}`} {
				_ = a.reader.PublishRequest(s, "_INBOX.answers", []byte(body))
			}
		}
		a.unharmed(subject)
	}
	for _, config := range []string{`"mirror":{"name":"KV_fanfold_fanfold_keys"}`, `"sources":[{"name":"fanfold"}]`,
		`"subjects":["y"],"republish":{"src":">","dest":"$KV.fanfold_fanfold_keys.>"}`} {
		a.ask("$JS.API.STREAM.CREATE.other", `{"name":"other",`+config+`}`)
		a.ask("$JS.API.STREAM.UPDATE.fanfold", `{"name":"fanfold",`+config+`}`)
		a.unharmed(config)
	}
}

// redirect asks for answers at what the server stores or obeys.
func (a *attackedLog) redirect() {
	a.t.Helper()
	for _, target := range targets {
		for _, subject := range readerRequests("fanfold") {
			subject = strings.NewReplacer("*", "x", ">", "x").Replace(subject)
			for _, body := range []string{"", `{"seq":1}`, `{"seq":99}`, `{"last_by_subj":"fanfold.fanfold.doc.c.1"}`} {
				_ = a.reader.PublishRequest(subject, target, []byte(body))
			}
		}
		a.unharmed("replies to " + target)
	}
}

// trace sends headers by which a server sends messages on.
func (a *attackedLog) trace() {
	a.t.Helper()
	for _, target := range targets {
		for _, subject := range []string{"$JS.API.INFO", "$JS.API.DIRECT.GET.fanfold", "$JS.API.CONSUMER.CREATE.fanfold"} {
			m := &nats.Msg{Subject: subject, Reply: target, Data: []byte(`{"seq":1}`), Header: nats.Header{"Nats-Trace-Dest": {target},
				"Nats-Rollup": {"all"}, "Nats-Schedule": {"@at 2020-01-01T00:00:00Z"}, "Nats-Schedule-Target": {target}}}
			_ = a.reader.PublishMsg(m)
		}
		a.unharmed("headers that name " + target)
	}
}

// pushes are the configurations of consumers with a deliver subject, at %s.
var pushes = []string{`"deliver_subject":%q`, `"Deliver_Subject":%q`, `"deliver_subject":"_INBOX.x","deliver_subject":%q`, `"deliver_subject":%q,"direct":true`,
	`"deliver_subject":%q,"sourcing":true`, `"deliver_subject":%q,"deliver_group":"g"`, `"deliver_subject":%q,"mem_storage":true,"idle_heartbeat":100000000,"flow_control":true`,
	`"deliver_subject":%q,"durable_name":"c"`, `"deliver_subject":%q,"name":"c"`, `"deliver_subject":%q,"name":"c","filter_subject":"fanfold.>"`}

// TestReadersDeliverNowhere: no consumer of a reader delivers to where the server stores or obeys, whether it is made so or changed.
func TestReadersDeliverNowhere(t *testing.T) {
	a := attack(t)
	for i, target := range targets {
		if _, err := a.reader.SubscribeSync(target); err != nil {
			t.Fatal(err)
		}
		for _, stream := range attackedStreams {
			for n, push := range pushes {
				for _, subject := range []string{"$JS.API.CONSUMER.CREATE.%s", "$JS.API.CONSUMER.CREATE.%s.c", "$JS.API.CONSUMER.CREATE.%s.c.fanfold.>", "$JS.API.CONSUMER.DURABLE.CREATE.%s.c"} {
					if stream != "fanfold" && (i+n)%4 > 0 { // they are refused one like another
						continue
					}
					for _, action := range []string{"", `,"action":"create"`, `,"action":"update"`} {
						body := fmt.Sprintf(`{"stream_name":%q,"config":{"ack_policy":"none","deliver_policy":"all",%s}%s}`, stream, fmt.Sprintf(push, target), action)
						_ = a.reader.PublishRequest(fmt.Sprintf(subject, stream), "_INBOX.answers", []byte(body))
					}
				}
			}
		}
		a.unharmed("deliveries to " + target)
	}
	js, err := jetstream.New(a.own)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range attackedStreams {
		s, err := js.Stream(t.Context(), name)
		if err != nil {
			t.Fatal(err)
		}
		list := s.ListConsumers(t.Context())
		for c := range list.Info() {
			t.Errorf("%s has the consumer %+v", name, c.Config)
		}
		if list.Err() != nil {
			t.Error(list.Err())
		}
	}
}

// TestReadersPullNowhere: what a reader pulls goes to the reader alone, by whatever reply subject it asks.
func TestReadersPullNowhere(t *testing.T) {
	a := attack(t)
	made := a.ask("$JS.API.CONSUMER.CREATE.fanfold.c", `{"stream_name":"fanfold","config":{"name":"c","ack_policy":"explicit","deliver_policy":"all","inactive_threshold":60000000000}}`)
	if !strings.Contains(made, `"num_pending"`) {
		t.Fatalf("the answer is %s", made)
	}
	for _, target := range targets {
		if _, err := a.reader.SubscribeSync(target); err != nil {
			t.Fatal(err)
		}
		_ = a.reader.PublishRequest("$JS.API.CONSUMER.MSG.NEXT.fanfold.c", target, []byte(`{"batch":3,"expires":100000000}`))
		_ = a.reader.PublishRequest("$JS.ACK.fanfold.c.1.1.1.1.1", target, []byte(`+NXT {"batch":3}`))
		_ = a.reader.PublishRequest("$JS.FC.fanfold.c.x", target, nil)
		if changed := a.ask("$JS.API.CONSUMER.CREATE.fanfold.c", fmt.Sprintf(`{"stream_name":"fanfold","action":"update","config":{"name":"c","ack_policy":"none","deliver_subject":%q}}`, target)); !strings.Contains(changed, `"error"`) {
			t.Errorf("a change to push is answered %s", changed)
		}
		a.unharmed("pulls to " + target)
	}
}

// TestReadersReadTheLogAlone: the values of buckets, such as the hashes of keys, are not for readers.
func TestReadersReadTheLogAlone(t *testing.T) {
	a := attack(t)
	if got := a.ask("$JS.API.DIRECT.GET.fanfold", `{"seq":1}`); got != `{"v":1,"op":"put","body":{}}` {
		t.Errorf("the log's first event reads %s", got)
	}
	for _, bucket := range attackedStreams[1:] {
		for subject, body := range map[string]string{"$JS.API.DIRECT.GET.%s": `{"seq":1}`, "$JS.API.DIRECT.GET.%s.$KV." + strings.TrimPrefix(bucket, "KV_") + ".key.x": "",
			"$JS.API.STREAM.MSG.GET.%s": `{"seq":1}`, "$JS.API.STREAM.INFO.%s": `{"subjects_filter":">"}`,
			"$JS.API.CONSUMER.CREATE.%s": `{"stream_name":"` + bucket + `","config":{"ack_policy":"none","deliver_subject":"_INBOX.x"}}`,
			"$JS.API.CONSUMER.NAMES.%s":  ""} {
			if got := a.ask(fmt.Sprintf(subject, bucket), body); strings.HasPrefix(got, "{") {
				t.Errorf("%s is answered %s", subject, got)
			}
		}
	}
	// The stream's name in the subject, and another one in the body.
	if got := a.ask("$JS.API.CONSUMER.CREATE.fanfold", `{"stream_name":"KV_fanfold_fanfold_keys","config":{"ack_policy":"none"}}`); !strings.Contains(got, `"error"`) {
		t.Errorf("a consumer of another stream is answered %s", got)
	}
}

// TestReadersConsumersAreBounded: a consumer that the log keeps, or keeps long, is refused with a reason, and so is one too many.
func TestReadersConsumersAreBounded(t *testing.T) {
	a := attack(t)
	ask := func(config string) string {
		answer, err := a.reader.Request("$JS.API.CONSUMER.CREATE.fanfold", []byte(`{"stream_name":"fanfold","config":{"ack_policy":"none",`+config+`}}`), 10*time.Second)
		if err != nil {
			return err.Error()
		}
		var says struct{ Error struct{ Description string } }
		if err := json.Unmarshal(answer.Data, &says); err != nil {
			return err.Error()
		}
		return says.Error.Description
	}
	for config, want := range map[string]string{`"durable_name":"d"`: "durable", `"inactive_threshold":3600000000001`: "1h0m0s", `"deliver_subject":"x"`: "_INBOX.",
		`"sample_freq":"100%"`: "no other settings", `"pause_until":"2099-01-01T00:00:00Z"`: "no other settings", `"priority_groups":["a"],"priority_policy":"overflow"`: "no other settings",
		`"description":"` + strings.Repeat("x", maxConsumerRequest) + `"`: "bytes", `"name":3`: "JSON"} {
		if got := ask(config); !strings.Contains(got, want) {
			t.Errorf("%.80s is refused with %q", config, got)
		}
	}
	for n := range maxReaderConsumers {
		if got := ask(`"inactive_threshold":3600000000000`); got != "" {
			t.Fatalf("consumer %d is refused: %s", n+1, got)
		}
	}
	if got := ask(`"inactive_threshold":1000000000`); !strings.Contains(got, "500 consumers") {
		t.Errorf("one more is refused with %q", got)
	}
	a.unharmed("many consumers")
}

// TestConsumersDoNotOutliveTheServer: a push consumer that an earlier version let a reader keep is gone after the next start.
func TestConsumersDoNotOutliveTheServer(t *testing.T) {
	l, own, e, _ := listeningServer(t)
	if _, err := buckets.NewKeyValue(l, "groups").Set(t.Context(), "a", []byte(`1`), 0); err != nil {
		t.Fatal(err)
	}
	js, err := jetstream.New(own)
	if err != nil {
		t.Fatal(err)
	}
	config := jetstream.ConsumerConfig{Durable: "d", DeliverSubject: "$KV.fanfold_fanfold_groups.a", AckPolicy: jetstream.AckNonePolicy}
	if _, err := js.CreatePushConsumer(t.Context(), "fanfold", config); err != nil {
		t.Fatal(err)
	}
	obs := filepath.Join(e.opt.Dir, "jetstream", "$G", "streams", "fanfold", "obs")
	if files, err := os.ReadDir(obs); err != nil || len(files) != 1 {
		t.Fatalf("the server keeps %v, %v: another layout", files, err)
	}
	if err := e.Restart(t.Context(), 0); err != nil {
		t.Fatal(err)
	}
	nc, err := e.Connect()
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	if js, err = jetstream.New(nc); err != nil {
		t.Fatal(err)
	}
	s, err := js.Stream(t.Context(), "fanfold")
	if err != nil {
		t.Fatal(err)
	}
	if n := s.CachedInfo().State.Consumers; n != 0 {
		t.Errorf("%d consumers are left", n)
	}
}
