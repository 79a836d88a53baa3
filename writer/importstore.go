package writer

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"time"

	"github.com/fanfold/fanfold"
)

// Bounds of an import.
const (
	importWrites = 999         // documents stored at once, besides how far the import has come
	importBytes  = 4 << 20     // of such a batch
	importAhead  = 20_000      // events that an import may be ahead of the fold
	importSettle = time.Minute // for the fold, at the end
)

// ImportOptions say how lines are to be imported.
type ImportOptions struct {
	ID          string // under which the import can be resumed; "" for none
	Collection  string // of all documents; "" where each line says its own
	Resume      bool   // go on where the import of that id is
	First       int    // number of the first line that is sent; 0 is 1
	AllowFanout bool   // past the model's fan-out limit
}

// ImportProgress is how far an import has come: what its last event in the log says.
type ImportProgress struct {
	Line    int `json:"line"` // everything up to it is stored or was refused
	Written int `json:"written"`
	Refused int `json:"refused"`
}

// ImportReport tells of a piece of an import.
type ImportReport struct {
	Refusals []Refusal
	Progress ImportProgress
	Last     uint64 // the last event stored
}

// ImportProgress returns how far an import has come. The revision of its last event is 0 where there is none.
func (w *Writer) ImportProgress(ctx context.Context, id string) (p ImportProgress, rev fanfold.Revision, err error) {
	body, rev, err := w.Leader.Progress(ctx, id)
	if err == nil && rev != 0 {
		err = json.Unmarshal(body, &p)
	}
	return p, rev, err
}

// Import stores the lines of one import, batch after batch. It is for one goroutine.
type Import struct {
	w    *Writer
	opt  ImportOptions
	tell func(ImportReport) error

	at     ImportProgress   // stored
	stored fanfold.Revision // the event that says so
	last   uint64           // the last event stored
}

// NewImport begins or resumes an import. Errors are Invalid, and Conflict where First does not follow what is stored.
func (w *Writer) NewImport(ctx context.Context, opt ImportOptions) (*Import, error) {
	im := &Import{w: w, opt: opt}
	im.opt.First = max(1, opt.First)
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
		p, rev, err := w.ImportProgress(ctx, opt.ID)
		if err != nil {
			return nil, err
		}
		if im.stored = rev; opt.Resume {
			im.at, im.last = p, uint64(rev)
		}
	}
	if im.opt.First > im.at.Line+1 {
		return nil, fanfold.Errorf(fanfold.Conflict, "the import is at line %d; line %d does not follow", im.at.Line, im.opt.First)
	}
	return im, nil
}

// Run stores every line, and calls tell with each piece that is stored. It returns nil once all of it is, and waits for
// the fold then. Lines that cannot be stored are told and do not end it.
func (im *Import) Run(ctx context.Context, lines LineReader, tell func(ImportReport) error) error {
	im.tell = tell
	ctx, cancel := context.WithCancel(ctx)
	batches := make(chan *importBatch, 1)
	b := &batcher{w: im.w, lines: lines, collection: im.opt.Collection, next: im.opt.First, skip: im.at.Line, out: batches}
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
			lines.Stop() // a client that sends no more must not hold up the end
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

// Settle waits, for a minute at most, until everything stored is folded here.
func (im *Import) Settle() error {
	if im.last == 0 {
		return nil
	}
	return im.wait(context.Background(), im.last)
}

// Report returns how far the import is.
func (im *Import) Report() ImportReport { return ImportReport{Progress: im.at, Last: im.last} }

func (im *Import) wait(ctx context.Context, seq uint64) error {
	err := im.w.wait(ctx, seq, importSettle)
	if errors.Is(err, context.DeadlineExceeded) {
		return fanfold.Errorf(fanfold.Timeout, "this node stands at event %d and did not reach %d within %v", im.w.ReadModel.Applied(), seq, importSettle)
	}
	return err
}

// store appends a batch, tells what was refused and how far the import is.
func (im *Import) store(ctx context.Context, b *importBatch) error {
	if b.line <= im.at.Line { // nothing new
		return nil
	}
	b.dropUpTo(im.at.Line) // another request may have stored some of it
	if err := im.refuseFanouts(ctx, b); err != nil {
		return err
	}
	if im.last > importAhead { // the fold must not be left far behind
		if err := im.wait(ctx, im.last-importAhead); err != nil {
			return err
		}
	}
	if err := im.storeModel(ctx, b); err != nil {
		return err
	}
	p := ImportProgress{Line: b.line, Written: im.at.Written + len(b.writes), Refused: im.at.Refused + len(b.refusals)}
	writes := slices.Clip(b.writes)
	if im.opt.ID != "" {
		body, err := json.Marshal(p)
		if err != nil {
			return err
		}
		writes = append(writes, fanfold.Write{Expect: fanfold.Exactly(im.stored),
			Event: &fanfold.Event{Kind: fanfold.KindImport, Key: fanfold.Key{ID: im.opt.ID}, Body: body}})
	}
	if len(writes) > 0 {
		last, err := im.append(ctx, writes)
		if err != nil {
			return im.afterFailure(ctx, b, err)
		}
		im.last, im.stored = last, fanfold.Revision(last)
	}
	im.at = p
	return im.tell(ImportReport{Refusals: b.refusals, Progress: p, Last: im.last})
}

// storeModel applies the batch's model, where it has one, and waits for its fold. What is wrong with the model refuses
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
	applied, err := im.w.importModel(ctx, b.model)
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

// append appends a batch and returns its last sequence. Its lines were held to the fan-out limit one by one.
func (im *Import) append(ctx context.Context, writes []fanfold.Write) (last uint64, err error) {
	w := im.w
	w.modelMu.RLock()
	defer w.modelMu.RUnlock()
	if !w.needGuards(writes) {
		first, err := w.Log.AppendAll(ctx, "", writes)
		return first + uint64(len(writes)) - 1, err
	}
	if err := im.wait(ctx, im.last); err != nil { // the lines may refer to those before
		return 0, err
	}
	_, last, err = w.appendGuarded(ctx, "", writes, Intent{AllowFanout: true})
	return last, err
}

// afterFailure goes on with a batch that the log did not take: without the line at fault, in two halves, or behind what
// another request of this import has stored.
func (im *Import) afterFailure(ctx context.Context, b *importBatch, err error) error {
	at := operationOf(err)
	tooMany := errors.Is(err, errTooManyMessages)
	if tooMany && len(b.writes) == 1 {
		at = 0
	}
	code := fanfold.CodeOf(err)
	if at >= 0 && at < len(b.writes) && (code == fanfold.Unprocessable || code == fanfold.Conflict) {
		b.remove(at, err)
		return im.store(ctx, b)
	}
	if half := len(b.writes) / 2; tooMany && half > 0 {
		rest := b.split(half)
		if err := im.store(ctx, b); err != nil {
			return err
		}
		return im.store(ctx, rest)
	}
	if code != fanfold.Stale {
		return err
	}
	if err := im.takeOver(ctx); err != nil {
		return err
	}
	return im.store(ctx, b)
}

// refuseFanouts refuses the lines that would cause more than the model allows.
func (im *Import) refuseFanouts(ctx context.Context, b *importBatch) error {
	for i := 0; i < len(b.writes); {
		err := im.w.checkFanout(ctx, b.writes[i:i+1:i+1], Intent{AllowFanout: im.opt.AllowFanout})
		switch fanfold.CodeOf(err) {
		case "":
			i++
		case fanfold.FanoutLimit:
			b.remove(i, err)
		default:
			return err
		}
	}
	return nil
}

// takeOver takes over what another request of this import has stored meanwhile: one that was cut
// off may have had a batch on its way.
func (im *Import) takeOver(ctx context.Context) error {
	p, rev, err := im.w.ImportProgress(ctx, im.opt.ID)
	if err != nil {
		return err
	}
	if !im.opt.Resume || p.Line < im.at.Line {
		return fanfold.Errorf(fanfold.Conflict, "the import %q was begun anew by another request", im.opt.ID)
	}
	im.at, im.stored, im.last = p, rev, uint64(rev)
	return nil
}
