package modelfile

import (
	"fmt"
	"slices"
	"strings"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/internal/expr"
	"github.com/fanfold/fanfold/internal/jsondoc"
)

// ruleOptions are the options of each kind of rule; those with a ! must be there.
var ruleOptions = map[fanfold.RuleKind][]string{
	fanfold.Copy:   {"value!", "frozen"},
	fanfold.Count:  {"where"},
	fanfold.Sum:    {"of!", "where"},
	fanfold.Min:    {"of!", "where"},
	fanfold.Max:    {"of!", "where"},
	fanfold.Avg:    {"of!", "where"},
	fanfold.IDs:    {"limit"},
	fanfold.Recent: {"max!", "fields!", "orderBy", "where"},
}

var missingOption = map[string]string{
	"value":  "a CEL expression over doc, such as doc.name",
	"of":     "the path of a number in the documents that refer to this one, such as likes",
	"max":    "how many documents at most",
	"fields": "which of their members, such as [id, text]",
}

const kindNames = "copy, count, sum, min, max, avg, ids and recent"

func (p *parser) rule(c *fanfold.Collection, path string, n jsondoc.Node, at string) {
	r := &fanfold.Rule{Collection: c.Name, Path: p.path(path, at)}
	if p.tree.Kind(n) != jsondoc.Object {
		p.problem(at, "must be a mapping with one of %s", kindNames)
		return
	}
	relation := ""
	var options []string
	p.members(n, at, func(member string, v jsondoc.Node) {
		at := at + "." + member
		switch _, kind := ruleOptions[fanfold.RuleKind(member)]; {
		case kind && (member != string(fanfold.Max) || p.tree.Kind(v) != jsondoc.Number):
			if r.Kind != "" {
				p.problem(at, "a field has one of %s; this one also has %s", kindNames, r.Kind)
			}
			r.Kind, relation = fanfold.RuleKind(member), p.text(v, at)
		case member == "takeOver":
			r.TakeOver = p.flag(v, at)
		default:
			options = append(options, member)
			p.option(r, member, v, at)
		}
	})
	if r.Kind == "" {
		p.problem(at, "must have one of %s", kindNames)
		return
	}
	p.checkOptions(r, options, at)
	if r.Path == nil {
		return
	}
	if r.Path[0].Name == "id" || strings.HasPrefix(r.Path[0].Name, "_") {
		p.problem(at, "%q cannot be derived: id and names that begin with _ are taken", r.Path[0].Name)
	}
	c.Rules = append(c.Rules, r)
	p.pending = append(p.pending, pendingRule{rule: r, at: at, relation: relation})
}

// option reads one option of a rule, of whatever kind.
func (p *parser) option(r *fanfold.Rule, name string, v jsondoc.Node, at string) {
	switch name {
	case "value":
		r.Value = p.expr(v, at)
	case "where":
		r.Where = p.expr(v, at)
	case "limit":
		r.Limit = p.number(v, at, maxIDsLimit)
	case "max":
		r.Limit = p.number(v, at, maxRecent)
	case "frozen":
		r.Frozen = p.flag(v, at)
	case "of":
		r.Of = p.plainPath(v, at)
	case "orderBy":
		r.OrderBy = p.plainPath(v, at)
	case "fields":
		r.Fields = p.fields(v, at)
	default:
		p.problem(at, "unknown member; a derived field has one of %s, what goes with it, and takeOver", kindNames)
	}
}

// checkOptions checks that a rule has the options of its kind and no others.
func (p *parser) checkOptions(r *fanfold.Rule, options []string, at string) {
	for _, name := range options {
		_, known := allOptions[name]
		if known && !slices.Contains(ruleOptions[r.Kind], name) && !slices.Contains(ruleOptions[r.Kind], name+"!") {
			p.problem(at+"."+name, "does not go with %s", r.Kind)
		}
	}
	for _, name := range ruleOptions[r.Kind] {
		if name, must := strings.CutSuffix(name, "!"); must && !slices.Contains(options, name) {
			p.problem(at, "%s is missing: %s", name, missingOption[name])
		}
	}
	if r.Kind == fanfold.IDs && r.Limit == 0 {
		r.Limit = fanfold.DefaultIDsLimit
	}
}

// allOptions are the names that ruleOptions has.
var allOptions = func() map[string]struct{} {
	out := map[string]struct{}{}
	for _, options := range ruleOptions {
		for _, name := range options {
			out[strings.TrimSuffix(name, "!")] = struct{}{}
		}
	}
	return out
}()

// plainPath reads a path to one value, outside arrays.
func (p *parser) plainPath(n jsondoc.Node, at string) fanfold.Path {
	s := p.text(n, at)
	if s == "" {
		return nil
	}
	path := p.path(s, at)
	if path.Arrays() {
		p.problem(at, "%q goes through an array: it must lead to one value", s)
	}
	return path
}

// fields reads a list of member names.
func (p *parser) fields(n jsondoc.Node, at string) []string {
	var names []string
	if p.tree.Kind(n) == jsondoc.Array {
		for c := p.tree.First(n); c != jsondoc.None; c = p.tree.Next(c) {
			if p.tree.Kind(c) == jsondoc.String && p.tree.Text(c) != "" && !slices.Contains(names, p.tree.Text(c)) {
				names = append(names, p.tree.Text(c))
				continue
			}
			p.problem(at, "must name members, each once")
		}
	}
	if len(names) == 0 {
		p.problem(at, "must be a list of member names")
	}
	return names
}

// order gives every rule its level and refuses cycles. A copy depends on the derived fields of
// its target that its expression can look at, recent on those of its children that it shows; the
// others look at documents as written.
func (p *parser) order() {
	if len(p.problems) > 0 {
		return
	}
	deps := map[*fanfold.Rule][]*fanfold.Rule{}
	var all []*fanfold.Rule
	for _, c := range p.model.Collections {
		for _, r := range c.Rules {
			all = append(all, r)
			var other string
			switch r.Kind {
			case fanfold.Copy:
				r.Reads, _ = expr.MembersRead(r.Value)
				other = r.Relation.To
			case fanfold.Recent:
				r.Reads = r.Fields
				other = r.Relation.Collection
			default:
				continue
			}
			for _, o := range p.model.Collection(other).Rules {
				if r.CanRead(o) {
					deps[r] = append(deps[r], o)
				}
			}
		}
	}
	state := map[*fanfold.Rule]int{} // 1 on the stack, 2 done
	var stack []*fanfold.Rule
	var visit func(r *fanfold.Rule)
	visit = func(r *fanfold.Rule) {
		state[r] = 1
		stack = append(stack, r)
		for _, d := range deps[r] {
			switch state[d] {
			case 0:
				visit(d)
			case 1:
				p.cycle(stack[slices.Index(stack, d):])
			}
			r.Level = max(r.Level, d.Level+1)
		}
		stack = stack[:len(stack)-1]
		state[r] = 2
	}
	for _, r := range all {
		if state[r] == 0 {
			visit(r)
		}
	}
	slices.SortStableFunc(all, func(a, b *fanfold.Rule) int { return a.Level - b.Level })
	for i, r := range all {
		r.Index = i
	}
	p.model.Rules = all
}

func (p *parser) cycle(rules []*fanfold.Rule) {
	names := make([]string, 0, len(rules)+1)
	for _, r := range rules {
		names = append(names, r.Name())
	}
	names = append(names, rules[0].Name())
	p.problem(fmt.Sprintf("collections.%s.derive[%q]", rules[0].Collection, rules[0].Path.String()),
		"a derived value cannot depend on itself: %s", strings.Join(names, " -> "))
}
