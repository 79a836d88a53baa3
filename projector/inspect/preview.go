package inspect

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/internal/jsondoc"
	"github.com/fanfold/fanfold/internal/schema"
	"github.com/fanfold/fanfold/projector/fold"
	"github.com/fanfold/fanfold/sqlite"
)

// Preview tells what applying the model would do, without doing it. Problems names rules that
// need takeOver, because stored documents have a member of their own at their path. It blocks
// for as long as recomputing everything takes.
func (i *Inspector) Preview(ctx context.Context, m *fanfold.Model) (out *fanfold.ModelPreview, err error) {
	sc, err := i.store.Scan()
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, sc.Close()) }()
	prev, err := fold.LoadPlan(func(fn func(*sqlite.Snapshot) error) error { return fn(sc.Snapshot) })
	if err != nil {
		return nil, err
	}
	next, err := fold.NewPlan(m, 0, prev.Reserved.Next(prev.Model, m))
	if err != nil {
		return nil, err
	}
	v := &previewer{prev: prev, next: next, cmp: fold.CompareModels(prev, next), rules: map[string]*fanfold.RulePreview{}, schemas: map[string]*schema.Schema{}, misfits: map[string]*fanfold.Misfits{}, out: &fanfold.ModelPreview{Position: sc.Checkpoint.At(), Rules: []fanfold.RulePreview{}}}
	v.list()
	v.out.AtOnce = v.cmp.Entangled()
	for _, c := range m.Collections {
		if old := prev.Model.Collection(c.Name); c.Schema == nil || old != nil && bytes.Equal(old.Schema, c.Schema) {
			continue // what does not fit was told when the schema came
		}
		compiled, err := schema.Compile(c.Schema)
		if err != nil {
			return nil, err
		}
		v.schemas[c.Name] = compiled
		v.misfits[c.Name] = &fanfold.Misfits{Collection: c.Name}
	}
	if v.out.Work, err = v.cmp.Work(sc.Snapshot); err != nil {
		return nil, err
	}
	c := newChecker(ctx, sc, next)
	c.fresh = v.cmp.NewRules
	if err := c.link(); err != nil {
		return nil, err
	}
	if err := v.checkGuards(c); err != nil {
		return nil, err
	}
	if err := c.each(v.document); err != nil {
		return nil, err
	}
	v.problems()
	return v.out, nil
}

type previewer struct {
	prev, next *fold.Plan
	cmp        *fold.ModelChange
	rules      map[string]*fanfold.RulePreview
	schemas    map[string]*schema.Schema // new or changed
	misfits    map[string]*fanfold.Misfits
	order      []string
	out        *fanfold.ModelPreview
}

// list enters every rule of both models, by name.
func (v *previewer) list() {
	for _, r := range v.prev.Rules {
		v.rules[r.FullName] = &fanfold.RulePreview{Rule: r.FullName, Change: "removed"}
	}
	for _, r := range v.next.Rules {
		change := "same"
		switch old := v.rules[r.FullName]; {
		case old == nil:
			change = "new"
		case v.cmp.NewRules[r.FullName]:
			change = "changed"
		}
		v.rules[r.FullName] = &fanfold.RulePreview{Rule: r.FullName, Change: change}
	}
	for name := range v.rules {
		v.order = append(v.order, name)
	}
	slices.Sort(v.order)
}

func (v *previewer) document(row *sqlite.Row, right []byte) error {
	name := row.Key.Collection
	c := v.next.Collection(name)
	if !c.Shape.Empty() {
		v.hidden(row)
	}
	v.checkSchema(row)
	if bytes.Equal(row.Body, right) {
		return nil
	}
	v.out.Changes++
	for _, rule := range fold.Diff(name, v.cmp.ShapeOf(name), jsondoc.MustParse(row.Body), jsondoc.MustParse(right)).Rules {
		if r := v.rules[rule]; r != nil {
			r.Documents++
		}
	}
	return nil
}

// guarded notes stored documents that break a new strict relation or unique member.
func (v *previewer) checkGuards(c *checker) error {
	index := func(collection, path string) string { return "unique " + collection + "." + path }
	for name, paths := range v.cmp.Unique {
		for _, path := range paths {
			if err := c.values(name, path, index(name, path.String()), func(row *sqlite.Row, err error) {
				v.out.Problems = append(v.out.Problems, fanfold.Problem{Path: fold.UniquePath(name), Detail: fmt.Sprintf("%s: %v", row.Key, err)})
			}); err != nil {
				return err
			}
		}
	}
	broken, err := v.cmp.BrokenGuards(c.sc.Dangling, func(collection, path string, limit int, fn func(value string, first, last int64) error) error {
		return c.sc.Shared(index(collection, path), limit, fn)
	}, c.sc.KeyOf)
	v.out.Problems = append(v.out.Problems, broken...)
	return err
}

// fits notes a document that a new schema refuses.
func (v *previewer) checkSchema(row *sqlite.Row) {
	s := v.schemas[row.Key.Collection]
	if s == nil {
		return
	}
	problems := s.Check(row.Source())
	if problems == nil {
		return
	}
	m := v.misfits[row.Key.Collection]
	if m.Documents++; len(m.First) < fold.MaxNamed {
		m.First = append(m.First, fanfold.Misfit{Document: row.Key.String(), Problems: problems})
	}
}

// hidden notes members of the document's own that a new rule would hide.
func (v *previewer) hidden(row *sqlite.Row) {
	for _, r := range v.cmp.HidingRules(row) {
		if p := v.rules[r.FullName]; len(p.Hides) < fold.MaxNamed {
			p.Hides = append(p.Hides, row.Key.String())
		}
	}
}

func (v *previewer) problems() {
	if v.out.Changes > fanfold.MaxChanges {
		v.out.Problems = append(v.out.Problems, fold.TooManyChanges(v.out.Changes))
	}
	for _, c := range v.next.Model.Collections {
		if m := v.misfits[c.Name]; m != nil && m.Documents > 0 {
			v.out.Misfits = append(v.out.Misfits, *m)
		}
	}
	for _, name := range v.order {
		v.out.Rules = append(v.out.Rules, *v.rules[name])
	}
	for _, r := range v.next.Rules {
		if p := v.rules[r.FullName]; len(p.Hides) > 0 && !r.TakeOver {
			v.out.Problems = append(v.out.Problems, fold.HidesMembers(r, p.Hides[0]+", ..."))
		}
	}
}
