package embedded

import (
	"testing"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/events"
)

// TestActorsAreRead: an event comes back with its actor, from the files and from the server.
func TestActorsAreRead(t *testing.T) {
	const actor = "jürgen@example.com, \"x\"\n"
	var files *filesRead
	l, _, _, _ := embeddedLog(t, Always, func(opt *events.Options) {
		files = &filesRead{Server: opt.Embedded.(*Server)}
		opt.Embedded = files
	})
	by := func(id, actor string) fanfold.Write {
		w := writeOf(id, 3)
		w.Event.Actor = actor
		return w
	}
	for _, name := range []string{"", actor} {
		if _, err := l.Append(t.Context(), by("a", name).Event, fanfold.Expect{}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := l.AppendAll(t.Context(), "tx", []fanfold.Write{by("b", ""), by("c", actor)}); err != nil {
		t.Fatal(err)
	}
	for _, files.serverSyncs = range []bool{false, true} {
		r, err := l.Read(t.Context(), 1)
		if err != nil {
			t.Fatal(err)
		}
		for i, want := range []string{"", actor, "", actor} {
			ev, _, err := r.Next(t.Context())
			if err != nil || ev.Actor != want {
				t.Errorf("through the server %t: the actor of event %d is %q, %v; want %q", files.serverSyncs, i+1, ev.Actor, err, want)
			}
		}
		r.Close()
	}
	if files.opened != 1 {
		t.Errorf("the files were opened %d times", files.opened)
	}
}
