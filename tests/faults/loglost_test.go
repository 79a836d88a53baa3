package faults_test

import (
	"context"
	"net/http"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/fanfold/fanfold/tests/harness"
	"github.com/fanfold/fanfold/tests/natsserver"
	"github.com/fanfold/fanfold/tests/suite"
)

// outsideLog is a stream on an outside server that a test takes away from a node, or gives it another one of.
type outsideLog struct {
	t  *testing.T
	js jetstream.JetStream
}

func newOutsideLog(t *testing.T, url string) outsideLog {
	t.Helper()
	js, err := jetstream.New(natsserver.Connect(t, url))
	if err != nil {
		t.Fatal(err)
	}
	return outsideLog{t, js}
}

// replace deletes the stream and, unless keep is nil, makes it anew with what keep makes of each message.
func (o outsideLog) replace(keep func(seq int, m *nats.Msg) *nats.Msg) {
	o.t.Helper()
	ctx := context.Background()
	stream, err := o.js.Stream(ctx, "fanfold")
	if err != nil {
		o.t.Fatal(err)
	}
	info, err := stream.Info(ctx)
	if err != nil {
		o.t.Fatal(err)
	}
	var msgs []*nats.Msg
	for seq := uint64(1); keep != nil && seq <= info.State.LastSeq; seq++ {
		m, err := stream.GetMsg(ctx, seq)
		if err != nil {
			o.t.Fatal(err)
		}
		header := nats.Header{jetstream.MsgIDHeader: m.Header[jetstream.MsgIDHeader]}
		if out := keep(int(seq), &nats.Msg{Subject: m.Subject, Header: header, Data: m.Data}); out != nil {
			msgs = append(msgs, out)
		}
	}
	if err := o.js.DeleteStream(ctx, "fanfold"); err != nil {
		o.t.Fatal(err)
	}
	if keep == nil {
		return
	}
	if _, err := o.js.CreateStream(ctx, info.Config); err != nil {
		o.t.Fatal(err)
	}
	for _, m := range msgs {
		if _, err := o.js.PublishMsg(ctx, m); err != nil {
			o.t.Fatal(err)
		}
	}
}

// atOnce bounds a refusal on a busy machine. It is less than the ten seconds for which a write is tried again that the log and the
// node see differently.
const atOnce = 9 * time.Second

// wantDamaged waits until the node is not ready because of its log, and checks that it takes no write and answers reads.
func wantDamaged(t *testing.T, s *harness.Store) {
	t.Helper()
	deadline := time.Now().Add(30 * time.Second)
	for {
		r := do(t, s, "GET", "/readyz", "")
		if r.Status == http.StatusServiceUnavailable && r.Problem() == "urn:fanfold:problem:log-damaged" {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("the node is %d %s", r.Status, r.Body)
		}
		time.Sleep(10 * time.Millisecond) // there is nothing to wait for: the node itself looks now and then
	}
	for _, req := range [][4]string{{"PUT", "/v1/c/9", `{}`, "application/json"}, {"PATCH", "/v1/c/1", `{"n":2}`, harness.MergeType}, {"DELETE", "/v1/c/1", "", harness.MergeType}} {
		began := time.Now()
		r := do(t, s, req[0], req[1], req[2], "Content-Type", req[3])
		if r.Status != http.StatusServiceUnavailable || r.Problem() != "urn:fanfold:problem:log-damaged" || time.Since(began) > atOnce {
			t.Errorf("%s %s: %d %s after %v", req[0], req[1], r.Status, r.Body, time.Since(began))
		}
	}
	s.WantDoc("c", "1", `{"id":"1","n":1}`)
}

func do(t *testing.T, s *harness.Store, method, path, body string, headers ...string) *harness.Response {
	t.Helper()
	r, err := s.Do(method, path, []byte(body), headers...)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestLogTakenAway: a stream is deleted, or made anew, while a node runs on it. Within seconds the node is not ready and takes no write,
// and it does not start again.
func TestLogTakenAway(t *testing.T) {
	for name, keep := range map[string]func(seq int, m *nats.Msg) *nats.Msg{
		"gone":           nil,
		"empty":          func(int, *nats.Msg) *nats.Msg { return nil },
		"an old copy":    func(seq int, m *nats.Msg) *nats.Msg { return []*nats.Msg{m, nil}[min(1, seq/3)] },
		"the same again": func(_ int, m *nats.Msg) *nats.Msg { return m }, // at other times, so that it is another one
		"another last event": func(seq int, m *nats.Msg) *nats.Msg {
			if seq == 4 { // after the fence with which the node joined
				m.Subject = "fanfold.fanfold.doc.c.other"
			}
			return m
		},
	} {
		t.Run(name, func(t *testing.T) {
			suite.Parallel(t)
			url, dir := natsserver.Start(t, 1)[0], t.TempDir()
			s := harness.Open(t, harness.Options{Dir: dir, NATS: url})
			s.Put("c", "2", `{}`)
			s.Put("c", "3", `{}`)
			s.Put("c", "1", `{"n":1}`)
			newOutsideLog(t, url).replace(keep)
			wantDamaged(t, s)
			s.Close()
			if n, err := harness.Start(t, harness.Options{Dir: dir, NATS: url}); err == nil {
				n.Close()
				t.Error("the node starts again")
			}
		})
	}
}

// TestPatchOfLostEvent: a patch on a document whose last event the log lost is refused at once, however soon it comes:
// it is not tried again and again.
func TestPatchOfLostEvent(t *testing.T) {
	suite.Parallel(t)
	url := natsserver.Start(t, 1)[0]
	s := harness.Open(t, harness.Options{Dir: t.TempDir(), NATS: url})
	defer s.Close()
	s.Put("c", "1", `{"n":0}`)
	s.Put("c", "2", `{}`)
	s.Put("c", "1", `{"n":1}`)
	newOutsideLog(t, url).replace(func(seq int, m *nats.Msg) *nats.Msg {
		if seq == 4 { // after the fence with which the node joined
			m.Subject = "fanfold.fanfold.doc.c.2"
		}
		return m
	})
	began := time.Now()
	r := do(t, s, "PATCH", "/v1/c/1", `{"n":2}`, "Content-Type", "application/merge-patch+json")
	if r.Status != http.StatusServiceUnavailable || r.Problem() != "urn:fanfold:problem:log-damaged" || time.Since(began) > atOnce {
		t.Errorf("%d %s after %v", r.Status, r.Body, time.Since(began))
	}
}
