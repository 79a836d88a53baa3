package history_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/access"
	"github.com/fanfold/fanfold/tests/harness"
	"github.com/fanfold/fanfold/tests/suite"
)

// TestRandomHistoriesOfPrincipals is TestRandomHistories in closed stores: a principal who writes half of the collections asks for half
// of the writes. Those that it may not make leave no event, and the others are as if an admin had made them.
func TestRandomHistoriesOfPrincipals(t *testing.T) {
	suite.Parallel(t)
	checks := suite.Amount(shortHistories/4, longHistories/4) / lanes
	if testing.Short() {
		checks = 1
	}
	checkInLanes(t, checks, suite.ShareHistories, "random histories of principals", func(t *rapid.T) { historyIn(t, true) })
}

// closeHouse makes an admin, who sends everything but what half does, and half: its role is write.
func (h *history) closeHouse() {
	h.s.CloseHouse()
	h.half = h.s.NewKey("write")
}

// actorOf names in events who sends a key, "" for nobody.
func actorOf(key string) string {
	if key == "" {
		return ""
	}
	k, err := access.ParseKey(key)
	if err != nil {
		panic(err)
	}
	return k.String()
}

// halfMay tells what half may do in a collection, by the access that random models have.
func (h *history) halfMay(collection string) (reads, writes bool) {
	switch access := h.o.model.access[collection]; access {
	case "", `{"read":["half"],"write":["write"]}`:
		return true, true
	case `{"read":["everyone"]}`:
		return true, false
	case `{}`:
		return false, false
	default:
		h.t.Fatalf("what half may do by %s is not known", access)
		return false, false
	}
}

// refusesHalf tells whether half may not make a write. Then it asks for it all the same, and is refused, and nothing is stored.
func (h *history) refusesHalf(op operation) bool {
	method, path, body, at := http.MethodPut, harness.Path(op.key.collection, op.key.id)+op.query(), op.body, -1
	contentType := "application/json"
	switch op.kind {
	case "merge-patch", "json-patch":
		method, contentType = http.MethodPatch, "application/"+op.kind+"+json"
	case "increment":
		method, contentType, body = http.MethodPatch, "application/json-patch+json", `[{"op":"increment","path":"/n","value":1}]`
	case "delete":
		method, body = http.MethodDelete, ""
	case "transaction":
		at = slices.IndexFunc(op.parts, func(p operation) bool {
			_, writes := h.halfMay(p.key.collection)
			return !writes
		})
		var parts []string
		for _, p := range op.parts {
			parts = append(parts, fmt.Sprintf(`{"op":"put","collection":%q,"id":%q,"body":{}}`, p.key.collection, p.key.id))
		}
		method, path, body = http.MethodPost, "/v1/_transactions", `{"operations":[`+strings.Join(parts, ",")+`]}`
	}
	if _, writes := h.halfMay(op.key.collection); op.kind == "transaction" && at < 0 || op.kind != "transaction" && writes {
		return false
	}
	before := h.lastSeq()
	r := h.s.With(h.half).Want(http.StatusForbidden, method, path, body, "Content-Type", contentType)
	var problem struct{ Operation *int }
	if err := json.Unmarshal(r.Body, &problem); err != nil || (problem.Operation != nil) != (at >= 0) || at >= 0 && *problem.Operation != at {
		h.t.Fatalf("operation %d is refused; told was %s", at, r.Body)
	}
	h.wantFencesFrom(before + 1)
	return true
}

// lastSeq returns the last event of the log.
func (h *history) lastSeq() uint64 {
	h.t.Helper()
	seq, err := h.s.Node.Log.LastSeq(h.t.Context())
	if err != nil {
		h.t.Fatal(err)
	}
	return seq
}

// wantFencesFrom fails the test where the log has other events than fences from a sequence on.
func (h *history) wantFencesFrom(seq uint64) {
	h.t.Helper()
	last := h.lastSeq()
	if last < seq {
		return
	}
	r, err := h.s.Node.Log.Read(h.t.Context(), seq)
	if err != nil {
		h.t.Fatal(err)
	}
	defer r.Close()
	for ; seq <= last; seq++ {
		ev, _, err := r.Next(h.t.Context())
		if err != nil {
			h.t.Fatal(err)
		}
		if ev.Kind != fanfold.KindFence {
			h.t.Fatalf("a refused write has left the event %d, a %s of %s", ev.Seq, ev.Kind, ev.Key)
		}
	}
}

// rehearsed is the answer to a dry run.
type rehearsed struct {
	Derived            int
	Rules, Collections map[string]int
	Writes             []struct{ Op, Collection, ID string }
}

// wantHalf fails the test unless half is told of a dry run what an admin is, without what it may not read.
func (h *history) wantHalf(admins, halfs *harness.Response) {
	h.t.Helper()
	var want, got rehearsed
	for r, out := range map[*harness.Response]*rehearsed{admins: &want, halfs: &got} {
		if err := json.Unmarshal(r.Body, out); err != nil {
			h.t.Fatalf("%s: %v", r.Body, err)
		}
	}
	hidden := func(collection string) bool {
		reads, _ := h.halfMay(collection)
		return !reads
	}
	want.Writes = slices.DeleteFunc(want.Writes, func(w struct{ Op, Collection, ID string }) bool { return hidden(w.Collection) })
	maps.DeleteFunc(want.Rules, func(rule string, _ int) bool { return hidden(strings.Split(rule, ".")[0]) })
	maps.DeleteFunc(want.Collections, func(c string, n int) bool {
		if hidden(c) {
			want.Derived -= n
		}
		return hidden(c)
	})
	if !maps.Equal(want.Rules, got.Rules) || !maps.Equal(want.Collections, got.Collections) || !slices.Equal(want.Writes, got.Writes) || want.Derived != got.Derived {
		h.t.Fatalf("half is told %s, an admin %s", halfs.Body, admins.Body)
	}
}
