package writer

import (
	"testing"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/model"
)

// TestDeleteWalkIsBounded: no more documents, and no more references, are visited than the walk may visit.
func TestDeleteWalkIsBounded(t *testing.T) {
	people := func(policy model.OnDelete) *model.Model {
		m := &model.Model{Collections: []*model.Collection{{Name: "people", Relations: []*model.Relation{{Name: "boss", Collection: "people", To: "people", OnDelete: policy}}}}}
		m.Index()
		return m
	}
	for _, policy := range []model.OnDelete{model.Cascade, model.Unlink} {
		s := newDeleteWalk(people(policy), 3*holderPage)
		s.add(fanfold.Key{Collection: "people", ID: "0"})
		for done := false; !done; {
			var err error
			if done, err = s.page(holdersSnapshot{perRelation: 10 * holderPage}); err != nil {
				t.Fatal(err)
			}
		}
		if n := len(s.order) + len(s.edited); !s.full || n != 3*holderPage || s.references > 4*holderPage {
			t.Errorf("%s: %d documents and %d references were visited, full %v", policy, n, s.references, s.full)
		}
	}
}
