package exportfile

import (
	"slices"

	"github.com/fanfold/fanfold/internal/jsondoc"
	"github.com/fanfold/fanfold/model"
)

// Keeps reports whether values may stay on the documents of a collection by its rules, nil for none.
func Keeps(c *model.Collection) bool {
	return c != nil && slices.ContainsFunc(c.Rules, (*model.Rule).KeepsValues)
}

// EachShownKept calls fn for each value in the embedded view of a document that stays on it, by rule. These are the values of frozen copies, and
// of copies whose target is gone. A view does not say of a list whether an id without a value had null. If each has null, all of
// them are taken for values, so that the list is there again.
func EachShownKept(c *model.Collection, body []byte, gone func(collection, id string) (bool, error), fn func(rule, target string, value []byte) error) error {
	if !Keeps(c) {
		return nil
	}
	t := jsondoc.MustParse(body)
	for _, r := range c.Rules {
		if !r.KeepsValues() {
			continue
		}
		values := shownValues{rule: r, t: t, of: map[string][]byte{}}
		values.find(r.Path[:r.Base], jsondoc.Root)
		for _, id := range values.ids {
			if !r.Frozen {
				if is, err := gone(r.Relation.To, id); err != nil || !is {
					if err != nil {
						return err
					}
					continue
				}
			}
			if err := fn(r.Name(), id, values.of[id]); err != nil {
				return err
			}
		}
	}
	return nil
}

// shownValues are the values that an embedded view shows by a copy.
type shownValues struct {
	rule *model.Rule
	t    *jsondoc.Tree
	ids  []string // in document order
	of   map[string][]byte
}

// find finds them in the objects to which a path leads from a node.
func (v *shownValues) find(path model.Path, n jsondoc.Node) {
	for i, step := range path {
		if step.Each() {
			if v.t.Kind(n) == jsondoc.Array {
				for c := v.t.First(n); c != jsondoc.None; c = v.t.Next(c) {
					v.find(path[i+1:], c)
				}
			}
			return
		}
		if n = v.t.Member(n, step.Name); n == jsondoc.None {
			return
		}
	}
	v.at(n)
}

// at notes the values in one object.
func (v *shownValues) at(n jsondoc.Node) {
	r := v.rule
	ids, value := r.Relation.Path[r.Base:].AppendIDs(nil, v.t, n), r.Path[r.Base:].Lookup(v.t, n)
	if value == jsondoc.None {
		return
	}
	if !r.List() {
		for _, id := range ids {
			v.note(id, value)
		}
		return
	}
	all := true // have null
	for c := v.t.First(value); c != jsondoc.None; c = v.t.Next(c) {
		all = all && v.t.Kind(c) == jsondoc.Null
	}
	c := v.t.First(value)
	for _, id := range ids {
		if c == jsondoc.None {
			return
		}
		if all || v.t.Kind(c) != jsondoc.Null {
			v.note(id, c)
		}
		c = v.t.Next(c)
	}
}

// note notes the value of an id.
func (v *shownValues) note(id string, value jsondoc.Node) {
	if v.of[id] == nil {
		v.ids, v.of[id] = append(v.ids, id), v.t.Raw(value)
	}
}
