package events_test

import (
	"strings"
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/events"
	"github.com/fanfold/fanfold/tests/natsserver"
)

// makeStream makes the log's stream with settings that change may alter, and returns a connection to its server.
func makeStream(t *testing.T, change func(*jetstream.StreamConfig)) (*nats.Conn, jetstream.Stream) {
	t.Helper()
	nc := natsserver.Connect(t, natsserver.Start(t, 1)[0])
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	config := jetstream.StreamConfig{Name: "fanfold", Subjects: []string{"fanfold.fanfold.>"}, Duplicates: events.DefaultWindow,
		AllowAtomicPublish: true, AllowDirect: true}
	change(&config)
	s, err := js.CreateStream(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	return nc, s
}

// TestNewLogIsErasable: a new stream may be erased in, and has its base in the metadata.
func TestNewLogIsErasable(t *testing.T) {
	url := natsserver.Start(t, 1)[0]
	l := open(t, url, 1)
	js, err := jetstream.New(natsserver.Connect(t, url))
	if err != nil {
		t.Fatal(err)
	}
	s, err := js.Stream(t.Context(), "fanfold")
	if err != nil {
		t.Fatal(err)
	}
	if c := s.CachedInfo().Config; c.DenyDelete || c.DenyPurge || !l.Prefix().Erasable() {
		t.Errorf("delete denied: %v, purge denied: %v, erasable: %v", c.DenyDelete, c.DenyPurge, l.Prefix().Erasable())
	}
	if base := s.CachedInfo().Config.Metadata["fanfold-base"]; base != "0 "+strings.Repeat("0", 64) {
		t.Errorf("the base is %q", base)
	}
	for range 3 {
		if _, err := l.Fence(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.DeleteMsg(t.Context(), 2); err != nil {
		t.Fatal(err)
	}
	if err := l.Check(t.Context(), events.Known{}); fanfold.CodeOf(err) != fanfold.LogDamaged || !strings.Contains(err.Error(), "1 are missing: 2") {
		t.Errorf("an event was deleted, and the check says %v", err)
	}
}

// TestOldLogIsNotErasable: a stream that an older version made goes on to work.
func TestOldLogIsNotErasable(t *testing.T) {
	nc, _ := makeStream(t, func(c *jetstream.StreamConfig) { c.DenyDelete, c.DenyPurge = true, true })
	l, err := events.Open(t.Context(), nc, events.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if seq, err := l.Append(t.Context(), put("1", `{}`), fanfold.Exactly(0)); seq != 1 || err != nil {
		t.Errorf("append: %d, %v", seq, err)
	}
	if err := l.Check(t.Context(), events.Known{Seq: 1}); err != nil || l.Prefix().Erasable() || l.Prefix().Base() != (events.Base{}) {
		t.Errorf("check: %v, erasable: %v, base %v", err, l.Prefix().Erasable(), l.Prefix().Base())
	}
}

// TestBase: a log begins after its base.
func TestBase(t *testing.T) {
	base := events.Base{Seq: 5, Digest: fanfold.Digest{5}}
	nc, _ := makeStream(t, func(c *jetstream.StreamConfig) {
		c.FirstSeq, c.Metadata = 6, map[string]string{"fanfold-base": base.String()}
	})
	l, err := events.Open(t.Context(), nc, events.Options{})
	if err != nil || l.Prefix().Base() != base {
		t.Fatalf("base %v, %v", l.Prefix().Base(), err)
	}
	if seq, err := l.Append(t.Context(), put("1", `{}`), fanfold.Exactly(0)); seq != 6 || err != nil {
		t.Fatalf("append: %d, %v", seq, err)
	}
	if err := l.Check(t.Context(), events.Known{Seq: 6}); err != nil {
		t.Errorf("check: %v", err)
	}
	var read []uint64
	if err := l.Scan(t.Context(), 1, 6, func(seq uint64, _ int, _ fanfold.Digest) error { read = append(read, seq); return nil }); err != nil || len(read) != 1 || read[0] != 6 {
		t.Errorf("scan: %v, %v", read, err)
	}
	for from, code := range map[uint64]fanfold.Code{6: "", 1: fanfold.LogDamaged} {
		r, err := l.Read(t.Context(), from)
		if err != nil {
			t.Fatal(err)
		}
		if _, _, err := r.Next(t.Context()); fanfold.CodeOf(err) != code {
			t.Errorf("from %d: %v", from, err)
		}
		r.Close()
	}
}

// TestBaseThatCannotBeRead: a base in another form is of a later version, and the log is refused.
func TestBaseThatCannotBeRead(t *testing.T) {
	for _, text := range []string{"", "5", "x " + strings.Repeat("0", 64), "5 00", "05 " + strings.Repeat("0", 64)} {
		nc, _ := makeStream(t, func(c *jetstream.StreamConfig) { c.Metadata = map[string]string{"fanfold-base": text} })
		if _, err := events.Open(t.Context(), nc, events.Options{}); fanfold.CodeOf(err) != fanfold.Invalid {
			t.Errorf("base %q: %v", text, err)
		}
	}
}
