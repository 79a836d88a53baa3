package model

import (
	"slices"
	"strings"

	"github.com/fanfold/fanfold"
)

// KeepingRule describes a copy rule whose values stay on its documents, as far as that decides which values are the same.
// It says which ids they belong to, and how long they stay. It outlives the rule, because the values do.
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

// KeepingRule returns how values of the rule stay on its documents. ok is false for a rule whose values do not stay.
func (r *Rule) KeepingRule() (k KeepingRule, ok bool) {
	if !r.KeepsValues() {
		return k, false
	}
	return KeepingRule{Collection: r.Collection, Path: r.Path.String(), Refers: r.Relation.Path.String(), To: r.Relation.To, Frozen: r.Frozen, derived: r.Relation.Derived()}, true
}

// Retired lists the removed rules whose values are still stored, by name. Nobody sees the values. They show again when a rule
// comes back that keeps the same ones, and are dropped when a model releases the path.
type Retired []KeepingRule

// KeptValuesOutcome says what a model does to the values that stay on documents by one rule. Nobody can compute such values
// again: their targets have changed since, or are deleted.
type KeptValuesOutcome struct {
	KeepingRule
	HadRule   bool // the model before has the rule; it is retired otherwise
	HasRule   bool // a rule of the model has the path
	RuleKeeps bool // that rule keeps values as well, these or others
	Stays     bool // the values stay stored, and a rule that has the path shows them
	Released  bool // the model releases the path
}

// Unreleased tells whether the values are dropped, and the model does not say that they may be.
func (o KeptValuesOutcome) Unreleased() bool { return !o.Stays && !o.Released }

// Outcome returns Lost, Stored or Restored, and "" for values that stay as they are.
func (o KeptValuesOutcome) Outcome() string {
	switch {
	case !o.Stays:
		return Lost
	case o.HadRule && !o.HasRule:
		return Stored
	case o.HasRule && !o.HadRule:
		return Restored
	}
	return ""
}

// KeptValues returns what becomes of the values that stay on documents where Next follows Prev, by the rules' names. retired
// are the rules that were retired under Prev.
func (c *Comparison) KeptValues(retired Retired) []KeptValuesOutcome {
	var out []KeptValuesOutcome
	for _, k := range retired {
		out = append(out, c.Collection(k.Collection).outcome(k, false))
	}
	for _, p := range c.Collections {
		for _, r := range p.Rules {
			if r.Prev == nil {
				continue
			}
			if k, ok := r.Prev.KeepingRule(); ok {
				out = append(out, p.outcome(k, true))
			}
		}
	}
	slices.SortFunc(out, func(a, b KeptValuesOutcome) int { return strings.Compare(a.Name(), b.Name()) })
	return out
}

// outcome returns what becomes of the values by one rule of the collection. They stay under a rule with the same path,
// relation path and target that keeps values at least as long. Its expression and its relation's name do not matter. If no
// rule has the path, they stay until it is released.
func (p *CollectionPair) outcome(k KeepingRule, hadRule bool) KeptValuesOutcome {
	o := KeptValuesOutcome{KeepingRule: k, HadRule: hadRule, Released: p.releases(k.Path)}
	r := p.owner(k.Path)
	if r == nil {
		o.Stays = !o.Released && !k.derived
		return o
	}
	next, keeps := r.KeepingRule()
	o.HasRule, o.RuleKeeps = true, keeps
	o.Stays = keeps && next.Refers == k.Refers && next.To == k.To && next.derived == k.derived && (next.Frozen || !k.Frozen)
	return o
}

// Retired returns the rules that are retired under Next, where kept is what Kept returns. A model that an import brings adds
// its own.
func (c *Comparison) Retired(kept []KeptValuesOutcome) Retired {
	var out Retired
	known := map[string]bool{}
	add := func(o KeptValuesOutcome) {
		if name := o.Name(); o.Stays && !o.HasRule && !known[name] {
			known[name], out = true, append(out, o.KeepingRule)
		}
	}
	for _, o := range kept {
		add(o)
	}
	for _, k := range c.Next.Retired {
		add(c.Collection(k.Collection).outcome(k, false))
	}
	slices.SortFunc(out, func(a, b KeepingRule) int { return strings.Compare(a.Name(), b.Name()) })
	return out
}

// losesValues tells whether Next drops values by a rule of Prev that nobody can compute again.
func (p *CollectionPair) losesValues(r *Rule) bool {
	k, keeps := r.KeepingRule()
	return keeps && !p.outcome(k, true).Stays
}

// LosesUnreleased tells whether Next drops values by a rule of Prev that nobody can compute again, and does not release
// the rule's path.
func (c *Comparison) LosesUnreleased() bool {
	return slices.ContainsFunc(c.KeptValues(nil), KeptValuesOutcome.Unreleased)
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
