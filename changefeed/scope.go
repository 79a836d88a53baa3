package changefeed

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"sync/atomic"
	"time"

	"github.com/fanfold/fanfold"
)

// Scope is what a feed has for a reader who does not choose by itself where it begins and what it sees. A member of a
// consumer group is one.
type Scope struct {
	Since     fanfold.Position // everything behind it
	Until     fanfold.Position // and up to it; 0 for no end
	Wait      time.Duration    // after which there is something; before that there is nothing
	Selection Selection        // which changes there are, and how they look

	rows    atomic.Int64 // given so far
	reached atomic.Bool  // everything up to Until was looked at

	passed atomic.Uint64 // the position up to which changes were looked at before the last page
}

// Empty reports whether everything up to Until was looked at, and there was nothing.
func (s *Scope) Empty() bool { return s.reached.Load() && s.rows.Load() == 0 }

// Passed returns a position up to which there was nothing, and after which there are more changes; 0 for none.
func (s *Scope) Passed() fanfold.Position {
	if s.rows.Load() > 0 {
		return 0
	}
	return fanfold.Position(s.passed.Load())
}

// ServeScope answers a request with what a scope has, as Serve does. The query says how it is to be sent; what it selects, and
// since when, is the scope's to say. It returns the errors of Serve.
func (f *Feed) ServeScope(w http.ResponseWriter, r *http.Request, q Query, scope *Scope) error {
	q.Selection, q.Since = scope.Selection, scope.Since.String()
	o := f.over(&scopedStore{Store: f.store, scope: scope, begins: time.Now().Add(scope.Wait)})
	o.leftOut = func(rows int) { scope.rows.Add(int64(-rows)) }
	return o.Serve(w, r, q)
}

// over returns a feed over another store that ends when f does.
func (f *Feed) over(store Store) *Feed {
	o := newFeed(store, f.opt)
	o.closed, o.filtering, o.answers, o.scoped = f.closed, f.filtering, f.answers, true
	return o
}

// CheckSelection returns Invalid where a selection cannot be asked for: its filter is not one.
func (f *Feed) CheckSelection(s Selection) error {
	_, err := s.compileFilter()
	return err
}

// Resolve returns the position that a text names, as the parameter since does. It blocks until this node has reached it.
// It returns the errors of since and ctx, Unavailable, and Timeout if ctx's deadline comes first.
func (f *Feed) Resolve(ctx context.Context, text string) (fanfold.Position, error) {
	at, _, err := f.resolveSince(text)
	if err != nil {
		return 0, err
	}
	err = f.store.Wait(ctx, at.Seq())
	if errors.Is(err, context.DeadlineExceeded) {
		return 0, fanfold.Errorf(fanfold.Timeout, "this node has not reached position %s", text)
	}
	return at, err
}

// scopedStore is a store that has nothing but what a scope has.
type scopedStore struct {
	Store
	scope       *Scope
	begins      time.Time
	changesRead atomic.Bool // since the beginning
	begun       atomic.Bool // somebody was woken because of the beginning
}

// Changes returns the page of the scope's changes after q.After.
func (s *scopedStore) Changes(q fanfold.ChangeQuery) (page fanfold.ChangePage, err error) {
	until := s.scope.Until
	if time.Now().Before(s.begins) || until > 0 && q.After >= until {
		page.Last, page.Uncounted = q.After, true
		_, page.Head, err = s.Bounds()
		return page, err
	}
	s.changesRead.Store(true)
	if page, err = s.Store.Changes(q); err != nil {
		return page, err
	}
	page.Rows = slices.DeleteFunc(page.Rows, func(row fanfold.ChangeRow) bool { return until > 0 && row.Position > until })
	s.scope.rows.Add(int64(len(page.Rows)))
	if until > 0 && page.Last >= until {
		page.Last, page.Pending, page.Need, page.Uncounted = until, 0, 0, true
		s.scope.reached.Store(true)
	} else if page.Pending > 0 && page.Need == 0 {
		s.scope.passed.Store(uint64(page.Last))
	}
	return page, nil
}

// Changed returns a channel that is closed once there may be more after seq, or nothing more will be.
func (s *scopedStore) Changed(seq uint64) <-chan struct{} {
	switch {
	case !s.changesRead.Load():
		begun := make(chan struct{})
		time.AfterFunc(time.Until(s.begins), func() {
			s.begun.Store(true)
			close(begun)
		})
		return begun
	case s.scope.reached.Load():
		return nil // nothing more comes
	}
	return s.Store.Changed(seq)
}

// Wait blocks until there may be something after the changes that were read before.
func (s *scopedStore) Wait(ctx context.Context, seq uint64) error {
	if s.begun.Swap(false) {
		return nil
	}
	return s.Store.Wait(ctx, seq)
}
