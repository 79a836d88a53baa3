package events

import (
	"bytes"
	"cmp"
	"slices"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/internal/jsondoc"
)

// An erase event holds what stands for its messages. Of a document with erased members that is all that remained of it, and a later erasure may erase
// that, too. Then the later one takes over the whole list of the earlier event, and lists the event itself: an empty list stands for it.

// lossPrefix is how the payload of an event begins that says what the log may lose.
var lossPrefix = []byte(`{"v":3,"op":"`)

// takeOver lists the erase events that hold something of what is to be erased, and, before them, whatever else these list. It is called once
// everything else is found. The error is Conflict for more than the log's erase events may have.
func (s *search) takeOver() error {
	found := make(map[uint64]bool, len(s.found))
	last := -1 // the last document that is listed anyway
	for _, f := range s.found {
		found[f.Seq], last = true, max(last, f.document)
	}
	for _, d := range s.docs {
		if d.base {
			last = max(last, d.index)
		}
	}
	var taken []*fanfold.Event
	for _, ev := range s.erases {
		held, document := s.heldBy(ev, found)
		if held {
			taken, last = append(taken, ev), max(last, document)
		}
	}
	if last < 0 {
		last = len(s.docs) - 1
	}
	for _, ev := range taken {
		if err := s.takeOverFrom(ev, found, last); err != nil {
			return err
		}
	}
	return nil
}

// heldBy tells whether an erase event holds something of what is to be erased. It may stand for a message that is found. Or it is of a document that is
// searched for, whose index is returned, or -1. It holds also what a later event lists again.
func (s *search) heldBy(ev *fanfold.Event, found map[uint64]bool) (held bool, document int) {
	document = -1
	begun := len(found) > 0 || s.c.Of != 0
	for i := range ev.Loss.List.Messages {
		m := &ev.Loss.List.Messages[i]
		if doc := s.holding(m); doc >= 0 {
			held, document = true, max(document, doc)
		}
		held = held || found[m.Seq] || begun && s.isListedAfter(m.Seq, ev.Seq)
	}
	return held, document
}

// isListedAfter tells whether an erase event after one lists a message.
func (s *search) isListedAfter(message, erasure uint64) bool {
	_, by := s.log.prefix.losses.get().find(message, ^fanfold.AsOf(0))
	return uint64(by) > erasure
}

// holding returns the index of the document whose content a substitute has that is to be erased, -1 for none. A message from before the log's base has one, too.
func (s *search) holding(m *fanfold.Substitute) int {
	doc := s.bySubject[m.Subject]
	keeps := s.c.Copies != nil && bytes.Contains(m.Payload, []byte(`"kept":`))
	if m.Claim || doc == nil && !keeps {
		return -1
	}
	ev, err := s.decoder.decode(messageOf(m, s.log.sub, 0))
	if err != nil {
		return len(s.docs) - 1 // nobody can read it
	}
	has := false
	switch {
	case ev.Kind == fanfold.KindPut:
		has = doc != nil && !bytes.Equal(s.without(doc, ev.Body), ev.Body) || !bytes.Equal(s.keptWithout(ev.Key.Collection, ev), ev.Kept)
	case ev.Kind == fanfold.KindPatch && doc != nil:
		has = doc.Members == nil || patchTouches(ev, doc.Members)
	}
	switch {
	case !has:
		return -1
	case doc == nil:
		return len(s.docs) - 1
	}
	return doc.index
}

// takeOverFrom adds the messages of an erase event that no other one lists, and then the event, to what is found with a document.
func (s *search) takeOverFrom(ev *fanfold.Event, found map[uint64]bool, document int) error {
	base := s.log.prefix.Base().Seq
	add := func(m fanfold.Substitute) error {
		s.found = append(s.found, foundMessage{document: document, taken: true, Substitute: m})
		s.bytes += len(m.Payload) + len(m.Subject)
		return s.log.prefix.losses.mayErase(s.bytes)
	}
	for _, m := range ev.Loss.List.Messages {
		if m.Seq <= base || found[m.Seq] || s.isListedAfter(m.Seq, ev.Seq) {
			continue
		}
		if err := add(m); err != nil {
			return err
		}
	}
	emptied := *ev.Loss.List
	emptied.Messages, emptied.Taken, emptied.Left = nil, 0, ev.Loss.List.Events()
	return add(fanfold.Substitute{Seq: ev.Seq, Time: ev.Time, Subject: s.log.sub.erase(), Tx: ev.Tx, Actor: ev.Actor, Payload: encodeLoss(&fanfold.Loss{List: &emptied})})
}

// takeOver takes note of what stands for erase events that later ones have taken over. It takes the place of events that are gone, or
// were taken over up to an erasure.
func (t *lossTable) takeOver(upTo fanfold.AsOf) {
	stands := map[uint64]notedErasure{}
	for i := range t.noted {
		for j := range t.noted[i].Messages {
			m := &t.noted[i].Messages[j]
			at, known := slices.BinarySearchFunc(t.noted, m.Seq, func(n notedErasure, seq uint64) int { return cmp.Compare(n.Seq, seq) })
			if !bytes.HasPrefix(m.Payload, lossPrefix) || known && (fanfold.AsOf(t.noted[i].Seq) > upTo || len(t.noted[at].Messages) == 0) {
				continue
			}
			ev, tree := fanfold.Event{Seq: m.Seq}, jsondoc.Tree{}
			if decode(&tree, m.Subject, bytes.Clone(m.Payload), &ev) == nil && ev.Loss.Lists() {
				stands[m.Seq] = notedErasure{NotedErasure{m.Seq, ev.Loss.List}, len(m.Payload)}
			}
		}
	}
	if len(stands) == 0 {
		return
	}
	kept := slices.DeleteFunc(slices.Clone(t.noted), func(n notedErasure) bool {
		_, replaced := stands[n.Seq]
		return replaced
	})
	for _, n := range stands {
		kept = append(kept, n)
	}
	slices.SortFunc(kept, func(a, b notedErasure) int { return cmp.Compare(a.Seq, b.Seq) })
	t.noted, t.bytes = kept, 0
	for _, n := range kept {
		t.bytes += n.bytes
	}
}
