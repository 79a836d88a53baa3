package writer

import (
	"fmt"
	"slices"

	"github.com/fanfold/fanfold"
)

// maxStrict bounds the documents to which one may refer strictly: its delete needs a link event for each of them.
const maxStrict = 900

// guardReferences adds a link event for each strict reference that a write adds to a document or removes from it. The
// error is Unprocessable where a target does not exist or is deleted by the same writes.
func (g *guardSet) guardReferences(i int, before, after *guardedParts) error {
	key := g.writes[i].Event.Key
	was, is := before.targets(), after.targets()
	if len(is) > maxStrict && len(is) > len(was) {
		return fanfold.Errorf(fanfold.Unprocessable, "it would refer strictly to %d documents; at most %d are taken, so that it can be deleted in one transaction", len(is), maxStrict)
	}
	for _, t := range is {
		if slices.Contains(was, t) {
			if g.deletes(t) {
				return about(fanfold.Errorf(fanfold.Unprocessable, "it refers to %s, which the transaction deletes, and the relation is strict", t), key, t)
			}
			continue
		}
		guard := fanfold.Write{Event: &fanfold.Event{Kind: fanfold.KindLink, Key: t, Holders: []fanfold.Key{key}, Held: true, Actor: g.actor}}
		at, written := g.index[t]
		if written && g.deletes(t) {
			return about(fanfold.Errorf(fanfold.Unprocessable, "it refers to %s, which the transaction deletes, and the relation is strict", t), key, t)
		}
		if !written || at > i && !g.together {
			rev, err := g.revision(t)
			if err != nil {
				return err
			}
			if rev == 0 {
				return fanfold.Errorf(fanfold.Unprocessable, "it refers to %s, which does not exist, and the relation is strict: write that one first, or in the same transaction", t)
			}
			if !written { // else its own write requires the revision
				guard.Expect = fanfold.Exactly(rev)
			}
		}
		g.guards = append(g.guards, guard)
	}
	for _, t := range was {
		if !slices.Contains(is, t) {
			g.guards = append(g.guards, fanfold.Write{Event: &fanfold.Event{Kind: fanfold.KindLink, Key: t, Holders: []fanfold.Key{key}, Actor: g.actor}})
		}
	}
	return nil
}

// joinLinks makes one event of those links to a document that say the same of holders of one collection. All of them are stored with what
// they guard, or none.
func joinLinks(guards []fanfold.Write) []fanfold.Write {
	type common struct {
		target  fanfold.Key
		holders string
		held    bool
		actor   string
		expect  fanfold.Expect
	}
	first := map[common]*fanfold.Event{}
	return slices.DeleteFunc(guards, func(w fanfold.Write) bool {
		ev := w.Event
		if ev.Kind != fanfold.KindLink {
			return false
		}
		c := common{ev.Key, ev.Holders[0].Collection, ev.Held, ev.Actor, w.Expect}
		joined := first[c]
		if joined == nil {
			first[c] = ev
			return false
		}
		joined.Holders = append(joined.Holders, ev.Holders...)
		return true
	})
}

// revision returns the revision of a document, as of the snapshot or later, and 0 if there is none.
func (g *guardSet) revision(key fanfold.Key) (fanfold.Revision, error) {
	if rev := g.recent[key]; uint64(rev) > g.applied {
		return rev, nil
	}
	if rev, known := g.revisions[key]; known {
		return rev, nil
	}
	doc, err := g.snap.Get(key, fanfold.Referenced)
	if err != nil {
		return 0, err
	}
	g.revisions[key] = revisionOf(doc)
	return g.revisions[key], nil
}

// deletes tells whether one of the writes deletes the document.
func (g *guardSet) deletes(key fanfold.Key) bool {
	after, written := g.after[key]
	return written && after == nil
}

// guardTarget checks that no document refers strictly to one that is deleted, and adds the guard that none begins to.
// link is the last link event about it. The error is Restricted.
func (g *guardSet) guardTarget(key fanfold.Key, link uint64) error {
	var held []fanfold.Problem
	for _, r := range g.model.RelationsTo(key.Collection) {
		if !r.Strict || len(held) == maxNamedBlockers {
			continue
		}
		if err := eachHolder(g.snap, r, key, func(doc *fanfold.Document) (more bool, err error) {
			if left, written := g.after[doc.Key]; written && !left.refersBy(r, key) {
				return true, nil
			}
			held = append(held, fanfold.Problem{Key: doc.Key, Target: key, Path: doc.Key.String(), Detail: fmt.Sprintf("refers to %s by %s, which is strict", key, r.FullName())})
			return len(held) < maxNamedBlockers, nil
		}); err != nil {
			return err
		}
	}
	if len(held) > 0 {
		e := fanfold.Errorf(fanfold.Restricted, "other documents refer to it strictly: delete them first, or take their references away")
		e.Problems = held
		return e
	}
	// It comes first, before link events of references that the same writes remove.
	check := fanfold.Write{Event: &fanfold.Event{Kind: fanfold.KindCheck, Key: key, Base: fanfold.Revision(link), Links: true, Actor: g.actor}, Expect: fanfold.Exactly(fanfold.Revision(link))}
	g.guards = slices.Insert(g.guards, 0, check)
	return nil
}

// refusal returns why strict relations and unique members refuse what a write leaves of a document, as far as the session can tell. It notes what the answer rests on.
func (s *session) refusal(p *planned, body []byte) error {
	c := s.model.Collection(p.key.Collection)
	if c == nil {
		return nil
	}
	var after *guardedParts
	if body != nil {
		after = guardedPartsOf(c, body)
	}
	before := &guardedParts{}
	if p.body != nil {
		before = guardedPartsOf(c, p.body)
	}
	was := before.targets()
	for _, t := range after.targets() {
		if slices.Contains(was, t) {
			continue
		}
		target, err := s.document(t)
		if err != nil {
			return err
		}
		if target.body == nil && t != p.key {
			return fanfold.Errorf(fanfold.Unprocessable, "it refers to %s, which does not exist, and the relation is strict: write that one first, or in the same transaction", t)
		}
	}
	for _, u := range c.Unique {
		if err := s.guardValue(p, u, before, after); err != nil {
			return err
		}
	}
	return nil
}
