package changefeed

import (
	"errors"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/access"
)

// errRightsChanged says that the rights do not hold any more with which an answer began.
var errRightsChanged = errors.New("the rights have changed")

// alwaysClosed is a closed channel.
var alwaysClosed = func() <-chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}()

// checkRights returns errRightsChanged where the consumer has lost the rights with which its answer began. A shared feed's own
// scan goes on: its subscribers check theirs.
func (s *scan) checkRights() error {
	switch {
	case s.rightsLost:
		return errRightsChanged
	case s.rights == nil:
		return nil
	}
	s.rightsChanged = s.rights.Changed() // before Current, so that no change is missed
	if !s.rights.Current() {
		s.rightsLost, s.uncounted = true, true // nobody has looked at what follows
		s.rightsChanged = alwaysClosed         // so that every wait ends, whoever has noticed it first
		return errRightsChanged
	}
	return nil
}

// noticeRights is checkRights where the rights may have changed since, and costs next to nothing otherwise.
func (s *scan) noticeRights() error {
	if s.rightsLost {
		return errRightsChanged
	}
	select {
	case <-s.rightsChanged:
		return s.checkRights()
	default:
		return nil
	}
}

// reads returns what tells of collections whether rights include reading them, nil where they include all.
func reads(rights *access.Rights) func(collection string) bool {
	if rights.ReadsAll() {
		return nil
	}
	return rights.Reads
}

// applyRights takes out the rows of a page that are of collections which the consumer does not read. Of the other rows it takes out
// the causes in such collections. Nothing else looks at a page before.
func (s *scan) applyRights(page *fanfold.ChangePage) {
	if s.req.reads == nil {
		return
	}
	kept := page.Rows[:0]
	for _, row := range page.Rows {
		if s.req.reads(row.Key.Collection) {
			kept = append(kept, row.WithCausesIn(s.req.reads))
		}
	}
	if s.leftOut != nil {
		s.leftOut(len(page.Rows) - len(kept))
	}
	clear(page.Rows[len(kept):])
	page.Rows = kept
}
