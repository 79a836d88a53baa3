package modelfile

import (
	"fmt"
	"slices"
	"strings"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/internal/expr"
)

// order puts the model's rules in the order in which they are computed, gives each its level and index, and refuses
// cycles. It does nothing where the model has mistakes already.
func (p *parser) order() {
	if len(p.problems) > 0 {
		return
	}
	s := ruleSorter{parser: p, dependencies: map[*fanfold.Rule][]*fanfold.Rule{}, state: map[*fanfold.Rule]visitState{}}
	var all []*fanfold.Rule
	for _, c := range p.model.Collections {
		for _, r := range c.Rules {
			all = append(all, r)
			s.dependencies[r] = p.dependencies(r)
		}
	}
	for _, r := range all {
		if s.state[r] == unvisited {
			s.visit(r)
		}
	}
	slices.SortStableFunc(all, func(a, b *fanfold.Rule) int { return a.Level - b.Level })
	for i, r := range all {
		r.Index = i
	}
	p.model.Rules = all
}

// dependencies sets r.Reads and returns the rules whose fields r can look at: a copy at the derived fields of its
// target, recent at those of the documents it shows. The other kinds look at documents as written.
func (p *parser) dependencies(r *fanfold.Rule) (rules []*fanfold.Rule) {
	var read string
	switch r.Kind {
	case fanfold.Copy:
		r.Reads, _ = expr.MembersRead(r.Value) // the expression was checked when it was read
		read = r.Relation.To
	case fanfold.Recent:
		r.Reads = r.Fields
		read = r.Relation.Collection
	default:
		return nil
	}
	for _, other := range p.model.Collection(read).Rules {
		if r.CanRead(other) {
			rules = append(rules, other)
		}
	}
	return rules
}

// ruleSorter walks the rules depth first, dependencies before what depends on them.
type ruleSorter struct {
	parser       *parser
	dependencies map[*fanfold.Rule][]*fanfold.Rule
	state        map[*fanfold.Rule]visitState
	path         []*fanfold.Rule // from where the walk began to the rule that is visited
}

type visitState int

const (
	unvisited visitState = iota
	onPath
	visited
)

// visit gives r, and all that it depends on, a level.
func (s *ruleSorter) visit(r *fanfold.Rule) {
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

// cycle reports rules of which each depends on the next, and the last on the first.
func (p *parser) cycle(rules []*fanfold.Rule) {
	names := make([]string, 0, len(rules)+1)
	for _, r := range rules {
		names = append(names, r.Name())
	}
	names = append(names, rules[0].Name())
	p.problem(rulePath(rules[0]), "a derived value cannot depend on itself: %s", strings.Join(names, " -> "))
}

// rulePath returns where a rule stands in the model.
func rulePath(r *fanfold.Rule) string {
	return fmt.Sprintf("collections.%s.derive[%q]", r.Collection, r.Path.String())
}
