package api

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/labstack/echo/v4"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/access"
	"github.com/fanfold/fanfold/internal/admission"
	"github.com/fanfold/fanfold/internal/jsondoc"
	"github.com/fanfold/fanfold/internal/params"
	"github.com/fanfold/fanfold/internal/view"
	"github.com/fanfold/fanfold/model"
	"github.com/fanfold/fanfold/query"
	"github.com/fanfold/fanfold/writer"
)

// The numbers of documents in a page of a list.
const (
	defaultLimit = 100
	maxLimit     = 1000
)

// page holds what a request of a list asks for.
type page struct {
	limit  int
	scope  string // names the list
	cursor string // decoded; "" for the beginning
	form   fanfold.View
	tree   []*expansion
	fields *projection // nil for all
	at     *moment     // of the state that is listed; nil for the present
	again  *moment     // the parameter at beside a cursor, which must be of the same state; nil for none
	expand string      // of a state before, whose model says what it means
}

// parsePage reads the parameters of a list of a collection's documents, and waits until the read model is fresh enough.
// scope names the list, to which its cursors belong. It returns Invalid and the errors of freshness.await.
func (d *documents) parsePage(c echo.Context, collection, scope string) (p page, err error) {
	p.scope = scope
	if p.form, err = viewOf(c); err != nil {
		return p, err
	}
	if p.limit, err = params.Int(c.QueryParams(), "limit", defaultLimit, 1, maxLimit); err != nil {
		return p, err
	}
	if p.fields, err = parseFields(params.Terms(c.QueryParam("fields"))); err != nil {
		return p, err
	}
	if err := d.readPlace(c, collection, &p); err != nil {
		return p, err
	}
	if p.expand = c.QueryParam("expand"); p.at != nil {
		return p, d.awaitPlace(c, &p)
	}
	if v := p.expand; v != "" {
		m, _, _ := d.models.Model()
		if p.tree, err = parseExpand(m, collection, v); err != nil {
			return p, err
		}
	}
	return p, d.fresh.await(c)
}

// list answers GET of a collection: page by page, by id, or the documents with some ids.
func (d *documents) list(c echo.Context) error {
	collection, err := collectionOf(c)
	if err != nil {
		return err
	}
	if _, err := params.ParseRepeated(c.Request().URL.RawQuery, "id", append([]string{"ids"}, listParameters...)...); err != nil {
		return err
	}
	if ids, err := idsOf(c.QueryParams()); ids != nil || err != nil {
		return d.listByIDs(c, collection, ids, err)
	}
	switch past := c.QueryParams().Has("at") || ofPast(c, d.open(c), collection); {
	case past && isQuery(c.QueryParams()):
		return withoutQuery(c.QueryParams(), "at")
	case !past && (isQuery(c.QueryParams()) || d.open(c).Judges(collection)):
		return d.listQuery(c, collection, nil, nil)
	}
	p, err := d.parsePage(c, collection, collection)
	switch {
	case err != nil:
		return err
	case p.at == nil && d.open(c).Judges(collection): // since the wait
		return d.listQuery(c, collection, nil, nil)
	}
	return d.sendPage(c, p, listing{
		collection: collection,
		read: func(snap *view.Prefix, fn func(doc *fanfold.Document) (bool, error)) (bool, error) {
			some := false
			more, err := snap.EachListed(collection, p.cursor, p.limit, p.form, func(doc *fanfold.Document) (bool, error) {
				some = true
				return fn(doc)
			})
			if !some && err == nil {
				err = checkCollection(snap, collection)
			}
			return more, err
		},
		place: func(last *fanfold.Document) string { return last.Key.ID },
		readPast: func(past *view.Past, fn func(doc *fanfold.Document) (bool, error)) (string, bool, error) {
			return past.EachListed(collection, p.cursor, p.limit, p.form, fn)
		},
		beginPast: func(snap *view.Prefix, _ *view.Past) (string, error) {
			return collection, checkCollection(snap, collection)
		},
	})
}

// ofPast tells whether the cursor of a request by who sees some documents of a collection is one of a state before.
func ofPast(c echo.Context, v view.View, collection string) bool {
	if !v.Judges(collection) {
		return false
	}
	cursor, err := cursorOf(c, v, collection)
	return cursor != "" && err == nil
}

// children answers GET of the documents that refer to one, page by page, in order of creation.
func (d *documents) children(c echo.Context) error {
	parent, err := keyOf(c)
	if err != nil {
		return err
	}
	child, err := param(c, "child")
	if err != nil {
		return err
	}
	if strings.HasPrefix(child, "_") {
		return fanfold.Errorf(fanfold.NotFound, "no such route: see /openapi.json")
	}
	if err := parameters(c, append([]string{"relation", "page"}, listParameters...)...); err != nil {
		return err
	}
	if isOfPast(c, d.open(c), parent, child) {
		return d.childrenAt(c, parent, child)
	}
	paged := c.QueryParams().Has("page")
	m, _, _ := d.models.Model()
	rel, err := childRelation(m, parent.Collection, child, c.QueryParam("relation"), paged)
	switch {
	case err != nil:
		return err
	case paged:
		return d.childPage(c, parent, rel)
	}
	if isQuery(c.QueryParams()) || d.open(c).Judges(rel.Collection) {
		return childQuery(d, c, parent, rel)
	}
	return d.childList(c, parent, rel)
}

// childQuery answers GET of the documents that refer to one by a relation, as a query.
func childQuery(d *documents, c echo.Context, parent fanfold.Key, rel *model.Relation) error {
	return d.listQuery(c, rel.Collection, &query.Within{Relation: rel.FullName(), Target: parent.ID},
		func(snap *view.Prefix) error { return checkExists(snap, parent) })
}

// childList answers GET of the documents that refer to one by a relation, from the cursor on.
func (d *documents) childList(c echo.Context, parent fanfold.Key, rel *model.Relation) error {
	p, after, err := d.parseChildList(c, rel.Collection, childScope(parent, rel.FullName()))
	switch {
	case err != nil:
		return err
	case p.at == nil && d.open(c).Judges(rel.Collection): // since the wait
		return childQuery(d, c, parent, rel)
	}
	return d.sendPage(c, p, listing{
		collection: rel.Collection,
		read: func(snap *view.Prefix, fn func(doc *fanfold.Document) (bool, error)) (bool, error) {
			if err := checkExists(snap, parent); err != nil {
				return false, err
			}
			return snap.EachReferring(rel.FullName(), parent.ID, after, p.limit, p.form, fn)
		},
		place: func(last *fanfold.Document) string { return strconv.FormatInt(last.Number, 10) },
	})
}

// childScope names the list of the documents that refer to one by a relation, to which its cursors belong.
func childScope(parent fanfold.Key, relation string) string {
	return parent.String() + " by " + relation
}

// parseChildList does what parsePage does for the documents that refer to one. It returns the number after which the page begins, too.
func (d *documents) parseChildList(c echo.Context, collection, scope string) (p page, after int64, err error) {
	if p, err = d.parsePage(c, collection, scope); err != nil || p.cursor == "" {
		return p, 0, err
	}
	if after, err = strconv.ParseInt(p.cursor, 10, 64); err != nil || after < 1 {
		err = badCursor(c.QueryParam("cursor"))
	}
	return p, after, err
}

// childRelation returns the relation by which documents of the collection child refer to documents of parent: the one with
// the given name, or the only one. With paged it prefers the one that has pages. Errors are NotFound where there is none,
// and Invalid.
func childRelation(m *model.Model, parent, child, name string, paged bool) (*model.Relation, error) {
	var found []*model.Relation
	var names []string
	if c := m.Collection(child); c != nil {
		for _, r := range c.Relations {
			if r.To == parent {
				names = append(names, r.Name)
				if name == "" || r.Name == name {
					found = append(found, r)
				}
			}
		}
	}
	if i := slices.IndexFunc(found, func(r *model.Relation) bool { return r.PageSize > 0 }); paged && i >= 0 {
		return found[i], nil // a collection has pages by one relation
	}
	switch {
	case len(names) == 0:
		return nil, fanfold.Errorf(fanfold.NotFound, "no relation leads from %q to %s", child, parent)
	case len(found) == 0:
		return nil, fanfold.Errorf(fanfold.Invalid, "relation=%s does not lead from %s to %s: %s do", name, child, parent, strings.Join(names, ", "))
	case len(found) > 1:
		return nil, fanfold.Errorf(fanfold.Invalid, "several relations lead from %s to %s: say relation=%s", child, parent, strings.Join(names, " or relation="))
	}
	return found[0], nil
}

// childPage answers GET of one of the fixed pages of the documents that refer to one. A place that a
// document has left stays empty, so that no other page changes.
func (d *documents) childPage(c echo.Context, parent fanfold.Key, rel *model.Relation) error {
	if err := checkPages(rel); err != nil {
		return err
	}
	number, err := pageNumber(c)
	if err != nil {
		return err
	}
	p, err := d.parsePage(c, rel.Collection, "")
	if err != nil {
		return err
	}
	a, err := d.budget.Answer(c.Request().Context()).Assemble(func(a *admission.Answer) error {
		return d.open(c).Read(func(snap *view.Prefix) error {
			if err := checkExists(snap, parent); err != nil {
				return err
			}
			return d.fillChildPage(c, snap, a, p, parent, rel, number)
		})
	})
	if err != nil {
		return err
	}
	return sendAnswer(c, a)
}

// pagedState is a state of the store whose fixed pages can be read.
type pagedState interface {
	documentReader
	// EachOnPage calls begin, and then fn for the documents on a page: see view.Lists.
	EachOnPage(q model.PageQuery, begin func(page, pages int64) error, fn func(doc *fanfold.Document) (bool, error)) error
}

// fillChildPage puts together a fixed page of the documents that refer to one.
func (d *documents) fillChildPage(c echo.Context, state pagedState, a *admission.Answer, p page, parent fanfold.Key, rel *model.Relation, number int64) error {
	items := d.newItems(c, state, a, p)
	err := state.EachOnPage(model.PageQuery{Relation: rel.FullName(), Target: parent.ID, Page: number, Size: rel.PageSize, View: p.form},
		func(page, pages int64) error { return beginPage(a, parent, rel, page, pages) },
		func(doc *fanfold.Document) (bool, error) { return true, items.add(doc) })
	a.AddString("]}")
	return err
}

// beginPage adds what stands before the items of a fixed page. It returns NotFound after the last page.
func beginPage(a *admission.Answer, parent fanfold.Key, rel *model.Relation, page, pages int64) error {
	if page > pages {
		return fanfold.Errorf(fanfold.NotFound, "there is no page %d: the last one is %d", page, pages)
	}
	head := jsondoc.AppendQuote([]byte{'{'}, rel.Path.String())
	head = jsondoc.AppendQuote(append(head, ':'), parent.ID)
	a.Add(fmt.Appendf(head, `,"page":%d,"pages":%d,"%s":[`, page, pages, rel.Collection))
	return nil
}

// checkPages returns an Invalid where a relation has no pages.
func checkPages(rel *model.Relation) error {
	if rel.PageSize == 0 {
		return fanfold.Errorf(fanfold.Invalid, "%s has no pages by %s: declare pages: {by: %s, size: 100} in the model, or leave out page=", rel.Collection, rel.Name, rel.Name)
	}
	return nil
}

// pageNumber reads the parameter page: a number from 1 on, or 0 for last. The error is Invalid.
func pageNumber(c echo.Context) (number int64, err error) {
	if err := withoutQuery(c.QueryParams(), "page"); err != nil {
		return 0, err
	}
	for _, name := range []string{"limit", "cursor"} {
		if c.QueryParam(name) != "" {
			return 0, fanfold.Errorf(fanfold.Invalid, "%s does not go with page", name)
		}
	}
	v := c.QueryParam("page")
	if v == "last" {
		return 0, nil
	}
	if number, err = strconv.ParseInt(v, 10, 64); err != nil || number < 1 {
		return 0, fanfold.Errorf(fanfold.Invalid, "page=%s is neither a whole number from 1 on nor last", v)
	}
	return number, nil
}

// checkExists returns a NotFound where a state does not have a document.
func checkExists(state documentReader, key fanfold.Key) error {
	doc, _, err := state.GetWithin(key, fanfold.Embedded, 0)
	if err == nil && doc == nil {
		err = writer.Missing(key)
	}
	return err
}

// items adds the documents of a list to an answer, with metadata and expanded.
type items struct {
	issuer fanfold.Issuer
	*expander
	tree   []*expansion
	fields *projection
	count  int
}

// newItems returns the items of a list that is read from one state, and sets the position's header.
func (d *documents) newItems(c echo.Context, state documentReader, a *admission.Answer, p page) *items {
	c.Response().Header().Set(headerPosition, d.positions.mark(state.At()).String())
	x, _ := newExpander(state, p.form, a)
	return &items{issuer: d.positions.Issuer, expander: x, tree: p.tree, fields: p.fields}
}

// add adds one document. It returns the errors of expander.add.
func (l *items) add(doc *fanfold.Document) error { return l.addShown(doc, l.fields.show(doc.Body)) }

// addShown adds one document with what is shown of its body. It returns the errors of expander.add.
func (l *items) addShown(doc *fanfold.Document, body []byte) error {
	if err := l.out.Grow(len(body) + itemBytes); err != nil {
		return err
	}
	if l.count > 0 {
		l.out.AddString(",")
	}
	l.count++
	return l.expander.addShown(doc, body, doc.Meta(l.issuer), l.tree)
}

// addWithin does what add does, within a page. It leaves out the document, and returns false, if the answer has another
// one already and this one would make it larger than a page or expand too much.
func (l *items) addWithin(doc *fanfold.Document) (bool, error) {
	mark, body := l.out.Mark(), l.fields.show(doc.Body)
	if l.count > 0 && l.out.Len()+len(body) > admission.PageBytes {
		return false, nil
	}
	err := l.addShown(doc, body)
	large := errors.Is(err, admission.ErrLargeAnswer) || errors.Is(err, errManyExpanded) || err == nil && l.out.Len() > admission.PageBytes
	if large && l.count > 1 {
		l.out.Cut(mark)
		return false, nil
	}
	return true, err
}

// listing reads a list's documents.
type listing struct {
	collection string // of the documents
	// read reads a page from a snapshot, document by document, until fn returns false. more tells that others may follow.
	read func(snap *view.Prefix, fn func(doc *fanfold.Document) (bool, error)) (more bool, err error)
	// place returns what stands in the cursor after a document.
	place func(last *fanfold.Document) string
	// readPast does what read does in a state before. It may end early: last is the place that it has come to.
	readPast func(past *view.Past, fn func(doc *fanfold.Document) (bool, error)) (last string, more bool, err error)
	// beginPast returns the name of the list in a state before, to which its cursors belong, or the error of a list that is not there.
	beginPast func(snap *view.Prefix, past *view.Past) (scope string, err error)
}

// sendPage answers with a page of a list. It ends early where it gets large, with at least one document.
func (d *documents) sendPage(c echo.Context, p page, l listing) error {
	a, err := d.budget.Answer(c.Request().Context()).Assemble(func(a *admission.Answer) error {
		return d.open(c).Read(func(snap *view.Prefix) (err error) {
			if p.at != nil {
				return d.fillPastPage(c, snap, a, p, l)
			}
			items := d.newItems(c, snap, a, p)
			next := ""
			a.AddString(`{"items":[`)
			more, err := l.read(snap, func(doc *fanfold.Document) (bool, error) {
				taken, err := items.addWithin(doc)
				if taken {
					next = l.place(doc)
				}
				return taken, err
			})
			if err == nil {
				endPage(a, nil, p.scope, next, more)
			}
			return err
		})
	})
	if err != nil {
		return err
	}
	return sendAnswer(c, a)
}

// endPage adds the end of a page, with the cursor after a place where others may follow.
func endPage(a *admission.Answer, seal *access.Seal, scope, place string, more bool) {
	a.AddString("]")
	if more {
		a.AddString(`,"next":"` + nextCursor(seal, scope, place) + `"`)
	}
	a.AddString("}")
}
