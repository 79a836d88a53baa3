package writer

import (
	"context"
	"errors"
	"io"
	"slices"
	"time"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/access"
	"github.com/fanfold/fanfold/internal/jsondoc"
)

// LineReader gives the lines of an import.
type LineReader interface {
	// Next returns the next line without its end, valid until the next call. It blocks until the line is there. The error
	// is io.EOF at the end, and ErrLineSkipped for a line that is skipped, after which reading goes on; others end the import.
	Next() (line []byte, err error)
	// Stop makes a Next that blocks return.
	Stop()
}

// ErrLineSkipped is in the error of a LineReader that has passed a line and goes on after it.
var ErrLineSkipped = errors.New("the line is skipped")

// Refusal reports a line of an import that was not stored.
type Refusal struct {
	Line int // the number to report; a line may say for itself which number that is
	Err  error

	number int // the line's place in the import
}

// importedModel is a model that an import brings; both are nil where it brings none.
type importedModel struct {
	model   []byte
	retired []byte // JSON of the rules that the model brings besides it
}

// importBatch holds what is stored at once: documents, the last numbers of sequences, or a model.
type importBatch struct {
	importedModel

	writes   []fanfold.Write
	lines    []int            // the line of each write
	shown    []int            // the number under which each write is reported where it is refused
	counters []*fanfold.Event // of sequences
	bytes    int              // of the writes
	messages int              // that they are in the log, with their guards, if nothing was there before and each link is a message of its own
	joined   int              // how many of these are none, because a link has several holders
	links    map[link]struct{}
	keys     map[fanfold.Key]struct{}
	forms    map[fanfold.Key]*checked // of documents that are stored otherwise where they exist
	line     int                      // the last line that the batch covers
	began    time.Time                // when the batch before was ready to be stored
	checked  bool                     // the writes keep to the fan-out limit
	fires    bool                     // the documents fire triggers, so that it is stored as a transaction
	refusals []Refusal
	err      error // why reading ended early

	doubts
	staging
	growth
}

// growth says whether a batch may have more than importWrites messages.
type growth struct {
	asked bool // whether it may was asked; large is the answer
	large bool
}

// doubts are the lines of a batch that were refused although others of it stand before them, which may not be stored after all.
type doubts struct {
	before  *importBatch // what was doubted is still in it; nil where nothing was
	doubted int          // the last line that was
}

// staging says which writes of a batch the log's server has already.
type staging struct {
	staged       int          // how many, the first ones
	appendStaged AppendStaged // stores them with the others; nil where none are staged
}

// unstage has the writes sent anew: those that are staged are others now, or were given to the log.
func (b *importBatch) unstage() { b.staging = staging{} }

// newImportBatch returns a batch that covers the lines up to one, with room for so many writes.
func newImportBatch(line, writes int) *importBatch {
	return &importBatch{line: line, began: time.Now(), keys: make(map[fanfold.Key]struct{}, writes), forms: map[fanfold.Key]*checked{}, links: map[link]struct{}{}, writes: make([]fanfold.Write, 0, writes),
		lines: make([]int, 0, writes), shown: make([]int, 0, writes)}
}

// link is what links of one message have in common: the document referred to, and the collection of those that refer to it.
type link struct {
	target  fanfold.Key
	holders string
}

// lineMessages says how many messages a line is in the log with the guards of a document that was not there.
type lineMessages struct {
	count int
	links []link // the links that may be joined with others
}

// joinedIn returns how many of a line's links are joined with others of the batch.
func (b *importBatch) joinedIn(m lineMessages) (n int) {
	for _, l := range m.links {
		if _, there := b.links[l]; there {
			n++
		}
	}
	return n
}

// isFullFor tells whether an event, which with its guards is so many messages, must go into another batch: for lack of
// room, or because of its document. mayGrow tells whether there may be so many messages, which are more than importWrites.
// beside tells whether somebody else writes or reads strongly, and is not to wait long.
func (b *importBatch) isFullFor(ev *fanfold.Event, m lineMessages, mayGrow func(messages int) bool, beside func() bool) bool {
	_, twice := b.keys[ev.Key]
	all := b.messages + m.count
	stored := all - b.joined - b.joinedIn(m)
	switch {
	case len(b.writes) == 0:
		return false
	case twice || b.bytes+len(ev.Body)+len(ev.Kept) > importBytes:
		return true
	case all > besideWrites && all > len(b.writes)+1 && beside(): // there are guards
		return true
	}
	return stored > importWrites && !mayGrow(stored)
}

// add adds the write of one line. shown is the number under which it is reported.
func (b *importBatch) add(ev *fanfold.Event, m lineMessages, number, shown int) {
	b.messages += m.count
	b.joined += b.joinedIn(m)
	for _, l := range m.links {
		b.links[l] = struct{}{}
	}
	b.keys[ev.Key] = struct{}{}
	b.writes, b.lines, b.shown = append(b.writes, fanfold.Write{Event: ev}), append(b.lines, number), append(b.shown, shown)
	b.bytes += len(ev.Body) + len(ev.Kept)
	b.line = number
}

// remove removes a write from the batch, and reports that it is refused with err.
func (b *importBatch) remove(i int, err error) {
	b.unstage()
	b.refusals = append(b.refusals, Refusal{Line: b.shown[i], Err: withoutOperation(err), number: b.lines[i]})
	b.writes, b.lines, b.shown = slices.Delete(b.writes, i, i+1), slices.Delete(b.lines, i, i+1), slices.Delete(b.shown, i, i+1)
}

// removeAll removes the writes that are refused, and reports them.
func (b *importBatch) removeAll(refused *refusals) {
	for n, at := range refused.at {
		b.remove(at-n, refused.errors[n])
	}
}

// doubt removes the writes that are refused, and reports them, until reconsider.
func (b *importBatch) doubt(refused *refusals) {
	if b.before == nil {
		before := *b
		before.writes, before.lines, before.shown, before.refusals = slices.Clone(b.writes), slices.Clone(b.lines), slices.Clone(b.shown), slices.Clone(b.refusals)
		b.before = &before
	}
	b.doubted = max(b.doubted, b.lines[refused.at[len(refused.at)-1]])
	b.removeAll(refused)
}

// reconsider takes back what doubt has done.
func (b *importBatch) reconsider() {
	if b.before != nil {
		*b = *b.before
		b.unstage()
	}
}

// dropUpTo drops the writes and refusals of all lines up to one.
func (b *importBatch) dropUpTo(line int) {
	done := 0
	for done < len(b.lines) && b.lines[done] <= line {
		done++
	}
	if done > 0 {
		b.unstage()
	}
	b.writes, b.lines, b.shown = b.writes[done:], b.lines[done:], b.shown[done:]
	b.refusals = slices.DeleteFunc(b.refusals, func(r Refusal) bool { return r.number <= line })
}

// split keeps the first n writes, and returns a batch of the others.
func (b *importBatch) split(n int) (rest *importBatch) {
	b.unstage()
	rest = &importBatch{forms: b.forms, writes: b.writes[n:], lines: b.lines[n:], shown: b.shown[n:], line: b.line, checked: b.checked, fires: b.fires}
	b.writes, b.lines, b.shown, b.line = b.writes[:n:n], b.lines[:n:n], b.shown[:n:n], b.lines[n-1]
	for _, r := range b.refusals {
		if r.number > b.line {
			rest.refusals = append(rest.refusals, r)
		}
	}
	b.refusals = slices.DeleteFunc(b.refusals, func(r Refusal) bool { return r.number > b.line })
	return rest
}

// batcher makes batches of lines while the batch before them is being stored.
type batcher struct {
	w     *Writer
	lines LineReader
	opt   ImportOptions
	next  int // the number of the next line
	skip  int // lines up to this one are stored already
	out   chan<- *importBatch
	batch *importBatch   // being made
	by    *access.Rights // opt's, as they were at the beginning of the batch
}

// run reads lines until they end, and sends the batches that it makes of them. It returns early once ctx has ended.
func (b *batcher) run(ctx context.Context) {
	b.batch = newImportBatch(0, 0)
	b.by = b.opt.By.Renewed()
	for {
		line, err := b.lines.Next()
		if err != nil && !errors.Is(err, ErrLineSkipped) {
			if !errors.Is(err, io.EOF) {
				b.batch.err = err
			}
			b.send(ctx)
			return
		}
		number := b.next
		b.next++
		if number <= b.skip || err == nil && len(line) == 0 {
			b.batch.line = max(b.batch.line, number)
			continue
		}
		if !b.addLine(ctx, line, number, err) {
			return
		}
	}
}

// addLine adds one line to the batch, or its refusal: because of err, or because the line is none that can be imported.
// It is false once ctx has ended.
func (b *batcher) addLine(ctx context.Context, line []byte, number int, err error) bool {
	var ev *fanfold.Event
	l := &importLine{shown: number}
	if err == nil {
		l, err = b.w.importEvent(b.by, b.opt.Collection, line, number, !b.opt.Restore)
		ev = &l.event
	}
	if err == nil && ev.Kind == fanfold.KindSequence && !b.opt.Restore {
		err = errNotRestored
	}
	messages := b.w.messages(ev, err)
	switch {
	case err != nil:
		b.batch.line = number
		b.batch.refusals = append(b.batch.refusals, Refusal{Line: l.shown, Err: err, number: number})
		return len(b.batch.refusals) < importWrites || b.send(ctx)
	case ev.Kind == fanfold.KindModel:
		if !b.send(ctx) {
			return false
		}
		b.batch.model, b.batch.retired, b.batch.line = ev.Body, ev.Kept, number
		if !b.send(ctx) || !b.waitUntilStored(ctx) { // later lines are checked against it
			return false
		}
		b.by = b.opt.By.Renewed()
		return true
	case ev.Kind == fanfold.KindSequence:
		return b.addCounter(ctx, ev, number)
	case len(b.batch.counters) > 0 && !b.send(ctx):
		return false
	case len(b.batch.writes) > 0 && (b.batch.fires != l.fires || l.fires && len(b.batch.writes) >= fireMost) && !b.send(ctx):
		return false
	case b.batch.isFullFor(ev, messages, b.mayGrow, b.beside) && !b.send(ctx):
		return false
	}
	ev.Actor = actorOf(b.opt.By)
	b.batch.add(ev, messages, number, l.shown)
	b.batch.fires, b.batch.checked = l.fires, b.batch.checked || l.fires
	if l.forms != nil {
		b.batch.forms[ev.Key] = l.forms
	}
	return true
}

// errNotRestored refuses the last number of a sequence. It is an Unprocessable.
var errNotRestored = fanfold.Errorf(fanfold.Unprocessable, "the line has the last number of a sequence: with restore=true, an import takes it over")

// addCounter adds the last number of a sequence to the batch, which holds no documents then. It is false once ctx has ended.
func (b *batcher) addCounter(ctx context.Context, ev *fanfold.Event, number int) bool {
	if len(b.batch.writes) > 0 && !b.send(ctx) {
		return false
	}
	ev.Actor = actorOf(b.opt.By)
	b.batch.counters, b.batch.line = append(b.batch.counters, ev), number
	return len(b.batch.counters) < importWrites || b.send(ctx)
}

// mayGrow returns whether the batch may have so many messages, more than importWrites. It may if lines come fast, no earlier batch
// waits, and nobody else writes documents or reads strongly on this node.
func (b *batcher) mayGrow(messages int) bool {
	if !b.batch.asked {
		b.batch.asked = true
		b.batch.large = time.Since(b.batch.began) < importFast && b.w.foreground.idleFor(importAlone)
	}
	return b.batch.large && messages < b.w.opt.ImportBatch
}

// beside returns whether somebody else writes documents or reads strongly on this node.
func (b *batcher) beside() bool { return !b.w.foreground.idleFor(importAlone) }

// messages returns how many messages a line is; none for one that is refused with err.
func (w *Writer) messages(ev *fanfold.Event, err error) (m lineMessages) {
	if err != nil || ev.Kind != fanfold.KindPut {
		return m
	}
	of, _, _ := w.Models.Model()
	c := of.Collection(ev.Key.Collection)
	if m.count = 1; c == nil || !of.Guards(c.Name, false) {
		return m
	}
	targets := (&guardedParts{strict: strictReferences(c, jsondoc.MustParse(ev.Body))}).targets()
	m.count += len(c.Unique) + len(targets)
	if w.opt.JoinLinks {
		for _, t := range targets {
			m.links = append(m.links, link{t, c.Name})
		}
	}
	return m
}

// send stages the batch, sends it and begins another. It is false once ctx has ended.
func (b *batcher) send(ctx context.Context) bool {
	b.stage(ctx)
	next := newImportBatch(b.batch.line, len(b.batch.writes)) // which is likely to have as many
	select {
	case b.out <- b.batch:
		b.batch, b.by = next, b.opt.By.Renewed()
		return true
	case <-ctx.Done():
		return false
	}
}

// stage has the log's server read the writes of the batch while those before it are being stored. If that fails, or if stored
// documents decide about the guards, all of it is sent later. Failed writes are staged again then.
func (b *batcher) stage(ctx context.Context) {
	if err := b.w.refuseFanouts(ctx, b.batch, b.opt.intent()); err != nil {
		return
	}
	writes := b.batch.writes
	if b.batch.fires {
		return
	}
	if b.opt.ID == "" {
		writes = writes[:max(0, len(writes)-1)] // no import event follows: the last one stores the others
	}
	if len(writes) == 0 || len(b.batch.forms) > 0 || b.w.needGuards(writes) {
		return
	}
	if appendStaged, err := b.w.Log.Stage(ctx, writes); err == nil {
		b.batch.staged, b.batch.appendStaged = len(writes), appendStaged
	}
}

// waitUntilStored waits until everything sent is stored. It is false once ctx has ended.
func (b *batcher) waitUntilStored(ctx context.Context) bool {
	for range 2 { // the channel has room for one empty batch; the second fits once the first is received, after all before it
		select {
		case b.out <- &importBatch{}:
		case <-ctx.Done():
			return false
		}
	}
	return true
}
