package api

import (
	"net/url"
	"strings"

	"github.com/labstack/echo/v4"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/internal/admission"
	"github.com/fanfold/fanfold/internal/jsondoc"
	"github.com/fanfold/fanfold/internal/view"
)

// maxIDs bounds how many documents one request may ask for by their ids.
const maxIDs = 1000

// idsOf returns the ids that a request of a list asks for, each once, nil if it asks for none. They come by ids, separated by
// commas, or by id, which may be repeated, for ids that have commas themselves. The error is Invalid.
func idsOf(q url.Values) (ids []string, err error) {
	given := q["id"]
	if list := q.Get("ids"); list != "" {
		if len(given) > 0 {
			return nil, fanfold.Errorf(fanfold.Invalid, "ids does not go with id: give all of them by one of the two")
		}
		given = strings.Split(list, ",")
	}
	if len(given) == 0 {
		return nil, nil
	}
	for _, name := range []string{"limit", "cursor"} {
		if q.Has(name) {
			return nil, fanfold.Errorf(fanfold.Invalid, "%s does not go with ids: all documents that are asked for come at once", name)
		}
	}
	if err := withoutQuery(q, "ids"); err != nil {
		return nil, err
	}
	if len(given) > maxIDs {
		return nil, fanfold.Errorf(fanfold.Invalid, "%d ids are asked for: %d is the most at once", len(given), maxIDs)
	}
	seen := make(map[string]bool, len(given))
	for _, id := range given {
		if err := fanfold.CheckID(id); err != nil {
			return nil, err
		}
		if !seen[id] {
			seen[id] = true
			ids = append(ids, id)
		}
	}
	return ids, nil
}

// listByIDs answers GET of the documents with some ids, in the order in which they were asked for, all from one snapshot. ids
// and err are what idsOf returned.
func (d *documents) listByIDs(c echo.Context, collection string, ids []string, err error) error {
	if err != nil {
		return err
	}
	p, err := d.parsePage(c, collection, "")
	if err != nil {
		return err
	}
	a, err := d.budget.Answer(c.Request().Context()).Assemble(func(a *admission.Answer) error {
		return d.open(c).Read(func(snap *view.Prefix) error {
			state, err := d.stateOf(snap, collection, &p)
			if err != nil {
				return err
			}
			return d.newItems(c, state, a, p).addAll(snap, collection, ids)
		})
	})
	if err != nil {
		return err
	}
	return sendAnswer(c, a)
}

// addAll adds the documents of a collection with these ids as one JSON object, which lists the ids without a document
// besides. It returns UnknownCollection, and the errors of add.
func (l *items) addAll(snap *view.Prefix, collection string, ids []string) error {
	l.out.AddString(`{"items":[`)
	missing := []byte(`],"missing":[`)
	for _, id := range ids {
		found, err := l.addKey(fanfold.Key{Collection: collection, ID: id})
		if err != nil {
			return err
		}
		if !found {
			if missing[len(missing)-1] != '[' {
				missing = append(missing, ',')
			}
			missing = jsondoc.AppendQuote(missing, id)
		}
	}
	if l.count == 0 {
		if err := checkCollection(snap, collection); err != nil {
			return err
		}
	}
	if err := l.out.Grow(len(missing) + itemBytes); err != nil {
		return err
	}
	l.out.Add(append(missing, "]}"...))
	return nil
}

// addKey adds the document with a key, once there is room for it. found is false where there is none. It returns the
// errors of add.
func (l *items) addKey(key fanfold.Key) (found bool, err error) {
	beside := l.out.Beside
	doc, err := l.read(key)
	if err != nil || doc == nil {
		return false, err
	}
	own := l.out.Beside - beside
	err = l.add(doc)
	l.out.Beside -= own // the body is in the answer now, and nowhere else
	return true, err
}
