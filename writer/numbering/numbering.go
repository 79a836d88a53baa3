// Package numbering gives numbers to the documents that writes create, in the order of the writes. Documents keep them.
package numbering

import (
	"encoding/json"
	"slices"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/internal/jsondoc"
	"github.com/fanfold/fanfold/internal/sequence"
	"github.com/fanfold/fanfold/model"
)

// Counters reads the last numbers of sequences.
type Counters interface {
	// Sequence returns the last number that a counter gave, and the event that says so; both are 0 where it has given none.
	Sequence(collection, key string) (last, seq uint64, err error)
}

// Giver gives numbers to writes that are stored at once. One event for each counter says which number was the last. It requires the
// counter's event before, so that no two nodes give a number twice. If writes are refused, the others are given theirs anew.
type Giver struct {
	Counters Counters
	Check    func(collection string, body []byte) error // of a document with its numbers
	Restore  bool                                       // documents come with their numbers, which the counters do not fall short of
	Planned  bool                                       // new documents come with numbers that a Giver has given them before
	used     map[counterName]*counter
	order    []*counter
}

// counterName names a counter.
type counterName struct{ collection, path, key string }

// counter is a counter that writes use.
type counter struct {
	counterName

	last, was uint64 // number
	seq       uint64 // the last event about it
	actor     string // of the first write
}

// counter returns the counter of a sequence for a value of per.
func (n *Giver) counter(c *model.Collection, s *model.Sequence, per, actor string) (*counter, error) {
	name := counterName{c.Name, s.Path.String(), s.Key(per)}
	if known := n.used[name]; known != nil {
		return known, nil
	}
	last, seq, err := n.Counters.Sequence(name.collection, name.key)
	if err != nil {
		return nil, err
	}
	one := &counter{name, last, last, seq, actor}
	if n.used == nil {
		n.used = map[counterName]*counter{}
	}
	n.used[name], n.order = one, append(n.order, one)
	return one, nil
}

// Put returns the event of a put with the numbers that its document gets, or has already in before, which may be nil. The error is
// Unprocessable.
func (n *Giver) Put(c *model.Collection, ev *fanfold.Event, before *fanfold.Document) (*fanfold.Event, error) {
	if !c.Numbers() {
		return ev, nil
	}
	body := ev.Body
	for _, s := range c.Sequences {
		t := jsondoc.MustParse(body)
		value, err := n.valueFor(c, s, ev, t, before)
		if err == nil && value != nil {
			body, err = s.With(t, body, value)
		}
		if err != nil {
			return nil, err
		}
	}
	if len(body) == len(ev.Body) { // numbers only come to it
		return ev, nil
	}
	if err := n.Check(c.Name, body); err != nil {
		return nil, err
	}
	numbered := *ev
	numbered.Body = body
	return &numbered, nil
}

// valueFor returns the JSON that a put lacks at a sequence's path, nil for nothing. The error is Unprocessable.
func (n *Giver) valueFor(c *model.Collection, s *model.Sequence, ev *fanfold.Event, t *jsondoc.Tree, before *fanfold.Document) ([]byte, error) {
	is := s.Path.Lookup(t, jsondoc.Root)
	switch {
	case n.Restore && is != jsondoc.None:
		return nil, n.raise(c, s, ev, t)
	case before != nil:
		was := jsondoc.MustParse(before.Body)
		at := s.Path.Lookup(was, jsondoc.Root)
		if is == jsondoc.None && at != jsondoc.None {
			return was.Raw(at), sameCounter(s, was, t)
		}
		return nil, unchangedNumber(s, was, t)
	case n.Restore:
		return nil, nil
	case n.Planned && is != jsondoc.None:
		return nil, n.take(c, s, ev, t)
	case is != jsondoc.None:
		return nil, &fanfold.Error{Code: fanfold.Unprocessable, Message: "the document has a number that the store gives: leave it out; with restore=true, an import keeps it",
			Problems: []fanfold.Problem{{Path: s.Path.Pointer(), Detail: "is given when the document is created"}}}
	}
	return n.next(c, s, ev, t)
}

// next returns the next number of a sequence for a document that is created. The error is Unprocessable.
func (n *Giver) next(c *model.Collection, s *model.Sequence, ev *fanfold.Event, t *jsondoc.Tree) ([]byte, error) {
	per, ok := s.PerOf(t)
	if !ok {
		return nil, fanfold.Errorf(fanfold.Unprocessable, "no number can be given at %s: its per, %s, has no value that is a number or a text of at most %d bytes", s.Path, s.Per, sequence.MaxPer)
	}
	one, err := n.counter(c, s, per, ev.Actor)
	if err != nil {
		return nil, err
	}
	number := max(one.last+1, s.Start)
	if number > sequence.MaxNumber {
		return nil, fanfold.Errorf(fanfold.Unprocessable, "no number can be given at %s: the last one was %d, the greatest that there is", s.Path, one.last)
	}
	one.last = number
	return s.Format.Value(number, per), nil
}

// raise has the counter not fall short of the number that a document comes with.
func (n *Giver) raise(c *model.Collection, s *model.Sequence, ev *fanfold.Event, t *jsondoc.Tree) error {
	number, per, ok := s.NumberIn(t)
	if !ok { // it was there before the sequence
		return nil
	}
	one, err := n.counter(c, s, per, ev.Actor)
	if err == nil {
		one.last = max(one.last, number)
	}
	return err
}

// take has the counter go on after a number that was planned. The error is Stale where the counter has given it meanwhile.
func (n *Giver) take(c *model.Collection, s *model.Sequence, ev *fanfold.Event, t *jsondoc.Tree) error {
	number, per, ok := s.NumberIn(t)
	if !ok {
		return fanfold.Errorf(fanfold.Internal, "the number at %s that was planned for %s cannot be read", s.Path, ev.Key)
	}
	one, err := n.counter(c, s, per, ev.Actor)
	if err != nil {
		return err
	}
	if number <= one.was {
		return &fanfold.Error{Code: fanfold.Stale, Message: "the number was given meanwhile", Current: fanfold.Revision(one.seq)}
	}
	one.last = max(one.last, number)
	return nil
}

// Undo returns what takes back the numbers that are given from now on.
func (n *Giver) Undo() (undo func()) {
	was := make([]uint64, len(n.order))
	for i, one := range n.order {
		was[i] = one.last
	}
	return func() {
		for i, one := range n.order {
			if one.last = one.was; i < len(was) {
				one.last = was[i]
			}
		}
	}
}

// Events returns the events of the counters that have moved, and the conditions under which they may.
func (n *Giver) Events() (events []fanfold.Write) {
	for _, one := range n.order {
		if one.last == one.was {
			continue
		}
		ev := &fanfold.Event{Kind: fanfold.KindSequence, Key: fanfold.Key{Collection: one.collection}, Path: one.path, Value: one.key, Actor: one.actor}
		setGiven(ev, fanfold.GivenNumbers{Last: one.last})
		events = append(events, fanfold.Write{Event: ev, Expect: fanfold.Exactly(fanfold.Revision(one.seq))})
	}
	return events
}

// setGiven sets what a sequence event says.
func setGiven(ev *fanfold.Event, given fanfold.GivenNumbers) { ev.Body, _ = json.Marshal(given) }

// TellRest has the sequence events among writes that are stored at once tell how many follow them.
func TellRest(writes []fanfold.Write) []fanfold.Write {
	for i, write := range writes {
		if write.Event.Kind == fanfold.KindSequence {
			given, _ := write.Event.Given()
			given.Rest = len(writes) - 1 - i
			setGiven(write.Event, given)
		}
	}
	return writes
}

// Unchanged returns an Unprocessable where a document would have another number than before, or one of another counter.
func Unchanged(c *model.Collection, before, after []byte) error {
	if !c.Numbers() {
		return nil
	}
	was, is := jsondoc.MustParse(before), jsondoc.MustParse(after)
	for _, s := range c.Sequences {
		if err := unchangedNumber(s, was, is); err != nil {
			return err
		}
	}
	return nil
}

// unchangedNumber does what Unchanged does for one sequence.
func unchangedNumber(s *model.Sequence, was, is *jsondoc.Tree) error {
	before, after := s.Path.Lookup(was, jsondoc.Root), s.Path.Lookup(is, jsondoc.Root)
	if before == jsondoc.None && after == jsondoc.None {
		return nil
	}
	if before != jsondoc.None && after != jsondoc.None && jsondoc.Equal(was.Raw(before), is.Raw(after)) {
		return sameCounter(s, was, is)
	}
	detail := "has no number, because it is from before the sequence"
	if before != jsondoc.None {
		detail = "is " + string(was.Raw(before)) + ", which stays as it is: leave it out"
	}
	return &fanfold.Error{Code: fanfold.Unprocessable, Message: "the document's number is given by the store, once", Problems: []fanfold.Problem{{Path: s.Path.Pointer(), Detail: detail}}}
}

// sameCounter returns an Unprocessable where a document with a number goes over to another counter, which may have given the number, too.
func sameCounter(s *model.Sequence, was, is *jsondoc.Tree) error {
	if s.Per == "" {
		return nil
	}
	after, has := s.PerOf(is)
	before, had := s.PerOf(was)
	if !has || had && before == after {
		return nil
	}
	if !had {
		return fanfold.Errorf(fanfold.Unprocessable, "the document has a number at %s and no value of its per, %s, any more, so it gets none: %q may be another than the number was given for", s.Path, s.Per, after)
	}
	return fanfold.Errorf(fanfold.Unprocessable, "the number at %s was given for another value of its per, %s, than %q: that value stays as it is", s.Path, s.Per, after)
}

// Any returns a document with numbers, some or other, where it may get some: what it causes is estimated.
func Any(c *model.Collection, body []byte) []byte {
	if !c.Numbers() {
		return body
	}
	for _, s := range c.Sequences {
		t := jsondoc.MustParse(body)
		per, _ := s.PerOf(t)
		if s.Path.Lookup(t, jsondoc.Root) == jsondoc.None {
			if with, err := s.With(t, body, s.Format.Value(sequence.MaxNumber, per)); err == nil {
				body = with
			}
		}
	}
	return body
}

// CheckPatch returns an Unprocessable for a patch that names the member of a sequence, or a part of it. ops has the operations of a JSON Patch.
func CheckPatch(c *model.Collection, ev *fanfold.Event, ops []jsondoc.Operation) error {
	if !c.Numbers() {
		return nil
	}
	for _, s := range c.Sequences {
		named := ev.Merges() && s.Path.Lookup(jsondoc.MustParse(ev.Body), jsondoc.Root) != jsondoc.None
		for _, op := range ops {
			writes := op.Op != "test" && within(op.Path, s.Path)
			named = named || writes || op.Op == "move" && within(op.From, s.Path)
		}
		if named {
			return &fanfold.Error{Code: fanfold.Unprocessable, Message: "the patch names a number that the store gives", Problems: []fanfold.Problem{{Path: s.Path.Pointer(), Detail: "stays as it is"}}}
		}
	}
	return nil
}

// within tells whether the names of a pointer lead to the member at a path without arrays, or into it.
func within(names []string, path model.Path) bool {
	return len(names) >= len(path) && slices.EqualFunc(names[:len(path)], path, func(name string, step model.Step) bool { return name == step.Name })
}
