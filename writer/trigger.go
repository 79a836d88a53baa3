package writer

import (
	"context"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/internal/jsondoc"
	"github.com/fanfold/fanfold/model"
)

// fired is a write of a document that a trigger runs for. Its documents are nil where there is none.
type fired struct {
	op            string
	before, after []byte
}

// input returns the JSON of a trigger's second parameter, as a principal sees the documents.
func (f fired) input(by *Sender, collection string) []byte {
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

// mistakeOf returns the FunctionError of a trigger.
func mistakeOf(trigger *model.Function, what string) error {
	e := fanfold.Errorf(fanfold.FunctionError, "the trigger %s %s", trigger.Name, what)
	e.Function = &fanfold.FunctionFault{Trigger: trigger.Name}
	return e
}

// fire runs the trigger of a collection for a write, and returns the document that is to be stored, nil of a delete.
func (s *session) fire(by *Sender, c *model.Collection, op *Operation, before, after []byte) ([]byte, error) {
	f := s.model.Function(c.Trigger)
	if f == nil || s.w.Functions == nil {
		return nil, errNoFunctions
	}
	own, judged := actingFor(by, f)
	result, err := s.fires(s.ctx, f, firedBy(op, before, after).input(own, c.Name), &world{s, f, own, judged, false})
	switch {
	case err != nil:
		return nil, functionError(err, "", f.Name)
	case len(result) == 0 || string(result) == "null":
		return after, nil
	case after == nil:
		return nil, mistakeOf(f, "returned a document for a delete: of a delete it returns nothing")
	case result[0] != '{':
		return nil, mistakeOf(f, "returned what is no document: return an object, or nothing")
	}
	changed := &Operation{Kind: Put, Key: op.Key, Content: result}
	body, err := s.whole(own, changed, after)
	if err != nil {
		return nil, functionError(err, "", f.Name)
	}
	return body, nil
}

// triggerRoom is what a trigger's input has beside two documents, in bytes.
const triggerRoom = 1 << 10

// fire runs a trigger within a session. Its input has two documents. No two triggers of an attempt see the same Math.random.
func (p *planning) fire(ctx context.Context, f *model.Function, input []byte, world *world) ([]byte, error) {
	world.s.runs++
	run, err := p.w.Functions.Run(ctx, FunctionCall{Function: f, Input: input, Caller: callerOf(p.in.By), Now: p.now, Seed: p.seed + world.s.runs, World: world, Model: world.s.model,
		Most: 2*int(p.w.opt.MaxBody) + triggerRoom})
	return run.Result, err
}

// firesTriggers tells whether an operation is about a collection with a trigger.
func firesTriggers(m *model.Model, op *Operation) bool {
	c := m.Collection(op.Key.Collection)
	return c != nil && c.Trigger != "" && op.Kind != Check
}

// writeFired makes operations of a client, some of them about collections with triggers. It returns the sequence of the first one's event; the others' follow it, then
// what triggers write. The error names an operation only where there are several.
func (p *planning) writeFired(ctx context.Context, ops []*Operation, req Request) (first uint64, err error) {
	p.request = req
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

// fireMost is how many documents with triggers a step of an import or an update by query writes, in one transaction.
const fireMost = 100

// step is a part of an import or of an update by query whose documents fire triggers. It goes without the documents that are refused.
type step struct {
	operations func(ctx context.Context) ([]*Operation, error)              // makes them anew for each attempt; nil ones are passed over
	progress   func(refused *refusals, written int) (*fanfold.Write, error) // says how far the work is; nil for nothing
	refused    refusals                                                     // by the index of the operation
	written    int                                                          // operations
}

// store stores a step, all of it or nothing, and returns its last event, 0 where nothing was stored. The error is a Stale of type again where another request has
// stored its progress.
func (st *step) store(ctx context.Context, p *planning) (last uint64, err error) {
	if err := p.w.catchUp(ctx); err != nil {
		return 0, err
	}
	p.certain = true
	var stored int
	first, err := p.decide(ctx, &CallResult{}, func(ctx context.Context, s *session, _ *CallResult) ([]*Operation, error) {
		ops, err := st.planned(ctx, s, p.in.By)
		stored = len(ops)
		if err == nil && stored > MaxOperations && !p.in.DryRun {
			err = fanfold.Wrap(errTooManyMessages, fanfold.FunctionLimit, "with what triggers read and write, %d documents take %d messages of a transaction; at most %d are taken", st.written, stored, MaxOperations)
		}
		return ops, err
	})
	if err != nil || first == 0 {
		return 0, err
	}
	return first + uint64(stored) - 1, nil
}

// planned makes the operations of a step, and returns what is to be stored.
func (st *step) planned(ctx context.Context, s *session, by *Sender) ([]*Operation, error) {
	asked, err := st.operations(ctx)
	if err != nil {
		return nil, err
	}
	st.refused, st.written = refusals{}, 0
	for i, op := range asked {
		if op == nil {
			continue
		}
		switch err := s.client(by, op); {
		case staleError(err) != nil && len(op.Revisions) > 0: // it was judged on another state
			return nil, outdated{at: uint64(staleError(err).Current)}
		case err != nil && (!isRefusal(err) || s.isFull() && len(asked) > 1): // fewer at once may do
			return nil, err
		case err != nil:
			st.refused.add(i, err)
		default:
			st.written++
		}
	}
	ops, _ := s.operations(nil)
	if st.progress == nil {
		return ops, nil
	}
	write, err := st.progress(&st.refused, st.written)
	if err == nil && write != nil {
		ops = append(ops, &Operation{Kind: called, planned: true, event: write.Event, expect: write.Expect})
	}
	return ops, err
}

// isRefusal tells whether an error is about a write alone: the trigger or a rule of the model refuses it.
func isRefusal(err error) bool {
	return mayBeEarly(err) || fanfold.CodeOf(err) == fanfold.FunctionLimit || fanfold.CodeOf(err) == fanfold.Invalid || fanfold.CodeOf(err) == fanfold.TooLarge
}

// fire stores a batch of an import whose documents fire triggers, or a part of it by itself where it is too much.
func (im *Import) fire(ctx context.Context, b *importBatch) error {
	if im.last > 0 {
		if err := im.wait(ctx, im.last); err != nil {
			return err
		}
	}
	var p ImportProgress
	st := &step{operations: func(context.Context) (ops []*Operation, err error) {
		for _, write := range b.writes {
			ops = append(ops, &Operation{Kind: Put, Key: write.Event.Key, Content: write.Event.Body})
		}
		return ops, nil
	}, progress: func(refused *refusals, written int) (*fanfold.Write, error) {
		p = ImportProgress{Line: b.line, Written: im.progress.Written + written, Refused: im.progress.Refused + len(b.refusals) + len(refused.at)}
		if im.id == "" {
			return nil, nil
		}
		write, err := im.progressWrite(p, actorOf(im.opt.By))
		return &write, err
	}}
	last, err := st.store(ctx, newPlanning(im.w, im.opt.intent(), importWait))
	switch code := fanfold.CodeOf(err); {
	case err == nil:
	case im.overtaken(ctx):
		return lostTry{&fanfold.Error{Code: fanfold.Stale, Message: "another request has stored the lines"}}
	case len(b.writes) > 1 && (isRefusal(err) || exceedsLimit(err) || code == fanfold.Busy):
		return im.storeParts(ctx, b, len(b.writes)/2)
	case isRefusal(err) || exceedsLimit(err):
		b.remove(0, err)
		return im.tryBatch(ctx, b)
	default:
		return err
	}
	b.removeAll(&st.refused)
	if last > 0 {
		im.note(last)
		for range st.written {
			im.w.counts.add("import", nil)
		}
	}
	im.progress = p
	return im.report(ImportReport{Refusals: b.refusals, Progress: p, Last: im.last})
}

// overtaken tells whether another request has stored progress of the work meanwhile.
func (l *longWrite) overtaken(ctx context.Context) bool {
	if l.id == "" {
		return false
	}
	_, expect, err := l.w.lastProgress(ctx, l.id)
	return err == nil && expect.Rev != l.event.Rev
}

// fire makes the step of an update by query whose documents fire triggers. The error is one of again where another request was faster.
func (s *bulkTry) fire(ctx context.Context) error {
	var ids []string
	st := &step{operations: func(ctx context.Context) (ops []*Operation, err error) {
		if ids = s.ids; !s.in.DryRun {
			ids = ids[:min(fireMost, len(ids))]
		}
		revisions, err := s.judge(ctx, ids)
		for i, rev := range revisions {
			ops = append(ops, nil)
			if rev != 0 {
				ops[i] = s.operation(ids[i], rev)
			}
		}
		return ops, err
	}, progress: func(refused *refusals, written int) (*fanfold.Write, error) {
		s.refused, s.taken, s.counts = nil, len(ids), BulkCounts{Written: written}
		for n, at := range refused.at {
			s.refuse(ids[at], refused.errors[n])
		}
		if s.id == "" || s.in.DryRun {
			return nil, nil
		}
		write, err := s.progressWrite(s.after(), actorOf(s.in.By))
		return &write, err
	}}
	p := newPlanning(s.w, s.in, importWait)
	p.locked = s.op.Key.Collection
	last, err := st.store(ctx, p)
	switch {
	case err == nil:
	case s.overtaken(ctx):
		return lostTry{&fanfold.Error{Code: fanfold.Stale, Message: "another request has made the step"}}
	case len(ids) > 1 && (isRefusal(err) || exceedsLimit(err) || fanfold.CodeOf(err) == fanfold.Busy):
		s.ids = s.ids[:len(ids)/2]
		return s.fire(ctx)
	case isRefusal(err) || exceedsLimit(err):
		s.counts.Written = 0
		s.refuse(ids[0], err)
	default:
		return err
	}
	for range s.counts.Written {
		s.w.counts.add(string(s.op.Kind), nil)
	}
	s.progress = s.after()
	if s.last = max(s.last, last); last > 0 && s.id != "" {
		s.note(last)
	}
	return nil
}

// rehearse returns why triggers refuse operations, and stores nothing.
func (p *planning) rehearse(ctx context.Context, ops []*Operation) error {
	_, err := p.decide(ctx, &CallResult{}, func(_ context.Context, s *session, _ *CallResult) ([]*Operation, error) {
		for _, op := range ops {
			asked := *op
			if err := s.client(p.in.By, &asked); err != nil {
				return nil, err
			}
		}
		return nil, nil
	})
	return err
}

// client makes an operation of a client.
func (s *session) client(by *Sender, op *Operation) error {
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
