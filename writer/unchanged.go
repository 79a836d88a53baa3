package writer

import (
	"bytes"
	"context"
	"errors"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/model"
)

// Unchanged says that a write would have stored a document as it is stored already, so that nothing was stored.
type Unchanged struct {
	Document *fanfold.Document // as it was then, without its body
	At       fanfold.Position  // the position at which that was so: no write acknowledged before the request comes after it
}

// unchangedWrite is the error with which a write ends that would change nothing.
type unchangedWrite struct{ Unchanged }

// Error returns a text that nobody is shown: unchanged replaces the error.
func (u *unchangedWrite) Error() string { return "the write changes nothing" }

// unchanged returns what an unchangedWrite says. It returns nil and err where err is none.
func unchanged(err error) (*Unchanged, error) {
	var u *unchangedWrite
	if errors.As(err, &u) {
		return &u.Unchanged, nil
	}
	return nil, err
}

// changes appends the events of puts and patches.
type changes struct{ *Writer }

// append appends the event of a put or a patch that makes document of what is stored, as Writer.append does. It ends with an
// unchangedWrite, or a rehearsal without writes, where the same bytes are stored already and the event would have no other effect.
func (w changes) append(ctx context.Context, op *Operation, document []byte, expect fanfold.Expect, in Intent) (uint64, error) {
	if w.maySkip(op) {
		if _, equal := w.stored(op.Key, document, expect); equal {
			if err := w.skip(ctx, op, document, expect, in); err != nil {
				return 0, err
			}
		}
	}
	return w.Writer.append(ctx, op.event, expect, in)
}

// appendOn appends the event of an operation that makes document of was, the document as current returns it. It ends as append does.
func (w changes) appendOn(ctx context.Context, op *Operation, was *fanfold.Document, document []byte, in Intent) (uint64, error) {
	expect := exactly(ctx, was.Revision)
	if bytes.Equal(was.Body, document) && w.maySkip(op) {
		if err := w.skip(ctx, op, document, expect, in); err != nil {
			return 0, err
		}
	}
	return w.Writer.append(ctx, op.event, expect, in)
}

// lock takes the lock of a document's key, and waits for the fold of what its last holder stored. The error is Unavailable. Call unlock
// with what was stored.
func (w changes) lock(ctx context.Context, key fanfold.Key) (unlock func(stored uint64), err error) {
	after, unlock, err := w.keys.lock(ctx, key)
	if err != nil {
		return nil, fanfold.Wrap(err, fanfold.Unavailable, "too many others write to the document: try again")
	}
	_ = w.wait(ctx, after, w.opt.Timeout) // where it is not folded by then, the log refuses the first try
	return unlock, nil
}

// appendEither appends the event of a Put that is another where its document does not exist. It is made on what this node shows, and
// made again where another write was faster.
func (w changes) appendEither(ctx context.Context, op *Operation, in Intent) (stored uint64, err error) {
	unlock, err := w.lock(ctx, op.Key)
	if err != nil {
		return 0, err
	}
	defer func() { unlock(stored) }()
	return w.decide(ctx, plan{try: func(ctx context.Context, _ bool) (uint64, error) {
		expect, err := w.chooseForm(ctx, op)
		if err != nil {
			return 0, err
		}
		seq, err := w.append(ctx, op, op.event.Body, expect, in)
		return seq, again(err)
	}})
}

// chooseForm makes the event of an operation with two forms the one for its document as this node shows it, and returns the condition
// that it is so. The error is the form's refusal, or one of type again where this node lags.
func (w changes) chooseForm(ctx context.Context, op *Operation) (fanfold.Expect, error) {
	var rev fanfold.Revision
	exists := false
	err := w.ReadModel.Read(func(snap Snapshot) (err error) {
		rev, exists, err = lastIn(snap, op.Key)
		return err
	})
	if err != nil {
		return fanfold.Expect{}, err
	}
	expect := exactly(ctx, rev)
	refusal := op.choose(exists)
	if refusal == nil {
		return expect, nil
	}
	switch last, _, err := w.last(ctx, op.Key); {
	case err != nil:
		return expect, err
	case last != rev:
		return expect, again(staleAt(op.Key, last))
	}
	return expect, refusal
}

// choose makes the event the one for a document that exists or does not, where the operation has both forms. The error is why it is refused.
func (op *Operation) choose(exists bool) error {
	switch {
	case op.forms == nil:
		return nil
	case exists:
		op.event.Body = op.forms.body
		return op.forms.err
	}
	op.event.Body = op.forms.created.body
	return op.forms.created.err
}

// maySkip tells whether the operation needs no event where it changes no byte.
func (w changes) maySkip(op *Operation) bool {
	m, _, _ := w.Models.Model()
	c := m.Collection(op.Key.Collection)
	return op.Kind != Delete && op.event.IdempotencyKey.Hash == "" && len(op.Refresh) == 0 && (c == nil || !c.Felt)
}

// skip returns the error with which an operation ends that makes of its document what this node shows. It is nil where an event is
// needed, because the document is another once the node has caught up, or cannot catch up.
func (w changes) skip(ctx context.Context, op *Operation, document []byte, expect fanfold.Expect, in Intent) error {
	if in.DryRun {
		return &rehearsal{sample: model.Sample{Most: in.Examples, Reads: in.By.Reads}}
	}
	if w.catchUp(ctx) == nil { // as a strong read does: only an equal document costs a fence
		if same, equal := w.stored(op.Key, document, expect); equal {
			return &unchangedWrite{same}
		}
	}
	return nil
}

// stored tells whether the read model has a document at the revision that is expected. It is false where it cannot say.
func (w changes) stored(key fanfold.Key, document []byte, expect fanfold.Expect) (same Unchanged, equal bool) {
	doc, at, err := w.ReadModel.Get(key, fanfold.Referenced)
	if err != nil || doc == nil || !bytes.Equal(doc.Body, document) || expect.Set && doc.Revision != expect.Rev {
		return same, false
	}
	doc.Body = nil
	return Unchanged{doc, at}, true
}
