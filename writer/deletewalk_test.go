package writer

import (
	"fmt"
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
	s := newDeleteWalk(people(model.Restrict), 10) // of which nothing is kept
	s.add(fanfold.Key{Collection: "people", ID: "0"})
	for done := false; !done; {
		done, _ = s.page(holdersSnapshot{perRelation: 3 * holderPage})
	}
	if !s.full || s.references > holderPage || len(s.blockers.problems) > maxNamedBlockers {
		t.Errorf("%d references were visited, %d named, full %v", s.references, len(s.blockers.problems), s.full)
	}
}

// TestCheckedDeletesAreBounded: only so many deletes in steps are known to be checked, each as long as nothing changes.
func TestCheckedDeletesAreBounded(t *testing.T) {
	l, m := checkedDeletes{known: map[fanfold.Key]checkedDelete{}}, &model.Model{}
	key := func(i int) fanfold.Key { return fanfold.Key{Collection: "as", ID: fmt.Sprint(i)} }
	for i := range 3 * maxCheckedDeletes {
		l.add(key(i), 1, m)
		if len(l.known) > maxCheckedDeletes || !l.has(key(i), 1, m) || l.has(key(i), 2, m) || l.has(key(i), 1, &model.Model{Source: []byte("{}")}) {
			t.Fatalf("of %d checked deletes %d are known", i+1, len(l.known))
		}
	}
	l.forget(key(3*maxCheckedDeletes - 1))
	if l.has(key(3*maxCheckedDeletes-1), 1, m) {
		t.Fatal("a checked delete that is forgotten is known")
	}
}
