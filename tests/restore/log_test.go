package restore_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/backup"
	"github.com/fanfold/fanfold/backup/transfer"
	"github.com/fanfold/fanfold/events"
	"github.com/fanfold/fanfold/events/embedded"
	"github.com/fanfold/fanfold/tests/harness"
	"github.com/fanfold/fanfold/tests/natsserver"
)

// restoredEvents restores so many events after a base, all under the same key and with times of their own.
func restoredEvents(t *testing.T, nc *nats.Conn, opt events.RestoreOptions, n uint64) (chain fanfold.Digest) {
	t.Helper()
	opt.Logger, opt.Origin = slog.New(slog.DiscardHandler), fanfold.Origin{{Store: "aaaaaaaa", Last: opt.Base.Seq + n}}
	r, err := events.Restore(t.Context(), nc, opt)
	if err != nil {
		t.Fatal(err)
	}
	for i := range n {
		seq := opt.Base.Seq + 1 + i
		m := &events.Message{Subject: "fanfold.fanfold.doc.docs.a", Headers: nats.Header{fanfold.HeaderKey: {"k"}, fanfold.HeaderDigest: {"d"}},
			Data: fmt.Appendf(nil, `{"v":1,"op":"put","body":{"x":%d}}`, i), Seq: seq, Time: time.Unix(int64(seq), 5)}
		if err := r.Add(t.Context(), m); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := events.Open(t.Context(), nc, events.Options{Embedded: opt.Embedded}); fanfold.CodeOf(err) != fanfold.Conflict {
		t.Fatalf("an unfinished log is opened: %v", err)
	}
	if err := r.Finish(t.Context(), nil, nil); err != nil {
		t.Fatal(err)
	}
	_, _, chain = r.Last()
	return chain
}

// TestRestoreAfterABase restores a log that begins after a base, on servers and in an embedded one. No event is dropped because another one has
// its key.
func TestRestoreAfterABase(t *testing.T) {
	base := events.Base{Seq: 41, Digest: fanfold.Digest{1}}
	const n = 2500
	embeddedServer, err := embedded.Start(t.Context(), embedded.Options{Dir: filepath.Join(t.TempDir(), "nats"), Durability: embedded.Interval, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = embeddedServer.Close() })
	inProcess, err := embeddedServer.Connect()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(inProcess.Close)
	for name, c := range map[string]struct {
		nc  *nats.Conn
		opt events.RestoreOptions
	}{
		"embedded": {inProcess, events.RestoreOptions{Embedded: embeddedServer, Replicas: 1, Base: base}},
		"servers":  {natsserver.Connect(t, natsserver.Start(t, 3)[0]), events.RestoreOptions{Replicas: 3, Base: base}},
	} {
		t.Run(name, func(t *testing.T) {
			chain := restoredEvents(t, c.nc, c.opt, n)
			l, err := events.Open(t.Context(), c.nc, events.Options{Embedded: c.opt.Embedded, Replicas: c.opt.Replicas})
			if err != nil {
				t.Fatal(err)
			}
			if l.Prefix().Base() != base || l.Store() == "aaaaaaaa" || l.Origin().String() != "aaaaaaaa:2541" || l.Window() != events.DefaultWindow {
				t.Fatalf("the log begins after %v, is of %s after %s", l.Prefix().Base(), l.Store(), l.Origin())
			}
			r, err := l.Read(t.Context(), base.Seq+1)
			if err != nil {
				t.Fatal(err)
			}
			defer r.Close()
			got := base.Digest
			for seq := base.Seq + 1; seq <= base.Seq+n; seq++ {
				ev, _, err := r.Next(t.Context())
				if err != nil || ev.Seq != seq || !ev.Time.Equal(time.Unix(int64(seq), 5)) {
					t.Fatalf("event %d is %+v, %v", seq, ev, err)
				}
				got = got.Followed(ev.Digest)
			}
			if got != chain {
				t.Fatalf("the digest is %s, want %s", got, chain)
			}
			rev, err := l.Append(t.Context(), &fanfold.Event{Kind: fanfold.KindPut, Key: fanfold.Key{Collection: "docs", ID: "a"}, Body: []byte(`{}`)}, fanfold.Expect{Set: true, Rev: 2541})
			if err != nil || rev != 2542 {
				t.Fatalf("the next event is %d, %v", rev, err)
			}
		})
	}
}

// TestRestoreOnSmallServers restores onto a server that does not take the largest message. Nothing is made there.
func TestRestoreOnSmallServers(t *testing.T) {
	s := open(t, harness.Options{Dir: t.TempDir()})
	s.Put("docs", "large", `{"x":"`+strings.Repeat("y", 200_000)+`"}`)
	dir := harness.BackUp(t, s)
	url := natsserver.StartWith(t, func(o *server.Options) { o.MaxPayload = 100_000 })
	if _, err := harness.Restore(t.Context(), dir, transfer.RestoreConfig{NATS: url}); fanfold.CodeOf(err) != fanfold.TooLarge {
		t.Fatalf("a restore onto a small server: %v", err)
	}
	js, err := jetstream.New(natsserver.Connect(t, url))
	if err != nil {
		t.Fatal(err)
	}
	for name := range js.StreamNames(t.Context()).Name() {
		t.Fatalf("stream %s was made", name)
	}
}

// TestRestoreIsBounded restores many events. The server never drops one because it has too many at once, whatever their sizes.
func TestRestoreIsBounded(t *testing.T) {
	var stream strings.Builder
	out, err := backup.NewStream(&stream, backup.Point{}, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	const n = 30_000
	for seq := uint64(1); seq <= n; seq++ {
		body := `{"v":1,"op":"put","body":{}}`
		if seq%3000 == 0 {
			body = `{"v":1,"op":"put","body":{"x":"` + strings.Repeat("y", 7<<20) + `"}}`
		}
		if err := out.Add(&backup.Event{Seq: seq, Time: time.Unix(int64(seq), 0), Subject: "fanfold.fanfold.doc.docs." + fmt.Sprint(seq), Payload: []byte(body)}); err != nil {
			t.Fatal(err)
		}
	}
	if err := out.Finish(backup.Manifest{Store: "aaaaaaaa"}); err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "backup")
	if err := backup.Unpack(io.Reader(strings.NewReader(stream.String())), dir); err != nil {
		t.Fatal(err)
	}
	digest := out.Digest()
	r, err := harness.Restore(context.Background(), dir, transfer.RestoreConfig{Data: filepath.Join(t.TempDir(), "data")})
	if err != nil || r.Events != n || r.Digest != digest {
		t.Fatalf("%+v, %v", r, err)
	}
}
