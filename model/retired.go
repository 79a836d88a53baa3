package model

import (
	"slices"
	"strings"

	"github.com/fanfold/fanfold"
)

// KeepingRule describes a rule as far as it decides about the values that stay on its documents: of which ids they are,
// and how long they stay.
type KeepingRule struct {
	Collection string `json:"collection"`
	Path       string `json:"path"`
	Refers     string `json:"refers"` // the relation's path
	To         string `json:"to"`     // the relation's target
	// Frozen says that a value stays for good. Otherwise it stays from the target's delete until the target returns.
	Frozen bool `json:"frozen,omitempty"`
	// derived says that rules give the ids. Values by such a rule do not stay when it is removed: while it is gone nobody
	// follows which documents refer to what.
	derived bool
}

// Name returns "<collection>.<path>", as Rule.Name does.
func (k KeepingRule) Name() string { return k.Collection + "." + k.Path }

// Kind returns "frozen" or "kept", by how values stay.
func (k KeepingRule) Kind() string {
	if k.Frozen {
		return "frozen"
	}
	return "kept"
}

// Keeping returns how values of the rule stay on its documents. ok is false where none do.
func (r *Rule) Keeping() (k KeepingRule, ok bool) {
	if !r.Frozen && !r.KeepsGone() {
		return k, false
	}
	return KeepingRule{Collection: r.Collection, Path: r.Path.String(), Refers: r.Relation.Path.String(), To: r.Relation.To, Frozen: r.Frozen, derived: r.Relation.Derived()}, true
}

// Retired lists the rules that were removed while their paths stay reserved, by name. Values that stayed on documents by
// them are still stored.
type Retired []KeepingRule

// KeptOutcome says what a model does to the values that stay on documents by one rule.
type KeptOutcome struct {
	KeepingRule
	Was, Is  bool // the rule is one of the model before; a rule of the model has its path
	Keeps    bool // that rule keeps values as well, these or others
	Stays    bool // the values stay stored, and a rule of the model that has the path shows them
	Released bool // the model releases the path
}

// Outcomes returns what becomes of the values that stay on documents where next replaces prev, by rule. They stay under a
// rule with the same path, relation path and target that keeps them as well: whatever its expression is, and whatever the
// relation is called. Where no rule has the path they stay unless it is released.
func (v Retired) Outcomes(prev, next *Model) []KeptOutcome {
	var out []KeptOutcome
	for _, k := range v {
		out = append(out, KeptOutcome{KeepingRule: k})
	}
	for _, r := range prev.Rules {
		if k, ok := r.Keeping(); ok {
			out = append(out, KeptOutcome{KeepingRule: k, Was: true})
		}
	}
	for i := range out {
		out[i].settle(next.Collection(out[i].Collection))
	}
	slices.SortFunc(out, func(a, b KeptOutcome) int { return strings.Compare(a.Name(), b.Name()) })
	return out
}

// settle decides what becomes of the values under a model of which c is the rule's collection, nil where it has none.
func (o *KeptOutcome) settle(c *Collection) {
	if o.Stays = !o.derived; c == nil {
		return
	}
	o.Released = slices.Contains(c.Release, o.Path)
	for _, r := range c.Rules {
		if !slices.Contains(r.Paths(), o.Path) {
			continue
		}
		k, keeps := r.Keeping()
		o.Is, o.Keeps, o.Stays = true, keeps, keeps && k.Refers == o.Refers && k.To == o.To && k.derived == o.derived && (k.Frozen || !o.Frozen)
		return
	}
	o.Stays = !o.Released && !o.derived
}

// Next returns what is retired once next replaces prev, which may bring rules of its own.
func (v Retired) Next(prev, next *Model) Retired {
	var out Retired
	known := map[string]bool{}
	add := func(o KeptOutcome) {
		if name := o.Name(); o.Stays && !o.Is && !known[name] {
			known[name], out = true, append(out, o.KeepingRule)
		}
	}
	for _, o := range v.Outcomes(prev, next) {
		add(o)
	}
	for _, k := range next.Retired {
		o := KeptOutcome{KeepingRule: k}
		o.settle(next.Collection(k.Collection))
		add(o)
	}
	slices.SortFunc(out, func(a, b KeepingRule) int { return strings.Compare(a.Name(), b.Name()) })
	return out
}

// maxRetiredPath is how many bytes a path of a rule has at most that an import brings.
const maxRetiredPath = 2000

// Check returns an Invalid where the rules could not have been any, or one is there twice.
func (v Retired) Check() error {
	known := map[string]bool{}
	for _, k := range v {
		switch name := k.Name(); {
		case len(k.Path) > maxRetiredPath || len(k.Refers) > maxRetiredPath:
			return fanfold.Errorf(fanfold.Invalid, "a path of the removed rule %s has more than %d bytes", fanfold.Clip(name), maxRetiredPath)
		case known[name]:
			return fanfold.Errorf(fanfold.Invalid, "the removed rule %s is listed twice", fanfold.Clip(name))
		default:
			known[name] = true
		}
		for _, err := range []error{fanfold.CheckCollection(k.Collection), fanfold.CheckCollection(k.To), checkPath(k.Path), checkPath(k.Refers)} {
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// checkPath returns an Invalid for a text that is no path as it is written.
func checkPath(s string) error {
	p, err := ParsePath(s)
	if err == nil && p.String() != s {
		err = fanfold.Errorf(fanfold.Invalid, "%q is not a path", fanfold.Clip(s))
	}
	return err
}

// LosesUnreleased tells whether values that stay on documents by rules of prev would be lost, and the model does not
// release their paths.
func (m *Model) LosesUnreleased(prev *Model) bool {
	return slices.ContainsFunc(Retired(nil).Outcomes(prev, m), func(o KeptOutcome) bool { return !o.Stays && !o.Released })
}
