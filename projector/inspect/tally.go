package inspect

import (
	"context"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/internal/expr"
	"github.com/fanfold/fanfold/internal/jsondoc"
	"github.com/fanfold/fanfold/model"
	"github.com/fanfold/fanfold/projector/fold"
	"github.com/fanfold/fanfold/sqlite"
)

// tally counts the documents in which a part of a rule, or of a unique member, looks for a value, and those in which it finds
// none.
type tally struct {
	rules []tallied // by the rule's index
	// Rules with parts, by the collection of the documents that they look at: copies, which look at those that others
	// refer to, and the other kinds.
	copies, gathers map[string][]*fold.Rule
	uniques         []*talliedUnique
}

// tallied holds what was counted for one rule.
type tallied struct {
	rule  *fold.Rule
	parts []model.Evaluation
}

// newTally returns a tally of nothing, for those rules of a plan, and for what is unique, that counts holds for. A nil function
// holds for all.
func newTally(p *fold.Plan, rules func(r *fold.Rule) bool, unique func(collection string, u *model.Unique) bool) *tally {
	t := &tally{rules: make([]tallied, len(p.Rules)), copies: map[string][]*fold.Rule{}, gathers: map[string][]*fold.Rule{}, uniques: newUniques(p.Model, unique)}
	for i, r := range p.Rules {
		if t.rules[i].rule = r; rules != nil && !rules(r) {
			continue
		}
		for _, part := range r.Parts() {
			t.rules[i].parts = append(t.rules[i].parts, model.Evaluation{Part: part})
		}
		switch name, _ := r.Subjects(); {
		case len(r.Parts()) == 0:
		case r.Kind == model.Copy:
			t.copies[name] = append(t.copies[name], r)
		default:
			t.gathers[name] = append(t.gathers[name], r)
		}
	}
	return t
}

// add counts one look of a rule's part at a document, unless the rule is not counted. Of one without a value it notes why.
func (t *tally) add(r *fold.Rule, part int, found bool, d *examined) {
	if len(t.rules[r.Index].parts) == 0 {
		return
	}
	e := &t.rules[r.Index].parts[part]
	e.Evaluated++
	if found {
		return
	}
	noteMissing(e, d.key, func() string { return r.Explain(e.Part, d.view(r), d.meta()) })
}

// maxReasons is how many documents without a value are looked at for a member that may be meant.
const maxReasons = 100

// noteMissing counts a document without a value, and notes why there is none in the first of them. While none has a value, it prefers the first
// whose reason names a member that may be meant: the first documents may lack that one, too.
func noteMissing(e *model.Evaluation, key fanfold.Key, why func() string) {
	e.NoValue++
	if e.NoValue > 1 && (e.NoValue > maxReasons || !e.FindsNothing() || jsondoc.Suggests(e.Reason)) {
		return
	}
	if reason := why(); e.NoValue == 1 || jsondoc.Suggests(reason) {
		e.Document, e.Reason = key.String(), reason
	}
}

// examine has a rule look at a document.
func (t *tally) examine(r *fold.Rule, d *examined) {
	r.Examine(d.view(r), d.meta(), func(part int, found bool) { t.add(r, part, found, d) })
}

// examineGathering has the rules that are no copies look at a document that takes part in them. The error is ctx's.
func (t *tally) examineGathering(ctx context.Context, d *examined) error {
	for _, r := range t.gathers[d.key.Collection] {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if d.takesPart(r) {
			t.examine(r, d)
		}
	}
	return nil
}

// evaluations returns what was counted for a rule, nil for one without parts.
func (t *tally) evaluations(r *fold.Rule) []model.Evaluation { return t.rules[r.Index].parts }

// findsNothing calls fn for each part of a rule that found a value in no document, and looked at one at least.
func (t *tally) findsNothing(fn func(r *fold.Rule, e *model.Evaluation)) {
	for _, c := range t.rules {
		for i := range c.parts {
			if c.parts[i].FindsNothing() {
				fn(c.rule, &c.parts[i])
			}
		}
	}
}

// examined is a document at which rules look. A view is parsed once, and where a rule looks at it.
type examined struct {
	key            fanfold.Key
	row            *sqlite.Row
	body           []byte        // the embedded view
	source         func() []byte // returns the referenced view
	embedded, read *jsondoc.Tree // the same, parsed; nil before
}

// meta returns what a rule about the document alone sees as meta.
func (d *examined) meta() expr.Meta { return fold.MetaOf(d.row) }

// view returns the view that a rule looks at.
func (d *examined) view(r *fold.Rule) *jsondoc.Tree {
	if _, view := r.Subjects(); view == fanfold.Embedded {
		if d.embedded == nil {
			d.embedded = jsondoc.MustParse(d.body)
		}
		return d.embedded
	}
	return d.referenced()
}

// referenced returns the document as written.
func (d *examined) referenced() *jsondoc.Tree {
	if d.read == nil {
		d.read = jsondoc.MustParse(d.source())
	}
	return d.read
}

// takesPart tells whether a rule that is no copy looks at the document: a computed member at every one, the other kinds where
// it refers to others by their relation.
func (d *examined) takesPart(r *fold.Rule) bool {
	return r.Kind == model.Computed || len(r.Relation.Targets(d.view(r))) > 0
}
