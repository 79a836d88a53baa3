package writer

import (
	"encoding/json"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/internal/jsondoc"
	"github.com/fanfold/fanfold/internal/modelfile"
	"github.com/fanfold/fanfold/model"
)

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
