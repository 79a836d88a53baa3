package modelfile

import (
	"fmt"
	"slices"
	"strings"

	"github.com/fanfold/fanfold/model"
)

// resolve finds the collections and relations that relations, pages and rules name, and checks that no two paths of a
// collection overlap that must not. It checks names, too.
func (p *parser) resolve() {
	checkNames(p)
	for _, c := range p.model.Collections {
		for _, r := range c.Relations {
			if r.To != "" && p.model.Collection(r.To) == nil {
				p.problem(fmt.Sprintf("collections.%s.relations.%s.to", c.Name, r.Name),
					"unknown collection %q: declare it, if only as %s: {}", r.To, r.To)
			}
		}
	}
	resolveFunctions(p)
	for _, pages := range p.pages {
		p.resolvePages(pages)
	}
	for _, pending := range p.pending {
		if !p.full() { // each mistake lists the relations that there are
			p.resolveRule(pending)
		}
	}
	for _, c := range p.model.Collections {
		p.overlaps(c)
		p.checkUnique(c)
		checkDefaults(p, c)
		sequenceParser{p}.checkSequences(c)
		if p.isNew {
			p.checkRelease(c)
		}
	}
}

// checkRelease reports released paths at which a rule keeps values: left over from earlier, such a line would let them go
// with the rule although nobody asks for it then.
func (p *parser) checkRelease(c *model.Collection) {
	for _, r := range c.Rules {
		if r.Relation == nil { // computed, or a mistake that was told
			continue
		}
		if k, keeps := r.KeepingRule(); keeps && slices.Contains(c.Release, k.Path) {
			p.problem(fmt.Sprintf("collections.%s.release", c.Name), "releases %q, while rule %s keeps values there, which would go with the rule unasked: "+
				"take it out of release; to let stored values go, release the path in a model in which no rule keeps values there", k.Path, k.Name())
		}
	}
}

// resolvePages finds the relation that pages are by.
func (p *parser) resolvePages(pages pendingPages) {
	if pages.by == "" {
		return
	}
	r := pages.c.Relation(pages.by)
	if r == nil {
		p.problem(pages.at+".by", "unknown relation %q: %s has %s",
			pages.by, pages.c.Name, relationNames(pages.c.Relations, relationName))
		return
	}
	name := r.Path.String()
	if slices.Contains([]string{"page", "pages"}, name) || slices.Contains([]string{"page", "pages", name}, r.Collection) {
		p.problem(pages.at, "a page has the members page and pages besides %s and %s: rename one", name, r.Collection)
	}
	r.PageSize = pages.size
}

// resolveRule finds the relation that a rule names.
func (p *parser) resolveRule(pending pendingRule) {
	if pending.rule.Kind == model.Computed {
		placeComputed(p, pending)
	}
	if pending.relation == "" {
		return
	}
	if pending.rule.Kind == model.Copy {
		p.resolveCopy(pending)
		return
	}
	r, at := pending.rule, pending.at+"."+string(pending.rule.Kind)
	r.Relation = p.model.Relation(pending.relation)
	switch {
	case r.Relation == nil:
		p.problem(at, "unknown relation %q: relations to %s are %s", pending.relation, r.Collection,
			relationNames(p.model.RelationsTo(r.Collection), (*model.Relation).FullName))
	case r.Relation.To != r.Collection:
		p.problem(at, "relation %s leads to %s, not to %s", pending.relation, r.Relation.To, r.Collection)
	case r.Path.Arrays():
		p.problem(pending.at, "%s stands once in a document, so its path cannot go through an array", r.Kind)
	}
}

// placeComputed finds where a value of the document's own stands: in it, or in each element of an array.
func placeComputed(p *parser, pending pendingRule) {
	r := pending.rule
	r.Base = len(r.Path.Elements())
	switch {
	case r.Total != "" && r.Base > 0:
		p.problem(pending.at, "%s stands once in a document, so its path cannot go through an array", r.Total)
	case r.Base > 0 && r.Base == len(r.Path):
		p.problem(pending.at, "must name a member inside the array's elements")
	}
}

// resolveCopy finds the relation of a copy, which is one of the copy's own collection.
func (p *parser) resolveCopy(pending pendingRule) {
	r := pending.rule
	c := p.model.Collection(r.Collection)
	r.Relation = c.Relation(pending.relation)
	if r.Relation == nil {
		p.problem(pending.at+"."+string(r.Kind), "unknown relation %q: %s has %s",
			pending.relation, r.Collection, relationNames(c.Relations, relationName))
		return
	}
	p.placeCopy(r, pending.at)
}

// placeCopy finds where the copied value stands: inside the innermost array that the field's path shares with the
// relation's.
func (p *parser) placeCopy(r *model.Rule, at string) {
	rel := r.Relation
	if len(rel.Path) == 0 {
		return
	}
	r.Base = r.Path.SharedArrays(rel.Path)
	switch {
	case r.Path[r.Base:].Arrays():
		p.problem(at, "goes through an array that relation %s (%s) does not: "+
			"a copy stands beside the id, or outside the array as a list", rel.Name, rel.Path)
	case len(r.Path) == r.Base:
		p.problem(at, "must name a member inside the array's elements")
	case len(rel.Path) == r.Base:
		p.problem(at, "relation %s (%s) holds bare ids, which have no room for a member beside them: "+
			"put the copy outside the array, as a list", rel.Name, rel.Path)
	}
}

func relationName(r *model.Relation) string { return r.Name }

// relationNames returns the names of relations, sorted, or "none".
func relationNames(relations []*model.Relation, name func(*model.Relation) string) string {
	if len(relations) == 0 {
		return "none"
	}
	names := make([]string, len(relations))
	for i, r := range relations {
		names[i] = name(r)
	}
	slices.Sort(names)
	return strings.Join(names, ", ")
}

// overlaps reports two rules that own one field, and fields where ids are read. It notes which relations are over derived
// ids, and what is refused of those.
func (p *parser) overlaps(c *model.Collection) {
	for i, r := range c.Rules {
		for _, other := range c.Rules[:i] {
			p.ruleOverlaps(r, other)
		}
		for _, rel := range c.Relations {
			switch {
			case !r.Path.Overlaps(rel.Path) || len(rel.Path) == 0:
			case len(r.Path) > len(rel.Path):
				p.problem(rulePath(r), "stands in the way of relation %s, whose ids are read at %s", rel.Name, rel.Path)
			default:
				rel.IDRules = append(rel.IDRules, r)
			}
		}
	}
	for _, rel := range c.Relations {
		if rel.Derived() {
			p.checkDerivedIDs(c, rel)
		}
	}
}

// checkDerivedIDs reports what a relation over derived ids cannot have: whatever a write of the document would have to do.
func (p *parser) checkDerivedIDs(c *model.Collection, rel *model.Relation) {
	at, source := fmt.Sprintf("collections.%s.relations.%s", c.Name, rel.Name), rel.IDRules[0].Path
	if rel.Strict {
		p.problem(at+".strict", "the ids at %s are derived by %s: no write could be refused for one that does not exist", rel.Path, source)
	}
	if rel.OnDelete == model.Unlink {
		p.problem(at+".onDelete", "the ids at %s are derived by %s: nobody can take one out; use clear, keep, cascade or restrict", rel.Path, source)
	}
	for _, r := range c.Rules {
		if r.Frozen && r.Relation == rel {
			p.problem(rulePath(r)+".frozen", "the ids of relation %s are derived by %s: they come and go without a write of the document, which a frozen value is taken by", rel.Name, source)
		}
	}
}

// ruleOverlaps reports each field of r that overlaps one of other's.
func (p *parser) ruleOverlaps(r, other *model.Rule) {
	for _, path := range r.OwnedPaths() {
		for _, otherPath := range other.OwnedPaths() {
			if path.Overlaps(otherPath) {
				p.problem(rulePath(r), "stands in the way of %q: two rules cannot own one field", other.Path.String())
			}
		}
	}
}
