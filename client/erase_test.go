package client_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/fanfold/fanfold/client"
)

// TestErasureCalls: what is sent for erasures, and what is read of the answers. The first answer to each request is lost.
func TestErasureCalls(t *testing.T) {
	seen := map[string]int{}
	phases := []string{"replaying", "switching", "deleting", "done"}
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		asked := r.Method + " " + r.URL.String() + " " + string(body)
		if seen[asked]++; seen[asked] == 1 && !strings.Contains(asked, "export") {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		switch asked {
		case `POST /v1/_erase?dryRun=true {"documents":[{"collection":"c","id":"1"}]}`:
			fmt.Fprint(w, `{"documents":1,"living":1,"versions":3,"events":4,"copies":{"b.name":2},"frozen":{},"kept":{}}`)
		case `POST /v1/_erase {"documents":[{"collection":"c","id":"1"},{"collection":"c","id":"2"}],"members":["/email"]}`:
			w.WriteHeader(http.StatusAccepted)
			fmt.Fprint(w, `{"number":7,"phase":"replaying","documents":2,"events":4,"time":"2026-01-01T00:00:00Z"}`)
		case `GET /v1/_erasures/7 `:
			fmt.Fprintf(w, `{"number":7,"phase":"%s","documents":2,"events":4,"time":"2026-01-01T00:00:00Z","nodes":["n1"],"residue":[{"where":"S","do":"it"}]}`, phases[0])
			phases = phases[1:]
		case `GET /v1/_erasures `:
			fmt.Fprint(w, `{"erasures":[{"number":7,"phase":"done"}],"more":true}`)
		case `GET /v1/_erasures?export=true `:
			fmt.Fprint(w, "line\n")
		case `POST /v1/_find {"text":"Ada"}`:
			fmt.Fprint(w, `{"found":[{"collection":"c","id":"1","versions":2,"deleted":true}],"more":false}`)
		default:
			t.Errorf("asked %s", asked)
			w.WriteHeader(http.StatusNotFound)
		}
	}))
	t.Cleanup(srv.Close)
	c, ctx := connect(t, srv.URL, client.Options{}), t.Context()
	one := client.Target{Collection: "c", ID: "1"}
	if plan := must(c.PlanErasure(ctx, []client.Target{one}, client.EraseOptions{}))(t); plan.Versions != 3 || plan.Copies["b.name"] != 2 {
		t.Errorf("the plan is %+v", plan)
	}
	begun := must(c.Erase(ctx, []client.Target{one, {Collection: "c", ID: "2"}}, client.EraseOptions{Members: []string{"/email"}}))(t)
	if begun.Number != 7 || begun.Done() {
		t.Errorf("it is %+v", begun)
	}
	told := 0
	end := must(c.AwaitErasure(ctx, begun.Number, func(*client.Erasure) { told++ }))(t)
	if !end.Done() || told != 4 || len(end.Nodes) != 1 || end.Residue[0].Do != "it" {
		t.Errorf("told %d times, then %+v", told, end)
	}
	if list, more, err := c.Erasures(ctx); err != nil || len(list) != 1 || !more {
		t.Errorf("%v: %+v, %t", err, list, more)
	}
	lines := must(c.ExportErasures(ctx))(t)
	if text, err := io.ReadAll(lines); err != nil || string(text) != "line\n" || lines.Close() != nil {
		t.Errorf("%v: %s", err, text)
	}
	if found, more, err := c.FindText(ctx, "Ada"); err != nil || more || len(found) != 1 || found[0].Versions != 2 || !found[0].Deleted {
		t.Errorf("%v: %+v, %t", err, found, more)
	}
	ended, cancel := context.WithCancel(ctx)
	cancel()
	if _, err := c.ExportErasures(ended); !errors.Is(err, context.Canceled) {
		t.Errorf("an export that is ended: %v", err)
	}
}

// TestErasedChanges: what a consumer does about a change that an erasure has made.
func TestErasedChanges(t *testing.T) {
	for _, c := range []struct {
		change             client.Change
		gone, erased, anew bool
	}{
		{client.Change{Op: "erase"}, true, true, false},
		{client.Change{Op: "delete"}, true, false, false},
		{client.Change{Op: "leave"}, true, false, false},
		{client.Change{Op: "derive", Cause: &client.Cause{Rule: "erase"}}, false, false, true},
		{client.Change{Op: "derive", Cause: &client.Cause{Rule: "books.name"}}, false, false, false},
		{client.Change{Op: "derive"}, false, false, false},
		{client.Change{Op: "patch", Cause: &client.Cause{Rule: "erase"}}, false, false, false},
	} {
		if got := c.change; got.Gone() != c.gone || got.Erased() != c.erased || got.Anew() != c.anew {
			t.Errorf("%+v: gone %t, erased %t, anew %t", got, got.Gone(), got.Erased(), got.Anew())
		}
	}
}
