package api

import (
	"context"

	"github.com/labstack/echo/v4"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/internal/drift"
	"github.com/fanfold/fanfold/internal/foreign"
	"github.com/fanfold/fanfold/internal/params"
	"github.com/fanfold/fanfold/internal/view"
	"github.com/fanfold/fanfold/internal/wire"
)

// Bounds of what is compared at a time, in bytes.
const (
	shownBytes = 8 << 20 // of what the store shows, after which no more is read
	shownMost  = 8 << 20 // of one document; a longer one is not compared
)

// drifts compares what documents bring for derived members with what the rules of the model give.
type drifts struct{ *documents }

// answer answers POST /v1/_drift: a body has the documents as they were brought, as for an import. It is sent again for this, so that the server
// keeps nothing of what is brought.
func (ds drifts) answer(c echo.Context) error {
	if _, err := params.ParseRepeated(c.Request().URL.RawQuery, repeatedParameters, append(foreignParameters, "collection", "consistency", "maxLag")...); err != nil {
		return err
	}
	how, name, err := readForeign(c, ds.writer.Parsing)
	if err != nil {
		return err
	}
	if _, err := mediaType(c, bytesType, ndjsonType, "application/jsonl"); err != nil {
		return err
	}
	zipped, err := isGzip(c)
	if err != nil {
		return err
	}
	if err := ds.fresh.await(c); err != nil {
		return err
	}
	m, seq, _ := ds.models.Model()
	if len(m.Rules) == 0 {
		return fanfold.Errorf(fanfold.Conflict, "the model derives no members, so there is nothing to compare: apply one first")
	}
	ctx, in, leave, err := enterForeign(c, ds.budget, zipped, how, name)
	if err != nil {
		return err
	}
	defer leave()
	store := &shownStore{documents: ds.documents, c: c, seq: seq}
	check := drift.NewCheck(m, store, func(drift.Difference) error { return nil })
	t := &foreignImport{in: in, seen: ds.open(c)}
	err = t.each(ctx, func(doc *foreign.Document) error {
		if doc.Body == nil || !check.Concerns(doc.Collection) {
			return nil
		}
		return check.Add(ctx, doc.Collection, doc.Body)
	})
	if err != nil {
		return err
	}
	if err := judgeAgain(c); err != nil { // the body may have taken long
		return err
	}
	rules, counts, err := check.End(ctx)
	if err != nil {
		return err
	}
	return sendJSON(c, ds.budget, wire.DriftReport{From: in.reader.Report().From[0], Rules: rules, Documents: counts.Documents, WithoutID: counts.WithoutID, NotThere: counts.NotThere,
		Refused: t.report.Refused, Position: ds.positions.mark(max(store.at, fanfold.At(ds.folded.Applied(), 0)))})
}

// shownStore shows documents to who sent a request, a few from each snapshot. It implements drift.Store.
type shownStore struct {
	*documents
	c   echo.Context
	seq uint64           // of the event that applied the model
	at  fanfold.Position // of the last snapshot
}

// Shown implements drift.Store. The error is Conflict where another model applies by now; others are judgeAgain's and the view's.
func (s *shownStore) Shown(_ context.Context, collection string, ids []string) (found map[string][]byte, looked int, err error) {
	if err := judgeAgain(s.c); err != nil {
		return nil, 0, err
	}
	found = map[string][]byte{}
	err = s.open(s.c).Read(func(snap *view.Prefix) error {
		s.at = snap.At()
		for size := 0; looked < len(ids) && size < shownBytes; looked++ {
			doc, n, err := snap.GetWithin(fanfold.Key{Collection: collection, ID: ids[looked]}, fanfold.Embedded, shownMost)
			if err != nil {
				return err
			}
			if doc != nil && doc.Body != nil {
				found[ids[looked]] = doc.Body
				size += n
			}
		}
		return nil
	})
	if _, seq, _ := s.models.Model(); err == nil && seq != s.seq {
		err = fanfold.Errorf(fanfold.Conflict, "another model applies than when this began: compare again")
	}
	return found, looked, err
}
