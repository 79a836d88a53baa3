package bulk

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/fanfold/fanfold"
)

// TestPassKeepsTheLeastIDs: passes that have room for a part of the ids find all of them, in order, each once, and none of documents that were
// created later.
func TestPassKeepsTheLeastIDs(t *testing.T) {
	const all, until = 1000, 900
	var docs []*fanfold.Document
	for i := range all {
		docs = append(docs, &fanfold.Document{Key: fanfold.Key{Collection: "c", ID: fmt.Sprintf("%04d", i*7919%10000)}, Number: int64(i)})
	}
	var want, got []string
	for _, doc := range docs[:until+1] {
		want = append(want, doc.Key.ID)
	}
	slices.Sort(want)
	after, passes := "", 0
	for more := true; more; passes++ {
		rand.Shuffle(all, func(i, j int) { docs[i], docs[j] = docs[j], docs[i] })
		p := pass{after: after, until: until, most: 100 * (4 + idBytes)}
		for _, doc := range docs {
			p.add(doc)
			if p.size > p.most {
				t.Fatalf("a pass has %d bytes", p.size)
			}
		}
		slices.Sort(p.ids)
		if len(p.ids) == 0 {
			t.Fatal("a pass finds nothing")
		}
		got, more, after = append(got, p.ids...), p.cut, p.ids[len(p.ids)-1]
	}
	if !slices.Equal(got, want) || passes < 10 {
		t.Errorf("%d passes find %d ids, want %d", passes, len(got), len(want))
	}
}
