package model_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/internal/jsondoc"
	"github.com/fanfold/fanfold/tests/harness"
	"github.com/fanfold/fanfold/tests/suite"
)

// TestRacesUnderRules: writers on one and two nodes give documents to one another, without conditions of their own. Each event of the log was
// made by the owner of the very revision that it replaces, and no write is refused for being slower than another one.
func TestRacesUnderRules(t *testing.T) {
	suite.Concurrent(t)
	for nodes, replicas := range []int{1: embedded, 2: 1} {
		if nodes == 0 {
			continue
		}
		t.Run(strconv.Itoa(nodes), func(t *testing.T) {
			all := cluster(t, replicas, nodes)
			all[0].CloseHouse()
			all[0].Model(`{collections: {things: {access: {read: [everyone], create: {where: "doc.owner == auth.sub"}, update: {where: "old.owner == auth.sub"}, delete: {where: "old.owner == auth.sub"}}}}}`)
			keys := make([]string, 4)
			for i := range keys {
				keys[i] = all[0].NewKey("member")
			}
			for _, n := range all {
				n.Key = all[0].Key
				n.CatchUp()
				awaitKey(t, n.With(keys[len(keys)-1]))
			}
			seen := ownerRace(t, all, keys, suite.Amount(40, 400))
			for _, n := range all {
				n.CatchUp()
			}
			wantOwners(t, all[0])
			for _, status := range []int{201, 204, 403} {
				if seen[status] == 0 {
					t.Errorf("no write was answered with %d: %v", status, seen)
				}
			}
		})
	}
}

// awaitKey waits until a node knows a client's key.
func awaitKey(t *testing.T, c *harness.Client) {
	t.Helper()
	for {
		r, err := c.Do("GET", "/v1/_me", nil)
		if err != nil {
			t.Fatal(err)
		}
		if r.Status == 200 {
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// ownerRace has two writers for each key write two documents, and counts the answers.
func ownerRace(t *testing.T, nodes []*harness.Store, keys []string, rounds int) map[int]int {
	t.Helper()
	var mu sync.Mutex
	var all sync.WaitGroup
	seen := map[int]int{}
	for w := range 2 * len(keys) {
		all.Go(func() {
			c, rng := nodes[w%len(nodes)].With(keys[w/2]), rand.New(rand.NewPCG(51, uint64(w)))
			for n := range rounds {
				method, path, headers := "PUT", fmt.Sprintf("/v1/things/t%d", rng.IntN(2)), []string{"Content-Type", jsonType}
				body := fmt.Sprintf(`{"owner":"key:%s","n":"%d.%d"}`, keys[rng.IntN(len(keys))][4:16], w, n)
				switch rng.IntN(5) {
				case 0:
					method, body = "DELETE", ""
				case 1:
					method, headers[1] = "PATCH", mergeType
				case 2:
					method, path, body = "POST", "/v1/_transactions", `{"operations":[{"op":"put","collection":"things","id":"`+path[len("/v1/things/"):]+`","body":`+body+`}]}`
				}
				r, err := c.Do(method, path, []byte(body), headers...)
				if err != nil || r.Status >= 404 && r.Status != 404 || r.Status == 400 {
					t.Errorf("%s %s %s: %v %+v", method, path, body, err, r)
					return
				}
				mu.Lock()
				seen[r.Status]++
				mu.Unlock()
			}
		})
	}
	all.Wait()
	return seen
}

// wantOwners reads the log, and holds each event against the owner of the revision that it replaces.
func wantOwners(t *testing.T, s *harness.Store) {
	t.Helper()
	last, err := s.Node.Log.LastSeq(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	r, err := s.Node.Log.Read(t.Context(), 1)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	docs := map[fanfold.Key][]byte{}
	ownerOf := func(doc []byte) string {
		var d struct{ Owner string }
		if err := json.Unmarshal(doc, &d); err != nil {
			t.Fatal(err)
		}
		return d.Owner
	}
	for seq := uint64(0); seq < last; {
		ev, _, err := r.Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		seq = ev.Seq
		if ev.Key.Collection != "things" {
			continue
		}
		next := append([]byte(nil), ev.Body...)
		switch ev.Kind {
		case fanfold.KindPatch:
			if next, err = jsondoc.Patched(docs[ev.Key], ev.Body, ev.Merges()); err != nil {
				t.Fatal(err)
			}
		case fanfold.KindDelete:
			next = nil
		}
		judged := docs[ev.Key]
		if judged == nil {
			judged = next
		}
		if judged == nil || ownerOf(judged) != ev.Actor {
			t.Errorf("event %d by %s makes %s of %s", seq, ev.Actor, next, docs[ev.Key])
		}
		docs[ev.Key] = next
	}
}
