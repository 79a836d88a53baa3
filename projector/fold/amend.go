package fold

import (
	"bytes"
	"maps"
	"slices"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/internal/jsondoc"
	"github.com/fanfold/fanfold/internal/skeleton"
	"github.com/fanfold/fanfold/model"
	"github.com/fanfold/fanfold/sqlite"
)

// amendment is what Amend does to the state of a base. Values that stay on documents are not made of what is there now. Those that may be made of
// what is erased are dropped, and taken again from what is left.
type amendment struct {
	f       *Fold
	last    uint64                 // event that was made up
	dropped map[droppedValues]bool // whose values were dropped, or are none
	holders map[int64]bool         // documents, by number, that lost a value
	leads   map[*Rule]bool         // whether values of a rule can come to stay on documents
	members map[*Rule]map[string]bool
	erased  bool // whether all documents are: before that, one could take a value of another that goes
}

// droppedValues are the values of one target that stay on documents by a rule.
type droppedValues struct{ rule, target string }

// Amend erases documents from the state of a base, on which nothing is folded yet, under the model of the base. Each document that is there
// becomes its skeleton, and nothing else has what is erased. It is for sqlite.DB.Amend, which takes back what only a write leaves. Errors are the read
// model's, and Invalid for paths that cannot be.
func (f *Fold) Amend(tx *sqlite.Tx, erasures []*fanfold.Erasure) error {
	a := &amendment{f: f, last: tx.Checkpoint().Seq, dropped: map[droppedValues]bool{}, holders: map[int64]bool{}, leads: map[*Rule]bool{}, members: map[*Rule]map[string]bool{}}
	f.begin(tx, &fanfold.Event{Seq: a.last})
	f.amending = a
	defer func() { f.amending = nil }()
	for _, e := range erasures {
		for _, d := range e.Documents {
			if err := a.drop(d.Key, f.plan.Collection(d.Collection).following(d.Members)); err != nil {
				return err
			}
		}
	}
	for _, e := range erasures {
		for _, d := range e.Documents {
			if err := a.erase(d, e.Keep[d.Collection]); err != nil {
				return err
			}
		}
	}
	if err := a.rewrite(); err != nil { // no view shows a dropped value any more, whichever document another takes one from
		return err
	}
	a.erased = true
	return a.rewrite()
}

// rewrite writes the documents that lost a value as they are.
func (a *amendment) rewrite() error {
	for _, number := range slices.Sorted(maps.Keys(a.holders)) {
		row, err := a.f.tx.Documents.ByNumber(number)
		if err != nil {
			return err
		}
		if row == nil {
			continue
		}
		if err := a.write(row.Key, row.ReferencedText()); err != nil {
			return err
		}
	}
	return nil
}

// following returns the top-level members of a document that may be made of what JSON Pointers lead to; nil for no pointers, which is any.
func (c *Collection) following(pointers []string) map[string]bool {
	if pointers == nil {
		return nil
	}
	members := map[string]bool{}
	for _, p := range pointers {
		members[jsondoc.PointerTokens(p)[0]] = true
	}
	c.addFollowing(members)
	return members
}

// erase makes a document its skeleton, where it is there.
func (a *amendment) erase(d fanfold.ErasedDocument, keep []string) error {
	row, err := a.f.tx.Documents.Get(d.Key)
	if err != nil || row == nil {
		return err
	}
	source := row.ReferencedText()
	var after []byte
	if d.Members != nil {
		after = skeleton.Without(source, d.Members)
	} else {
		paths, err := skeleton.Paths(keep)
		if err != nil {
			return err
		}
		after = skeleton.Of(source, paths)
	}
	if bytes.Equal(source, after) {
		return nil
	}
	return a.write(d.Key, after)
}

// write folds a write of a document that is there.
func (a *amendment) write(key fanfold.Key, source []byte) error {
	a.last++
	return a.f.Apply(a.f.tx, &fanfold.Event{Kind: fanfold.KindPut, Seq: a.last, Key: key, Body: bytes.Clone(source)})
}

// drop drops the values that stay on documents and are made of one, or of others that show it. changed names the members that count, nil any.
func (a *amendment) drop(key fanfold.Key, changed map[string]bool) error {
	f := a.f
	for _, k := range f.plan.Retired { // nobody knows what they read
		if k.To == key.Collection {
			if err := f.tx.KeptValues.Remove(k.Name(), key.ID, 0); err != nil {
				return err
			}
		}
	}
	for _, r := range f.plan.Rules {
		if r.Kind == model.Copy && r.Relation.To == key.Collection && r.ReadsAny(changed) {
			if err := a.dropCopies(r, key); err != nil {
				return err
			}
		}
	}
	for _, r := range f.plan.Collection(key.Collection).Counters {
		links := r.Where == "" && (r.Kind == model.Count || r.Kind == model.IDs) // which stay
		if !links && a.leadsOn(r) && r.ReadsAny(changed) {
			if err := a.dropCounted(r, key); err != nil {
				return err
			}
		}
	}
	return f.ended()
}

// dropCopies drops what stays on documents by a copy rule of one target, and goes on to those that show it.
func (a *amendment) dropCopies(r *Rule, target fanfold.Key) error {
	at := droppedValues{r.FullName, target.ID}
	if a.dropped[at] || !r.KeepsValues() && !a.leadsOn(r) {
		return nil
	}
	a.dropped[at] = true
	var holders []int64
	var err error
	if r.KeepsValues() {
		if holders, err = a.f.tx.KeptValues.Holders(r.FullName, target.ID); err != nil {
			return err
		}
		for _, number := range holders {
			a.holders[number] = true
		}
		if err := a.f.tx.KeptValues.Remove(r.FullName, target.ID, 0); err != nil {
			return err
		}
	}
	if !a.leadsOn(r) {
		return nil
	}
	if holders, err = a.f.tx.Links.Holders(holders, r.RelationName, target.ID, -1); err != nil {
		return err
	}
	for _, number := range holders {
		row, err := a.f.tx.Documents.ByNumber(number)
		if err == nil && row != nil {
			err = a.drop(row.Key, a.membersOf(r))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// dropCounted goes on to the documents on which a rule shows what a document enters.
func (a *amendment) dropCounted(r *Rule, key fanfold.Key) error {
	row, err := a.f.tx.Documents.Get(key)
	if err != nil || row == nil {
		return err
	}
	for _, id := range r.Relation.Targets(jsondoc.MustParse(row.Body)) {
		at := droppedValues{r.FullName, id}
		if a.dropped[at] {
			continue
		}
		a.dropped[at] = true
		if err := a.drop(fanfold.Key{Collection: r.Collection, ID: id}, a.membersOf(r)); err != nil {
			return err
		}
	}
	return nil
}

// membersOf returns the top-level members of a document that may change where a value of a rule does.
func (a *amendment) membersOf(r *Rule) map[string]bool {
	if a.members[r] == nil {
		members := r.TopMembers()
		a.f.plan.Collection(r.Collection).addFollowing(members)
		a.members[r] = members
	}
	return a.members[r]
}

// leadsOn returns whether values that stay on documents can be made of a rule's.
func (a *amendment) leadsOn(r *Rule) bool {
	leads, known := a.leads[r]
	if known {
		return leads
	}
	a.leads[r] = false
	p, members := a.f.plan, a.membersOf(r)
	leads = slices.ContainsFunc(p.Retired, func(k model.KeepingRule) bool { return k.To == r.Collection })
	for _, next := range p.Rules {
		switch {
		case leads:
		case next.Relation == nil || !next.ReadsAny(members):
		case next.Kind == model.Copy && next.Relation.To == r.Collection:
			leads = next.KeepsValues() || a.leadsOn(next)
		case next.Kind != model.Copy && next.Relation.Collection == r.Collection:
			leads = a.leadsOn(next)
		}
	}
	a.leads[r] = leads
	return leads
}

// freezes returns whether a document may take a frozen value of a target. While a base is amended it may only replace a dropped value,
// and only once nothing is there that goes.
func (a *amendment) freezes(r *Rule, target string) bool {
	return a == nil || a.erased && a.dropped[droppedValues{r.FullName, target}]
}
