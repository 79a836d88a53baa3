package writer

import (
	"context"
	"time"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/model"
)

// activateAgain is the time after which Run tries again to apply a model.
const activateAgain = time.Second

// Run applies models whose preparation this node has finished. The first node that has finished does it for all. Run
// blocks until ctx ends, and then returns nil.
func (w *Writer) Run(ctx context.Context) error {
	var again <-chan time.Time
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-w.Models.Ready():
		case <-again:
		}
		again = nil
		ctx := w.observe(ctx)
		p, _ := w.Models.Proposal()
		if p == nil {
			continue
		}
		if err := w.activate(ctx, p); err != nil && ctx.Err() == nil {
			w.opt.Logger.Error("a model that is prepared cannot be applied yet", "model", p.Seq, "err", err)
			again = time.After(activateAgain)
		}
	}
}

// activate appends the event that applies a prepared model, or the event that withdraws it where documents stand in its
// way. It returns nil where another node was faster.
func (w *Writer) activate(ctx context.Context, p *model.Proposal) error {
	if w.opt.BeforeActivate != nil {
		if err := w.opt.BeforeActivate(ctx); err != nil {
			return err
		}
	}
	if version := p.Model.Fold; version != 0 { // an older program may have been started since
		if err := w.knownByAll(ctx, version); fanfold.CodeOf(err) == fanfold.Conflict {
			_, err = w.withdrawModel(ctx, p, err.Error(), "")
			return settled(err)
		} else if err != nil {
			return err
		}
	}
	m := *p.Model
	m.Source = p.Source
	have, _, _ := w.Models.Model()
	change := model.Compare(have, p.Model)
	err := w.withoutWrites(ctx, change.AddsGuards() || change.LosesUnreleased(), func(guards bool, stored func()) error {
		problems, err := w.Models.Objections(p.Seq)
		if err == nil && (len(change.NewSequences()) > 0 || change.ChangesCapitals()) { // numbers or documents were written meanwhile, perhaps
			var standing []fanfold.Problem
			standing, err = w.Inspector.Guards(ctx, p.Model, true)
			problems = append(problems, standing...)
		}
		switch {
		case fanfold.CodeOf(err) == fanfold.NotFound: // Ready receives when the preparation has finished
			return nil
		case err != nil:
			return err
		case len(problems) > 0:
			e := &fanfold.Error{Code: fanfold.Unprocessable, Message: "documents that were written meanwhile break it", Problems: problems}
			_, err = w.withdrawModel(ctx, p, e.Error(), "")
			return err
		}
		_, err = w.storeModel(ctx, modelWrite{&m, p.Seq, p.Actor, true}, guards, stored)
		return err
	})
	return settled(err)
}

// settled returns err, or nil where it says that another node has applied the model, or withdrawn it.
func settled(err error) error {
	if staleError(err) != nil {
		return nil //nolint:nilerr // what was to be done is done
	}
	return err
}
