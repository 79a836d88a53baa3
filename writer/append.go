package writer

import (
	"context"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/writer/numbering"
)

// enter waits until no delete is about to take what the writes refer to, and until writes are not held back. c is what the writes' own
// deletes have closed the gate for, nil for nothing. Call leave once the log has decided. It returns the errors of holders.enter and begin.
func enter(ctx context.Context, w *Writer, writes []fanfold.Write, c *closing) (leave func(), err error) {
	leaveGate, err := holdersOf(w).enter(ctx, writes, c)
	if err != nil {
		return nil, err
	}
	end, err := w.begin(ctx)
	if err != nil {
		leaveGate()
		return nil, err
	}
	return func() { end(); leaveGate() }, nil
}

// append appends one event, with guards where the model asks for them, and returns its sequence. It returns a rehearsal
// for a dry run, FanoutLimit, and the errors of Log.Append and appendGuarded; none names an operation.
func (w *Writer) append(ctx context.Context, ev *fanfold.Event, expect fanfold.Expect, in Intent) (uint64, error) {
	w.foreground.record()
	writes := []fanfold.Write{{Event: ev, Expect: expect}}
	leave, err := enter(ctx, w, writes, nil)
	if err != nil {
		return 0, withoutOperation(err)
	}
	defer leave()
	ev.Actor = actorOf(in.By)
	if err := w.checkCollections(writes); err != nil {
		return 0, withoutOperation(err)
	}
	guarded := w.needGuards(writes)
	if guarded && (in.DryRun || ev.Kind == fanfold.KindDelete || in.verdicts != nil) {
		first, _, err := w.appendGuarded(ctx, "", writes, in)
		return first, withoutOperation(err)
	}
	if err := judgeUnnumbered(ctx, guarded, writes, in); err != nil {
		return 0, withoutOperation(err)
	}
	if err := w.checkFanout(ctx, w.withNumbers(writes), in); err != nil {
		return 0, withoutOperation(err)
	}
	if guarded {
		return w.rounds.append(ctx, w, writes[0])
	}
	return w.Log.Append(ctx, ev, expect)
}

// judgeUnnumbered judges writes that were to be judged with the numbers which a round gives them, and get none: a model without sequences has come
// meanwhile.
func judgeUnnumbered(ctx context.Context, guarded bool, writes []fanfold.Write, in Intent) error {
	if guarded || in.verdicts == nil {
		return nil
	}
	return in.verdicts.judge(ctx, writes)
}

// appendAll appends the writes of a transaction, all or none, as append does one event. It returns the sequence of the
// first. c is what their deletes have closed the gate for, nil for nothing. The Operation of an error is the index of the write at fault.
func (w *Writer) appendAll(ctx context.Context, tx string, writes []fanfold.Write, in Intent, c *closing) (first uint64, err error) {
	w.foreground.record()
	leave, err := enter(ctx, w, writes, c)
	if err != nil {
		return 0, err
	}
	defer leave()
	actor := actorOf(in.By)
	for _, write := range writes {
		write.Event.Actor = actor
	}
	if err := w.checkCollections(writes); err != nil {
		return 0, err
	}
	if w.needGuards(writes) {
		first, _, err := w.appendGuarded(ctx, tx, writes, in)
		return first, err
	}
	if err := judgeUnnumbered(ctx, false, writes, in); err != nil {
		return 0, err
	}
	if err := w.checkFanout(ctx, writes, in); err != nil {
		return 0, err
	}
	return w.Log.AppendAll(ctx, tx, writes)
}

// appendEach appends writes that were held to the fan-out limit, each by itself, all or none, and not as a transaction. It returns the
// sequence of the first, and the errors of appendAll.
func appendEach(ctx context.Context, w *Writer, writes []fanfold.Write) (first uint64, err error) {
	w.foreground.record()
	leave, err := enter(ctx, w, writes, nil)
	if err != nil {
		return 0, withoutOperation(err)
	}
	defer leave()
	if err := w.checkCollections(writes); err != nil {
		return 0, withoutOperation(err)
	}
	if w.needGuards(writes) {
		first, _, err = (&guardRound{w: w, checked: true}).storeAll(ctx, writes)
		return first, err
	}
	return w.Log.AppendAll(ctx, "", writes)
}

// deletesAlone tells whether each delete of a collection's documents is stored by itself, because of what it brings with it or what guards it.
func deletesAlone(w *Writer, collection string) bool {
	m, _, _ := w.Models.Model()
	return m.Guards(collection, true) || affectsHoldersOf(m, collection)
}

// maxRehearsed is more messages than a dry run has.
const maxRehearsed = 100_000

// rehearseEach checks the writes of a dry run as appendEach would. It ends with a rehearsal, or the errors of appendEach.
func rehearseEach(ctx context.Context, w *Writer, writes []fanfold.Write, in Intent) error {
	_, _, err := (&guardRound{w: w, in: in, most: maxRehearsed}).storeAll(ctx, writes)
	return err
}

// checkCollections returns an UnknownCollection where the model that applies does not take a write. Prepare has asked, too,
// under the model of then.
func (w *Writer) checkCollections(writes []fanfold.Write) error {
	m, _, _ := w.Models.Model()
	for i, write := range writes {
		if isAboutDocument(write.Event) {
			if err := m.CheckWritable(write.Event.Key.Collection); err != nil {
				return fanfold.AtOperation(err, i)
			}
		}
	}
	return nil
}

// withNumbers returns one write whose effects are estimated. Its document has numbers if it may get some.
func (ck *checker) withNumbers(writes []fanfold.Write) []fanfold.Write {
	ev := *writes[0].Event
	m, _, _ := ck.models.Model()
	if ev.Kind != fanfold.KindPut || !m.Collection(ev.Key.Collection).Numbers() {
		return writes
	}
	ev.Body = numbering.Any(m.Collection(ev.Key.Collection), ev.Body)
	return []fanfold.Write{{Event: &ev, Expect: writes[0].Expect}}
}
