package writer

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/fanfold/fanfold"
)

// longWrite is what an import and a bulk write have in common: they are stored in many steps, and the log has their progress under an id.
type longWrite struct {
	w     *Writer
	id    string         // under which the log has the progress; "" for one that cannot be resumed
	event fanfold.Expect // that the event which says so is still the last one
	last  uint64         // the last event stored; 0 for none
}

// stored reads what the log says of the progress, and returns the condition that this is the last word. Its revision is 0 where the log
// says nothing.
func (l *longWrite) stored(ctx context.Context, progress any) (expect fanfold.Expect, err error) {
	body, expect, err := l.w.lastProgress(ctx, l.id)
	if err == nil && expect.Rev != 0 {
		err = json.Unmarshal(body, progress)
	}
	return expect, err
}

// storedByOther reads the progress after a step that was refused, and tells whether another request has stored it. If none has, the step was
// decided on a state from before the horizon.
func (l *longWrite) storedByOther(ctx context.Context, progress any) (bool, error) {
	was := l.event.Rev
	expect, err := l.stored(ctx, progress)
	l.event = expect
	return expect.Rev != was, err
}

// progressWrite returns the write of the event that says how far the work is.
func (l *longWrite) progressWrite(progress any, actor string) (fanfold.Write, error) {
	body, err := json.Marshal(progress)
	return fanfold.Write{Expect: l.event, Event: &fanfold.Event{Kind: fanfold.KindImport, Key: fanfold.Key{ID: l.id}, Body: body, Actor: actor}}, err
}

// note notes that the last event stored is the one of the progress.
func (l *longWrite) note(seq uint64) {
	l.last, l.event = seq, fanfold.Expect{Set: true, Rev: fanfold.Revision(seq), Folded: seq} // nothing came between
}

// wait waits until this node has folded seq, for as long as it folds anything: what is not stored yet depends on it. The
// error is Timeout where it folds nothing for Options.ImportWait, ctx's, or Unavailable.
func (l *longWrite) wait(ctx context.Context, seq uint64) error {
	for {
		before := l.w.ReadModel.Applied()
		err := l.w.wait(ctx, seq, l.w.opt.ImportWait)
		if ctx.Err() == nil && errors.Is(err, context.DeadlineExceeded) && l.w.ReadModel.Applied() > before {
			continue
		}
		return l.late(err, seq)
	}
}

// late returns the error of a wait for seq, as a Timeout where that took too long.
func (l *longWrite) late(err error, seq uint64) error {
	if !errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return fanfold.Errorf(fanfold.Timeout, "this node stands at event %d and did not reach %d within %v", l.w.ReadModel.Applied(), seq, l.w.opt.ImportWait)
}
