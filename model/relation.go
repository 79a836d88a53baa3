package model

import (
	"slices"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/internal/jsondoc"
)

// OnDelete says what happens to a holder, a document that refers to another, when that other, the target, is deleted.
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

// Relation says where the documents of one collection, the holders, have ids of documents of another one, the targets. Rules go
// along it in either direction: a holder shows copies of its targets, and a target shows how many holders it has, or which. A target
// need not exist, unless the relation is strict. An id that comes before its document finds it later.
type Relation struct {
	Name       string
	Collection string // whose documents hold the ids
	Path       Path
	To         string
	OnDelete   OnDelete
	Strict     bool // targets must exist when they are referred to, and cannot be deleted while they are
	PageSize   int  // the documents that refer to one target are in fixed pages of so many; 0 for no pages

	// IDRules lists the rules that own a member on Path, which is then one over derived ids. It is nil where ids are written.
	IDRules []*Rule
	// Origins lists the rules that derived ids may depend on: IDRules, and all that these depend on.
	Origins []*Rule
	// Level is the level of the rules at which derived ids are final; 0 of a relation over written ids.
	Level int

	full string // what FullName returns, set by Model.Index
}

// FullName returns "<collection>.<relation>", the name that derived fields of the target use.
func (r *Relation) FullName() string {
	if r.full == "" {
		return r.Collection + "." + r.Name
	}
	return r.full
}

func (r *Relation) strict() bool { return r.Strict }

// HoldsTarget tells whether the target cannot be deleted while a holder stays as it is. The delete policy may say so, or
// the relation is strict and its delete policy leaves the reference.
func (r *Relation) HoldsTarget() bool {
	return r.OnDelete == Restrict || r.Strict && r.OnDelete != Unlink && r.OnDelete != Cascade
}

// Derived tells whether rules give the ids, or some of them, so that they stand in a document's embedded view.
func (r *Relation) Derived() bool { return len(r.IDRules) > 0 }

// View returns the view of a document in which its ids stand.
func (r *Relation) View() fanfold.View {
	if r.Derived() {
		return fanfold.Embedded
	}
	return fanfold.Referenced
}

// Crowded tells whether a document holds more derived ids than a relation takes. No write can be refused for that, so the
// document refers to nothing by the relation.
func (r *Relation) Crowded(t *jsondoc.Tree) bool {
	return r.Derived() && len(r.Path.AppendIDs(nil, t, jsondoc.Root)) > MaxDerivedIDs
}

// Targets returns the distinct ids to which a document refers by the relation, in document order. t is the document's view
// that View names; of written ids the embedded one will do. There are none where the document is Crowded.
func (r *Relation) Targets(t *jsondoc.Tree) []string {
	ids := r.Path.AppendIDs(nil, t, jsondoc.Root)
	if r.Derived() && len(ids) > MaxDerivedIDs {
		return nil
	}
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

// PageQuery asks for one of the fixed pages of the documents that refer to one by a relation.
type PageQuery struct {
	Relation string // its full name
	Target   string // the id of the document that they refer to
	Page     int64  // from 1 on; 0 for the last
	Size     int    // places on a page
	View     fanfold.View
}
