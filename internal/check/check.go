// Package check knows what the checks of a model ask of writes: which writes can make a check false, and which documents' gates these
// need. It reads nothing that is stored. writer/DESIGN.md says why gates are enough.
package check

import (
	"errors"
	"slices"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/internal/expr"
	"github.com/fanfold/fanfold/internal/jsondoc"
	"github.com/fanfold/fanfold/model"
)

// Checks holds the checks of one model. It does not change once it is made.
type Checks struct {
	conditions map[string][]condition
	own        map[string]bool // no rule moves what the collection's checks look at
	moving     map[string]bool // writes of the collection can move what a check looks at, on whichever documents
	gated      map[string]bool // documents of the collection have gates: others change them, or they are copied from
	failed     func(name string, key fanfold.Key, err error)

	counted map[string][]*model.Relation // by holders' collection: a check may look at what a target shows of its holders
	copied  map[string][]*model.Relation // by holders' collection: a check may look at what a holder shows of its targets
}

// condition is a check with its compiled expression.
type condition struct {
	*model.Check

	program *expr.Program
}

// Of returns the checks of a model, nil where it has none. A nil Checks concerns nothing. failed is told of conditions that fail on what a write
// makes of a document; nil for nobody.
func Of(m *model.Model, failed func(name string, key fanfold.Key, err error)) (*Checks, error) {
	if !m.HasChecks() {
		return nil, nil
	}
	c := &Checks{conditions: map[string][]condition{}, own: map[string]bool{}, moving: map[string]bool{}, gated: map[string]bool{}, failed: failed,
		counted: map[string][]*model.Relation{}, copied: map[string][]*model.Relation{}}
	for _, collection := range m.Collections {
		for _, k := range collection.Checks {
			program, err := expr.Compile(k.That)
			if err != nil {
				return nil, err
			}
			c.conditions[collection.Name] = append(c.conditions[collection.Name], condition{k, program})
			rules := m.RulesOf(collection, k)
			for _, r := range rules {
				c.addRule(r)
			}
			c.moving[collection.Name] = c.moving[collection.Name] || len(rules) > 0
		}
	}
	for name := range c.conditions {
		c.own[name] = !c.moving[name]
	}
	return c, nil
}

// New returns the checks of a model that may be false of documents because the model follows another, nil where there are none.
// It is for Broken alone.
func New(change *model.Comparison) (*Checks, error) {
	c := &Checks{conditions: map[string][]condition{}}
	for name, checks := range change.NewChecks() {
		for _, k := range checks {
			program, err := expr.Compile(k.That)
			if err != nil {
				return nil, err
			}
			c.conditions[name] = append(c.conditions[name], condition{k, program})
		}
	}
	if len(c.conditions) == 0 {
		return nil, nil
	}
	return c, nil
}

// addRule notes how writes move what a rule gives.
func (c *Checks) addRule(r *model.Rule) {
	c.moving[r.Collection] = true
	switch {
	case r.Relation == nil:
		return
	case r.Kind == model.Copy:
		c.moving[r.Relation.To], c.gated[r.Relation.To] = true, true
		c.copied[r.Collection] = withRelation(c.copied[r.Collection], r.Relation)
	default:
		holders := r.Relation.Collection
		c.moving[holders] = true
		c.counted[holders] = withRelation(c.counted[holders], r.Relation)
	}
	c.gated[r.Collection] = true
}

// withRelation returns relations with one more, once.
func withRelation(all []*model.Relation, r *model.Relation) []*model.Relation {
	if slices.Contains(all, r) {
		return all
	}
	return append(all, r)
}

// Concerns tells whether a write must be rehearsed, because it may make a check false.
func (c *Checks) Concerns(ev *fanfold.Event) bool {
	if c == nil {
		return false
	}
	name := ev.Key.Collection
	switch ev.Kind {
	case fanfold.KindPut:
		return c.moving[name] || c.own[name] && len(c.Broken(model.DocumentChange{Key: ev.Key, After: ev.Body})) > 0
	case fanfold.KindPatch:
		return c.moving[name] || c.own[name]
	case fanfold.KindDelete:
		return c.moving[name]
	}
	return false
}

// Follows tells whether Broken and Gates have something to say about changes of a collection's documents.
func (c *Checks) Follows(collection string) bool {
	return len(c.conditions[collection]) > 0 || c.gated[collection] || len(c.counted[collection])+len(c.copied[collection]) > 0
}

// Broken lists the checks that are false after a change, and were true, or had no value, before. Path names the document and the check, and
// Detail has the check's message.
func (c *Checks) Broken(d model.DocumentChange) (problems []fanfold.Problem) {
	if c == nil {
		return nil
	}
	all := c.conditions[d.Key.Collection]
	if len(all) == 0 || d.After == nil {
		return nil
	}
	after := jsondoc.MustParse(d.After)
	for _, k := range all {
		isFalse, err := k.isFalse(after)
		if err != nil && c.failed != nil {
			c.failed(d.Key.Collection+".checks."+k.Name, d.Key, err)
		}
		if !isFalse || d.Before != nil && k.wasFalse(d.Before) {
			continue
		}
		problems = append(problems, fanfold.Problem{Key: d.Key, Path: d.Key.String() + " " + k.Name, Detail: k.told()})
	}
	return problems
}

// isFalse tells whether the check is false of a view. One without a value is not, nor one that fails. The error says why it failed.
func (k *condition) isFalse(view *jsondoc.Tree) (bool, error) {
	holds, err := k.program.Decide(view)
	if errors.Is(err, expr.ErrNoValue) {
		return false, nil
	}
	return err == nil && !holds, err
}

// wasFalse tells whether the check was false of the view before a write.
func (k *condition) wasFalse(view []byte) bool {
	isFalse, err := k.isFalse(jsondoc.MustParse(view))
	return err == nil && isFalse
}

// told returns what whoever's write is refused is told.
func (k *condition) told() string {
	if k.Message != "" {
		return k.Message
	}
	return "it must hold that " + k.That
}

// Gates appends the keys of the documents whose gates a change needs, and returns the extended list. A document is in it if what
// it shows depends on the change, or on what other writes may do to it at the same time.
func (c *Checks) Gates(dst []fanfold.Key, d model.DocumentChange) []fanfold.Key {
	name := d.Key.Collection
	if c.gated[name] {
		dst = append(dst, d.Key)
	}
	counted, copied := c.counted[name], c.copied[name]
	if len(counted)+len(copied) == 0 {
		return dst
	}
	before, after := treeOf(d.Before), treeOf(d.After)
	for _, r := range counted {
		for _, view := range []*jsondoc.Tree{before, after} {
			for _, id := range r.Targets(view) {
				dst = append(dst, fanfold.Key{Collection: r.To, ID: id})
			}
		}
	}
	for _, r := range copied {
		had := r.Targets(before)
		for _, id := range r.Targets(after) {
			if !slices.Contains(had, id) { // it reads a document from now on that others may be changing
				dst = append(dst, fanfold.Key{Collection: r.To, ID: id})
			}
		}
	}
	return dst
}

// treeOf returns a view, an empty one for nil.
func treeOf(view []byte) *jsondoc.Tree {
	if view == nil {
		return noView
	}
	return jsondoc.MustParse(view)
}

var noView = jsondoc.MustParse([]byte("{}"))
