package fold

import (
	"bytes"
	"fmt"
	"time"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/internal/jsondoc"
	"github.com/fanfold/fanfold/sqlite"
)

// fold applies events to one transaction. It is a function of the plan, the event and the rows
// it asks for: no clock, no map order, no batch boundary enters into what it writes. What it
// keeps from one event to the next are caches.
type Fold struct {
	tx    *sqlite.Tx
	plan  *Plan
	cache valueCache
	opt   Options

	// memory used again from document to document
	view    jsondoc.Tree
	source  jsondoc.Tree
	splicer splicer
	links   []sqlite.Link

	// of the event being folded
	event  *fanfold.Event
	open   fanfold.TxPart // the last event's
	now    time.Time
	n      int              // changes so far
	did    []sqlite.Outcome // of the events since it was emptied
	causes int64            // derived changes so far
	direct int64            // number of the document it writes to; 0 for none
	levels []*level

	modelChange *ModelChange // of a model event
	preparing   *ModelChange // a model to come: what it changes is noted, and has no positions yet
	step        func() error // called for every document of a model event; nil for nothing
}

// Reporter is told of rules whose expressions fail. It has no part in what the fold writes.
type Reporter interface {
	// RuleFailed is called for each evaluation that failed for another reason than a missing member, with the
	// document it was evaluated on.
	RuleFailed(rule string, key fanfold.Key, err error)
}

// FoldOptions of a Fold; the zero value works.
type Options struct {
	// SetOrientedFrom is how many holders a fan-out has that is folded by set-oriented SQL, where the rule allows
	// it; default DefaultSetOrientedFrom, negative: none is. The rows are the same.
	SetOrientedFrom int
	Reporter        Reporter        // nil for none
	Fanout          *fanfold.Fanout // derived changes are counted in it; nil for none
}

// New returns a fold of events under the model of a plan.
func New(p *Plan, opt Options) *Fold {
	if opt.SetOrientedFrom == 0 {
		opt.SetOrientedFrom = DefaultSetOrientedFrom
	}
	f := &Fold{opt: opt}
	f.setPlan(p)
	return f
}

// Plan returns the plan that the next event is folded under.
func (f *Fold) Plan() *Plan { return f.plan }

// SetReporter replaces the reporter of the options.
func (f *Fold) SetReporter(r Reporter) { f.opt.Reporter = r }

// Outcomes returns what the events of the last ApplyAll did. It is valid until the next one.
func (f *Fold) Outcomes() []sqlite.Outcome { return f.did }

// OnDocument has fn called for every document that a model event works on; an error ends the fold.
func (f *Fold) OnDocument(fn func() error) { f.step = fn }

// ApplyAll folds events into the transaction, each the log's next. The error says which cannot be folded and
// why; the transaction and the fold are then to be thrown away.
func (f *Fold) ApplyAll(tx *sqlite.Tx, events []*fanfold.Event) error {
	f.did = f.did[:0]
	for _, ev := range events {
		if want := tx.Checkpoint().Seq + 1; ev.Seq != want {
			return fanfold.Errorf(fanfold.Internal, "event %d follows %d", ev.Seq, want-1)
		}
		if err := f.Apply(tx, ev); err != nil {
			return err
		}
	}
	return nil
}

// use switches to another model.
func (f *Fold) setPlan(p *Plan) {
	f.plan = p
	f.cache.reset(len(p.Rules))
	f.levels = make([]*level, p.Levels)
	for i := range f.levels {
		f.levels[i] = &level{}
	}
}

// begin makes ready for one event. Time never goes back, whatever the log's clocks say.
func (f *Fold) begin(tx *sqlite.Tx, ev *fanfold.Event) {
	f.tx, f.event, f.n, f.direct, f.causes = tx, ev, 0, 0, 0
	f.now = tx.Checkpoint().Time
	if ev.Time.After(f.now) {
		f.now = ev.Time
	}
}

// apply folds one event into the transaction. The error says why it cannot be folded.
func (f *Fold) Apply(tx *sqlite.Tx, ev *fanfold.Event) error {
	f.begin(tx, ev)
	err := f.checkTransaction(ev)
	if err == nil {
		err = f.fold(ev)
	}
	if last := len(f.did) - 1; last >= 0 && f.did[last].Seq == ev.Seq {
		f.did[last].Derived = f.causes
	}
	if err == nil && ev.IdempotencyKey.Hash != "" {
		err = f.recordIdempotencyKey(ev)
	}
	if err != nil {
		return fmt.Errorf("event %d (%s %s): %w", ev.Seq, ev.Kind, ev.Key, err)
	}
	tx.SetCheckpoint(ev.Seq, f.now, Fingerprint())
	return nil
}

func (f *Fold) fold(ev *fanfold.Event) error {
	switch ev.Kind {
	case fanfold.KindFence, fanfold.KindCheck, fanfold.KindImport, fanfold.KindLink:
		return nil
	case fanfold.KindClaim:
		return f.tx.SetClaimSequence(ev.Key.Collection, ev.Path, ev.Value, ev.Seq)
	case fanfold.KindModel:
		return f.model(ev)
	case fanfold.KindPrepare:
		return f.tx.SetProposal(ev.Seq, ev.Body)
	case fanfold.KindCancel:
		return f.tx.SetProposal(ev.Seq, nil)
	case fanfold.KindDelete:
		return f.delete(ev)
	default:
		return f.write(ev)
	}
}

// follows checks that the event goes on with the transaction before it, or begins after its end.
func (f *Fold) checkTransaction(ev *fanfold.Event) error {
	want := fanfold.TxPart{}
	if f.open.Open() {
		want = fanfold.TxPart{ID: f.open.ID, Index: f.open.Index + 1, Count: f.open.Count}
	} else if ev.Tx.ID != "" {
		want = fanfold.TxPart{ID: ev.Tx.ID, Count: ev.Tx.Count}
	}
	if ev.Tx != want {
		return fanfold.Errorf(fanfold.Invalid, "part %d of %d of transaction %q, where part %d of %d of %q was to follow: the log has part of a transaction",
			ev.Tx.Index+1, ev.Tx.Count, ev.Tx.ID, want.Index+1, want.Count, want.ID)
	}
	f.open = ev.Tx
	return nil
}

// keepOnce is how long a request's key is remembered, by the log's time.
const keepIdempotencyKeys = 24 * time.Hour

// once remembers the request that the event was stored for.
func (f *Fold) recordIdempotencyKey(ev *fanfold.Event) error {
	if err := f.tx.PruneIdempotencyKeys(f.now.Add(-keepIdempotencyKeys)); err != nil {
		return err
	}
	return f.tx.AddIdempotencyKey(fanfold.IdempotencyRecord{IdempotencyKey: ev.IdempotencyKey, Seq: ev.Seq}, f.now)
}

// position is where the next change of this event goes.
func (f *Fold) position() (fanfold.Position, error) {
	if f.n > fanfold.MaxChanges && f.preparing == nil {
		return 0, fanfold.Errorf(fanfold.Internal, "the event causes more than %d changes", fanfold.MaxChanges)
	}
	p := fanfold.At(f.event.Seq, f.n)
	f.n++
	return p, nil
}

// write folds a put or patch.
func (f *Fold) write(ev *fanfold.Event) error {
	old, err := f.tx.Get(ev.Key)
	if err != nil {
		return err
	}
	source, op, err := written(ev, old)
	if err != nil {
		return err
	}
	row := &sqlite.Row{Number: int64(ev.Seq), Key: ev.Key, Created: f.now}
	oldSource := emptyTree
	if old != nil {
		row.Number, row.Created = old.Number, old.Created
		oldSource = jsondoc.MustParse(old.Source())
	}
	row.Revision, row.Updated, f.direct = fanfold.Revision(ev.Seq), f.now, row.Number
	if row.Position, err = f.position(); err != nil {
		return err
	}
	c := f.plan.Collection(ev.Key.Collection)
	t := &f.source
	t.Reset(source)
	if err := f.relink(c, row, oldSource, t); err != nil {
		return err
	}
	if err := f.restoreKept(c, row, t, ev.Kept); err != nil {
		return err
	}
	values := &currentValues{f: f, id: ev.Key.ID, holder: row.Number}
	if old != nil {
		values.old = jsondoc.MustParse(old.Body)
	}
	if row.Body, err = f.plan.Embed(c, values, t, values.old); err != nil {
		return err
	}
	if c.storesSource() || !bytes.Equal(row.Body, source) {
		row.Stored = source
	}
	if err := f.store(row, old, op); err != nil {
		return err
	}
	if err := f.markReaders(c, row.Key, old, row.Body); err != nil {
		return err
	}
	if err := f.markFrozen(c, row, t, ev); err != nil {
		return err
	}
	return f.propagate()
}

var emptyTree = jsondoc.MustParse([]byte("{}"))

// written is the document's new referenced view.
func written(ev *fanfold.Event, old *sqlite.Row) (source []byte, op fanfold.Op, err error) {
	switch {
	case ev.Kind == fanfold.KindPatch && (old == nil || old.Revision != ev.Base):
		return nil, "", fanfold.Errorf(fanfold.Internal, "a patch on revision %d, which is not the document's last", ev.Base)
	case ev.Kind == fanfold.KindPatch:
		source, err = ev.Patched(old.Source())
		return source, fanfold.OpPatch, err
	case old != nil:
		return ev.Body, fanfold.OpReplace, nil
	default:
		return ev.Body, fanfold.OpCreate, nil
	}
}

// store writes the document's row and its direct change.
func (f *Fold) store(row, old *sqlite.Row, op fanfold.Op) error {
	f.did = append(f.did, sqlite.Outcome{Seq: f.event.Seq, Op: op, Tx: f.event.Tx.ID != ""})
	ch := &fanfold.Change{Position: row.Position, Key: row.Key, Op: op, Revision: row.Revision, Time: f.now, Tx: f.event.Tx.ID}
	if old == nil {
		if err := f.tx.Insert(row); err != nil {
			return err
		}
		return f.change(row.Number, ch)
	}
	ch.Prior, ch.Previous, ch.PreviousSource = old.Position, old.Body, old.Stored
	if err := f.tx.Replace(row); err != nil {
		return err
	}
	return f.change(row.Number, ch)
}

// change writes a change of the document that has this number.
func (f *Fold) change(number int64, ch *fanfold.Change) error {
	if f.preparing != nil {
		return f.tx.Touch(number)
	}
	return f.tx.AddChange(ch)
}

func (f *Fold) delete(ev *fanfold.Event) error {
	old, err := f.tx.Get(ev.Key)
	if err != nil {
		return err
	}
	if old == nil { // a delete of nothing changes nothing but the revision to expect
		return f.tx.Tombstone(ev.Key, fanfold.Revision(ev.Seq), 0)
	}
	at, err := f.position()
	if err != nil {
		return err
	}
	c := f.plan.Collection(ev.Key.Collection)
	if err := f.relink(c, old, jsondoc.MustParse(old.Source()), emptyTree); err != nil {
		return err
	}
	f.did = append(f.did, sqlite.Outcome{Seq: ev.Seq, Op: fanfold.OpDelete, Tx: ev.Tx.ID != ""})
	if err := f.tx.Delete(old, fanfold.Revision(ev.Seq), at); err != nil {
		return err
	}
	if err := f.change(old.Number, &fanfold.Change{Position: at, Key: ev.Key, Op: fanfold.OpDelete, Revision: fanfold.Revision(ev.Seq),
		Time: f.now, Tx: ev.Tx.ID, Prior: old.Position, Previous: old.Body, PreviousSource: old.Stored}); err != nil {
		return err
	}
	if err := f.markReaders(c, ev.Key, old, nil); err != nil {
		return err
	}
	return f.propagate()
}

// relink brings the links of one document from its old to its new referenced view and marks
// the counts and id lists it enters or leaves.
func (f *Fold) relink(c *Collection, row *sqlite.Row, before, after *jsondoc.Tree) error {
	f.links = f.links[:0]
	for _, r := range c.Relations {
		was, is := r.Targets(before), r.Targets(after)
		name := r.FullName()
		for _, id := range was {
			if contains(is, id) {
				continue
			}
			if err := f.tx.RemoveLink(name, id, row.Number); err != nil {
				return err
			}
			if err := f.forgetKept(c, r, id, row.Number); err != nil {
				return err
			}
		}
		for _, id := range is {
			switch {
			case contains(was, id):
			case !f.plan.pages(r):
				f.links = append(f.links, sqlite.Link{Relation: name, Target: id})
			default:
				if err := f.tx.AddLink(name, id, row.Number, true); err != nil {
					return err
				}
			}
		}
		if err := f.markCounters(c, r, row, was, is, before, after); err != nil {
			return err
		}
	}
	if err := f.tx.AddLinks(f.links, row.Number); err != nil {
		return err
	}
	return f.updateClaims(c, row.Key, row.Number, before, after)
}

// reclaim brings what a document claims from its old to its new referenced view. Documents say who
// has a value, and claim events only which of them was the last.
func (f *Fold) updateClaims(c *Collection, key fanfold.Key, number int64, before, after *jsondoc.Tree) error {
	for _, path := range c.unique {
		was, _ := fanfold.UniqueValue(before, path) // what cannot be compared is not claimed
		is, _ := fanfold.UniqueValue(after, path)
		switch {
		case was == is:
			continue
		case f.preparing.claims(key.Collection, path):
			if err := f.noteUniqueCandidate(key.Collection, path, was, is, number); err != nil {
				return err
			}
			continue
		}
		if was != "" {
			if err := f.tx.FreeClaim(key.Collection, path.String(), was, key.ID); err != nil {
				return err
			}
		}
		if is != "" {
			if err := f.tx.SetClaim(key.Collection, path.String(), is, key.ID); err != nil {
				return err
			}
		}
	}
	return nil
}

func contains(ids []string, id string) bool {
	for _, v := range ids {
		if v == id {
			return true
		}
	}
	return false
}

// restoreKept takes over what an import says had stayed on the holder, of targets that it refers
// to and that are not there.
func (f *Fold) restoreKept(c *Collection, row *sqlite.Row, source *jsondoc.Tree, kept []byte) error {
	if kept == nil {
		return nil
	}
	all := jsondoc.MustParse(kept)
	for _, rule := range c.Rules {
		values := all.Member(jsondoc.Root, rule.FullName)
		if !rule.KeepsValues() || values == jsondoc.None {
			continue
		}
		for _, id := range rule.Relation.Targets(source) {
			value := all.Member(values, id)
			if value == jsondoc.None {
				continue
			}
			number := int64(0)
			if !rule.Frozen {
				var err error
				if number, err = f.tx.NumberOf(fanfold.Key{Collection: rule.Relation.To, ID: id}); err != nil {
					return err
				}
			}
			if number != 0 {
				continue
			}
			if err := f.tx.KeepOnHolder(rule.FullName, id, row.Number, jsondoc.Compact(nil, all.Raw(value))); err != nil {
				return err
			}
		}
	}
	return nil
}

// forgetKept drops what the holder kept of a target that it no longer refers to.
func (f *Fold) forgetKept(c *Collection, r *fanfold.Relation, target string, holder int64) error {
	for _, rule := range c.Rules {
		if rule.KeepsValues() && rule.Relation == r {
			if err := f.tx.ForgetKept(rule.FullName, target, holder); err != nil {
				return err
			}
		}
	}
	return nil
}

// body is a document's embedded view as it is now, or nil.
func (f *Fold) body(key fanfold.Key) ([]byte, error) { return f.tx.Body(key) }

// rehearse folds one event of a dry run.
func (f *Fold) Rehearse(tx *sqlite.Tx, ev *fanfold.Event) error {
	if ev.Kind == fanfold.KindPatch {
		row, err := tx.Get(ev.Key)
		switch {
		case err != nil:
			return err
		case row == nil:
			return fanfold.Errorf(fanfold.NotFound, "there is no document %s", ev.Key)
		}
		ev.Base = row.Revision
		if _, err := ev.Patched(row.Source()); err != nil {
			return fanfold.Errorf(fanfold.Conflict, "the patch does not fit the document as it is: %v", err)
		}
	}
	err := f.Apply(tx, ev)
	if f.n > fanfold.MaxChanges {
		return fanfold.Wrap(err, fanfold.FanoutLimit, "the write of %s would cause more than %d changes, which is as many as one can have", ev.Key, fanfold.MaxChanges)
	}
	return err
}
