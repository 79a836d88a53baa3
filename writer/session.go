package writer

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/internal/jsondoc"
	"github.com/fanfold/fanfold/internal/mask"
	"github.com/fanfold/fanfold/model"
	"github.com/fanfold/fanfold/writer/internal/ruling"
	"github.com/fanfold/fanfold/writer/numbering"
)

// Sights opens snapshots for functions.
type Sights interface {
	// Open opens a snapshot of what this node has folded. The caller closes it within a second or so.
	Open() (Sighting, error)
}

// Sighting is a snapshot that shows documents as principals see them. It is for one goroutine at a time.
type Sighting interface {
	Snapshot
	// Applied returns the last event that the snapshot shows.
	Applied() uint64
	// See returns a document as somebody sees it, nil where there is none for it. A body of more than maxBytes
	// is not read, and nil. The error is Forbidden where that one reads no document of the collection.
	See(by *Sender, key fanfold.Key, view fanfold.View, maxBytes int) (*fanfold.Document, error)
	// Ask calls show with the documents that a question is about, as the principal sees them, until show returns an error.
	Ask(ctx context.Context, by *Sender, q Question, show func(doc *fanfold.Document) error) error
	// Close ends the snapshot.
	Close()
}

// Question asks for documents in the embedded view.
type Question struct {
	Collection string
	Relation   string // with Target: the documents that refer to it by this relation, by its full name; "" for all
	Target     string
	Filter     string
	Params     []byte // a JSON object; nil for none
	Sort       []string
	Limit      int
}

// session is what one run of functions sees and writes: a prefix of the log, and over it what the run has written. All that was read
// is required when the writes are stored. It is for one goroutine.
type session struct {
	w      *Writer
	ctx    context.Context // of the attempt
	model  *model.Model
	uuid   func() string
	held   heldSight
	folded uint64 // the last event of the prefix
	docs   map[fanfold.Key]*planned
	order  []*planned        // that are written, by the end of the first write
	gates  map[string]uint64 // by collection: the last gate that the prefix has
	others map[string]bool   // collections that were written to
	giver  numbering.Giver
	values heldValues                                                                                          // unique ones, after the writes
	budget *jsondoc.Budget                                                                                     // of patches
	bytes  int                                                                                                 // of the documents that were read and written
	runs   uint64                                                                                              // of triggers
	undo   []func()                                                                                            // takes back what was written, the last first
	fires  func(ctx context.Context, f *model.Function, input []byte, world *world) (result []byte, err error) // runs a trigger
}

// planned is a document that a run has read or written.
type planned struct {
	key     fanfold.Key
	stored  *fanfold.Document // as it was written; nil for none
	rev     fanfold.Revision  // of the last write or delete
	body    []byte            // as the run leaves it; nil for none
	written bool
	by      *Sender       // whose rules judge what was written; nil for nobody's
	author  *Sender       // of what was written last
	fires   bool          // a trigger runs for a write of it
	refresh []string      // paths of frozen values that are taken again
	patch   *Operation    // where one patch alone has made the body
	kind    OperationKind // of the write, as the answer names it
}

// newSession returns a session whose snapshot is open from the first read on. The caller calls held.pause in the end.
func newSession(ctx context.Context, w *Writer, uuid func() string) *session {
	m, _, _ := w.Models.Model()
	s := &session{w: w, ctx: ctx, model: m, uuid: uuid, docs: map[fanfold.Key]*planned{}, gates: map[string]uint64{}, others: map[string]bool{},
		values: heldValues{}, budget: &jsondoc.Budget{Left: transactionWork}}
	s.giver = numbering.Giver{Counters: s, Check: w.checkNumbered}
	return s
}

// maxSight is how long a session reads one snapshot.
const maxSight = time.Second

// heldSight is the snapshot that a session reads. It ends after maxSight, also while a function computes.
type heldSight struct {
	mu    sync.Mutex
	open  Sighting
	timer *time.Timer
}

// pause ends the snapshot.
func (h *heldSight) pause() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.open != nil {
		h.timer.Stop()
		h.open.Close()
		h.open = nil
	}
}

// look calls fn with a snapshot, which shows all that was read as it was then. The error is fn's, or an outdated where something was
// changed meanwhile.
func (s *session) look(fn func(snap Sighting) error) error {
	s.held.mu.Lock()
	defer s.held.mu.Unlock()
	if err := ended(s.ctx); err != nil {
		return err
	}
	if s.held.open == nil {
		open, err := s.w.Sights.Open()
		if err != nil {
			return err
		}
		s.held.open, s.held.timer = open, time.AfterFunc(maxSight, s.held.pause)
		if err := s.moveTo(open); err != nil {
			return err
		}
	}
	return fn(s.held.open)
}

// moveTo has the session read another snapshot from now on. The error is an outdated where it shows something else than what was read.
func (s *session) moveTo(snap Sighting) error {
	if s.folded == snap.Applied() {
		return nil
	}
	for key, p := range s.docs {
		rev, _, err := lastIn(snap, key)
		if err != nil {
			return err
		}
		if rev != p.rev {
			return outdated{at: uint64(rev)}
		}
	}
	for collection, last := range s.gates {
		if err := s.checkGate(collection, last); err != nil {
			return err
		}
	}
	s.folded = snap.Applied()
	return nil
}

// outdated ends a run that has read what others have changed: it runs again once event at is folded.
type outdated struct{ at uint64 }

// Error says so.
func (outdated) Error() string { return "what the function has read was changed meanwhile" }

// Sequence returns the last number that a counter gave: see numbering.Counters.
func (s *session) Sequence(collection, key string) (last, seq uint64, err error) {
	err = s.look(func(snap Sighting) error {
		last, seq, err = snap.Sequence(collection, key)
		return err
	})
	return last, seq, err
}

// document returns what the session knows of a document.
func (s *session) document(key fanfold.Key) (*planned, error) {
	if p := s.docs[key]; p != nil {
		return p, nil
	}
	p := &planned{key: key}
	err := s.look(func(snap Sighting) (err error) {
		if p.stored, err = snap.Get(key, fanfold.Referenced); err != nil {
			return err
		}
		if p.stored != nil {
			p.rev, p.body = p.stored.Revision, p.stored.Body
			return nil
		}
		p.rev, _, err = lastIn(snap, key)
		return err
	})
	if err != nil {
		return nil, err
	}
	s.docs[key] = p
	return p, s.count(p.body)
}

// documentRoom is what a document takes in a session beside its body, in bytes, or less.
const documentRoom = 500

// count counts a document that was read or written. The error is a FunctionLimit.
func (s *session) count(body []byte) error {
	if s.bytes += len(body) + documentRoom; s.bytes > maxSessionBytes {
		return limitOf("", "bytes", "what the request runs reads and writes more than %d MiB of documents: do less in one request", maxSessionBytes>>20)
	}
	return nil
}

// isFull tells whether the session has come to a bound of all that it runs.
func (s *session) isFull() bool { return s.bytes > maxSessionBytes || s.ctx.Err() != nil }

// sees tells whether a principal sees a document as the run leaves it. The error is Forbidden where it reads none of the collection.
func (s *session) sees(by *Sender, p *planned) (sees bool, err error) {
	switch {
	case by.Reads(p.key.Collection) || p.written && p.author == by:
		return true, nil
	case p.written:
		return p.body != nil && reads(by, p), by.CheckSees(p.key.Collection)
	}
	return s.seesStored(by, p)
}

// reads tells whether a principal reads a document, by what another one has written in the run.
func reads(by *Sender, p *planned) bool {
	g := by.ToRead(p.key.Collection)
	return g.Reads(p.body)
}

// seesStored tells whether a principal sees a document as it is stored.
func (s *session) seesStored(by *Sender, p *planned) (sees bool, err error) {
	err = s.look(func(snap Sighting) error {
		doc, err := snap.See(by, p.key, fanfold.Referenced, 0)
		sees = doc != nil
		return err
	})
	return sees, err
}

// get returns a document as it was written, and as a principal sees it, nil where there is none for it.
func (s *session) get(by *Sender, key fanfold.Key) ([]byte, error) {
	p, err := s.document(key)
	if err != nil {
		return nil, err
	}
	if sees, err := s.sees(by, p); err != nil || !sees || p.body == nil {
		return nil, err
	}
	return maskOf(by, key.Collection).Cut(p.body), nil
}

// maskOf returns what hides members of a collection's documents from a principal; nil, which hides nothing, where it sees all.
func maskOf(by *Sender, collection string) *mask.Mask {
	g := by.ToRead(collection)
	return g.Mask()
}

// embedded makes the session require that nothing changes of what the embedded views of a collection show. The error is an Unprocessable where the run
// has written what these views are made of.
func (s *session) embedded(collection string) error {
	for _, c := range s.model.GatesOf(collection) {
		if s.others[c] {
			return fanfold.Errorf(fanfold.Unprocessable, "the function has written to %s before, and asks for embedded documents of %s, which are made of it: ask first, then write", c, collection)
		}
		if _, known := s.gates[c]; known {
			continue
		}
		if err := s.look(func(Sighting) error { return nil }); err != nil { // so that it is known up to where the snapshot goes
			return err
		}
		last, err := s.w.Leader.LastAbout(s.ctx, fanfold.KindGate, fanfold.Key{Collection: c})
		if err != nil {
			return err
		}
		if last > s.folded {
			return outdated{at: last}
		}
		s.gates[c] = last
	}
	return nil
}

// checkGate returns an outdated where a collection has another last gate than the session knows.
func (s *session) checkGate(collection string, last uint64) error {
	now, err := s.w.Leader.LastAbout(s.ctx, fanfold.KindGate, fanfold.Key{Collection: collection})
	if err == nil && now != last {
		err = outdated{at: now}
	}
	return err
}

// view returns a document in the embedded view, nil where there is none for the principal.
func (s *session) view(by *Sender, key fanfold.Key, maxBytes int) (doc *fanfold.Document, err error) {
	if err := s.embedded(key.Collection); err != nil {
		return nil, err
	}
	err = s.look(func(snap Sighting) error {
		doc, err = snap.See(by, key, fanfold.Embedded, maxBytes)
		return err
	})
	return doc, err
}

// ask calls show with the documents that a question is about.
func (s *session) ask(by *Sender, q Question, show func(doc *fanfold.Document) error) error {
	if err := s.embedded(q.Collection); err != nil {
		return err
	}
	return s.look(func(snap Sighting) error { return snap.Ask(s.ctx, by, q, show) })
}

// write makes one operation over what the session shows, for a principal. It returns the document as it is to be stored, and nil of a delete. judged is whose rules judge it, nil for nobody's. fire says that
// the collection's trigger runs. Nothing is written where there is an error.
func (s *session) write(by, judged *Sender, op *Operation, fire bool) (body []byte, err error) {
	if err := op.Judge(by); err != nil {
		return nil, err
	}
	if err := s.w.takes(op.Key.Collection); err != nil {
		return nil, err
	}
	if err := s.name(op); err != nil {
		return nil, err
	}
	p, err := s.document(op.Key)
	if err != nil {
		return nil, err
	}
	if p.fires {
		return nil, fanfold.Errorf(fanfold.Unprocessable, "the trigger runs for a write of %s, and may not write it: have it return the document", op.Key)
	}
	if err := s.meet(by, op, p); err != nil {
		return nil, err
	}
	back := s.mark()
	body, patch, err := s.made(by, op, p, fire)
	if err == nil {
		err = s.refusal(p, body)
	}
	if err != nil {
		back()
		return nil, err
	}
	was, order := *p, s.order
	s.undo = append(s.undo, func() { *p, s.order = was, order })
	if !p.written { // after what its trigger has written, as their numbers are
		s.order = append(slices.Clip(s.order), p)
	}
	p.refresh = slices.Concat(slices.DeleteFunc(slices.Clone(p.refresh), func(path string) bool { return slices.Contains(op.Refresh, path) }), op.Refresh)
	p.kind = kindAfter(p, op.Kind, body)
	p.body, p.patch, p.author = body, patch, by
	if !p.written || judged != nil {
		p.by = judged
	}
	p.written, s.others[op.Key.Collection] = true, true
	return body, s.count(body)
}

// mark returns what takes back all that is written from now on: a trigger that refuses a write may have written itself.
func (s *session) mark() (back func()) {
	at, numbers := len(s.undo), s.giver.Undo()
	return func() {
		for _, undo := range slices.Backward(s.undo[at:]) {
			undo()
		}
		s.undo = s.undo[:at]
		numbers()
	}
}

// kindAfter returns how the answer names the write of a document that an operation leaves with body.
func kindAfter(p *planned, kind OperationKind, body []byte) OperationKind {
	switch {
	case body == nil:
		return Delete
	case p.stored == nil && p.kind != "":
		return p.kind
	case p.written && kind == Patch && p.kind != Patch:
		return Put
	}
	return kind
}

// name gives a document that is created without an id one, which is the same in all attempts.
func (s *session) name(op *Operation) error {
	if op.Key.ID != "" || op.Kind != Create {
		return op.Key.Validate()
	}
	if err := s.w.checkJSON(op.Content); err != nil {
		return err
	}
	t := jsondoc.MustParse(op.Content)
	if t.Kind(jsondoc.Root) == jsondoc.Object && t.Member(jsondoc.Root, "id") == jsondoc.None {
		op.Key.ID = s.uuid()
		return nil
	}
	_, err := documentID(t, &op.Key)
	return err
}

// meet returns nil where a document meets the conditions of an operation. It returns the errors of current, Exists and Forbidden.
func (s *session) meet(by *Sender, op *Operation, p *planned) error {
	unseen, err := s.unseen(by, p)
	if err != nil {
		return err
	}
	seen := p.body != nil
	switch {
	case unseen && (op.Kind == Create || op.Kind == Put && !op.Any()):
		if r := ruling.Of(by, op.Key, false); r != nil {
			return r.Taken()
		}
	case unseen || !seen && op.Kind != Create && (op.Kind != Put || len(op.Revisions) > 0 || op.Exists || op.If != nil):
		if op.Absent && !unseen {
			return nil
		}
		return op.missing(op.Key)
	case !seen:
		return nil
	case op.Kind == Create:
		return exists(op.Key, p.rev)
	case op.Absent:
		return &fanfold.Error{Code: fanfold.Stale, Message: "document " + op.Key.String() + " exists", Current: p.rev}
	case slices.Contains(op.Not, p.rev):
		return staleAt(op.Key, p.rev)
	case !op.meets(p.rev):
		return op.stale(op.Key, p.rev)
	}
	if op.If == nil || p.body == nil {
		return nil
	}
	was := &fanfold.Document{Key: p.key, Revision: p.rev, Body: maskOf(by, op.Key.Collection).Cut(p.body)}
	return op.checkContent(was, s.w.Parsing)
}

// unseen tells whether there is a document that a principal does not see, as it is stored or as others have written it in the run.
func (s *session) unseen(by *Sender, p *planned) (bool, error) {
	switch {
	case by.Reads(p.key.Collection):
		return false, nil
	case p.written && p.author != by && p.body != nil && !reads(by, p):
		return true, nil
	case p.stored == nil:
		return false, nil
	}
	sees, err := s.seesStored(by, p)
	if fanfold.CodeOf(err) == fanfold.Forbidden {
		err = nil
	}
	return !sees, err
}

// made returns the document that an operation leaves, and the operation where it is a patch that nothing was added to.
func (s *session) made(by *Sender, op *Operation, p *planned, fire bool) (body []byte, patch *Operation, err error) {
	c := s.model.Collection(op.Key.Collection)
	before := p.body
	if op.Kind == Patch {
		body, err = s.patched(by, op, p)
	} else if op.Kind != Delete {
		body, err = s.whole(by, op, before)
	}
	if err != nil {
		return nil, nil, err
	}
	fired := fire && c != nil && c.Trigger != ""
	if fired {
		p.fires = true
		body, err = s.fire(by, c, op, before, body)
		if p.fires = false; err != nil {
			return nil, nil, err
		}
	}
	if body == nil {
		return nil, nil, nil
	}
	if body, err = s.accepted(op, c, before, body); err != nil {
		return nil, nil, err
	}
	if op.Kind == Patch && !fired && !p.written && maskOf(by, op.Key.Collection) == nil {
		patch = op
	}
	return body, patch, nil
}

// whole returns what a Put or a Create writes, with the members that its sender does not see, and with the defaults of a new document.
func (s *session) whole(by *Sender, op *Operation, before []byte) ([]byte, error) {
	defer s.w.Parsing(op.Content)()
	key := op.Key
	_, source, dropped, err := s.w.stripDocument(op.Content, &key)
	if err != nil {
		return nil, err
	}
	if len(dropped) > 0 && op.Strict {
		return nil, s.w.ownedError(op.Key.Collection, strictOwns, dropped)
	}
	if op.Dropped = dropped; op.AsWritten {
		return op.Content, nil
	}
	if m := maskOf(by, op.Key.Collection); m != nil {
		found := m.Found(source)
		if len(found) > 0 && op.Strict {
			return nil, mask.Refuse("the body names", op.Key.Collection, found[0])
		}
		op.Dropped = slices.Concat(dropped, found)
		if source = m.Cut(source); before != nil {
			if source, err = m.Restore(source, before); err != nil {
				return nil, err
			}
		}
	}
	if before == nil && !op.Restores {
		source = s.model.Collection(op.Key.Collection).Fill(source)
	}
	return source, nil
}

// patched returns what a patch makes of a document. The operation's event holds the patch as it is to be stored.
func (s *session) patched(by *Sender, op *Operation, p *planned) ([]byte, error) {
	op.findMask(by)
	if err := s.w.prepare(op); err != nil {
		return nil, err
	}
	defer s.w.Parsing(p.body)()
	doc := &fanfold.Document{Key: p.key, Revision: p.rev, Body: p.body}
	patched, stored, err := applyPatch(s.ctx, op, op.seen(doc), s.w.opt.MaxBody, s.budget)
	if err != nil {
		return nil, err
	}
	op.event.Body = stored
	if op.mask == nil {
		return patched, nil
	}
	if found := op.mask.Found(patched); len(found) > 0 && op.Strict {
		return nil, mask.Refuse("the patch names", op.Key.Collection, found[0])
	}
	return op.mask.Restore(op.mask.Cut(patched), p.body)
}

// accepted returns a document as it is to be stored, with its numbers. before is the one that it replaces, nil for none. It returns the
// errors of a write whose document is refused.
func (s *session) accepted(op *Operation, c *model.Collection, before, body []byte) ([]byte, error) {
	defer s.w.Parsing(body)()
	var was *fanfold.Document
	if before != nil {
		was = &fanfold.Document{Key: op.Key, Body: before}
	}
	numbered, err := s.giver.Put(c, &fanfold.Event{Kind: fanfold.KindPut, Key: op.Key, Body: body}, was)
	if err != nil {
		return nil, err
	}
	if body = numbered.Body; op.Kind == Patch {
		return body, s.w.checkPatched(op.Key, before, body)
	}
	if op.AsWritten {
		key := op.Key
		_, err := s.w.checkExact(body, &key)
		return body, err
	}
	if err := s.w.checkContent(c, jsondoc.MustParse(body), body, false); err != nil {
		return nil, err
	}
	return body, s.w.checkLength(body)
}

// operations returns what is to be stored, and how many of it are writes. The operations about the documents of first come first, nil for a write that was taken
// back. Then come the other writes in their order, and last what was read and is required to be as it was.
func (s *session) operations(first []fanfold.Key) (ops []*Operation, writes int) {
	done := map[fanfold.Key]bool{}
	for _, key := range first {
		p := s.docs[key]
		op := p.operation(s.folded)
		if op == nil && !p.written {
			op = p.check(s.folded)
		}
		ops, done[key] = append(ops, op), true
	}
	for _, p := range s.order {
		if op := p.operation(s.folded); op != nil && !done[p.key] {
			ops, done[p.key] = append(ops, op), true
		}
	}
	writes = len(ops)
	if writes == 0 {
		return nil, 0
	}
	for _, p := range s.docs {
		if !done[p.key] {
			ops = append(ops, p.check(s.folded))
		}
	}
	slices.SortFunc(ops[writes:], func(a, b *Operation) int { return a.Key.Compare(b.Key) })
	for _, collection := range slices.Sorted(maps.Keys(s.gates)) {
		last := fanfold.Revision(s.gates[collection])
		key := fanfold.Key{Collection: collection}
		ops = append(ops, &Operation{Kind: Check, Key: key, planned: true, expect: expectAt(last, s.folded),
			event: checkOf(key, last)})
	}
	return ops, writes
}

// expectAt returns the condition that a revision, which was read when this node had folded an event, is the last one.
func expectAt(rev fanfold.Revision, folded uint64) fanfold.Expect {
	return fanfold.Expect{Set: true, Rev: rev, Folded: folded}
}

// conditions require a document as the session has read it.
func (p *planned) conditions() (c Conditions) {
	if p.stored == nil {
		c.Absent = true
	} else {
		c.Revisions = []fanfold.Revision{p.rev}
	}
	return c
}

// check returns the operation that requires a document as it was read.
func (p *planned) check(folded uint64) *Operation {
	return &Operation{Kind: Check, Key: p.key, Conditions: p.conditions(), planned: true, expect: expectAt(p.rev, folded),
		event: checkOf(p.key, p.rev)}
}

// operation returns the operation that stores what the run leaves of a document, nil where there is nothing to store.
func (p *planned) operation(folded uint64) *Operation {
	if !p.written || p.stored == nil && p.body == nil {
		return nil
	}
	op := &Operation{Kind: p.kind, Key: p.key, Conditions: p.conditions(), planned: true, expect: expectAt(p.rev, folded)}
	switch {
	case p.body == nil:
		op.event = &fanfold.Event{Kind: fanfold.KindDelete, Key: p.key}
	case p.patch != nil:
		op.Content, op.PatchType, op.event, op.patched = p.patch.Content, p.patch.PatchType, p.patch.event, p.body
		op.patches(p.rev)
	default:
		if op.event = (&fanfold.Event{Kind: fanfold.KindPut, Key: p.key, Body: p.body}); op.Kind == Patch {
			op.Kind = Put
		}
	}
	if p.body != nil {
		op.Refresh, op.event.Refresh = p.refresh, p.refresh
	}
	if p.by != nil {
		if r := ruling.Of(p.by, p.key, false); r != nil {
			op.ruled = &ruled{Ruling: r}
		}
	}
	return op
}

// isOutdated tells whether a run was ended because others have changed what it has read, and returns the event to wait for.
func isOutdated(err error) (at uint64, is bool) {
	var o outdated
	is = errors.As(err, &o)
	return o.at, is
}
