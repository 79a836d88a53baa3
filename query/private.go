package query

import (
	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/internal/mask"
	"github.com/fanfold/fanfold/model"
)

// mask returns what hides members of the documents from who asks, nil for nothing.
func (q *Query) mask() *mask.Mask {
	if v := q.request.Visible; v != nil {
		return v.Mask
	}
	return nil
}

// checkPrivate returns a Forbidden where the request names a member that who asks does not see. Terms that look at members without their names see documents
// without that one.
func (q *Query) checkPrivate() error {
	if q.mask() == nil {
		return nil
	}
	for _, c := range q.conditions {
		for _, path := range c.compiled.DocPaths() {
			if err := q.mask().Check("filter", q.request.Collection, path); err != nil {
				return err
			}
		}
	}
	for parameter, x := range q.terms() {
		for _, c := range x.Components {
			for _, path := range append(c.Named, c.Path.Names()) {
				if err := q.mask().Check(parameter, q.request.Collection, path); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// terms calls yield with what the request's documents are sorted, grouped and computed by.
func (q *Query) terms() func(yield func(parameter string, x *model.Index) bool) {
	return func(yield func(parameter string, x *model.Index) bool) {
		if q.sort != nil && !yield("sort", q.sort) || q.grouping == nil {
			return
		}
		if q.grouping.by != nil && !yield("group", q.grouping.by) {
			return
		}
		for _, a := range q.grouping.compute {
			if a.of != nil && !yield("compute", a.of) {
				return
			}
		}
	}
}

// cut takes from an item's document what who asks does not see.
func cut(r *run, it *item) {
	if r.q.mask() != nil && it.document != nil && !it.cut {
		it.document, it.cut = r.q.request.Visible.show(it.document), true
	}
}

// show returns a document without what who asks does not see.
func (v *Visible) show(doc *fanfold.Document) *fanfold.Document {
	if v == nil || v.Mask == nil || doc == nil || doc.Body == nil {
		return doc
	}
	shown := *doc
	shown.Body = v.Mask.Cut(doc.Body)
	return &shown
}

// tells tells whether the entries of an index may tell of a member that who asks does not see.
func (q *Query) tells(x *model.Index) bool {
	m := q.mask()
	if m == nil {
		return false
	}
	for _, c := range x.Components {
		switch {
		case c.Time != "":
		case c.Expression == "":
			if m.Touches(c.Path) != "" {
				return true
			}
		case c.Reads == nil:
			return true
		default:
			for _, name := range c.Reads {
				if m.Touches(model.Path{{Name: name}}) != "" {
					return true
				}
			}
		}
	}
	return false
}
