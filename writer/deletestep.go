package writer

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"github.com/nats-io/nuid"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/internal/jsondoc"
	"github.com/fanfold/fanfold/model"
)

// DeleteStep reports what one step of a delete in steps did.
type DeleteStep struct {
	Done   bool            // the document itself is deleted
	Last   uint64          // the sequence of the last event stored
	Writes []fanfold.Write // the deletes and changes of documents that were stored
	DryRun *DryRun         // of a dry run, which stores nothing
}

// ErrManySteps is the cause of the Unprocessable of a delete that one transaction does not take: DeleteNext does.
var ErrManySteps = errors.New("the delete is to be made in steps")

// ManySteps is an ErrManySteps that says how many documents the request would write.
type ManySteps struct {
	Documents int
	AtLeast   bool // there may be more: they were not counted further
}

// Error implements error.
func (m *ManySteps) Error() string { return ErrManySteps.Error() }

// Unwrap returns ErrManySteps.
func (m *ManySteps) Unwrap() error { return ErrManySteps }

// DeleteNext makes one step of a delete that brings more with it than one transaction takes. A step deletes and changes as many holders as there
// is room for, children before parents. The last one deletes the document itself. Repeat it until the step says Done. Each step judges by
// itself: a document that forbids the delete ends it there, and earlier steps stay done. It blocks until the log has decided. It returns
// NotFound, UnknownCollection, Restricted, FanoutLimit, Forbidden, and the errors of Appender. The model decides about the writes that the
// delete brings with it: they need no right.
func (w *Writer) DeleteNext(ctx context.Context, key fanfold.Key, in Intent) (DeleteStep, error) {
	if err := in.By.CheckAll(model.ActDelete, key.Collection); err != nil {
		return DeleteStep{}, err
	}
	if err := w.awaitModel(ctx); err != nil {
		return DeleteStep{}, err
	}
	if err := w.takes(key.Collection); err != nil {
		return DeleteStep{}, err
	}
	m, _, _ := w.Models.Model()
	d := &stepPlan{w: w, key: key, in: in, room: MaxOperations, fires: firesTriggers(m, &Operation{Kind: Delete, Key: key})}
	_, err := d.fired(ctx)
	if d.step.DryRun, err = w.dryRun(ctx, err); d.step.DryRun == nil {
		w.counts.add(string(Delete), err)
	}
	return d.step, withoutOperation(err)
}

// fired makes the step. If the document has a trigger, that is asked before anything is deleted, and runs with the last step.
func (d *stepPlan) fired(ctx context.Context) (first uint64, err error) {
	if !d.fires {
		return d.decide(ctx)
	}
	ops := []*Operation{{Kind: Delete, Key: d.key}}
	if err := newPlanning(d.w, d.in, 0).rehearse(ctx, ops); err != nil {
		return 0, err
	}
	if first, err = d.decide(ctx); !errors.Is(err, errLastStep) {
		return first, err
	}
	p := newPlanning(d.w, d.in, 0)
	if first, err = p.writeFired(ctx, ops, Request{}); err == nil {
		d.step = DeleteStep{Done: true, Last: first + uint64(len(p.stored)) - 1, Writes: p.stored}
	}
	return first, err
}

// errLastStep ends a step that would delete a document with a trigger.
var errLastStep = errors.New("the document's trigger runs with the last step")

// decide makes the step, and keeps holders from coming meanwhile.
func (d *stepPlan) decide(ctx context.Context) (first uint64, err error) {
	plain := func(c *closing) (uint64, error) {
		d.closing = c
		return d.w.decide(ctx, plan{try: d.try})
	}
	m, _, _ := d.w.Models.Model()
	if d.in.DryRun || !affectsHoldersOf(m, d.key.Collection) {
		return plain(nil)
	}
	if first, err = holdersOf(d.w).withoutHolders(ctx, []fanfold.Key{d.key}, false, plain); err == nil {
		holdersOf(d.w).removeLateHolders(ctx, d.step.Writes, first, d.in)
	}
	return first, err
}

// stepPlan makes one step of a delete in steps.
type stepPlan struct {
	w       *Writer
	key     fanfold.Key // of the document that is asked to be deleted
	in      Intent
	room    int        // the largest number of writes
	fires   bool       // the document has a trigger
	closing *closing   // what the deletes are closed for; nil in a dry run
	step    DeleteStep // of the last try
}

// try makes the step from what this node shows once it has caught up with the log, and appends it: see plan.
func (d *stepPlan) try(ctx context.Context, lost bool) (first uint64, err error) {
	if err := d.w.catchUp(ctx); err != nil {
		return 0, err
	}
	writes, err := d.next()
	if err != nil {
		return 0, err
	}
	if d.fires && d.step.Done && !d.in.DryRun {
		return 0, errLastStep
	}
	if missing := d.closing.missing(writes); len(missing) > 0 {
		if err := d.closing.close(ctx, missing); err != nil {
			return 0, err
		}
		return d.try(ctx, lost)
	}
	first, err = d.w.appendAll(ctx, nuid.Next(), writes, d.in, d.closing)
	if errors.Is(err, errTooManyMessages) && d.room > 1 { // with their guards the writes are too many
		d.room /= 2
		return d.try(ctx, lost)
	}
	if err == nil {
		d.step.Last, d.step.Writes = first+uint64(len(writes))-1, writes
	}
	return first, again(err)
}

// next returns the writes of the step, and sets what it does. Errors are NotFound and Restricted.
func (d *stepPlan) next() (writes []fanfold.Write, err error) {
	m, _, _ := d.w.Models.Model()
	key := d.key
	err = d.w.ReadModel.Read(func(snap Snapshot) error {
		doc, err := snap.Get(key, fanfold.Referenced)
		if err != nil || doc == nil {
			return cmp.Or(err, Missing(key))
		}
		r := d.w.newRemoval(snap, m, d.room)
		r.root = key
		r.closure, r.together = &deleteClosure{root: key, known: map[fanfold.Key]bool{}, left: maxClosureReads}, map[fanfold.Key][]fanfold.Key{}
		if err := r.checkRoot(); err != nil {
			return err
		}
		var gone bool
		top := doc
		for {
			if gone, err = r.visit(top); err != nil {
				return err
			}
			if r.deep == nil || len(r.deletes)+len(r.editOrder) > 0 {
				break
			}
			top, r.deep, r.full = r.deep, nil, false
		}
		r.keepRingsWhole()
		if err := r.refusal(); err != nil {
			return err
		}
		if writes, err = r.writes(); err != nil {
			return err
		}
		if len(writes) == 0 {
			return fanfold.Errorf(fanfold.Internal, "a step of the delete of %s has nothing to do", key)
		}
		d.step = DeleteStep{Done: gone && top == doc}
		return nil
	})
	return writes, err
}

// checkRoot returns a Restricted where a holder that stays restricts the delete of the requested document itself, as far as
// a page of each relation shows. The visit would find it after the steps of all that goes before.
func (r *removal) checkRoot() error {
	for _, rel := range r.model.RelationsTo(r.root.Collection) {
		if !rel.HoldsTarget() {
			continue
		}
		docs, _, err := r.snap.Holders(rel.FullName(), r.root.ID, 0, holderPage, fanfold.Referenced)
		if err != nil {
			return err
		}
		for _, doc := range docs {
			if goes, err := r.closure.contains(r, doc.Key); err != nil {
				return err
			} else if !goes {
				r.blockers.addRestricting(restriction(rel, r.root, doc.Key))
			}
		}
	}
	return r.blockers.error()
}

// keepRingsWhole takes deletes out of a step that has room for a part of a ring only. The documents of a ring refer to each
// other strictly, so a delete of a part would leave references to deleted documents. A ring that leaves nothing else is left
// as it is: the guards of the writes refuse it.
func (r *removal) keepRingsWhole() {
	goes := map[fanfold.Key]bool{}
	for _, doc := range r.deletes {
		goes[doc.Key] = true
	}
	stays := func(doc *fanfold.Document) bool {
		return slices.ContainsFunc(r.together[doc.Key], func(holder fanfold.Key) bool { return !goes[holder] && r.edits[holder] == nil })
	}
	left := slices.Clone(r.deletes)
	for n := -1; n != len(left); {
		n = len(left)
		left = slices.DeleteFunc(left, func(doc *fanfold.Document) bool {
			goes[doc.Key] = !stays(doc)
			return !goes[doc.Key]
		})
	}
	if len(left)+len(r.editOrder) > 0 {
		r.deletes = left
	}
}

// maxClosureReads bounds how many documents one step reads to find out whether a holder is deleted by a later one.
const maxClosureReads = 10 * MaxOperations

// deleteClosure knows which documents a delete in steps deletes in the end: those from which references that cascade lead to
// its root.
type deleteClosure struct {
	root  fanfold.Key
	known map[fanfold.Key]bool
	left  int // documents that may yet be read
}

// contains tells whether the delete deletes a document. Those that r has visited are among them.
func (d *deleteClosure) contains(r *removal, key fanfold.Key) (bool, error) {
	isKnown := func(key fanfold.Key) bool { return key == d.root || r.state[key] != 0 || d.known[key] }
	if isKnown(key) {
		return true, nil
	}
	seen := []fanfold.Key{}
	see := func(key fanfold.Key) {
		if _, known := d.known[key]; !known {
			d.known[key], seen = false, append(seen, key)
		}
	}
	see(key)
	for i := 0; i < len(seen) && d.left > 0; i++ {
		targets, err := r.cascadesTo(seen[i])
		if err != nil {
			return false, err
		}
		d.left--
		for _, target := range targets {
			if isKnown(target) {
				for _, k := range seen { // the others may be, too, by a way that was not followed
					delete(d.known, k)
				}
				d.known[key] = true
				return true, nil
			}
			see(target)
		}
	}
	return false, nil
}

// cascade returns the relation by which a document that the delete deletes cascades with another that goes, and otherwise where
// there is none.
func (d *deleteClosure) cascade(r *removal, key fanfold.Key, otherwise *model.Relation) (rel *model.Relation, err error) {
	rel = otherwise
	err = r.eachCascade(key, func(by *model.Relation, target fanfold.Key) (more bool, err error) {
		goes, err := d.contains(r, target)
		if goes {
			rel = by
		}
		return !goes, err
	})
	return rel, err
}

// cascadesTo returns the documents whose deletes delete a document, none where there is no such document.
func (r *removal) cascadesTo(key fanfold.Key) (targets []fanfold.Key, err error) {
	err = r.eachCascade(key, func(_ *model.Relation, target fanfold.Key) (more bool, err error) {
		targets = append(targets, target)
		return true, nil
	})
	return targets, err
}

// eachCascade calls fn with each document whose delete deletes another, and the relation by which it does, until fn returns
// false or an error, which is returned.
func (r *removal) eachCascade(key fanfold.Key, fn func(rel *model.Relation, target fanfold.Key) (more bool, err error)) error {
	c := r.model.Collection(key.Collection)
	cascades := func(rel *model.Relation) bool { return rel.OnDelete == model.Cascade }
	if c == nil || !slices.ContainsFunc(c.Relations, cascades) {
		return nil
	}
	view := fanfold.Referenced
	if slices.ContainsFunc(c.Relations, func(rel *model.Relation) bool { return cascades(rel) && rel.Derived() }) {
		view = fanfold.Embedded
	}
	doc, err := r.snap.Get(key, view)
	if err != nil || doc == nil {
		return err
	}
	t := jsondoc.MustParse(doc.Body)
	for _, rel := range c.Relations {
		if !cascades(rel) {
			continue
		}
		for _, id := range rel.Targets(t) {
			if more, err := fn(rel, fanfold.Key{Collection: rel.To, ID: id}); err != nil || !more {
				return err
			}
		}
	}
	return nil
}

// mend changes the edit of a document that does not fit after this step but fits after all of them. It also removes the
// references to documents that later steps delete. A document that a later step deletes keeps its references until then,
// unless they are strict. It returns what does not fit even so.
func (d *deleteClosure) mend(r *removal, key fanfold.Key) (*fanfold.Problem, error) {
	e := r.edits[key]
	goes, err := d.contains(r, key)
	if err != nil {
		return nil, err
	}
	if goes && !e.strict {
		r.forgetEdit(key)
		return nil, nil
	}
	if err := e.dropAll(r.model, func(target fanfold.Key) (bool, error) { return d.contains(r, target) }); err != nil {
		return nil, err
	}
	return r.fits(e)
}
