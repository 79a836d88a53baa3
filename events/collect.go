package events

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/internal/jsondoc"
	"github.com/fanfold/fanfold/internal/skeleton"
)

// Collecting says for which documents the log is searched for messages whose content is to be erased.
type Collecting struct {
	Of        uint64 // the sequence of the erasure's first erase event; 0 while there is none
	Documents []fanfold.ErasedDocument
	Keep      map[string][]string // as Erasure.Keep
	From, To  uint64              // the messages that are looked at; 0 for those after the log's base, and for those up to its end

	// Body returns what was written last of a document at the log's base, nil where it was not there. nil stands for a log without base.
	Body func(ctx context.Context, key fanfold.Key) ([]byte, error)
	// InBase tells whether the base has anything else of a document's, such as kept values: then it is in an erase event though it has no message.
	// nil for no.
	InBase func(d fanfold.ErasedDocument) bool
	// Copies tells whether the kept values of a rule on documents of a collection come from a document, if they name its id. Of erased members it
	// tells whether they come from one of these. nil for no.
	Copies func(holders, rule string, of fanfold.ErasedDocument) bool
}

// Collected is what Collect has found.
type Collected struct {
	Erasures  []*fanfold.Erasure // for an erase event each, in order; empty where nothing is left to erase
	Events    int64              // messages that they list, compact events apart
	Versions  int64              // events of the documents: puts, patches and deletes
	Revisions map[fanfold.Key]fanfold.Revision
	Last      uint64 // up to which the log was searched
}

// Collect searches the log for what is left to erase of documents, and returns what stands for it. It reads as of the last erase event, so that
// what is listed already is not listed again. It blocks until it has read the log, and changes nothing. It returns Conflict for more than the
// log's erase events may have, LogDamaged, Invalid, Unavailable, and the errors of Body.
func (p *Prefix) Collect(ctx context.Context, c Collecting) (*Collected, error) {
	if err := p.log.Outlast(ctx, func(ctx context.Context) error { return p.askBase(ctx, p.log.lastBySubject) }); err != nil {
		return nil, err
	}
	s, err := newSearch(ctx, p.log, c)
	if err != nil {
		return nil, err
	}
	from := max(c.From, p.Base().Seq+1)
	if s.out.Last = c.To; c.To == 0 {
		if s.out.Last, err = p.log.LastSeq(ctx); err != nil {
			return nil, err
		}
	}
	if err := p.log.waitWhole(ctx, p.log.run.Load(), s.out.Last); err != nil {
		return nil, err
	}
	erasure, _ := p.Erasures()
	s.next = from
	yield := yielding{log: p.log, began: time.Now()}
	if err := p.log.messagesAs(ctx, from, s.out.Last, erasure, false, func(m *Message) error {
		yield.toWrites(ctx, m.Seq)
		return s.look(m)
	}); err != nil {
		return nil, err
	}
	if s.next != s.out.Last+1 {
		return nil, fanfold.Errorf(fanfold.LogDamaged, "the log has no event %d that can be read; %s", s.next, Repair)
	}
	s.dropHeld()
	s.out.Events = int64(len(s.found))
	if err := s.listCompacts(); err != nil {
		return nil, err
	}
	if err := s.takeOver(); err != nil {
		return nil, err
	}
	s.split()
	return s.out, nil
}

// search is the state of a search for what is to be erased.
type search struct {
	log  *Log
	c    Collecting
	out  *Collected
	docs []*searchedDocument
	next uint64 // the message that is to come

	bySubject   map[string]*searchedDocument
	byKey       map[fanfold.Key]*searchedDocument
	collections map[string]bool
	ids         map[string][]*searchedDocument // whose values others may keep
	paths       map[string][]skeleton.Path
	decoder     *Decoder

	found []foundMessage
	bytes int
	first *Message // the last message with a digest, as long as its transaction goes on; nil for none
	shown bool     // first is in found

	// Of the transaction that goes on: its call with a result, which is not in found yet, and a document that the function has seen. nil for none.
	call *Message
	seen *searchedDocument

	compacts []Message        // the compact events
	erases   []*fanfold.Event // the erase events, of a search of the whole log

	held map[string]uint64 // the claims that documents have that live on, by subject
}

// searchedDocument is a document whose messages are searched for.
type searchedDocument struct {
	fanfold.ErasedDocument
	index int
	body  []byte // after the last message; nil where it is not there, or not known
	dirty bool   // body has a member that is erased, or was made from one that has, by a patch
	base  bool   // the base has some of it
}

// foundMessage is a message that is to be listed with a document.
type foundMessage struct {
	document int
	taken    bool // an earlier erase event has listed it, and does so no more
	fanfold.Substitute
}

// newSearch begins a search.
func newSearch(ctx context.Context, l *Log, c Collecting) (*search, error) {
	s := &search{log: l, c: c, out: &Collected{Revisions: map[fanfold.Key]fanfold.Revision{}}, bySubject: map[string]*searchedDocument{},
		byKey: map[fanfold.Key]*searchedDocument{}, collections: map[string]bool{}, ids: map[string][]*searchedDocument{},
		paths: map[string][]skeleton.Path{}, held: map[string]uint64{}, decoder: NewDecoder(l.opt.Database)}
	var err error
	for collection, texts := range c.Keep {
		if s.paths[collection], err = skeleton.Paths(texts); err != nil {
			return nil, err
		}
	}
	for i, d := range c.Documents {
		doc := &searchedDocument{ErasedDocument: d, index: i}
		if c.Body != nil && l.prefix.Base().Seq > 0 {
			if doc.body, err = c.Body(ctx, d.Key); err != nil {
				return nil, err
			}
			doc.body = bytes.Clone(doc.body)
			doc.dirty = doc.body != nil && skeleton.Has(doc.body, d.Members)
			doc.base = doc.body != nil && !bytes.Equal(s.without(doc, doc.body), doc.body)
		}
		doc.base = doc.base || c.InBase != nil && c.InBase(d)
		s.docs = append(s.docs, doc)
		s.bySubject[l.sub.document(d.Key)], s.byKey[d.Key], s.collections[d.Collection] = doc, doc, true
		s.ids[d.ID] = append(s.ids[d.ID], doc)
	}
	return s, nil
}

// without returns what stays of a document's body.
func (s *search) without(d *searchedDocument, body []byte) []byte {
	if d.Members != nil {
		return skeleton.Without(body, d.Members)
	}
	return skeleton.Of(body, s.paths[d.Collection])
}

// look looks at the next message.
func (s *search) look(m *Message) error {
	if m.Seq != s.next {
		return fanfold.Errorf(fanfold.LogDamaged, "the log has no event %s that can be read; %s", Range{s.next, m.Seq - 1}, Repair)
	}
	s.next = m.Seq + 1
	if m.Headers.Get(headerTxIndex) == "0" || m.Headers.Get(headerTx) == "" {
		s.first, s.shown, s.call, s.seen = nil, false, nil, nil
	}
	if m.Headers.Get(headerTx) != "" && len(m.Headers[headerDigest]) > 0 {
		kept := *m
		s.first = &kept
	}
	if m.Subject == s.log.sub.compact() {
		s.compacts = append(s.compacts, *m)
		return nil
	}
	if m.Subject == s.log.sub.erase() {
		ev, err := s.decoder.decode(*m)
		if err == nil && s.c.From == 0 {
			s.erases = append(s.erases, ev)
		}
		return err
	}
	if m.Subject == s.log.sub.call() || m.Subject == s.log.sub.check() {
		return s.lookAtRead(m)
	}
	doc := s.bySubject[m.Subject]
	isClaim := false
	if doc == nil && s.log.sub.isClaim(m.Subject) {
		_, key, _ := guardOn(m.Subject)
		isClaim = s.collections[key.Collection]
	}
	keeps := s.c.Copies != nil && bytes.Contains(m.Data, []byte(`"kept":`))
	if doc == nil && !isClaim && !keeps {
		return nil
	}
	ev, err := s.decoder.decode(*m)
	if err != nil {
		return err
	}
	switch {
	case doc != nil:
		return s.lookAtDocument(doc, m, ev)
	case ev.Kind == fanfold.KindClaim:
		return s.lookAtClaim(m, ev)
	case ev.Kind == fanfold.KindPut:
		return s.lookAtKept(m, ev)
	}
	return nil
}

// lookAtDocument looks at a message of a document that is to be erased.
func (s *search) lookAtDocument(doc *searchedDocument, m *Message, ev *fanfold.Event) (err error) {
	s.out.Versions++
	s.out.Revisions[doc.Key] = fanfold.Revision(m.Seq)
	touched := false
	switch ev.Kind {
	case fanfold.KindDelete:
		shown := doc.shows()
		doc.body, doc.dirty = nil, false
		if shown {
			return s.sees(doc)
		}
		return nil
	case fanfold.KindPut:
		doc.body = ev.Body
		doc.dirty = skeleton.Has(ev.Body, doc.Members)
	case fanfold.KindPatch:
		if doc.body == nil {
			return fanfold.Errorf(fanfold.LogDamaged, "event %d is a patch of %s/%s, which is not there; %s", m.Seq, doc.Collection, doc.ID, Repair)
		}
		touched = patchTouches(ev, doc.Members)
		if doc.body, err = jsondoc.Patched(doc.body, ev.Body, ev.Merges()); err != nil {
			return fanfold.Wrap(err, fanfold.LogDamaged, "event %d is a patch that cannot be applied: %v; %s", m.Seq, err, Repair)
		}
		doc.dirty = doc.dirty || skeleton.Has(doc.body, doc.Members)
	}
	kept := s.keptWithout(doc.Collection, ev)
	if doc.Members != nil && !doc.dirty && !touched && bytes.Equal(kept, ev.Kept) {
		return nil
	}
	out := &fanfold.Event{Kind: fanfold.KindPut, Body: s.without(doc, doc.body), Kept: kept, Refresh: ev.Refresh, ByDelete: ev.ByDelete}
	return s.list(doc, m, ev, Encode(out))
}

// shows tells whether who reads the document sees what is to be erased.
func (d *searchedDocument) shows() bool { return d.Members == nil || d.dirty }

// lookAtRead looks at a call, or at a check, which tells what a function has read.
func (s *search) lookAtRead(m *Message) error {
	ev, err := s.decoder.decode(*m)
	switch {
	case err != nil || ev.Tx.ID == "":
		return err
	case ev.Kind == fanfold.KindCheck:
		return s.sees(cmp.Or(s.checked(ev.Key), s.seen))
	case ev.Call.Result != nil:
		kept := *m
		s.call = &kept
	}
	return s.sees(s.seen)
}

// checked returns a document that who requires a key has read, and that shows what is to be erased; nil for none. A key without an id is of who has
// read all documents of a collection.
func (s *search) checked(key fanfold.Key) *searchedDocument {
	readable := func(d *searchedDocument) bool { return d.shows() && (d.body != nil || s.c.From > 0) }
	if d := s.byKey[key]; key.ID != "" && d != nil && readable(d) {
		return d
	}
	if key.ID != "" || !s.collections[key.Collection] {
		return nil
	}
	i := slices.IndexFunc(s.docs, func(d *searchedDocument) bool { return d.Collection == key.Collection && readable(d) })
	if i < 0 {
		return nil
	}
	return s.docs[i]
}

// sees lists the transaction's call without its result, which may tell of a document that the function has seen; nil for none.
func (s *search) sees(doc *searchedDocument) error {
	if s.seen = doc; doc == nil || s.call == nil {
		return nil
	}
	m := s.call
	s.call = nil
	ev, err := s.decoder.decode(*m)
	if err != nil {
		return err
	}
	bare := *ev.Call
	bare.Result = nil
	return s.list(doc, m, ev, Encode(&fanfold.Event{Kind: fanfold.KindCall, Call: &bare}))
}

// lookAtKept looks at a put of another document, which may keep values of one that is to be erased.
func (s *search) lookAtKept(m *Message, ev *fanfold.Event) error {
	kept := s.keptWithout(ev.Key.Collection, ev)
	if bytes.Equal(kept, ev.Kept) {
		return nil
	}
	out := *ev
	out.Kept = kept
	var doc *searchedDocument
	for _, id := range slices.Sorted(maps.Keys(s.ids)) { // any of those that it keeps
		if i := slices.IndexFunc(s.ids[id], func(d *searchedDocument) bool { return s.keepsOf(ev.Key.Collection, ev.Kept, d) }); i >= 0 {
			doc = s.ids[id][i]
			break
		}
	}
	return s.list(doc, m, ev, Encode(&out))
}

// keepsOf tells whether kept values come from a document that is to be erased.
func (s *search) keepsOf(holders string, kept []byte, d *searchedDocument) bool {
	t := jsondoc.MustParse(kept)
	for rule := t.First(jsondoc.Root); rule != jsondoc.None; rule = t.Next(rule) {
		if t.Member(rule, d.ID) != jsondoc.None && s.c.Copies(holders, t.Key(rule), d.ErasedDocument) {
			return true
		}
	}
	return false
}

// keptWithout returns the kept values of a put without the values of documents that are to be erased; the rest is as it was.
func (s *search) keptWithout(holders string, ev *fanfold.Event) []byte {
	if len(ev.Kept) == 0 || s.c.Copies == nil {
		return ev.Kept
	}
	var pointers []string
	t := jsondoc.MustParse(ev.Kept)
	for rule := t.First(jsondoc.Root); rule != jsondoc.None; rule = t.Next(rule) {
		for id := t.First(rule); t.Kind(rule) == jsondoc.Object && id != jsondoc.None; id = t.Next(id) {
			for _, d := range s.ids[t.Key(id)] {
				if s.c.Copies(holders, t.Key(rule), d.ErasedDocument) {
					pointers = append(pointers, "/"+jsondoc.PointerEscape(t.Key(rule))+"/"+jsondoc.PointerEscape(t.Key(id)))
					break
				}
			}
		}
	}
	return skeleton.Without(ev.Kept, pointers)
}

// patchTouches tells whether a patch says anything of what is at one of some JSON Pointers, or around it.
func patchTouches(ev *fanfold.Event, pointers []string) bool {
	if ev.Merges() {
		return skeleton.Has(ev.Body, pointers)
	}
	ops, err := jsondoc.ParsePatch(ev.Body)
	if err != nil {
		return true
	}
	for _, pointer := range pointers {
		tokens := jsondoc.PointerTokens(pointer)
		for _, op := range ops {
			if overlap(tokens, op.Path) || op.From != nil && overlap(tokens, op.From) {
				return true
			}
		}
	}
	return false
}

// overlap tells whether one of two paths begins with the other.
func overlap(a, b []string) bool {
	n := min(len(a), len(b))
	return slices.Equal(a[:n], b[:n])
}

// claimsMember tells whether the path of a claim leads to one of some members, nil for all. Of an expression it is enough that it names the last
// part of one.
func claimsMember(path string, members []string) bool {
	if members == nil {
		return true
	}
	paths := []string{path}
	if strings.HasPrefix(path, "[") && json.Unmarshal([]byte(path), &paths) != nil {
		paths = []string{path}
	}
	for _, member := range members {
		tokens := jsondoc.PointerTokens(member)
		for _, p := range paths {
			expression := isExpression(p)
			if expression && strings.Contains(p, tokens[len(tokens)-1]) || !expression && overlap(tokens, strings.Split(p, ".")) {
				return true
			}
		}
	}
	return false
}

// isExpression tells whether the path of a claim is more than a member's path.
func isExpression(path string) bool { return strings.ContainsAny(path, "()+ '\"[]?:") }

// lookAtClaim looks at a claim of a document that is to be erased. A claim of an expression that a living document has at the end stays, for
// its value is made of what stays.
func (s *search) lookAtClaim(m *Message, ev *fanfold.Event) error {
	doc := s.byKey[ev.Key]
	if doc == nil || !claimsMember(ev.Path, doc.Members) {
		return nil
	}
	delete(s.held, m.Subject)
	if doc.Members != nil && ev.Held && isExpression(ev.Path) {
		s.held[m.Subject] = m.Seq
	}
	return s.list(doc, m, ev, nil)
}

// dropHeld takes the claims back that documents have at the end.
func (s *search) dropHeld() {
	stays := map[uint64]bool{}
	for _, seq := range s.held {
		stays[seq] = true
	}
	s.found = slices.DeleteFunc(s.found, func(f foundMessage) bool { return f.Claim && stays[f.Seq] })
}

// listCompacts lists the compact events whose base has something of a document. Their digests are made of its content, too, which could be
// guessed from them if it is short. One that came while messages were looked for may have such a base.
func (s *search) listCompacts() error {
	i := slices.IndexFunc(s.docs, func(d *searchedDocument) bool { return d.base || s.c.From > 0 })
	if i < 0 {
		return nil
	}
	s.first, s.call = nil, nil
	for _, m := range s.compacts {
		ev, err := s.decoder.decode(m)
		if err != nil {
			return err
		}
		out := *ev.Loss.Base
		out.Event, out.Digest, out.Base.Sum = fanfold.Digest{}, fanfold.Digest{}, fanfold.Digest{}
		if out == *ev.Loss.Base { // it is what stands for one, perhaps in an earlier form
			continue
		}
		if err := s.list(s.docs[i], &m, ev, encodeLoss(&fanfold.Loss{UpTo: ev.Loss.UpTo, Base: &out})); err != nil {
			return err
		}
	}
	return nil
}

// list lists a message with a document: a payload stands for its own, or a fence where that is nil. A message that is as what stands for it is
// not listed. With it the first of its transaction loses its digest.
func (s *search) list(doc *searchedDocument, m *Message, ev *fanfold.Event, payload []byte) error {
	if payload != nil && bytes.Equal(payload, m.Data) && ev.IdempotencyKey.Digest == "" {
		return nil
	}
	if err := s.sees(doc); err != nil { // before the first of the transaction is listed as it is, which the call may be
		return err
	}
	if s.first != nil && !s.shown && s.first.Seq != m.Seq {
		first, err := s.decoder.decode(*s.first)
		if err != nil {
			return err
		}
		s.add(doc, s.first, first, s.first.Data)
	}
	s.shown = s.first != nil
	s.add(doc, m, ev, payload)
	return s.log.prefix.losses.mayErase(s.bytes)
}

// add adds a message to what is found.
func (s *search) add(doc *searchedDocument, m *Message, ev *fanfold.Event, payload []byte) {
	subject := m.Subject
	if payload == nil { // a claim's has a hash of its value
		subject = s.log.sub.fence()
	}
	s.found = append(s.found, foundMessage{document: doc.index, Substitute: fanfold.Substitute{Seq: m.Seq, Time: m.Time, Subject: subject, Claim: payload == nil,
		Tx: ev.Tx, KeyHash: ev.IdempotencyKey.Hash, Actor: ev.Actor, Payload: payload}})
	s.bytes += len(payload) + len(subject)
}

// substituteBytes is more than an erase event has of a message besides its subject and payload, its actor and its ids.
const substituteBytes = 120

// split makes erase events of what was found.
func (s *search) split() {
	slices.SortStableFunc(s.found, func(a, b foundMessage) int { return cmp.Compare(a.document, b.document) })
	e, size := s.newErasure(), 0
	flush := func() {
		if len(e.Documents) > 0 {
			slices.SortFunc(e.Messages, func(a, b fanfold.Substitute) int { return cmp.Compare(a.Seq, b.Seq) })
			s.out.Erasures = append(s.out.Erasures, e)
		}
		e, size = s.newErasure(), len(newErasureWriter(e).head)
	}
	size = len(newErasureWriter(e).head)
	at := 0
	for _, doc := range s.docs {
		from := at
		for at < len(s.found) && s.found[at].document == doc.index {
			at++
		}
		if from == at && !doc.base {
			continue
		}
		if len(e.Documents) == MaxErasureDocuments {
			flush()
		}
		head := len(newErasureWriter(&fanfold.Erasure{Documents: []fanfold.ErasedDocument{doc.ErasedDocument}}).head)
		if size+head > MaxErasureEvent/2 {
			flush()
		}
		e.Documents, size = append(e.Documents, doc.ErasedDocument), size+head
		seen := map[string]bool{}
		for _, f := range s.found[from:at] {
			more := substituteBytes + len(f.Actor) + len(f.KeyHash) + len(f.Tx.ID)
			for _, text := range []string{f.Subject, string(f.Payload)} {
				if !seen[text] {
					more += len(text) + 3
				}
			}
			if size+more > MaxErasureEvent && len(e.Messages) > 0 {
				flush()
				e.Documents, size, seen = append(e.Documents, doc.ErasedDocument), size+head, map[string]bool{}
				more += len(f.Subject) + len(f.Payload)
			}
			seen[f.Subject], seen[string(f.Payload)] = true, true
			if e.Messages, size = append(e.Messages, f.Substitute), size+more; f.taken {
				e.Taken++
			}
		}
	}
	flush()
}

// newErasure returns an erasure that lists nothing.
func (s *search) newErasure() *fanfold.Erasure {
	return &fanfold.Erasure{Of: s.c.Of, Keep: s.c.Keep}
}
