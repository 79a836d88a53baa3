package writer

import (
	"fmt"
	"testing"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/model"
)

// TestSurveyIsBounded: no more documents, and no more references, are looked at than the survey may.
func TestSurveyIsBounded(t *testing.T) {
	people := func(policy model.OnDelete) *model.Model {
		m := &model.Model{Collections: []*model.Collection{{Name: "people", Relations: []*model.Relation{{Name: "boss", Collection: "people", To: "people", OnDelete: policy}}}}}
		m.Index()
		return m
	}
	for _, policy := range []model.OnDelete{model.Cascade, model.Unlink} {
		s := newSurvey(people(policy), 3*holderPage)
		s.add(fanfold.Key{Collection: "people", ID: "0"})
		for done := false; !done; {
			var err error
			if done, err = s.page(holdersSnapshot{perRelation: 10 * holderPage}); err != nil {
				t.Fatal(err)
			}
		}
		if n := len(s.order) + len(s.edited); !s.full || n != 3*holderPage || s.looked > 4*holderPage {
			t.Errorf("%s: %d documents and %d references were looked at, full %v", policy, n, s.looked, s.full)
		}
	}
	s := newSurvey(people(model.Restrict), 10) // of which nothing is kept
	s.add(fanfold.Key{Collection: "people", ID: "0"})
	for done := false; !done; {
		done, _ = s.page(holdersSnapshot{perRelation: 3 * holderPage})
	}
	if !s.full || s.looked > holderPage || len(s.holding.problems) > maxNamed {
		t.Errorf("%d references were looked at, %d named, full %v", s.looked, len(s.holding.problems), s.full)
	}
}

// TestLooksAreBounded: only so many deletes in steps are known to have been looked at, each as long as nothing changes.
func TestLooksAreBounded(t *testing.T) {
	l, m := looks{known: map[fanfold.Key]look{}}, &model.Model{}
	key := func(i int) fanfold.Key { return fanfold.Key{Collection: "as", ID: fmt.Sprint(i)} }
	for i := range 3 * maxLooks {
		l.add(key(i), 1, m)
		if len(l.known) > maxLooks || !l.has(key(i), 1, m) || l.has(key(i), 2, m) || l.has(key(i), 1, &model.Model{Source: []byte("{}")}) {
			t.Fatalf("of %d looks %d are known", i+1, len(l.known))
		}
	}
	l.forget(key(3*maxLooks - 1))
	if l.has(key(3*maxLooks-1), 1, m) {
		t.Fatal("a look that is forgotten is known")
	}
}
