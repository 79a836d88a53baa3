package writer

import (
	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/model"
)

// refsPerWalkedDocument is how many references a walk visits, for each document that it may visit.
const refsPerWalkedDocument = 4

// deleteWalk visits everything that deletes lead to by the delete policies, a page of holders at a time: first what is deleted
// with them, then the holders that stay. It holds the keys of documents, and no bodies.
type deleteWalk struct {
	model      *model.Model
	limit      int                        // of documents
	operations map[fanfold.Key]*Operation // of the transaction

	goes       map[fanfold.Key]struct{}
	order      []fanfold.Key            // what goes, in the order in which it was found
	edited     map[fanfold.Key]struct{} // holders that stay and lose references
	references int                      // that were visited
	full       bool                     // there are more documents or references than it visits

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
	if s.staying && rel.OnDelete == model.Unlink || !s.staying && rel.OnDelete == model.Cascade {
		var docs []*fanfold.Document
		if docs, more, err = snap.Holders(rel.FullName(), key.ID, s.after, holderPage, fanfold.Referenced); err != nil {
			return false, err
		}
		for _, doc := range docs {
			s.after = doc.Number
			s.visit(key, doc)
		}
	}
	if !more {
		s.relation, s.after = s.relation+1, 0
	}
	return false, nil
}

// visit takes one holder of target in.
func (s *deleteWalk) visit(target fanfold.Key, holder *fanfold.Document) {
	s.references++
	if op := s.operations[holder.Key]; holder.Key == target || op != nil && op.Kind != Delete {
		return
	}
	_, goes := s.goes[holder.Key]
	_, edited := s.edited[holder.Key]
	s.full = len(s.order)+len(s.edited) >= s.limit || s.references >= refsPerWalkedDocument*s.limit
	switch {
	case goes || edited || s.full:
	case !s.staying:
		s.add(holder.Key)
	default:
		s.edited[holder.Key] = struct{}{}
	}
}
