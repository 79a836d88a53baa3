package query_test

import (
	"testing"
	"time"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/internal/admission"
	"github.com/fanfold/fanfold/query"
	"github.com/fanfold/fanfold/sqlite"
)

// TestTurnsAreAStores: heavy queries of one store that keep their turns hold up none of another store in the same process.
func TestTurnsAreAStores(t *testing.T) {
	busy, other := bigShelf(t, 1500, "{}"), bigShelf(t, 1500, "{}")
	heavy := query.Request{Filter: `doc.s.contains("")`, Limit: 1, Sort: []string{"-n"}, Sharing: query.Sharing{Turns: admission.NewBudget(admission.Options{}).Turns}}
	q, err := query.Compile(busy.request(heavy), busy.model)
	if err != nil {
		t.Fatal(err)
	}
	began, release := make(chan struct{}), make(chan struct{})
	ended := make(chan error)
	runs := cap(heavy.Turns) // each has its turn
	for range runs {
		go func() {
			ended <- busy.store.Read(func(s *sqlite.Snapshot) error {
				_, err := q.Run(t.Context(), s, func(*fanfold.Document) (bool, error) {
					began <- struct{}{}
					<-release
					return true, nil
				})
				return err
			})
		}()
		<-began
	}
	answered := make(chan struct{})
	go func() {
		defer close(answered)
		heavy.Turns = admission.NewBudget(admission.Options{}).Turns
		other.mustAsk(t, heavy)
	}()
	select {
	case <-answered:
	case <-time.After(10 * time.Second):
		t.Error("the other store's query waits")
	}
	close(release)
	for range runs {
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
	<-answered
}
