// Package flows says what the derived fields of a model tell readers of one collection about documents of another one.
package flows

import (
	"fmt"
	"slices"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/internal/wire"
	"github.com/fanfold/fanfold/model"
)

// Of returns the flows of a model, by collection, then by path: each derived field, with each collection that it tells about. A private member that it is made
// of has a flow of its own.
func Of(m *model.Model) []wire.ModelFlow {
	all := []wire.ModelFlow{}
	for _, c := range m.Collections {
		for _, r := range c.Rules {
			for _, from := range m.Sources[r.Index] {
				all = append(all, wire.ModelFlow{Rule: r.Name(), From: from, To: c.Name, Publish: r.Publish})
			}
			for _, p := range privateRead(m, r) {
				all = append(all, wire.ModelFlow{Rule: r.Name(), From: p.collection, To: c.Name, Publish: r.Publish, Member: p.Path.String()})
			}
		}
	}
	return all
}

// needed tells whether a rule must say that it publishes. It need not, if whoever sees its value may read each document of the other collection, or sees the
// private member.
func needed(m *model.Model, f wire.ModelFlow) bool {
	source := m.AccessTo(f.From).Read.Roles
	if f.Member != "" {
		source = rolesOf(m, f.From, f.Member)
	}
	if slices.Contains(source, model.RoleEveryone) {
		return false
	}
	other := func(role string) bool { return role != model.RoleAdmin && !slices.Contains(source, role) }
	if p := privateAround(m, f); p != nil && !slices.ContainsFunc(p.Roles, other) {
		return false
	}
	readers := m.AccessTo(f.To).Read
	return readers.Where != "" || slices.ContainsFunc(readers.Roles, other)
}

// maxProblems is how many flows an error lists.
const maxProblems = 100

// Check returns an Unprocessable where derived fields must say that they publish, and do not. It lists the flows.
func Check(m *model.Model) error {
	e := fanfold.Errorf(fanfold.Unprocessable, "derived fields tell readers about documents that they may not all read, or about private members; nothing was changed: say publish: true in those that are to tell it")
	untold := 0
	for _, f := range Of(m) {
		switch {
		case f.Publish || !needed(m, f):
		case len(e.Problems) == maxProblems:
			untold++
		default:
			e.Problems = append(e.Problems, fanfold.Problem{Path: at(f, "[%q]"), Detail: tells(f)})
		}
	}
	if len(e.Problems) == 0 {
		return nil
	}
	if untold > 0 {
		e.Message += fmt.Sprintf("; these are the first %d of %d", maxProblems, maxProblems+untold)
	}
	return e
}

// New returns the flows to readers who may not read their source, if there were none such before, as differences of the models.
func New(c *model.Comparison) (all []model.Difference) {
	type flow struct{ rule, from, member string }
	before := map[flow]bool{}
	for _, f := range Of(c.Prev) {
		before[flow{f.Rule, f.From, f.Member}] = needed(c.Prev, f)
	}
	for _, f := range Of(c.Next) {
		if needed(c.Next, f) && !before[flow{f.Rule, f.From, f.Member}] {
			all = append(all, model.Difference{Path: at(f, ".%s") + ".publish", Change: "added", Detail: tells(f)})
		}
	}
	return all
}

// tells says a flow in words.
func tells(f wire.ModelFlow) string {
	if f.Member != "" {
		return fmt.Sprintf("%s tells readers of %s about %s of %s, which is private", f.Rule, f.To, f.Member, f.From)
	}
	return fmt.Sprintf("%s tells readers of %s about %s", f.Rule, f.To, f.From)
}

// at returns where a flow's rule stands in the model. The rule's path is written by the format.
func at(f wire.ModelFlow, format string) string {
	return fmt.Sprintf("collections.%s.derive"+format, f.To, f.Rule[len(f.To)+1:])
}
