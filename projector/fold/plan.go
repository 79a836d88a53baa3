package fold

import (
	"fmt"
	"slices"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/internal/expr"
	"github.com/fanfold/fanfold/internal/modelfile"
	"github.com/fanfold/fanfold/migrations"
	"github.com/fanfold/fanfold/sqlite"
)

// FoldVersion is raised when the fold gives other values for the same events.
const FoldVersion = 6

// Fingerprint names everything a read model depends on besides the log. A file with another
// one is rebuilt.
func Fingerprint() string {
	return fmt.Sprintf("fold %d, %s, %s", FoldVersion, migrations.Fingerprint, expr.Version)
}

// plan is a model made ready to fold with. It does not change once made.
type Plan struct {
	Seq         uint64 // of the event that applied it; 0 for none
	Model       *fanfold.Model
	Reserved    fanfold.Reserved
	collections map[string]*Collection
	Rules       []*Rule // by fanfold.Rule.Index: every rule after those it depends on
	Levels      int
	unpaged     map[string]bool // full names of relations whose pages are made later
}

// pages tells whether links of the relation get places in pages.
func (p *Plan) pages(r *fanfold.Relation) bool { return r.PageSize > 0 && !p.unpaged[r.FullName()] }

type Rule struct {
	*fanfold.Rule
	FullName     string
	RelationName string // full name
	value        *expr.Program
	where        *expr.Program
}

type Collection struct {
	Name      string
	Shape     *fanfold.Shape // derived members only
	Relations []*fanfold.Relation
	unique    []fanfold.Path
	Rules     []*Rule // that this collection's documents carry
	Readers   []*Rule // copies of other documents that read this collection's
	Counters  []*Rule // rules of others that this collection's documents enter into
	frozen    []*Rule // those of rules that are frozen
	FansOut   bool    // a write can change more than the documents that it refers to
}

var emptyCollection = &Collection{Shape: &fanfold.Shape{}}

// collection returns what the plan says of a collection, never nil.
func (p *Plan) Collection(name string) *Collection {
	if c := p.collections[name]; c != nil {
		return c
	}
	return emptyCollection
}

// newPlan compiles a checked model.
func NewPlan(m *fanfold.Model, seq uint64, reserved fanfold.Reserved) (*Plan, error) {
	return compilePlan(m, seq, reserved, nil)
}

// compilePlan is NewPlan with rules, by name, that keep nothing yet: their copies follow.
func compilePlan(m *fanfold.Model, seq uint64, reserved fanfold.Reserved, following map[string]bool) (*Plan, error) {
	p := &Plan{Seq: seq, Model: m, Reserved: reserved, collections: map[string]*Collection{}}
	for _, c := range m.Collections {
		p.collections[c.Name] = &Collection{Name: c.Name, Shape: fanfold.NewShape(c, nil), Relations: c.Relations, unique: c.Unique}
	}
	for _, r := range m.Rules {
		if following[r.Name()] {
			rule, relation := *r, *r.Relation
			rule.Frozen, rule.Relation, relation.OnDelete = false, &relation, fanfold.Clear
			if r.Kind == fanfold.Copy {
				r = &rule
			}
		}
		rp := &Rule{Rule: r, FullName: r.Name(), RelationName: r.Relation.FullName()}
		var err error
		if r.Value != "" {
			if rp.value, err = expr.Compile(r.Value); err != nil {
				return nil, fmt.Errorf("rule %s: %w", rp.FullName, err)
			}
		}
		if r.Where != "" {
			if rp.where, err = expr.Compile(r.Where); err != nil {
				return nil, fmt.Errorf("rule %s: %w", rp.FullName, err)
			}
		}
		p.Rules = append(p.Rules, rp)
		p.Levels = max(p.Levels, r.Level+1)
		own := p.collections[r.Collection]
		own.Rules = append(own.Rules, rp)
		switch {
		case r.Frozen:
			own.frozen = append(own.frozen, rp)
		case r.Kind == fanfold.Copy:
			target := p.collections[r.Relation.To]
			target.Readers = append(target.Readers, rp)
		default:
			child := p.collections[r.Relation.Collection]
			child.Counters = append(child.Counters, rp)
		}
	}
	for _, c := range p.collections {
		c.FansOut = len(c.Readers) > 0
		for _, rule := range c.Counters {
			c.FansOut = c.FansOut || p.collections[rule.Collection].AffectsOthers(rule.TopMembers())
		}
	}
	return p, nil
}

// storesSource tells whether documents of the collection always have a row of their own for
// the referenced view.
func (c *Collection) storesSource() bool { return len(c.Rules) > 0 }

// reads tells whether the rule can look at a member that changed; nil means any.
func (r *Rule) ReadsAny(changed map[string]bool) bool {
	if changed == nil || r.Reads == nil {
		return true
	}
	return slices.ContainsFunc(r.Reads, func(name string) bool { return changed[name] })
}

// tops are the top-level members in which the rule's values stand.
func (r *Rule) TopMembers() map[string]bool {
	tops := map[string]bool{}
	for _, path := range r.Paths() {
		p, _ := fanfold.ParsePath(path)
		tops[p[0].Name] = true
	}
	return tops
}

// leads tells whether a change of these members can change other documents.
func (c *Collection) AffectsOthers(changed map[string]bool) bool {
	for _, rule := range c.Readers {
		if rule.ReadsAny(changed) {
			return true
		}
	}
	for _, rule := range c.Counters {
		if rule.Kind == fanfold.Recent && rule.ReadsAny(changed) {
			return true
		}
	}
	return false
}

// loadPlan compiles the model that the read model holds.
func LoadPlan(read func(func(*sqlite.Snapshot) error) error) (*Plan, error) {
	var m sqlite.StoredModel
	if err := read(func(s *sqlite.Snapshot) (err error) {
		m, err = s.Model()
		return err
	}); err != nil {
		return nil, err
	}
	if m.Seq == 0 {
		return NewPlan(fanfold.EmptyModel(), 0, nil)
	}
	parsed, err := modelfile.ParseAccepted(m.Source)
	if err != nil {
		return nil, err
	}
	return NewPlan(parsed, m.Seq, m.Reserved)
}
