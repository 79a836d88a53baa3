package changefeed

import (
	"runtime"
	"slices"
	"sync"

	"github.com/fanfold/fanfold"
)

// sharedPages is a Store that lets few read at a time who have far to go. A page is read once for all that wait for it.
type sharedPages struct {
	Store
	turns chan struct{} // has an element for each page that is being read

	mu      sync.Mutex
	waiting []*waitingPage // in order of arrival
}

// waitingPage is a query that waits for its turn.
type waitingPage struct {
	q    fanfold.ChangeQuery
	page fanfold.ChangePage
	done chan struct{} // is closed once it has its page
}

// sharePages returns a store that shares the pages of another.
func sharePages(s Store) *sharedPages {
	return &sharedPages{Store: s, turns: make(chan struct{}, max(1, runtime.GOMAXPROCS(0)/2))}
}

// Changes returns the page of changes after q.After, as of a moment after the call. It may be shorter than one that was read for q alone.
func (s *sharedPages) Changes(q fanfold.ChangeQuery) (fanfold.ChangePage, error) {
	if q.AtHead || q.Shape == "" {
		return s.Store.Changes(q)
	}
	w := &waitingPage{q: q, done: make(chan struct{})}
	s.mu.Lock()
	s.waiting = append(s.waiting, w)
	s.mu.Unlock()
	select {
	case <-w.done:
		return w.page, nil
	case s.turns <- struct{}{}:
	}
	defer func() { <-s.turns }()
	others, served := s.begin(w)
	if served {
		return w.page, nil
	}
	page, err := s.Store.Changes(q)
	if err == nil && page.Need == 0 {
		s.share(page, others)
	}
	return page, err
}

// begin takes a query out of those that wait. It returns the others that wait already and ask the same, and whether the query was served.
func (s *sharedPages) begin(w *waitingPage) (others []*waitingPage, served bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := slices.Index(s.waiting, w)
	if i < 0 {
		return nil, true
	}
	s.waiting = slices.Delete(s.waiting, i, i+1)
	for _, o := range s.waiting {
		if o.q.Shape == w.q.Shape && o.q.HeldFrom == w.q.HeldFrom && o.q.After >= w.q.After && o.q.MaxBytes >= w.q.MaxBytes {
			others = append(others, o)
		}
	}
	return others, false
}

// share gives a page to the others that still wait and begin within it.
func (s *sharedPages) share(page fanfold.ChangePage, others []*waitingPage) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, o := range others {
		i := slices.Index(s.waiting, o)
		if i < 0 || o.q.After >= page.Last {
			continue
		}
		s.waiting = slices.Delete(s.waiting, i, i+1)
		first := slices.IndexFunc(page.Rows, func(row fanfold.ChangeRow) bool { return row.Position > o.q.After })
		o.page = page
		o.page.Rows = nil
		if first >= 0 {
			o.page.Rows = slices.Clone(page.Rows[first:])
		}
		close(o.done)
	}
}
