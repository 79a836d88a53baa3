package inspect

import (
	"context"
	"errors"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/internal/jsondoc"
	"github.com/fanfold/fanfold/sqlite"
)

// Guards returns which documents break a strict relation or unique member that the model has and the one that applies has
// not, and which values that stay on documents it would lose unreleased, on one snapshot. It looks at the documents of
// their collections alone, for writes wait meanwhile. The error is the read model's, or ctx's.
func (i *Inspector) Guards(ctx context.Context, m *fanfold.Model) (problems []fanfold.Problem, err error) {
	sc, err := i.store.Scan()
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, sc.Close()) }()
	change, err := compareWithApplied(sc, m)
	if err != nil {
		return nil, err
	}
	v := &previewer{prev: change.Prev, next: change.Next, change: change, out: &fanfold.ModelPreview{}}
	c := newChecker(ctx, sc, change.Next)
	for _, r := range v.change.Strict {
		if err := c.eachRowOf(r.Collection, func(row *sqlite.Row) error { return c.indexLinksOf(row.Number, jsondoc.MustParse(row.Source()), r) }); err != nil {
			return nil, err
		}
	}
	if err := v.checkGuards(c); err != nil {
		return nil, err
	}
	lost, err := change.LostUnreleased(sc.Snapshot)
	return append(v.out.Problems, lost...), err
}

// indexLinksOf enters what a document, by its number and its referenced view, refers to by one relation into the private
// link index.
func (c *checker) indexLinksOf(number int64, t *jsondoc.Tree, r *fanfold.Relation) error {
	for _, id := range r.Targets(t) {
		if err := c.sc.AddLink(r.FullName(), id, number); err != nil {
			return err
		}
	}
	return nil
}
