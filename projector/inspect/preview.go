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

// Preview returns what applying the model would do, without doing it, on one snapshot. Problems names what speaks
// against it: rules that need takeOver, because stored documents have a member of their own at their path, documents
// that break new guards, and more changes than one event can have. It blocks for as long as recomputing everything
// takes; reads and folding go on. The error is the read model's, or ctx's.
func (i *Inspector) Preview(ctx context.Context, m *fanfold.Model) (out *fanfold.ModelPreview, err error) {
	sc, err := i.store.Scan()
	if err != nil {
		return nil, err
	}
	defer func() {
		i.rowsRead.Add(int64(sc.RowsRead()))
		err = errors.Join(err, sc.Close())
	}()
	sc.EndWith(ctx)
	v, err := newPreviewer(ctx, sc, m)
	if err == nil {
		err = errors.Join(v.countKept(sc.Snapshot), v.checkRetired(sc))
	}
	if err != nil {
		return nil, err
	}
	if v.change.LeavesDocuments() && len(v.schemas) == 0 { // a fan-out limit alone
		v.conclude()
		return v.out, nil
	}
	c := newChecker(ctx, sc, v.next)
	c.change, c.tally = v.change, v.tally
	if err := c.indexLinks(); err != nil {
		return nil, err
	}
	if err := v.checkGuards(c); err != nil {
		return nil, err
	}
	if err := c.eachDocument(v.checkDocument); err != nil {
		return nil, err
	}
	v.concludeTally()
	v.conclude()
	return v.out, nil
}

// previewer collects what a preview says.
type previewer struct {
	ctx        context.Context
	prev, next *fold.Plan
	change     *fold.ModelChange
	rules      map[string]*fanfold.RulePreview
	schemas    map[string]*schema.Schema // new or changed, by collection
	misfits    map[string]*fanfold.Misfits
	ruleNames  []string // in order
	tally      *tally
	uncovered  map[string]*uncovered // by rule
	out        *fanfold.ModelPreview
}

// newPreviewer compares the model with the one that applies, and compiles its new schemas. The error is the read
// model's, or says why the model cannot be compiled.
func newPreviewer(ctx context.Context, sc *sqlite.Scanner, m *fanfold.Model) (*previewer, error) {
	change, err := compareWithApplied(sc, m)
	if err != nil {
		return nil, err
	}
	v := &previewer{ctx: ctx, prev: change.Prev, next: change.Next, change: change, tally: newTally(change.Next), rules: map[string]*fanfold.RulePreview{},
		schemas: map[string]*schema.Schema{}, misfits: map[string]*fanfold.Misfits{}, uncovered: map[string]*uncovered{},
		out: &fanfold.ModelPreview{Position: fanfold.Bookmark{Position: sc.Checkpoint.At()}, Rules: []fanfold.RulePreview{}, Differences: m.Differences(change.Prev.Model)}}
	v.listRules()
	if err := v.compileSchemas(m); err != nil {
		return nil, err
	}
	v.out.AtOnce = v.change.Entangled()
	if v.out.Warnings, err = modelWarnings(sc.Snapshot, change.Prev.Model, m); err != nil {
		return nil, err
	}
	if !change.LeavesDocuments() {
		v.out.Work, err = v.change.Work(sc.Snapshot)
	}
	return v, err
}

// compareWithApplied compares the model with the one that applies on the snapshot. The error is the read model's, or says
// why the model cannot be compiled.
func compareWithApplied(sc *sqlite.Scanner, m *fanfold.Model) (*fold.ModelChange, error) {
	prev, err := fold.PlanOf(sc.Snapshot)
	if err != nil {
		return nil, err
	}
	next, err := prev.Follow(m, 0)
	if err != nil {
		return nil, err
	}
	return fold.CompareModels(prev, next), nil
}

// compileSchemas compiles the schemas that are new or changed. What does not fit the others was told when they came.
func (v *previewer) compileSchemas(m *fanfold.Model) error {
	for _, c := range m.Collections {
		if old := v.prev.Model.Collection(c.Name); c.Schema == nil || old != nil && bytes.Equal(old.Schema, c.Schema) {
			continue
		}
		compiled, err := schema.Compile(c.Schema)
		if err != nil {
			return err
		}
		v.schemas[c.Name] = compiled
		v.misfits[c.Name] = &fanfold.Misfits{Collection: c.Name}
	}
	return nil
}

// listRules enters every rule of both models, by name.
func (v *previewer) listRules() {
	for _, r := range v.prev.Rules {
		v.rules[r.FullName] = &fanfold.RulePreview{Rule: r.FullName, Change: "removed"}
	}
	for _, r := range v.next.Rules {
		change := "same"
		switch old := v.rules[r.FullName]; {
		case old == nil:
			change = "new"
		case v.change.NewRules[r.FullName]:
			change = "changed"
		}
		v.rules[r.FullName] = &fanfold.RulePreview{Rule: r.FullName, Change: change}
	}
	for name := range v.rules {
		v.ruleNames = append(v.ruleNames, name)
	}
	slices.Sort(v.ruleNames)
}

// checkDocument notes what the model does to one document, which want is the embedded view of then.
func (v *previewer) checkDocument(row *sqlite.Row, want, _ []byte) error {
	name := row.Key.Collection
	c := v.next.Collection(name)
	if !c.Shape.Empty() {
		v.checkHidden(row)
	}
	v.checkUncovered(row)
	v.checkSchema(row)
	d := &examined{key: row.Key, body: want, source: row.Source}
	if err := errors.Join(v.tally.examineUnique(v.ctx, d), v.tally.examineGathering(v.ctx, d)); err != nil {
		return err
	}
	if bytes.Equal(row.Body, want) {
		return nil
	}
	v.out.Changes++
	for _, rule := range fold.Diff(name, v.change.ShapeOf(name), jsondoc.MustParse(row.Body), jsondoc.MustParse(want)).Rules {
		if r := v.rules[rule]; r != nil {
			r.Documents++
		}
	}
	return nil
}

// maxProblems is how many documents whose unique members cannot be compared a preview names.
const maxProblems = 100

// checkGuards notes documents that break a new strict relation or unique member.
func (v *previewer) checkGuards(c *checker) error {
	for name, all := range v.change.Unique {
		if err := c.indexUnique(name, all, func(row *sqlite.Row, err error) {
			if len(v.out.Problems) < maxProblems {
				v.out.Problems = append(v.out.Problems, fanfold.Problem{Path: fold.UniquePath(name), Detail: fmt.Sprintf("%s: %v", row.Key, err)})
			}
		}); err != nil {
			return err
		}
	}
	broken, err := v.change.BrokenGuards(c.sc.Dangling, func(collection, unique string, limit int, fn func(value string, first, last int64) error) error {
		return c.sc.Shared(uniqueIndex(collection, unique), limit, fn)
	}, c.sc.KeyOf)
	v.out.Problems = append(v.out.Problems, broken...)
	return err
}

// checkSchema notes a document that a new schema refuses.
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

// checkHidden notes members of the document's own that a new rule would hide.
func (v *previewer) checkHidden(row *sqlite.Row) {
	for _, r := range v.change.HidingRules(row) {
		if p := v.rules[r.FullName]; len(p.Hides) < fold.MaxNamed {
			p.Hides = append(p.Hides, row.Key.String())
		}
	}
}

// concludeTally notes what each rule found, and everything that is unique, and warns of what found a value in no document.
func (v *previewer) concludeTally() {
	for _, r := range v.next.Rules {
		v.rules[r.FullName].Evaluations = v.tally.evaluations(r)
	}
	v.tally.findsNothing(func(r *fold.Rule, e *fanfold.Evaluation) {
		v.out.Warnings = append(v.out.Warnings, fanfold.Problem{Path: fmt.Sprintf("collections.%s.derive[%q].%s", r.Collection, r.Path.String(), e.Part), Detail: e.Detail()})
	})
	v.out.Unique = v.tally.uniquePreviews(v.change.Unique)
	v.out.Warnings = slices.Concat(v.out.Warnings, v.tally.uniqueWarnings(), v.uncoveredWarnings())
}

// conclude lists the rules, the misfits and the problems that show at the end.
func (v *previewer) conclude() {
	if v.out.Changes > fanfold.MaxChanges {
		v.out.Problems = append(v.out.Problems, fold.TooManyChanges(v.out.Changes))
	}
	for _, c := range v.next.Model.Collections {
		if m := v.misfits[c.Name]; m != nil && m.Documents > 0 {
			v.out.Misfits = append(v.out.Misfits, *m)
		}
	}
	for _, name := range v.ruleNames {
		v.out.Rules = append(v.out.Rules, *v.rules[name])
	}
	for _, r := range v.next.Rules {
		if p := v.rules[r.FullName]; len(p.Hides) > 0 && !r.TakeOver {
			v.out.Problems = append(v.out.Problems, fold.HidesMembers(r, p.Hides[0]+", ..."))
		}
	}
}
