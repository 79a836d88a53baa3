package model

import (
	"slices"
)

// RuleKind names what a derived field holds.
type RuleKind string

// The rule kinds.
const (
	Copy   RuleKind = "copy"   // a value of the relation's target
	Count  RuleKind = "count"  // how many documents refer to this one
	Sum    RuleKind = "sum"    // of a number in the documents that refer to this one
	Min    RuleKind = "min"    // the least such number
	Max    RuleKind = "max"    // the greatest such number
	Avg    RuleKind = "avg"    // their mean
	IDs    RuleKind = "ids"    // which documents refer to this one, in order of creation
	Recent RuleKind = "recent" // some members of the newest documents that refer to this one

	Computed RuleKind = "value" // what an expression gives for the document itself or for each element of an array, or a total over one
)

// Aggregates tells whether the kind is one of Sum, Min, Max and Avg.
func (k RuleKind) Aggregates() bool { return k == Sum || k == Min || k == Max || k == Avg }

// Rule declares one derived field: a member of documents that the store computes, and computes again whenever what it depends
// on changes. Clients read it like any member and cannot write it. Its value never makes a write fail.
type Rule struct {
	Collection string // whose documents carry the field
	Path       Path
	Kind       RuleKind
	Relation   *Relation // of Copy: a relation of this collection; of Computed: nil; else one that leads to it
	Value      string    // of Copy: a CEL expression over doc, the target's embedded view; of Computed: the document's own, and element
	Frozen     bool      // of Copy: the value stays as it was when the holder began to refer to the target
	Where      string    // a CEL expression over doc, the child's embedded view or a total's own, and element; "" for all. Not of Copy and IDs
	Of         Path      // of aggregates: where the number stands in the child's embedded view. Of a total: in the document's own
	Total      RuleKind  // of Computed: Count, or one that aggregates, for a total over an array of the document; "" for an expression
	Fields     []string  // of Recent: members of the child's embedded view
	ByUpdate   bool      // of Recent: children are ordered by when they were last written, instead of by OrderBy
	OrderBy    Path      // of Recent: where what children are ordered by stands in their embedded view; nil: by creation
	Limit      int       // of IDs and Recent: how many at most
	TakeOver   bool      // the field may hide a member that stored documents already have
	Publish    bool      // readers of the collection may learn by it about documents that they may not read

	// Index is the rule's place in Model.Rules. Level is the length of the longest chain of rules that it may depend on.
	Index, Level int
	// Reads lists the top-level members that the rule looks at in an embedded view. The view is the target's for a Copy,
	// the document's own for Computed, the child's for Recent and with EntersDerived. It is nil where it may look at any.
	// Derived ids are among what the child shows, and not among what a Copy reads.
	Reads []string
	// It is never set for Copy. It is never set of Copy.
	EntersDerived bool
	// Base is the length of Path's prefix that leads to the object which carries the field. For a copy beside each id, and a value
	// beside each element, that is an element of an array.
	Base int
}

// Name returns "<collection>.<path>", which is unique in a model.
func (r *Rule) Name() string { return r.Collection + "." + r.Path.String() }

// List tells whether a Copy holds a list of values, one for each id.
func (r *Rule) List() bool { return r.Kind == Copy && r.Relation.Path[r.Base:].Arrays() }

// Each tells whether the rule computes a value for each element of an array of the document.
func (r *Rule) Each() bool { return r.Kind == Computed && r.Total == "" && r.Path.Arrays() }

// Elements returns the path to the elements of an array that the rule goes through one by one, which its expressions see as element. It is
// nil for a rule that goes through none.
func (r *Rule) Elements() Path {
	if r.Each() {
		return r.Path.Elements()
	}
	return r.Of.Elements()
}

// Shows returns what the rule does, in the words of a model.
func (r *Rule) Shows() RuleKind {
	if r.Total != "" {
		return r.Total
	}
	return r.Kind
}

// FollowsOwn tells whether what a document's own embedded view has alters the rule's value on it: a Computed reads it, and a
// Copy may go by derived ids in it.
func (r *Rule) FollowsOwn() bool {
	return r.Kind == Computed || r.Kind == Copy && r.Relation.Derived()
}

// KeepsValues tells whether values of the rule may be of targets as they were once. Nobody can compute such values again. The rule is frozen, or
// values stay on their holders when the target goes.
func (r *Rule) KeepsValues() bool { return r.Frozen || r.KeepsGone() }

// KeepsGone tells whether the values of a copy stay on their holders when the target goes.
func (r *Rule) KeepsGone() bool { return r.Kind == Copy && !r.Frozen && r.Relation.OnDelete == Keep }

// TruncatedField returns the name of the member beside a field of kind IDs that is true if ids were cut off, and absent
// otherwise.
func TruncatedField(name string) string { return name + "Truncated" }

// CanRead tells whether r can look at a field that o owns.
func (r *Rule) CanRead(o *Rule) bool {
	if r.Reads == nil {
		return true
	}
	for _, f := range o.OwnedPaths() {
		if slices.Contains(r.Reads, f[0].Name) {
			return true
		}
	}
	return false
}

// OwnedPaths returns the paths of all members that the rule owns: its field and, for IDs, the TruncatedField beside it.
func (r *Rule) OwnedPaths() []Path {
	if r.Kind != IDs {
		return []Path{r.Path}
	}
	flag := slices.Clone(r.Path)
	flag[len(flag)-1].Name = TruncatedField(flag[len(flag)-1].Name)
	return []Path{r.Path, flag}
}

// Paths returns OwnedPaths as text.
func (r *Rule) Paths() []string {
	var out []string
	for _, f := range r.OwnedPaths() {
		out = append(out, f.String())
	}
	return out
}
