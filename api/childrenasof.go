package api

import (
	"strconv"
	"strings"

	"github.com/labstack/echo/v4"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/internal/admission"
	"github.com/fanfold/fanfold/internal/view"
	"github.com/fanfold/fanfold/model"
)

// relationOf returns the name of the relation in a cursor of the documents that refer to one, "" in another cursor. past reports whether the
// list is one of a state before.
func relationOf(cursor string, parent fanfold.Key, child string) (name string, past bool) {
	list, _, _ := decodeCursor(cursor)
	list, ok := strings.CutPrefix(list, childScope(parent, child+"."))
	if !ok {
		return "", false
	}
	name, _, past = strings.Cut(list, atScope)
	return name, past
}

// isOfPast tells whether a request for the documents that refer to one is about a state before, by its parameters at and cursor.
func isOfPast(c echo.Context, v view.View, parent fanfold.Key, child string) bool {
	cursor, err := cursorOf(c, v, child)
	_, past := relationOf(cursor, parent, child)
	return err == nil && past || c.QueryParams().Has("at")
}

// childrenAt answers GET of the documents that referred to one, under the model that applied.
func (d *documents) childrenAt(c echo.Context, parent fanfold.Key, child string) error {
	q := c.QueryParams()
	if isQuery(q) {
		return withoutQuery(q, "at")
	}
	if q.Has("page") {
		return d.childPageAt(c, parent, child)
	}
	name := q.Get("relation")
	if name == "" {
		cursor, err := cursorOf(c, d.open(c), child)
		if err != nil {
			return err
		}
		name, _ = relationOf(cursor, parent, child)
	}
	p, after, err := d.parseChildList(c, child, childScope(parent, child+"."+name))
	if err != nil {
		return err
	}
	var rel *model.Relation
	return d.sendPage(c, p, listing{
		collection: child,
		beginPast: func(_ *view.Prefix, past *view.Past) (scope string, err error) {
			if rel, err = d.childRelationAt(past, parent, child, name, false); err != nil {
				return "", err
			}
			return childScope(parent, rel.FullName()), nil
		},
		readPast: func(past *view.Past, fn func(doc *fanfold.Document) (bool, error)) (string, bool, error) {
			last, more, err := past.EachReferring(rel.FullName(), parent.ID, after, p.limit, p.form, fn)
			return strconv.FormatInt(last, 10), more, err
		},
	})
}

// childRelationAt does what childRelation does under the model that applied, and checks that the document was there to which others referred.
func (d *documents) childRelationAt(past *view.Past, parent fanfold.Key, child, name string, paged bool) (*model.Relation, error) {
	m, err := d.past.model(past)
	if err != nil {
		return nil, err
	}
	rel, err := childRelation(m, parent.Collection, child, name, paged)
	if err != nil {
		return nil, err
	}
	return rel, checkExists(past, parent)
}

// childPageAt answers GET of one of the fixed pages of the documents that referred to one.
func (d *documents) childPageAt(c echo.Context, parent fanfold.Key, child string) error {
	number, err := pageNumber(c)
	if err != nil {
		return err
	}
	p, err := d.parsePage(c, child, "")
	if err != nil {
		return err
	}
	a, err := d.budget.Answer(c.Request().Context()).Assemble(func(a *admission.Answer) error {
		return d.open(c).Read(func(snap *view.Prefix) error {
			past, err := d.pastOf(snap, child, &p)
			if err != nil {
				return err
			}
			rel, err := d.childRelationAt(past, parent, child, c.QueryParam("relation"), true)
			if err != nil {
				return err
			}
			if err := checkPages(rel); err != nil {
				return err
			}
			return d.fillChildPage(c, past, a, p, parent, rel, number)
		})
	})
	if err != nil {
		return err
	}
	return sendAnswer(c, a)
}
