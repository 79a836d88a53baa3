package api

import (
	"strings"
	"sync"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/internal/admission"
	"github.com/fanfold/fanfold/internal/modelfile"
	"github.com/fanfold/fanfold/internal/view"
	"github.com/fanfold/fanfold/model"
)

// moment is what a parameter such as at names.
type moment struct {
	fanfold.Moment
	name, text string // of the parameter
	event      bool   // the position is an event's, without a change's number
}

// parseMoment reads a position or an RFC 3339 time that is the value of a parameter. Errors are Invalid, and StoreChanged.
func (f *freshness) parseMoment(name, text string) (m moment, err error) {
	parsed, mark, err := fanfold.ParseMoment(name+"=", text, time.Now())
	m = moment{Moment: parsed, name: name, text: text}
	if err != nil || !m.Time.IsZero() {
		return m, err
	}
	m.event = !strings.Contains(text, "-")
	_, err = f.issuer.Resolve(mark)
	return m, err
}

// awaitState does what awaitMoments does for the state that a read asks for.
func (d *documents) awaitState(c echo.Context, m moment) error {
	for _, name := range []string{"consistency", "maxLag"} {
		if c.QueryParams().Has(name) {
			return fanfold.Errorf(fanfold.Invalid, "%s does not go with %s, which says what is to be read", name, m.name)
		}
	}
	return d.awaitMoments(c, m)
}

// awaitPlace does what awaitState does for a page of a list.
func (d *documents) awaitPlace(c echo.Context, p *page) error {
	if p.again != nil {
		if err := d.awaitState(c, *p.again); err != nil {
			return err
		}
	}
	return d.awaitState(c, *p.at)
}

// awaitMoments waits until the node has reached moments, as a read waits for its Fanfold-Min-Position. A time is reached once every event
// that was acknowledged before is folded: it may be one of their times. Errors are Invalid, StoreChanged, Timeout and Unavailable.
func (d *documents) awaitMoments(c echo.Context, moments ...moment) error {
	if err := d.fresh.await(c); err != nil {
		return err
	}
	limit, err := d.fresh.timeout(c)
	if err != nil {
		return err
	}
	for _, m := range moments {
		if err := d.awaitMoment(c, m, limit); err != nil {
			return err
		}
	}
	return judgeAgain(c)
}

// awaitMoment waits until the node has reached a moment, for limit at most.
func (d *documents) awaitMoment(c echo.Context, m moment, limit time.Duration) error {
	if m.Time.IsZero() {
		return d.fresh.waitUpTo(c.Request().Context(), m.Position.Seq(), limit)
	}
	later := false
	err := d.open(c).Read(func(snap *view.Prefix) error {
		later = snap.Time().After(m.Time)
		return nil
	})
	if later || err != nil {
		return err
	}
	return d.fresh.waitUpToFence(c.Request().Context(), limit)
}

// resolve returns the position of a moment in a snapshot. The error is PositionGone where it can no longer be shown.
func (d *documents) resolve(snap *view.Prefix, m moment) (at fanfold.Position, err error) {
	at, err = snap.Resolve(m.Moment)
	if err != nil && fanfold.CodeOf(err) != fanfold.PositionGone {
		return 0, err
	}
	if err != nil {
		at = 0
	}
	return at, d.checkKept(snap, at, m.name+"="+m.text)
}

// checkKept returns PositionGone where a position, which what names, is before the oldest one.
func (d *documents) checkKept(snap *view.Prefix, at fanfold.Position, what string) error {
	oldest, err := snap.Oldest()
	if err != nil || at >= oldest {
		return err
	}
	mark := d.positions.mark(oldest)
	gone := fanfold.Errorf(fanfold.PositionGone, "the history before %s is no longer kept, and %s is before it", mark, what)
	gone.Oldest = &mark
	return gone
}

// getAt answers GET of one document as it was.
func (d *documents) getAt(c echo.Context, key fanfold.Key, asked shown) error {
	m, err := d.fresh.parseMoment("at", c.QueryParam("at"))
	if err != nil {
		return err
	}
	if err := d.awaitState(c, m); err != nil {
		return err
	}
	return d.getAssembled(c, key, asked, func(snap *view.Prefix) (documentReader, treeReader, error) {
		at, err := d.resolve(snap, m)
		if err != nil {
			return nil, nil, err
		}
		past := snap.AsOf(at)
		return past, func() ([]*expansion, error) { return d.past.expansions(past, key.Collection, c.QueryParam("expand")) }, nil
	})
}

// atScope stands in a cursor between the name of a list and the position of the state that it lists.
const atScope = " at "

// readPlace reads the parameters cursor and at of a list. A cursor of a state before carries its position: all its pages are of one state.
func (d *documents) readPlace(c echo.Context, collection string, p *page) error {
	q := c.QueryParams()
	if q.Has("at") {
		m, err := d.fresh.parseMoment("at", q.Get("at"))
		if err != nil {
			return err
		}
		p.at = &m
	}
	cursor, err := cursorOf(c, d.open(c), collection)
	if cursor == "" || err != nil {
		return err
	}
	list, _, _ := decodeCursor(cursor)
	text, past := strings.CutPrefix(list, p.scope+atScope)
	switch {
	case past:
		m, err := d.fresh.parseMoment("cursor", text)
		if err != nil {
			return err
		}
		p.at, p.again, p.scope = &m, p.at, list
	case p.at != nil && list == p.scope:
		return fanfold.Errorf(fanfold.Invalid, "the cursor belongs to a list of the present, and at asks for one of a state before: begin that one without a cursor")
	}
	p.cursor, err = parseCursor(p.scope, cursor)
	return err
}

// stateOf returns the state that a page of a collection's documents shows.
func (d *documents) stateOf(snap *view.Prefix, collection string, p *page) (documentReader, error) {
	if p.at == nil {
		return snap, nil
	}
	return d.pastOf(snap, collection, p)
}

// pastOf returns the state before that a page of a collection's documents shows, and sets what its model expands.
func (d *documents) pastOf(snap *view.Prefix, collection string, p *page) (past *view.Past, err error) {
	at, err := d.resolve(snap, *p.at)
	if err != nil {
		return nil, err
	}
	if p.again != nil {
		again, err := d.resolve(snap, *p.again)
		if err == nil && again != at {
			err = fanfold.Errorf(fanfold.Invalid, "at=%s is not the state that the cursor goes on with, which is %s: leave at out", p.again.text, d.positions.mark(at))
		}
		if err != nil {
			return nil, err
		}
	}
	past = snap.AsOf(at)
	p.tree, err = d.past.expansions(past, collection, p.expand)
	return past, err
}

// fillPastPage puts together a page of a list as it was.
func (d *documents) fillPastPage(c echo.Context, snap *view.Prefix, a *admission.Answer, p page, l listing) error {
	past, err := d.pastOf(snap, l.collection, &p)
	if err != nil {
		return err
	}
	scope, err := l.beginPast(snap, past)
	if err != nil {
		return err
	}
	seal, err := d.open(c).Seal(l.collection)
	if err != nil {
		return err
	}
	items := d.newItems(c, past, a, p)
	a.AddString(`{"items":[`)
	last, more, err := l.readPast(past, items.addWithin)
	if err == nil {
		endPage(a, seal, scope+atScope+d.positions.mark(past.At()).String(), last, more)
	}
	return err
}

// pastModels keeps models that applied once. The zero value is empty.
type pastModels struct {
	mu    sync.Mutex
	known map[uint64]*model.Model // by the event that applied it
}

// maxPastModels bounds the models that are kept.
const maxPastModels = 16

// expansions returns what expand names in documents of a collection, under the model that applied.
func (ms *pastModels) expansions(past *view.Past, collection, expand string) ([]*expansion, error) {
	if expand == "" {
		return nil, nil
	}
	m, err := ms.model(past)
	if err != nil {
		return nil, err
	}
	return parseExpand(m, collection, expand)
}

// model returns the model that applied in a state of the store.
func (ms *pastModels) model(past *view.Past) (*model.Model, error) {
	source, seq, err := past.Model()
	if err != nil {
		return nil, err
	}
	if seq == 0 {
		source = []byte(`{"collections":{}}`)
	}
	ms.mu.Lock()
	defer ms.mu.Unlock()
	if m, ok := ms.known[seq]; ok {
		return m, nil
	}
	m, err := modelfile.ParseAccepted(source)
	if err != nil {
		return nil, fanfold.Wrap(err, fanfold.Internal, "the model of that time cannot be read")
	}
	if ms.known == nil || len(ms.known) >= maxPastModels {
		ms.known = map[uint64]*model.Model{}
	}
	ms.known[seq] = m
	return m, nil
}
