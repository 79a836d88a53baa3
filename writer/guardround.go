package writer

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/writer/internal/gate"
	"github.com/fanfold/fanfold/writer/numbering"
)

// Bounds of a round of guarded writes.
const (
	roundSize = 300              // writes, without the guards that come with them
	roundTime = 20 * time.Second // in which a round must be guarded and stored: see idempotency.once
)

// guardRounds collects guarded writes of single documents into rounds. One round runs at a time and is stored as one
// batch. One by one they would cost a batch each, and on three replicas writers whose guards are about one target would
// refuse each other.
type guardRounds struct {
	life context.Context // ends where the writer is closed
	end  context.CancelFunc

	mu      sync.Mutex
	busy    bool // run is working
	waiting []*guardedWrite
	idle    chan struct{} // closed while run is not working, once somebody waits for that; nil otherwise
}

// newGuardRounds returns rounds, which the caller closes.
func newGuardRounds() guardRounds {
	life, end := context.WithCancel(context.Background())
	return guardRounds{life: life, end: end}
}

// close makes the round that is under way give up waiting, and waits for its end. Writes that the log was already asked
// to store are settled.
func (q *guardRounds) close() {
	q.end()
	q.mu.Lock()
	if !q.busy {
		q.mu.Unlock()
		return
	}
	if q.idle == nil {
		q.idle = make(chan struct{})
	}
	idle := q.idle
	q.mu.Unlock()
	<-idle
}

// guardedWrite holds one write of a round and its outcome.
type guardedWrite struct {
	write fanfold.Write
	done  chan struct{} // closed once seq and err are set; nil where nobody waits for it
	seq   uint64
	err   error
}

// end sets the outcome of the write.
func (g *guardedWrite) end(seq uint64, err error) {
	g.seq, g.err = seq, err
	if g.done != nil {
		close(g.done)
	}
}

// append appends one write as part of a round, and returns its sequence. It blocks until that round has ended. It returns
// the errors of appendGuarded. If ctx ends while the write still waits for a round, it returns Unavailable and nothing is
// written.
func (q *guardRounds) append(ctx context.Context, w *Writer, write fanfold.Write) (uint64, error) {
	g := &guardedWrite{write: write, done: make(chan struct{})}
	q.mu.Lock()
	q.waiting = append(q.waiting, g)
	idle := !q.busy
	q.busy = true
	q.mu.Unlock()
	if idle {
		go q.run(w)
	}
	select {
	case <-g.done:
	case <-ctx.Done():
		if q.withdraw(g) {
			return 0, fanfold.Wrap(ctx.Err(), fanfold.Unavailable, "the write waited too long behind others; nothing was written, try again")
		}
		<-g.done
	}
	return g.seq, withoutOperation(g.err)
}

// withdraw removes a write from those that wait. It is false where the write's round has begun.
func (q *guardRounds) withdraw(g *guardedWrite) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	i := slices.Index(q.waiting, g)
	if i >= 0 {
		q.waiting = slices.Delete(q.waiting, i, i+1)
	}
	return i >= 0
}

// run stores one round after the other until no write waits.
func (q *guardRounds) run(w *Writer) {
	for members := q.next(); len(members) > 0; members = q.next() {
		ctx, cancel := context.WithTimeout(q.life, roundTime)
		(&guardRound{w: w, members: members, separable: true}).store(ctx)
		cancel()
	}
}

// next removes the writes of the next round from those that wait, in order of arrival, no two of one document or one
// Idempotency-Key. It returns none where none waits, after which append must start run again.
func (q *guardRounds) next() (members []*guardedWrite) {
	q.mu.Lock()
	defer q.mu.Unlock()
	keys, hashes := map[fanfold.Key]bool{}, map[string]bool{}
	q.waiting = slices.DeleteFunc(q.waiting, func(g *guardedWrite) bool {
		key, hash := g.write.Event.Key, g.write.Event.IdempotencyKey.Hash
		if keys[key] || hashes[hash] || len(members) == roundSize {
			return false
		}
		keys[key], hashes[hash] = true, hash != ""
		members = append(members, g)
		return true
	})
	if q.busy = len(members) > 0; !q.busy && q.idle != nil {
		close(q.idle)
		q.idle = nil
	}
	return members
}

// guardRound holds writes that are guarded and appended as one batch.
type guardRound struct {
	w         *Writer
	members   []*guardedWrite
	tx        string // the transaction's id; "" for writes that need not be folded together
	in        Intent
	separable bool            // a write that is refused leaves the round, and the others go on
	checked   bool            // each write was held to the fan-out limit by itself
	restore   bool            // documents come with their numbers
	most      int             // messages, with the guards; 0 for MaxOperations
	recent    recentWrites    // what the same client has stored before
	after     uint64          // the last event of that; 0 for none
	certain   bool            // this node has folded everything that was acknowledged when the round began
	doubted   []*guardedWrite // refused where others of the round stand before them, which may not be stored after all
}

// writes returns the writes of the round, with the conditions that they came with.
func (r *guardRound) writes() []fanfold.Write {
	writes := make([]fanfold.Write, len(r.members))
	for i, g := range r.members {
		writes[i] = g.write
	}
	return writes
}

// fail ends every write of the round with an error.
func (r *guardRound) fail(err error) {
	for _, g := range r.members {
		g.end(0, err)
	}
	r.members = nil
}

// refuse ends the round with an error. If the round is separable and the error is about some of its writes, only these leave it. If that is not
// final, those that have others before them are decided again after the round.
func (r *guardRound) refuse(err error, final bool) {
	refused := refusalsOf(err)
	if !r.separable || len(refused.at) == 0 {
		r.fail(err)
		return
	}
	for n, at := range slices.Backward(refused.at) {
		if final || at == n { // all before it are refused, too
			r.members[at].end(0, refused.errors[n])
		} else {
			r.doubted = append(r.doubted, r.members[at])
		}
		r.members = slices.Delete(r.members, at, at+1)
	}
}

// appendGuarded appends writes with their guards, all or none, and returns the sequences of the first of the writes and
// of the last. It returns the errors of AppendAll and checkFanout, and Unavailable. A strict reference without a target
// is Unprocessable, one to a document being deleted is Restricted, and a unique value that another document has is
// Conflict. The Operation of an error is the index of the write at fault.
func (w *Writer) appendGuarded(ctx context.Context, tx string, writes []fanfold.Write, in Intent) (first, last uint64, err error) {
	return (&guardRound{w: w, tx: tx, in: in}).storeAll(ctx, writes)
}

// storeAll appends writes as the only ones of the round, as appendGuarded does.
func (r *guardRound) storeAll(ctx context.Context, writes []fanfold.Write) (first, last uint64, err error) {
	members := make([]*guardedWrite, len(writes))
	for i, write := range writes {
		members[i] = &guardedWrite{write: write}
	}
	r.members = slices.Clone(members)
	r.store(ctx)
	return members[0].seq, members[len(members)-1].seq, members[0].err
}

// store guards and appends the round, and sets the outcome of each of its writes. Those that it doubts are a round then, which ends one at least.
func (r *guardRound) store(ctx context.Context) {
	for len(r.members) > 0 {
		if _, err := r.w.decide(ctx, plan{try: func(ctx context.Context, _ bool) (uint64, error) { return 0, r.try(ctx) }}); err != nil {
			r.fail(err)
		}
		slices.Reverse(r.doubted)
		r.members, r.doubted = r.doubted, nil
	}
}

// try sets the outcome of each of the round's writes, except where it returns an error. If the log refuses only the state that the
// guards were made from, it returns an error of type again.
func (r *guardRound) try(ctx context.Context) error {
	for len(r.members) > 0 {
		done, refusal, err := r.attempt(ctx)
		if done || err != nil {
			return err
		}
		if refusal != nil {
			if err := r.afterRefusal(ctx, refusal); err != nil {
				return err
			}
		}
	}
	return nil
}

// attempt guards the round and appends it. refusal says why there are no guards. If neither done nor refusal is set, the log has refused some
// of the writes, which have left the round.
func (r *guardRound) attempt(ctx context.Context) (done bool, refusal, err error) {
	w, writes := r.w, r.writes()
	m, _, _ := w.Models.Model()
	checked := slices.ContainsFunc(writes, func(write fanfold.Write) bool { return mayBreakChecks(w, m, write) })
	if checked {
		end, err := r.takeTurn(ctx)
		if err != nil {
			return false, nil, err
		}
		defer end()
	}
	most := cmp.Or(r.most, MaxOperations)
	set, err := w.guardsFor(ctx, writes, r.recent, most, r.tx != "", numbering.Giver{Restore: r.restore, Planned: r.in.planned})
	if set != nil && set.numbered && r.in.verdicts != nil { // a rule refuses before values and references of other documents do
		if err := r.in.verdicts.judge(ctx, set.writes); err != nil {
			return false, nil, err
		}
	}
	if err == nil && checked {
		err = r.addGates(ctx, set, most)
	}
	if err == nil {
		err = set.addCollectionGates(most)
	}
	if lostTo(err) != nil {
		return false, nil, err
	} else if err != nil {
		return false, err, nil
	}
	if !r.separable && !r.checked { // each write of a shared round was checked before it waited
		if err := w.checkFanout(ctx, set.writes, r.in); err != nil {
			return false, nil, err
		}
	}
	first, err := w.Log.AppendAll(ctx, r.tx, numbering.TellRest(slices.Concat(set.guards, set.writes, set.gates)))
	w.checks.Decided(set.gates, first+uint64(len(set.guards)+len(set.writes)), err)
	switch {
	case err == nil:
		for i, g := range r.members {
			g.end(first+uint64(len(set.guards)+i), nil)
		}
		return true, nil, nil
	case isBehindHorizon(err):
		return false, nil, r.endPlanned(err)
	case r.holdsKeyOfAnother(err): // the round is divided
		return false, fanfold.Wrap(errTooManyMessages, fanfold.CodeOf(err), "%s", fanfold.MessageOf(err)), nil
	case r.in.planned && operationOf(err) >= len(set.guards): // no guard is at fault
		return false, nil, r.endPlanned(set.errorOfWrite(err))
	case set.outdatedBy(err, r.writes()):
		return false, nil, again(err)
	}
	r.refuse(set.errorOfWrite(err), true)
	return false, nil, nil
}

// endPlanned returns an error as an outdated where a session has planned the round, which is to be planned anew then.
func (r *guardRound) endPlanned(err error) error {
	if r.in.planned {
		return asOutdated(err)
	}
	return err
}

// takeTurn waits until no other round of this node with gates is being decided, and until this node has folded those before. The error is
// Unavailable.
func (r *guardRound) takeTurn(ctx context.Context) (end func(), err error) {
	last, end, err := r.w.checks.Turn(ctx)
	if err != nil {
		return nil, fanfold.Wrap(err, fanfold.Unavailable, "the write waited too long for others that checks look at; nothing was written, try again")
	}
	if err := r.w.wait(ctx, max(last, r.after), r.w.opt.ImportWait); err != nil {
		end()
		return nil, behind(err)
	}
	return end, nil
}

// addGates adds the gates of the documents whose checks the round touches. It returns the errors of Gates.Decide in the form that a round has.
func (r *guardRound) addGates(ctx context.Context, set *guardSet, most int) (err error) {
	room := most - len(set.guards) - len(set.writes)
	set.gates, err = r.w.checks.Decide(ctx, gate.Round{Model: set.model, Writes: set.writes, Together: set.together, Lenient: r.in.lenient, Most: room})
	var refused *gate.Refused
	var early gate.NotFolded
	switch {
	case errors.As(err, &refused):
		return &refusals{at: refused.At, errors: refused.Errors}
	case errors.As(err, &early):
		return lostTry{&fanfold.Error{Code: fanfold.Stale, Current: fanfold.Revision(early.Seq), Message: early.Error()}}
	case errors.Is(err, gate.ErrTooMany):
		return fanfold.Wrap(errTooManyMessages, fanfold.Unprocessable, "%s", fanfold.MessageOf(err))
	}
	return err
}

// addCollectionGates adds a gate for each collection that is written to and that functions ask about. Whatever they have read of it is outdated by that.
func (g *guardSet) addCollectionGates(most int) error {
	seen := map[string]bool{}
	for _, write := range g.writes {
		collection := write.Event.Key.Collection
		if !isAboutDocument(write.Event) || seen[collection] || !g.model.Gated(collection) {
			continue
		}
		seen[collection] = true
		g.gates = append(g.gates, fanfold.Write{Event: &fanfold.Event{Kind: fanfold.KindGate, Key: fanfold.Key{Collection: collection}, Actor: write.Event.Actor}})
	}
	if all := len(g.guards) + len(g.writes) + len(g.gates); all > most {
		return fanfold.Wrap(errTooManyMessages, fanfold.Unprocessable, "with the gates of what functions ask about the request has %d messages; a transaction has at most %d", all, most)
	}
	return nil
}

// afterRefusal decides how the round goes on where its guards cannot be made. A node that lags may refuse wrongly: only what it
// refuses once it has caught up with the log is refused for good. The error ends this try of the round.
func (r *guardRound) afterRefusal(ctx context.Context, err error) error {
	stale := staleError(err)
	switch {
	case stale != nil && uint64(stale.Current) > r.w.ReadModel.Applied(): // a write is made on a revision that is not folded here yet
		return again(err)
	case errors.Is(err, errTooManyMessages) && r.separable && len(r.members) > 1:
		r.divide(ctx)
	case stale == nil && r.after > r.w.ReadModel.Applied(): // the writes may refer to what was stored just before
		if err := r.w.wait(ctx, r.after, r.w.opt.ImportWait); err != nil {
			return behind(err)
		}
	case stale == nil && !r.certain:
		if err := r.w.catchUp(ctx); err != nil {
			return err
		}
		r.certain = true
	default:
		r.refuse(err, false)
	}
	return nil
}

// divide stores the first half of the round by itself, and leaves the other.
func (r *guardRound) divide(ctx context.Context) {
	half := len(r.members) / 2
	first := &guardRound{w: r.w, members: slices.Clone(r.members[:half]), in: r.in, separable: true, certain: r.certain}
	r.members = r.members[half:]
	first.store(ctx)
}

// holdsKeyOfAnother tells whether the log has an Idempotency-Key of one of several writes that separate requests made. The error does not
// say which.
func (r *guardRound) holdsKeyOfAnother(err error) bool {
	code := fanfold.CodeOf(err)
	return r.separable && len(r.members) > 1 && (code == fanfold.Duplicate || code == fanfold.KeyReused)
}
