package changefeed_test

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	"github.com/fanfold/fanfold"
)

// readCount returns how often Changes was called.
func (s *memoryStore) readCount() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.reads
}

// memoryStore is a Store over a list of changes in memory.
type memoryStore struct {
	mu      sync.Mutex
	changes []fanfold.Change
	changed chan struct{} // closed by add
	oldest  fanfold.Position
	onRead  func()       // is called before a page is read; nil for nobody
	reads   int          // calls of Changes
	cause   *fanfold.Key // of derived changes
}

func newMemoryStore(changes ...fanfold.Change) *memoryStore {
	s := &memoryStore{changed: make(chan struct{})}
	for _, ch := range changes {
		s.add(ch)
	}
	return s
}

// create is the change that creates a document by the event at seq.
func create(seq uint64, id string) fanfold.Change {
	return fanfold.Change{Position: fanfold.At(seq, 0), Key: fanfold.Key{Collection: "books", ID: id}, Op: fanfold.OpCreate,
		Revision: fanfold.Revision(seq), Time: time.Date(2026, 1, 2, 3, 4, int(seq%60), 0, time.UTC)}
}

// add appends changes and wakes the readers that wait for them.
func (s *memoryStore) add(changes ...fanfold.Change) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, ch := range changes {
		ch.Ordinal = int64(len(s.changes) + 1)
		s.changes = append(s.changes, ch)
	}
	close(s.changed)
	s.changed = make(chan struct{})
}

func (s *memoryStore) head() fanfold.Position {
	if len(s.changes) == 0 {
		return 0
	}
	return s.changes[len(s.changes)-1].Position
}

func (s *memoryStore) Changes(q fanfold.ChangeQuery) (page fanfold.ChangePage, err error) {
	if s.onRead != nil {
		s.onRead()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if q.After < s.oldest {
		return page, fanfold.Errorf(fanfold.PositionGone, "the first changes are gone")
	}
	s.reads++
	size := 0
	page.Last, page.Head, page.Changes = max(q.After, s.head()), s.head(), int64(len(s.changes))
	first, _ := slices.BinarySearchFunc(s.changes, q.After+1, func(ch fanfold.Change, at fanfold.Position) int { return cmp.Compare(ch.Position, at) })
	for _, ch := range s.changes[first:] {
		if q.Partitions > 0 && ch.Key.Partition(q.Partitions) != q.Partition || len(q.Collections) > 0 && !slices.Contains(q.Collections, ch.Key.Collection) {
			continue
		}
		if size += len(ch.Previous); size > q.MaxBytes {
			if len(page.Rows) == 0 {
				page.Need, page.Last = size, q.After
				return page, nil
			}
			previous := page.Rows[len(page.Rows)-1]
			page.Last, page.Pending = previous.Position, page.Changes-previous.Ordinal
			break
		}
		row := fanfold.ChangeRow{Change: &ch}
		if ch.Op == fanfold.OpDerive {
			row.Cause = s.cause
		}
		page.Rows = append(page.Rows, row)
		if len(page.Rows) == q.Limit {
			page.Last, page.Pending = ch.Position, page.Changes-ch.Ordinal
			break
		}
	}
	return page, nil
}

func (s *memoryStore) Bounds() (oldest, head fanfold.Position, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.oldest, s.head(), nil
}

// cut takes away the changes up to a position.
func (s *memoryStore) cut(at fanfold.Position) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.oldest = at
}

func (s *memoryStore) Before(t time.Time) (at fanfold.Position, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, ch := range s.changes {
		if ch.Time.Before(t) {
			at = ch.Position
		}
	}
	return at, nil
}

func (s *memoryStore) Changed(seq uint64) <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.head().Seq() > seq {
		closed := make(chan struct{})
		close(closed)
		return closed
	}
	return s.changed
}

func (s *memoryStore) Wait(ctx context.Context, seq uint64) error {
	for {
		s.mu.Lock()
		reached, changed := s.head().Seq() >= seq, s.changed
		s.mu.Unlock()
		if reached {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
