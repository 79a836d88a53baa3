package fold

import (
	"fmt"
	"slices"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/internal/expr"
	"github.com/fanfold/fanfold/internal/jsondoc"
	"github.com/fanfold/fanfold/internal/modelfile"
	"github.com/fanfold/fanfold/migrations"
	"github.com/fanfold/fanfold/sqlite"
)

// FoldVersion is raised when the fold gives other values for the same events.
const FoldVersion = 7

// Fingerprint names everything that a read model depends on besides the log: the fold's version, the schema and the
// expressions. A file with another one is rebuilt when it is opened.
func Fingerprint() string {
	return fmt.Sprintf("fold %d, %s, %s", FoldVersion, migrations.Fingerprint, expr.Version)
}

// Plan is a model made ready to fold with. It does not change once made.
type Plan struct {
	Seq         uint64 // of the event that applied it; 0 for none
	Model       *fanfold.Model
	Reserved    fanfold.Reserved
	collections map[string]*Collection
	Rules       []*Rule // by fanfold.Rule.Index: every rule after those it depends on
	Levels      int
	unpaged     map[string]bool // full names of relations whose pages are made later
}

// Rule is a rule of the model, with its expressions compiled.
type Rule struct {
	*fanfold.Rule
	FullName     string
	RelationName string // full name
	value        *expr.Program
	where        *expr.Program
	viewLimit    int  // how long a value can be in a view, in bytes
	leadsOn      bool // a change of the rule's value can change other documents
}

// Collection is a collection of the model, with the rules that begin or end at it.
type Collection struct {
	Name      string
	Shape     *fanfold.Shape // derived members only
	Relations []*fanfold.Relation
	unique    []fanfold.Path
	Rules     []*Rule // that this collection's documents carry
	Readers   []*Rule // copies of other documents that read this collection's
	Counters  []*Rule // rules of others that this collection's documents enter into
	frozen    []*Rule // those of Rules that are frozen
	FansOut   bool    // a write can change more than the documents that it refers to
}

// pages returns whether links of the relation get places in pages.
func (p *Plan) pages(r *fanfold.Relation) bool { return r.PageSize > 0 && !p.unpaged[r.FullName()] }

// emptyCollection is a collection that the model says nothing of.
var emptyCollection = &Collection{Shape: &fanfold.Shape{}}

// Collection returns what the plan says of a collection, never nil.
func (p *Plan) Collection(name string) *Collection {
	if c := p.collections[name]; c != nil {
		return c
	}
	return emptyCollection
}

// LoadPlan compiles the model that a read model holds. The error is the read model's.
func LoadPlan(read func(func(*sqlite.Snapshot) error) error) (*Plan, error) {
	var m sqlite.StoredModel
	if err := read(func(s *sqlite.Snapshot) (err error) {
		m, err = s.Model()
		return err
	}); err != nil {
		return nil, err
	}
	return planOf(m)
}

// PlanOf compiles the model that a snapshot of a read model holds. The error is the read model's.
func PlanOf(s *sqlite.Snapshot) (*Plan, error) {
	m, err := s.Model()
	if err != nil {
		return nil, err
	}
	return planOf(m)
}

// planOf compiles a stored model, of which event 0 is the empty one.
func planOf(m sqlite.StoredModel) (*Plan, error) {
	if m.Seq == 0 {
		return NewPlan(fanfold.EmptyModel(), 0, nil)
	}
	parsed, err := modelfile.ParseAccepted(m.Source)
	if err != nil {
		return nil, err
	}
	return NewPlan(parsed, m.Seq, m.Reserved)
}

// NewPlan compiles a checked model that event seq applied, with the paths that are still reserved. The error names a
// rule whose expression cannot be compiled.
func NewPlan(m *fanfold.Model, seq uint64, reserved fanfold.Reserved) (*Plan, error) {
	return compilePlan(m, seq, reserved, nil)
}

// compilePlan does what NewPlan does. The values of the rules that copyOnly names do not stay on their holders yet:
// they follow their targets until the model applies.
func compilePlan(m *fanfold.Model, seq uint64, reserved fanfold.Reserved, copyOnly map[string]bool) (*Plan, error) {
	p := &Plan{Seq: seq, Model: m, Reserved: reserved, collections: map[string]*Collection{}}
	for _, c := range m.Collections {
		p.collections[c.Name] = &Collection{Name: c.Name, Shape: fanfold.NewShape(c, nil), Relations: c.Relations, unique: c.Unique}
	}
	for _, r := range m.Rules {
		if r.Kind == fanfold.Copy && copyOnly[r.Name()] {
			r = withoutKept(r)
		}
		rule, err := compileRule(r)
		if err != nil {
			return nil, err
		}
		rule.viewLimit = m.EmbeddedLimit
		p.addRule(rule)
	}
	for _, rule := range p.Rules {
		rule.leadsOn = p.collections[rule.Collection].AffectsOthers(rule.TopMembers())
	}
	for _, c := range p.collections {
		c.FansOut = len(c.Readers) > 0
		for _, rule := range c.Counters {
			c.FansOut = c.FansOut || rule.leadsOn
		}
	}
	return p, nil
}

// withoutKept returns a copy rule with no value of it staying on a holder.
func withoutKept(r *fanfold.Rule) *fanfold.Rule {
	rule, relation := *r, *r.Relation
	rule.Frozen, rule.Relation, relation.OnDelete = false, &relation, fanfold.Clear
	return &rule
}

// compileRule compiles a rule's expressions.
func compileRule(r *fanfold.Rule) (rule *Rule, err error) {
	rule = &Rule{Rule: r, FullName: r.Name(), RelationName: r.Relation.FullName()}
	if r.Value != "" {
		if rule.value, err = expr.Compile(r.Value); err != nil {
			return nil, fmt.Errorf("rule %s: %w", rule.FullName, err)
		}
	}
	if r.Where != "" {
		if rule.where, err = expr.Compile(r.Where); err != nil {
			return nil, fmt.Errorf("rule %s: %w", rule.FullName, err)
		}
	}
	return rule, nil
}

// addRule adds a rule to the collections where it begins and ends.
func (p *Plan) addRule(rule *Rule) {
	p.Rules = append(p.Rules, rule)
	p.Levels = max(p.Levels, rule.Level+1)
	own := p.collections[rule.Collection]
	own.Rules = append(own.Rules, rule)
	switch {
	case rule.Frozen:
		own.frozen = append(own.frozen, rule)
	case rule.Kind == fanfold.Copy:
		target := p.collections[rule.Relation.To]
		target.Readers = append(target.Readers, rule)
	default:
		holder := p.collections[rule.Relation.Collection]
		holder.Counters = append(holder.Counters, rule)
	}
}

// StoreSource returns what is stored of a document's referenced view beside the embedded one.
func (c *Collection) StoreSource(body []byte, source *jsondoc.Tree) sqlite.Stored {
	return sqlite.StoreSource(body, source.Raw(jsondoc.Root), c.Shape.Owns(source))
}

// ReadsAny returns whether the rule can look at one of the top-level members that changed; nil means any.
func (r *Rule) ReadsAny(changed map[string]bool) bool {
	if changed == nil || r.Reads == nil {
		return true
	}
	return slices.ContainsFunc(r.Reads, func(name string) bool { return changed[name] })
}

// TopMembers returns the top-level members in which the rule's values stand.
func (r *Rule) TopMembers() map[string]bool {
	members := map[string]bool{}
	for _, path := range r.Paths() {
		p, _ := fanfold.ParsePath(path)
		members[p[0].Name] = true
	}
	return members
}

// AffectsOthers returns whether a change of these top-level members can change other documents.
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
