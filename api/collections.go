package api

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/internal/admission"
	"github.com/fanfold/fanfold/internal/jsondoc"
	"github.com/fanfold/fanfold/internal/modelguess"
	"github.com/fanfold/fanfold/internal/params"
	"github.com/fanfold/fanfold/internal/view"
	"github.com/fanfold/fanfold/internal/wire"
)

// collectionsScope names the list of the collections in its cursors. No collection can have such a name.
const collectionsScope = "the collections"

// collections answers GET /v1: which collections there are, by name, and how many documents each holds.
func (d *documents) collections(c echo.Context) error {
	if err := readParameters(c, "limit", "cursor"); err != nil {
		return err
	}
	limit, err := params.Int(c.QueryParams(), "limit", defaultLimit, 1, maxLimit)
	if err != nil {
		return err
	}
	after := ""
	if v := c.QueryParam("cursor"); v != "" {
		if after, err = parseCursor(collectionsScope, v); err != nil {
			return err
		}
	}
	if err := d.fresh.await(c); err != nil {
		return err
	}
	list := wire.Collections{Collections: []wire.CollectionCount{}}
	var at fanfold.Position
	if err := d.open(c).Read(func(snap *view.Prefix) error {
		at = snap.At()
		some, more, err := snap.Collections(after, limit)
		for _, of := range some {
			told := wire.CollectionCount{Name: of.Name, Documents: &of.Documents, Declared: of.Declared}
			if of.Uncounted {
				told.Documents = nil
			}
			list.Collections = append(list.Collections, told)
		}
		if more {
			list.Next = makeCursor(collectionsScope, some[len(some)-1].Name)
		}
		return err
	}); err != nil {
		return err
	}
	h := c.Response().Header()
	h[keyPosition] = []string{d.positions.mark(at).String()}
	h["Cache-Control"] = mustRevalidate
	known, tag := matches(c.Request().Header["If-None-Match"], textTag(list))
	if h[keyETag] = []string{tag}; known {
		return c.NoContent(http.StatusNotModified)
	}
	return sendJSON(c, d.budget, list)
}

// textTag returns an ETag of a list: every answer with the same text has it.
func textTag(list wire.Collections) string {
	h := fnv.New64a()
	_ = json.NewEncoder(h).Encode(list) // neither a hash nor a list fails
	return fmt.Sprintf(`"%016x"`, h.Sum64())
}

// checkCollection returns an UnknownCollection where a snapshot knows nothing of a collection: most likely its name is
// mistyped, which an empty list would not tell.
func checkCollection(snap *view.Prefix, name string) error {
	found, err := snap.HasCollection(name)
	if err == nil && !found {
		err = fanfold.Errorf(fanfold.UnknownCollection, "there is no collection %q: the model does not declare it, and it never held a document; GET /v1 lists those there are", name)
	}
	return err
}

// sequences tells which numbers documents got.
type sequences struct{ *documents }

// list answers GET /v1/_sequences: the last numbers that documents got, by collection and path.
func (d sequences) list(c echo.Context) error {
	if err := readParameters(c, "collection", "cursor"); err != nil {
		return err
	}
	collection := c.QueryParam("collection")
	if collection != "" {
		if err := fanfold.CheckCollection(collection); err != nil {
			return err
		}
	}
	after := fanfold.Counter{}
	scope := "the sequences of " + cmp.Or(collection, "all collections")
	if v := c.QueryParam("cursor"); v != "" {
		place, err := parseCursor(scope, v)
		parts := strings.SplitN(place, "\x00", 3)
		if err != nil || len(parts) != 3 {
			return badCursorOr(err, v)
		}
		after = fanfold.Counter{Collection: parts[0], Path: parts[1], Key: parts[2]}
	}
	if err := d.fresh.await(c); err != nil {
		return err
	}
	list := wire.Counters{Items: []fanfold.Counter{}}
	var at fanfold.Position
	if err := d.open(c).Read(func(snap *view.Prefix) error {
		at = snap.At()
		items, more, err := snap.Sequences(collection, after)
		list.Items = append(list.Items, items...)
		if more {
			last := items[len(items)-1]
			list.Next = makeCursor(scope, last.Collection+"\x00"+last.Path+"\x00"+last.Key)
		}
		return err
	}); err != nil {
		return err
	}
	c.Response().Header()[keyPosition] = []string{d.positions.mark(at).String()}
	return sendJSON(c, d.budget, list)
}

// badCursorOr returns err, or the Invalid of a cursor that no list gave where there is none.
func badCursorOr(err error, cursor string) error {
	if err != nil {
		return err
	}
	return badCursor(fanfold.Clip(cursor))
}

// assigned returns the numbers that a document got when an operation created it, by their paths; nil for none, and once it is gone.
func (d sequences) assigned(c echo.Context, key fanfold.Key) map[string]json.RawMessage {
	m, _, _ := d.models.Model()
	of := m.Collection(key.Collection)
	if !of.Numbers() {
		return nil
	}
	doc, _, err := d.open(c).Get(key, fanfold.Referenced)
	if err != nil || doc == nil {
		return nil
	}
	t, all := jsondoc.MustParse(doc.Body), map[string]json.RawMessage{}
	for _, s := range of.Sequences {
		if n := s.Path.Lookup(t, jsondoc.Root); n != jsondoc.None {
			all[s.Path.String()] = t.Raw(n)
		}
	}
	return all
}

// Bounds of the documents that a model is proposed for. Those beyond are counted, and not looked at.
const (
	maxSuggestDocuments = 100_000
	maxSuggestBytes     = 32 << 20
	suggestPage         = 500 // documents of a read, so that none lasts long
)

// sampler reads a sample of all collections, as their documents were written.
type sampler struct {
	seen   view.View
	judge  func() error // tells whether to go on
	sample *modelguess.Sample
	at     fanfold.Position // of the first read
}

// sampled is a collection that is read in part.
type sampled struct {
	name      string
	last      string // id that was read
	documents int    // that are not read
	ended     bool
}

// run reads a page of each collection in turn, while there is room. Errors are judge's, and the view's.
func (s *sampler) run() error {
	all, err := s.collections()
	for more := true; more && err == nil; {
		more = false
		for i := range all {
			of := &all[i]
			if of.ended = of.ended || s.sample.Full(of.name); of.ended {
				continue
			}
			if err = s.page(of); err != nil {
				return err
			}
			more = more || !of.ended
		}
	}
	for _, of := range all {
		s.sample.Leave(of.name, max(0, of.documents))
	}
	return err
}

// collections returns those that have documents.
func (s *sampler) collections() (all []sampled, err error) {
	after, more := "", true
	for more && err == nil {
		if err = s.judge(); err != nil {
			return nil, err
		}
		err = s.seen.Read(func(p *view.Prefix) error {
			if after == "" {
				s.at = p.At()
			}
			var some []fanfold.CollectionCount
			some, more, err = p.Collections(after, maxLimit)
			for _, of := range some {
				if after = of.Name; of.Documents > 0 {
					all = append(all, sampled{name: of.Name, documents: int(of.Documents)})
				}
			}
			return err
		})
	}
	return all, err
}

// page adds the next documents of a collection to the sample.
func (s *sampler) page(of *sampled) error {
	if err := s.judge(); err != nil {
		return err
	}
	return s.seen.Read(func(p *view.Prefix) error {
		more, err := p.EachListed(of.name, of.last, suggestPage, fanfold.Referenced, func(doc *fanfold.Document) (bool, error) {
			if s.sample.Full(of.name) {
				return false, nil
			}
			s.sample.Add(of.name, doc.Body)
			of.last = doc.Key.ID
			of.documents--
			return true, nil
		})
		of.ended = !more
		return err
	})
}

// Bounds of the search for the targets to which most documents refer.
const (
	maxTargetLinks = 1_000_000 // that are looked at, of all relations
	targetsRest    = 10 * time.Second
	targetsShare   = 20 // a search begins once so many times as long as the last one took have gone by
)

// targets finds the target of each relation to which most documents refer, one search at a time.
type targets struct {
	open      func(c echo.Context) view.View // returns what a request's sender sees
	models    Models
	folded    Folded
	positions positions
	budget    *admission.Budget
	now       func() time.Time
	turn      chan struct{}
	last      atomic.Pointer[foundTargets] // nil for none
}

// foundTargets is what a search found.
type foundTargets struct {
	list    wire.LargestTargets
	model   uint64 // that applied
	applied uint64 // when it began
	at      fanfold.Position
	until   time.Time // before which no other search begins while the model is the same
}

// newTargets returns a search of what open shows.
func newTargets(open func(c echo.Context) view.View, models Models, folded Folded, at positions, budget *admission.Budget) *targets {
	return &targets{open: open, models: models, folded: folded, positions: at, budget: budget, now: time.Now, turn: make(chan struct{}, 1)}
}

// get answers GET /v1/_model/_targets. Its route lets in those alone who read every document, so that all are told the same.
func (t *targets) get(c echo.Context) error {
	if err := parameters(c); err != nil {
		return err
	}
	found, err := t.find(c.Request().Context(), t.open(c))
	if err != nil {
		return err
	}
	h := c.Response().Header()
	h[keyPosition] = []string{t.positions.mark(found.at).String()}
	h.Set(headerRevision, strconv.FormatUint(found.model, 10))
	return sendJSON(c, t.budget, found.list)
}

// find returns what was found last, and searches where that is too old. While another request searches it returns the last, if the model is
// the same, and waits otherwise. The error is also ctx's.
func (t *targets) find(ctx context.Context, seen view.View) (*foundTargets, error) {
	if last, ok := t.fresh(); ok {
		return last, nil
	}
	select {
	case t.turn <- struct{}{}:
	default:
		if last, same := t.known(); same {
			return last, nil
		}
		select {
		case t.turn <- struct{}{}:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	defer func() { <-t.turn }()
	if last, ok := t.fresh(); ok { // another request has found it meanwhile
		return last, nil
	}
	m, seq, _ := t.models.Model()
	begun := t.now()
	found := &foundTargets{list: wire.LargestTargets{Relations: []wire.LargestTarget{}}, model: seq, applied: t.folded.Applied()}
	some, at, err := seen.LargestTargets(ctx, m.Relations(), maxTargetLinks)
	if err != nil {
		return nil, err
	}
	found.list.Relations, found.at = append(found.list.Relations, some...), at
	ended := t.now()
	found.until = ended.Add(max(targetsRest, targetsShare*ended.Sub(begun)))
	t.last.Store(found)
	return found, nil
}

// known returns what was found last, and whether it was under the model that applies.
func (t *targets) known() (last *foundTargets, same bool) {
	last = t.last.Load()
	_, seq, _ := t.models.Model()
	return last, last != nil && last.model == seq
}

// fresh returns what was found last, and whether no search need begin.
func (t *targets) fresh() (*foundTargets, bool) {
	last, same := t.known()
	return last, same && (last.applied == t.folded.Applied() || t.now().Before(last.until))
}
