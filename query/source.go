package query

import (
	"slices"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/model"
)

// item is what a walk comes to: an entry of an index, or a document.
type item struct {
	full     []byte // the entry's key
	key      []byte // the part of it that enters into the order, or an id
	tie      int64
	number   int64             // of the document
	document *fanfold.Document // nil where the walk does not read it
	whole    bool              // the index decides nothing about it
	seen     bool              // a rule decides, and lets who asks see the document
	cut      bool              // the document lacks what who asks does not see
}

// source is what a plan walks over.
type source interface {
	// count returns how many entries or documents there are, up to limit.
	count(s Snapshot, limit int64) (int64, error)
	// walk calls fn with what comes after a place, nil for all, until fn returns false or an error. With documents each item has its
	// document.
	walk(s Snapshot, after *place, documents bool, fn func(it item) (bool, error)) error
}

// place is one in the order of a walk or a sort.
type place struct {
	key []byte
	tie int64
}

// everyID are all documents of a collection.
var everyID = []model.IDRange{{}}

// idSource walks over documents in order of id.
type idSource struct {
	collection string
	ranges     []model.IDRange
	all        bool // there is one range, of all
}

func (x *idSource) count(s Snapshot, limit int64) (n int64, err error) {
	if x.all {
		n, err = s.CountDocuments(x.collection)
		return min(n, limit), err
	}
	for i := 0; err == nil && i < len(x.ranges) && n < limit; i++ {
		var some int64
		r := x.ranges[i]
		r.Collection = x.collection
		some, err = s.CountByID(r, limit-n)
		n += some
	}
	return n, err
}

func (x *idSource) walk(s Snapshot, after *place, _ bool, fn func(it item) (bool, error)) error {
	on := true
	for _, r := range x.ranges {
		r.Collection = x.collection
		if after != nil {
			if r.After = string(after.key); r.High != "" && r.After >= r.High {
				continue
			}
		}
		err := s.EachByID(r, func(doc *fanfold.Document) (bool, error) {
			var err error
			on, err = fn(item{key: []byte(doc.Key.ID), number: doc.Number, document: doc, whole: true})
			return on, err
		})
		if err != nil || !on {
			return err
		}
	}
	return nil
}

// linkSource walks over the documents that refer to one.
type linkSource struct{ relation, target string }

func (x *linkSource) count(s Snapshot, limit int64) (int64, error) {
	return s.CountReferring(x.relation, x.target, limit)
}

func (x *linkSource) walk(s Snapshot, after *place, _ bool, fn func(it item) (bool, error)) error {
	from := int64(0)
	if after != nil {
		from = after.tie
	}
	const atOnce = 1 << 30
	_, err := s.EachReferring(x.relation, x.target, from, atOnce, fanfold.Embedded, func(doc *fanfold.Document) (bool, error) {
		return fn(item{tie: doc.Number, number: doc.Number, document: doc, whole: true})
	})
	return err
}

// claimSource is the document that has a unique value.
type claimSource struct{ collection, name, value string }

func (x *claimSource) count(Snapshot, int64) (int64, error) { return 1, nil }

func (x *claimSource) walk(s Snapshot, after *place, documents bool, fn func(it item) (bool, error)) error {
	holder, _, err := s.Claim(x.collection, x.name, x.value)
	if err != nil || holder == "" {
		return err
	}
	one := idSource{collection: x.collection, ranges: []model.IDRange{{Low: holder, High: holder + "\x00"}}}
	return one.walk(s, after, documents, fn)
}

// indexSource walks over entries of a declared index.
type indexSource struct {
	id       int64
	index    *model.Index
	ranges   keyRanges
	overflow int64 // documents with more elements than the index takes
	merged   bool  // the streams are one order: by their keys without what they skip
	skip     int   // leading components that do not enter into the order
	backward bool
	once     bool // a document may have several entries in the streams, and is looked at by the first
}

// overflowRange are the entries with the empty key.
var overflowRange = stream{low: []byte{}, high: leastKey}

// walkOf asks for the entries of a stream.
func (x *indexSource) walkOf(r stream) model.Walk {
	return model.Walk{Index: x.id, Low: r.low, High: r.high, Backward: x.backward, Inverted: x.index.Descends()}
}

func (x *indexSource) count(s Snapshot, limit int64) (n int64, err error) {
	for _, r := range x.streams() {
		w := x.walkOf(r)
		w.Limit = int(limit - n)
		some, err := s.CountEntries(w, false)
		if n += some; err != nil || n >= limit {
			return n, err
		}
	}
	return n, nil
}

// streams returns the streams in the order of the walk, with the overflow's.
func (x *indexSource) streams() []stream {
	if x.overflow > 0 { // such an index is never walked backward
		return slices.Concat([]stream{overflowRange}, x.keyStreams())
	}
	return x.keyStreams()
}

// keyStreams returns the streams in the order of the walk.
func (x *indexSource) keyStreams() []stream {
	if !x.backward {
		return x.ranges.streams
	}
	all := slices.Clone(x.ranges.streams)
	slices.Reverse(all)
	return all
}

func (x *indexSource) walk(s Snapshot, after *place, documents bool, fn func(it item) (bool, error)) error {
	if x.merged && len(x.ranges.streams) > 1 {
		return x.merge(s, after, fn)
	}
	skip := 0
	if x.merged && len(x.ranges.streams) == 1 {
		skip = x.ranges.streams[0].skip
	}
	for _, r := range x.streams() {
		w := x.walkOf(r)
		if after != nil && !x.begin(&w, r.low[:skip], after) {
			continue
		}
		on := true
		err := s.EachEntry(w, documents, func(e model.Entry) (bool, error) {
			var err error
			on, err = fn(x.item(e, e.Key[min(skip, len(e.Key)):]))
			return on, err
		})
		if err != nil || !on {
			return err
		}
	}
	return nil
}

// item returns the item of an entry.
func (x *indexSource) item(e model.Entry, key []byte) item {
	it := item{full: e.Key, key: key, tie: e.Tie, document: e.Document, whole: len(e.Key) == 0, number: e.Tie}
	if x.index.Descends() {
		it.number = ^e.Tie
	}
	return it
}
