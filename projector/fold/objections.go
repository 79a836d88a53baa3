package fold

import (
	"fmt"
	"slices"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/internal/jsondoc"
	"github.com/fanfold/fanfold/sqlite"
)

// MaxNamed is how many documents are named where something is wrong with many.
const MaxNamed = 20

// UniquePath returns where a model declares the unique members of a collection.
func UniquePath(collection string) string { return fmt.Sprintf("collections.%s.unique", collection) }

// BrokenGuards lists documents that break a new strict relation or unique member, the first MaxNamed of each. dangling
// calls fn for links without a target, shared for values that several documents have, and key returns which document
// has a number. The error is theirs.
func (m *ModelChange) BrokenGuards(dangling func(relation, to string, limit int, fn func(holder int64, target string) error) error,
	shared func(collection, path string, limit int, fn func(value string, first, last int64) error) error,
	key func(number int64) (fanfold.Key, bool, error)) (problems []fanfold.Problem, err error) {
	for _, r := range m.Strict {
		if err := dangling(r.FullName(), r.To, MaxNamed, func(holder int64, target string) error {
			key, _, err := key(holder)
			problems = append(problems, fanfold.Problem{Path: fmt.Sprintf("collections.%s.relations.%s.strict", r.Collection, r.Name),
				Detail: fmt.Sprintf("%s refers to %s/%s, which does not exist", key, r.To, target)})
			return err
		}); err != nil {
			return nil, err
		}
	}
	for _, c := range m.Next.Model.Collections {
		for _, path := range m.Unique[c.Name] {
			if err := shared(c.Name, path.String(), MaxNamed, func(value string, first, last int64) error {
				a, _, err := key(first)
				if err != nil {
					return err
				}
				b, _, err := key(last)
				problems = append(problems, fanfold.Problem{Path: UniquePath(c.Name), Detail: fmt.Sprintf("%s and %s both have %s %q", a, b, path, value[1:])})
				return err
			}); err != nil {
				return nil, err
			}
		}
	}
	return problems, nil
}

// HidingRules returns the new rules that would hide a member of the document's own.
func (m *ModelChange) HidingRules(row *sqlite.Row) (rules []*Rule) {
	c := m.Next.Collection(row.Key.Collection)
	if len(c.Rules) == 0 {
		return nil
	}
	t := jsondoc.MustParse(row.Source())
	for _, r := range c.Rules {
		if m.takesOver(r) && holds(t, jsondoc.Root, r.Path) {
			rules = append(rules, r)
		}
	}
	return rules
}

// takesOver returns whether the rule's path belonged to no rule before.
func (m *ModelChange) takesOver(r *Rule) bool {
	old := m.Prev.Model.Collection(r.Collection)
	return old == nil || !slices.ContainsFunc(old.Rules, func(o *fanfold.Rule) bool { return o.Name() == r.FullName })
}

// HidesMembers returns the problem of a rule that would hide members of documents, which are named by the caller.
func HidesMembers(r *Rule, documents string) fanfold.Problem {
	return fanfold.Problem{Path: fmt.Sprintf("collections.%s.derive[%q]", r.Collection, r.Path.String()),
		Detail: fmt.Sprintf("stored documents have this member already (%s): their values would be hidden; say takeOver: true if that is meant", documents)}
}

// holds returns whether there is a member at path below n.
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

// TooManyChanges returns the problem of a model that changes more documents than an event can.
func TooManyChanges(changes int64) fanfold.Problem {
	return fanfold.Problem{Path: "collections",
		Detail: fmt.Sprintf("%d documents would change; one event can change at most %d: apply the rules in several steps", changes, fanfold.MaxChanges)}
}
