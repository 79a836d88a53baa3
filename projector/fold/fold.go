package fold

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/internal/jsondoc"
	"github.com/fanfold/fanfold/model"
	"github.com/fanfold/fanfold/sqlite"
)

// Fold applies events to transactions, one event after the other. It is a function of the plan, the event and the rows
// it asks for: no clock, no map order and no batch boundary enters into what it writes. It keeps only caches from one
// event to the next. It belongs to one goroutine.
type Fold struct {
	folding

	holders knownHolders
	values  values
	keeper  keeper
	indexer indexer
	marks   marks
	entries entries

	// Memory that is used again from document to document.
	view     jsondoc.Tree
	source   jsondoc.Tree
	splicer  splicer
	together together
	links    []sqlite.Link
	keys     []fanfold.Key

	// The event being folded.
	changes     int // so far
	differences differences
	transaction transaction  // that the last event is part of
	modelChange *ModelChange // of a model event

	outcomes []sqlite.Outcome // of the events of the last ApplyAll
}

// transaction is what a fold knows of a transaction of the log.
type transaction struct {
	part fanfold.TxPart // as the last event has it
	call string         // the function that was called in it so far, "" for none
}

// folding is what the parts of a fold share: the transaction, the plan, and the event being folded.
type folding struct {
	tx         *sqlite.Tx
	plan       *Plan
	opt        Options
	event      *fanfold.Event
	now        time.Time
	creates    bool  // the event creates the document that it writes to
	direct     int64 // number of the document that the event writes to; 0 for none
	derived    int64 // derived changes so far
	levels     []*level
	levelsDone int          // levels that are worked off, of this event
	amending   *amendment   // of a base; nil for none
	preparing  *ModelChange // to an announced model: what it changes is noted, and has no positions yet
	onDocument func() error // called for every document that a model event works on; nil for nothing
}

// Reporter takes note of rules whose expressions fail. It has no part in what the fold writes.
type Reporter interface {
	// RuleFailed is called for each evaluation that failed for another reason than a missing member, with the
	// document it was evaluated on.
	RuleFailed(rule string, key fanfold.Key, err error)
}

// Options says how a Fold works. The zero value works.
type Options struct {
	// SetOrientedFrom is how many holders a fan-out has that is folded by set-oriented SQL, where the rule allows
	// it; default DefaultSetOrientedFrom, negative: none is. The rows are the same.
	SetOrientedFrom int
	// Workers compute the views of many documents; nil for none. The rows are the same.
	Workers Workers
	// WorkersFrom is how many documents a level changes for which they do; default DefaultWorkersFrom.
	WorkersFrom int
	Reporter    Reporter      // nil for none
	Fanout      *model.Fanout // derived changes are counted in it; nil for none
	Examples    *Examples     // gathers examples of derived changes; nil for none
	// Estimate is for one event that is rehearsed for the number of its derived changes. Changes that lead to no others are
	// counted instead of made, and some of them twice, so that the number is never too low.
	Estimate bool
	// Alone is for one event that is rehearsed for the document to which it writes: derived changes of others are left out.
	Alone bool
	// Changed is called for each document whose embedded view is about to change, or to come or go, with the view before; it may be called
	// more than once. nil for nothing. It has no part in what the fold writes.
	Changed func(key fanfold.Key, before []byte)
	// Ended is asked again and again while an event is folded, and ends the fold by an error; nil for nothing. It has no
	// part in what the fold writes.
	Ended func() error
}

// New returns a fold of events under the model of a plan.
func New(p *Plan, opt Options) *Fold {
	if opt.SetOrientedFrom == 0 {
		opt.SetOrientedFrom = DefaultSetOrientedFrom
	}
	if opt.WorkersFrom == 0 {
		opt.WorkersFrom = DefaultWorkersFrom
	}
	f := &Fold{folding: folding{opt: opt}}
	f.together.Fold = f
	if opt.Workers != nil {
		f.together.memory = make([]workerMemory, opt.Workers.Count())
	}
	f.holders = knownHolders{folding: &f.folding}
	f.values = values{folding: &f.folding, holders: &f.holders, frozenByEvent: map[keptValueKey][]byte{}}
	f.keeper = keeper{&f.folding, &f.values}
	f.indexer = indexer{folding: &f.folding, values: &f.values}
	f.marks = marks{folding: &f.folding, holders: &f.holders, values: &f.values, keeper: &f.keeper}
	f.entries = entries{&f.folding, &f.marks}
	f.setPlan(p)
	return f
}

// ended returns an error where the fold is to end before the event is folded.
func (f *folding) ended() error {
	if f.opt.Ended == nil {
		return nil
	}
	return f.opt.Ended()
}

// tellChanged tells whoever asks that a document is about to change.
func (f *folding) tellChanged(key fanfold.Key, before []byte) {
	if f.opt.Changed != nil {
		f.opt.Changed(key, before)
	}
}

// Plan returns the plan that the next event is folded under.
func (f *Fold) Plan() *Plan { return f.plan }

// SetEnded replaces the function of the options that ends the fold.
func (f *Fold) SetEnded(fn func() error) { f.opt.Ended = fn }

// SetReporter replaces the reporter of the options.
func (f *Fold) SetReporter(r Reporter) { f.opt.Reporter = r }

// Outcomes returns what the events of the last ApplyAll did. It is valid until the next one.
func (f *Fold) Outcomes() []sqlite.Outcome { return f.outcomes }

// OnDocument has fn called for every document that a model event works on. An error of fn ends the fold.
func (f *Fold) OnDocument(fn func() error) { f.onDocument = fn }

// ApplyAll folds events into the transaction, each the log's next. The error says which cannot be folded and why; one of the
// read model's file may come with a later event. The transaction and the fold are then to be thrown away.
func (f *Fold) ApplyAll(tx *sqlite.Tx, events []*fanfold.Event) error {
	_, err := f.ApplyUntil(tx, events, func(*fanfold.Event, int64) bool { return false })
	return err
}

// ApplyUntil folds events as ApplyAll does, up to the first for which enough returns true, and returns how many it has
// folded. enough is called after each event, with how many derived changes it caused.
func (f *Fold) ApplyUntil(tx *sqlite.Tx, events []*fanfold.Event, enough func(ev *fanfold.Event, derived int64) bool) (n int, err error) {
	f.outcomes = f.outcomes[:0]
	for i, ev := range events {
		if i%lookAheadEvents == 0 {
			if err := f.lookAhead(tx, events[i:min(i+lookAheadEvents, len(events))]); err != nil {
				return i, err
			}
		}
		if last := tx.Checkpoint().Seq; !fanfold.Follows(last, ev.Seq) {
			return i, fanfold.Errorf(fanfold.Internal, "event %d follows %d", ev.Seq, last)
		}
		if err := f.Apply(tx, ev); err != nil {
			return i, err
		}
		if enough(ev, f.derived) {
			return i + 1, nil
		}
	}
	return len(events), nil
}

// lookAheadEvents is how many events are looked at ahead of the first of them. Those after a large
// fan-out, which ends a transaction, are looked at again.
const lookAheadEvents = 1024

// lookAhead tells the transaction which documents the events write to, and which of them are new, for documents may refer to these
// already.
func (f *Fold) lookAhead(tx *sqlite.Tx, events []*fanfold.Event) error {
	f.keys = f.keys[:0]
	for _, ev := range events {
		if ev.Kind == fanfold.KindPut {
			f.keys = append(f.keys, ev.Key)
		}
	}
	if err := tx.Documents.FindMissing(f.keys); err != nil {
		return err
	}
	created := map[string][]string{}
	for _, ev := range events {
		if ev.Kind == fanfold.KindPut && len(f.plan.Collection(ev.Key.Collection).incoming) > 0 && tx.Documents.IsMissing(ev.Key) {
			created[ev.Key.Collection] = append(created[ev.Key.Collection], ev.Key.ID)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(created)) {
		for _, relation := range f.plan.Collection(name).incoming {
			if err := tx.Links.FindHolders(relation, created[name]); err != nil {
				return err
			}
		}
	}
	return nil
}

// setPlan switches to another model.
func (f *Fold) setPlan(p *Plan) {
	f.plan = p
	f.values.cache.reset(len(p.Rules))
	f.indexer.live = nil
	f.levels = make([]*level, p.Levels)
	for i := range f.levels {
		f.levels[i] = &level{number: i}
	}
}

// begin makes the fold ready for one event. Time never goes back, whatever the log's clocks say.
func (f *Fold) begin(tx *sqlite.Tx, ev *fanfold.Event) {
	f.tx, f.event, f.changes, f.direct, f.derived, f.creates, f.levelsDone, f.marks.unmoved = tx, ev, 0, 0, 0, false, 0, f.marks.unmoved[:0]
	f.differences.forget()
	f.holders.forget()
	f.values.begin()
	f.indexer.written = writtenDocument{}
	tx.Links.SetEvent(ev.Seq)
	f.now = tx.Checkpoint().Time
	if ev.Time.After(f.now) {
		f.now = ev.Time
	}
}

// Apply folds one event into the transaction. The error says why it cannot be folded; the transaction and the fold are
// then to be thrown away.
func (f *Fold) Apply(tx *sqlite.Tx, ev *fanfold.Event) error {
	f.begin(tx, ev)
	err := f.plan.Known()
	if err == nil {
		err = f.checkTransaction(ev)
	}
	if err == nil {
		err = f.fold(ev)
	}
	if last := len(f.outcomes) - 1; last >= 0 && f.outcomes[last].Seq == ev.Seq {
		f.outcomes[last].Derived = f.derived
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

// fold folds the event by its kind. The error is Invalid for a kind that this program does not know.
func (f *Fold) fold(ev *fanfold.Event) error {
	switch ev.Kind {
	case fanfold.KindFence, fanfold.KindCheck, fanfold.KindLink, fanfold.KindGate:
		return nil // they speak to the log only
	case fanfold.KindImport:
		return f.tx.SetImportProgress(ev.Key.ID, ev.Seq, ev.Body)
	case fanfold.KindCall: // of the events that follow in its transaction
		f.transaction.call = ev.Call.Function
		return nil
	case fanfold.KindClaim:
		return f.tx.Uniques.SetSequence(ev.Key.Collection, ev.Path, ev.Value, ev.Seq)
	case fanfold.KindSequence:
		return counters{&f.folding}.set(ev)
	case fanfold.KindModel:
		return f.model(ev)
	case fanfold.KindPrepare:
		return f.tx.SetProposal(ev.Seq, ev.Body, ev.Fold, ev.Actor)
	case fanfold.KindCancel:
		return f.tx.SetProposal(ev.Seq, nil, 0, "")
	case fanfold.KindLoss:
		return f.lose(ev)
	case fanfold.KindDelete:
		return f.delete(ev)
	case fanfold.KindPut, fanfold.KindPatch:
		return f.write(ev)
	}
	return fanfold.Errorf(fanfold.Invalid, "this program does not know events of kind %q: a newer Fanfold wrote it; use that one", ev.Kind)
}

// checkTransaction checks that the event goes on with the transaction of the event before it, or begins after the end
// of that. The error is Invalid.
func (f *Fold) checkTransaction(ev *fanfold.Event) error {
	want := fanfold.TxPart{}
	if last := f.transaction.part; last.Open() {
		want = fanfold.TxPart{ID: last.ID, Index: last.Index + 1, Count: last.Count}
	} else if ev.Tx.ID != "" {
		want = fanfold.TxPart{ID: ev.Tx.ID, Count: ev.Tx.Count}
	}
	if ev.Tx != want {
		return fanfold.Errorf(fanfold.Invalid, "part %d of %d of transaction %q, where part %d of %d of %q was to follow: the log has part of a transaction",
			ev.Tx.Index+1, ev.Tx.Count, ev.Tx.ID, want.Index+1, want.Count, want.ID)
	}
	if ev.Tx.Index == 0 {
		f.transaction.call = ""
	}
	f.transaction.part = ev.Tx
	return nil
}

// keepIdempotencyKeys is how long a request's key is known, by the log's time.
const keepIdempotencyKeys = 24 * time.Hour

// recordIdempotencyKey stores the key of the request that the event was stored for, and drops those that are too old.
func (f *Fold) recordIdempotencyKey(ev *fanfold.Event) error {
	if err := f.tx.PruneIdempotencyKeys(f.now.Add(-keepIdempotencyKeys)); err != nil {
		return err
	}
	return f.tx.AddIdempotencyKey(fanfold.IdempotencyRecord{IdempotencyKey: ev.IdempotencyKey, Seq: ev.Seq}, f.now)
}

// nextPosition returns the position of the event's next change. The error is Internal where the event has more than
// an event can have.
func (f *Fold) nextPosition() (fanfold.Position, error) {
	if f.changes > fanfold.MaxChanges && f.preparing == nil {
		return 0, fanfold.Errorf(fanfold.Internal, "the event causes more than %d changes", fanfold.MaxChanges)
	}
	p := fanfold.At(f.event.Seq, f.changes)
	f.changes++
	return p, nil
}

// TakeBack makes the fold forget what the event that was rehearsed last has given, because its transaction has taken it
// back.
func (f *Fold) TakeBack() {
	f.values.cache.reset(len(f.plan.Rules))
	f.outcomes = f.outcomes[:0]
}

// Rehearse folds one event of a dry run. A patch goes by the document as it is. It returns NotFound if the patch's
// document is not there, Conflict if the patch does not fit, and FanoutLimit if the event causes too many changes.
// Any other error says why it cannot be folded.
func (f *Fold) Rehearse(tx *sqlite.Tx, ev *fanfold.Event) error {
	if ev.Kind == fanfold.KindPatch {
		row, err := tx.Documents.Get(ev.Key)
		switch {
		case err != nil:
			return err
		case row == nil:
			return fanfold.Errorf(fanfold.NotFound, "there is no document %s", ev.Key)
		}
		ev.Base = row.Revision
		if _, err := jsondoc.Patched(row.ReferencedText(), ev.Body, ev.Merges()); err != nil {
			return fanfold.Errorf(fanfold.Conflict, "the patch does not fit the document as it is: %v", err)
		}
	}
	err := f.Apply(tx, ev)
	if f.changes > fanfold.MaxChanges {
		return fanfold.Wrap(err, fanfold.FanoutLimit, "the write of %s would cause more than %d changes, which is as many as one can have", ev.Key, fanfold.MaxChanges)
	}
	return err
}
