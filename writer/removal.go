package writer

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/internal/jsondoc"
	"github.com/fanfold/fanfold/model"
)

// affectsHolders tells whether an operation deletes a document whose holders are affected by a delete policy.
func (w *Writer) affectsHolders(ops []*Operation) bool {
	m, _, _ := w.Models.Model()
	return slices.ContainsFunc(ops, func(op *Operation) bool {
		return op.Kind == Delete && slices.ContainsFunc(m.RelationsTo(op.Key.Collection), func(r *model.Relation) bool { return r.OnDelete.AffectsHolders() })
	})
}

// holderPage bounds how many holders are read at a time.
const holderPage = 256

// eachHolder calls fn for each document that refers to target by a relation, in order of creation, until fn returns false
// or an error, which is returned. The holders of a cascade come without bodies, for a delete may have a page of them at
// each of many levels.
func eachHolder(snap Snapshot, rel *model.Relation, target fanfold.Key, fn func(holder *fanfold.Document) (more bool, err error)) error {
	after := int64(0)
	for {
		docs, rest, err := snap.Holders(rel.FullName(), target.ID, after, holderPage, fanfold.Referenced)
		if err != nil {
			return err
		}
		if rel.OnDelete == model.Cascade {
			for _, doc := range docs {
				doc.Body = nil
			}
		}
		for _, doc := range docs {
			after = doc.Number
			if more, err := fn(doc); err != nil || !more {
				return err
			}
		}
		if !rest {
			return nil
		}
	}
}

// The states of a document that is to be deleted.
const (
	visiting = 1 + iota // its holders are being looked at
	deleted             // its delete is among the writes
	staying             // it cannot be deleted, because of its holders or for lack of room
)

// removal finds the writes that deletes bring with them by the delete policies of relations: holders are deleted too,
// lose their reference, or keep the target from being deleted.
type removal struct {
	snap  Snapshot
	model *model.Model
	fits  func(e *edit) (*fanfold.Problem, error) // see Writer.unfit
	room  int                                     // the largest number of writes

	closure    *deleteClosure               // of a delete in steps, which takes as many writes as there is room for, holders before targets
	operations map[fanfold.Key]*Operation   // the transaction's
	order      map[string][]*model.Relation // by collection: see relationsTo

	state     map[fanfold.Key]int               // of the documents to be deleted
	deletes   []*fanfold.Document               // to be deleted, each after its holders
	edits     map[fanfold.Key]*edit             // holders that stay and lose ids
	editOrder []fanfold.Key                     // the keys of edits, in the order in which they were found
	trees     *treeCache                        // of edits' documents
	root      fanfold.Key                       // the document that is asked to be deleted, whose delete is being visited
	causes    map[fanfold.Key]*fanfold.ByDelete // of the documents that are visited besides
	blockers  deleteBlockers                    // holders that do not let a target be deleted
	deferred  []func() (fanfold.Problem, bool)  // holders that restrict a delete unless they are deleted too
	together  map[fanfold.Key][]fanfold.Key     // in steps, the strict holders with which a document is deleted, or not at all

	used  int               // of room
	full  bool              // there are more writes than there is room for
	depth int               // how many deletes are being visited; each brings the next
	deep  *fanfold.Document // whose holders were not looked at, because so many deletes bring it
}

// removals returns the writes that the operations' deletes bring with them, read from one snapshot. It returns Restricted, also if a holder would not fit its schema without its
// reference, and Stale if a document is not at the expected revision. Unprocessable says that there are too many writes, or that they contradict the operations.
func (w *Writer) removals(ops []*Operation) (writes []fanfold.Write, err error) {
	m, _, _ := w.Models.Model()
	err = w.ReadModel.Read(func(snap Snapshot) error {
		r := w.newRemoval(snap, m, MaxOperations-len(ops))
		for _, op := range ops {
			if op.planned && op.Kind == Check { // it was read, and may be written with the delete
				continue
			}
			r.operations[op.Key] = op
		}
		for i, op := range ops {
			if op.Kind != Delete {
				continue
			}
			doc, err := snap.Get(op.Key, fanfold.Referenced)
			if err != nil {
				return err
			}
			if doc == nil || !op.expect.Set || doc.Revision != op.expect.Rev { // another node was faster
				return fanfold.AtOperation(&fanfold.Error{Code: fanfold.Stale, Current: revisionOf(doc), Message: "document " + op.Key.String() + " changed meanwhile: try again"}, i)
			}
			if r.state[doc.Key] != 0 { // another delete brings it with it
				continue
			}
			r.root = doc.Key
			if _, err := r.visit(doc); err != nil {
				return fanfold.AtOperation(err, i)
			}
		}
		if r.full {
			return r.tooManyError(ops)
		}
		if err := r.refusal(); err != nil {
			return err
		}
		if err := r.checkReferences(ops); err != nil {
			return err
		}
		writes, err = r.writes()
		setDeleteDistances(writes, ops)
		return err
	})
	return writes, err
}

// setDeleteDistances sets in the writes that operations bring with them how far before them their delete is. They are stored
// right after the operations.
func setDeleteDistances(writes []fanfold.Write, ops []*Operation) {
	index := map[fanfold.Key]int{}
	for i, op := range ops {
		index[op.Key] = i
	}
	for i, write := range writes {
		if write.Event.ByDelete == nil {
			continue
		}
		by := *write.Event.ByDelete
		by.Back = len(ops) + i - index[by.Key]
		write.Event.ByDelete = &by
	}
}

// newRemoval returns a removal of room writes at most.
func (w *Writer) newRemoval(snap Snapshot, m *model.Model, room int) *removal {
	return &removal{snap: snap, model: m, fits: w.unfit, room: room, operations: map[fanfold.Key]*Operation{}, state: map[fanfold.Key]int{}, edits: map[fanfold.Key]*edit{}, trees: newTreeCache(), causes: map[fanfold.Key]*fanfold.ByDelete{}, order: map[string][]*model.Relation{}}
}

// visit adds the delete of a document and, before it, the writes that it brings with it. gone tells whether the document
// can be deleted with the writes so far. It stops if more deletes bring each other in a row than a transaction has room
// for.
func (r *removal) visit(doc *fanfold.Document) (gone bool, err error) {
	if r.depth > MaxOperations {
		r.full, r.deep = true, doc
		return false, nil
	}
	r.depth++
	defer func() { r.depth-- }()
	r.state[doc.Key] = visiting
	gone = true
	for _, rel := range r.relationsTo(doc.Key.Collection) {
		if !rel.OnDelete.AffectsHolders() && (r.closure == nil || !rel.HoldsTarget()) {
			continue
		}
		if err := r.visitHolders(rel, doc.Key, func(holder *fanfold.Document) error {
			free, err := r.visitHolder(rel, doc.Key, holder)
			gone = gone && free
			if free && rel.Strict && r.together != nil && holder.Key != doc.Key {
				r.together[doc.Key] = append(r.together[doc.Key], holder.Key)
			}
			return err
		}); err != nil {
			return false, err
		}
	}
	_, edited := r.edits[doc.Key]
	if gone && !edited && !r.reserve(doc.Key) {
		gone = false
	}
	if !gone {
		if r.deep == nil { // else the visit goes on from there
			r.state[doc.Key] = staying
		}
		return false, nil
	}
	r.state[doc.Key] = deleted
	r.deletes = append(r.deletes, &fanfold.Document{Key: doc.Key, Revision: doc.Revision}) // without the body: there may be many
	if edited {                                                                            // its delete takes the place of its edit
		r.forgetEdit(doc.Key)
	}
	return true, nil
}

// relationsTo returns the relations that lead to a collection, in the order in which their holders are changed. Relations over
// derived ids come first, relations of documents that give the ids of a cascade come last. Holders that lose such an id with
// the document that it comes from would be left over by a delete in steps.
func (r *removal) relationsTo(collection string) []*model.Relation {
	if ordered, known := r.order[collection]; known {
		return ordered
	}
	feeds := map[string]int{}
	for _, rel := range r.model.Relations() {
		for _, rule := range rel.Origins {
			switch {
			case rel.OnDelete != model.Cascade || rule.Relation == nil:
			case rule.Kind == model.Copy:
				feeds[rule.Relation.To] = 1
			default:
				feeds[rule.Relation.Collection] = 1
			}
		}
	}
	r.order[collection] = slices.SortedStableFunc(slices.Values(r.model.RelationsTo(collection)), func(a, b *model.Relation) int {
		return cmp.Or(b.Level-a.Level, feeds[a.Collection]-feeds[b.Collection])
	})
	return r.order[collection]
}

// forgetEdit takes the edit of a document out of the writes.
func (r *removal) forgetEdit(key fanfold.Key) {
	delete(r.edits, key)
	r.editOrder = slices.DeleteFunc(r.editOrder, func(k fanfold.Key) bool { return k == key })
}

// reserve takes room for a write of a document, unless an operation of the transaction writes it anyway. It is false
// where there is none left.
func (r *removal) reserve(key fanfold.Key) bool {
	if r.operations[key] != nil {
		return true
	}
	r.full = r.used == r.room
	if !r.full {
		r.used++
	}
	return !r.full
}

// visitHolders calls fn for each document that refers to target by a relation, until there is no more room.
func (r *removal) visitHolders(rel *model.Relation, target fanfold.Key, fn func(holder *fanfold.Document) error) error {
	return eachHolder(r.snap, rel, target, func(holder *fanfold.Document) (more bool, err error) {
		if r.full {
			return false, nil
		}
		return true, fn(holder)
	})
}

// visitHolder adds what the relation's delete policy says about one holder of target. free tells whether target can be
// deleted then.
func (r *removal) visitHolder(rel *model.Relation, target fanfold.Key, holder *fanfold.Document) (free bool, err error) {
	if r.state[holder.Key] == deleted || holder.Key == target {
		return true, nil
	}
	if op := r.operations[holder.Key]; op != nil && op.Kind != Delete && op.Kind != Check {
		switch {
		case !rel.Derived():
			return true, nil // checkReferences looks at the document that the operation leaves
		case rel.OnDelete == model.Cascade:
			return false, about(fanfold.Errorf(fanfold.Unprocessable, "its delete deletes %s too (%s), which another operation writes", holder.Key, rel.FullName()), holder.Key)
		}
	}
	if op := r.operations[holder.Key]; op != nil && op.Kind == Check && rel.OnDelete != model.Restrict {
		return false, about(fanfold.Errorf(fanfold.Unprocessable, "its delete writes to %s too (%s), which another operation checks", holder.Key, rel.FullName()), holder.Key)
	}
	switch {
	case rel.HoldsTarget() && r.closure == nil:
		r.deferred = append(r.deferred, func() (fanfold.Problem, bool) {
			return restriction(rel, target, holder.Key), r.state[holder.Key] != deleted
		})
		return true, nil
	case rel.OnDelete == model.Unlink && (r.closure == nil || r.state[holder.Key] == visiting):
		return r.unlink(rel, target, holder)
	}
	switch r.state[holder.Key] {
	case visiting:
		return true, nil // a cycle: it is deleted with the documents that are being visited
	case staying:
		return false, nil
	}
	if rel.OnDelete != model.Cascade { // in steps, a holder that is to be deleted anyway goes before its target
		goes, err := r.closure.contains(r, holder.Key)
		switch {
		case err != nil:
			return false, err
		case !goes && rel.HoldsTarget():
			r.blockers.addRestricting(restriction(rel, target, holder.Key))
			return false, nil
		case !goes:
			return r.unlink(rel, target, holder)
		}
		if rel, err = r.closure.cascade(r, holder.Key, rel); err != nil {
			return false, err
		}
	}
	r.causes[holder.Key] = &fanfold.ByDelete{Key: r.root, Relations: []string{rel.FullName()}}
	return r.visit(holder)
}

// restriction says that a holder keeps target from being deleted.
func restriction(rel *model.Relation, target, holder fanfold.Key) fanfold.Problem {
	why := "restricts deletes"
	if rel.OnDelete != model.Restrict {
		why = "is strict"
	}
	return fanfold.Problem{Key: holder, Target: target, Path: holder.String(), Detail: fmt.Sprintf("refers to %s by %s, which %s", target, rel.FullName(), why)}
}

// unlink adds the edit that removes a holder's references to target. free is false where there is no room for it.
func (r *removal) unlink(rel *model.Relation, target fanfold.Key, holder *fanfold.Document) (free bool, err error) {
	e := r.edits[holder.Key]
	if e == nil {
		if !r.reserve(holder.Key) {
			return false, nil
		}
		key := holder.Key
		e = newEdit(holder, r.trees, func() (*fanfold.Document, error) { return r.snap.Get(key, fanfold.Referenced) })
		e.by.Key = r.root
		r.edits[holder.Key] = e
		r.editOrder = append(r.editOrder, holder.Key)
	}
	return true, e.drop(rel, target)
}

// refusal returns a Restricted where a holder that stays restricts a delete, or would not fit its schema without its
// reference.
func (r *removal) refusal() error {
	for _, check := range r.deferred {
		if p, restricts := check(); restricts {
			r.blockers.addRestricting(p)
		}
	}
	for _, key := range slices.Clone(r.editOrder) {
		problem, err := r.fits(r.edits[key])
		if err == nil && problem != nil && r.closure != nil {
			problem, err = r.closure.mend(r, key)
		}
		if err != nil {
			return err
		}
		if problem != nil {
			r.blockers.addMisfit(*problem)
		}
	}
	return r.blockers.error()
}

// checkReferences returns an Unprocessable where an operation writes a reference to a document that the transaction
// deletes, by a relation whose delete policy would have to change it.
func (r *removal) checkReferences(ops []*Operation) error {
	for i, op := range ops {
		if !op.writesDocument() {
			continue
		}
		body := op.event.Body
		if op.Kind == Patch {
			body = op.patched
		}
		c := r.model.Collection(op.Key.Collection)
		if c == nil {
			continue
		}
		t := jsondoc.MustParse(body)
		for _, rel := range c.Relations {
			if !rel.OnDelete.AffectsHolders() || rel.Derived() { // what it refers to then, only the fold knows
				continue
			}
			for _, id := range rel.Targets(t) {
				if target := (fanfold.Key{Collection: rel.To, ID: id}); r.state[target] == deleted {
					return fanfold.AtOperation(fanfold.Errorf(fanfold.Unprocessable, "it refers to %s by %s, which the transaction deletes", target, rel.FullName()), i)
				}
			}
		}
	}
	return nil
}

// writes returns the deletes and the edits, without deletes that are operations of the transaction.
func (r *removal) writes() (writes []fanfold.Write, err error) {
	for _, doc := range r.deletes {
		if r.operations[doc.Key] == nil {
			writes = append(writes, fanfold.Write{Event: &fanfold.Event{Kind: fanfold.KindDelete, Key: doc.Key, ByDelete: r.causes[doc.Key]}, Expect: fanfold.Exactly(doc.Revision)})
		}
	}
	for _, key := range r.editOrder {
		write, err := r.edits[key].write()
		if err != nil {
			return nil, err
		}
		writes = append(writes, write)
	}
	return writes, nil
}

// maxCounted bounds how far the writes of a refused delete are counted.
const maxCounted = 100_000

// tooManyError returns the Unprocessable of deletes that bring more with them than a transaction has room for. It counts
// by collection what they would write.
func (r *removal) tooManyError(ops []*Operation) error {
	s := newDeleteWalk(r.model, maxCounted)
	s.operations = r.operations
	for _, op := range ops {
		if op.Kind == Delete {
			s.add(op.Key)
		}
	}
	roots := len(s.order)
	for done := false; !done; {
		var err error
		if done, err = s.page(r.snap); err != nil {
			return err
		}
	}
	deletes, edits := map[string]int{}, map[string]int{}
	for _, key := range s.order {
		deletes[key.Collection]++
	}
	for key := range s.edited {
		edits[key.Collection]++
	}
	steps := &ManySteps{Documents: len(s.order) - roots + len(s.edited) + len(ops), AtLeast: s.full}
	more := ""
	if steps.AtLeast {
		more = "at least "
	}
	e := fanfold.Errorf(fanfold.Unprocessable, "the delete would write %s%d documents; a transaction writes at most %d: delete in steps (DELETE with steps=true, fanfold delete --steps)",
		more, steps.Documents, MaxOperations)
	e.Err = steps
	e.Discreet = fmt.Sprintf("the delete would write more documents than the %d that a transaction writes at most: delete in steps (DELETE with steps=true, fanfold delete --steps)", MaxOperations)
	for _, c := range r.model.Collections {
		counted := fanfold.Key{Collection: c.Name}
		if deletes[c.Name]+edits[c.Name] > 0 {
			e.About = append(e.About, counted)
		}
		if n := deletes[c.Name]; n > 0 {
			e.Problems = append(e.Problems, fanfold.Problem{Key: counted, Path: c.Name, Detail: fmt.Sprintf("%s%d documents would be deleted", more, n)})
		}
		if n := edits[c.Name]; n > 0 {
			e.Problems = append(e.Problems, fanfold.Problem{Key: counted, Path: c.Name, Detail: fmt.Sprintf("%s%d documents would lose their reference", more, n)})
		}
	}
	return e
}
