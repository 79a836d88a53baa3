package modelfile

import (
	"fmt"
	"math/big"
	"slices"
	"strings"

	"github.com/fanfold/fanfold/internal/expr"
	"github.com/fanfold/fanfold/model"
)

// order puts the model's rules in the order in which they are computed, gives each its level and index, and refuses
// cycles. It does nothing where the model has mistakes already.
func (p *parser) order() {
	if len(p.problems) > 0 {
		return
	}
	s := ruleSorter{parser: p, dependencies: map[*model.Rule][]*model.Rule{}, state: map[*model.Rule]visitState{}}
	var all []*model.Rule
	for _, c := range p.model.Collections {
		for _, r := range c.Rules {
			all = append(all, r)
			s.dependencies[r] = p.dependencies(r)
			c.Felt = c.Felt || r.Frozen
			if r.ByUpdate {
				p.model.Collection(r.Relation.Collection).Felt = true
			}
		}
	}
	for _, r := range all {
		if s.state[r] == unvisited {
			s.visit(r)
		}
	}
	for _, rel := range p.model.Relations() {
		s.place(rel)
	}
	slices.SortStableFunc(all, func(a, b *model.Rule) int { return a.Level - b.Level })
	for i, r := range all {
		r.Index = i
		if p.isNew && r.Level >= maxLevels {
			p.problem(rulePath(r), "is the end of a chain of %d rules, each of which reads the one before: at most %d may be", r.Level+1, maxLevels)
		}
	}
	p.model.Rules = all
	s.setSources()
}

// setSources lists the collections that each rule tells about: the one whose documents it looks at along a relation, and those that the rules
// tell about which it depends on.
func (s *ruleSorter) setSources() {
	p := s.parser
	if len(p.problems) > 0 {
		return
	}
	index := map[string]int{}
	for i, c := range p.model.Collections {
		index[c.Name] = i
	}
	sets := make([]big.Int, len(p.model.Rules)) // of indexes of collections
	p.model.Sources = make([][]string, len(sets))
	flows := 0
	for i, r := range p.model.Rules {
		set := &sets[i]
		if r.Relation != nil {
			set.SetBit(set, index[r.Source()], 1)
		}
		for _, d := range s.dependencies[r] {
			set.Or(set, &sets[d.Index])
		}
		for at, c := range p.model.Collections {
			if set.Bit(at) == 1 {
				p.model.Sources[i] = append(p.model.Sources[i], c.Name)
			}
		}
		if flows += len(p.model.Sources[i]); p.isNew && flows > maxFlows {
			p.problem(rulePath(r), "with this one the model's derived fields tell about other collections in more than %d ways, chains included", maxFlows)
			return
		}
	}
}

// dependencies sets r.Reads and r.EntersDerived, and returns the rules whose fields r can look at. A copy looks at its
// target's derived fields, value alone at its own document's, the other kinds at those fields of documents that refer to
// theirs. IDs look at none. Whatever the kind is, derived ids of its relation are among them.
func (p *parser) dependencies(r *model.Rule) (rules []*model.Rule) {
	switch r.Kind {
	case model.Copy:
		r.Reads, _ = expr.MembersRead(r.Value) // the expression was checked when it was read
		return append(p.readable(r.Relation.To, r.CanRead), r.Relation.IDRules...)
	case model.Computed:
		if r.Elements() != nil {
			return ofElements(p, r)
		}
		r.Reads, _ = expr.MembersRead(r.Value)
		if r.Reads == nil {
			p.problem(rulePath(r)+".value", "doc as a whole, or a member by a computed name, would hold the value itself: name the members that it is made of, such as doc.price")
			return nil
		}
		return p.readable(r.Collection, r.CanRead)
	}
	r.Reads = append([]string{}, r.Fields...)
	shown, enters := p.readable(r.Relation.Collection, r.CanRead), p.entered(r)
	enters = append(enters, r.Relation.IDRules...)
	if r.EntersDerived = len(enters) > 0; !r.EntersDerived {
		return shown
	}
	if r.Relation.Derived() {
		r.Reads = append(r.Reads, r.Relation.Path[0].Name)
	}
	for _, path := range []model.Path{r.Of, r.OrderBy} {
		if len(path) > 0 {
			r.Reads = append(r.Reads, path[0].Name)
		}
	}
	if r.Where != "" {
		members, _ := looksAt(r, r.Where)
		if r.Reads = append(r.Reads, members...); members == nil {
			r.Reads = nil
		}
	}
	return append(shown, enters...)
}

// looksAt returns the top-level members of doc that an expression of a rule can look at, nil for any, and the paths in elements.
func looksAt(r *model.Rule, expression string) (members []string, paths []model.Path) {
	elements := r.Elements()
	if elements == nil {
		members, _ = expr.MembersRead(expression)
		return members, nil
	}
	members, inElement, _ := expr.ElementMembersRead(expression)
	if inElement == nil {
		return members, []model.Path{elements}
	}
	for _, name := range inElement {
		paths = append(paths, slices.Concat(elements, model.Path{{Name: name}}))
	}
	return members, paths
}

// ofElements does what dependencies does for a rule of the document's own that goes through elements of an array.
func ofElements(p *parser, r *model.Rule) []*model.Rule {
	var paths []model.Path
	part, expression := ".value", r.Value
	if r.Total != "" {
		part, expression = ".where", r.Where
	}
	r.Reads = []string{}
	if expression != "" {
		var inElements []model.Path
		if r.Reads, inElements = looksAt(r, expression); r.Reads == nil {
			p.problem(rulePath(r)+part, "doc as a whole, or a member by a computed name, would hold the value itself: name the members that it is made of, such as doc.price")
			return nil
		}
		paths = append(paths, inElements...)
	}
	bare := r.Total != "" && r.Of[len(r.Of)-1].Each() // what stands in elements alters neither their number nor one that is a number
	rules := p.readable(r.Collection, func(o *model.Rule) bool {
		return r.CanRead(o) || overlapsAny(o, paths) || r.Total != "" && o.Path.Overlaps(r.Of) && (!bare || len(o.Path) < len(r.Of))
	})
	r.Reads = append(r.Reads, r.Elements()[0].Name)
	return rules
}

// overlapsAny returns whether a value of the rule can alter what is found at one of the paths.
func overlapsAny(r *model.Rule, paths []model.Path) bool {
	return slices.ContainsFunc(r.OwnedPaths(), func(owned model.Path) bool {
		return slices.ContainsFunc(paths, func(path model.Path) bool { return path.Overlaps(owned) })
	})
}

// readable returns the rules of a collection for which reads holds.
func (p *parser) readable(collection string, reads func(*model.Rule) bool) (rules []*model.Rule) {
	for _, other := range p.model.Collection(collection).Rules {
		if reads(other) {
			rules = append(rules, other)
		}
	}
	return rules
}

// entered returns the rules whose fields r.Where, r.Of and r.OrderBy can look at.
func (p *parser) entered(r *model.Rule) []*model.Rule {
	condition := &model.Rule{Reads: []string{}}
	var paths []model.Path
	if r.Where != "" {
		condition.Reads, paths = looksAt(r, r.Where)
	}
	for _, path := range []model.Path{r.Of, r.OrderBy} {
		if len(path) > 0 {
			paths = append(paths, path)
		}
	}
	return p.readable(r.Relation.Collection, func(other *model.Rule) bool { return condition.CanRead(other) || overlapsAny(other, paths) })
}

// ruleSorter walks the rules depth first, dependencies before what depends on them.
type ruleSorter struct {
	parser       *parser
	dependencies map[*model.Rule][]*model.Rule
	state        map[*model.Rule]visitState
	path         []*model.Rule // from where the walk began to the rule that is visited
}

type visitState int

const (
	unvisited visitState = iota
	onPath
	visited
)

// visit gives r, and all that it depends on, a level.
func (s *ruleSorter) visit(r *model.Rule) {
	s.state[r] = onPath
	s.path = append(s.path, r)
	for _, d := range s.dependencies[r] {
		switch s.state[d] {
		case unvisited:
			s.visit(d)
		case onPath:
			s.parser.cycle(s.path[slices.Index(s.path, d):])
		}
		r.Level = max(r.Level, d.Level+1)
	}
	s.path = s.path[:len(s.path)-1]
	s.state[r] = visited
}

// place gives a relation over derived ids a level after the rules that give them, and lists all rules that they depend on.
func (s *ruleSorter) place(rel *model.Relation) {
	seen := map[*model.Rule]bool{}
	var add func(rules []*model.Rule)
	add = func(rules []*model.Rule) {
		for _, r := range rules {
			if !seen[r] {
				seen[r] = true
				rel.Level, rel.Origins = max(rel.Level, r.Level+1), append(rel.Origins, r)
				add(s.dependencies[r])
			}
		}
	}
	add(rel.IDRules)
}

// cycle reports rules that each depend on the next, and the last on the first.
func (p *parser) cycle(rules []*model.Rule) {
	names := make([]string, 0, len(rules)+1)
	for _, r := range rules {
		names = append(names, r.Name())
	}
	names = append(names, rules[0].Name())
	p.problem(rulePath(rules[0]), "a derived value cannot depend on itself: %s", strings.Join(names, " -> "))
}

// rulePath returns where a rule stands in the model.
func rulePath(r *model.Rule) string {
	return fmt.Sprintf("collections.%s.derive[%q]", r.Collection, r.Path.String())
}
