package api

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

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

// constrained tells whether writes need such events.
func (s *Server) constrained(writes []fanfold.Write) bool {
	m, _, _ := s.models.Model()
	return slices.ContainsFunc(writes, func(w fanfold.Write) bool {
		return m.Guards(w.Event.Key.Collection, w.Event.Kind == fanfold.KindDelete)
	})
}

// appendConstrained appends writes with the events that guard them, all or none, and returns the
// sequences of the first of the writes and of the last. Where only what it judged by has moved on it
// judges again. Errors are those of AppendAll, whose Operation is the index of the write at fault;
// Unprocessable where a strict reference has no target, Restricted where one holds a document that is
// deleted, Conflict where another document has a unique value.
func (s *Server) appendConstrained(ctx context.Context, tx string, writes []fanfold.Write) (first, last uint64, err error) {
	for sure := false; ; {
		j, err := s.judged(ctx, writes)
		if ahead := s.ahead(err); ahead != nil {
			if err := s.again(ctx, ahead); err != nil {
				return 0, 0, err
			}
			continue
		}
		if err != nil {
			if sure || fanfold.CodeOf(err) == fanfold.Stale {
				return 0, 0, err
			}
			if err := s.catchUp(ctx); err != nil { // it may have been judged by what is no longer so
				return 0, 0, err
			}
			sure = true
			continue
		}
		if err := s.bounded(ctx, j.writes); err != nil {
			return 0, 0, err
		}
		seq, err := s.log.AppendAll(ctx, tx, slices.Concat(j.guards, j.writes))
		if seen, ok := overtaken(err, j, writes); ok {
			if err := s.again(ctx, seen); err != nil {
				return 0, 0, err
			}
			continue
		}
		return seq + uint64(len(j.guards)), seq + uint64(len(j.guards)+len(writes)) - 1, j.ofWrite(err)
	}
}

// ahead is a Stale whose write goes by a revision that this node does not show yet, nil for others.
func (s *Server) ahead(err error) *fanfold.Error {
	var e *fanfold.Error
	if errors.As(err, &e) && e.Code == fanfold.Stale && uint64(e.Current) > s.reader.Applied() {
		return e
	}
	return nil
}

// judged judges writes by what this node shows.
func (s *Server) judged(ctx context.Context, writes []fanfold.Write) (j *judge, err error) {
	links, err := s.lastLinks(ctx, writes)
	if err != nil {
		return nil, err
	}
	if err := s.reader.Read(func(snap Snapshot) error {
		m, _, _ := s.models.Model()
		j = &judge{snap: snap, model: m, links: links, writes: slices.Clone(writes), after: map[fanfold.Key]*jsondoc.Tree{}, at: map[fanfold.Key]int{}}
		return j.all()
	}); err != nil {
		return nil, err
	}
	if all := len(j.guards) + len(writes); all > MaxOperations {
		return nil, fanfold.Wrap(errMessages, fanfold.Unprocessable, "with what guards its strict relations and unique members the request has %d messages; a transaction has at most %d", all, MaxOperations)
	}
	return j, nil
}

// overtaken tells whether what the log refuses is only what the writes were judged by, and where
// that stands now.
func overtaken(err error, j *judge, writes []fanfold.Write) (seen *fanfold.Error, ok bool) {
	if !errors.As(err, &seen) || seen.Code != fanfold.Stale || seen.Operation == nil {
		return nil, false
	}
	at := *seen.Operation - len(j.guards)
	return seen, at < 0 || !writes[at].Expect.Set
}

// ofWrite is an error of the whole batch as one about the write at fault.
func (j *judge) ofWrite(err error) error {
	var e *fanfold.Error
	if !errors.As(err, &e) || e.Operation == nil || *e.Operation < len(j.guards) {
		return err
	}
	at := *e.Operation - len(j.guards)
	own := *e
	own.Operation, own.Message = &at, strings.TrimPrefix(e.Message, fmt.Sprintf("operation %d: ", *e.Operation))
	return fanfold.AtOperation(&own, at)
}

// errMessages is the cause of a refusal because of too many messages.
var errMessages = errors.New("too many messages for a transaction")

// again waits until what was in the way of a write is seen here.
func (s *Server) again(ctx context.Context, e *fanfold.Error) error {
	s.retries.Add(1)
	if err := ctx.Err(); err != nil {
		return fanfold.Wrap(err, fanfold.Unavailable, "what the write depends on changes too fast: try again")
	}
	if err := s.wait(ctx, uint64(e.Current), s.opt.Timeout); err != nil {
		return behind(err)
	}
	return nil
}

// lastLinks asks the log for the last link to each document that is deleted and that strict
// relations may lead to, and waits until this node shows them.
func (s *Server) lastLinks(ctx context.Context, writes []fanfold.Write) (map[fanfold.Key]uint64, error) {
	m, _, _ := s.models.Model()
	var links map[fanfold.Key]uint64
	most := uint64(0)
	for _, w := range writes {
		key := w.Event.Key
		if w.Event.Kind != fanfold.KindDelete || !m.StrictTo(key.Collection) {
			continue
		}
		seq, err := s.log.LastLink(ctx, key)
		if err != nil {
			return nil, err
		}
		if links == nil {
			links = map[fanfold.Key]uint64{}
		}
		links[key] = seq
		most = max(most, seq)
	}
	if most > s.reader.Applied() {
		if err := s.wait(ctx, most, s.opt.Timeout); err != nil {
			return nil, behind(err)
		}
	}
	return links, nil
}

// judge judges writes by one snapshot.
type judge struct {
	snap   Snapshot
	model  *fanfold.Model
	links  map[fanfold.Key]uint64
	writes []fanfold.Write               // with the conditions they need
	at     map[fanfold.Key]int           // the index of each document's write
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

func (j *judge) all() error {
	before := make([]*jsondoc.Tree, len(j.writes))
	for i := range j.writes {
		var err error
		if before[i], err = j.pin(i); err != nil {
			return fanfold.AtOperation(err, i)
		}
	}
	for i, w := range j.writes {
		if !j.document(w.Event) {
			continue
		}
		if err := j.one(i, before[i]); err != nil {
			return fanfold.AtOperation(err, i)
		}
	}
	return j.claimed()
}

// document tells whether the event is about a document, rather than a check or an import.
func (j *judge) document(ev *fanfold.Event) bool {
	return ev.Kind == fanfold.KindPut || ev.Kind == fanfold.KindPatch || ev.Kind == fanfold.KindDelete
}

// pin makes a write go by exactly the document that the snapshot has, which it returns as it is
// written, and notes what the write leaves.
func (j *judge) pin(i int) (before *jsondoc.Tree, err error) {
	w := &j.writes[i]
	ev := w.Event
	if !j.document(ev) {
		return nil, nil
	}
	j.at[ev.Key] = i
	doc, err := j.snap.Get(ev.Key, fanfold.Referenced)
	if err != nil {
		return nil, err
	}
	rev := revisionOf(doc)
	if doc == nil {
		if rev, err = j.snap.Tombstone(ev.Key); err != nil {
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
		j.after[ev.Key] = jsondoc.MustParse(ev.Body)
	case ev.Kind == fanfold.KindDelete:
		j.after[ev.Key] = nil
	case doc == nil:
		return nil, missing(ev.Key)
	default:
		body, err := ev.Patched(doc.Body)
		if err != nil {
			return nil, err
		}
		j.after[ev.Key] = jsondoc.MustParse(body)
	}
	return before, nil
}

// one judges one write.
func (j *judge) one(i int, before *jsondoc.Tree) error {
	ev := j.writes[i].Event
	after := j.after[ev.Key]
	if c := j.model.Collection(ev.Key.Collection); c != nil {
		if err := j.references(c, ev.Key, before, after); err != nil {
			return err
		}
		for _, path := range c.Unique {
			if err := j.value(i, path, before, after); err != nil {
				return err
			}
		}
	}
	if seq, held := j.links[ev.Key]; held && ev.Kind == fanfold.KindDelete {
		return j.free(ev.Key, seq)
	}
	return nil
}

// maxStrict is how many documents one may refer to strictly: dropping them all takes as many messages.
const maxStrict = 900

// references adds link events for the difference of a document's strict references.
func (j *judge) references(c *fanfold.Collection, key fanfold.Key, before, after *jsondoc.Tree) error {
	was, is := strictTargets(c, before), strictTargets(c, after)
	if len(is) > maxStrict && len(is) > len(was) {
		return fanfold.Errorf(fanfold.Unprocessable, "it would refer strictly to %d documents; at most %d are taken, so that it can be deleted in one transaction", len(is), maxStrict)
	}
	for _, t := range is {
		if slices.Contains(was, t) {
			if j.gone(t) {
				return fanfold.Errorf(fanfold.Unprocessable, "it refers to %s, which the transaction deletes, and the relation is strict", t)
			}
			continue
		}
		guard := fanfold.Write{Event: &fanfold.Event{Kind: fanfold.KindLink, Key: t, Holder: key, Held: true}}
		if _, written := j.at[t]; written {
			if j.gone(t) {
				return fanfold.Errorf(fanfold.Unprocessable, "it refers to %s, which the transaction deletes, and the relation is strict", t)
			}
		} else {
			doc, err := j.snap.Get(t, fanfold.Referenced)
			if err != nil {
				return err
			}
			if doc == nil {
				return fanfold.Errorf(fanfold.Unprocessable, "it refers to %s, which does not exist, and the relation is strict: write that one first, or in the same transaction", t)
			}
			guard.Expect = fanfold.Exactly(doc.Revision)
		}
		j.guards = append(j.guards, guard)
	}
	for _, t := range was {
		if !slices.Contains(is, t) {
			j.guards = append(j.guards, fanfold.Write{Event: &fanfold.Event{Kind: fanfold.KindLink, Key: t, Holder: key}})
		}
	}
	return nil
}

// gone tells whether the writes delete the document.
func (j *judge) gone(key fanfold.Key) bool {
	after, written := j.after[key]
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

// free makes sure that no document holds one that is deleted, and that none begins to.
func (j *judge) free(key fanfold.Key, link uint64) error {
	var held []fanfold.Problem
	for _, r := range j.model.RelationsTo(key.Collection) {
		if !r.Strict {
			continue
		}
		for after, more := int64(0), true; more && len(held) < maxNamed; {
			docs, rest, err := j.snap.Holders(r.FullName(), key.ID, after, holderPage, fanfold.Referenced)
			if err != nil {
				return err
			}
			for _, doc := range docs {
				after = doc.Number
				if left, written := j.after[doc.Key]; written && (left == nil || !slices.Contains(r.Targets(left), key.ID)) {
					continue
				}
				held = append(held, fanfold.Problem{Path: doc.Key.String(), Detail: fmt.Sprintf("refers to %s by %s, which is strict", key, r.FullName())})
			}
			more = rest
		}
	}
	if len(held) > 0 {
		e := fanfold.Errorf(fanfold.Restricted, "other documents refer to it strictly: delete them first, or take their references away")
		e.Problems = held[:min(len(held), maxNamed)]
		return e
	}
	// First of all, before the links that the same writes drop.
	check := fanfold.Write{Event: &fanfold.Event{Kind: fanfold.KindCheck, Key: key, Base: fanfold.Revision(link), Links: true}, Expect: fanfold.Exactly(fanfold.Revision(link))}
	j.guards = slices.Insert(j.guards, 0, check)
	return nil
}

// value notes what a write does to a unique value.
func (j *judge) value(i int, path fanfold.Path, before, after *jsondoc.Tree) error {
	key := j.writes[i].Event.Key
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
		c, err := j.claim(key.Collection, path.String(), is)
		if err != nil {
			return err
		}
		if c.holder != "" && c.holder != key.ID && c.index >= 0 {
			return fanfold.Errorf(fanfold.Conflict, "%s and %s/%s would both have %s %q, which is unique", key, key.Collection, c.holder, path, is[1:])
		}
		c.holder, c.index = key.ID, i
	}
	if was != "" && was != is {
		c, err := j.claim(key.Collection, path.String(), was)
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
func (j *judge) claim(collection, path, value string) (*claim, error) {
	for _, c := range j.claims {
		if c.collection == collection && c.path == path && c.value == value {
			return c, nil
		}
	}
	holder, seq, err := j.snap.Claim(collection, path, value)
	if err != nil {
		return nil, err
	}
	c := &claim{collection: collection, path: path, value: value, index: -1, was: holder, holder: holder, seq: seq}
	j.claims = append(j.claims, c)
	return c, nil
}

// claimed adds the claim events. A value that another document has is taken only where the writes
// make that one give it up.
func (j *judge) claimed() error {
	for _, c := range j.claims {
		if c.index < 0 || c.holder == c.was {
			continue
		}
		if c.holder != "" && c.was != "" {
			if err := j.givenUp(c); err != nil {
				return fanfold.AtOperation(err, c.index)
			}
		}
		ev := &fanfold.Event{Kind: fanfold.KindClaim, Key: fanfold.Key{Collection: c.collection, ID: c.holder}, Path: c.path, Value: c.value, Held: c.holder != ""}
		if c.holder == "" {
			ev.Key.ID = c.was
		}
		j.guards = append(j.guards, fanfold.Write{Event: ev, Expect: fanfold.Exactly(fanfold.Revision(c.seq))})
	}
	return nil
}

// givenUp is an error unless the writes take the value from the document that has it.
func (j *judge) givenUp(c *claim) error {
	holder := fanfold.Key{Collection: c.collection, ID: c.was}
	left, written := j.after[holder]
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
