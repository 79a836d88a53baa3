package writer

import (
	"errors"
	"fmt"
	"testing"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/model"
)

// holdersSnapshot is a Snapshot in which every relation has the same number of holders of any target.
type holdersSnapshot struct {
	Snapshot
	perRelation int
}

// Holders returns the holders with numbers behind after, limit at most.
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
