package fold

import "github.com/fanfold/fanfold/sqlite"

// holderCheck remembers whether any document refers to a target by a relation.
type holderCheck struct {
	relation, target string
	found            bool
}

// knownHolders finds the documents that refer to one, and remembers those asked for last: several rules ask for them, one after the other.
type knownHolders struct {
	*folding

	check holderCheck
	last  [8]targetHolders
	next  int // of last that makes room for another
}

// forget forgets what it remembers, because links change.
func (hs *knownHolders) forget() {
	hs.check = holderCheck{}
	for i := range hs.last {
		hs.last[i].relation = ""
	}
}

// has returns whether any document refers to a target. It is asked after an event has changed the links, for one
// rule of a relation after the other.
func (hs *knownHolders) has(relation, target string) (bool, error) {
	if h := hs.check; h.relation == relation && h.target == target {
		return h.found, nil
	}
	held, err := hs.tx.Links.HasHolders(relation, target)
	hs.check = holderCheck{relation, target, held && err == nil}
	return held, err
}

// fewHolders is how many documents that refer to a target are remembered.
const fewHolders = 256

// targetHolders are the documents that refer to a target by a relation, where they are few.
type targetHolders struct {
	relation, target string
	numbers          []int64 // the first fewHolders+1
}

// some returns the numbers of the documents that refer to a target, in order of creation, the first limit of them at least; all
// tells whether these are all. The caller must not change them, and they are valid until it is asked for other ones.
func (hs *knownHolders) some(relation, target string, limit int) (numbers []int64, all bool, err error) {
	h, err := hs.of(relation, target)
	if err != nil {
		return nil, false, err
	}
	if all = len(h.numbers) <= fewHolders; all || limit >= 0 && limit <= len(h.numbers) {
		return h.numbers, all, nil
	}
	numbers, err = hs.tx.Links.Holders(nil, relation, target, limit)
	return numbers, limit < 0 || len(numbers) < limit, err
}

// of returns what is remembered of a target, which is read where it is not.
func (hs *knownHolders) of(relation, target string) (h *targetHolders, err error) {
	for i := range hs.last {
		if h = &hs.last[i]; h.relation == relation && h.target == target {
			return h, nil
		}
	}
	h = &hs.last[hs.next]
	hs.next = (hs.next + 1) % len(hs.last)
	h.relation = ""
	if h.numbers, err = hs.tx.Links.Holders(h.numbers[:0], relation, target, fewHolders+1); err == nil {
		h.relation, h.target = relation, target
	}
	return h, err
}

// count returns how many documents refer to a target.
func (hs *knownHolders) count(relation, target string) (int64, error) {
	if numbers, all, err := hs.some(relation, target, 0); err != nil || all {
		return int64(len(numbers)), err
	}
	return hs.tx.Links.CountHolders(relation, target, -1)
}

// ofLevel appends the numbers of the documents that refer to the targets of a level's copies.
func (hs *knownHolders) ofLevel(numbers []int64, l *level) ([]int64, error) {
	seen := map[sqlite.Link]bool{}
	for r, ids := range l.targets {
		for id := range ids {
			link := sqlite.Link{Relation: r.RelationName, Target: id}
			if seen[link] {
				continue
			}
			seen[link] = true
			holders, _, err := hs.some(link.Relation, id, -1)
			if err != nil {
				return nil, err
			}
			numbers = append(numbers, holders...)
		}
	}
	return numbers, nil
}
