package writer

import (
	"fmt"
	"slices"
	"strings"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/internal/jsondoc"
)

// affectsHolders tells whether an operation deletes a document whose holders are affected by a delete policy.
func (w *Writer) affectsHolders(ops []*Operation) bool {
	m, _, _ := w.Models.Model()
	return slices.ContainsFunc(ops, func(op *Operation) bool {
		return op.Kind == Delete && slices.ContainsFunc(m.RelationsTo(op.Key.Collection), func(r *fanfold.Relation) bool { return r.OnDelete.AffectsHolders() })
	})
}

// holderPage bounds how many holders are read at a time.
const holderPage = 256

// eachHolder calls fn for each document that refers to target by a relation, in order of arrival, until fn returns false
// or an error, which is returned.
func eachHolder(snap Snapshot, rel *fanfold.Relation, target fanfold.Key, fn func(holder *fanfold.Document) (more bool, err error)) error {
	after := int64(0)
	for {
		docs, rest, err := snap.Holders(rel.FullName(), target.ID, after, holderPage, fanfold.Referenced)
		if err != nil {
			return err
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
	model *fanfold.Model
	room  int // the largest number of writes

	countOnly  bool                       // only the number of writes is asked for, not the writes
	steps      bool                       // as many writes as there is room for are taken, holders before targets
	operations map[fanfold.Key]*Operation // those of the transaction

	state     map[fanfold.Key]int              // of the documents to be deleted
	deletes   []*fanfold.Document              // to be deleted, each after its holders
	edits     map[fanfold.Key]*edit            // holders that stay and lose ids
	editOrder []fanfold.Key                    // the keys of edits, in the order in which they were found
	blocking  []fanfold.Problem                // holders that restrict a delete
	deferred  []func() (fanfold.Problem, bool) // holders that restrict a delete unless they are deleted too

	used int  // of room
	full bool // there are more writes than there is room for
}

// edit holds a document that stays and the nodes to be removed from it.
type edit struct {
	doc    *fanfold.Document
	tree   *jsondoc.Tree
	remove map[jsondoc.Node]string // the nodes' JSON pointers
}

// removals returns the writes that the operations' deletes bring with them, read from one snapshot. Errors are Restricted;
// Stale where a document is not at the revision that its operation expects; and Unprocessable where there are too many
// writes, or where they do not go together with the operations.
func (w *Writer) removals(ops []*Operation) (writes []fanfold.Write, err error) {
	m, _, _ := w.Models.Model()
	err = w.ReadModel.Read(func(snap Snapshot) error {
		r := newRemoval(snap, m, MaxOperations-len(ops))
		for _, op := range ops {
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
			if _, err := r.visit(doc); err != nil {
				return fanfold.AtOperation(err, i)
			}
		}
		if r.full {
			return r.tooManyError(ops)
		}
		if err := r.restrictedError(); err != nil {
			return err
		}
		if err := r.checkReferences(ops); err != nil {
			return err
		}
		writes = r.writes()
		return nil
	})
	return writes, err
}

// newRemoval returns a removal of room writes at most.
func newRemoval(snap Snapshot, m *fanfold.Model, room int) *removal {
	return &removal{snap: snap, model: m, room: room, operations: map[fanfold.Key]*Operation{}, state: map[fanfold.Key]int{}, edits: map[fanfold.Key]*edit{}}
}

// visit adds the delete of a document and, before it, the writes that it brings with it. gone tells whether the document
// can be deleted with the writes so far.
func (r *removal) visit(doc *fanfold.Document) (gone bool, err error) {
	r.state[doc.Key] = visiting
	gone = true
	for _, rel := range r.model.RelationsTo(doc.Key.Collection) {
		if !rel.OnDelete.AffectsHolders() {
			continue
		}
		if err := r.visitHolders(rel, doc.Key, func(holder *fanfold.Document) error {
			free, err := r.visitHolder(rel, doc.Key, holder)
			gone = gone && free
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
		r.state[doc.Key] = staying
		return false, nil
	}
	r.state[doc.Key] = deleted
	r.deletes = append(r.deletes, &fanfold.Document{Key: doc.Key, Revision: doc.Revision}) // without the body: there may be many
	if edited {                                                                            // its delete takes the place of its edit
		delete(r.edits, doc.Key)
		r.editOrder = slices.DeleteFunc(r.editOrder, func(k fanfold.Key) bool { return k == doc.Key })
	}
	return true, nil
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
func (r *removal) visitHolders(rel *fanfold.Relation, target fanfold.Key, fn func(holder *fanfold.Document) error) error {
	return eachHolder(r.snap, rel, target, func(holder *fanfold.Document) (more bool, err error) {
		if r.full {
			return false, nil
		}
		return true, fn(holder)
	})
}

// visitHolder adds what the relation's delete policy says about one holder of target. free tells whether target can be
// deleted then.
func (r *removal) visitHolder(rel *fanfold.Relation, target fanfold.Key, holder *fanfold.Document) (free bool, err error) {
	if r.state[holder.Key] == deleted || holder.Key == target {
		return true, nil
	}
	if op := r.operations[holder.Key]; op != nil && op.Kind != Delete && op.Kind != Check {
		return true, nil // checkReferences looks at the document that the operation leaves
	}
	if op := r.operations[holder.Key]; op != nil && op.Kind == Check && rel.OnDelete != fanfold.Restrict {
		return false, fanfold.Errorf(fanfold.Unprocessable, "its delete writes to %s too (%s), which another operation checks", holder.Key, rel.FullName())
	}
	switch rel.OnDelete {
	case fanfold.Restrict:
		return r.restrict(rel, target, holder), nil
	case fanfold.Unlink:
		return r.unlink(rel, target, holder), nil
	}
	switch r.state[holder.Key] {
	case visiting:
		return true, nil // a cycle: it is deleted with the documents that are being visited
	case staying:
		return false, nil
	}
	return r.visit(holder)
}

// restrict adds a holder that keeps target from being deleted. In steps it does so at once; in one transaction it does
// unless the holder turns out to be deleted too.
func (r *removal) restrict(rel *fanfold.Relation, target fanfold.Key, holder *fanfold.Document) (free bool) {
	key := holder.Key
	problem := fanfold.Problem{Path: key.String(), Detail: fmt.Sprintf("refers to %s by %s, which restricts deletes", target, rel.FullName())}
	if r.steps {
		if r.state[key] == visiting {
			return true
		}
		r.blocking = append(r.blocking, problem)
		return false
	}
	r.deferred = append(r.deferred, func() (fanfold.Problem, bool) { return problem, r.state[key] != deleted })
	return true
}

// unlink adds the edit that removes a holder's references to target. free is false where there is no room for it.
func (r *removal) unlink(rel *fanfold.Relation, target fanfold.Key, holder *fanfold.Document) (free bool) {
	e := r.edits[holder.Key]
	if e == nil {
		if !r.reserve(holder.Key) {
			return false
		}
		if e = new(edit); !r.countOnly {
			e.doc, e.tree, e.remove = holder, jsondoc.MustParse(holder.Body), map[jsondoc.Node]string{}
		}
		r.edits[holder.Key] = e
		r.editOrder = append(r.editOrder, holder.Key)
	}
	if r.countOnly {
		return true
	}
	rel.Path.Find(e.tree, target.ID, func(node, elem jsondoc.Node, pointer, elemPointer string) {
		if elem != jsondoc.None {
			node, pointer = elem, elemPointer
		}
		e.remove[node] = pointer
	})
	return true
}

// maxNamed bounds how many documents a refusal names.
const maxNamed = 20

// restrictedError returns a Restricted where a holder that stays restricts a delete.
func (r *removal) restrictedError() error {
	blocking := r.blocking
	for _, check := range r.deferred {
		if p, restricts := check(); restricts {
			blocking = append(blocking, p)
		}
	}
	if len(blocking) == 0 {
		return nil
	}
	e := fanfold.Errorf(fanfold.Restricted, "%d documents restrict the delete: delete them first, or take their references away", len(blocking))
	if len(blocking) == 1 {
		e.Message = "1 document restricts the delete: delete it first, or take its reference away"
	}
	e.Problems = blocking[:min(len(blocking), maxNamed)]
	return e
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
			if !rel.OnDelete.AffectsHolders() {
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
func (r *removal) writes() (writes []fanfold.Write) {
	for _, doc := range r.deletes {
		if r.operations[doc.Key] == nil {
			writes = append(writes, fanfold.Write{Event: &fanfold.Event{Kind: fanfold.KindDelete, Key: doc.Key}, Expect: fanfold.Exactly(doc.Revision)})
		}
	}
	for _, key := range r.editOrder {
		e := r.edits[key]
		writes = append(writes, fanfold.Write{Expect: fanfold.Exactly(e.doc.Revision), Event: &fanfold.Event{Kind: fanfold.KindPatch, Key: key,
			Patch: fanfold.JSONPatch, Base: e.doc.Revision, Body: e.patch()}})
	}
	return writes
}

// patch returns a JSON Patch that removes the nodes from the last to the first, so that the pointers stay right.
func (e *edit) patch() []byte {
	nodes := make([]jsondoc.Node, 0, len(e.remove))
	for n := range e.remove {
		nodes = append(nodes, n)
	}
	slices.Sort(nodes) // nodes stand in document order
	slices.Reverse(nodes)
	out := []byte{'['}
	for _, n := range nodes {
		if slices.ContainsFunc(nodes, func(o jsondoc.Node) bool { return strings.HasPrefix(e.remove[n], e.remove[o]+"/") }) {
			continue // it is removed with a node around it
		}
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = append(jsondoc.AppendQuote(append(out, `{"op":"remove","path":`...), e.remove[n]), '}')
	}
	return append(out, ']')
}

// maxCounted bounds how far the writes of a refused delete are counted.
const maxCounted = 100_000

// tooManyError returns the Unprocessable of deletes that bring more with them than a transaction has room for. It counts
// by collection what they would write.
func (r *removal) tooManyError(ops []*Operation) error {
	all := newRemoval(r.snap, r.model, maxCounted)
	all.operations, all.countOnly = r.operations, true
	for _, op := range ops {
		if op.Kind != Delete {
			continue
		}
		doc, err := r.snap.Get(op.Key, fanfold.Referenced)
		if err != nil || doc == nil {
			return err
		}
		if _, err := all.visit(doc); err != nil {
			return err
		}
	}
	deletes, edits := map[string]int{}, map[string]int{}
	for _, doc := range all.deletes {
		deletes[doc.Key.Collection]++
	}
	for _, key := range all.editOrder {
		edits[key.Collection]++
	}
	more := ""
	if all.full {
		more = "at least "
	}
	e := fanfold.Errorf(fanfold.Unprocessable, "the delete would write %s%d documents; a transaction writes at most %d: delete in steps (DELETE with steps=true, fanfold delete --steps)", more, all.used+len(ops), MaxOperations)
	for _, c := range r.model.Collections {
		if n := deletes[c.Name]; n > 0 {
			e.Problems = append(e.Problems, fanfold.Problem{Path: c.Name, Detail: fmt.Sprintf("%s%d documents would be deleted", more, n)})
		}
		if n := edits[c.Name]; n > 0 {
			e.Problems = append(e.Problems, fanfold.Problem{Path: c.Name, Detail: fmt.Sprintf("%s%d documents would lose their reference", more, n)})
		}
	}
	return e
}
