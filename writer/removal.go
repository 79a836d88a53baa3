package writer

import (
	"fmt"
	"slices"
	"strings"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/internal/jsondoc"
)

// What a delete does to the documents that refer to the deleted one, by their relations' policies:
// explicit writes, in the delete's transaction.

// affectsHolders tells whether an operation deletes a document whose holders a policy is about.
func (w *Writer) affectsHolders(ops []*Operation) bool {
	m, _, _ := w.Models.Model()
	return slices.ContainsFunc(ops, func(op *Operation) bool {
		return op.Kind == Delete && slices.ContainsFunc(m.RelationsTo(op.Key.Collection), func(r *fanfold.Relation) bool { return r.OnDelete.AffectsHolders() })
	})
}

// holderPage is how many holders are read at a time.
const holderPage = 256

// eachHolder calls fn for the documents that refer to target by a relation, by arrival, until it wants no more.
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

// states of a document that is to be deleted.
const (
	visiting = 1 + iota // its holders are being looked at
	leaving             // it is among the writes
	staying             // holders keep it
)

// removal finds what goes, and what changes, with documents that are deleted.
type removal struct {
	snap     Snapshot
	model    *fanfold.Model
	room     int                              // writes at most
	counting bool                             // only how much there is
	steps    bool                             // as much as there is room for, children first
	others   map[fanfold.Key]*Operation       // what else the transaction writes
	state    map[fanfold.Key]int              // of documents to be deleted
	leave    []*fanfold.Document              // those that can be, each after its children
	edits    map[fanfold.Key]*edit            // holders that stay and lose ids
	order    []fanfold.Key                    // of edits
	held     []fanfold.Problem                // by whom deletes are refused
	later    []func() (fanfold.Problem, bool) // refusals that depend on what else is deleted
	used     int
	full     bool // there is more than there is room for
}

// edit is a holder and the nodes to be removed from it.
type edit struct {
	doc    *fanfold.Document
	tree   *jsondoc.Tree
	remove map[jsondoc.Node]string // their JSON pointers
}

// removals are the writes that the operations' deletes bring with them.
func (w *Writer) removals(ops []*Operation) (writes []fanfold.Write, err error) {
	m, _, _ := w.Models.Model()
	err = w.ReadModel.Read(func(snap Snapshot) error {
		r := newRemoval(snap, m, MaxOperations-len(ops))
		for _, op := range ops {
			r.others[op.Key] = op
		}
		for i, op := range ops {
			if op.Kind != Delete {
				continue
			}
			doc, err := snap.Get(op.Key, fanfold.Referenced)
			if err != nil {
				return err
			}
			if doc == nil || !op.expect.Set || doc.Revision != op.expect.Rev { // its turn was lost meanwhile
				return fanfold.AtOperation(&fanfold.Error{Code: fanfold.Stale, Current: revisionOf(doc), Message: "document " + op.Key.String() + " changed meanwhile: try again"}, i)
			}
			if r.state[doc.Key] != 0 { // it goes with another one
				continue
			}
			if _, err := r.visit(doc); err != nil {
				return fanfold.AtOperation(err, i)
			}
		}
		if r.full {
			return r.tooMany(ops)
		}
		if err := r.refusal(); err != nil {
			return err
		}
		if err := r.dangling(ops); err != nil {
			return err
		}
		writes = r.writes(func(key fanfold.Key) bool { return r.others[key] != nil })
		return nil
	})
	return writes, err
}

func newRemoval(snap Snapshot, m *fanfold.Model, room int) *removal {
	return &removal{snap: snap, model: m, room: room, others: map[fanfold.Key]*Operation{}, state: map[fanfold.Key]int{}, edits: map[fanfold.Key]*edit{}}
}

// visit notes a document to be deleted and, before it, what its delete brings with it; gone tells
// whether it can be deleted with what is noted.
func (r *removal) visit(doc *fanfold.Document) (gone bool, err error) {
	r.state[doc.Key] = visiting
	gone = true
	for _, rel := range r.model.RelationsTo(doc.Key.Collection) {
		if !rel.OnDelete.AffectsHolders() {
			continue
		}
		if err := r.holders(rel, doc.Key, func(holder *fanfold.Document) error {
			free, err := r.holder(rel, doc.Key, holder)
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
	r.state[doc.Key] = leaving
	r.leave = append(r.leave, &fanfold.Document{Key: doc.Key, Revision: doc.Revision}) // there may be many
	if edited {                                                                        // its delete is the one write
		delete(r.edits, doc.Key)
		r.order = slices.DeleteFunc(r.order, func(k fanfold.Key) bool { return k == doc.Key })
	}
	return true, nil
}

// reserve makes room for a write of the document, unless the transaction writes it anyway.
func (r *removal) reserve(key fanfold.Key) bool {
	if r.others[key] != nil {
		return true
	}
	r.full = r.used == r.room
	if !r.full {
		r.used++
	}
	return !r.full
}

// holders calls fn for the documents that refer to target until there is no more room.
func (r *removal) holders(rel *fanfold.Relation, target fanfold.Key, fn func(holder *fanfold.Document) error) error {
	return eachHolder(r.snap, rel, target, func(holder *fanfold.Document) (more bool, err error) {
		if r.full {
			return false, nil
		}
		return true, fn(holder)
	})
}

// holder does with one holder of target what the relation's policy says; free tells whether
// target can go.
func (r *removal) holder(rel *fanfold.Relation, target fanfold.Key, holder *fanfold.Document) (free bool, err error) {
	if r.state[holder.Key] == leaving || holder.Key == target {
		return true, nil
	}
	if op := r.others[holder.Key]; op != nil && op.Kind != Delete && op.Kind != Check {
		return true, nil // dangling looks at what the operation makes of it
	}
	if op := r.others[holder.Key]; op != nil && op.Kind == Check && rel.OnDelete != fanfold.Restrict {
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
		return true, nil // it waits for what is being looked at
	case staying:
		return false, nil
	}
	return r.visit(holder)
}

func (r *removal) restrict(rel *fanfold.Relation, target fanfold.Key, holder *fanfold.Document) (free bool) {
	key := holder.Key
	problem := fanfold.Problem{Path: key.String(), Detail: fmt.Sprintf("refers to %s by %s, which restricts deletes", target, rel.FullName())}
	if r.steps {
		if r.state[key] == visiting {
			return true
		}
		r.held = append(r.held, problem)
		return false
	}
	r.later = append(r.later, func() (fanfold.Problem, bool) { return problem, r.state[key] != leaving })
	return true
}

func (r *removal) unlink(rel *fanfold.Relation, target fanfold.Key, holder *fanfold.Document) (free bool) {
	e := r.edits[holder.Key]
	if e == nil {
		if !r.reserve(holder.Key) {
			return false
		}
		if e = new(edit); !r.counting {
			e.doc, e.tree, e.remove = holder, jsondoc.MustParse(holder.Body), map[jsondoc.Node]string{}
		}
		r.edits[holder.Key] = e
		r.order = append(r.order, holder.Key)
	}
	if r.counting {
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

// maxNamed is how many documents a refusal names.
const maxNamed = 20

// refusal is an error if a holder that stays restricts a delete.
func (r *removal) refusal() error {
	held := r.held
	for _, check := range r.later {
		if p, holds := check(); holds {
			held = append(held, p)
		}
	}
	if len(held) == 0 {
		return nil
	}
	e := fanfold.Errorf(fanfold.Restricted, "%d documents restrict the delete: delete them first, or take their references away", len(held))
	if len(held) == 1 {
		e.Message = "1 document restricts the delete: delete it first, or take its reference away"
	}
	e.Problems = held[:min(len(held), maxNamed)]
	return e
}

// dangling is an error if an operation writes a reference that a delete of the same transaction
// would have to treat.
func (r *removal) dangling(ops []*Operation) error {
	for i, op := range ops {
		body := op.event.Body
		if op.Kind == Patch {
			body = op.patched
		}
		if op.Kind == Delete || op.Kind == Check {
			continue
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
				if target := (fanfold.Key{Collection: rel.To, ID: id}); r.state[target] == leaving {
					return fanfold.AtOperation(fanfold.Errorf(fanfold.Unprocessable, "it refers to %s by %s, which the transaction deletes", target, rel.FullName()), i)
				}
			}
		}
	}
	return nil
}

// writes are the deletes and edits, but for those of documents that are written otherwise.
func (r *removal) writes(otherwise func(fanfold.Key) bool) (writes []fanfold.Write) {
	for _, doc := range r.leave {
		if !otherwise(doc.Key) {
			writes = append(writes, fanfold.Write{Event: &fanfold.Event{Kind: fanfold.KindDelete, Key: doc.Key}, Expect: fanfold.Exactly(doc.Revision)})
		}
	}
	for _, key := range r.order {
		e := r.edits[key]
		writes = append(writes, fanfold.Write{Expect: fanfold.Exactly(e.doc.Revision), Event: &fanfold.Event{Kind: fanfold.KindPatch, Key: key,
			Patch: fanfold.JSONPatch, Base: e.doc.Revision, Body: e.patch()}})
	}
	return writes
}

// patch removes the nodes from the last to the first, so that the pointers stay right.
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
			continue // it goes with what is around it
		}
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = append(jsondoc.AppendQuote(append(out, `{"op":"remove","path":`...), e.remove[n]), '}')
	}
	return append(out, ']')
}

// maxCounted is up to how many documents a refused delete tells what it would touch.
const maxCounted = 100_000

// tooMany refuses deletes that bring more with them than a transaction has room for, and says what.
func (r *removal) tooMany(ops []*Operation) error {
	all := newRemoval(r.snap, r.model, maxCounted)
	all.others, all.counting = r.others, true
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
	deleted, changed := map[string]int{}, map[string]int{}
	for _, doc := range all.leave {
		deleted[doc.Key.Collection]++
	}
	for _, key := range all.order {
		changed[key.Collection]++
	}
	more := ""
	if all.full {
		more = "at least "
	}
	e := fanfold.Errorf(fanfold.Unprocessable, "the delete would write %s%d documents; a transaction writes at most %d: delete in steps (DELETE with steps=true, fanfold delete --steps)", more, all.used+len(ops), MaxOperations)
	for _, c := range r.model.Collections {
		if n := deleted[c.Name]; n > 0 {
			e.Problems = append(e.Problems, fanfold.Problem{Path: c.Name, Detail: fmt.Sprintf("%s%d documents would be deleted", more, n)})
		}
		if n := changed[c.Name]; n > 0 {
			e.Problems = append(e.Problems, fanfold.Problem{Path: c.Name, Detail: fmt.Sprintf("%s%d documents would lose their reference", more, n)})
		}
	}
	return e
}
