package inspect

import (
	"context"
	"fmt"
	"slices"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/internal/jsondoc"
	"github.com/fanfold/fanfold/model"
	"github.com/fanfold/fanfold/projector/fold"
)

// talliedUnique holds, for each part of one unique declaration, how many documents of the collection lack a text or number
// that could be compared. A document that lacks one is not guarded.
type talliedUnique struct {
	collection string
	unique     *model.Unique
	parts      []model.Evaluation
}

// newUniques returns a tally of nothing for what a model says is unique and counts holds for, for all of it where that is nil.
func newUniques(m *model.Model, counts func(collection string, u *model.Unique) bool) (all []*talliedUnique) {
	for _, c := range m.Collections {
		for _, u := range c.Unique {
			if counts != nil && !counts(c.Name, u) {
				continue
			}
			t := &talliedUnique{collection: c.Name, unique: u}
			for _, p := range u.Parts {
				t.parts = append(t.parts, model.Evaluation{Part: p.String()})
			}
			all = append(all, t)
		}
	}
	return all
}

// examine looks for a value by each part in the referenced view of a document.
func (u *talliedUnique) examine(key fanfold.Key, t *jsondoc.Tree) {
	for i, p := range u.unique.Parts {
		e := &u.parts[i]
		e.Evaluated++
		if p.HasValue(t) {
			continue
		}
		noteMissing(e, key, func() string { return p.WhyNot(t) })
	}
}

// examineUnique looks for the values by which a document is told apart from others. The error is ctx's.
func (t *tally) examineUnique(ctx context.Context, d *examined) error {
	for _, u := range t.uniques {
		if u.collection != d.key.Collection {
			continue
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		u.examine(d.key, d.referenced())
	}
	return nil
}

// uniqueWarnings lists the parts of what is unique that found a value in no document, and looked at one at least.
func (t *tally) uniqueWarnings() (out []fanfold.Problem) {
	for _, u := range t.uniques {
		for i := range u.parts {
			if e := &u.parts[i]; e.FindsNothing() {
				out = append(out, fanfold.Problem{Path: fold.UniquePath(u.collection), Detail: fmt.Sprintf("%q %s", e.Part, e.Detail())})
			}
		}
	}
	return out
}

// uniquePreviews returns what was counted for everything that a model says is unique. Numbers that were not counted are the same as before.
func (t *tally) uniquePreviews(m *model.Model) (out []model.UniquePreview) {
	for _, c := range m.Collections {
		for _, u := range c.Unique {
			p := model.UniquePreview{Collection: c.Name, Unique: u.String(), Change: "same"}
			if i := slices.IndexFunc(t.uniques, func(o *talliedUnique) bool { return o.unique == u }); i >= 0 {
				p.Change, p.Evaluations = "new", t.uniques[i].parts
			}
			out = append(out, p)
		}
	}
	return out
}

// unguarded lists what is unique in the document's collection and does not guard the document.
func (l *lineage) unguarded() (out []Unguarded) {
	c := l.plan.Model.Collection(l.row.Key.Collection)
	if c == nil || len(c.Unique) == 0 {
		return nil
	}
	t := jsondoc.MustParse(l.row.ReferencedText())
	for _, u := range c.Unique {
		if l.late() {
			out = append(out, Unguarded{Unique: u.String(), Part: u.Parts[0].String(), Reason: "the expressions take too long to say whether there is a value"})
			continue
		}
		if i := slices.IndexFunc(u.Parts, func(p model.UniquePart) bool { return !p.HasValue(t) }); i >= 0 {
			out = append(out, Unguarded{Unique: u.String(), Part: u.Parts[i].String(), Reason: u.Parts[i].WhyNot(t)})
		}
	}
	return out
}
