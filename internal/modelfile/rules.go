package modelfile

import (
	"slices"
	"strings"

	"github.com/fanfold/fanfold/internal/jsondoc"
	"github.com/fanfold/fanfold/model"
)

// ruleOptions lists the options of each kind of rule; one with a ! is required.
var ruleOptions = map[model.RuleKind][]string{
	model.Copy:   {"value!", "frozen"},
	model.Count:  {"where"},
	model.Sum:    {"of!", "where"},
	model.Min:    {"of!", "where"},
	model.Max:    {"of!", "where"},
	model.Avg:    {"of!", "where"},
	model.IDs:    {"limit"},
	model.Recent: {"max!", "fields!", "orderBy", "where"},

	model.Computed: {"value!"},
}

// missingOption says what a required option holds.
var missingOption = map[string]string{
	"value":  "a CEL expression over doc, such as doc.name",
	"of":     "the path of a number in the documents that refer to this one, such as likes or lines[].quantity",
	"max":    "how many documents at most",
	"fields": "which of their members, such as [id, text]",
}

// kindNames lists the kinds of rules for messages.
const kindNames = "copy, count, sum, min, max, avg, ids and recent, or value alone"

// rule reads the rule of one derived field and adds it to its collection.
func (p *parser) rule(c *model.Collection, path string, n jsondoc.Node, at string) {
	if !p.counted(&p.sizes.rules, maxRules, "derived fields", at) {
		return
	}
	r := &model.Rule{Collection: c.Name, Path: p.path(path, at)}
	if p.tree.Kind(n) != jsondoc.Object {
		p.problem(at, "must be a mapping with one of %s", kindNames)
		return
	}
	relation := ""
	var options []string
	aRule.read(p, n, at, func(member, at string, v jsondoc.Node) {
		_, isKind := ruleOptions[model.RuleKind(member)]
		if member == string(model.Computed) || member == string(model.Max) && p.tree.Kind(v) == jsondoc.Number {
			isKind = false // value is also an option of copy, and max of recent
		}
		switch {
		case isKind:
			if r.Kind != "" {
				p.problem(at, "a field has one of %s; this one also has %s", kindNames, r.Kind)
			}
			r.Kind, relation = model.RuleKind(member), p.text(v, at)
		case member == "takeOver":
			r.TakeOver = p.flag(v, at)
		case member == "publish":
			r.Publish = p.flag(v, at)
		default:
			options = append(options, member)
			p.option(r, member, v, at)
		}
	})
	if r.Kind == "" && slices.Contains(options, string(model.Computed)) {
		r.Kind = model.Computed
	}
	if r.Kind == "" {
		p.problem(at, "must have one of %s", kindNames)
		return
	}
	relation = ownTotal(p, r, relation, at)
	p.checkOptions(r, options, at)
	value, where := seenBy(r)
	checkText(p, r.Value, at+".value", value)
	checkText(p, r.Where, at+".where", where)
	if r.Path != nil {
		p.addRule(c, pendingRule{rule: r, at: at, relation: relation})
	}
}

// ownTotal makes a rule a total over an array of its own documents, if it names the array's path where others name a relation. It returns
// the name of the relation, "" for such a total.
func ownTotal(p *parser, r *model.Rule, relation, at string) string {
	if r.Kind != model.Count && !r.Kind.Aggregates() || !strings.Contains(relation, "[]") {
		return relation
	}
	at += "." + string(r.Kind)
	if r.Of != nil {
		p.problem(at, "%q says already where the numbers stand: leave out of", relation)
	}
	r.Kind, r.Total, r.Of = model.Computed, r.Kind, p.path(relation, at)
	return ""
}

// addRule adds a rule to its collection, and reports a field that cannot be derived.
func (p *parser) addRule(c *model.Collection, pending pendingRule) {
	r := pending.rule
	if r.Path[0].Name == "id" || strings.HasPrefix(r.Path[0].Name, "_") {
		p.problem(pending.at, "%q cannot be derived: id and names that begin with _ are taken", r.Path[0].Name)
	}
	if overElements := func(r *model.Rule) bool { return r.Elements() != nil }; p.isNew && overElements(r) && countOf(c.Rules, overElements) == maxElementRules {
		p.problem(pending.at, "%s has more than %d derived fields that go through elements of arrays", c.Name, maxElementRules)
	}
	c.Rules = append(c.Rules, r)
	p.pending = append(p.pending, pending)
}

// countOf returns how many rules a function holds for.
func countOf(rules []*model.Rule, holds func(*model.Rule) bool) (n int) {
	for _, r := range rules {
		if holds(r) {
			n++
		}
	}
	return n
}

// option reads one option of a rule, whether it goes with the rule's kind or not.
func (p *parser) option(r *model.Rule, name string, v jsondoc.Node, at string) {
	switch name {
	case "value":
		r.Value = p.text(v, at) // it is checked once it is known what it sees
	case "where":
		r.Where = p.text(v, at)
	case "limit":
		r.Limit = p.number(v, at, maxIDsLimit)
	case "max":
		r.Limit = p.number(v, at, maxRecent)
	case "frozen":
		r.Frozen = p.flag(v, at)
	case "of":
		if s := p.text(v, at); s != "" {
			r.Of = p.path(s, at)
		}
	case "orderBy":
		p.orderBy(r, v, at)
	case "fields":
		r.Fields = p.fields(v, at)
	}
}

// checkOptions reports options that do not go with the rule's kind and required ones that are missing, and sets the
// default limit.
func (p *parser) checkOptions(r *model.Rule, options []string, at string) {
	takes := ruleOptions[r.Kind]
	if r.Total != "" {
		takes = []string{"of", "where"} // of was told
	}
	for _, name := range options {
		_, known := allOptions[name]
		if known && !slices.Contains(takes, name) && !slices.Contains(takes, name+"!") {
			p.problem(at+"."+name, "does not go with %s", r.Shows())
		}
	}
	for _, name := range takes {
		if name, required := strings.CutSuffix(name, "!"); required && !slices.Contains(options, name) {
			p.problem(at, "%s is missing: %s", name, missingOption[name])
		}
	}
	if r.Kind == model.IDs && r.Limit == 0 {
		r.Limit = model.DefaultIDsLimit
	}
}

// allOptions has the names in ruleOptions, without the !.
var allOptions = func() map[string]struct{} {
	out := map[string]struct{}{}
	for _, options := range ruleOptions {
		for _, name := range options {
			out[strings.TrimSuffix(name, "!")] = struct{}{}
		}
	}
	return out
}()

// fields reads a list of member names, each once.
func (p *parser) fields(n jsondoc.Node, at string) []string {
	var names []string
	if p.tree.Kind(n) == jsondoc.Array {
		for c := p.tree.First(n); c != jsondoc.None && (!p.isNew || len(names) <= maxFields); c = p.tree.Next(c) {
			if p.tree.Kind(c) == jsondoc.String && p.tree.Text(c) != "" && !slices.Contains(names, p.tree.Text(c)) {
				names = append(names, p.tree.Text(c))
				continue
			}
			p.problem(at, "must name members, each once")
			if p.full() {
				break
			}
		}
		if p.isNew && len(names) > maxFields {
			p.problem(at, "names more than %d members", maxFields)
		}
	}
	if len(names) == 0 {
		p.problem(at, "must be a list of member names")
	}
	return names
}
