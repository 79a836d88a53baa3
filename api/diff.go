package api

import (
	"bytes"
	"context"
	"slices"
	"strings"

	"github.com/labstack/echo/v4"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/internal/admission"
	"github.com/fanfold/fanfold/internal/jsondoc"
	"github.com/fanfold/fanfold/internal/params"
	"github.com/fanfold/fanfold/internal/view"
)

// maxDifferedBodies bounds a document in both states, in bytes. Larger ones are left out.
const maxDifferedBodies = 40 << 20

// maxDiffered bounds how many changes there may be between two states that are compared.
const maxDiffered = 1_000_000

// difference is a request to compare two states.
type difference struct {
	from        moment
	to          *moment  // nil for the present
	collections []string // nil for all
	form        fanfold.View
	direct      bool // only documents that are not as they were written
	limit       int

	first, last fanfold.Position // of from and to
	after       fanfold.Key      // after which the page begins
}

// diffs compares states of documents.
type diffs struct {
	*documents

	found *founds
}

// answer answers GET and HEAD of what differs between two states, by collection and id. It has its slot until the client reads, however slowly.
func (df *diffs) answer(c echo.Context) error {
	leave, err := enter(c, df.budget, admission.Exports, admission.Applicant{})
	if err != nil {
		return err
	}
	a, err := df.assemble(c)
	leave()
	if err != nil {
		return err
	}
	return sendAnswer(c, a)
}

// assemble puts the answer with what differs together.
func (df *diffs) assemble(c echo.Context) (*admission.Answer, error) {
	req, err := df.readRequest(c)
	if err != nil {
		return nil, err
	}
	if err := df.open(c).Read(func(snap *view.Prefix) error { return df.resolveStates(c, snap, req) }); err != nil {
		return nil, err
	}
	keys, more, err := df.keys(c, req)
	if err != nil {
		return nil, err
	}
	a, err := df.budget.Answer(c.Request().Context()).Assemble(func(a *admission.Answer) error {
		return df.open(c).ReadLong(func(snap *view.Prefix) error { return df.add(a, snap, req, keys, more) })
	})
	if err == nil {
		c.Response().Header().Set(headerPosition, df.positions.mark(req.last).String())
	}
	return a, err
}

// readRequest reads the parameters of a request, and waits until the node has reached both states.
func (df *diffs) readRequest(c echo.Context) (req *difference, err error) {
	if err := readParameters(c, "from", "to", "collections", "view", "derived", "limit", "cursor"); err != nil {
		return nil, err
	}
	q := c.QueryParams()
	req = &difference{}
	if req.form, err = viewOf(c); err != nil {
		return nil, err
	}
	if req.direct, err = oneOf(c, "derived", "include", "exclude"); err != nil {
		return nil, err
	}
	if req.limit, err = params.Int(q, "limit", defaultLimit, 1, maxLimit); err != nil {
		return nil, err
	}
	if req.collections, err = params.Collections(q, "collections"); err != nil {
		return nil, err
	}
	if !q.Has("from") {
		return nil, fanfold.Errorf(fanfold.Invalid, "from is missing: say since which position or time differences count")
	}
	if req.from, err = df.fresh.parseMoment("from", q.Get("from")); err != nil {
		return nil, err
	}
	moments := []moment{req.from}
	if q.Has("to") {
		to, err := df.fresh.parseMoment("to", q.Get("to"))
		if err != nil {
			return nil, err
		}
		req.to, moments = &to, append(moments, to)
	}
	return req, df.awaitMoments(c, moments...)
}

// resolveStates finds the positions of both states, and reads the cursor. It checks the collections.
func (df *diffs) resolveStates(c echo.Context, snap *view.Prefix, req *difference) (err error) {
	for _, name := range req.collections {
		if err := checkCollection(snap, name); err != nil {
			return err
		}
	}
	if req.first, err = df.resolve(snap, req.from); err != nil {
		return err
	}
	if req.last = snap.At(); req.to != nil {
		if req.last, err = df.resolve(snap, *req.to); err != nil {
			return err
		}
	}
	if cursor := c.QueryParam("cursor"); cursor != "" {
		if err := df.readCursor(req, cursor); err != nil {
			return err
		}
	}
	if req.first > req.last {
		return fanfold.Errorf(fanfold.Invalid, "from=%s is later than to: give the earlier one first", req.from.text)
	}
	n, err := snap.ChangesBetween(req.first, req.last)
	if err == nil && n > maxDiffered {
		err = fanfold.Errorf(fanfold.Unprocessable, "there are %d changes between the two states, and at most %d are compared: take states that are nearer to each other", n, maxDiffered)
	}
	return err
}

// scope names the list of differences, to which its cursors belong. The end is a part of the place: it may be the present of the first page.
func (req *difference) scope(from string) string {
	return "differences since " + from + " of " + strings.Join(req.collections, ",")
}

// readCursor reads the state to compare with, and the key after which a page begins.
func (df *diffs) readCursor(req *difference, cursor string) error {
	place, err := parseCursor(req.scope(req.first.String()), cursor)
	if err != nil {
		return err
	}
	text, key, _ := strings.Cut(place, " ")
	last, err := df.positions.read(text)
	collection, id, ok := strings.Cut(key, "/")
	switch {
	case fanfold.CodeOf(err) == fanfold.StoreChanged:
		return err
	case err != nil || !ok:
		return badCursor(fanfold.Clip(cursor))
	case req.to != nil && last != req.last:
		return fanfold.Errorf(fanfold.Invalid, "to=%s is not the state that the cursor goes on with, which is %s: leave to out", req.to.text, last)
	}
	req.last, req.after = last, fanfold.Key{Collection: collection, ID: id}
	return nil
}

// keys returns the keys of documents that changed between both states, in order, as many as a page has at most.
func (df *diffs) keys(c echo.Context, req *difference) (keys []fanfold.Key, more bool, err error) {
	of := comparison{req.first, req.last, req.direct, strings.Join(req.collections, ","), rightsOf(c).Shape()}
	if keys, more, ok := df.found.page(of, req.after, req.limit); ok {
		return keys, more, nil
	}
	found := &foundKeys{of: of, after: req.after}
	if err := df.findKeys(c, req, found); err != nil {
		return nil, false, err
	}
	keys, more, _ = found.page(req.after, req.limit)
	if len(found.keys) > 1 { // a page may end early
		df.found.keep(found)
	}
	return keys, more, nil
}

// findKeys looks at what changed between both states. No snapshot stays open for long: what changed between two states stays the same.
func (df *diffs) findKeys(c echo.Context, req *difference, found *foundKeys) (err error) {
	ctx := c.Request().Context()
	for at := req.first; at < req.last && err == nil; {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		err = df.open(c).ReadLong(func(snap *view.Prefix) (err error) {
			if err := df.checkKept(snap, req.first, "from="+req.from.text); err != nil { // it may have gone since the page before
				return err
			}
			at, err = snap.ChangedKeys(at, req.last, req.direct, func(key fanfold.Key) {
				if req.collections == nil || slices.Contains(req.collections, key.Collection) {
					found.add(key)
				}
			})
			return err
		})
	}
	found.settle()
	return err
}

// add adds the documents of a page that differ. The page ends early where it gets large.
func (df *diffs) add(a *admission.Answer, snap *view.Prefix, req *difference, keys []fanfold.Key, more bool) error {
	from, to := df.positions.mark(req.first).String(), df.positions.mark(req.last).String()
	if err := df.checkKept(snap, req.first, "from="+req.from.text); err != nil {
		return err
	}
	a.AddString(`{"from":"` + from + `","to":"` + to + `","items":[`)
	before, after := snap.AsOf(req.first), snap.AsOf(req.last)
	var last fanfold.Key
	count := 0
	for _, key := range keys {
		if a.Len() > admission.PageBytes {
			more = true
			break
		}
		last = key
		item, err := df.compare(req, key, before, after)
		if err != nil {
			return err
		}
		if item == nil {
			continue
		}
		if err := a.Grow(len(item) + itemBytes); err != nil {
			return err
		}
		if count > 0 {
			a.AddString(",")
		}
		count++
		a.Add(item)
	}
	endPage(a, nil, req.scope(req.first.String()), to+" "+last.String(), more)
	return nil
}

// compare returns what differs in a document between two states, as JSON; nil where nothing does.
func (df *diffs) compare(req *difference, key fanfold.Key, before, after *view.Past) ([]byte, error) {
	if req.direct && req.form == fanfold.Embedded {
		was, is, err := bothStates(key, fanfold.Referenced, before, after)
		if err != nil || patchBetween(was, is) == nil {
			return nil, err
		}
	}
	was, is, err := bothStates(key, req.form, before, after)
	if err != nil {
		return nil, err
	}
	patch := patchBetween(was, is)
	if patch == nil {
		return nil, nil
	}
	return df.differenceOf(key, was, is, patch), nil
}

// bothStates returns a document in two states, nil where it was not there.
func bothStates(key fanfold.Key, form fanfold.View, before, after *view.Past) (was, is *fanfold.Document, err error) {
	if was, _, err = before.GetWithin(key, form, admission.MaxAnswer); err != nil {
		return nil, nil, err
	}
	if is, _, err = after.GetWithin(key, form, admission.MaxAnswer); err != nil {
		return nil, nil, err
	}
	for _, doc := range []*fanfold.Document{was, is} {
		if doc != nil && doc.Body == nil {
			return nil, nil, admission.ErrLargeAnswer
		}
	}
	return was, is, nil
}

// patchBetween returns the JSON Patch from one document to another, nil where nothing differs. Either may be nil.
func patchBetween(was, is *fanfold.Document) []byte {
	bodies := [2][]byte{}
	for i, doc := range []*fanfold.Document{was, is} {
		if doc != nil {
			bodies[i] = doc.Body
		}
	}
	if bytes.Equal(bodies[0], bodies[1]) {
		return nil
	}
	if patch := jsondoc.Diff(bodies[0], bodies[1]); string(patch) != "[]" {
		return patch
	}
	return nil
}

// differenceOf returns what differs between two documents with a key, as JSON. Either may be nil.
func (df *diffs) differenceOf(key fanfold.Key, was, is *fanfold.Document, patch []byte) []byte {
	op := "change"
	switch {
	case was == nil:
		op = "create"
	case is == nil:
		op = "delete"
	}
	item := jsondoc.AppendQuote([]byte(`{"collection":"`+key.Collection+`","id":`), key.ID)
	item = append(item, `,"op":"`+op+`"`...)
	both := []*fanfold.Document{was, is}
	size := 0
	for _, doc := range both {
		if doc != nil {
			size += len(doc.Body)
		}
	}
	for i, doc := range both {
		if doc != nil && size <= maxDifferedBodies {
			item = append(item, []string{`,"before":`, `,"after":`}[i]...)
			item = append(item, jsondoc.WithLast(doc.Body, "_meta", doc.Meta(df.positions.Issuer))...)
		}
	}
	if len(patch) <= fanfold.MaxVersionPatch {
		item = append(append(item, `,"patch":`...), patch...)
	}
	return append(item, '}')
}
