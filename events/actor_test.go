package events

import (
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/fanfold/fanfold"
)

// TestActor: headers give back an event's actor and make another digest than those without. An event without an actor has no
// header of it.
func TestActor(t *testing.T) {
	for _, want := range []string{"", "jürgen@example.com, \"x\"\n"} {
		h := nats.Header{}
		setHeaders(h, &fanfold.Event{Actor: want})
		var ev fanfold.Event
		if err := readHeaders(h, &ev); err != nil || ev.Actor != want {
			t.Errorf("the actor is %q, %v; want %q", ev.Actor, err, want)
		}
		if has := h[headerActor] != nil; has != (want != "") {
			t.Errorf("the actor %q has a header: %t", want, has)
		}
		at := time.Unix(1, 0)
		with, _ := digest(nil, 1, at, "fanfold.doc.a.b", h, nil)
		delete(h, headerActor)
		if without, _ := digest(nil, 1, at, "fanfold.doc.a.b", h, nil); (with == without) != (want == "") {
			t.Errorf("the actor %q is not in the digest", want)
		}
	}
}
