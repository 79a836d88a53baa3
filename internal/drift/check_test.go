package drift

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/fanfold/fanfold/internal/modelfile"
)

// shelf shows documents by collection and id, two ids at a time at most.
type shelf struct {
	docs  map[Target]string
	asked []string
	err   error
}

// Shown implements Store.
func (s *shelf) Shown(_ context.Context, collection string, ids []string) (map[string][]byte, int, error) {
	found := map[string][]byte{}
	looked := min(len(ids), 2)
	for _, id := range ids[:looked] {
		s.asked = append(s.asked, collection+"/"+id)
		if doc := s.docs[Target{collection, id}]; doc != "" {
			found[id] = []byte(doc)
		}
	}
	return found, looked, s.err
}

// TestCheck: documents are compared however few a store looks at at a time. It is asked for no id that it
// cannot have, and a document that was brought twice is compared once.
func TestCheck(t *testing.T) {
	m, err := modelfile.Parse([]byte(`{"collections":{"a":{},"b":{"relations":{"a":{"path":"a","to":"a"}},"derive":{"n":{"copy":"a","value":"doc.n"}}}}}`))
	if err != nil {
		t.Fatal(err)
	}
	s := &shelf{docs: map[Target]string{{"a", "1"}: `{"id":"1","n":1}`}}
	var told []string
	c := NewCheck(m, s, func(d Difference) error {
		told = append(told, fmt.Sprintf("%s %s %s", d.Kind, d.ID, d.Brought))
		return nil
	})
	add := func(collection, body string) {
		t.Helper()
		if err := c.Add(t.Context(), collection, []byte(body)); err != nil {
			t.Fatal(err)
		}
	}
	for i := range batchDocuments + 3 {
		id := fmt.Sprint(i)
		s.docs[Target{"b", id}] = `{"id":"` + id + `","a":"1","n":1}`
		add("b", `{"id":"`+id+`","a":"1","n":1}`)
	}
	s.docs[Target{"b", "o"}], s.docs[Target{"b", "p"}] = `{"id":"o","a":"2"}`, `{"id":"p","a":".."}`
	for _, body := range []string{`{"id":"o","a":"2","n":7}`, `{"id":"p","a":"..","n":7}`, `{"a":"1","n":1}`, `{"id":"..","n":1}`, `{"id":"gone","n":1}`, `{"id":"gone","n":2}`, `{"id":"402","n":3}`} {
		add("b", body)
	}
	add("a", `{"id":"1","n":5}`)
	rules, counts, err := c.End(t.Context())
	if err != nil || counts != (Compared{Documents: batchDocuments + 5, WithoutID: 1, NotThere: 3}) {
		t.Errorf("%v: compared %+v", err, counts)
	}
	if r := rules[0]; r.Right != batchDocuments+2 || r.Wrong != 1 || r.Orphaned != 2 || !r.Drifted() {
		t.Errorf("the rule has %+v", r)
	}
	if want := []string{"wrong 402 3", "orphaned o 7", "orphaned p 7"}; !slices.Equal(told, want) {
		t.Errorf("told %q, want %q", told, want)
	}
	if slices.Contains(s.asked, "b/..") || slices.Contains(s.asked, "a/..") || slices.Contains(s.asked, "a/1") {
		t.Errorf("it asked for %q", s.asked)
	}
	if text, err := json.Marshal(rules[0].Examples[1]); err != nil || string(text) != `{"rule":"b.n","kind":"orphaned","collection":"b","id":"o","path":"/n","brought":7}` {
		t.Errorf("%v: an example is %s", err, text)
	}
	s.err = errors.New("the store is gone")
	add("b", `{"id":"1","n":1}`)
	if _, _, err := c.End(t.Context()); !errors.Is(err, s.err) {
		t.Errorf("a store that fails: %v", err)
	}
}
