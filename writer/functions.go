package writer

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/nats-io/nuid"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/model"
)

// Functions runs the functions of models.
type Functions interface {
	// Check returns an Unprocessable that lists the mistakes in the sources of a model's functions.
	Check(ctx context.Context, m *model.Model) error
	// Enter takes a place for runs, and waits for it; there is one a core. Runs under the context within are made in it, one after the other or inside of
	// each other. Call leave in the end. The error is Busy where too many wait, Unavailable, or ctx's.
	Enter(ctx context.Context) (within context.Context, leave func(), err error)
	// Run runs a function until it ends. It asks call.World. The figures are there for one that fails, too. It returns the errors of
	// the world, FunctionFailed, FunctionError, FunctionLimit, Busy, Unavailable and ctx's.
	Run(ctx context.Context, call FunctionCall) (FunctionRun, error)
	// Stats returns the figures of a function on this node.
	Stats(name string) FunctionStats
	// Close ends the runtime, once the runs that go on have ended.
	Close(ctx context.Context) error
}

// FunctionStats says how often a function has run since the node started. Each attempt of a call counts.
type FunctionStats struct {
	Calls, Errors uint64
	LastCalled    time.Time // zero for never
}

// FunctionCall says which function runs with what.
type FunctionCall struct {
	Function *model.Function
	Input    []byte // JSON of its second parameter; nil for null
	Caller   []byte // JSON of ctx.caller; nil for null
	Now      time.Time
	Seed     uint64
	World    World
	Model    *model.Model // under which it runs
	Most     int          // bytes of the input, and of the result; 0 for the bounds of calls
}

// World is what a function reads and writes. It is for one goroutine. An error that is an Error, but for Unavailable and Internal, is thrown in the function.
// Any other ends it.
type World interface {
	// Get returns a document, nil where there is none: as it was written, or its embedded view.
	Get(key fanfold.Key, embedded bool) ([]byte, error)
	// Ask calls show with the documents that a question is about, until show returns an error.
	Ask(q Question, show func(doc *fanfold.Document) error) error
	// Write makes an operation, and returns the document as it will be stored; nil of a delete.
	Write(op *Operation) ([]byte, error)
	// UUID returns a UUIDv7, the same ones in all attempts of a request.
	UUID() string
}

// FunctionRun is what came of a run.
type FunctionRun struct {
	Result        []byte // JSON
	Log           []string
	Steps, Memory int64
	Reads         int // documents
}

// Bounds of calls.
const (
	maxAttempts     = 20
	maxStoredResult = 16 << 10 // of a call with a key, in bytes
	maxLockTime     = time.Second
	maxPause        = 50 * time.Millisecond // between attempts, by chance
	maxAttemptTime  = 5 * time.Second       // of all that runs in an attempt, without its waiting for a place
	maxSessionBytes = 64 << 20              // of the documents that an attempt reads and writes
)

// CallRequest asks for a function to be called.
type CallRequest struct {
	Function  string
	Arguments []byte // JSON; nil for null
	Request
	Now   time.Time     // of a dry run; zero for the present
	Seed  uint64        // of a dry run; see Seeded
	Limit time.Duration // after which no other attempt begins; 0 for Options.Timeout

	Seeded bool // Seed is asked for
}

// CallResult says what came of a call.
type CallResult struct {
	FunctionRun
	Attempts int          // 0 where the call was made before, under its key
	Writes   []CallWrite  // in the order of the function's first write of each document
	Result   Result       // First is the event of the call, which the writes' follow; 0 where nothing was written
	At       uint64       // the last event of the prefix that a call which wrote nothing has read
	Answer   []byte       // JSON of what the function returned
	Event    fanfold.Call // of a call that was made before
}

// CallWrite is one document that a function has written.
type CallWrite struct {
	Op  OperationKind
	Key fanfold.Key
}

// Caller calls functions of the model.
type Caller struct{ Writer *Writer }

// Stats returns the figures of a function on this node.
func (c Caller) Stats(name string) FunctionStats {
	if c.Writer.Functions == nil {
		return FunctionStats{}
	}
	return c.Writer.Functions.Stats(name)
}

// MayCall returns nil where a principal may call a function of the model that applies. Errors are NotFound, Forbidden and Unavailable.
func (c Caller) MayCall(by *Sender, name string) error {
	_, err := mayCall(c.Writer, by, name)
	return err
}

// Call calls a function of the model, and stores what it writes, all or nothing. It runs the function again while others change what it has
// read. It blocks until the log has decided. Errors are NotFound for an unknown function, Forbidden, FunctionFailed, FunctionError,
// FunctionLimit, Busy after too many attempts, and the errors of Transact.
func (c Caller) Call(ctx context.Context, r CallRequest) (CallResult, error) {
	w := c.Writer
	if err := w.awaitModel(ctx); err != nil {
		return CallResult{}, err
	}
	f, err := mayCall(w, r.By, r.Function)
	if err == nil {
		err = checkArguments(&w.checker, f, r.Arguments)
	}
	if err != nil {
		return CallResult{}, err
	}
	p := newPlanning(w, r.Intent, r.Limit)
	if p.function = r.Function; !r.Now.IsZero() {
		p.now = r.Now
	}
	if r.Seeded {
		p.seed = r.Seed
	}
	r.Key = keyOf(actorOf(r.By), r.Key)
	p.request, p.arguments = r.Request, r.Arguments
	var out CallResult
	var stored uint64
	result, err := w.run(ctx, r.Request, "call", func(ctx context.Context) (_ uint64, err error) {
		stored, err = p.decide(ctx, &out, p.call)
		if err == nil && stored == 0 {
			err = errNothingWritten
		}
		return stored, err
	})
	if errors.Is(err, errNothingWritten) {
		err = nil
	}
	if result.First != stored { // another request has made the call, before or meanwhile, and what this one has run is of no account
		out = CallResult{Result: result}
		return out, out.recall(ctx, w)
	}
	out.Result, out.Attempts = result, p.attempts
	return out, err
}

// errNothingWritten ends a call that has written nothing, under a key, too.
var errNothingWritten = &unchangedWrite{}

// planning plans the writes of one request by running functions, as often as it takes.
type planning struct {
	w         *Writer
	in        Intent
	request   Request
	function  string // that is called; "" for a write that fires triggers
	arguments []byte
	now       time.Time
	seed      uint64
	begun     time.Time
	limit     time.Duration
	attempts  int
	certain   bool          // this node has folded everything that was acknowledged before the request was refused
	reads     []fanfold.Key // whose locks the next attempt takes
	stored    []fanfold.Write
	locked    string // the collection of documents whose locks the caller holds; "" for none
}

// newPlanning returns the planning of a request.
func newPlanning(w *Writer, in Intent, limit time.Duration) *planning {
	if limit <= 0 {
		limit = w.opt.Timeout
	}
	begun := time.Now()
	now, seed := begun, rand.Uint64()
	if w.opt.Moment != nil {
		now, seed = w.opt.Moment()
	}
	return &planning{w: w, in: in, now: now.Truncate(time.Millisecond), seed: seed, begun: begun, limit: limit}
}

// mayCall returns a function of the model that a principal may call. Errors are NotFound, Forbidden and Unavailable.
func mayCall(w *Writer, by *Sender, name string) (*model.Function, error) {
	m, _, _ := w.Models.Model()
	f := m.Function(name)
	switch {
	case f == nil:
		return nil, fanfold.Errorf(fanfold.NotFound, "the model has no function %q: GET /v1/_functions lists them", fanfold.Clip(name))
	case by == nil:
		return nil, errNobody
	case !slices.ContainsFunc(f.Call, by.Has):
		return nil, fanfold.Errorf(fanfold.Forbidden, "the right to call %s is missing: ask for a key with one of these roles: %s", f.Name, strings.Join(f.Call, ", "))
	case w.Functions == nil:
		return nil, errNoFunctions
	}
	return f, nil
}

// errNoFunctions says that the program has no runtime of functions. It is an Unavailable.
var errNoFunctions = fanfold.Errorf(fanfold.Unavailable, "this program was built without functions: ask another node")

// attempt is what one try of a planning may store.
type attempt func(ctx context.Context, s *session, out *CallResult) (ops []*Operation, err error)

// decide plans by try, and stores what was planned, until nobody else changes what was read. It returns the sequence of the first event, 0 where there is
// nothing to store.
func (p *planning) decide(ctx context.Context, out *CallResult, try attempt) (first uint64, err error) {
	pace := retryPace{w: p.w}
	for {
		p.attempts++
		first, folded, err := p.attempt(ctx, out, try)
		at, lost := isOutdated(err)
		switch {
		case err == nil:
			return first, nil
		case lost && (p.attempts >= maxAttempts || time.Since(p.begun) > p.limit):
			return 0, fanfold.Errorf(fanfold.Busy, "others changed what the function reads in each of %d attempts; nothing was written: try again", p.attempts)
		case lost:
			err = pace.next(ctx, fanfold.Revision(at))
			if err == nil && p.attempts > 2 {
				err = pause(ctx, rand.N(maxPause))
			}
			if err != nil {
				return 0, err
			}
			continue
		case p.certain || !mayBeEarly(err):
			return 0, err
		}
		if cerr := p.w.catchUp(ctx); cerr != nil {
			return 0, cerr
		}
		if p.certain = true; p.w.ReadModel.Applied() == folded { // it was judged on all that there is
			return 0, err
		}
	}
}

// pause waits for a while. The error is Unavailable once ctx has ended.
func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
	return ended(ctx)
}

// mayBeEarly tells whether a refusal may come from what this node has not folded yet.
func mayBeEarly(err error) bool {
	switch fanfold.CodeOf(err) {
	case fanfold.Forbidden, fanfold.NotFound, fanfold.Stale, fanfold.ConditionFailed, fanfold.Exists, fanfold.Conflict, fanfold.Unprocessable, fanfold.Restricted,
		fanfold.CheckFailed, fanfold.FunctionFailed, fanfold.FunctionError:
		return true
	}
	return false
}

// attempt is one try of decide. It returns the last event of the prefix that was read, too.
func (p *planning) attempt(ctx context.Context, out *CallResult, try attempt) (first, folded uint64, err error) {
	if err := p.renew(); err != nil {
		return 0, 0, err
	}
	unlock, err := p.lock(ctx)
	if err != nil {
		return 0, 0, err
	}
	defer func() { unlock(first) }()
	ctx = p.w.observe(ctx)
	source := rand.NewChaCha8([32]byte{byte(p.seed), byte(p.seed >> 8), byte(p.seed >> 16), byte(p.seed >> 24), byte(p.seed >> 32), byte(p.seed >> 40), byte(p.seed >> 48), byte(p.seed >> 56)})
	s := newSession(ctx, p.w, func() string { return seededUUID(p.now, source) })
	s.fires = p.fire
	ops, err := p.run(ctx, s, out, try)
	if err != nil && ctx.Err() != nil && fanfold.CodeOf(err) == fanfold.Internal { // the context's own error, while a place was waited for, or in a run
		err = ended(ctx)
	}
	p.reads = slices.Collect(maps.Keys(s.docs))
	for collection := range s.gates {
		p.reads = append(p.reads, fanfold.Key{Collection: collection})
	}
	if err != nil || len(ops) == 0 {
		out.At = cmp.Or(s.folded, p.w.ReadModel.Applied())
		return 0, s.folded, err
	}
	first, err = p.store(ctx, ops)
	return first, s.folded, err
}

// run makes a try in a place for runs.
func (p *planning) run(ctx context.Context, s *session, out *CallResult, try attempt) ([]*Operation, error) {
	if p.w.Functions == nil {
		return nil, errNoFunctions
	}
	within, leave, err := p.w.Functions.Enter(ctx)
	if err != nil {
		return nil, err
	}
	defer leave()
	defer s.held.pause()
	within, cancel := context.WithTimeoutCause(within, maxAttemptTime, errTooLong)
	defer cancel()
	s.ctx = within
	ops, err := try(within, s, out)
	if err != nil && ctx.Err() == nil && within.Err() != nil && fanfold.CodeOf(err) != fanfold.FunctionLimit {
		err = functionError(errTooLong, p.function, "")
	}
	if m, _, _ := p.w.Models.Model(); err == nil && (m != s.model || p.in.By != nil && !p.in.By.Current()) {
		return nil, outdated{} // it was planned under another model, or for a sender whose key has ended
	}
	return ops, err
}

// renew has the next attempt judged by what the sender of the request may do now. Errors are Unauthenticated where its key has ended, and mayCall's.
func (p *planning) renew() (err error) {
	if p.in.By == nil {
		return nil
	}
	if p.in.By, err = renewed(p.in.By); err != nil || p.function == "" {
		return err
	}
	_, err = mayCall(p.w, p.in.By, p.function)
	return err
}

// errTooLong ends an attempt of maxAttemptTime. It is a FunctionLimit.
var errTooLong = limitOf("", "time", "what the request runs takes longer than %v together: do less in one request", maxAttemptTime)

// lock takes the locks of what the attempt before has read, for maxLockTime at most.
func (p *planning) lock(ctx context.Context) (unlock func(stored uint64), err error) {
	keys, waiting := p.reads, ctx
	if p.locked != "" { // who holds the others may wait for these
		var cancel func()
		waiting, cancel = context.WithTimeout(ctx, maxLockTime)
		defer cancel()
		keys = slices.DeleteFunc(slices.Clone(keys), func(key fanfold.Key) bool { return key.Collection == p.locked })
	}
	if len(keys) == 0 {
		return func(uint64) {}, nil
	}
	after, release, err := p.w.keys.lock(waiting, keys...)
	switch {
	case err != nil && p.locked != "" && ctx.Err() == nil: // they make a retry less likely, and no more
		return func(uint64) {}, nil
	case err != nil:
		return nil, fanfold.Wrap(err, fanfold.Unavailable, "too many others write to the documents: try again")
	}
	_ = p.w.wait(ctx, after, p.w.opt.Timeout) // where it is not folded by then, the log refuses the try
	var once sync.Once
	timer := time.AfterFunc(maxLockTime, func() { once.Do(func() { release(0) }) })
	return func(stored uint64) {
		timer.Stop()
		once.Do(func() { release(stored) })
	}, nil
}

// seededUUID returns a UUIDv7 of a time whose other bits come from a source.
func seededUUID(now time.Time, source *rand.ChaCha8) string {
	var id uuid.UUID
	_, _ = source.Read(id[:]) // it has no error
	ms := uint64(now.UnixMilli())
	for i := range 6 {
		id[i] = byte(ms >> (40 - 8*i))
	}
	id[6], id[8] = id[6]&0x0f|0x70, id[8]&0x3f|0x80 // RFC 9562, 5.7
	return id.String()
}

// call runs the function that is called, and returns what it has planned to store, with the event of the call before.
func (p *planning) call(ctx context.Context, s *session, out *CallResult) ([]*Operation, error) {
	_, seq, _ := p.w.Models.Model()
	f := s.model.Function(p.function)
	if f == nil { // another model has come
		return nil, fanfold.Errorf(fanfold.NotFound, "the model has no function %q any more", p.function)
	}
	by, judged := actingFor(p.in.By, f)
	run, err := p.w.Functions.Run(ctx, FunctionCall{Function: f, Input: p.arguments, Caller: callerOf(p.in.By), Now: p.now, Seed: p.seed, World: &world{s, f, by, judged, true}, Model: s.model})
	out.FunctionRun, out.Answer, out.Writes = run, run.Result, nil
	if err != nil {
		return nil, functionError(err, f.Name, "")
	}
	ops, writes := s.operations(nil)
	if writes == 0 {
		return nil, nil
	}
	for _, op := range ops[:writes] {
		out.Writes = append(out.Writes, CallWrite{op.Kind, op.Key})
	}
	call := &fanfold.Call{Function: f.Name, Model: seq, Writes: writes}
	if p.request.Key.Hash != "" {
		if call.Result = run.Result; len(call.Result) > maxStoredResult {
			return nil, limitOf(f.Name, "result", "the function returned %d bytes; with a key at most %d are taken, which stand in the log: return less, or send no key", len(call.Result), maxStoredResult)
		}
	}
	ops = slices.Insert(ops, 0, &Operation{Kind: called, planned: true, event: &fanfold.Event{Kind: fanfold.KindCall, Call: call}})
	if len(ops) > MaxOperations {
		return nil, limitOf(f.Name, "messages", "what the function reads and writes takes %d messages of a transaction; at most %d are taken: do less in one call", len(ops), MaxOperations)
	}
	return ops, nil
}

// limitOf returns the FunctionLimit of a bound.
func limitOf(function, limit, message string, args ...any) error {
	e := fanfold.Errorf(fanfold.FunctionLimit, message, args...)
	e.Function = &fanfold.FunctionFault{Function: function, Limit: limit}
	return e
}

// actingFor returns as whom a function reads and writes, and whose rules judge its writes, nil for no rules.
func actingFor(by *Sender, f *model.Function) (own, judged *Sender) {
	if f.AsModel {
		return by.AsModel(), nil
	}
	return by, by
}

// callerOf returns the JSON of ctx.caller.
func callerOf(by *Sender) []byte {
	if by == nil || by.IsOpen() {
		return nil
	}
	text, _ := json.Marshal(map[string]any{"id": by.Actor(), "roles": append([]string{}, by.Roles...)}) // no value of these types fails
	return text
}

// functionError returns the error of a run with the names of its function or its trigger.
func functionError(err error, function, trigger string) error {
	var e *fanfold.Error
	if _, lost := isOutdated(err); lost || !errors.As(err, &e) {
		return err
	}
	named := *e
	fault := fanfold.FunctionFault{}
	if e.Function != nil {
		fault = *e.Function
	}
	if fault.Function == "" && fault.Trigger == "" {
		fault.Function, fault.Trigger = function, trigger
	}
	if named.Function = &fault; trigger != "" && named.Code == fanfold.NotFound { // it is not the document of the request that is not there
		named.Code = fanfold.FunctionError
	}
	return &named
}

// store stores what was planned. The error is an outdated where others have changed what was read.
func (p *planning) store(ctx context.Context, ops []*Operation) (first uint64, err error) {
	in := p.in
	in.planned = true
	p.request.mark(ops[0].event)
	if op := ops[0]; len(ops) == 1 && op.ruled == nil && (op.Kind == Put || op.Kind == Patch) && !op.Absent {
		first, err = p.storeOne(ctx, op, in)
	} else {
		tx := &transaction{w: p.w, id: nuid.Next(), ops: ops, in: in, deletes: p.w.affectsHolders(ops), certain: p.certain, writes: make([]fanfold.Write, len(ops))}
		first, err = tx.decide(ctx)
		p.stored = tx.writes
	}
	return first, withoutOperation(asOutdated(err))
}

// storeOne stores a document that exists and is all that was read and written.
func (p *planning) storeOne(ctx context.Context, op *Operation, in Intent) (uint64, error) {
	body := op.event.Body
	if op.patched != nil {
		body = op.patched
	}
	return changes{p.w}.append(ctx, op, body, op.expect, in)
}

// asOutdated returns an outdated in place of an error by which something is not as it was when it was read.
func asOutdated(err error) error {
	var e *fanfold.Error
	if _, already := isOutdated(err); already || !errors.As(err, &e) {
		return err
	}
	switch e.Code {
	case fanfold.Stale, fanfold.Exists, fanfold.ConditionFailed, fanfold.NotFound:
		return outdated{at: uint64(e.Current)}
	}
	return err
}

// recall sets what a call that was made before has answered. The error is PositionGone where the log does not have its event any more.
func (r *CallResult) recall(ctx context.Context, w *Writer) error {
	ev, err := w.Calls.EventAt(ctx, r.Result.First)
	switch {
	case fanfold.CodeOf(err) == fanfold.NotFound || fanfold.CodeOf(err) == fanfold.PositionGone:
		return fanfold.Errorf(fanfold.Conflict, "the call was made before, as event %d, which the log does not have any more: what it wrote is stored, what it returned is gone", r.Result.First)
	case err != nil:
		return err
	case ev.Call == nil || len(ev.Call.Result) == 0:
		return fanfold.Errorf(fanfold.Conflict, "the call was made before, as event %d, and what it returned is not in the log any more: what it wrote is stored", r.Result.First)
	}
	r.Event, r.Answer = *ev.Call, ev.Call.Result
	return nil
}

// Calls reads the events of calls.
type Calls interface {
	// EventAt returns an event by its sequence. Errors are NotFound and PositionGone where the log does not have it any more, and Unavailable.
	EventAt(ctx context.Context, seq uint64) (*fanfold.Event, error)
}

// world is what one function of a session reads and writes.
type world struct {
	s          *session
	f          *model.Function
	by, judged *Sender
	fires      bool // its writes fire triggers
}

// discreet returns an error as a principal may be told it, which has About where it tells of other documents.
func (w *world) discreet(err error) error {
	var e *fanfold.Error
	if !errors.As(err, &e) || len(e.About) == 0 || w.by.ReadsAll() {
		return err
	}
	for _, key := range e.About {
		sees := w.by.Reads(key.Collection)
		if !sees && key.ID != "" {
			p, err := w.s.document(key)
			if err != nil {
				return err
			}
			if sees, err = w.s.sees(w.by, p); err != nil && fanfold.CodeOf(err) != fanfold.Forbidden {
				return err
			}
		}
		if !sees {
			told := *e
			told.Message = cmp.Or(e.Discreet, "a document that the caller may not read does not let it happen")
			return &told
		}
	}
	return err
}

// Get returns a document: see World.
func (w *world) Get(key fanfold.Key, embedded bool) (body []byte, err error) {
	body, err = w.get(key, embedded)
	return body, w.discreet(err)
}

// get does what Get does.
func (w *world) get(key fanfold.Key, embedded bool) ([]byte, error) {
	if err := key.Validate(); err != nil {
		return nil, err
	}
	if err := w.by.CheckSees(key.Collection); err != nil {
		return nil, err
	}
	if !embedded {
		return w.s.get(w.by, key)
	}
	if err := w.mayAsk(key.Collection); err != nil {
		return nil, err
	}
	doc, err := w.s.view(w.by, key, int(w.s.w.opt.MaxBody)+w.s.model.EmbeddedLimit)
	if err != nil || doc == nil {
		return nil, err
	}
	return doc.Body, nil
}

// mayAsk returns an Unprocessable where the function does not say that it reads a collection.
func (w *world) mayAsk(collection string) error {
	if slices.Contains(w.f.Reads, collection) {
		return nil
	}
	return fanfold.Errorf(fanfold.Unprocessable, "the function %s asks for embedded documents of %s: add reads: [%s] to it in the model", w.f.Name, collection, collection)
}

// Ask calls show with documents: see World.
func (w *world) Ask(q Question, show func(doc *fanfold.Document) error) error {
	if err := w.mayAsk(q.Collection); err != nil {
		return err
	}
	if q.Relation != "" {
		r := w.s.model.Relation(q.Relation)
		if r == nil || r.Collection != q.Collection {
			return fanfold.Errorf(fanfold.NotFound, "the model has no relation %s", q.Relation)
		}
	}
	return w.s.ask(w.by, q, show)
}

// Write makes an operation: see World.
func (w *world) Write(op *Operation) ([]byte, error) {
	body, err := w.s.write(w.by, w.judged, op, w.fires)
	if err != nil || body == nil {
		return nil, w.discreet(err)
	}
	return maskOf(w.by, op.Key.Collection).Cut(body), nil
}

// UUID returns a UUIDv7.
func (w *world) UUID() string { return w.s.uuid() }
