package writer

import (
	"context"
	"slices"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/internal/jsondoc"
	"github.com/fanfold/fanfold/model"
	"github.com/fanfold/fanfold/writer/numbering"
)

// Strict relations and unique members hold under any concurrency, on any node, because the log checks them. A guard is an
// event that is appended with a write. Its condition fails if the state that the write was checked against has changed.
//
//   - A document with strict relations or unique members is written on exactly the revision that was read, so that the
//     guards are made of the right difference.
//   - A new strict reference is a link event. It requires the target's revision, so that the target still exists.
//   - A delete of a target requires that no link to it was stored since the last one that this node has folded, and
//     requires the target's own revision. Both are needed: on three replicas a link that is still on its way is caught
//     by the second condition alone.
//   - A unique value is taken and given up by a claim event on a subject made of the value. It requires the last claim
//     that was read there.
//   - A write that may make a check false has a gate event for each document that the check concerns: see package gate.
//   - Numbers are given by an event on a subject made of the counter: see package numbering.
//
// Guards stand before the documents' events, because the log refuses a condition on a subject to which the same batch
// has already written.

// needGuards tells whether the model asks for guards of some of the writes.
func (w *Writer) needGuards(writes []fanfold.Write) bool {
	m, _, _ := w.Models.Model()
	return slices.ContainsFunc(writes, func(write fanfold.Write) bool {
		return m.Guards(write.Event.Key.Collection, write.Event.Kind == fanfold.KindDelete) || mayBreakChecks(w, m, write)
	})
}

// mayBreakChecks tells whether a write may make a check of the model false.
func mayBreakChecks(w *Writer, m *model.Model, write fanfold.Write) bool {
	if m.HasChecks() {
		defer w.Parsing(write.Event.Body)()
	}
	return w.checks.Concern(m, write.Event)
}

// guardsFor makes the guards of writes from what this node has folded. It returns the errors of guardSet.build, with the set as far as it came. If writes and guards are
// more than most, it returns an Unprocessable with the cause errTooManyMessages. recent has revisions of documents that this node may not
// have folded yet; it may be nil. together says that the writes are a transaction; of others each is judged by what stands before it.
// numbers has how documents come to their numbers.
func (w *Writer) guardsFor(ctx context.Context, writes []fanfold.Write, recent recentWrites, most int, together bool, numbers numbering.Giver) (set *guardSet, err error) {
	links, err := w.lastLinks(ctx, writes)
	if err != nil {
		return nil, err
	}
	applied := w.ReadModel.Applied()
	numbers.Check = w.checkNumbered
	if err := w.ReadModel.Read(func(snap Snapshot) error {
		m, _, _ := w.Models.Model()
		numbers.Counters = snap
		set = &guardSet{snap: snap, model: m, links: links, writes: slices.Clone(writes), parsing: w.Parsing, after: map[fanfold.Key]*guardedParts{}, index: map[fanfold.Key]int{},
			claimOf: map[claimKey]*claim{}, together: together, recent: recent, applied: applied, revisions: map[fanfold.Key]fanfold.Revision{},
			numbers: numbers}
		return set.build()
	}); err != nil {
		return set, err
	}
	if w.opt.JoinLinks {
		set.guards = joinLinks(set.guards)
	}
	if all := len(set.guards) + len(writes); all > most {
		return nil, fanfold.Wrap(errTooManyMessages, fanfold.Unprocessable, "with what guards its strict relations, unique members and sequences the request has %d messages; a transaction has at most %d", all, most)
	}
	return set, nil
}

// outdatedBy tells whether the log refused only the state that the guards were made from, and no condition of the
// writes themselves. The guards are made again then.
func (g *guardSet) outdatedBy(err error, writes []fanfold.Write) bool {
	stale := staleError(err)
	if stale == nil || stale.Operation == nil {
		return false
	}
	at := *stale.Operation - len(g.guards)
	return at < 0 || at >= len(writes) || !writes[at].Expect.Set
}

// errorOfWrite returns an error about a message of the batch as one about a write: its Operation is the write's index,
// and nil where a guard is at fault.
func (g *guardSet) errorOfWrite(err error) error {
	at := operationOf(err)
	if at < len(g.guards) {
		return withoutOperation(err)
	}
	return fanfold.AtOperation(err, at-len(g.guards))
}

// lastLinks asks the leader for the last link event about each document that is deleted and to which strict relations
// may lead, and waits until this node has folded them. It returns their sequences. The error is Unavailable.
func (w *Writer) lastLinks(ctx context.Context, writes []fanfold.Write) (map[fanfold.Key]uint64, error) {
	m, _, _ := w.Models.Model()
	var links map[fanfold.Key]uint64
	last := uint64(0)
	for _, write := range writes {
		key := write.Event.Key
		if write.Event.Kind != fanfold.KindDelete || !m.StrictTo(key.Collection) {
			continue
		}
		seq, err := w.Leader.LastAbout(ctx, fanfold.KindLink, key)
		if err != nil {
			return nil, err
		}
		if links == nil {
			links = map[fanfold.Key]uint64{}
		}
		links[key] = seq
		last = max(last, seq)
	}
	if last > w.ReadModel.Applied() {
		if err := w.wait(ctx, last, w.opt.Timeout); err != nil {
			return nil, behind(err)
		}
	}
	return links, nil
}

// guardSet makes the guards of writes from one snapshot.
type guardSet struct {
	snap    Snapshot
	model   *model.Model
	links   map[fanfold.Key]uint64          // the last link event about each document that is deleted
	writes  []fanfold.Write                 // with the revisions that they require
	index   map[fanfold.Key]int             // of the write of each document
	after   map[fanfold.Key]*guardedParts   // what the writes leave of the documents; nil for deleted ones
	parsing func(body []byte) (done func()) // see Writer.Parsing
	guards  []fanfold.Write
	gates   []fanfold.Write // stand after the writes, so that whoever has folded one has folded what it was checked for
	claims  []*claim

	claimOf   map[claimKey]*claim
	together  bool                             // the writes are a transaction, and no reader sees a part of it
	recent    recentWrites                     // what may not be in the snapshot
	applied   uint64                           // every event up to it is in the snapshot
	revisions map[fanfold.Key]fanfold.Revision // that were looked up; 0 for none
	refused   refusals
	numbered  bool // every write has its numbers
	numbers   numbering.Giver
	undo      []claimState // before the write that is being looked at
	actor     string       // of that write, and so of its guards
}

// build pins every write to the revision that the snapshot has, and makes the guards. Errors are about a write, by its
// index in Operation: Stale, NotFound, Restricted, and refusals, of one write or of several, that are Unprocessable or
// Conflict.
func (g *guardSet) build() error {
	before := make([]*guardedParts, len(g.writes))
	for i := range g.writes {
		var err error
		if before[i], err = g.pinRevision(i); err != nil {
			if err := g.refuse(i, err); err != nil {
				return err
			}
		}
	}
	if len(g.refused.at) > 0 {
		return &g.refused
	}
	g.numbered = true
	for i, w := range g.writes {
		if !isAboutDocument(w.Event) {
			continue
		}
		g.undo, g.actor = g.undo[:0], w.Event.Actor
		guards := len(g.guards)
		if err := g.guardWrite(i, before[i]); err != nil {
			if err := g.refuse(i, err); err != nil {
				return err
			}
			g.guards = g.guards[:guards]
			g.forget(w.Event.Key)
		}
	}
	if len(g.refused.at) == 0 { // claims are judged once it is clear which writes make them
		if err := g.guardValues(); err != nil {
			return err
		}
	}
	if len(g.refused.at) > 0 {
		return &g.refused
	}
	g.guards = append(g.guards, g.numbers.Events()...)
	return nil
}

// refuse notes that a write is refused, so that the others can be looked at. It returns the error of one that is no refusal
// of the write alone.
func (g *guardSet) refuse(i int, err error) error {
	if code := fanfold.CodeOf(err); code != fanfold.Unprocessable && code != fanfold.Conflict {
		return fanfold.AtOperation(err, i)
	}
	g.refused.add(i, err)
	return nil
}

// forget takes back what a write that is refused has left: the others are judged as if it were not there.
func (g *guardSet) forget(key fanfold.Key) {
	delete(g.index, key)
	delete(g.after, key)
	for _, was := range slices.Backward(g.undo) {
		was.claim.holder, was.claim.index = was.holder, was.index
	}
}

// isAboutDocument tells whether the event is about a document, rather than a check or an import.
func isAboutDocument(ev *fanfold.Event) bool {
	return ev.Kind == fanfold.KindPut || ev.Kind == fanfold.KindPatch || ev.Kind == fanfold.KindDelete
}

// pinRevision makes a write require the revision that its document has in the snapshot, and records what the write
// leaves. It returns the guarded parts of the document as it was written, nil where there is none.
func (g *guardSet) pinRevision(i int) (before *guardedParts, err error) {
	w := &g.writes[i]
	ev := w.Event
	if !isAboutDocument(ev) {
		return nil, nil
	}
	g.index[ev.Key] = i
	doc, err := g.snap.Get(ev.Key, fanfold.Referenced)
	if err != nil {
		return nil, err
	}
	rev := revisionOf(doc)
	if doc == nil {
		if rev, err = g.snap.Tombstone(ev.Key); err != nil {
			return nil, err
		}
	} else {
		before = g.partsOf(ev.Key, doc.Body)
	}
	if w.Expect.Set && w.Expect.Rev != rev {
		stale := staleAt(ev.Key, rev)
		stale.Current = max(rev, w.Expect.Rev)
		return nil, stale
	}
	w.Expect = fanfold.Exactly(rev)
	switch {
	case ev.Kind == fanfold.KindPut:
		if w.Event, err = g.numbers.Put(g.model.Collection(ev.Key.Collection), ev, doc); err != nil {
			return nil, err
		}
		g.after[ev.Key] = g.partsOf(ev.Key, w.Event.Body)
	case ev.Kind == fanfold.KindDelete:
		g.after[ev.Key] = nil
	case doc == nil:
		return nil, Missing(ev.Key)
	default:
		body, err := jsondoc.Patched(doc.Body, ev.Body, ev.Merges())
		if err == nil {
			err = numbering.Unchanged(g.model.Collection(ev.Key.Collection), doc.Body, body)
		}
		if err != nil {
			return nil, err
		}
		g.after[ev.Key] = g.partsOf(ev.Key, body)
	}
	return before, nil
}

// partsOf returns the guarded parts of a document.
func (g *guardSet) partsOf(key fanfold.Key, body []byte) *guardedParts {
	defer g.parsing(body)()
	return guardedPartsOf(g.model.Collection(key.Collection), body)
}

// guardWrite makes the guards of one write. before is the document that it replaces, nil for none.
func (g *guardSet) guardWrite(i int, before *guardedParts) error {
	ev := g.writes[i].Event
	after := g.after[ev.Key]
	if c := g.model.Collection(ev.Key.Collection); c != nil {
		if err := g.guardReferences(i, before, after); err != nil {
			return err
		}
		for _, u := range c.Unique {
			if err := g.recordValue(i, u, before, after); err != nil {
				return err
			}
		}
	}
	if seq, held := g.links[ev.Key]; held && ev.Kind == fanfold.KindDelete {
		return g.guardTarget(ev.Key, seq)
	}
	return nil
}
