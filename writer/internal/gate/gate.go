// Package gate decides whether writes may be stored although checks of the model look at what they change, and which gates they bring with
// them. A gate is an event on the subject of one document, which requires the document's last gate. writer/DESIGN.md says why that is enough.
package gate

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/internal/check"
	"github.com/fanfold/fanfold/model"
)

// Rehearser shows what writes do before they are stored.
type Rehearser interface {
	// Rehearse folds events as if they were the log's next ones, step after step, and keeps nothing. After each step it calls judge with
	// what the step does to documents of the collections that follows names. If judge does not keep a step, later ones are folded as
	// without it. It returns the event up to which this node had folded. Errors are judge's, ctx's, NotFound and Conflict where events do
	// not fit the documents as they are, and an Unprocessable with the cause model.ErrLargeRehearsal.
	Rehearse(ctx context.Context, steps [][]*fanfold.Event, follows func(collection string) bool, judge func(step int, changes []model.DocumentChange) (keep bool, err error)) (folded uint64, err error)
}

// Bounds of gates.
const (
	maxGates      = 1000   // of one write, or of the writes of one transaction
	maxKnownGates = 10_000 // that a node remembers
	maxBroken     = 20     // from how many broken checks on an error names no more
)

// Gates knows the checks of the model that applies, and the gates that this node has stored. Its methods may be called from many
// goroutines.
type Gates struct {
	rehearser Rehearser
	lastGate  func(ctx context.Context, key fanfold.Key) (uint64, error) // as the log's leader has it
	failed    func(name string, key fanfold.Key, err error)
	of        atomic.Pointer[modelChecks]
	turn      chan struct{} // has an element while writes with gates are decided, so that two writes of one node do not refuse each other

	mu   sync.Mutex
	last map[fanfold.Key]uint64 // the last gates of documents, as far as this node knows
	seq  uint64                 // the last gate that this node has stored
}

// modelChecks are the checks of a model.
type modelChecks struct {
	model *model.Model
	*check.Checks
}

// New returns the gates of a node. lastGate returns the sequence of a document's last gate, 0 for none. failed is told of conditions that
// fail; nil for nobody.
func New(rehearser Rehearser, lastGate func(ctx context.Context, key fanfold.Key) (uint64, error), failed func(name string, key fanfold.Key, err error)) *Gates {
	return &Gates{rehearser: rehearser, lastGate: lastGate, failed: failed, turn: make(chan struct{}, 1), last: map[fanfold.Key]uint64{}}
}

// checksOf returns the checks of the model that applies, which it makes once for each model.
func (g *Gates) checksOf(m *model.Model) (*check.Checks, error) {
	if known := g.of.Load(); known != nil && known.model == m {
		return known.Checks, nil
	}
	made, err := check.Of(m, g.failed)
	if err == nil {
		g.of.Store(&modelChecks{m, made})
	}
	return made, err
}

// Concern tells whether a write must be decided by Decide, because it may make a check false.
func (g *Gates) Concern(m *model.Model, ev *fanfold.Event) bool {
	if !m.HasChecks() {
		return false
	}
	all, err := g.checksOf(m)
	return err != nil || all.Concerns(ev)
}

// Turn waits until no other write of this node with gates is being decided. It returns the last gate that this node has stored, which must be
// folded before Decide is called. The caller calls end once the log has decided. The error is ctx's.
func (g *Gates) Turn(ctx context.Context) (last uint64, end func(), err error) {
	select {
	case g.turn <- struct{}{}:
	case <-ctx.Done():
		return 0, nil, ctx.Err()
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.seq, func() { <-g.turn }, nil
}

// Round holds writes that are stored at once.
type Round struct {
	Model    *model.Model
	Writes   []fanfold.Write
	Together bool // the writes are a transaction, and only the state after all of them counts
	Lenient  bool // no check refuses them
	Most     int  // gates that there is room for
}

// Refused says which writes of a round would break checks.
type Refused struct {
	At     []int // indexes of writes, in order
	Errors []error
}

// Error returns the text of the first refusal.
func (r *Refused) Error() string { return r.Errors[0].Error() }

// Unwrap returns the first refusal.
func (r *Refused) Unwrap() error { return r.Errors[0] }

// NotFolded says that a round was decided on too early a state: it is to be decided again once event Seq is folded.
type NotFolded struct{ Seq uint64 }

// Error says so.
func (n NotFolded) Error() string { return fmt.Sprintf("event %d is not folded here yet", n.Seq) }

// ErrTooMany is the cause of the Unprocessable of a round with too many gates, or too much to rehearse: a smaller one may do.
var ErrTooMany = errors.New("too much is touched by checks")

// Decide rehearses a round, and returns the gates that are to be stored after its writes. The error is a Refused, or a CheckFailed for
// a transaction. It is a NotFolded or Unavailable. An Unprocessable has the cause ErrTooMany, except of one write that takes too much to
// rehearse.
func (g *Gates) Decide(ctx context.Context, round Round) (gates []fanfold.Write, err error) {
	all, err := g.checksOf(round.Model)
	if err != nil {
		return nil, err
	}
	j := &judgement{ctx: ctx, Round: round, checks: all, keys: map[fanfold.Key]bool{}}
	steps := j.steps()
	folded, err := g.rehearser.Rehearse(ctx, steps, all.Follows, j.judge)
	switch code := fanfold.CodeOf(err); {
	case code == fanfold.NotFound || code == fanfold.Conflict: // a document changed since its revision was read
		return nil, NotFolded{folded}
	case errors.Is(err, model.ErrLargeRehearsal) && len(steps) > 1:
		return nil, fanfold.Wrap(ErrTooMany, fanfold.Unprocessable, "%s", fanfold.MessageOf(err))
	case err != nil && len(steps) == 1 && !round.Together:
		return nil, fanfold.AtOperation(err, j.at[0])
	case err != nil:
		return nil, err
	case len(j.refused.At) > 0:
		return nil, &j.refused
	}
	if len(j.keys) > round.Most {
		return nil, fanfold.Wrap(ErrTooMany, fanfold.Unprocessable, "checks look at %d documents that it changes, and with these it has more messages than are stored at once: write in smaller steps", len(j.keys))
	}
	return g.require(ctx, j.keys, folded)
}

// require returns a gate for each document. Each requires that the last one is folded here.
func (g *Gates) require(ctx context.Context, keys map[fanfold.Key]bool, folded uint64) (gates []fanfold.Write, err error) {
	for _, key := range slices.SortedFunc(maps.Keys(keys), fanfold.Key.Compare) {
		last, err := g.lastOf(ctx, key)
		if err != nil {
			return nil, err
		}
		if last > folded {
			return nil, NotFolded{last}
		}
		gates = append(gates, fanfold.Write{Event: &fanfold.Event{Kind: fanfold.KindGate, Key: key},
			Expect: fanfold.Expect{Set: true, Rev: fanfold.Revision(last), Folded: folded}})
	}
	return gates, nil
}

// lastOf returns the sequence of a document's last gate as far as this node knows, 0 for none. If it knows none, it asks the log's leader.
// A later one of another node makes the log refuse the write. The error is Unavailable.
func (g *Gates) lastOf(ctx context.Context, key fanfold.Key) (uint64, error) {
	g.mu.Lock()
	last, known := g.last[key]
	g.mu.Unlock()
	if known {
		return last, nil
	}
	last, err := g.lastGate(ctx, key)
	if err == nil {
		g.mu.Lock()
		defer g.mu.Unlock()
		g.note(key, last)
	}
	return last, err
}

// note notes a document's last gate.
func (g *Gates) note(key fanfold.Key, seq uint64) {
	if len(g.last) >= maxKnownGates {
		clear(g.last)
	}
	g.last[key] = seq
}

// Decided notes what came of gates: they are stored, the first of them at first, or err says why not.
func (g *Gates) Decided(gates []fanfold.Write, first uint64, err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for i, gate := range gates {
		if err != nil {
			delete(g.last, gate.Event.Key)
			continue
		}
		g.seq = max(g.seq, first+uint64(i))
		g.note(gate.Event.Key, first+uint64(i))
	}
}

// judgement judges what a round does to documents with checks.
type judgement struct {
	Round

	ctx     context.Context
	checks  *check.Checks
	at      []int // the write of each step
	refused Refused
	keys    map[fanfold.Key]bool // of the documents with gates
}

// steps returns the writes as they are judged. A transaction is one step, and any other write one by itself.
func (j *judgement) steps() (steps [][]*fanfold.Event) {
	for i, write := range j.Writes {
		switch kind := write.Event.Kind; {
		case kind != fanfold.KindPut && kind != fanfold.KindPatch && kind != fanfold.KindDelete:
		case j.Together && len(steps) > 0:
			steps[0] = append(steps[0], write.Event)
		default:
			steps, j.at = append(steps, []*fanfold.Event{write.Event}), append(j.at, i)
		}
	}
	return steps
}

// judge refuses a step that makes a check false, and otherwise notes the gates that it needs.
func (j *judgement) judge(step int, changes []model.DocumentChange) (keep bool, err error) {
	var problems []fanfold.Problem
	var keys []fanfold.Key
	for _, d := range changes {
		if err := j.ctx.Err(); err != nil { // checks of many documents may take long
			return false, fanfold.Wrap(err, fanfold.Unavailable, "looking at the checks of %d documents took too long; nothing was written, try again", len(changes))
		}
		if !j.Lenient && len(problems) < maxBroken {
			problems = append(problems, j.checks.Broken(d)...)
		}
		keys = j.checks.Gates(keys, d)
	}
	switch {
	case len(problems) > 0 && j.Together:
		return false, j.failed(problems)
	case len(problems) > 0:
		j.refused.At, j.refused.Errors = append(j.refused.At, j.at[step]), append(j.refused.Errors, fanfold.AtOperation(j.failed(problems), j.at[step]))
		return false, nil
	}
	for _, key := range keys {
		if j.keys[key] = true; len(j.keys) > maxGates {
			return false, fanfold.Wrap(model.ErrLargeRehearsal, fanfold.Unprocessable, "checks look at more than %d documents that the write changes, which is as many as are looked at: write in smaller steps", maxGates)
		}
	}
	return true, nil
}

// failed returns the CheckFailed of a write that would break checks.
func (j *judgement) failed(problems []fanfold.Problem) error {
	e := &fanfold.Error{Code: fanfold.CheckFailed, Problems: problems, Discreet: "the write would break a check of another document; nothing was written",
		Message: fmt.Sprintf("the write would break the check %s; nothing was written", problems[0].Path)}
	for _, p := range problems {
		if !slices.ContainsFunc(j.Writes, func(w fanfold.Write) bool { return w.Event.Key == p.Key }) {
			e.About = append(e.About, p.Key)
		}
	}
	return e
}
