package fold

import (
	"fmt"
	"slices"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/internal/jsondoc"
	"github.com/fanfold/fanfold/model"
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
	shared func(collection, name string, limit int, fn func(value string, first, last int64) error) error,
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
		for _, u := range m.Unique[c.Name] {
			if err := shared(c.Name, u.Name(), MaxNamed, func(value string, first, last int64) error {
				a, _, err := key(first)
				if err != nil {
					return err
				}
				b, _, err := key(last)
				problems = append(problems, fanfold.Problem{Path: UniquePath(c.Name), Detail: fmt.Sprintf("%s and %s both have %s", a, b, u.Has(value))})
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
	t := jsondoc.MustParse(row.ReferencedText())
	for _, r := range c.Rules {
		if m.AddedRules[r.FullName] && holds(t, jsondoc.Root, r.Path) {
			rules = append(rules, r)
		}
	}
	return rules
}

// Uncovered returns the rules that go, and whose paths stay reserved, that hid a member of the document of a row. It shows again,
// and the document's next write loses it.
func (m *ModelChange) Uncovered(row *sqlite.Row) (rules []*model.Rule) {
	old := m.Prev.Model.Collection(row.Key.Collection)
	if old == nil {
		return nil
	}
	for _, r := range old.Rules {
		if slices.Contains(m.Next.Reserved[r.Collection], r.Path.String()) && holds(jsondoc.MustParse(row.ReferencedText()), jsondoc.Root, r.Path) {
			rules = append(rules, r)
		}
	}
	return rules
}

// NewlyRetired returns the removed rules that come with the model, by an import, and whose paths were neither reserved nor any
// rule's before.
func (m *ModelChange) NewlyRetired() (rules []model.KeepingRule) {
	for _, k := range m.Next.Retired {
		old := m.Prev.Model.Collection(k.Collection)
		owned := old != nil && slices.ContainsFunc(old.Rules, func(r *model.Rule) bool { return slices.Contains(r.Paths(), k.Path) })
		if !owned && !slices.Contains(m.Prev.Reserved[k.Collection], k.Path) {
			rules = append(rules, k)
		}
	}
	return rules
}

// HidesOwn returns the problem of a removed rule that would reserve a member which the row's document has as its own. ok is
// false if the document has none there.
func HidesOwn(k model.KeepingRule, row *sqlite.Row) (problem fanfold.Problem, ok bool) {
	path, err := model.ParsePath(k.Path)
	if err != nil || !holds(jsondoc.MustParse(row.ReferencedText()), jsondoc.Root, path) {
		return problem, false
	}
	return fanfold.Problem{Path: fmt.Sprintf("collections.%s.release", k.Collection),
		Detail: fmt.Sprintf("a removed rule comes with the model, and %s has a member of its own at its path %q, which the next write would lose: take the rule out of \"retired\", or release the path", row.Key, k.Path)}, true
}

// LostUnreleased lists the rules whose kept values the model would drop although it does not release their paths, the
// first MaxNamed of them. The error is the read model's.
func (m *ModelChange) LostUnreleased(s *sqlite.Snapshot) (problems []fanfold.Problem, err error) {
	for _, o := range m.KeptValues {
		if !o.Unreleased() {
			continue
		}
		n, err := s.CountKeptValues(o.Name())
		if err != nil {
			return nil, err
		}
		first := ""
		if o.RuleKeeps {
			first = ", in a model without this rule, and apply this one afterwards"
		}
		if n > 0 && len(problems) < MaxNamed {
			problems = append(problems, fanfold.Problem{Path: fmt.Sprintf("collections.%s.release", o.Collection),
				Detail: fmt.Sprintf("%d %s values of %s would be lost, which nobody can compute again: release %q in the collection if that is meant%s", n, o.Kind(), o.Name(), o.Path, first)})
		}
	}
	return problems, nil
}

// HidesMembers returns the problem of a rule that would hide members of documents, which are named by the caller.
func HidesMembers(r *Rule, documents string) fanfold.Problem {
	return fanfold.Problem{Path: fmt.Sprintf("collections.%s.derive[%q]", r.Collection, r.Path.String()),
		Detail: fmt.Sprintf("stored documents have this member already (%s): their values would be hidden; say takeOver: true if that is meant", documents)}
}

// holds returns whether there is a member at path below n.
func holds(t *jsondoc.Tree, n jsondoc.Node, path model.Path) bool {
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

// DefaultObjections returns why defaults of the model cannot stand where they are declared.
func (m *ModelChange) DefaultObjections() []fanfold.Problem {
	return m.Next.Model.DefaultsAt(m.Next.Reserved)
}
