package api

import (
	"context"
	"math"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/internal/exportfile"
	"github.com/fanfold/fanfold/internal/modelfile"
	"github.com/fanfold/fanfold/internal/view"
	"github.com/fanfold/fanfold/model"
)

// exportSource holds what is exported: one state of the store.
type exportSource interface {
	exportfile.Source
	// At returns the position of the state.
	At() fanfold.Position
	// CheckExport returns a Forbidden where the sender may not export collections.
	CheckExport(collections []string) error
	// Close ends the reading.
	Close() error
}

// sourceOf returns what an export reads: the present, or a state before where m is not nil.
func (d *documents) sourceOf(ctx context.Context, open view.View, m *moment) (exportSource, error) {
	if m == nil {
		return open.Scan(ctx)
	}
	s := &pastSource{open: open}
	s.kept = func(snap *view.Prefix) error { return d.checkKept(snap, s.at, m.name+"="+m.text) }
	err := open.Read(func(snap *view.Prefix) (err error) {
		if s.at, err = d.resolve(snap, *m); err == nil {
			s.past = snap.AsOf(s.at)
		}
		return err
	})
	return s, err
}

// pastSource reads a state before, page by page: what it shows stays the same, so that no snapshot stays open.
type pastSource struct {
	open  view.View
	kept  func(snap *view.Prefix) error // returns PositionGone once the state is no longer kept
	at    fanfold.Position
	past  *view.Past // for rights alone: its snapshot has ended
	model *model.Model
	keys  map[int64]fanfold.Key // of the documents that All has returned last
}

// At implements exportSource.
func (s *pastSource) At() fanfold.Position { return s.at }

// CheckExport implements exportSource.
func (s *pastSource) CheckExport(collections []string) error { return s.past.CheckExport(collections) }

// Close implements exportSource.
func (s *pastSource) Close() error { return nil }

// read calls fn with the state.
func (s *pastSource) read(fn func(past *view.Past) error) error {
	return s.open.ReadLong(func(snap *view.Prefix) error {
		if err := s.kept(snap); err != nil { // it may have gone since the page before
			return err
		}
		return fn(snap.AsOf(s.at))
	})
}

// Model implements exportfile.Source.
func (s *pastSource) Model() (src []byte, reserved model.Reserved, retired model.Retired, err error) {
	err = s.read(func(past *view.Past) (err error) {
		src, reserved, retired, err = past.StoredModel()
		return err
	})
	if s.model = model.Empty(); src != nil && err == nil {
		s.model, err = modelfile.ParseAccepted(src)
	}
	return src, reserved, retired, err
}

// All implements exportfile.Source.
func (s *pastSource) All(after int64, limit int) (docs []*fanfold.Document, more bool, err error) {
	for more = true; more && len(docs) == 0 && err == nil; {
		err = s.read(func(past *view.Past) (err error) {
			docs, after, more, err = past.Created(after, limit)
			return err
		})
	}
	s.keys = make(map[int64]fanfold.Key, len(docs))
	for _, doc := range docs {
		s.keys[doc.Number] = doc.Key
	}
	return docs, more, err
}

// EachKept implements exportfile.Source. The values are those that the embedded view showed.
func (s *pastSource) EachKept(holder int64, fn func(rule, target string, value []byte) error) error {
	key := s.keys[holder]
	c := s.model.Collection(key.Collection)
	if !exportfile.Keeps(c) {
		return nil
	}
	return s.read(func(past *view.Past) error {
		doc, _, err := past.GetWithin(key, fanfold.Embedded, math.MaxInt)
		if err != nil || doc == nil {
			return err
		}
		return exportfile.EachShownKept(c, doc.Body, func(collection, id string) (bool, error) {
			target, err := past.Has(fanfold.Key{Collection: collection, ID: id})
			return !target, err
		}, fn)
	})
}

// SequencesAfter implements exportfile.Source. It reads the counters as they are now, because no number may come again.
func (s *pastSource) SequencesAfter(collection string, after fanfold.Counter, _ int) (list []fanfold.Counter, more bool, err error) {
	err = s.open.ReadLong(func(snap *view.Prefix) (err error) {
		list, more, err = snap.Sequences(collection, after)
		return err
	})
	return list, more, err
}
