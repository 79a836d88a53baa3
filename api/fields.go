package api

import (
	"github.com/labstack/echo/v4"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/internal/jsondoc"
	"github.com/fanfold/fanfold/internal/params"
	"github.com/fanfold/fanfold/model"
)

// maxFields bounds the paths of fields.
const maxFields = 100

// projection says which parts of a document are shown. A nil projection shows all.
type projection struct {
	whole   bool // everything from here on
	members map[string]*projection
	each    *projection // of the elements of an array
}

// parseFields reads the paths of fields, nil for none. The member id is always shown. The error is Invalid.
func parseFields(paths []string) (*projection, error) {
	if len(paths) == 0 {
		return nil, nil
	}
	if len(paths) > maxFields {
		return nil, fanfold.Errorf(fanfold.Invalid, "fields has %d paths: %d is the most", len(paths), maxFields)
	}
	root := &projection{}
	root.at(model.Step{Name: "id"}).whole = true
	for _, text := range paths {
		path, err := model.ParseNewPath(text)
		if err != nil {
			return nil, fanfold.Errorf(fanfold.Invalid, "fields: %s", fanfold.MessageOf(err))
		}
		p := root
		for _, step := range path {
			p = p.at(step)
		}
		p.whole = true
	}
	return root, nil
}

// shown is what a request asks to see of one document.
type shown struct {
	view   fanfold.View
	fields *projection // nil for all
}

// shownOf reads the parameters view and fields. The error is Invalid.
func shownOf(c echo.Context) (f shown, err error) {
	if f.view, err = viewOf(c); err != nil || c.Request().URL.RawQuery == "" {
		return f, err
	}
	f.fields, err = parseFields(params.Terms(c.QueryParam("fields")))
	return f, err
}

// at returns the part to which a step leads.
func (p *projection) at(step model.Step) *projection {
	if step.Each() {
		if p.each == nil {
			p.each = &projection{}
		}
		return p.each
	}
	if p.members == nil {
		p.members = map[string]*projection{}
	}
	if p.members[step.Name] == nil {
		p.members[step.Name] = &projection{}
	}
	return p.members[step.Name]
}

// show returns the parts of a document's body that are shown, with the tokens and in the order of the body.
func (p *projection) show(body []byte) []byte {
	if p == nil {
		return body
	}
	out, _ := p.append(nil, jsondoc.MustParse(body), jsondoc.Root)
	return out
}

// append appends what is shown of a value. It appends nothing, and ok is false, where the value is not of the kind into which
// the paths lead.
func (p *projection) append(dst []byte, t *jsondoc.Tree, n jsondoc.Node) (out []byte, ok bool) {
	switch kind := t.Kind(n); {
	case p.whole:
		return append(dst, t.Raw(n)...), true
	case kind == jsondoc.Object && p.members != nil:
		return p.appendMembers(dst, t, n), true
	case kind == jsondoc.Array && p.each != nil:
		return p.appendElements(dst, t, n), true
	}
	return dst, false
}

// appendMembers appends an object with the members that are shown.
func (p *projection) appendMembers(dst []byte, t *jsondoc.Tree, object jsondoc.Node) []byte {
	dst = append(dst, '{')
	begin := len(dst)
	for m := t.First(object); m != jsondoc.None; m = t.Next(m) {
		inner := p.members[t.Key(m)]
		if inner == nil {
			continue
		}
		before := len(dst)
		if before > begin {
			dst = append(dst, ',')
		}
		dst = append(append(dst, t.RawKey(m)...), ':')
		var shown bool
		if dst, shown = inner.append(dst, t, m); !shown {
			dst = dst[:before]
		}
	}
	return append(dst, '}')
}

// appendElements appends an array with the elements that have something to show.
func (p *projection) appendElements(dst []byte, t *jsondoc.Tree, array jsondoc.Node) []byte {
	dst = append(dst, '[')
	begin := len(dst)
	for e := t.First(array); e != jsondoc.None; e = t.Next(e) {
		before := len(dst)
		if before > begin {
			dst = append(dst, ',')
		}
		var shown bool
		if dst, shown = p.each.append(dst, t, e); !shown {
			dst = dst[:before]
		}
	}
	return append(dst, ']')
}
