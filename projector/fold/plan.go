package fold

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/internal/elements"
	"github.com/fanfold/fanfold/internal/expr"
	"github.com/fanfold/fanfold/internal/jsondoc"
	"github.com/fanfold/fanfold/internal/modelfile"
	"github.com/fanfold/fanfold/model"
	"github.com/fanfold/fanfold/sqlite"
)

// Plan is a model made ready to fold with. It does not change once made.
type Plan struct {
	Seq         uint64 // of the event that applied it; 0 for none
	Version     int    // of the fold
	Model       *model.Model
	Reserved    model.Reserved
	Retired     model.Retired
	collections map[string]*Collection
	Rules       []*Rule           // by model.Rule.Index: every rule after those it depends on
	derived     []*model.Relation // over derived ids, by full name
	Levels      int
	unpaged     map[string]bool // full names of relations whose pages are made later
}

// Rule is a rule of the model, with its expressions compiled.
type Rule struct {
	*model.Rule
	FullName     string
	RelationName string // full name
	value        *expr.Program
	where        *expr.Program
	over         *elements.Program // of a rule that goes through elements of an array, instead of the two; nil for others
	parts        []string          // what it looks for a value by: see Parts
	truncated    model.Path
	viewLimit    int  // how long a value can be in a view, in bytes
	leadsOn      bool // a change of the rule's value can change other documents
	version      int  // of the fold
	returns      bool // while a model is prepared: what is stored of the rule from before comes back with it
}

// Collection is a collection of the model, with the rules that begin or end at it.
type Collection struct {
	Name            string
	Shape           *model.Shape // derived members only
	Relations       []*model.Relation
	unique          []*model.Unique
	sequences       []*model.Sequence
	Indexes         []*model.Index
	Rules           []*Rule           // that this collection's documents carry
	Readers         []*Rule           // copies of other documents that read this collection's
	Counters        []*Rule           // rules of others that this collection's documents enter into
	derivedCounters []*Rule           // Counters that look at derived members: entries are made when these are final
	derived         []*model.Relation // Relations over derived ids: links are made when these are final
	frozen          []*Rule           // the frozen ones of Rules
	own             []*Rule           // the ones of Rules that follow the document's own view
	FansOut         bool              // a write can change more than the documents that it refers to
	incoming        []string          // full names of relations by which rules look for documents that refer to this collection's

	retired        []retiredRule // removed rules that have values on this collection's documents
	retiredReaders []retiredRule // those that have values of this collection's documents until these return
}

// retiredRule is a removed rule whose values are still stored.
type retiredRule struct {
	model.KeepingRule
	name   string
	refers model.Path // the relation's
}

// pages returns whether links of the relation get places in pages.
func (p *Plan) pages(r *model.Relation) bool { return r.PageSize > 0 && !p.unpaged[r.FullName()] }

// emptyCollection is a collection that the model says nothing of.
var emptyCollection = &Collection{Shape: &model.Shape{}}

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

// PlanAt compiles the model that applied at a position.
func PlanAt(s *sqlite.Snapshot, at fanfold.Position) (*Plan, error) {
	m, err := sqlite.ModelOf(s, at)
	if err != nil {
		return nil, err
	}
	return planOf(m)
}

// planOf compiles a stored model; event 0 has the empty one.
func planOf(m sqlite.StoredModel) (*Plan, error) {
	if m.Seq == 0 {
		return NewPlan(model.Empty(), 0, nil)
	}
	parsed, err := modelfile.ParseAccepted(m.Source)
	if err != nil {
		return nil, err
	}
	parsed.Fold = m.Fold
	return compilePlan(parsed, m.Seq, m.Reserved, m.Retired, nil)
}

// NewPlan compiles a checked model that event seq applied, with the paths that are still reserved, under the model's fold
// version, or the oldest where it says none. The error is Unavailable for a version that this program does not know, or
// names a rule whose expression cannot be compiled.
func NewPlan(m *model.Model, seq uint64, reserved model.Reserved) (*Plan, error) {
	return newPlan(m, seq, reserved, nil)
}

// newPlan does what NewPlan does, with the rules whose kept values stay stored.
func newPlan(m *model.Model, seq uint64, reserved model.Reserved, retired model.Retired) (*Plan, error) {
	p, err := compilePlan(m, seq, reserved, retired, nil)
	if err == nil {
		err = p.Known()
	}
	return p, err
}

// Follow compiles a model that event seq applies after the plan's, and returns what changes then. If the model says no
// fold version, the plan's stays in force. Errors are NewPlan's.
func (p *Plan) Follow(m *model.Model, seq uint64) (*ModelChange, error) {
	next := *m
	next.Fold, next.Retired = cmp.Or(m.Fold, p.Version), nil // which are the plan's from here on
	c := model.Compare(p.Model, m)
	kept := c.KeptValues(p.Retired)
	plan, err := newPlan(&next, seq, c.Reserved(p.Reserved), c.Retired(kept))
	if err != nil {
		return nil, err
	}
	return newModelChange(p, plan, c, kept), nil
}

// compilePlan does what NewPlan does. The values of the rules that copyOnly names do not stay on their holders yet:
// they follow their targets until the model applies.
func compilePlan(m *model.Model, seq uint64, reserved model.Reserved, retired model.Retired, copyOnly map[string]bool) (*Plan, error) {
	if m.Fold == 0 {
		of := *m
		of.Fold = OldestVersion
		m = &of
	}
	p := &Plan{Seq: seq, Version: m.Fold, Model: m, Reserved: reserved, Retired: retired, collections: map[string]*Collection{}}
	for _, c := range m.Collections {
		p.collections[c.Name] = &Collection{Name: c.Name, Shape: model.NewShape(c, nil), Relations: c.Relations, unique: c.Unique, sequences: c.Sequences, Indexes: c.Indexes}
	}
	for _, r := range m.Rules {
		if r.Kind == model.Copy && copyOnly[r.Name()] {
			r = withoutKeeping(r)
		}
		rule, err := compileRule(r, p.Version)
		if err != nil {
			return nil, err
		}
		rule.viewLimit = m.EmbeddedLimit
		p.addRule(rule)
	}
	p.addDerived()
	for _, rule := range p.Rules {
		rule.leadsOn = p.collections[rule.Collection].AffectsOthers(p.Alters(rule))
	}
	if err := p.addRetired(); err != nil {
		return nil, err
	}
	for _, c := range p.collections {
		c.incoming = c.listIncoming()
		c.FansOut = len(c.Readers)+len(c.derived) > 0
		for _, rule := range c.Counters {
			c.FansOut = c.FansOut || rule.leadsOn
		}
	}
	return p, nil
}

// listIncoming returns what incoming holds.
func (c *Collection) listIncoming() (names []string) {
	for _, r := range slices.Concat(c.Readers, c.Rules) {
		if r.Relation != nil && r.Relation.To == c.Name && !slices.Contains(names, r.RelationName) {
			names = append(names, r.RelationName)
		}
	}
	return names
}

// withoutKeeping returns a copy rule with no value of it staying on a holder.
func withoutKeeping(r *model.Rule) *model.Rule {
	rule, relation := *r, *r.Relation
	rule.Frozen, rule.Relation, relation.OnDelete = false, &relation, model.Clear
	return &rule
}

// compileRule compiles a rule's expressions under a version of the fold.
func compileRule(r *model.Rule, version int) (rule *Rule, err error) {
	rule = &Rule{Rule: r, FullName: r.Name(), truncated: truncatedPath(r), version: version}
	if r.Relation != nil {
		rule.RelationName = r.Relation.FullName()
	}
	if r.Elements() != nil {
		if version < decimals {
			return nil, fanfold.Errorf(fanfold.Conflict, "rule %s goes through elements of an array, which version %d of the fold brought, and version %d is in force: change the version first (docs/run/upgrade.md)", rule.FullName, decimals, version)
		}
		rule.over, err = elements.Compile(r)
		rule.parts = rule.listParts()
		return rule, err
	}
	if version < decimals && r.Kind == model.Computed && expr.ReadsMeta(r.Value) {
		return nil, fanfold.Errorf(fanfold.Conflict, "rule %s reads meta, which version %d of the fold brought, and version %d is in force: change the version first (docs/run/upgrade.md)", rule.FullName, decimals, version)
	}
	if r.Value != "" {
		if rule.value, err = compileValue(r, version); err != nil {
			return nil, fmt.Errorf("rule %s: %w", rule.FullName, err)
		}
	}
	if r.Where != "" {
		if rule.where, err = compile(r.Where, version); err != nil {
			return nil, fmt.Errorf("rule %s: %w", rule.FullName, err)
		}
	}
	rule.parts = rule.listParts()
	return rule, nil
}

// SourcePath returns where the value of a Copy stands in each of its targets, as a JSON pointer. It is empty where the rule's expression is more than a
// place.
func (r *Rule) SourcePath() string {
	if r.Kind != model.Copy {
		return ""
	}
	return r.value.Place()
}

// addRule adds a rule to the collections where it begins and ends.
func (p *Plan) addRule(rule *Rule) {
	p.Rules = append(p.Rules, rule)
	p.Levels = max(p.Levels, rule.Level+1)
	own := p.collections[rule.Collection]
	own.Rules = append(own.Rules, rule)
	if rule.FollowsOwn() {
		own.own = append(own.own, rule)
	}
	switch {
	case rule.Kind == model.Computed:
	case rule.Frozen:
		own.frozen = append(own.frozen, rule)
	case rule.Kind == model.Copy:
		target := p.collections[rule.Relation.To]
		target.Readers = append(target.Readers, rule)
	default:
		holder := p.collections[rule.Relation.Collection]
		holder.Counters = append(holder.Counters, rule)
		if rule.EntersDerived {
			holder.derivedCounters = append(holder.derivedCounters, rule)
		}
	}
}

// addDerived adds the relations over derived ids to the collections whose documents hold these.
func (p *Plan) addDerived() {
	for _, r := range p.Model.Relations() {
		if r.Derived() {
			p.Levels = max(p.Levels, r.Level+1)
			p.derived = append(p.derived, r)
			c := p.collections[r.Collection]
			c.derived = append(c.derived, r)
		}
	}
}

// DerivedRelations returns the relations over derived ids, each after those that its ids may come by.
func (p *Plan) DerivedRelations() []*model.Relation {
	return slices.SortedStableFunc(slices.Values(p.derived), func(a, b *model.Relation) int { return a.Level - b.Level })
}

// addRetired adds the removed rules whose values are still stored to the collections where they begin and end, which the
// model need not declare any more.
func (p *Plan) addRetired() error {
	of := func(name string) *Collection {
		if p.collections[name] == nil {
			p.collections[name] = &Collection{Name: name, Shape: &model.Shape{}}
		}
		return p.collections[name]
	}
	for _, k := range p.Retired {
		path, err := model.ParsePath(k.Refers)
		if err != nil {
			return fmt.Errorf("removed rule %s: %w", k.Name(), err)
		}
		rule := retiredRule{k, k.Name(), path}
		holders := of(k.Collection)
		holders.retired = append(holders.retired, rule)
		if !k.Frozen {
			targets := of(k.To)
			targets.retiredReaders = append(targets.retiredReaders, rule)
		}
	}
	return nil
}

// StoreSource returns what is stored of a document's referenced view beside the embedded one.
func (c *Collection) StoreSource(body []byte, source *jsondoc.Tree) sqlite.ReferencedView {
	return sqlite.NewReferencedView(body, source.Raw(jsondoc.Root), c.Shape.Owns(source))
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
		p, _ := model.ParsePath(path)
		members[p[0].Name] = true
	}
	return members
}

// Alters returns the top-level members that may change if a value of the rule does: its own, and those by rules that follow it on the
// same document. If the model limits views, any rule of the collection may change, because a longer value may leave another no room.
// Views that come near to the limit without the model's saying are too rare to estimate every change by all that it could displace.
func (p *Plan) Alters(r *Rule) map[string]bool {
	members := r.TopMembers()
	if p.Model.EmbeddedLimit < model.DefaultEmbeddedLimit {
		for _, other := range p.collections[r.Collection].Rules {
			maps.Copy(members, other.TopMembers())
		}
	}
	p.collections[r.Collection].addFollowing(members)
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
		if rule.ReadsHolderMembers(changed) {
			return true
		}
	}
	return false
}

// ReadsHolderMembers returns whether a change of these top-level members of the holders can change the rule's value without a
// write to a holder. nil means any member.
func (r *Rule) ReadsHolderMembers(changed map[string]bool) bool {
	return (r.Kind == model.Recent || r.EntersDerived) && r.ReadsAny(changed)
}
