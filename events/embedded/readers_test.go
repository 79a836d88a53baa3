package embedded

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/events"
)

// listeningLog opens a log on an embedded server that listens, and returns the server's address, too.
func listeningLog(t *testing.T) (l *events.Log, nc *nats.Conn, addr string) {
	t.Helper()
	l, nc, _, addr = listeningServer(t)
	return l, nc, addr
}

// listeningServer does what listeningLog does, and returns the server, too. change changes its options.
func listeningServer(t *testing.T, change ...func(*Options)) (l *events.Log, nc *nats.Conn, e *Server, addr string) {
	t.Helper()
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr = free.Addr().String()
	if err := free.Close(); err != nil {
		t.Fatal(err)
	}
	opt := Options{Dir: t.TempDir(), Durability: Interval, Readers: Readers{Address: addr}, Logger: slog.New(slog.DiscardHandler)}
	for _, change := range change {
		change(&opt)
	}
	if e, err = Start(t.Context(), opt); err != nil {
		t.Fatal(err)
	}
	if nc, err = e.Connect(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		nc.Close()
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	})
	if l, err = events.Open(t.Context(), nc, events.Options{Embedded: e}); err != nil {
		t.Fatal(err)
	}
	return l, nc, e, addr
}

// changesOfLog are requests that would change the log.
var changesOfLog = map[string]string{
	"$JS.API.STREAM.MSG.DELETE.fanfold": `{"seq":1}`,
	"$JS.API.STREAM.PURGE.fanfold":      "",
	"$JS.API.STREAM.DELETE.fanfold":     "",
	"$JS.API.STREAM.UPDATE.fanfold":     `{"name":"fanfold","subjects":["x"],"max_msgs":1}`,
	"$JS.API.STREAM.CREATE.other":       `{"name":"other","subjects":["x"]}`,
	"fanfold.fanfold.fence":             "{}",
}

// TestReadersCannotChangeTheLog: what a foreign client asks for is refused, also where another request's answer would ask for it,
// while the node writes and the client reads.
func TestReadersCannotChangeTheLog(t *testing.T) {
	l, own, addr := listeningLog(t)
	if _, err := l.Append(t.Context(), &fanfold.Event{Kind: fanfold.KindPut, Key: fanfold.Key{Collection: "c", ID: "1"}, Body: []byte(`{}`)}, fanfold.Expect{}); err != nil {
		t.Fatal(err)
	}
	refused := make(chan error, 2*len(changesOfLog))
	nc, err := nats.Connect("nats://"+addr, nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) { refused <- err }))
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	for subject, body := range changesOfLog {
		if err := nc.PublishRequest(subject, nc.NewInbox(), []byte(body)); err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(nc.Flush(), <-refused); !errors.Is(err, nats.ErrPermissionViolation) {
			t.Errorf("%s: %v", subject, err)
		}
		// No event 99 is there, and the answer has no body.
		if err := nc.PublishRequest("$JS.API.DIRECT.GET.fanfold", subject, []byte(`{"seq":99}`)); err != nil {
			t.Fatal(err)
		}
	}
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	for subject := range changesOfLog {
		config := jetstream.ConsumerConfig{DeliverSubject: subject, HeadersOnly: true, AckPolicy: jetstream.AckNonePolicy}
		_, _ = js.CreatePushConsumer(t.Context(), "fanfold", config) // the server refuses only some
	}
	cons, err := js.OrderedConsumer(t.Context(), "fanfold", jetstream.OrderedConsumerConfig{})
	if err != nil {
		t.Fatal(err)
	}
	if m, err := cons.Next(jetstream.FetchMaxWait(30 * time.Second)); err != nil || m.Subject() != "fanfold.fanfold.doc.c.1" {
		t.Fatalf("the client reads %v, %v", m, err)
	}
	if seq, err := l.Append(t.Context(), &fanfold.Event{Kind: fanfold.KindFence}, fanfold.Expect{}); err != nil || seq != 2 {
		t.Errorf("the node's next event is %d, %v", seq, err)
	}
	if err := l.Check(t.Context(), events.Known{Seq: 2}); err != nil {
		t.Error(err)
	}
	if names, err := streamNames(t.Context(), own); err != nil || len(names) != 1 {
		t.Errorf("streams %v, %v", names, err)
	}
}

// streamNames returns the names of all streams.
func streamNames(ctx context.Context, nc *nats.Conn) (names []string, err error) {
	js, err := jetstream.New(nc)
	if err != nil {
		return nil, err
	}
	list := js.StreamNames(ctx)
	for name := range list.Name() {
		names = append(names, name)
	}
	return names, list.Err()
}

// TestReadersByOldClient: a client of the older kind reads what a consumer pushes, and acknowledges what it pulls.
func TestReadersByOldClient(t *testing.T) {
	l, _, addr := listeningLog(t)
	for range 5 {
		if _, err := l.Append(t.Context(), &fanfold.Event{Kind: fanfold.KindFence}, fanfold.Expect{}); err != nil {
			t.Fatal(err)
		}
	}
	nc, err := nats.Connect("nats://"+addr, nats.UserInfo(readerName, ""))
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	js, err := nc.JetStream()
	if err != nil {
		t.Fatal(err)
	}
	pushed, err := js.SubscribeSync("fanfold.>", nats.BindStream("fanfold"), nats.OrderedConsumer())
	if err != nil {
		t.Fatal(err)
	}
	for range 5 {
		if _, err := pushed.NextMsg(30 * time.Second); err != nil {
			t.Fatal(err)
		}
	}
	pulled, err := js.PullSubscribe("fanfold.>", "", nats.BindStream("fanfold"))
	if err != nil {
		t.Fatal(err)
	}
	got, err := pulled.Fetch(5, nats.MaxWait(30*time.Second))
	if err != nil || len(got) != 5 {
		t.Fatalf("pulled %d, %v", len(got), err)
	}
	if err := got[4].AckSync(); err != nil {
		t.Error(err)
	}
	for _, opt := range []nats.Option{nats.UserInfo(nodeUser, ""), nats.UserInfo("other", ""), nats.UserInfo("", "x"), nats.Token("x")} {
		if other, err := nats.Connect("nats://"+addr, opt); err == nil {
			other.Close()
			t.Error("a client with wrong credentials was let in")
		}
	}
}
