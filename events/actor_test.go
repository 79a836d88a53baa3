package events

import (
	"context"
	"testing"

	"github.com/fanfold/fanfold"
)

// TestActor: an event comes back with its actor, from the server and from the files, and has another digest than one without. An
// event without an actor has no header of it.
func TestActor(t *testing.T) {
	l, _, _ := embeddedLog(t, Always)
	const actor = "jürgen@example.com, \"x\"\n"
	for _, name := range []string{"", actor} {
		ev := queuePut("a")
		ev.Actor = name
		if _, err := l.Append(t.Context(), ev, fanfold.Expect{}); err != nil {
			t.Fatal(err)
		}
	}
	several := []fanfold.Write{{Event: queuePut("b")}, {Event: queuePut("c")}}
	several[1].Event.Actor = actor
	if _, err := l.AppendAll(t.Context(), "tx", several); err != nil {
		t.Fatal(err)
	}
	for name, open := range map[string]func(ctx context.Context) (messages, error){
		"files": func(context.Context) (messages, error) {
			return openBlockMessages(l.opt.Embedded.opt.Dir, "fanfold", 1, &l.run.Load().highest)
		},
		"server": func(ctx context.Context) (messages, error) { return l.consume(ctx, 1) },
	} {
		from, err := open(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for i, want := range []string{"", actor, "", actor} {
			m, err := from.receive(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			var ev fanfold.Event
			if err := readHeaders(m.headers, &ev); err != nil || ev.Actor != want {
				t.Errorf("%s: the actor of event %d is %q, %v; want %q", name, i+1, ev.Actor, err, want)
			}
			if has := m.headers[headerActor] != nil; has != (want != "") {
				t.Errorf("%s: event %d has the header: %t", name, i+1, has)
			}
			with, _ := digest(nil, m.seq, m.time, m.subject, m.headers, m.data)
			delete(m.headers, headerActor)
			if without, _ := digest(nil, m.seq, m.time, m.subject, m.headers, m.data); (with == without) != (want == "") {
				t.Errorf("%s: the actor of event %d is not in its digest", name, i+1)
			}
		}
		from.close()
	}
}
