package projector

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/internal/jsondoc"
	"github.com/fanfold/fanfold/internal/schema"
	"github.com/fanfold/fanfold/sqlite"
)

// Preview is what applying a model would do.
type Preview struct {
	Position fanfold.Position `json:"position"` // of the prefix looked at
	Rules    []RulePreview    `json:"rules"`
	Changes  int64            `json:"changes"` // documents whose embedded view would change
	Misfits  []Misfits        `json:"misfits,omitempty"`
	AtOnce   []string         `json:"atOnce,omitempty"` // rules because of which the model cannot be prepared beside

	touched  int64
	Problems []fanfold.Problem `json:"problems,omitempty"`
}

// Touches is how many documents applying the model looks at, as often as it does.
func (p *Preview) Touches() int64 { return p.touched }

// Entangled are the rules because of which the model cannot be prepared while another applies.
func (p *Preview) Entangled() []string { return p.AtOnce }

// Misfits are a collection's documents that do not fit its schema.
type Misfits struct {
	Collection string   `json:"collection"`
	Documents  int64    `json:"documents"`
	First      []Misfit `json:"first"`
}

// Misfit is one of them.
type Misfit struct {
	Document string            `json:"document"` // collection/id
	Problems []fanfold.Problem `json:"problems"`
}

// RulePreview is what one rule would do.
type RulePreview struct {
	Rule      string   `json:"rule"`
	Change    string   `json:"change"`          // new, changed, removed or same
	Documents int64    `json:"documents"`       // whose value of this rule would change
	Hides     []string `json:"hides,omitempty"` // documents that have a member of their own there: the first few
}

const maxHides = 20

// Preview tells what applying the model would do, without doing it. Problems names rules that
// need takeOver, because stored documents have a member of their own at their path. It blocks
// for as long as recomputing everything takes.
func (p *Projector) Preview(ctx context.Context, m *fanfold.Model) (out *Preview, err error) {
	sc, err := p.store.Scan()
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, sc.Close()) }()
	prev, err := loadPlan(func(fn func(*sqlite.Snapshot) error) error { return fn(sc.Snapshot) })
	if err != nil {
		return nil, err
	}
	next, err := newPlan(m, 0, prev.reserved.Next(prev.model, m))
	if err != nil {
		return nil, err
	}
	v := &previewer{prev: prev, next: next, cmp: compare(prev, next), rules: map[string]*RulePreview{}, schemas: map[string]*schema.Schema{}, misfits: map[string]*Misfits{}, out: &Preview{Position: sc.Checkpoint.At(), Rules: []RulePreview{}}}
	v.list()
	v.out.AtOnce = v.cmp.entangled()
	for _, c := range m.Collections {
		if old := prev.model.Collection(c.Name); c.Schema == nil || old != nil && bytes.Equal(old.Schema, c.Schema) {
			continue // what does not fit was told when the schema came
		}
		compiled, err := schema.Compile(c.Schema)
		if err != nil {
			return nil, err
		}
		v.schemas[c.Name] = compiled
		v.misfits[c.Name] = &Misfits{Collection: c.Name}
	}
	if v.out.touched, err = v.cmp.passes(sc.Snapshot); err != nil {
		return nil, err
	}
	c := newChecker(ctx, sc, next)
	c.fresh = v.cmp.fresh
	if err := c.link(); err != nil {
		return nil, err
	}
	if err := v.guarded(c); err != nil {
		return nil, err
	}
	if err := c.each(v.document); err != nil {
		return nil, err
	}
	v.problems()
	return v.out, nil
}

type previewer struct {
	prev, next *plan
	cmp        *remodel
	rules      map[string]*RulePreview
	schemas    map[string]*schema.Schema // new or changed
	misfits    map[string]*Misfits
	order      []string
	out        *Preview
}

// list enters every rule of both models, by name.
func (v *previewer) list() {
	for _, r := range v.prev.rules {
		v.rules[r.name] = &RulePreview{Rule: r.name, Change: "removed"}
	}
	for _, r := range v.next.rules {
		change := "same"
		switch old := v.rules[r.name]; {
		case old == nil:
			change = "new"
		case v.cmp.fresh[r.name]:
			change = "changed"
		}
		v.rules[r.name] = &RulePreview{Rule: r.name, Change: change}
	}
	for name := range v.rules {
		v.order = append(v.order, name)
	}
	slices.Sort(v.order)
}

func (v *previewer) document(row *sqlite.Row, right []byte) error {
	name := row.Key.Collection
	c := v.next.collection(name)
	if !c.shape.Empty() {
		v.hidden(row)
	}
	v.fits(row)
	if bytes.Equal(row.Body, right) {
		return nil
	}
	v.out.Changes++
	for _, rule := range diff(name, v.cmp.shape(name), jsondoc.MustParse(row.Body), jsondoc.MustParse(right)).rules {
		if r := v.rules[rule]; r != nil {
			r.Documents++
		}
	}
	return nil
}

// guarded notes stored documents that break a new strict relation or unique member.
func (v *previewer) guarded(c *checker) error {
	index := func(collection, path string) string { return "unique " + collection + "." + path }
	for name, paths := range v.cmp.unique {
		for _, path := range paths {
			if err := c.values(name, path, index(name, path.String()), func(row *sqlite.Row, err error) {
				v.out.Problems = append(v.out.Problems, fanfold.Problem{Path: uniqueAt(name), Detail: fmt.Sprintf("%s: %v", row.Key, err)})
			}); err != nil {
				return err
			}
		}
	}
	broken, err := v.cmp.broken(c.sc.Dangling, func(collection, path string, limit int, fn func(value string, first, last int64) error) error {
		return c.sc.Shared(index(collection, path), limit, fn)
	}, c.sc.KeyOf)
	v.out.Problems = append(v.out.Problems, broken...)
	return err
}

func uniqueAt(collection string) string { return fmt.Sprintf("collections.%s.unique", collection) }

// broken lists documents that break a new strict relation or unique member: dangling tells of links
// without a target, shared of values that several documents have, key which document has a number.
func (m *remodel) broken(dangling func(relation, to string, limit int, fn func(holder int64, target string) error) error,
	shared func(collection, path string, limit int, fn func(value string, first, last int64) error) error,
	key func(number int64) (fanfold.Key, bool, error)) (problems []fanfold.Problem, err error) {
	for _, r := range m.strict {
		if err := dangling(r.FullName(), r.To, maxHides, func(holder int64, target string) error {
			key, _, err := key(holder)
			problems = append(problems, fanfold.Problem{Path: fmt.Sprintf("collections.%s.relations.%s.strict", r.Collection, r.Name),
				Detail: fmt.Sprintf("%s refers to %s/%s, which does not exist", key, r.To, target)})
			return err
		}); err != nil {
			return nil, err
		}
	}
	for _, c := range m.next.model.Collections {
		for _, path := range m.unique[c.Name] {
			if err := shared(c.Name, path.String(), maxHides, func(value string, first, last int64) error {
				a, _, err := key(first)
				if err != nil {
					return err
				}
				b, _, err := key(last)
				problems = append(problems, fanfold.Problem{Path: uniqueAt(c.Name), Detail: fmt.Sprintf("%s and %s both have %s %q", a, b, path, value[1:])})
				return err
			}); err != nil {
				return nil, err
			}
		}
	}
	return problems, nil
}

// fits notes a document that a new schema refuses.
func (v *previewer) fits(row *sqlite.Row) {
	s := v.schemas[row.Key.Collection]
	if s == nil {
		return
	}
	problems := s.Check(row.Source())
	if problems == nil {
		return
	}
	m := v.misfits[row.Key.Collection]
	if m.Documents++; len(m.First) < maxHides {
		m.First = append(m.First, Misfit{row.Key.String(), problems})
	}
}

// hidden notes members of the document's own that a new rule would hide.
func (v *previewer) hidden(row *sqlite.Row) {
	for _, r := range v.cmp.hiding(row) {
		if p := v.rules[r.name]; len(p.Hides) < maxHides {
			p.Hides = append(p.Hides, row.Key.String())
		}
	}
}

// hiding are the new rules that would hide a member of the document's own.
func (m *remodel) hiding(row *sqlite.Row) (rules []*rulePlan) {
	c := m.next.collection(row.Key.Collection)
	if len(c.rules) == 0 {
		return nil
	}
	t := jsondoc.MustParse(row.Source())
	for _, r := range c.rules {
		if m.takes(r) && holds(t, jsondoc.Root, r.Path) {
			rules = append(rules, r)
		}
	}
	return rules
}

// takes tells whether the rule's path belonged to no rule before.
func (m *remodel) takes(r *rulePlan) bool {
	old := m.prev.model.Collection(r.Collection)
	return old == nil || !slices.ContainsFunc(old.Rules, func(o *fanfold.Rule) bool { return o.Name() == r.name })
}

// hides is the problem of a rule that would hide members of documents.
func hides(r *rulePlan, documents string) fanfold.Problem {
	return fanfold.Problem{Path: fmt.Sprintf("collections.%s.derive[%q]", r.Collection, r.Path.String()),
		Detail: fmt.Sprintf("stored documents have this member already (%s): their values would be hidden; say takeOver: true if that is meant", documents)}
}

// holds tells whether the document has a member at path.
func holds(t *jsondoc.Tree, n jsondoc.Node, path fanfold.Path) bool {
	for i, step := range path {
		if step.Each() {
			if t.Kind(n) != jsondoc.Array {
				return false
			}
			for c := t.First(n); c != jsondoc.None; c = t.Next(c) {
				if holds(t, c, path[i+1:]) {
					return true
				}
			}
			return false
		}
		if n = t.Member(n, step.Name); n == jsondoc.None {
			return false
		}
	}
	return true
}

// tooMany is the problem of a model that changes more documents than an event can.
func tooMany(changes int64) fanfold.Problem {
	return fanfold.Problem{Path: "collections",
		Detail: fmt.Sprintf("%d documents would change; one event can change at most %d: apply the rules in several steps", changes, fanfold.MaxChanges)}
}

func (v *previewer) problems() {
	if v.out.Changes > fanfold.MaxChanges {
		v.out.Problems = append(v.out.Problems, tooMany(v.out.Changes))
	}
	for _, c := range v.next.model.Collections {
		if m := v.misfits[c.Name]; m != nil && m.Documents > 0 {
			v.out.Misfits = append(v.out.Misfits, *m)
		}
	}
	for _, name := range v.order {
		v.out.Rules = append(v.out.Rules, *v.rules[name])
	}
	for _, r := range v.next.rules {
		if p := v.rules[r.name]; len(p.Hides) > 0 && !r.TakeOver {
			v.out.Problems = append(v.out.Problems, hides(r, p.Hides[0]+", ..."))
		}
	}
}
