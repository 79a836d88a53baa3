package writer

import (
	"context"
	"fmt"
	"slices"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/internal/jsondoc"
)

// Strict relations and unique members hold under any concurrency, on any node, because the log
// checks them: with a write go events whose conditions fail if what it was judged by has changed.
//
//   - A document that has strict relations or unique members is written on exactly the revision
//     that was seen, so that what the write adds and drops is right.
//   - A reference added is a link event, which requires its target's revision: the target is there.
//   - A delete of a target requires, before it, that no link to it was stored since the last one
//     this node has folded, and then its own revision. Both are needed: links that are still on
//     their way on three replicas are caught by the second one only.
//   - A value is claimed by an event on a subject of its own, on the last one that was seen there.
//
// Those events come before the documents', because the log refuses a condition on a subject that
// the same batch has already written.

// needGuards tells whether writes need such events.
func (w *Writer) needGuards(writes []fanfold.Write) bool {
	m, _, _ := w.Models.Model()
	return slices.ContainsFunc(writes, func(w fanfold.Write) bool {
		return m.Guards(w.Event.Key.Collection, w.Event.Kind == fanfold.KindDelete)
	})
}

// guardsFor makes the guards of writes from what this node shows. Errors are about a write, by its index in Operation,
// or Unprocessable with errTooManyMessages.
func (w *Writer) guardsFor(ctx context.Context, writes []fanfold.Write) (set *guardSet, err error) {
	links, err := w.lastLinks(ctx, writes)
	if err != nil {
		return nil, err
	}
	if err := w.ReadModel.Read(func(snap Snapshot) error {
		m, _, _ := w.Models.Model()
		set = &guardSet{snap: snap, model: m, links: links, writes: slices.Clone(writes), after: map[fanfold.Key]*jsondoc.Tree{}, index: map[fanfold.Key]int{}}
		return set.build()
	}); err != nil {
		return nil, err
	}
	if all := len(set.guards) + len(writes); all > MaxOperations {
		return nil, fanfold.Wrap(errTooManyMessages, fanfold.Unprocessable, "with what guards its strict relations and unique members the request has %d messages; a transaction has at most %d", all, MaxOperations)
	}
	return set, nil
}

// outdatedBy tells whether what the log refuses is only what the guards were made from, rather than a condition that
// a write came with.
func (g *guardSet) outdatedBy(err error, writes []fanfold.Write) bool {
	stale := staleError(err)
	if stale == nil || stale.Operation == nil {
		return false
	}
	at := *stale.Operation - len(g.guards)
	return at < 0 || !writes[at].Expect.Set
}

// errorOfWrite returns an error of the whole batch as one about the write at fault.
func (g *guardSet) errorOfWrite(err error) error {
	at := operationOf(err)
	if at < len(g.guards) {
		return withoutOperation(err)
	}
	return fanfold.AtOperation(err, at-len(g.guards))
}

// lastLinks asks the log for the last link to each document that is deleted and that strict
// relations may lead to, and waits until this node shows them.
func (w *Writer) lastLinks(ctx context.Context, writes []fanfold.Write) (map[fanfold.Key]uint64, error) {
	m, _, _ := w.Models.Model()
	var links map[fanfold.Key]uint64
	most := uint64(0)
	for _, write := range writes {
		key := write.Event.Key
		if write.Event.Kind != fanfold.KindDelete || !m.StrictTo(key.Collection) {
			continue
		}
		seq, err := w.Leader.LastLink(ctx, key)
		if err != nil {
			return nil, err
		}
		if links == nil {
			links = map[fanfold.Key]uint64{}
		}
		links[key] = seq
		most = max(most, seq)
	}
	if most > w.ReadModel.Applied() {
		if err := w.wait(ctx, most, w.opt.Timeout); err != nil {
			return nil, behind(err)
		}
	}
	return links, nil
}

// guardSet makes the guards of writes from one snapshot.
type guardSet struct {
	snap   Snapshot
	model  *fanfold.Model
	links  map[fanfold.Key]uint64
	writes []fanfold.Write               // with the conditions they need
	index  map[fanfold.Key]int           // of each document's write
	after  map[fanfold.Key]*jsondoc.Tree // documents as the writes leave them; nil for deleted ones
	guards []fanfold.Write
	claims []*claim
}

// claim is the net effect of the writes on one unique value.
type claim struct {
	collection, path, value string
	index                   int    // of the write that takes it, or frees it
	holder                  string // "" for freed
	was                     string // who had it
	seq                     uint64
}

// build pins every write to the revision that the snapshot has, and makes the guards.
func (g *guardSet) build() error {
	before := make([]*jsondoc.Tree, len(g.writes))
	for i := range g.writes {
		var err error
		if before[i], err = g.pinRevision(i); err != nil {
			return fanfold.AtOperation(err, i)
		}
	}
	for i, w := range g.writes {
		if !isAboutDocument(w.Event) {
			continue
		}
		if err := g.guardWrite(i, before[i]); err != nil {
			return fanfold.AtOperation(err, i)
		}
	}
	return g.guardValues()
}

// isAboutDocument tells whether the event is about a document, rather than a check or an import.
func isAboutDocument(ev *fanfold.Event) bool {
	return ev.Kind == fanfold.KindPut || ev.Kind == fanfold.KindPatch || ev.Kind == fanfold.KindDelete
}

// pinRevision makes a write go by exactly the document that the snapshot has, which it returns as it is
// written, and notes what the write leaves.
func (g *guardSet) pinRevision(i int) (before *jsondoc.Tree, err error) {
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
		before = jsondoc.MustParse(doc.Body)
	}
	if w.Expect.Set && w.Expect.Rev != rev {
		return nil, &fanfold.Error{Code: fanfold.Stale, Current: max(rev, w.Expect.Rev), Message: fmt.Sprintf("document %s is at revision %d", ev.Key, rev)}
	}
	w.Expect = fanfold.Exactly(rev)
	switch {
	case ev.Kind == fanfold.KindPut:
		g.after[ev.Key] = jsondoc.MustParse(ev.Body)
	case ev.Kind == fanfold.KindDelete:
		g.after[ev.Key] = nil
	case doc == nil:
		return nil, Missing(ev.Key)
	default:
		body, err := ev.Patched(doc.Body)
		if err != nil {
			return nil, err
		}
		g.after[ev.Key] = jsondoc.MustParse(body)
	}
	return before, nil
}

// guardWrite makes the guards of one write.
func (g *guardSet) guardWrite(i int, before *jsondoc.Tree) error {
	ev := g.writes[i].Event
	after := g.after[ev.Key]
	if c := g.model.Collection(ev.Key.Collection); c != nil {
		if err := g.guardReferences(c, ev.Key, before, after); err != nil {
			return err
		}
		for _, path := range c.Unique {
			if err := g.noteValue(i, path, before, after); err != nil {
				return err
			}
		}
	}
	if seq, held := g.links[ev.Key]; held && ev.Kind == fanfold.KindDelete {
		return g.guardTarget(ev.Key, seq)
	}
	return nil
}

// maxStrict is how many documents one may refer to strictly: dropping them all takes as many messages.
const maxStrict = 900

// guardReferences adds link events for the difference of a document's strict references.
func (g *guardSet) guardReferences(c *fanfold.Collection, key fanfold.Key, before, after *jsondoc.Tree) error {
	was, is := strictTargets(c, before), strictTargets(c, after)
	if len(is) > maxStrict && len(is) > len(was) {
		return fanfold.Errorf(fanfold.Unprocessable, "it would refer strictly to %d documents; at most %d are taken, so that it can be deleted in one transaction", len(is), maxStrict)
	}
	for _, t := range is {
		if slices.Contains(was, t) {
			if g.deletes(t) {
				return fanfold.Errorf(fanfold.Unprocessable, "it refers to %s, which the transaction deletes, and the relation is strict", t)
			}
			continue
		}
		guard := fanfold.Write{Event: &fanfold.Event{Kind: fanfold.KindLink, Key: t, Holder: key, Held: true}}
		if _, written := g.index[t]; written {
			if g.deletes(t) {
				return fanfold.Errorf(fanfold.Unprocessable, "it refers to %s, which the transaction deletes, and the relation is strict", t)
			}
		} else {
			doc, err := g.snap.Get(t, fanfold.Referenced)
			if err != nil {
				return err
			}
			if doc == nil {
				return fanfold.Errorf(fanfold.Unprocessable, "it refers to %s, which does not exist, and the relation is strict: write that one first, or in the same transaction", t)
			}
			guard.Expect = fanfold.Exactly(doc.Revision)
		}
		g.guards = append(g.guards, guard)
	}
	for _, t := range was {
		if !slices.Contains(is, t) {
			g.guards = append(g.guards, fanfold.Write{Event: &fanfold.Event{Kind: fanfold.KindLink, Key: t, Holder: key}})
		}
	}
	return nil
}

// deletes tells whether the writes delete the document.
func (g *guardSet) deletes(key fanfold.Key) bool {
	after, written := g.after[key]
	return written && after == nil
}

// strictTargets are the distinct documents that t refers to strictly; t may be nil.
func strictTargets(c *fanfold.Collection, t *jsondoc.Tree) (targets []fanfold.Key) {
	if t == nil {
		return nil
	}
	for _, r := range c.Relations {
		if !r.Strict {
			continue
		}
		for _, id := range r.Targets(t) {
			if key := (fanfold.Key{Collection: r.To, ID: id}); !slices.Contains(targets, key) {
				targets = append(targets, key)
			}
		}
	}
	return targets
}

// guardTarget makes sure that no document holds one that is deleted, and that none begins to.
func (g *guardSet) guardTarget(key fanfold.Key, link uint64) error {
	var held []fanfold.Problem
	for _, r := range g.model.RelationsTo(key.Collection) {
		if !r.Strict || len(held) == maxNamed {
			continue
		}
		if err := eachHolder(g.snap, r, key, func(doc *fanfold.Document) (more bool, err error) {
			if left, written := g.after[doc.Key]; written && (left == nil || !slices.Contains(r.Targets(left), key.ID)) {
				return true, nil
			}
			held = append(held, fanfold.Problem{Path: doc.Key.String(), Detail: fmt.Sprintf("refers to %s by %s, which is strict", key, r.FullName())})
			return len(held) < maxNamed, nil
		}); err != nil {
			return err
		}
	}
	if len(held) > 0 {
		e := fanfold.Errorf(fanfold.Restricted, "other documents refer to it strictly: delete them first, or take their references away")
		e.Problems = held
		return e
	}
	// First of all, before the links that the same writes drop.
	check := fanfold.Write{Event: &fanfold.Event{Kind: fanfold.KindCheck, Key: key, Base: fanfold.Revision(link), Links: true}, Expect: fanfold.Exactly(fanfold.Revision(link))}
	g.guards = slices.Insert(g.guards, 0, check)
	return nil
}

// noteValue notes what a write does to a unique value.
func (g *guardSet) noteValue(i int, path fanfold.Path, before, after *jsondoc.Tree) error {
	key := g.writes[i].Event.Key
	was, is := "", ""
	var err error
	if before != nil {
		was, _ = fanfold.UniqueValue(before, path) // what could not be compared was never claimed
	}
	if after != nil {
		if is, err = fanfold.UniqueValue(after, path); err != nil {
			return err
		}
	}
	if is != "" {
		c, err := g.claim(key.Collection, path.String(), is)
		if err != nil {
			return err
		}
		if c.holder != "" && c.holder != key.ID && c.index >= 0 {
			return fanfold.Errorf(fanfold.Conflict, "%s and %s/%s would both have %s %q, which is unique", key, key.Collection, c.holder, path, is[1:])
		}
		c.holder, c.index = key.ID, i
	}
	if was != "" && was != is {
		c, err := g.claim(key.Collection, path.String(), was)
		if err != nil {
			return err
		}
		if c.index < 0 && c.was == key.ID {
			c.holder, c.index = "", i
		}
	}
	return nil
}

// claim is the noted effect on a value; index is -1 while there is none.
func (g *guardSet) claim(collection, path, value string) (*claim, error) {
	for _, c := range g.claims {
		if c.collection == collection && c.path == path && c.value == value {
			return c, nil
		}
	}
	holder, seq, err := g.snap.Claim(collection, path, value)
	if err != nil {
		return nil, err
	}
	c := &claim{collection: collection, path: path, value: value, index: -1, was: holder, holder: holder, seq: seq}
	g.claims = append(g.claims, c)
	return c, nil
}

// guardValues adds the claim events. A value that another document has is taken only where the writes
// make that one give it up.
func (g *guardSet) guardValues() error {
	for _, c := range g.claims {
		if c.index < 0 || c.holder == c.was {
			continue
		}
		if c.holder != "" && c.was != "" {
			if err := g.checkGivenUp(c); err != nil {
				return fanfold.AtOperation(err, c.index)
			}
		}
		ev := &fanfold.Event{Kind: fanfold.KindClaim, Key: fanfold.Key{Collection: c.collection, ID: c.holder}, Path: c.path, Value: c.value, Held: c.holder != ""}
		if c.holder == "" {
			ev.Key.ID = c.was
		}
		g.guards = append(g.guards, fanfold.Write{Event: ev, Expect: fanfold.Exactly(fanfold.Revision(c.seq))})
	}
	return nil
}

// checkGivenUp returns a Conflict unless the writes take the value from the document that has it.
func (g *guardSet) checkGivenUp(c *claim) error {
	holder := fanfold.Key{Collection: c.collection, ID: c.was}
	left, written := g.after[holder]
	if written && left == nil {
		return nil
	}
	if written {
		path, err := fanfold.ParsePath(c.path)
		if err != nil {
			return err
		}
		if value, _ := fanfold.UniqueValue(left, path); value != c.value {
			return nil
		}
	}
	return fanfold.Errorf(fanfold.Conflict, "%s has %s %q, which is unique", holder, c.path, c.value[1:])
}
