package writer

import (
	"context"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/access"
	"github.com/fanfold/fanfold/internal/jsondoc"
	"github.com/fanfold/fanfold/model"
)

// fired is a write of a document that a trigger runs for. Its documents are nil where there is none.
type fired struct {
	op            string
	before, after []byte
}

// input returns the JSON of a trigger's second parameter, as a principal sees the documents.
func (f fired) input(by *access.Rights, collection string) []byte {
	m := maskOf(by, collection)
	text := append([]byte(`{"op":`), jsondoc.Quote(f.op)...)
	for _, part := range []struct {
		name string
		doc  []byte
	}{{"before", f.before}, {"after", f.after}} {
		text = append(append(append(text, `,"`...), part.name...), `":`...)
		if part.doc == nil {
			text = append(text, "null"...)
		} else {
			text = append(text, m.Cut(part.doc)...)
		}
	}
	return append(text, '}')
}

// The writes that a trigger is told of.
const (
	firedCreate  = "create"
	firedReplace = "replace"
	firedPatch   = "patch"
	firedDelete  = "delete"
)

// firedBy returns how a trigger is told of an operation.
func firedBy(op *Operation, before, after []byte) fired {
	f := fired{firedReplace, before, after}
	switch {
	case after == nil:
		f.op = firedDelete
	case before == nil:
		f.op = firedCreate
	case op.Kind == Patch:
		f.op = firedPatch
	}
	return f
}

// fire runs the trigger of a collection for a write, and returns the document that is to be stored, nil of a delete.
func (s *session) fire(by *access.Rights, c *model.Collection, op *Operation, before, after []byte) ([]byte, error) {
	f := s.model.Function(c.Trigger)
	if f == nil || s.w.Functions == nil {
		return nil, errNoFunctions
	}
	own, judged := rightsOf(by, f)
	result, err := s.fires(s.ctx, f, firedBy(op, before, after).input(own, c.Name), &world{s, f, own, judged, false})
	switch {
	case err != nil:
		return nil, functionError(err, "", f.Name)
	case len(result) == 0 || string(result) == "null":
		return after, nil
	case after == nil:
		e := fanfold.Errorf(fanfold.FunctionError, "the trigger %s returned a document for a delete: of a delete it returns nothing", f.Name)
		e.Function = &fanfold.FunctionFault{Trigger: f.Name}
		return nil, e
	}
	changed := &Operation{Kind: Put, Key: op.Key, Content: result}
	body, err := s.whole(own, changed, after)
	if err != nil {
		return nil, functionError(err, "", f.Name)
	}
	return body, nil
}

// fire runs a trigger within a session.
func (p *planning) fire(ctx context.Context, f *model.Function, input []byte, world *world) ([]byte, error) {
	run, err := p.w.Functions.Run(ctx, FunctionCall{Function: f, Input: input, Caller: callerOf(p.in.By), Now: p.now, Seed: p.seed, World: world, Model: world.s.model, Inside: p.function != ""})
	return run.Result, err
}

// firesTriggers tells whether an operation is about a collection with a trigger.
func firesTriggers(m *model.Model, op *Operation) bool {
	c := m.Collection(op.Key.Collection)
	return c != nil && c.Trigger != "" && op.Kind != Check
}

// writeFired makes operations of a client of which some fire triggers. It returns the sequence of the first one's event; the others' follow it, then those of the triggers'
// writes. The error names an operation only where there are several.
func (p *planning) writeFired(ctx context.Context, ops []*Operation, key fanfold.IdempotencyKey) (first uint64, err error) {
	p.key = key
	for _, op := range ops {
		p.reads = append(p.reads, op.Key)
	}
	return p.decide(ctx, &CallResult{}, func(_ context.Context, s *session, _ *CallResult) ([]*Operation, error) {
		keys := make([]fanfold.Key, len(ops))
		for i, op := range ops {
			asked := *op
			if err := s.client(p.in.By, &asked); err != nil {
				return nil, fanfold.AtOperation(err, i)
			}
			keys[i], op.Key, op.Dropped = asked.Key, asked.Key, asked.Dropped
		}
		planned, _ := s.operations(keys)
		for i, op := range ops {
			if planned[i] == nil {
				return nil, fanfold.AtOperation(fanfold.Errorf(fanfold.Unprocessable, "a trigger takes back the write of %s: have it fail instead", op.Key), i)
			}
		}
		if len(planned) > MaxOperations {
			return nil, limitOf("", "messages", "with what its triggers read and write the request takes %d messages of a transaction; at most %d are taken: write less at once", len(planned), MaxOperations)
		}
		return planned, nil
	})
}

// client makes an operation of a client.
func (s *session) client(by *access.Rights, op *Operation) error {
	if len(op.Refresh) > 0 {
		return fanfold.Errorf(fanfold.Unprocessable, "refresh does not go with a collection that has a trigger: write the document without it")
	}
	if op.Kind != Check {
		_, err := s.write(by, by, op, true)
		return err
	}
	p, err := s.document(op.Key)
	if err != nil {
		return err
	}
	return s.meet(by, op, p)
}
