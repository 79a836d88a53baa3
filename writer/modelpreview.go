package writer

import (
	"context"
	"slices"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/model"
)

// preview previews a model that was read. Unless the request is a dry run, an obstacle is an error: ModelRemoves or
// Unprocessable. Without AllowMisfits, documents that do not fit a new schema, or break a new check, are an obstacle, too. Obstacles that need no
// look at the documents are reported before one.
func (w *Writer) preview(ctx context.Context, m *model.Model, req ModelRequest) (*model.Preview, error) {
	if req.DryRun {
		return w.inspectModel(ctx, m, req, nil)
	}
	p, err := w.inspectModel(ctx, m, req, func(p *model.Preview) error {
		if gone := model.Removals(p.Differences); len(gone) > 0 && !req.AllowRemoval && len(req.Revisions) == 0 {
			return removes(gone)
		}
		if req.Background != nil && *req.Background && len(p.AtOnce) > 0 {
			return onlyAtOnce(p)
		}
		return inTheWay(p.Problems)
	})
	if err != nil {
		return nil, err
	}
	if err := inTheWay(p.Problems); err != nil {
		return nil, err
	}
	if req.AllowMisfits || len(p.Misfits) == 0 {
		return p, nil
	}
	e := fanfold.Errorf(fanfold.Unprocessable, "stored documents do not fit the new schema, or break a new check; nothing was changed: mend them first, or send the model with allowMisfits=true, after which each has to fit when it is next written")
	for _, m := range p.Misfits {
		for _, d := range m.First {
			e.Problems = append(e.Problems, fanfold.Problem{Path: d.Document + d.Problems[0].Path, Detail: d.Problems[0].Detail})
		}
	}
	return nil, e
}

// inspectModel has the inspector preview a model, for as long as the request gives it. The error is TakesLong where that is not
// enough.
func (w *Writer) inspectModel(ctx context.Context, m *model.Model, req ModelRequest, objection func(p *model.Preview) error) (*model.Preview, error) {
	limited := ctx
	if req.PreviewTime > 0 {
		var cancel context.CancelFunc
		limited, cancel = context.WithTimeout(ctx, req.PreviewTime)
		defer cancel()
	}
	p, err := w.Inspector.Preview(limited, m, model.PreviewOptions{Objection: objection, Progress: req.Progress, Measure: req.DryRun})
	if err != nil && limited.Err() != nil && ctx.Err() == nil {
		return nil, fanfold.Errorf(fanfold.TakesLong, "to look at the documents that the model concerns takes longer than %v; nothing was changed: send it with Prefer: respond-async, and ask for what came of it at the Location that is answered, as fanfold model apply and model diff do", req.PreviewTime)
	}
	return p, err
}

// maxRemovals is how many of the declarations that a model would take away an error names.
const maxRemovals = 100

// removes returns the ModelRemoves of a model that would take something away.
func removes(gone []model.Difference) error {
	e := fanfold.Errorf(fanfold.ModelRemoves, "the model would take away %d of what the model that applies declares; nothing was changed: send it with allowRemoval=true, or with If-Match and the ETag of the model that applies, if that is meant; PATCH changes a part", len(gone))
	for _, d := range gone[:min(len(gone), maxRemovals)] {
		e.Problems = append(e.Problems, fanfold.Problem{Path: d.Path, Detail: d.Change + ": " + d.Detail})
	}
	return e
}

// inTheWay returns the Unprocessable of problems that stand in the way of a model, nil where there are none. It is a Conflict where numbers
// alone do, which a sequence could give again.
func inTheWay(problems []fanfold.Problem) error {
	if len(problems) == 0 {
		return nil
	}
	code := fanfold.Unprocessable
	if !slices.ContainsFunc(problems, func(p fanfold.Problem) bool { return !model.IsSequencePath(p.Path) }) {
		code = fanfold.Conflict
	}
	return &fanfold.Error{Code: code, Message: "the model cannot be applied to the documents as they are; nothing was changed", Problems: problems}
}
