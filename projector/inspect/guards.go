package inspect

import (
	"context"
	"errors"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/internal/jsondoc"
	"github.com/fanfold/fanfold/model"
	"github.com/fanfold/fanfold/projector/fold"
)

// Guards returns which documents break a strict relation or unique member that only the new model has, and which values
// on documents it would lose unreleased. Collections whose names the model does not admit are among them. Unless misfits may be, it
// also returns which break a new check. Writes wait meanwhile, so it previews the whole model for a new check alone, and otherwise looks
// at the documents of the collections with new guards. The error is the read model's, or ctx's.
func (i *Inspector) Guards(ctx context.Context, m *model.Model, misfits bool) (problems []fanfold.Problem, err error) {
	problems, newChecks, err := i.guards(ctx, m)
	if err != nil || misfits || !newChecks {
		return problems, err
	}
	p, err := i.Preview(ctx, m, model.PreviewOptions{})
	if err != nil {
		return nil, err
	}
	return append(problems, p.Broken...), nil
}

// guards does what Guards does, for all but checks, and tells whether there are new ones. It reads one snapshot.
func (i *Inspector) guards(ctx context.Context, m *model.Model) (problems []fanfold.Problem, newChecks bool, err error) {
	sc, err := i.store.Scan()
	if err != nil {
		return nil, false, err
	}
	defer func() { err = errors.Join(err, sc.Close()) }()
	change, err := compareWithApplied(sc, m)
	if err != nil {
		return nil, false, err
	}
	v := &previewer{prev: change.Prev, next: change.Next, change: change, out: &model.Preview{}}
	c := newChecker(ctx, sc, change.Next, nil)
	c.limitLinkIndex(change.Strict, change.Scope(false), change)
	if err := c.indexLinks(); err != nil {
		return nil, false, err
	}
	if err := v.checkGuards(c); err != nil {
		return nil, false, err
	}
	misnamed, err := misnamedCollections(sc.Snapshot, change.Models)
	if err != nil {
		return nil, false, err
	}
	v.out.Problems = append(v.out.Problems, misnamed...)
	lost, err := change.LostUnreleased(sc.Snapshot)
	return append(v.out.Problems, lost...), len(change.Models.NewChecks()) > 0, err
}

// limitLinkIndex limits the private link index to relations whose links the model may change.
func (c *checker) limitLinkIndex(relations []*model.Relation, s *fold.Scope, change *fold.ModelChange) {
	c.linkIndexOf = map[string]bool{}
	for _, r := range relations {
		c.linkIndexOf[r.FullName()] = s.Relinks(change, r)
	}
}

// dangling calls fn for links of a relation whose target is not in collection to, for limit links at most.
func (c *checker) dangling(relation, to string, limit int, fn func(holder int64, target string) error) error {
	if c.linkIndexOf == nil || c.linkIndexOf[relation] {
		return c.sc.Dangling(relation, to, limit, fn)
	}
	return c.sc.Snapshot.Dangling(relation, to, limit, fn)
}

// indexLinksOf enters what a document, by its number and its referenced view, refers to by one relation into the private
// link index.
func (c *checker) indexLinksOf(number int64, t *jsondoc.Tree, r *model.Relation) error {
	for _, id := range r.Targets(t) {
		if err := c.sc.AddLink(r.FullName(), id, number); err != nil {
			return err
		}
	}
	return nil
}
