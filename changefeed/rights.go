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

// setRights gives a request what its rights say of collections: which ones have rows for it, and in which of them a rule decides about each
// document.
func (req *request) setRights(rights *access.Rights) {
	if rights.ReadsAll() {
		return
	}
	req.reads = rights.Reads
	if ruled := rights.Ruled(); len(ruled) > 0 {
		req.judged = func(collection string) bool { return ruled[collection] }
		req.reads = func(collection string) bool { return ruled[collection] || rights.Reads(collection) }
	}
}

// applyRights takes out the rows of a page that are of collections which the consumer does not read. Of the other rows it takes out
// the causes in such collections. Nothing else looks at a page before, and applyRules follows.
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

// reads reports whether the consumer may read a document of a collection in which a rule decides. The view is the embedded one; nil stands for
// no document.
func (s *scan) reads(collection string, view []byte) bool {
	if view == nil {
		return false
	}
	s.work.evaluated++
	return s.work.grantOf(s.req, collection).Reads(view)
}

// grantOf returns a consumer's right to read documents of a collection.
func (w *scanWork) grantOf(req *request, collection string) *access.Grant {
	g := w.grants[collection]
	if g == nil {
		grant := req.Rights.ToRead(collection)
		if w.grants == nil {
			w.grants = map[string]*access.Grant{}
		}
		g = &grant
		w.grants[collection] = g
	}
	return g
}

// looksAt reports whether the rule by which the consumer reads a collection's documents looks at one of some members, or at derived ones.
func (req *request) looksAt(collection string, members []string) bool {
	return req.Rights.LooksAt(collection, members)
}

// told returns the rules that a row names, but none of a member that the consumer does not see.
func (req *request) told(row fanfold.ChangeRow) []string {
	return req.Rights.Told(row.Key.Collection, row.Rules)
}
