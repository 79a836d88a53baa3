package embedded_test

import (
	"errors"
	"fmt"
	"reflect"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/events"
	"github.com/fanfold/fanfold/events/servers"
	"github.com/fanfold/fanfold/tests/natsserver"
)

// TestGuardsOfBothForms: in a log that has guards in the form of earlier programs and in the short one, conditions hold for both, and both
// are read. It is so in a log that was moved to outside servers, too, to which the short form is not written.
func TestGuardsOfBothForms(t *testing.T) {
	if err := connectIn(t, t.TempDir(), events.Options{}, func(l *events.Log, nc *nats.Conn) { guardBothForms(t, l, nc, true) }); err != nil {
		t.Fatal(err)
	}
	nc, err := servers.Connect(natsserver.Start(t, 1)[0])
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	l, err := events.Open(t.Context(), nc, events.Options{})
	if err != nil {
		t.Fatal(err)
	}
	guardBothForms(t, l, nc, false)
}

// guardBothForms writes guards of both forms to a new log, which itself writes the short form or not.
func guardBothForms(t *testing.T, l *events.Log, nc *nats.Conn, short bool) {
	t.Helper()
	if l.JoinsLinks() != short {
		t.Fatalf("a log that joins links: %t", !short)
	}
	raw := func(subject, payload string) uint64 {
		t.Helper()
		answer, err := nc.Request("fanfold.fanfold."+subject, []byte(payload), 10*time.Second)
		var ack servers.Ack
		if err == nil {
			ack, err = servers.Read(answer)
		}
		if err != nil {
			t.Fatalf("%s: %v", subject, err)
		}
		return ack.Seq
	}
	target := fanfold.Key{Collection: "c", ID: "target"}
	link := func(ids ...string) *fanfold.Event {
		ev := &fanfold.Event{Kind: fanfold.KindLink, Key: target, Held: true}
		for _, id := range ids {
			ev.Holders = append(ev.Holders, fanfold.Key{Collection: "books", ID: id})
		}
		return ev
	}
	claim := func(id string) *fanfold.Event {
		return &fanfold.Event{Kind: fanfold.KindClaim, Key: fanfold.Key{Collection: "books", ID: id}, Path: "isbn", Value: "s1", Held: true}
	}
	write := func(ev *fanfold.Event, rev uint64) (uint64, error) {
		return l.AppendAll(t.Context(), "", []fanfold.Write{{Event: ev, Expect: fanfold.Exactly(fanfold.Revision(rev))}, {Event: put(fmt.Sprint("after", rev, len(ev.Holders)), `{}`)}})
	}
	wantStale := func(what string, current uint64, err error) {
		t.Helper()
		var e *fanfold.Error
		if fanfold.CodeOf(err) != fanfold.Stale || !errors.As(err, &e) || uint64(e.Current) != current {
			t.Errorf("%s: %v, not stale at %d", what, err, current)
		}
	}
	wantLink := func(seq uint64) {
		t.Helper()
		last, err := l.LastAbout(t.Context(), fanfold.KindLink, target)
		if err != nil || last != seq {
			t.Errorf("the last link is %d, not %d: %v", last, seq, err)
		}
	}
	must := func(seq uint64, err error) uint64 {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return seq
	}
	check := func(base uint64) *fanfold.Event {
		return &fanfold.Event{Kind: fanfold.KindCheck, Key: target, Base: fanfold.Revision(base), Links: true}
	}
	rev := must(l.Append(t.Context(), put("target", `{}`), fanfold.Exactly(0)))

	earlier := raw("link.c.target.books.b1", `{"v":1,"op":"link","collection":"c","id":"target","holder":{"collection":"books","id":"b1"},"held":true}`)
	wantLink(earlier)
	ours := must(write(link("b2"), rev))
	wantLink(ours)
	_, err := write(check(earlier), earlier)
	wantStale("a link of this program", ours, err)
	joined := raw("link.c.target.books", `{"v":3,"held":["b3","b4"]}`)
	wantLink(joined)
	_, err = write(check(ours), ours)
	wantStale("a link in the short form", joined, err)
	must(write(check(joined), joined))
	moved := must(l.Append(t.Context(), put("target", `{"n":2}`), fanfold.Exactly(fanfold.Revision(rev))))
	_, err = write(link("b5"), rev)
	wantStale("a target that was written", moved, err)
	if _, err := write(link("b6", "b7"), moved); (err == nil) != short {
		t.Errorf("a link of several holders: %v", err)
	}

	const taken = "claim.books.VW3HG2UbL8YjrJITQS3iYdPfo3tZIFIHd3A62HYH7G8"
	first := raw(taken, `{"v":1,"op":"claim","collection":"books","id":"b1","path":"isbn","value":"s1","held":true}`)
	_, err = write(claim("b2"), 0)
	wantStale("a claim in the earlier form", first, err)
	second := must(write(claim("b2"), first))
	third := raw(taken, `{"v":3,"freed":"b2","path":"isbn","value":"s1"}`)
	_, err = write(claim("b3"), second)
	wantStale("a claim in the short form", third, err)
	must(write(claim("b3"), third))

	freed := claim("b2")
	freed.Held = false
	want := []*fanfold.Event{link("b1"), link("b2"), link("b3", "b4"), link("b6", "b7"), claim("b1"), claim("b2"), freed, claim("b3")}
	if !short {
		want = append(want[:3], want[4:]...)
	}
	wantGuards(t, l, want)
}

// wantGuards checks which links and claims a log has.
func wantGuards(t *testing.T, l *events.Log, want []*fanfold.Event) {
	t.Helper()
	last, err := l.LastSeq(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	r, err := l.Read(t.Context(), 1)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	for seq := uint64(0); seq < last; {
		ev, _, err := r.Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if seq = ev.Seq; ev.Kind != fanfold.KindLink && ev.Kind != fanfold.KindClaim {
			continue
		}
		said := &fanfold.Event{Kind: ev.Kind, Key: ev.Key, Holders: ev.Holders, Path: ev.Path, Value: ev.Value, Held: ev.Held}
		if len(want) == 0 || !reflect.DeepEqual(said, want[0]) {
			t.Fatalf("event %d is %+v, not %+v", seq, said, want)
		}
		want = want[1:]
	}
	if len(want) > 0 {
		t.Errorf("the log lacks %+v", want[0])
	}
}
