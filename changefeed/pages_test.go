package changefeed

import (
	"runtime"
	"sync/atomic"
	"testing"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/tests/suite"
)

// pageStore is a Store of a thousand changes that says when pages are read.
type pageStore struct {
	Store
	reads   atomic.Int64
	reading chan struct{}
	goOn    chan struct{}
}

// Changes returns ten changes.
func (s *pageStore) Changes(q fanfold.ChangeQuery) (page fanfold.ChangePage, err error) {
	s.reads.Add(1)
	s.reading <- struct{}{}
	<-s.goOn
	for seq := q.After.Seq() + 1; seq <= q.After.Seq()+10; seq++ {
		page.Rows = append(page.Rows, fanfold.ChangeRow{Change: &fanfold.Change{Position: fanfold.At(seq, 0)}})
	}
	page.Last = fanfold.At(q.After.Seq()+10, 0)
	page.Pending = 1000 - int64(page.Last.Seq())
	return page, nil
}

// TestPagesAreShared: consumers that ask the same from near positions have one read, each the rows after its own position. A query that differs in
// anything else is read by itself. A consumer near the head waits for none of them.
func TestPagesAreShared(t *testing.T) {
	suite.Concurrent(t)
	store := &pageStore{reading: make(chan struct{}, 1000), goOn: make(chan struct{})}
	pages := sharePages(store)
	turns := int64(cap(pages.turns))
	type answer struct {
		q    fanfold.ChangeQuery
		page fanfold.ChangePage
	}
	answers, asked := make(chan answer), 0
	ask := func(q fanfold.ChangeQuery) {
		asked++
		go func() {
			page, err := pages.Changes(q)
			if err != nil {
				t.Error(err)
			}
			answers <- answer{q, page}
		}()
	}
	for i := range turns { // others have all turns
		ask(fanfold.ChangeQuery{Shape: "other", HeldFrom: fanfold.Position(i), MaxBytes: 10})
		<-store.reading
	}
	same := fanfold.ChangeQuery{Shape: "same", After: fanfold.At(100, 0), MaxBytes: 10}
	ask(same)
	awaitWaiting(pages, 1)
	for i := range uint64(50) {
		near := same
		near.After = fanfold.At(100+i%10, 0)
		ask(near)
	}
	for _, q := range []fanfold.ChangeQuery{{Shape: "same", After: fanfold.At(110, 0), MaxBytes: 10}, {Shape: "same", After: fanfold.At(100, 0), MaxBytes: 9},
		{Shape: "same", After: fanfold.At(100, 0), MaxBytes: 10, HeldFrom: 5}, {Shape: "that", After: fanfold.At(100, 0), MaxBytes: 10}} {
		ask(q)
	}
	awaitWaiting(pages, 55)
	ask(fanfold.ChangeQuery{Shape: "same", After: fanfold.At(990, 0), AtHead: true})
	<-store.reading // at once
	close(store.goOn)
	for range asked {
		a := <-answers
		want := a.q.After.Seq() + 1
		if len(a.page.Rows) == 0 || a.page.Rows[0].Position.Seq() != want || a.page.Rows[len(a.page.Rows)-1].Position != a.page.Last {
			t.Errorf("after %v came %d rows up to %v", a.q.After, len(a.page.Rows), a.page.Last)
		}
	}
	if reads := store.reads.Load(); reads > turns+1+1+4 {
		t.Errorf("%d reads", reads)
	}
	if len(pages.waiting) > 0 {
		t.Errorf("%d wait for ever", len(pages.waiting))
	}
}

// awaitWaiting returns once n queries wait.
func awaitWaiting(p *sharedPages, n int) {
	for {
		p.mu.Lock()
		have := len(p.waiting)
		p.mu.Unlock()
		if have == n {
			return
		}
		runtime.Gosched()
	}
}
