package writer

import (
	"context"
	"errors"
	"io"
	"slices"

	"github.com/fanfold/fanfold"
)

// LineReader gives the lines of an import.
type LineReader interface {
	// Next returns the next line without its end. It is valid until the next call. The error is io.EOF at the end, and
	// a TooLarge for a line that is passed over, after which reading goes on; others end the import.
	Next() (line []byte, err error)
	// Stop makes a Next that waits return.
	Stop()
}

// Refusal is a line of an import that was not stored.
type Refusal struct {
	Line int // as it is told: the line itself may say that it has another number
	Err  error

	number int // of the line as it came
}

// importBatch is what is stored at once: documents, or a model.
type importBatch struct {
	writes   []fanfold.Write
	lines    []int // of the writes
	shown    []int // the lines that refusals tell
	model    []byte
	bytes    int
	keys     map[fanfold.Key]struct{}
	line     int // the last one it covers
	refusals []Refusal
	err      error // reading ended with it
}

// isFullFor tells whether there is no room for an event in the batch.
func (b *importBatch) isFullFor(ev *fanfold.Event) bool {
	_, twice := b.keys[ev.Key]
	return twice || len(b.writes) == importWrites || b.bytes+len(ev.Body)+len(ev.Kept) > importBytes && len(b.writes) > 0
}

func (b *importBatch) add(ev *fanfold.Event, number, shown int) {
	b.keys[ev.Key] = struct{}{}
	b.writes, b.lines, b.shown = append(b.writes, fanfold.Write{Event: ev}), append(b.lines, number), append(b.shown, shown)
	b.bytes += len(ev.Body) + len(ev.Kept)
	b.line = number
}

// remove takes a write out of the batch, which is refused with err.
func (b *importBatch) remove(i int, err error) {
	b.refusals = append(b.refusals, Refusal{Line: b.shown[i], Err: withoutOperation(err), number: b.lines[i]})
	b.writes, b.lines, b.shown = slices.Delete(b.writes, i, i+1), slices.Delete(b.lines, i, i+1), slices.Delete(b.shown, i, i+1)
}

// dropUpTo drops what the batch has of lines up to one.
func (b *importBatch) dropUpTo(line int) {
	done := 0
	for done < len(b.lines) && b.lines[done] <= line {
		done++
	}
	b.writes, b.lines, b.shown = b.writes[done:], b.lines[done:], b.shown[done:]
	b.refusals = slices.DeleteFunc(b.refusals, func(r Refusal) bool { return r.number <= line })
}

// split leaves the first n writes, and returns the rest with what the batch tells at its end.
func (b *importBatch) split(n int) (rest *importBatch) {
	rest = &importBatch{writes: b.writes[n:], lines: b.lines[n:], shown: b.shown[n:], line: b.line}
	b.writes, b.lines, b.shown, b.line = b.writes[:n:n], b.lines[:n:n], b.shown[:n:n], b.lines[n-1]
	for _, r := range b.refusals {
		if r.number > b.line {
			rest.refusals = append(rest.refusals, r)
		}
	}
	b.refusals = slices.DeleteFunc(b.refusals, func(r Refusal) bool { return r.number > b.line })
	return rest
}

// batcher makes batches of lines, ahead of the batch that is being stored.
type batcher struct {
	w          *Writer
	lines      LineReader
	collection string // of all documents; "" where each line says its own
	next       int    // number of the next line
	skip       int    // lines that are stored already
	out        chan<- *importBatch
	batch      *importBatch // being made
}

// run reads lines until they end, and sends what it makes of them. It returns early once ctx has ended.
func (b *batcher) run(ctx context.Context) {
	b.batch = &importBatch{keys: map[fanfold.Key]struct{}{}}
	for {
		line, err := b.lines.Next()
		if err != nil && fanfold.CodeOf(err) != fanfold.TooLarge {
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
		if !b.take(ctx, line, number, err) {
			return
		}
	}
}

// take enters one line into the batch, or its refusal where err says that it was not kept. It is false once ctx has
// ended.
func (b *batcher) take(ctx context.Context, line []byte, number int, err error) bool {
	var ev *fanfold.Event
	shown := number
	if err == nil {
		ev, shown, err = b.w.importEvent(b.collection, line, number)
	}
	switch {
	case err != nil:
		b.batch.line = number
		b.batch.refusals = append(b.batch.refusals, Refusal{Line: shown, Err: err, number: number})
		return len(b.batch.refusals) < importWrites || b.send(ctx)
	case ev.Kind == fanfold.KindModel:
		if !b.send(ctx) {
			return false
		}
		b.batch.model, b.batch.line = ev.Body, number
		return b.send(ctx) && b.settle(ctx) // what follows is checked against it
	case b.batch.isFullFor(ev) && !b.send(ctx):
		return false
	}
	b.batch.add(ev, number, shown)
	return true
}

// send passes the batch on and begins another. It is false once ctx has ended.
func (b *batcher) send(ctx context.Context) bool {
	select {
	case b.out <- b.batch:
		b.batch = &importBatch{keys: map[fanfold.Key]struct{}{}, line: b.batch.line}
		return true
	case <-ctx.Done():
		return false
	}
}

// settle waits until everything sent is stored: an empty batch is taken after it.
func (b *batcher) settle(ctx context.Context) bool {
	for range 2 { // one waits in the channel, one is taken when that one is done
		select {
		case b.out <- &importBatch{}:
		case <-ctx.Done():
			return false
		}
	}
	return true
}
