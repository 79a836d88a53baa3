package fanfold

import (
	"slices"

	"github.com/fanfold/fanfold/internal/jsondoc"
)

// OnDelete says what happens to a holder when the relation's target is deleted.
type OnDelete string

// The delete policies.
const (
	Clear    OnDelete = "clear"    // the id stays, the copies are removed (default)
	Keep     OnDelete = "keep"     // the id stays, and so do the values that were copied last
	Unlink   OnDelete = "unlink"   // the id is removed, or the array's element that holds it
	Cascade  OnDelete = "cascade"  // the holder is deleted too
	Restrict OnDelete = "restrict" // the target cannot be deleted
)

// AffectsHolders tells whether a delete of the target deletes its holders, changes them, or is refused because of them.
func (d OnDelete) AffectsHolders() bool { return d == Unlink || d == Cascade || d == Restrict }

// Relation says where the documents of one collection hold ids of another's.
type Relation struct {
	Name       string
	Collection string // whose documents hold the ids
	Path       Path
	To         string
	OnDelete   OnDelete
	Strict     bool // targets must exist when they are referred to, and cannot be deleted while they are
	PageSize   int  // the documents that refer to one target are in fixed pages of so many; 0 for no pages

	full string // what FullName returns, set by Model.Index
}

// FullName returns "<collection>.<relation>", the name that derived fields of the target use.
func (r *Relation) FullName() string {
	if r.full == "" {
		return r.Collection + "." + r.Name
	}
	return r.full
}

// SameIDs tells whether both relations find the same ids in any document.
func (r *Relation) SameIDs(o *Relation) bool {
	return r.FullName() == o.FullName() && r.Path.String() == o.Path.String()
}

func (r *Relation) strict() bool { return r.Strict }

// Targets returns the distinct ids to which a document refers by the relation, in document order.
func (r *Relation) Targets(t *jsondoc.Tree) []string {
	ids := r.Path.AppendIDs(nil, t, jsondoc.Root)
	if len(ids) < 2 {
		return ids
	}
	if len(ids) <= 8 {
		out := ids[:0]
		for _, id := range ids {
			if !slices.Contains(out, id) {
				out = append(out, id)
			}
		}
		return out
	}
	seen := make(map[string]bool, len(ids))
	return slices.DeleteFunc(ids, func(id string) bool {
		dup := seen[id]
		seen[id] = true
		return dup
	})
}
