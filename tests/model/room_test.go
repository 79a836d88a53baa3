package model_test

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/fanfold/fanfold/tests/harness"
)

// TestModelAltersTheOrderOfRoom: a new rule that another one reads moves that one after its document's other values.
// Which of them there is room for is another then, at the model's event and not only at the next write.
func TestModelAltersTheOrderOfRoom(t *testing.T) {
	const before = `{"collections":{"as":{"derive":{"A":{"recent":"bs.r","max":1,"fields":["up"]},"list":{"ids":"bs.r"}}},
"bs":{"relations":{"r":{"path":"a","to":"as"}}},"cs":{"relations":{"r":{"path":"b","to":"bs"}}}},"embedded":{"limit":45}}`
	const after = `{"collections":{"as":{"derive":{"A":{"recent":"bs.r","max":1,"fields":["up"]},"list":{"ids":"bs.r"}}},
"bs":{"relations":{"r":{"path":"a","to":"as"}},"derive":{"up.n":{"ids":"cs.r","takeOver":true}}},"cs":{"relations":{"r":{"path":"b","to":"bs"}}}},"embedded":{"limit":45}}`
	for _, way := range []string{"at once", "prepared"} {
		t.Run(way, func(t *testing.T) {
			s := harness.OpenTemp(t, before)
			s.Put("as", "1", `{"id":"1"}`)
			s.Put("bs", "1", `{"id":"1","a":"1","up":{"x":"0123456789"}}`)
			if got, want := s.Get("as", "1"), `{"id":"1","A":[{"up":{"x":"0123456789"}}]}`; got != want {
				t.Fatalf("under the first model: %s, want %s", got, want)
			}
			if way == "at once" {
				s.Model(after)
			} else {
				s.Activated(s.Propose(after))
			}
			if got, want := s.Get("as", "1"), `{"id":"1","list":["1"]}`; got != want {
				t.Errorf("under the second model: %s, want %s", got, want)
			}
			s.Verify()
		})
	}
}

// TestSetOrientedSeesTheSameBatch: a value for which an event leaves no room is not replaced by a later event of the same
// batch, as a replay folds both at once.
func TestSetOrientedSeesTheSameBatch(t *testing.T) {
	s := harness.Open(t, harness.Options{Dir: t.TempDir(), SetOrientedFrom: 1})
	defer s.Close()
	s.Model(`{"collections":{"as":{"relations":{"t":{"path":"t","to":"ts"}},"derive":{"name":{"copy":"t","value":"doc.name"}}},"ts":{}},"embedded":{"limit":60}}`)
	s.Put("as", "1", `{"id":"1","t":"1"}`)
	for _, name := range []string{"short", strings.Repeat("x", 40), strings.Repeat("y", 40)} {
		s.Put("ts", "1", fmt.Sprintf(`{"id":"1","name":%q}`, name))
		s.CatchUp()
	}
	before, _ := s.Changes("mode=all&collections=as")
	if len(before) != 3 {
		t.Errorf("%d changes, want the document's own, the short name's and its end: %+v", len(before), before)
	}
	s.Replay()
	if after, _ := s.Changes("mode=all&collections=as"); !reflect.DeepEqual(after, before) {
		t.Errorf("after a replay the feed has\n%+v\nwant\n%+v", after, before)
	}
	s.Verify()
}
