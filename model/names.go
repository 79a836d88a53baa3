package model

import (
	"slices"
	"strings"

	"github.com/fanfold/fanfold"
)

// Names of collections are unique without case. Two nodes could write the first documents of Orders and orders at once, if no model declared
// them. So a name with capitals must be declared: the event of the model decides for all nodes.

// Capitals returns the names with capitals that the model declares, in order.
func (m *Model) Capitals() (names []string) {
	for _, c := range m.Collections {
		if hasCapitals(c.Name) {
			names = append(names, c.Name)
		}
	}
	return names
}

// hasCapitals tells whether a collection's name has a capital.
func hasCapitals(name string) bool { return strings.ToLower(name) != name }

// checkName returns an UnknownCollection for a name that the model does not declare, and that has capitals or differs by case alone from
// one that it declares.
func (m *Model) checkName(collection string) error {
	if m.byName[collection] != nil {
		return nil
	}
	if other := m.bySmall[strings.ToLower(collection)]; other != "" {
		return fanfold.Errorf(fanfold.UnknownCollection, "there is no collection %q: the model declares %q, and names are unique without case; write the name as the model has it", fanfold.Clip(collection), other)
	}
	if hasCapitals(collection) {
		return fanfold.Errorf(fanfold.UnknownCollection, "the model declares no collection %q, and a name with capitals must be declared: add it to the model, if only as %s: {}", fanfold.Clip(collection), fanfold.Clip(collection))
	}
	return nil
}

// ChangesCapitals tells whether Prev and Next declare different names with capitals.
func (c *Comparison) ChangesCapitals() bool {
	return !slices.Equal(c.Prev.Capitals(), c.Next.Capitals())
}

// Misnamed returns the problem of a collection that holds documents, and could not under Next because of its name. ok is false
// where it could.
func (c *Comparison) Misnamed(collection string) (problem fanfold.Problem, ok bool) {
	if c.Next.checkName(collection) == nil {
		return problem, false
	}
	path, why := collection, "the model does not declare it, and a name with capitals must be declared"
	if other := c.Next.bySmall[strings.ToLower(collection)]; other != "" {
		path, why = other, "the model declares "+other+", and names are unique without case"
	}
	return fanfold.Problem{Path: "collections." + path, Detail: collection + " holds documents: " + why + "; move them to another collection, or delete them, first"}, true
}
