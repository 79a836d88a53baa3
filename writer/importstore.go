package writer

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/access"
	"github.com/fanfold/fanfold/writer/numbering"
)

// Bounds of an import.
const (
	importWrites = 999             // documents in a batch; one more message says how far the import has come
	importBytes  = 4 << 20         // of a batch's documents
	importAhead  = 8_000           // events that an import may be ahead of the fold when it stores a batch
	importWait   = time.Minute     // for the fold to reach an event; default of Options.ImportWait
	importTidy   = 2 * time.Second // for the read model to be tidy, and no longer than the import took
)

// When a batch may have as many documents as the log stores at once: larger ones cost less for each, and hold up others for longer.
const (
	importAlone  = time.Second            // since somebody else last wrote, or waited for the fold
	besideWrites = 299                    // messages in a batch with guards beside somebody else, and
	besideAhead  = 300                    // events that an import may be ahead of the fold then
	importFast   = 200 * time.Millisecond // in which importWrites lines have come, and the batch before could be given away
)

// ImportOptions say how lines are imported.
type ImportOptions struct {
	ID          string         // under which the import can be resumed; "" for none
	Collection  string         // of all documents; "" where each line names its own
	Resume      bool           // the import goes on where the one with the same ID has come to
	First       int            // the number of the first line that is sent; default 1
	AllowFanout bool           // lines may cause more derived changes than the model's fan-out limit
	By          *access.Rights // see Intent
	// AllowRemoval says that a model among the lines may take rules and guards away.
	AllowRemoval bool
	// Restore says that documents keep the numbers of sequences that they come with. It needs the role admin.
	Restore bool
}

// intent returns what the import's writes are meant to do.
func (o ImportOptions) intent() Intent { return Intent{AllowFanout: o.AllowFanout, By: o.By} }

// progressID returns the id under which the log has the progress of an import: no two principals share one. Without an actor it is
// the id that the client gives, which never has the byte between the two, because that is no UTF-8.
func progressID(by *access.Rights, id string) string {
	if actor := actorOf(by); actor != "" {
		return actor + "\xff" + id
	}
	return id
}

// ImportProgress says how far an import has come, as its last event in the log does.
type ImportProgress struct {
	Line    int `json:"line" doc:"Every line up to it is stored or was refused."`
	Written int `json:"written"`
	Refused int `json:"refused"`
}

// ImportReport reports one batch of an import.
type ImportReport struct {
	Refusals []Refusal
	Progress ImportProgress
	Last     uint64 // the sequence of the last event stored, 0 for none
}

// ImportProgress returns how far an import of a principal has come. The revision of its last event is 0 where there is none. The
// error is Forbidden for nobody.
func (w *Writer) ImportProgress(ctx context.Context, id string, by *access.Rights) (p ImportProgress, rev fanfold.Revision, err error) {
	if by == nil {
		return p, rev, errNobody
	}
	expect, err := (&longWrite{w: w, id: progressID(by, id)}).stored(ctx, &p)
	return p, expect.Rev, err
}

// Import stores the lines of one import, batch after batch. It is for one goroutine.
type Import struct {
	longWrite

	opt    ImportOptions
	began  time.Time
	report func(ImportReport) error

	progress ImportProgress // what is stored
	recent   recentWrites   // documents that were stored and may not be folded yet
	forgetAt int            // how many of them there may be before those that are folded are forgotten
}

// NewImport begins or resumes an import. Errors are Invalid, Conflict where First does not follow what is stored, and
// Unavailable, and Forbidden for nobody. Each line is judged by itself.
func (w *Writer) NewImport(ctx context.Context, opt ImportOptions) (*Import, error) {
	im := &Import{longWrite: longWrite{w: w}, opt: opt, began: time.Now(), recent: recentWrites{}}
	im.opt.First = max(1, opt.First)
	if opt.By == nil {
		return nil, errNobody
	}
	if opt.Restore {
		if err := checkAdmin(opt.By); err != nil {
			return nil, err
		}
	}
	if err := w.awaitModel(ctx); err != nil {
		return nil, err
	}
	if opt.Collection != "" {
		if err := fanfold.CheckCollection(opt.Collection); err != nil {
			return nil, err
		}
	}
	switch {
	case opt.ID == "" && opt.Resume:
		return nil, fanfold.Errorf(fanfold.Invalid, "only an import with an id can be resumed")
	case opt.ID != "":
		if err := fanfold.CheckID(opt.ID); err != nil {
			return nil, err
		}
		var p ImportProgress
		var err error
		im.id = progressID(opt.By, opt.ID)
		if im.event, err = im.stored(ctx, &p); err != nil {
			return nil, err
		}
		if opt.Resume {
			im.progress, im.last = p, uint64(im.event.Rev)
		}
	}
	if im.opt.First > im.progress.Line+1 {
		return nil, fanfold.Errorf(fanfold.Conflict, "the import is at line %d; line %d does not follow", im.progress.Line, im.opt.First)
	}
	return im, nil
}

// Run stores every line, and calls report after each batch. It blocks until all lines are stored or refused, and then returns
// nil; WaitFolded waits for their fold. Lines that are refused are reported and do not end it. It returns the errors of ctx, the
// lines and report, Unavailable and OutcomeUnknown, and Conflict if another request began the import again. The error is
// Unauthenticated once the key of the request does not work any more.
func (im *Import) Run(ctx context.Context, lines LineReader, report func(ImportReport) error) error {
	im.report = report
	ctx, cancel := context.WithCancel(ctx)
	batches := make(chan *importBatch, 1)
	b := &batcher{w: im.w, lines: lines, opt: im.opt, next: im.opt.First, skip: im.progress.Line, out: batches}
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer close(batches)
		b.run(ctx)
	}()
	defer func() {
		cancel()
		select {
		case <-done:
		default:
			lines.Stop() // a client that sends nothing must not hold up the end
			<-done
		}
	}()
	for batch := range batches {
		if err := im.store(ctx, batch); err != nil {
			return err
		}
		if batch.err != nil {
			return batch.err
		}
	}
	return ctx.Err()
}

// WaitFolded waits until everything stored is folded on this node. It waits two seconds at most until the read model is tidy, which readers may
// hold up. The error is Timeout after Options.ImportWait, ctx's, and Unavailable. Everything stays stored whatever it is.
func (im *Import) WaitFolded(ctx context.Context) error {
	if im.last == 0 {
		return nil
	}
	if err := im.w.wait(ctx, im.last, im.w.opt.ImportWait); err != nil {
		return im.late(err, im.last)
	}
	ctx, cancel := context.WithTimeout(ctx, min(importTidy, time.Since(im.began)))
	defer cancel()
	im.w.ReadModel.Tidy(ctx)
	return nil
}

// Report returns how far the import has come, without refusals.
func (im *Import) Report() ImportReport { return ImportReport{Progress: im.progress, Last: im.last} }

// store stores a batch, and reports what was refused and how far the import has come. It goes on from what another
// request of the import has stored, if that was faster.
func (im *Import) store(ctx context.Context, b *importBatch) error {
	await := atOnce
	if len(b.counters) > 0 || len(b.forms) > 0 { // which the read model decides about
		await = nil
	}
	_, err := im.w.decide(ctx, plan{await: await, try: func(ctx context.Context, lost bool) (uint64, error) {
		if lost {
			if err := im.adoptProgress(ctx); err != nil {
				return 0, err
			}
			b.reconsider()
		}
		return 0, im.tryBatch(ctx, b)
	}})
	return err
}

// tryBatch is one try of store. The error is one of again where another request was faster.
func (im *Import) tryBatch(ctx context.Context, b *importBatch) error {
	if b.line <= im.progress.Line { // another request has stored it
		return nil
	}
	if _, err := renewed(im.opt.By); err != nil { // before its lines are reported as refused: a request with a key that works may go on with them
		return err
	}
	b.dropUpTo(im.progress.Line) // another request may have stored a part of it
	if err := im.chooseForms(ctx, b); err != nil {
		return err
	}
	if err := im.w.refuseFanouts(ctx, b, im.opt.intent()); err != nil {
		return err
	}
	ahead := uint64(importAhead)
	if !im.w.foreground.idleFor(importAlone) {
		ahead = besideAhead
	}
	if im.last > ahead { // the fold must not fall far back
		if err := im.wait(ctx, im.last-ahead); err != nil {
			return err
		}
	}
	if err := im.storeModel(ctx, b); err != nil {
		return err
	}
	if b.fires {
		return im.fire(ctx, b)
	}
	p := ImportProgress{Line: b.line, Written: im.progress.Written + len(b.writes), Refused: im.progress.Refused + len(b.refusals)}
	writes := slices.Clip(b.writes)
	if len(b.counters) > 0 {
		var err error
		if writes, err = im.raised(ctx, b); err != nil {
			return err
		}
	}
	if im.id != "" {
		write, err := im.progressWrite(p, actorOf(im.opt.By))
		if err != nil {
			return err
		}
		writes = append(writes, write)
	}
	if len(writes) > 0 {
		last, err := im.append(ctx, b, writes)
		if err != nil {
			return im.afterFailure(ctx, b, err)
		}
		im.note(last)
	}
	im.progress = p
	return im.report(ImportReport{Refusals: b.refusals, Progress: p, Last: im.last})
}

// raised returns the writes that raise the batch's counters, which the import may have moved before. Errors are wait's, and the read model's.
func (im *Import) raised(ctx context.Context, b *importBatch) (writes []fanfold.Write, err error) {
	if err := im.wait(ctx, im.last); err != nil {
		return nil, err
	}
	err = im.w.ReadModel.Read(func(snap Snapshot) error {
		writes, err = numbering.Raise(snap, b.counters)
		return err
	})
	return writes, err
}

// chooseForms makes the writes of a batch the ones for documents that exist or do not, where that decides what is stored, on condition
// that this stays so. Refused ones leave the batch. The error is the read model's.
func (im *Import) chooseForms(ctx context.Context, b *importBatch) error {
	if len(b.forms) == 0 {
		return nil
	}
	var refused refusals
	applied := im.w.ReadModel.Applied()
	err := im.w.ReadModel.Read(func(snap Snapshot) error {
		for i := range b.writes {
			key := b.writes[i].Event.Key
			forms := b.forms[key]
			if forms == nil {
				continue
			}
			rev, exists, err := lastIn(snap, key)
			if err != nil {
				return err
			}
			if stored := im.recent[key]; uint64(stored) > applied { // and not folded yet
				rev, exists = stored, true
			}
			op := Operation{event: b.writes[i].Event, forms: forms}
			if err := op.choose(exists); err != nil {
				refused.add(i, err)
			}
			b.writes[i].Expect = exactly(ctx, rev)
		}
		return nil
	})
	b.removeAll(&refused)
	return err
}

// storeModel applies the batch's model, where it has one, and waits for its fold. A model that cannot be applied refuses
// its line.
func (im *Import) storeModel(ctx context.Context, b *importBatch) error {
	if b.model == nil {
		return nil
	}
	if im.last > 0 {
		if err := im.wait(ctx, im.last); err != nil {
			return err
		}
	}
	applied, err := im.w.importModel(ctx, b, im.opt)
	switch fanfold.CodeOf(err) {
	case "":
	case fanfold.Unavailable, fanfold.OutcomeUnknown, fanfold.Timeout, fanfold.Internal:
		return err
	default:
		b.refusals = append(b.refusals, Refusal{Line: b.line, Err: err, number: b.line})
		b.model = nil
		return nil
	}
	if applied == 0 {
		return nil
	}
	im.last = applied
	return im.wait(ctx, applied)
}

// append appends the writes of a batch, with the import event where there is one, and returns the last sequence. refuseFanouts
// has held each to the fan-out limit.
func (im *Import) append(ctx context.Context, b *importBatch, writes []fanfold.Write) (last uint64, err error) {
	w := im.w
	leave, err := enter(ctx, w, writes, nil)
	if err != nil {
		return 0, err
	}
	defer leave()
	appendStaged, rest := b.appendStaged, writes[b.staged:]
	b.unstage()
	var first uint64
	switch {
	case len(b.counters) > 0:
		first, err = w.Log.AppendAll(ctx, "", numbering.TellRest(writes))
	case w.needGuards(writes):
		first, _, err = (&guardRound{w: w, checked: true, restore: im.opt.Restore, most: w.opt.ImportBatch, recent: im.recent, after: im.last}).storeAll(ctx, writes)
	case appendStaged != nil:
		first, err = appendStaged(ctx, rest)
	default:
		first, err = w.Log.AppendAll(ctx, "", writes)
	}
	if err != nil {
		return 0, err
	}
	if len(im.recent) >= im.forgetAt {
		im.recent.forget(w.ReadModel.Applied())
		im.forgetAt = 2*len(im.recent) + importWrites
	}
	for i, write := range writes {
		if write.Event.Kind == fanfold.KindPut {
			w.counts.add("import", nil)
		}
		im.recent[write.Event.Key] = fanfold.Revision(first + uint64(i))
	}
	return first + uint64(len(writes)) - 1, nil
}

// recentWrites holds the revisions of documents by their keys.
type recentWrites map[fanfold.Key]fanfold.Revision

// forget removes the revisions up to an event.
func (r recentWrites) forget(seq uint64) {
	maps.DeleteFunc(r, func(_ fanfold.Key, rev fanfold.Revision) bool { return uint64(rev) <= seq })
}

// afterFailure goes on with a batch that was not stored: without the write at fault, or in two halves where it is too large. It
// returns err where neither applies, as one of again where it is a Stale.
func (im *Import) afterFailure(ctx context.Context, b *importBatch, err error) error {
	refused := refusalsOf(err)
	tooMany := errors.Is(err, errTooManyMessages)
	if tooMany && len(b.writes) == 1 {
		refused.add(0, err)
	}
	code := fanfold.CodeOf(err)
	if n := len(refused.at); n > 0 && refused.at[n-1] < len(b.writes) && (code == fanfold.Unprocessable || code == fanfold.Conflict || code == fanfold.CheckFailed) {
		return im.withoutRefused(ctx, b, refused)
	}
	if tooMany && len(b.writes) > 1 {
		b.reconsider()
		return im.storeParts(ctx, b, len(b.writes)/2)
	}
	return again(err)
}

// withoutRefused goes on without the lines that are refused. If later ones were refused before while these stood in the batch, these are a batch
// with all that follows.
func (im *Import) withoutRefused(ctx context.Context, b *importBatch, refused *refusals) error {
	line := b.lines[refused.at[0]]
	if line > b.doubted {
		b.doubt(refused)
		return im.tryBatch(ctx, b)
	}
	b.reconsider()
	if at := slices.Index(b.lines, line); at > 0 {
		return im.storeParts(ctx, b, at)
	}
	b.remove(0, refused.errors[0])
	return im.tryBatch(ctx, b)
}

// storeParts stores the first n writes of a batch, and then the others.
func (im *Import) storeParts(ctx context.Context, b *importBatch, n int) error {
	rest := b.split(n)
	if err := im.store(ctx, b); err != nil {
		return err
	}
	return im.store(ctx, rest)
}

// refuseFanouts removes the writes of a batch that would cause more than the model's fan-out limit. It looks at each once.
func (w *Writer) refuseFanouts(ctx context.Context, b *importBatch, in Intent) error {
	if b.checked {
		return nil
	}
	refused, err := exceeding(ctx, w, b.writes, in)
	if err != nil {
		return err
	}
	b.removeAll(refused)
	b.checked = true
	return nil
}

// exceeding returns which of the writes would cause more than the model's fan-out limit, each by itself.
func exceeding(ctx context.Context, w *Writer, writes []fanfold.Write, in Intent) (*refusals, error) {
	refused := &refusals{}
	which, err := w.Inspector.MayEachExceed(ctx, eventsOf(writes), w.fanoutLimit(in))
	for _, i := range which {
		err := w.checkFanout(ctx, writes[i:i+1:i+1], in)
		switch fanfold.CodeOf(err) {
		case "":
		case fanfold.FanoutLimit:
			refused.add(i, err)
		default:
			return refused, err
		}
	}
	return refused, err
}

// renewed returns the rights of now of who had some when work began that lasts. The error is Unauthenticated.
func renewed(by *access.Rights) (*access.Rights, error) {
	now := by.Renewed()
	if now == nil {
		return by, errRightsEnded
	}
	return now, nil
}

// adoptProgress goes on from what another request of the same import has stored meanwhile: one whose connection was cut
// may have had a batch on its way. The error is Conflict where that request began the import again.
func (im *Import) adoptProgress(ctx context.Context) error {
	if im.id == "" { // no other request has it
		return nil
	}
	var p ImportProgress
	if other, err := im.storedByOther(ctx, &p); err != nil || !other {
		return err
	}
	if !im.opt.Resume || p.Line < im.progress.Line {
		return fanfold.Errorf(fanfold.Conflict, "the import %q was begun anew by another request", im.opt.ID)
	}
	im.progress, im.last = p, uint64(im.event.Rev)
	return nil
}
