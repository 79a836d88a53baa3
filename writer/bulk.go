package writer

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"slices"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/internal/jsondoc"
)

// Bounds of one step of a bulk write.
const (
	bulkStep  = 500     // documents
	bulkBytes = 4 << 20 // of their events
)

// BulkCounts say what a bulk write has made of the documents so far.
type BulkCounts struct {
	Matched   int `json:"matched"`   // documents that the filter matched when they were judged
	Written   int `json:"written"`   // documents that were changed or deleted
	Unchanged int `json:"unchanged"` // documents that were so already
	Refused   int `json:"refused"`   // documents whose write was refused
}

// BulkProgress says how far a bulk write is, as its last event in the log does.
type BulkProgress struct {
	BulkCounts
	Request string `json:"request"`      // tells it from others
	Until   uint64 `json:"until"`        // documents that were created later are left alone
	At      string `json:"at,omitempty"` // every id up to it was judged
	Done    bool   `json:"done,omitempty"`
}

// BulkRefusal says why a document was not written.
type BulkRefusal struct {
	ID  string
	Err error
}

// BulkJudge returns the revisions of those documents with some ids that are to be written, from one snapshot; 0 for the others.
type BulkJudge = func(ctx context.Context, ids []string) ([]fanfold.Revision, error)

// Bulk makes one patch or delete on many documents, step by step. It is for one goroutine.
type Bulk struct {
	longWrite // its id is "" for a request without a key

	op       Operation // its Key has no id
	in       Intent
	progress BulkProgress
	before   uint64 // the last event of the step before
	room     int    // documents in the next step at most
}

// NewBulk begins a Patch or Delete of documents of op's collection, whose Key has no id, or goes on with the one of the same request under
// its key. It waits until this node has folded everything that was acknowledged before. It returns the errors of Prepare, KeyReused and
// Unavailable.
func NewBulk(ctx context.Context, w *Writer, op Operation, req Request) (*Bulk, error) {
	b := &Bulk{longWrite: longWrite{w: w}, op: op, in: req.Intent, room: bulkStep}
	if err := prepareAll(ctx, w, &b.op, req.By); err != nil {
		return nil, err
	}
	if err := w.catchUp(ctx); err != nil {
		return nil, err
	}
	b.progress.Until = w.ReadModel.Applied()
	var err error
	if b.id, b.progress.Request, err = progressKey(w, req); b.id == "" || err != nil {
		return b, err
	}
	_, err = w.decide(ctx, plan{await: atOnce, try: func(ctx context.Context, _ bool) (uint64, error) { return 0, again(b.begin(ctx)) }})
	return b, err
}

// begin goes on with what the log has under the key, or stores that the bulk write has begun.
func (b *Bulk) begin(ctx context.Context) error {
	var p BulkProgress
	expect, err := b.stored(ctx, &p)
	switch {
	case err != nil:
		return err
	case expect.Rev == 0:
		b.event = expect
		return b.record(ctx, b.progress)
	case p.Request != b.progress.Request:
		return errOtherRequest
	}
	b.progress, b.event, b.last = p, expect, uint64(expect.Rev)
	return b.wait(ctx, b.last)
}

// Progress returns how far the bulk write is.
func (b *Bulk) Progress() BulkProgress { return b.progress }

// Last returns the last event that was stored, 0 for none.
func (b *Bulk) Last() uint64 { return b.last }

// Finish records that everything is done. It returns the errors of Step.
func (b *Bulk) Finish(ctx context.Context) error {
	_, err := b.w.decide(ctx, plan{await: atOnce, try: func(ctx context.Context, lost bool) (uint64, error) {
		if err := b.adopt(ctx, lost); err != nil || b.progress.Done {
			return 0, err
		}
		p := b.progress
		p.Done = true
		return 0, again(b.record(ctx, p))
	}})
	return err
}

// adopt goes on from what another request with the same key has stored, where that was faster.
func (b *Bulk) adopt(ctx context.Context, lost bool) error {
	if !lost || b.id == "" {
		return nil
	}
	var p BulkProgress
	other, err := b.storedByOther(ctx, &p)
	if err == nil && other {
		b.progress, b.last = p, uint64(b.event.Rev)
	}
	return err
}

// record appends the event that says how far the bulk write is. Without a key it only notes it. The error is Stale where another request was
// faster.
func (b *Bulk) record(ctx context.Context, p BulkProgress) error {
	if b.id != "" {
		write, err := b.progressWrite(p, actorOf(b.in.By))
		if err != nil {
			return err
		}
		end, err := b.w.begin(ctx)
		if err != nil {
			return err
		}
		defer end()
		seq, err := b.w.Log.Append(ctx, write.Event, write.Expect)
		if err != nil {
			return err
		}
		b.note(seq)
	}
	b.progress = p
	return nil
}

// WaitFolded waits until everything stored is folded on this node. The error is Timeout where the node folds nothing for
// Options.ImportWait, ctx's, or Unavailable.
func (b *Bulk) WaitFolded(ctx context.Context) error {
	if b.last == 0 {
		return nil
	}
	return b.wait(ctx, b.last)
}

// Step judges documents, writes those that match, and returns how many of the ids it has come to, the first ones, and which writes were
// refused. ids are in order, and each of them later than Progress().At. Documents that others write meanwhile are judged again. It blocks
// until the log has decided. Errors end the bulk write: judge's, Forbidden, Unauthenticated, UnknownCollection, Unavailable, Timeout and
// OutcomeUnknown.
func (b *Bulk) Step(ctx context.Context, ids []string, judge BulkJudge) (taken int, refused []BulkRefusal, err error) {
	if b.in.By, err = renewed(b.in.By); err != nil {
		return 0, nil, err
	}
	if err := prepareAll(ctx, b.w, &b.op, b.in.By); err != nil { // under the model of now
		return 0, nil, err
	}
	if b.before > 0 { // the fold must not fall far back
		if err := b.wait(ctx, b.before); err != nil {
			return 0, nil, err
		}
	}
	b.before = b.last
	s := &bulkTry{Bulk: b, ids: ids[:min(b.room, len(ids))], judge: judge}
	keys := make([]fanfold.Key, len(s.ids))
	for i, id := range s.ids {
		keys[i] = b.keyOf(id)
	}
	after, unlock, err := b.w.keys.lock(ctx, keys...)
	if err != nil {
		return 0, nil, fanfold.Wrap(err, fanfold.Unavailable, "too many others write to the documents: try again")
	}
	defer func() { unlock(b.last) }()
	_ = b.w.wait(ctx, after, b.w.opt.Timeout) // where it is not folded by then, the log refuses the first try
	if _, err := b.w.decide(ctx, plan{try: s.try}); err != nil {
		return 0, nil, withoutOperation(err)
	}
	b.room = min(bulkStep, 2*b.room)
	slices.SortStableFunc(s.refused, func(x, y BulkRefusal) int { return cmp.Compare(x.ID, y.ID) })
	return s.taken, s.refused, nil
}

// keyOf returns the key of a document.
func (b *Bulk) keyOf(id string) fanfold.Key {
	return fanfold.Key{Collection: b.op.Key.Collection, ID: id}
}

// operation returns the operation on one document, on the revision that was judged.
func (b *Bulk) operation(id string, rev fanfold.Revision) *Operation {
	op := b.op
	op.Key, op.Conditions = b.keyOf(id), Conditions{Revisions: []fanfold.Revision{rev}}
	ev := *b.op.event
	ev.Key, ev.Actor = op.Key, actorOf(b.in.By)
	op.event = &ev
	return &op
}

// bulkTry makes one step.
type bulkTry struct {
	*Bulk
	ids     []string
	judge   BulkJudge
	taken   int // of ids
	counts  BulkCounts
	writes  []fanfold.Write
	refused []BulkRefusal
	same    []string // ids of documents that are so already
}

// try makes the step: see plan. A step that others were faster than is tried with half of the documents.
func (s *bulkTry) try(ctx context.Context, lost bool) (uint64, error) {
	if lost {
		if err := s.adopt(ctx, true); err != nil {
			return 0, err
		}
		s.room = max(1, len(s.ids)/2)
		s.ids = s.ids[:min(s.room, len(s.ids))]
	}
	s.counts, s.writes, s.refused, s.same = BulkCounts{}, nil, nil, nil
	if s.taken, _ = slices.BinarySearch(s.ids, s.progress.At+"\x00"); s.progress.Done || s.taken > 0 { // another request has judged them
		s.taken = max(1, s.taken)
		return 0, nil
	}
	if s.op.fires {
		return 0, s.fire(ctx)
	}
	revisions, err := s.judge(ctx, s.ids)
	if err != nil {
		return 0, err
	}
	if s.op.Kind == Delete && deletesAlone(s.w, s.op.Key.Collection) {
		return 0, s.deleteEach(ctx, revisions)
	}
	if err := s.decideEach(ctx, revisions); err != nil {
		return 0, err
	}
	return 0, s.store(ctx)
}

// refuse notes that the write of a document is refused.
func (s *bulkTry) refuse(id string, err error) {
	s.refused = append(s.refused, BulkRefusal{id, withoutOperation(err)})
}

// counted returns what has come of the documents of the step.
func (s *bulkTry) counted() BulkCounts {
	c := s.counts
	c.Written, c.Unchanged, c.Refused = c.Written+len(s.writes), len(s.same), len(s.refused)
	c.Matched = c.Written + c.Unchanged + c.Refused
	return c
}

// endsBulk tells whether an error is about more than one document's write.
func endsBulk(ctx context.Context, err error) bool {
	if ctx.Err() != nil {
		return true
	}
	switch fanfold.CodeOf(err) {
	case fanfold.Unavailable, fanfold.OutcomeUnknown, fanfold.Timeout, fanfold.Internal, fanfold.LogDamaged, fanfold.Unauthenticated, fanfold.Forbidden, fanfold.UnknownCollection:
		return true
	}
	return false
}

// decideEach makes the writes of the documents that match. It comes to as many as there is room for.
func (s *bulkTry) decideEach(ctx context.Context, revisions []fanfold.Revision) error {
	budget := &jsondoc.Budget{Left: transactionWork}
	size := 0
	for i, id := range s.ids {
		if i > 0 && (size > bulkBytes || budget.Left < patchWork) {
			break
		}
		s.taken++
		write, err := s.decideOne(ctx, id, revisions[i], budget)
		if err != nil {
			return err
		}
		if write.Event != nil {
			size += len(write.Event.Body)
			s.writes = append(s.writes, write)
		}
	}
	if s.in.DryRun {
		return nil
	}
	refused, err := exceeding(ctx, s.w, s.writes, s.in)
	s.removeAll(refused)
	return err
}

// decideOne makes the write of one document, on the revision that was judged or on one that is judged now. It has no event where none is to be
// stored.
func (s *bulkTry) decideOne(ctx context.Context, id string, rev fanfold.Revision, budget *jsondoc.Budget) (write fanfold.Write, err error) {
	for rev != 0 {
		op := s.operation(id, rev)
		var same bool
		if op.Kind == Patch {
			same, err = s.patch(ctx, op, budget)
		}
		switch moved := staleError(err); {
		case moved != nil:
			if rev, err = s.judgeAgain(ctx, id, moved); err != nil {
				return write, err
			}
			continue
		case err != nil && endsBulk(ctx, err):
			return write, err
		case err != nil:
			s.refuse(id, err)
			return write, nil
		case same:
			s.same = append(s.same, id)
			return write, nil
		}
		return fanfold.Write{Event: op.event, Expect: exactly(ctx, rev)}, nil
	}
	return write, nil
}

// patch makes the patch of one document within the budget. same tells that it leaves the document as it is, and has no other effect. It
// returns Stale where the document is not at the revision that was judged, and the errors of tryPatch.
func (s *bulkTry) patch(ctx context.Context, op *Operation, budget *jsondoc.Budget) (same bool, err error) {
	doc, _, err := s.w.ReadModel.Get(op.Key, fanfold.Referenced)
	if err != nil {
		return false, err
	}
	if doc == nil || !op.meets(doc.Revision) {
		return false, staleAt(op.Key, revisionOf(doc))
	}
	patched, err := s.w.tryPatch(ctx, op, doc, budget)
	return err == nil && bytes.Equal(patched, doc.Body) && changes{s.w}.maySkip(op), err
}

// removeAll takes refused writes out of the step.
func (s *bulkTry) removeAll(refused *refusals) {
	for n, at := range slices.Backward(refused.at) {
		s.refuse(s.writes[at].Event.Key.ID, refused.errors[n])
		s.writes = slices.Delete(s.writes, at, at+1)
	}
}

// store appends the writes of the step and its progress, without those that are refused, and up to one that others were faster with. The error
// is one of again where others were faster with the first.
func (s *bulkTry) store(ctx context.Context) error {
	for {
		p := s.after()
		if len(s.writes) == 0 {
			s.progress = p
			return nil
		}
		err := s.append(ctx, p)
		if err == nil {
			s.progress = p
			return nil
		}
		tooMany := errors.Is(err, errTooManyMessages)
		refused, at := refusalsOf(err), operationOf(err)
		switch stale := staleError(err); {
		case stale != nil && at > 0 && at < len(s.writes):
			s.cut(at)
			s.before = max(s.before, uint64(stale.Current)) // the next step sees it
		case stale != nil || ctx.Err() != nil:
			return again(err)
		case tooMany && len(s.writes) > 1:
			s.cut(len(s.writes) / 2)
		case tooMany:
			refused.add(0, err)
			s.removeAll(refused)
		case len(refused.at) == 0 || refused.at[len(refused.at)-1] >= len(s.writes) || endsBulk(ctx, err):
			return err
		default:
			s.removeAll(refused)
		}
	}
}

// cut ends the step right before one of its writes.
func (s *bulkTry) cut(at int) {
	id := s.writes[at].Event.Key.ID
	s.writes = s.writes[:at]
	s.taken, _ = slices.BinarySearch(s.ids, id)
	s.room = max(1, s.taken)
	s.same = slices.DeleteFunc(s.same, func(other string) bool { return other >= id })
	s.refused = slices.DeleteFunc(s.refused, func(r BulkRefusal) bool { return r.ID >= id })
}

// after returns the progress after the step.
func (s *bulkTry) after() BulkProgress {
	p, counts := s.progress, s.counted()
	p.At = s.ids[s.taken-1]
	p.Matched += counts.Matched
	p.Written += counts.Written
	p.Unchanged += counts.Unchanged
	p.Refused += counts.Refused
	return p
}

// append appends the writes of the step and the event that says so, all or none.
func (s *bulkTry) append(ctx context.Context, p BulkProgress) error {
	w, writes := s.w, slices.Clone(s.writes)
	if s.id != "" {
		write, err := s.progressWrite(p, actorOf(s.in.By))
		if err != nil {
			return err
		}
		writes = append(writes, write)
	}
	first, err := appendEach(ctx, w, writes)
	if err != nil {
		return err
	}
	for range s.writes {
		w.counts.add(string(s.op.Kind), nil)
	}
	if s.last = first + uint64(len(writes)) - 1; s.id != "" {
		s.note(s.last)
	}
	return nil
}

// deleteEach deletes the documents that match one after the other, each as a delete of one document does, and records the progress.
func (s *bulkTry) deleteEach(ctx context.Context, revisions []fanfold.Revision) error {
	for i, id := range s.ids {
		s.taken++
		for rev := revisions[i]; rev != 0; {
			first, err := s.w.write(ctx, s.operation(id, rev), s.in)
			s.w.counts.add(string(Delete), err)
			switch code := fanfold.CodeOf(err); {
			case err == nil:
				s.last, rev = max(s.last, first), 0
				s.counts.Written++
			case code == fanfold.Stale || code == fanfold.NotFound:
				if rev, err = s.judgeAgain(ctx, id, staleError(err)); err != nil {
					return err
				}
			case endsBulk(ctx, err):
				return err
			default:
				s.refuse(id, err)
				rev = 0
			}
		}
	}
	p := s.after()
	err := s.record(ctx, p)
	for staleError(err) != nil { // another request under the key was faster, with the same deletes
		if err = s.adopt(ctx, true); err == nil && s.progress.At < p.At && !s.progress.Done {
			err = s.record(ctx, s.after())
		}
	}
	return err
}

// judgeAgain judges one document that moved. It is 0 where it is not to be written any more.
func (s *bulkTry) judgeAgain(ctx context.Context, id string, moved *fanfold.Error) (fanfold.Revision, error) {
	if moved != nil && moved.Current > 0 {
		if err := s.wait(ctx, uint64(moved.Current)); err != nil {
			return 0, err
		}
	}
	revisions, err := s.judge(ctx, []string{id})
	if err != nil {
		return 0, err
	}
	return revisions[0], ended(ctx)
}

// DryRun returns what the writes of the documents that match would store and cause, with counts, and which would be refused. Nothing is
// stored. Errors are as of Step.
func (b *Bulk) DryRun(ctx context.Context, ids []string, judge BulkJudge) (dry *DryRun, counts BulkCounts, refused []BulkRefusal, err error) {
	s := &bulkTry{Bulk: b, ids: ids, judge: judge}
	_, err = b.w.decide(ctx, plan{try: func(ctx context.Context, _ bool) (uint64, error) { return 0, again(s.rehearse(ctx)) }})
	if dry, err = b.w.dryRun(ctx, err); err != nil {
		return nil, counts, nil, withoutOperation(err)
	}
	slices.SortStableFunc(s.refused, func(x, y BulkRefusal) int { return cmp.Compare(x.ID, y.ID) })
	return dry, s.counted(), s.refused, nil
}

// rehearse makes the writes of all documents. It ends with a rehearsal.
func (s *bulkTry) rehearse(ctx context.Context) error {
	s.counts, s.writes, s.refused, s.same, s.taken = BulkCounts{}, nil, nil, nil, 0
	if s.op.fires {
		return s.fire(ctx)
	}
	revisions, err := s.judge(ctx, s.ids)
	if err != nil {
		return err
	}
	for rest := s.ids; len(rest) > 0; rest = s.ids[s.taken:] { // each part has the work of a step
		part := &bulkTry{Bulk: s.Bulk, ids: rest, judge: s.judge}
		if err := part.decideEach(ctx, revisions[s.taken:]); err != nil {
			return err
		}
		s.taken += part.taken
		s.writes, s.refused, s.same = append(s.writes, part.writes...), append(s.refused, part.refused...), append(s.same, part.same...)
	}
	if s.op.Kind == Delete {
		return s.rehearseDeletes(ctx)
	}
	for len(s.writes) > 0 {
		err := rehearseEach(ctx, s.w, s.writes, s.in)
		refused := refusalsOf(err)
		if len(refused.at) == 0 || refused.at[0] >= len(s.writes) || staleError(err) != nil || endsBulk(ctx, err) {
			return err
		}
		s.removeAll(refused)
	}
	return s.w.rehearse(ctx, nil, s.in)
}

// rehearseDeletes adds what the deletes bring with them. It ends with a rehearsal.
func (s *bulkTry) rehearseDeletes(ctx context.Context) error {
	known := map[fanfold.Key]bool{}
	for _, write := range s.writes {
		known[write.Event.Key] = true
	}
	var brought []fanfold.Write
	refused := &refusals{}
	for i, write := range s.writes {
		op := s.operation(write.Event.Key.ID, write.Expect.Rev)
		op.event, op.expect = write.Event, write.Expect
		more, err := s.w.removals([]*Operation{op})
		switch {
		case err != nil && (staleError(err) != nil || endsBulk(ctx, err)):
			return err
		case err != nil:
			refused.add(i, err)
		}
		for _, m := range more {
			if !known[m.Event.Key] {
				known[m.Event.Key] = true
				brought = append(brought, m)
			}
		}
	}
	s.removeAll(refused)
	return s.w.rehearse(ctx, slices.Concat(s.writes, brought), s.in)
}
