package fold

import "github.com/fanfold/fanfold/sqlite"

// Several rules ask for the documents that refer to one, one after the other.

// holderCheck remembers whether any document refers to a target by a relation.
type holderCheck struct {
	relation, target string
	found            bool
}

// hasHolders returns whether any document refers to a target. It is asked after an event has changed the links, for one
// rule of a relation after the other.
func (f *Fold) hasHolders(relation, target string) (bool, error) {
	if h := f.holderCheck; h.relation == relation && h.target == target {
		return h.found, nil
	}
	held, err := f.tx.Links.HasHolders(relation, target)
	f.holderCheck = holderCheck{relation, target, held && err == nil}
	return held, err
}

// fewHolders is how many documents that refer to a target are remembered.
const fewHolders = 256

// knownHolders remembers the documents that refer to a target by a relation, where they are few.
type knownHolders struct {
	relation, target string
	numbers          []int64 // the first fewHolders+1
}

// someHolders returns the numbers of the documents that refer to a target, in order of creation, the first limit of them at least; all
// tells whether these are all. The caller must not change them.
func (f *Fold) someHolders(relation, target string, limit int) (numbers []int64, all bool, err error) {
	h := &f.holders
	if h.relation != relation || h.target != target {
		*h = knownHolders{}
		numbers, err := f.tx.Links.Holders(nil, relation, target, fewHolders+1)
		if err != nil {
			return nil, false, err
		}
		*h = knownHolders{relation, target, numbers}
	}
	if all = len(h.numbers) <= fewHolders; all || limit >= 0 && limit <= len(h.numbers) {
		return h.numbers, all, nil
	}
	numbers, err = f.tx.Links.Holders(nil, relation, target, limit)
	return numbers, limit < 0 || len(numbers) < limit, err
}

// countHolders returns how many documents refer to a target.
func (f *Fold) countHolders(relation, target string) (int64, error) {
	if numbers, all, err := f.someHolders(relation, target, 0); err != nil || all {
		return int64(len(numbers)), err
	}
	return f.tx.Links.CountHolders(relation, target, -1)
}

// holdersOf appends the numbers of the documents that refer to the targets of a level's copies.
func (f *Fold) holdersOf(numbers []int64, l *level) ([]int64, error) {
	seen := map[sqlite.Link]bool{}
	for r, ids := range l.targets {
		for id := range ids {
			link := sqlite.Link{Relation: r.RelationName, Target: id}
			if seen[link] {
				continue
			}
			seen[link] = true
			holders, _, err := f.someHolders(link.Relation, id, -1)
			if err != nil {
				return nil, err
			}
			numbers = append(numbers, holders...)
		}
	}
	return numbers, nil
}
