package events_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/events"
	"github.com/fanfold/fanfold/events/embedded"
	"github.com/fanfold/fanfold/events/servers"
	"github.com/fanfold/fanfold/tests/natsserver"
)

// compactTo appends an event that makes the log begin after an event, with a made-up base.
func compactTo(t *testing.T, l *events.Log, seq uint64) uint64 {
	t.Helper()
	_, last := l.Prefix().Compaction()
	c := &fanfold.Compaction{Horizon: fanfold.Horizon{Seq: seq, Digest: fanfold.Digest{byte(seq)}, Position: fanfold.At(seq, 0), Time: time.Unix(1, 0)},
		Base: fanfold.BaseFile{Name: fmt.Sprintf("base-%d", seq), Bytes: 1}}
	at, err := l.Append(t.Context(), &fanfold.Event{Kind: fanfold.KindLoss, Loss: &fanfold.Loss{Base: c}}, fanfold.Exactly(fanfold.Revision(last)))
	if err != nil {
		t.Fatal(err)
	}
	if have, haveAt := l.Prefix().Compaction(); haveAt != at || have.Seq != seq || l.Prefix().Base() != (events.Base{Seq: seq, Digest: c.Digest}) {
		t.Fatalf("the log knows compaction %+v of event %d, and base %v", have, haveAt, l.Prefix().Base())
	}
	return at
}

// kept is a log's server that a test starts again.
type kept interface {
	open() *events.Log
	again() *events.Log // once its server was started again
}

// outside is an outside server with some replicas.
type outside struct {
	t        *testing.T
	url      string
	replicas int
}

func (o *outside) open() *events.Log {
	nc, err := servers.Connect(o.url, nats.IgnoreDiscoveredServers())
	if err != nil {
		o.t.Fatal(err)
	}
	o.t.Cleanup(nc.Close)
	l, err := events.Open(o.t.Context(), nc, events.Options{Replicas: o.replicas, PurgeWait: time.Nanosecond, Timeout: time.Minute})
	if err != nil {
		o.t.Fatal(err)
	}
	return l
}

func (o *outside) again() *events.Log { return o.open() }

// inside is an embedded server.
type inside struct {
	t     *testing.T
	dir   string
	syncs bool
	nc    *nats.Conn
	e     *embedded.Server
	known uint64
}

func (i *inside) open() *events.Log {
	t := i.t
	quiet := slog.New(slog.DiscardHandler)
	if i.e == nil {
		t.Cleanup(i.close)
	}
	if tails, err := embedded.CutTail(t.Context(), i.dir, i.known); err != nil || len(tails) > 0 {
		t.Fatalf("cut %+v, %v", tails, err)
	}
	var err error
	if i.e, err = embedded.Start(t.Context(), embedded.Options{Dir: i.dir, Durability: embedded.Always, ServerSyncs: i.syncs, Logger: quiet}); err != nil {
		t.Fatal(err)
	}
	if i.nc, err = i.e.Connect(); err != nil {
		t.Fatal(err)
	}
	l, err := events.Open(t.Context(), i.nc, events.Options{Embedded: i.e, PurgeWait: time.Nanosecond, Logger: quiet, KnownSeq: i.known})
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func (i *inside) close() {
	i.nc.Close()
	if err := i.e.Close(); err != nil {
		i.t.Error(err)
	}
}

func (i *inside) again() *events.Log {
	i.close()
	return i.open()
}

// eachServer runs a test with each kind of server.
func eachServer(t *testing.T, test func(t *testing.T, k kept)) {
	for _, replicas := range []int{1, 3} {
		t.Run(fmt.Sprintf("%d replicas", replicas), func(t *testing.T) {
			test(t, &outside{t, natsserver.Start(t, replicas)[0], replicas})
		})
	}
	for _, syncs := range []bool{false, true} {
		t.Run(fmt.Sprintf("embedded, syncing itself %v", syncs), func(t *testing.T) {
			test(t, &inside{t: t, dir: filepath.Join(t.TempDir(), "nats"), syncs: syncs})
		})
	}
}

// targetOf is the document to which a test's link leads.
func targetOf(id string) fanfold.Key { return fanfold.Key{Collection: "c", ID: id} }

// conditional are writes that are made on what was written before the horizon. Each takes the revisions of what it is made on, and the
// event up to which these were read.
var conditional = []struct {
	name   string
	writes func(id string, at func(kind string) fanfold.Expect) []fanfold.Write
}{
	{"put", func(id string, at func(string) fanfold.Expect) []fanfold.Write {
		return []fanfold.Write{{Event: put(id, `{}`), Expect: at("doc")}}
	}},
	{"patch", func(id string, at func(string) fanfold.Expect) []fanfold.Write {
		return []fanfold.Write{{Event: &fanfold.Event{Kind: fanfold.KindPatch, Key: targetOf(id), Patch: fanfold.MergePatch, Base: at("doc").Rev, Body: []byte(`{}`)}, Expect: at("doc")}}
	}},
	{"delete", func(id string, at func(string) fanfold.Expect) []fanfold.Write {
		return []fanfold.Write{{Event: &fanfold.Event{Kind: fanfold.KindDelete, Key: targetOf(id)}, Expect: at("doc")}}
	}},
	{"create anew", func(id string, at func(string) fanfold.Expect) []fanfold.Write {
		return []fanfold.Write{{Event: put("deleted-"+id, `{}`), Expect: at("deleted")}}
	}},
	{"create", func(id string, at func(string) fanfold.Expect) []fanfold.Write {
		return []fanfold.Write{{Event: put("never-"+id, `{}`), Expect: at("never")}}
	}},
	{"import", func(id string, at func(string) fanfold.Expect) []fanfold.Write {
		return []fanfold.Write{{Event: &fanfold.Event{Kind: fanfold.KindImport, Key: fanfold.Key{ID: "import-" + id}, Body: []byte(`{}`)}, Expect: at("import")}}
	}},
	{"check", func(id string, at func(string) fanfold.Expect) []fanfold.Write {
		return []fanfold.Write{{Event: &fanfold.Event{Kind: fanfold.KindCheck, Key: targetOf(id), Base: at("doc").Rev}, Expect: at("doc")}, {Event: put("beside-"+id, `{}`)}}
	}},
	{"gate", func(id string, at func(string) fanfold.Expect) []fanfold.Write {
		gated := fanfold.Key{Collection: id}
		return []fanfold.Write{{Event: &fanfold.Event{Kind: fanfold.KindCheck, Key: gated, Base: at("gate").Rev}, Expect: at("gate")}, {Event: put("gated-"+id, `{}`)},
			{Event: &fanfold.Event{Kind: fanfold.KindGate, Key: gated}}}
	}},
	{"guards", func(id string, at func(string) fanfold.Expect) []fanfold.Write {
		return []fanfold.Write{
			{Event: &fanfold.Event{Kind: fanfold.KindCheck, Key: targetOf(id), Links: true, Base: at("link").Rev}, Expect: at("link")},
			{Event: &fanfold.Event{Kind: fanfold.KindLink, Key: targetOf("deleted-" + id), Holders: []fanfold.Key{targetOf("h-" + id)}, Held: true}, Expect: at("deleted")},
			{Event: &fanfold.Event{Kind: fanfold.KindClaim, Key: targetOf(id), Path: "p", Value: "s" + id}, Expect: at("claim")},
			{Event: &fanfold.Event{Kind: fanfold.KindDelete, Key: targetOf(id)}, Expect: at("doc")},
		}
	}},
}

// prepare writes what the conditional writes of an id are made on, and returns the revisions.
func prepare(t *testing.T, l *events.Log, id string) map[string]uint64 {
	t.Helper()
	at := map[string]uint64{}
	for _, w := range []struct {
		kind string
		ev   *fanfold.Event
	}{
		{"doc", put(id, `{}`)}, {"", put("deleted-"+id, `{}`)}, {"deleted", &fanfold.Event{Kind: fanfold.KindDelete, Key: targetOf("deleted-" + id)}},
		{"import", &fanfold.Event{Kind: fanfold.KindImport, Key: fanfold.Key{ID: "import-" + id}, Body: []byte(`{}`)}},
		{"link", &fanfold.Event{Kind: fanfold.KindLink, Key: targetOf(id), Holders: []fanfold.Key{targetOf("h-" + id)}}},
		{"gate", &fanfold.Event{Kind: fanfold.KindGate, Key: fanfold.Key{Collection: id}}},
		{"claim", &fanfold.Event{Kind: fanfold.KindClaim, Key: targetOf(id), Path: "p", Value: "s" + id, Held: true}},
	} {
		seq, err := l.Append(t.Context(), w.ev, fanfold.Expect{})
		if err != nil {
			t.Fatal(err)
		}
		at[w.kind] = seq
	}
	at["never"] = 0
	return at
}

// appendTo appends writes: one by itself, several as a transaction.
func appendTo(ctx context.Context, l *events.Log, writes []fanfold.Write) error {
	if len(writes) == 1 {
		_, err := l.Append(ctx, writes[0].Event, writes[0].Expect)
		return err
	}
	_, err := l.AppendAll(ctx, "tx", writes)
	return err
}

// TestConditionsAcrossHorizon: a write on a revision from before the horizon is stored once, before the purge, after it, and after a restart.
// It is refused if the revision was read from a state from before the horizon.
func TestConditionsAcrossHorizon(t *testing.T) {
	eachServer(t, func(t *testing.T, k kept) {
		l := k.open()
		stages := []string{"before the event", "behind the event", "purged", "started again"}
		at := map[string]map[string]uint64{}
		for _, stage := range stages {
			for _, c := range conditional {
				id := strings.ReplaceAll(stage+" "+c.name, " ", "_")
				at[id] = prepare(t, l, id)
			}
		}
		for i := range 10 { // so that the embedded server's next block has the horizon
			if _, err := l.Append(t.Context(), put(fmt.Sprintf("large-%d", i), `{"a":"`+strings.Repeat("x", 1<<20)+`"}`), fanfold.Expect{}); err != nil {
				t.Fatal(err)
			}
		}
		horizon, err := l.LastSeq(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, stage := range stages {
			switch stage {
			case "behind the event":
				compactTo(t, l, horizon)
			case "purged":
				if err := l.Prefix().Purge(t.Context(), nil); err != nil {
					t.Fatal(err)
				}
				if s, err := l.State(t.Context()); err != nil || s.First <= at["started_again_guards"]["claim"] || s.First > horizon+1 || !s.Complete() {
					t.Fatalf("the purged log is %+v, %v", s, err)
				}
			case "started again":
				if i, embedded := k.(*inside); embedded {
					i.known = horizon + 1
				}
				l = k.again()
				if l.Prefix().Base().Seq != horizon {
					t.Fatalf("the log begins at %v", l.Prefix().Base())
				}
			}
			for _, c := range conditional {
				id := strings.ReplaceAll(stage+" "+c.name, " ", "_")
				writes := func(folded uint64) []fanfold.Write {
					return c.writes(id, func(kind string) fanfold.Expect {
						return fanfold.Expect{Set: true, Rev: fanfold.Revision(at[id][kind]), Folded: folded}
					})
				}
				if stage != stages[0] {
					if err := appendTo(t.Context(), l, writes(horizon-1)); !errors.Is(err, fanfold.ErrBehindHorizon) || fanfold.CodeOf(err) != fanfold.Stale {
						t.Errorf("%s, %s: a write on a state from before the horizon: %v", stage, c.name, err)
					}
				}
				if err := appendTo(t.Context(), l, writes(horizon)); err != nil {
					t.Errorf("%s, %s: %v", stage, c.name, err)
				}
				if err := appendTo(t.Context(), l, writes(horizon)); c.name != "check" && fanfold.CodeOf(err) != fanfold.Stale {
					t.Errorf("%s, %s, once more: %v", stage, c.name, err)
				}
			}
		}
		if err := l.Check(t.Context(), events.Known{Seq: 1, Event: fanfold.Digest{9}}); err != nil {
			t.Errorf("the check of an event before the horizon: %v", err)
		}
		if err := l.HasEvent(t.Context(), events.Known{Seq: horizon, Event: fanfold.Digest{9}}); fanfold.CodeOf(err) != fanfold.LogDamaged {
			t.Errorf("the horizon's event is another one: %v", err)
		}
	})
}

// TestUnknownPurge: a node that has not heard of a compact event neither takes its purge for damage, nor the log for one in which a
// document never was.
func TestUnknownPurge(t *testing.T) {
	url := natsserver.Start(t, 1)[0]
	l, lagging := open(t, url, 1), open(t, url, 1)
	for i := range 9 {
		if _, err := l.Append(t.Context(), put(fmt.Sprint(i), `{}`), fanfold.Exactly(0)); err != nil {
			t.Fatal(err)
		}
	}
	r, err := lagging.Read(t.Context(), 1)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	compactTo(t, l, 8)
	purge(t, url, 9)
	if _, err := lagging.Append(t.Context(), put("5", `{}`), fanfold.Expect{Set: true, Rev: 6, Folded: 7}); !errors.Is(err, fanfold.ErrBehindHorizon) {
		t.Errorf("a write on a revision that was purged: %v", err)
	}
	if lagging.Prefix().Base().Seq != 8 {
		t.Errorf("the log is not known to begin after 8 but after %d", lagging.Prefix().Base().Seq)
	}
	if _, err := lagging.Append(t.Context(), put("5", `{}`), fanfold.Expect{Set: true, Rev: 6, Folded: 8}); err != nil {
		t.Error(err)
	}
	other := open(t, url, 1)
	late, err := other.Read(t.Context(), 1)
	if err != nil {
		t.Fatal(err)
	}
	defer late.Close()
	if _, _, err := late.Next(t.Context()); fanfold.CodeOf(err) != fanfold.PositionGone {
		t.Errorf("reading from before the horizon: %v", err)
	}
	seqs := []uint64{}
	if err := other.Scan(t.Context(), 1, 11, func(seq uint64, _ int, _ fanfold.Digest) error { seqs = append(seqs, seq); return nil }); err != nil || fmt.Sprint(seqs) != "[9 10 11]" {
		t.Errorf("scanned %v, %v", seqs, err)
	}
}

// purge removes the events before one, as whoever may do so can.
func purge(t *testing.T, url string, before uint64) {
	t.Helper()
	js, err := jetstream.New(natsserver.Connect(t, url))
	if err != nil {
		t.Fatal(err)
	}
	s, err := js.Stream(t.Context(), "fanfold")
	if err == nil {
		err = s.Purge(t.Context(), jetstream.WithPurgeSequence(before))
	}
	if err != nil {
		t.Fatal(err)
	}
}

// TestPurgeThatNoEventAllows: a log that begins later than its last compact event says is damaged. One that begins earlier is not: a purge may
// have ended midway.
func TestPurgeThatNoEventAllows(t *testing.T) {
	url := natsserver.Start(t, 1)[0]
	l := open(t, url, 1)
	for i := range 9 {
		if _, err := l.Append(t.Context(), put(fmt.Sprint(i), `{}`), fanfold.Exactly(0)); err != nil {
			t.Fatal(err)
		}
	}
	compactTo(t, l, 5)
	for _, c := range []struct {
		before uint64
		want   fanfold.Code
	}{{1, ""}, {3, ""}, {6, ""}, {7, fanfold.LogDamaged}} {
		purge(t, url, c.before)
		if err := l.Check(t.Context(), events.Known{}); fanfold.CodeOf(err) != c.want {
			t.Errorf("purged before %d: %v", c.before, err)
		}
	}
	if err := l.Check(t.Context(), events.Known{}); !strings.Contains(err.Error(), "so that 1 are missing: all before 7") {
		t.Error(err)
	}
}

// TestPurgeWaits: the log is not purged while a write may be on its way from before the event.
func TestPurgeWaits(t *testing.T) {
	l := open(t, natsserver.Start(t, 1)[0], 1)
	if err := l.Prefix().Purge(t.Context(), nil); err != nil {
		t.Errorf("there is nothing to purge: %v", err)
	}
	if _, err := l.Append(t.Context(), put("1", `{}`), fanfold.Exactly(0)); err != nil {
		t.Fatal(err)
	}
	compactTo(t, l, 1)
	if err := l.Prefix().Purge(t.Context(), nil); fanfold.CodeOf(err) != fanfold.Conflict {
		t.Errorf("purged at once: %v", err)
	}
	if err := l.Prefix().MayCompact(t.Context()); err != nil {
		t.Error(err)
	}
}

// TestOldLogCannotBeCompacted: a stream from which nothing can be removed is not compacted, and the error says what to do.
func TestOldLogCannotBeCompacted(t *testing.T) {
	nc, _ := makeStream(t, func(c *jetstream.StreamConfig) { c.DenyPurge = true })
	l, err := events.Open(t.Context(), nc, events.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Prefix().MayCompact(t.Context()); fanfold.CodeOf(err) != fanfold.Conflict || !strings.Contains(err.Error(), "fanfold restore") {
		t.Error(err)
	}
}
