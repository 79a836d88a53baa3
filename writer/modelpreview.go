package writer

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/internal/jsondoc"
	"github.com/fanfold/fanfold/internal/modelfile"
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

// ModelPart says how a part is put into the model that applies.
type ModelPart struct {
	// Collection names the collection whose declaration the part replaces, or adds. "" says that the part is a JSON merge
	// patch (RFC 7396) of the whole model.
	Collection string
}

// whole returns the source of the whole model that the request asks for. Errors are Invalid and TooLarge.
func (r *ModelRequest) whole(have *model.Model) ([]byte, error) {
	if r.Part == nil {
		return r.Source, nil
	}
	part, err := modelfile.ToJSON(r.Source)
	if err != nil {
		return nil, err
	}
	if jsondoc.MustParse(part).Kind(jsondoc.Root) != jsondoc.Object {
		return nil, fanfold.Errorf(fanfold.Invalid, "a part of a model must be a mapping")
	}
	if r.Part.Collection == "" {
		return jsondoc.Merge(have.Source, part), nil
	}
	base := jsondoc.Merge(have.Source, []byte(`{"collections":{}}`))
	ops, err := json.Marshal([]any{map[string]any{"op": "add", "path": "/collections/" + jsondoc.PointerEscape(r.Part.Collection), "value": json.RawMessage(part)}})
	if err != nil {
		return nil, fanfold.Wrap(err, fanfold.Internal, "a part of a model cannot be put into it")
	}
	patch, err := jsondoc.ParsePatch(ops)
	if err != nil {
		return nil, fanfold.Wrap(err, fanfold.Internal, "a part of a model cannot be put into it")
	}
	return jsondoc.Apply(base, patch)
}

// showMerged adds the text of the whole model to the preview of a part.
func (r *ModelRequest) showMerged(p *model.Preview, whole *model.Model) error {
	if r.Part == nil {
		return nil
	}
	text, err := modelfile.ToYAML(whole.Source)
	p.Merged = string(text)
	return err
}
