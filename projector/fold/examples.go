package fold

import (
	"bytes"
	"slices"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/model"
)

// Examples gathers some of the derived changes that events cause, in the order of the feed. It has no part in what the fold
// writes. A change that is longer than all examples together may be is never one of them.
type Examples struct {
	sample model.Sample
	first  []sizedExample // of some rule
	others []sizedExample
	rules  map[string]bool // that have one in first
}

// sizedExample is an example with its length as JSON.
type sizedExample struct {
	model.Example
	size int
}

// NewExamples returns what gathers the examples of a sample.
func NewExamples(sample model.Sample) *Examples {
	return &Examples{sample: sample, rules: map[string]bool{}}
}

// room returns how many changes of a collection by these rules it may still take; of none it is for a nil.
func (e *Examples) room(collection string, rules []string) int {
	if e == nil || e.sample.Most == 0 || e.sample.Reads != nil && !e.sample.Reads(collection) {
		return 0
	}
	room := e.sample.Most - len(e.others)
	if e.showsMore(rules) {
		room++
	}
	return room
}

// showsMore tells whether a change by these rules is the first of one of them, and is to be kept as such.
func (e *Examples) showsMore(rules []string) bool {
	return len(e.first) < e.sample.Most && slices.ContainsFunc(rules, func(rule string) bool { return !e.rules[rule] })
}

// add takes a change where there is room for it.
func (e *Examples) add(key fanfold.Key, d *Difference) {
	if e.room(key.Collection, d.Rules) == 0 || len(d.ops) > model.MaxExampleBytes {
		return
	}
	x := sizedExample{Example: model.Example{Key: key, Rules: slices.Clone(d.Rules), Patch: append(bytes.Clone(d.ops), ']')}}
	if x.size = x.Size(); x.size > model.MaxExampleBytes {
		return
	}
	if !e.showsMore(d.Rules) {
		e.others = append(e.others, x)
		return
	}
	e.first = append(e.first, x)
	for _, rule := range d.Rules {
		e.rules[rule] = true
	}
}

// List returns the examples: the first change of each rule, then the other changes. One that the bounds leave no room for is
// passed over. It returns nil of a nil.
func (e *Examples) List() (list []model.Example) {
	if e == nil {
		return nil
	}
	left := model.MaxExampleBytes
	for _, x := range slices.Concat(e.first, e.others) {
		if len(list) < e.sample.Most && x.size <= left {
			list, left = append(list, x.Example), left-x.size
		}
	}
	return list
}

// showHolders shows the changes that set-oriented SQL makes of the documents that refer to a target, in order of creation.
func (f *Fold) showHolders(c *Collection, relation, target string, d *Difference) error {
	room := f.opt.Examples.room(c.Name, d.Rules)
	if room == 0 {
		return nil
	}
	holders, err := f.tx.Links.Holders(nil, relation, target, room)
	if err != nil {
		return err
	}
	for _, number := range holders {
		row, err := f.tx.Documents.ByNumber(number)
		if err != nil {
			return err
		}
		f.opt.Examples.add(row.Key, d)
	}
	return nil
}
