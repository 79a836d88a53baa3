package writer

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/model"
)

// holdersSnapshot is a Snapshot in which every relation has the same number of holders of any target.
type holdersSnapshot struct {
	Snapshot
	perRelation int
}

// Holders returns the holders with numbers greater than after, limit at most.
func (s holdersSnapshot) Holders(relation, _ string, after int64, limit int, _ fanfold.View) (docs []*fanfold.Document, more bool, err error) {
	for n := after + 1; n <= int64(s.perRelation) && len(docs) < limit; n++ {
		docs = append(docs, &fanfold.Document{Key: fanfold.Key{Collection: relation, ID: fmt.Sprint(n)}, Number: n})
	}
	return docs, after+int64(len(docs)) < int64(s.perRelation), nil
}

// TestRefusedDeleteNamesFewHolders holds a refused delete to the number of holders that it names, however many relations
// lead to the document.
func TestRefusedDeleteNamesFewHolders(t *testing.T) {
	m := &model.Model{}
	for _, name := range []string{"articles", "blogs", "books"} {
		m.Collections = append(m.Collections, &model.Collection{Name: name, Relations: []*model.Relation{{Name: "author", Collection: name, To: "people", Strict: true}}})
	}
	m.Index()
	g := &guardSet{snap: holdersSnapshot{perRelation: 3 * holderPage}, model: m}
	err := g.guardTarget(fanfold.Key{Collection: "people", ID: "p1"}, 0)
	var e *fanfold.Error
	if !errors.As(err, &e) || e.Code != fanfold.Restricted || len(e.Problems) != maxNamedBlockers {
		t.Fatalf("%v names %d holders; want Restricted and %d", err, len(e.Problems), maxNamedBlockers)
	}
}

// TestJoinLinks: links to one document that say the same of holders of one collection, on one condition, are one event. Other guards stay as they are, and
// so does their order.
func TestJoinLinks(t *testing.T) {
	key := func(text string) fanfold.Key { return fanfold.Key{Collection: text[:1], ID: text[1:]} }
	write := func(target, holder string, held bool, actor string, expect fanfold.Expect) fanfold.Write {
		return fanfold.Write{Event: &fanfold.Event{Kind: fanfold.KindLink, Key: key(target), Holders: []fanfold.Key{key(holder)}, Held: held, Actor: actor}, Expect: expect}
	}
	five := fanfold.Exactly(5)
	check := fanfold.Write{Event: &fanfold.Event{Kind: fanfold.KindCheck, Key: key("a1")}}
	claim := fanfold.Write{Event: &fanfold.Event{Kind: fanfold.KindClaim, Key: key("b1"), Path: "p", Value: "s", Held: true}}
	var got []string
	for _, w := range joinLinks([]fanfold.Write{check, write("a1", "b1", true, "", five), claim, write("a1", "b2", true, "", five), claim, write("a2", "b1", true, "", five),
		write("a1", "c1", true, "", five), write("a1", "b3", false, "", fanfold.Expect{}), write("a1", "b4", true, "", fanfold.Expect{}), write("a1", "b5", true, "x", five),
		write("a1", "b6", true, "", five), write("a1", "b7", true, "", fanfold.Exactly(6)), write("a1", "b8", false, "", fanfold.Expect{})}) {
		got = append(got, fmt.Sprintf("%s %s %v %t %s%d", w.Event.Kind, w.Event.Key, w.Event.Holders, w.Event.Held, w.Event.Actor, w.Expect.Rev))
	}
	want := []string{"check a/1 [] false 0", "link a/1 [b/1 b/2 b/6] true 5", "claim b/1 [] true 0", "claim b/1 [] true 0", "link a/2 [b/1] true 5", "link a/1 [c/1] true 5",
		"link a/1 [b/3 b/8] false 0", "link a/1 [b/4] true 0", "link a/1 [b/5] true x5", "link a/1 [b/7] true 6"}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}
