package api

import (
	"github.com/labstack/echo/v4"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/changefeed"
	"github.com/fanfold/fanfold/internal/admission"
	"github.com/fanfold/fanfold/internal/params"
	"github.com/fanfold/fanfold/internal/view"
	"github.com/fanfold/fanfold/writer"
)

// historyRequest is what a request for a document's history asks for.
type historyRequest struct {
	fanfold.VersionQuery
	scope    string  // names the list, to which its cursors belong
	from, to *moment // nil where they are not given
}

// history answers GET and HEAD of a document's versions, page by page.
func (d *documents) history(c echo.Context) error {
	req, err := d.readHistory(c)
	if err != nil {
		return err
	}
	rights := rightsOf(c)
	actors := rights.Admin() && !rights.IsOpen()
	a, err := d.budget.Answer(c.Request().Context()).Assemble(func(a *admission.Answer) error {
		return d.open(c).ReadLong(func(snap *view.Prefix) error {
			c.Response().Header().Set(headerPosition, d.positions.mark(snap.At()).String())
			page, err := d.readVersions(snap, a, req)
			if err != nil {
				return err
			}
			oldest, err := snap.Oldest()
			if err != nil {
				return err
			}
			next := ""
			if page.More && page.Last != 0 {
				seal, err := d.open(c).Seal(req.Key.Collection)
				if err != nil {
					return err
				}
				next = nextCursor(seal, req.scope, d.positions.mark(page.Last).String())
			}
			d.addVersions(a, page, next, oldest, actors)
			return nil
		})
	})
	if err != nil {
		return err
	}
	return sendAnswer(c, a)
}

// readHistory reads the parameters of a request, and waits until the read model is as fresh as it asks for.
func (d *documents) readHistory(c echo.Context) (req historyRequest, err error) {
	if req.Key, err = keyOf(c); err != nil {
		return req, err
	}
	if err := readParameters(c, "view", "order", "limit", "cursor", "derived", "include_docs", "from", "to"); err != nil {
		return req, err
	}
	q := c.QueryParams()
	if req.View, err = viewOf(c); err != nil {
		return req, err
	}
	if req.Ascending, err = oneOf(c, "order", "desc", "asc"); err != nil {
		return req, err
	}
	if req.Direct, err = oneOf(c, "derived", "include", "exclude"); err != nil {
		return req, err
	}
	bare, err := oneOf(c, "include_docs", "true", "false")
	if req.Docs = !bare; err != nil {
		return req, err
	}
	if req.Limit, err = params.Int(q, "limit", defaultLimit, 1, maxLimit); err != nil {
		return req, err
	}
	req.scope = "the versions of " + req.Key.String()
	if req.Ascending {
		req.scope += ", the oldest first"
	}
	v, err := cursorOf(c, d.open(c), req.Key.Collection)
	if err != nil {
		return req, err
	}
	if v != "" {
		place, err := parseCursor(req.scope, v)
		if err != nil {
			return req, err
		}
		req.After, err = d.positions.read(place)
		if fanfold.CodeOf(err) == fanfold.Invalid {
			err = badCursor(q.Get("cursor"))
		}
		if err != nil {
			return req, err
		}
	}
	return req, d.readRange(c, &req)
}

// readRange reads from and to, and waits for them.
func (d *documents) readRange(c echo.Context, req *historyRequest) error {
	var moments []moment
	for _, end := range []struct {
		name string
		to   **moment
	}{{"from", &req.from}, {"to", &req.to}} {
		if !c.QueryParams().Has(end.name) {
			continue
		}
		m, err := d.fresh.parseMoment(end.name, c.QueryParam(end.name))
		if err != nil {
			return err
		}
		*end.to = &m
		moments = append(moments, m)
	}
	if len(moments) == 0 {
		return d.fresh.await(c)
	}
	return d.awaitMoments(c, moments...)
}

// oneOf reads a parameter with two values; it has the first one if it is absent. It reports whether it has the other.
func oneOf(c echo.Context, name, first, other string) (bool, error) {
	switch v := c.QueryParam(name); v {
	case "", first:
		return false, nil
	case other:
		return true, nil
	default:
		return false, fanfold.Errorf(fanfold.Invalid, "%s=%s is not one of %s and %s", name, fanfold.Clip(v), first, other)
	}
}

// Bounds of what is read for a page of versions, in bytes.
const (
	firstVersionBytes = 256 << 10
	versionGrowth     = 8 // by which the next try has more
)

// readVersions reads a page of versions, once there is room for it in the answer. Most pages are small: where one ends before its limit,
// it is read again with more room, up to admission.PageBytes, and more only where its first version needs it.
func (d *documents) readVersions(snap *view.Prefix, a *admission.Answer, req historyRequest) (page fanfold.VersionPage, err error) {
	q := req.VersionQuery
	if err := d.resolveRange(snap, req, &q); err != nil {
		return page, err
	}
	for q.MaxBytes = firstVersionBytes; ; q.MaxBytes = max(page.Need, min(versionGrowth*q.MaxBytes, admission.PageBytes)) {
		if err := a.Grow(min(q.MaxBytes+maxLimit*itemBytes, admission.MaxAnswer)); err != nil {
			return page, err
		}
		if page, err = snap.Versions(q); err != nil {
			return page, err
		}
		if page.Need == 0 && (!page.Full || q.MaxBytes >= admission.PageBytes) {
			break
		}
	}
	if !page.Known {
		return page, writer.Missing(req.Key)
	}
	return page, nil
}

// resolveRange sets the first and the last position that count.
func (d *documents) resolveRange(snap *view.Prefix, req historyRequest, q *fanfold.VersionQuery) (err error) {
	q.From, q.To = 0, snap.At()
	if m := req.from; m != nil {
		if q.From, err = d.firstOf(snap, *m); err != nil {
			return err
		}
	}
	if m := req.to; m != nil {
		if q.To, err = d.resolve(snap, *m); err != nil {
			return err
		}
		if m.Time.IsZero() {
			q.To = m.Position
		}
	}
	if q.After != 0 {
		err = d.checkKept(snap, q.After, "the version with which the page before ended")
	}
	return err
}

// firstOf returns the first position that is not before a moment. The error is PositionGone where that is no longer kept.
func (d *documents) firstOf(snap *view.Prefix, m moment) (at fanfold.Position, err error) {
	switch {
	case m.event:
		at = fanfold.At(m.Position.Seq(), 0)
	case m.Time.IsZero():
		at = m.Position
	default:
		m.Moment = fanfold.Moment{Time: m.Time.Add(-1)}
		at, err = d.resolve(snap, m)
		return at + 1, err
	}
	return at, d.checkKept(snap, at, m.name+"="+m.text)
}

// addVersions adds a page of versions to an answer, with the cursor of the next one, "" for none.
func (d *documents) addVersions(a *admission.Answer, page fanfold.VersionPage, next string, oldest fanfold.Position, actors bool) {
	a.AddString(`{"items":[`)
	for i, v := range page.Versions {
		if i > 0 {
			a.AddString(",")
		}
		changefeed.AddVersion(&a.Buffer, v, d.positions.Issuer, actors)
	}
	a.AddString("]")
	if next != "" {
		a.AddString(`,"next":"` + next + `"`)
	}
	a.AddString(`,"oldest":"` + d.positions.mark(oldest).String() + `"}`)
}
