package inspect

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/internal/check"
	"github.com/fanfold/fanfold/internal/flows"
	"github.com/fanfold/fanfold/internal/jsondoc"
	"github.com/fanfold/fanfold/internal/schema"
	"github.com/fanfold/fanfold/internal/wire"
	"github.com/fanfold/fanfold/model"
	"github.com/fanfold/fanfold/projector/fold"
	"github.com/fanfold/fanfold/sqlite"
)

// Preview returns what applying the model would do, without doing it, on one snapshot. Problems lists the objections to
// the model. A rule needs takeOver because stored documents have their own member at its path, documents break new guards,
// or there are more changes than one event can have. It looks at the documents that the model concerns, and at no others
// (fold.Scope), and blocks for as long as that takes; reads and folding go on. It returns the errors of the read model,
// ctx and opt.Objection.
func (i *Inspector) Preview(ctx context.Context, m *model.Model, opt model.PreviewOptions) (out *model.Preview, err error) {
	sc, err := i.store.Scan()
	if err != nil {
		return nil, err
	}
	defer func() {
		i.rowsRead.Add(int64(sc.RowsRead()))
		err = errors.Join(err, sc.Close())
	}()
	sc.EndWith(ctx)
	opt.Progress.Tell("comparing models", 0, 0)
	change, err := compareWithApplied(sc, m)
	if err != nil {
		return nil, err
	}
	omitted, err := sc.Omissions()
	if err != nil {
		return nil, err
	}
	if wholly := change.MayDisplace(len(omitted) > 0); !wholly {
		out, err = preview(ctx, sc, change, opt, false)
		if !errors.Is(err, errDisplaces) {
			return out, err
		}
		if err := sc.ForgetComputed(); err != nil {
			return nil, err
		}
	}
	return preview(ctx, sc, change, opt, true)
}

// preview does what Preview does, with a scope that is taken wholly or not. The error is errDisplaces where it is to be.
func preview(ctx context.Context, sc *sqlite.Scanner, change *fold.ModelChange, opt model.PreviewOptions, wholly bool) (*model.Preview, error) {
	v, err := newPreviewer(ctx, sc, change, change.Scope(wholly))
	if err != nil {
		return nil, err
	}
	v.measures = opt.Measure
	object := func(err error) error {
		if err == nil && opt.Objection != nil {
			err = opt.Objection(v.out)
		}
		return err
	}
	if err := object(nil); err != nil {
		return nil, err
	}
	if err := object(v.countKeptValues(sc.Snapshot)); err != nil {
		return nil, err
	}
	if v.change.LeavesDocuments() && len(v.schemas) == 0 && v.checks == nil && len(v.change.NewlyRetired()) == 0 { // a fan-out limit alone
		v.conclude()
		return v.out, nil
	}
	if err := object(v.checkRetired(sc)); err != nil {
		return nil, err
	}
	c := newChecker(ctx, sc, change.Next, opt.Progress)
	c.change, c.tally, c.scope = change, v.tally, v.scope
	if err := object(v.prepare(c)); err != nil {
		return nil, err
	}
	if err := v.checkDocuments(c); err != nil {
		return nil, err
	}
	v.concludeTally()
	v.conclude()
	return v.out, nil
}

// prepare links documents by relations whose links the model may change, as far as anything asks for them, and notes what
// breaks its new guards.
func (v *previewer) prepare(c *checker) error {
	relations := slices.Clone(v.change.Strict)
	for _, r := range v.next.Rules {
		if r.Relation != nil && r.Kind != model.Copy && v.scope.Computes(r) {
			relations = append(relations, r.Relation)
		}
	}
	c.limitLinkIndex(relations, v.scope, v.change)
	total, err := c.sc.Count(c.linkIndexCollections())
	if err != nil {
		return err
	}
	c.work.begin("linking", total)
	if err := c.indexLinks(); err != nil {
		return err
	}
	return v.checkGuards(c)
}

// checkDocuments notes what the model does to the documents that it concerns, one by one.
func (v *previewer) checkDocuments(c *checker) error {
	names := v.concerned()
	total, err := c.sc.Count(names)
	if err != nil {
		return err
	}
	c.work.begin("previewing", total)
	return c.eachRow(names, func(row *sqlite.Row) error {
		want, _, err := c.expected(row, v.next.Levels)
		if err != nil {
			return err
		}
		return v.checkDocument(row, want)
	})
}

// concerned returns the names of the collections whose documents are looked at, which are not nil. Their documents may
// change, rules to compute look at them, or they have something newly unique, a new index or a new schema.
func (v *previewer) concerned() []string {
	set := maps.Clone(v.scope.Collections)
	for r := range v.scope.Rules {
		if len(r.Parts()) > 0 && r.Kind != model.Copy {
			name, _ := r.Subjects()
			set[name] = true
		}
	}
	for name := range v.change.Unique {
		set[name] = true
	}
	for name := range v.misfits { // with new schemas or checks
		set[name] = true
	}
	for name := range v.indexes {
		if v.measures {
			set[name] = true
		}
	}
	return slices.AppendSeq([]string{}, maps.Keys(set))
}

// previewer collects what a preview says.
type previewer struct {
	ctx        context.Context
	prev, next *fold.Plan
	change     *fold.ModelChange
	scope      *fold.Scope
	rules      map[string]*model.RulePreview
	schemas    map[string]*schema.Schema // new or changed, by collection
	checks     *check.Checks             // new, or of what is derived otherwise; nil for none
	misfits    map[string]*model.Misfits // of collections with either
	ruleNames  []string                  // in order
	tally      *tally
	uncovered  map[string]*uncovered       // by rule
	indexes    map[string][]previewedIndex // new or changed, by collection
	measures   bool                        // entries of indexes are counted, whoever else asks for the documents
	out        *model.Preview
}

// newPreviewer returns a previewer of a change of the model, and compiles the new schemas. The error is the read model's, or says
// why a schema cannot be compiled.
func newPreviewer(ctx context.Context, sc *sqlite.Scanner, change *fold.ModelChange, scope *fold.Scope) (v *previewer, err error) {
	m := change.Next.Model
	v = &previewer{ctx: ctx, prev: change.Prev, next: change.Next, change: change, scope: scope, rules: map[string]*model.RulePreview{},
		schemas: map[string]*schema.Schema{}, misfits: map[string]*model.Misfits{}, uncovered: map[string]*uncovered{}, indexes: map[string][]previewedIndex{},
		out: &model.Preview{At: sc.Checkpoint.At(), Preview: wire.Preview{Rules: []model.RulePreview{}, Differences: change.Models.Differences(flows.New(change.Models)...)}}}
	v.tally = newTally(v.next, func(r *fold.Rule) bool { return scope.Rules[r] }, func(name string, u *model.Unique) bool { return model.HasUnique(change.Unique[name], u) })
	v.listRules()
	v.out.AtOnce, v.out.Problems = v.change.Entangled(), v.change.DefaultObjections()
	if err := errors.Join(v.compileSchemas(), v.compileChecks(), v.listIndexes(sc.Snapshot)); err != nil {
		return nil, err
	}
	misnamed, err := misnamedCollections(sc.Snapshot, change.Models)
	if err != nil {
		return nil, err
	}
	v.out.Problems = append(v.out.Problems, misnamed...)
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
func compareWithApplied(sc *sqlite.Scanner, m *model.Model) (*fold.ModelChange, error) {
	prev, err := fold.PlanOf(sc.Snapshot)
	if err != nil {
		return nil, err
	}
	return prev.Follow(m, 0)
}

// compileSchemas compiles the schemas that are new or changed. Documents that do not fit the other schemas were reported when they came.
func (v *previewer) compileSchemas() error {
	for _, p := range v.change.Models.Collections {
		text := p.NewSchema()
		if text == nil {
			continue
		}
		compiled, err := schema.Compile(text)
		if err != nil {
			return err
		}
		v.schemas[p.Name] = compiled
		v.misfits[p.Name] = &model.Misfits{Collection: p.Name}
	}
	return nil
}

// compileChecks compiles the checks that may be false of documents under the new model.
func (v *previewer) compileChecks() (err error) {
	v.checks, err = check.New(v.change.Models)
	for name, all := range v.change.Models.NewChecks() {
		v.misfits[name] = &model.Misfits{Collection: name}
		for _, k := range all {
			v.out.AtOnce = append(v.out.AtOnce, fmt.Sprintf("collections.%s.checks.%s", name, k.Name))
		}
	}
	slices.Sort(v.out.AtOnce)
	return err
}

// listRules enters every rule of both models, by name.
func (v *previewer) listRules() {
	for _, r := range v.prev.Rules {
		v.rules[r.FullName] = &model.RulePreview{Rule: r.FullName, Change: "removed"}
	}
	for _, r := range v.next.Rules {
		change := "same"
		switch {
		case v.change.AddedRules[r.FullName]:
			change = "new"
		case v.change.NewRules[r.FullName]:
			change = "changed"
		}
		v.rules[r.FullName] = &model.RulePreview{Rule: r.FullName, Change: change}
	}
	v.ruleNames = slices.Sorted(maps.Keys(v.rules))
}

// checkDocument notes what the model does to one document, which want is the embedded view of then.
func (v *previewer) checkDocument(row *sqlite.Row, want []byte) error {
	name := row.Key.Collection
	c := v.next.Collection(name)
	if v.scope.Collections[name] {
		if !c.Shape.Empty() {
			v.checkHidden(row)
		}
		v.checkUncovered(row)
	}
	v.checkFit(row, want)
	v.countEntries(row, want)
	d := &examined{key: row.Key, row: row, body: want, source: row.ReferencedText}
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
	for name, all := range v.change.Models.NewSequences() {
		problems, err := c.standingNumbers(name, all)
		if v.out.Problems = append(v.out.Problems, problems...); err != nil {
			return err
		}
	}
	broken, err := v.change.BrokenGuards(c.dangling, func(collection, unique string, limit int, fn func(value string, first, last int64) error) error {
		return c.sc.Shared(uniqueIndex(collection, unique), limit, fn)
	}, c.sc.KeyOf)
	v.out.Problems = append(v.out.Problems, broken...)
	return err
}

// checkFit notes a document that a new schema refuses, or that breaks a new check.
func (v *previewer) checkFit(row *sqlite.Row, want []byte) {
	m := v.misfits[row.Key.Collection]
	if m == nil {
		return
	}
	var problems []fanfold.Problem
	if s := v.schemas[row.Key.Collection]; s != nil {
		problems = s.Check(row.ReferencedText())
	}
	broken := v.checks.Broken(model.DocumentChange{Key: row.Key, After: want})
	if len(problems)+len(broken) == 0 {
		return
	}
	if m.Documents++; len(m.First) >= fold.MaxNamed {
		return
	}
	v.out.Broken = append(v.out.Broken, broken...)
	for _, p := range broken {
		p.Path = strings.TrimPrefix(p.Path, row.Key.String())
		problems = append(problems, p)
	}
	m.First = append(m.First, model.Misfit{Document: row.Key.String(), Problems: problems})
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
	v.tally.findsNothing(func(r *fold.Rule, e *model.Evaluation) {
		v.out.Warnings = append(v.out.Warnings, fanfold.Problem{Path: fmt.Sprintf("collections.%s.derive[%q].%s", r.Collection, r.Path.String(), e.Part), Detail: e.Detail()})
	})
	v.out.Unique = v.tally.uniquePreviews(v.next.Model)
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
