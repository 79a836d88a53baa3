package writer

import (
	"context"
	"sync"
	"time"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/model"
)

// Bounds of a walk of everything that a delete in steps leads to, and of what is known of walks.
const (
	maxWalkedDocuments    = 1_000_000              // documents
	refsPerWalkedDocument = 4                      // references that are visited, for each of them
	maxWalkTime           = time.Minute            // in all
	maxSnapshotTime       = 250 * time.Millisecond // on one snapshot
	checkedDeleteTTL      = time.Minute            // since the last step of a delete that was checked
	maxCheckedDeletes     = 256                    // at a time
)

// deleteWalk visits everything that deletes lead to by the delete policies, a page of holders at a time: first what is deleted
// with them, then the holders that stay. It holds the keys of documents, and no bodies.
type deleteWalk struct {
	model *model.Model
	limit int // of documents
	// checked tells whether holders of a collection that lose references are given to fits; nil where they are counted only.
	checked    func(collection string) bool
	fits       func(e *edit) (*fanfold.Problem, error) // see Writer.unfit
	operations map[fanfold.Key]*Operation              // of the transaction

	goes       map[fanfold.Key]struct{}
	order      []fanfold.Key            // what goes, in the order in which it was found
	edited     map[fanfold.Key]struct{} // holders that stay and lose references, those that are not checked excepted
	blockers   deleteBlockers
	references int  // references
	full       bool // there are more documents or references than it visits

	staying  bool // it has come to the holders that stay
	target   int  // the document of order whose holders are visited
	relation int  // by which of the relations that lead to it
	after    int64
}

// newDeleteWalk returns a walk of limit documents at most.
func newDeleteWalk(m *model.Model, limit int) *deleteWalk {
	return &deleteWalk{model: m, limit: limit, goes: map[fanfold.Key]struct{}{}, edited: map[fanfold.Key]struct{}{}}
}

// add adds a document that goes.
func (s *deleteWalk) add(key fanfold.Key) {
	if _, known := s.goes[key]; !known {
		s.goes[key] = struct{}{}
		s.order = append(s.order, key)
	}
}

// page visits a page of holders of one document. done says that nothing is left to visit, or that it is full.
func (s *deleteWalk) page(snap Snapshot) (done bool, err error) {
	if s.full || s.target == len(s.order) && s.staying {
		return true, nil
	}
	if s.target == len(s.order) {
		s.staying, s.target = true, 0
	}
	key := s.order[s.target]
	relations := s.model.RelationsTo(key.Collection)
	if s.relation == len(relations) {
		s.target, s.relation = s.target+1, 0
		return false, nil
	}
	rel, more := relations[s.relation], false
	if s.staying && (rel.HoldsTarget() || rel.OnDelete == model.Unlink) || !s.staying && rel.OnDelete == model.Cascade {
		var docs []*fanfold.Document
		if docs, more, err = snap.Holders(rel.FullName(), key.ID, s.after, holderPage, fanfold.Referenced); err != nil {
			return false, err
		}
		for _, doc := range docs {
			s.after = doc.Number
			if err := s.visit(rel, key, doc); err != nil {
				return false, err
			}
		}
	}
	if !more {
		s.relation, s.after = s.relation+1, 0
	}
	return false, nil
}

// visit takes one holder of target in.
func (s *deleteWalk) visit(rel *model.Relation, target fanfold.Key, holder *fanfold.Document) error {
	s.references++
	if op := s.operations[holder.Key]; holder.Key == target || op != nil && op.Kind != Delete {
		return nil
	}
	_, goes := s.goes[holder.Key]
	_, edited := s.edited[holder.Key]
	s.full = len(s.order)+len(s.edited) >= s.limit || s.references >= refsPerWalkedDocument*s.limit
	switch {
	case goes || edited || s.full:
	case !s.staying:
		s.add(holder.Key)
	case rel.HoldsTarget():
		s.blockers.addRestricting(restriction(rel, target, holder.Key))
	case s.checked == nil:
		s.edited[holder.Key] = struct{}{}
	default:
		return s.checkFit(holder)
	}
	return nil
}

// checkFit records a holder that would not fit once it has lost all its references to what goes.
func (s *deleteWalk) checkFit(holder *fanfold.Document) error {
	if !s.checked(holder.Key.Collection) {
		return nil
	}
	s.edited[holder.Key] = struct{}{}
	e := newEdit(holder, newTreeCache(), func() (*fanfold.Document, error) { return holder, nil })
	if err := e.dropAll(s.model, func(target fanfold.Key) (bool, error) {
		_, goes := s.goes[target]
		return goes, nil
	}); err != nil {
		return err
	}
	problem, err := s.fits(e)
	if problem != nil {
		s.blockers.addMisfit(*problem)
	}
	return err
}

// checkedDeletes remembers which deletes in steps were checked not long ago: their later steps need no new check.
type checkedDeletes struct {
	mu    sync.Mutex
	known map[fanfold.Key]checkedDelete
	room  chan struct{} // has an element while a delete is checked
}

// checkedDelete says with what a delete was checked, and when its last step was made.
type checkedDelete struct {
	rev   fanfold.Revision
	model *model.Model
	at    time.Time
}

// has reports whether a document's delete is known to be checked, and keeps it known.
func (l *checkedDeletes) has(key fanfold.Key, rev fanfold.Revision, m *model.Model) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	k, known := l.known[key]
	if !known || k.rev != rev || k.model != m || time.Since(k.at) > checkedDeleteTTL {
		return false
	}
	k.at = time.Now()
	l.known[key] = k
	return true
}

// add makes a document's delete known. If there are too many, it forgets the documents that were not continued, or all.
func (l *checkedDeletes) add(key fanfold.Key, rev fanfold.Revision, m *model.Model) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.known) >= maxCheckedDeletes {
		for k, old := range l.known {
			if time.Since(old.at) > checkedDeleteTTL {
				delete(l.known, k)
			}
		}
		if len(l.known) >= maxCheckedDeletes {
			clear(l.known)
		}
	}
	l.known[key] = checkedDelete{rev: rev, model: m, at: time.Now()}
}

// forget makes a document's delete unknown.
func (l *checkedDeletes) forget(key fanfold.Key) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.known, key)
}

// checkWholeDelete walks everything that a delete in steps leads to, unless a step of it was made on this node not long ago. It
// waits while another delete is checked. Errors are NotFound; Restricted, with the holders that stand in the way of
// any step; Unprocessable where there is more than it visits; and ctx's.
func (w *Writer) checkWholeDelete(ctx context.Context, key fanfold.Key, dry bool) error {
	doc, _, err := w.ReadModel.Get(key, fanfold.Referenced)
	if err != nil {
		return err
	}
	if doc == nil {
		return Missing(key)
	}
	m, _, _ := w.Models.Model()
	if w.checkedDeletes.has(key, doc.Revision, m) {
		return nil
	}
	select {
	case w.checkedDeletes.room <- struct{}{}:
		defer func() { <-w.checkedDeletes.room }()
	case <-ctx.Done():
		return ended(ctx)
	}
	s := newDeleteWalk(m, maxWalkedDocuments)
	s.checked, s.fits = w.hasSchema, w.unfit
	s.add(key)
	began := time.Now()
	for done := false; !done; {
		if err := ended(ctx); err != nil {
			return err
		}
		s.full = s.full || time.Since(began) > maxWalkTime
		if err := w.ReadModel.Read(func(snap Snapshot) (err error) {
			for turn := time.Now(); !done && err == nil && time.Since(turn) < maxSnapshotTime; {
				done, err = s.page(snap)
			}
			return err
		}); err != nil {
			return err
		}
	}
	if err := s.blockers.error(); err != nil {
		return err
	}
	if s.full {
		return fanfold.Errorf(fanfold.Unprocessable, "the delete leads to more than can be looked at before its first step: %d documents, %d references, or what takes %v; nothing was deleted: delete some of the documents that refer to it first",
			maxWalkedDocuments, refsPerWalkedDocument*maxWalkedDocuments, maxWalkTime)
	}
	if !dry {
		w.checkedDeletes.add(key, doc.Revision, m)
	}
	return nil
}
