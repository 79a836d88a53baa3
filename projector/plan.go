// Package projector folds the log into the read model: events in, documents, links and changes
// out, every derived value right after each event.
package projector

import (
	"fmt"
	"slices"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/internal/expr"
	"github.com/fanfold/fanfold/migrations"
)

// FoldVersion is raised when the fold gives other values for the same events.
const FoldVersion = 6

// Fingerprint names everything a read model depends on besides the log. A file with another
// one is rebuilt.
func Fingerprint() string {
	return fmt.Sprintf("fold %d, %s, %s", FoldVersion, migrations.Fingerprint, expr.Version)
}

// plan is a model made ready to fold with. It does not change once made.
type plan struct {
	seq         uint64 // of the event that applied it; 0 for none
	model       *fanfold.Model
	reserved    fanfold.Reserved
	collections map[string]*collectionPlan
	rules       []*rulePlan // by fanfold.Rule.Index: every rule after those it depends on
	levels      int
	unpaged     map[string]bool // full names of relations whose pages are made later
}

// pages tells whether links of the relation get places in pages.
func (p *plan) pages(r *fanfold.Relation) bool { return r.PageSize > 0 && !p.unpaged[r.FullName()] }

type rulePlan struct {
	*fanfold.Rule
	name     string
	relation string // full name
	value    *expr.Program
	where    *expr.Program
}

type collectionPlan struct {
	name      string
	shape     *fanfold.Shape // derived members only
	relations []*fanfold.Relation
	unique    []fanfold.Path
	rules     []*rulePlan // that this collection's documents carry
	readers   []*rulePlan // copies of other documents that read this collection's
	counters  []*rulePlan // rules of others that this collection's documents enter into
	frozen    []*rulePlan // those of rules that are frozen
	fansOut   bool        // a write can change more than the documents that it refers to
}

var nothing = &collectionPlan{shape: &fanfold.Shape{}}

// collection returns what the plan says of a collection, never nil.
func (p *plan) collection(name string) *collectionPlan {
	if c := p.collections[name]; c != nil {
		return c
	}
	return nothing
}

// newPlan compiles a checked model.
func newPlan(m *fanfold.Model, seq uint64, reserved fanfold.Reserved) (*plan, error) {
	return makePlan(m, seq, reserved, nil)
}

// makePlan is newPlan with rules, by name, that keep nothing yet: their copies follow.
func makePlan(m *fanfold.Model, seq uint64, reserved fanfold.Reserved, following map[string]bool) (*plan, error) {
	p := &plan{seq: seq, model: m, reserved: reserved, collections: map[string]*collectionPlan{}}
	for _, c := range m.Collections {
		p.collections[c.Name] = &collectionPlan{name: c.Name, shape: fanfold.NewShape(c, nil), relations: c.Relations, unique: c.Unique}
	}
	for _, r := range m.Rules {
		if following[r.Name()] {
			rule, relation := *r, *r.Relation
			rule.Frozen, rule.Relation, relation.OnDelete = false, &relation, fanfold.Clear
			if r.Kind == fanfold.Copy {
				r = &rule
			}
		}
		rp := &rulePlan{Rule: r, name: r.Name(), relation: r.Relation.FullName()}
		var err error
		if r.Value != "" {
			if rp.value, err = expr.Compile(r.Value); err != nil {
				return nil, fmt.Errorf("rule %s: %w", rp.name, err)
			}
		}
		if r.Where != "" {
			if rp.where, err = expr.Compile(r.Where); err != nil {
				return nil, fmt.Errorf("rule %s: %w", rp.name, err)
			}
		}
		p.rules = append(p.rules, rp)
		p.levels = max(p.levels, r.Level+1)
		own := p.collections[r.Collection]
		own.rules = append(own.rules, rp)
		switch {
		case r.Frozen:
			own.frozen = append(own.frozen, rp)
		case r.Kind == fanfold.Copy:
			target := p.collections[r.Relation.To]
			target.readers = append(target.readers, rp)
		default:
			child := p.collections[r.Relation.Collection]
			child.counters = append(child.counters, rp)
		}
	}
	for _, c := range p.collections {
		c.fansOut = len(c.readers) > 0
		for _, rule := range c.counters {
			c.fansOut = c.fansOut || p.collections[rule.Collection].leads(rule.tops())
		}
	}
	return p, nil
}

// storesSource tells whether documents of the collection always have a row of their own for
// the referenced view.
func (c *collectionPlan) storesSource() bool { return len(c.rules) > 0 }

// reads tells whether the rule can look at a member that changed; nil means any.
func (r *rulePlan) reads(changed map[string]bool) bool {
	if changed == nil || r.Reads == nil {
		return true
	}
	return slices.ContainsFunc(r.Reads, func(name string) bool { return changed[name] })
}
