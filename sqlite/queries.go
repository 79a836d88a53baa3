package sqlite

import (
	"bytes"
	"math"
	"sync"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/model"
	"github.com/fanfold/fanfold/sqlite/driver"
)

// EachIndex calls fn with the indexes of a collection, by name, until fn returns an error.
func (s *Snapshot) EachIndex(collection string, fn func(model.StoredIndex) error) error {
	all, err := s.indexes.of(s, collection)
	for i := 0; err == nil && i < len(all); i++ {
		err = fn(all[i])
	}
	return err
}

// indexCache keeps the indexes of one model in a file. They stay the same while the model does.
type indexCache struct {
	mu    sync.Mutex
	model uint64 // its sequence
	known map[string][]model.StoredIndex
}

// of returns the indexes of a collection that a snapshot shows. It reads them where they are not known; a nil cache knows none.
func (x *indexCache) of(s *Snapshot, collection string) (list []model.StoredIndex, err error) {
	if x != nil {
		x.mu.Lock()
		defer x.mu.Unlock()
		if x.known == nil || x.model < s.model {
			x.model, x.known = s.model, map[string][]model.StoredIndex{}
		}
		if list, known := x.known[collection]; known && x.model == s.model {
			return list, nil
		}
	}
	all, err := s.Indexes(collection)
	if err != nil {
		return nil, err
	}
	for _, i := range all {
		list = append(list, model.StoredIndex{ID: i.ID, Collection: i.Collection, Name: i.Name, Components: i.Components})
	}
	if x != nil && x.model == s.model && len(list) > 0 { // whoever asks for what is not there fills no memory
		x.known[collection] = list
	}
	return list, nil
}

// CountIndex returns how many entries an index has, as the fold has counted them.
func (s *Snapshot) CountIndex(id int64) (n int64, err error) {
	_, err = s.c.QueryRow("SELECT entries FROM declared_index WHERE id = ?", func(r driver.Row) { n = r.Int(0) }, id)
	return n, err
}

// ModelSeq returns the sequence of the event that applied the model in force, 0 for none.
func (s *Snapshot) ModelSeq() (seq uint64, err error) {
	if s.indexes != nil {
		return s.model, nil
	}
	_, err = s.c.QueryRow("SELECT seq FROM model ORDER BY seq DESC LIMIT 1", func(r driver.Row) { seq = uint64(r.Int(0)) })
	return seq, err
}

// entryRange returns the condition of a walk's entries, in a form with each end there is, and its arguments.
func entryRange(w model.Walk) (condition string, args []driver.Value) {
	condition, args = " WHERE e.idx = ?", []driver.Value{w.Index}
	low, high := w.Low, w.High
	if w.After != nil { // of two bounds on one side SQLite looks for one alone
		place := []driver.Value{blob(w.After.Key), w.After.Tie}
		if w.Backward {
			high = nil
			condition += " AND (e.key, e.tie) < (?, ?)"
		} else {
			low = nil
			condition += " AND (e.key, e.tie) > (?, ?)"
		}
		args = append(args, place...)
	}
	if low != nil {
		condition += " AND e.key >= ?"
		args = append(args, blob(low))
	}
	if high != nil {
		condition += " AND e.key < ?"
		args = append(args, blob(high))
	}
	return condition, args
}

// blob returns bytes as an argument: none are an empty blob.
func blob(b []byte) driver.Value {
	if b == nil {
		return []byte{}
	}
	return b
}

// entryOrder returns the order of a walk and its bound, and the argument of this one.
func entryOrder(w model.Walk) (order string, limit driver.Value) {
	limit = int64(math.MaxInt64)
	if w.Limit > 0 {
		limit = int64(w.Limit)
	}
	if w.Backward {
		return " ORDER BY e.key DESC, e.tie DESC LIMIT ? + 0", limit
	}
	return " ORDER BY e.key, e.tie LIMIT ? + 0", limit
}

// CountEntries counts the entries of a walk, up to its limit where that is not 0. With distinct it counts documents.
func (s *Snapshot) CountEntries(w model.Walk, distinct bool) (n int64, err error) {
	condition, args := entryRange(w)
	_, limit := entryOrder(w)
	what := "1"
	if distinct {
		what = "DISTINCT e.tie"
	}
	query := "SELECT count(*) FROM (SELECT " + what + " FROM index_entry e" + condition + " LIMIT ? + 0)"
	if args = append(args, limit); w.Limit == 0 && !distinct { // twice as fast
		query, args = "SELECT count(*) FROM index_entry e"+condition, args[:len(args)-1]
	}
	_, err = s.c.QueryRow(query, func(r driver.Row) { n = r.Int(0) }, args...)
	s.c.Rows += int(n)
	return n, err
}

// EachEntry calls fn with the entries of a walk in order, until fn returns false or an error. With documents it reads each
// entry's document too, in the embedded view. fn may read, and keep the entry.
func (s *Snapshot) EachEntry(w model.Walk, documents bool, fn func(e model.Entry) (bool, error)) error {
	condition, args := entryRange(w)
	order, limit := entryOrder(w)
	query := "SELECT e.key, e.tie FROM index_entry e"
	if documents {
		number := "e.tie"
		if w.Inverted {
			number = "~e.tie"
		}
		query = selectView(fanfold.Embedded) + ", e.key, e.tie FROM index_entry e CROSS JOIN document d ON d.number = " + number
	}
	return s.c.Query(query+condition+order, func(r driver.Row) error {
		var e model.Entry
		if documents {
			e = model.Entry{Key: r.Blob(9), Tie: r.Int(10), Document: scanDocument(r)}
		} else {
			e = model.Entry{Key: r.Blob(0), Tie: r.Int(1)}
		}
		return goOn(fn(e))
	}, append(args, limit)...)
}

// goOn returns what ends a query where fn did not return true.
func goOn(more bool, err error) error {
	if err == nil && !more {
		return driver.ErrStop
	}
	return err
}

// EachKey calls fn with the different keys of a walk in order, until fn returns false or an error. entries is how many each
// has, number the least one of their documents. fn may read, and keep the key. The walk has neither a limit nor a place after which
// it begins.
func (s *Snapshot) EachKey(w model.Walk, fn func(key []byte, entries, number int64) (bool, error)) error {
	on, err := s.eachLongKey(&w, fn)
	if err != nil || !on {
		return err
	}
	condition, args := entryRange(w)
	order := " GROUP BY e.key ORDER BY e.key"
	if w.Backward {
		order += " DESC"
	}
	return s.c.Query("SELECT e.key, count(*), "+leastNumber(w)+" FROM index_entry e"+condition+order, func(r driver.Row) error {
		s.c.Rows += int(r.Int(1)) - 1
		return goOn(fn(r.Blob(0), r.Int(1), r.Int(2)))
	}, args...)
}

// leastNumber returns the term for the least number of a key's documents.
func leastNumber(w model.Walk) string {
	if w.Inverted {
		return "~max(e.tie)"
	}
	return "min(e.tie)"
}

// longKey is a number of entries of one key. SQLite counts so many one by one at the same cost as by a walk that compares each key
// with the one before it. Beyond that a key by itself costs half.
const longKey = 64

// eachLongKey does what EachKey does, a key at a time, while keys have many entries. It has the walk begin after them, and returns false
// where nothing more is to come.
func (s *Snapshot) eachLongKey(w *model.Walk, fn func(key []byte, entries, number int64) (bool, error)) (on bool, err error) {
	for spare := int64(8); spare > 0; {
		var first *model.Entry
		if err := s.EachEntry(*w, false, func(e model.Entry) (bool, error) {
			first = &e
			return false, nil
		}); err != nil || first == nil {
			return false, err
		}
		entries, number, err := s.countKey(*w, *first)
		if err != nil {
			return false, err
		}
		if on, err := fn(first.Key, entries, number); err != nil || !on {
			return false, err
		}
		if w.Backward {
			w.High = first.Key
		} else {
			w.Low = append(bytes.Clone(first.Key), 0)
		}
		spare = min(spare+entries/longKey, 1000) - 1
	}
	return true, nil
}

// countKey returns how many entries the key of a walk's first one has, and the least number of their documents.
func (s *Snapshot) countKey(w model.Walk, first model.Entry) (entries, number int64, err error) {
	one := " FROM index_entry e WHERE e.idx = ? AND e.key = ?"
	if _, err := s.c.QueryRow("SELECT count(*)"+one, func(r driver.Row) { entries = r.Int(0) }, w.Index, first.Key); err != nil {
		return 0, 0, err
	}
	s.c.Rows += int(entries) - 1
	if number = w.Number(first.Tie); w.Backward != w.Inverted {
		_, err = s.c.QueryRow("SELECT "+leastNumber(w)+one, func(r driver.Row) { number = r.Int(0) }, w.Index, first.Key)
	}
	return entries, number, err
}

// ByNumber returns the document with a number, nil where there is none.
func (s *Snapshot) ByNumber(number int64, view fanfold.View) (doc *fanfold.Document, err error) {
	_, err = s.c.QueryRow(selectView(view)+fromDocument+"WHERE d.number = ?", func(r driver.Row) { doc = scanDocument(r) }, number)
	return doc, err
}

// EachByID calls fn with a collection's documents in the embedded view, in order of id, until fn returns false or an error. fn
// may read.
func (s *Snapshot) EachByID(ids model.IDRange, fn func(doc *fanfold.Document) (bool, error)) error {
	condition, args := idCondition(ids)
	return s.c.Query(selectView(fanfold.Embedded)+fromDocument+condition+" ORDER BY d.id", func(r driver.Row) error { return goOn(fn(scanDocument(r))) }, args...)
}

// idCondition returns the condition of a range of ids, in a form with each end there is, and its arguments.
func idCondition(ids model.IDRange) (condition string, args []driver.Value) {
	condition, args = "WHERE d.collection = ?", []driver.Value{ids.Collection}
	if ids.After != "" && ids.After >= ids.Low {
		condition += " AND d.id > ?"
		args = append(args, ids.After)
	} else {
		condition += " AND d.id >= ?"
		args = append(args, ids.Low)
	}
	if ids.High != "" {
		condition += " AND d.id < ?"
		args = append(args, ids.High)
	}
	return condition, args
}

// CountByID counts the documents of a range of ids, up to a limit.
func (s *Snapshot) CountByID(ids model.IDRange, limit int64) (n int64, err error) {
	condition, args := idCondition(ids)
	_, err = s.c.QueryRow("SELECT count(*) FROM (SELECT 1"+fromDocument+condition+" LIMIT ? + 0)", func(r driver.Row) { n = r.Int(0) }, append(args, limit)...)
	s.c.Rows += int(n)
	return n, err
}

// CountDocuments returns how many documents a collection holds, as the fold has counted them.
func (s *Snapshot) CountDocuments(collection string) (n int64, err error) {
	_, err = s.c.QueryRow("SELECT documents FROM collection WHERE name = ?", func(r driver.Row) { n = r.Int(0) }, collection)
	return n, err
}

// Refers tells whether the document with a number refers to target.
func (s *Snapshot) Refers(relation, target string, number int64) (bool, error) {
	return s.c.Has(hasLinkSQL, relation, target, number)
}

// CountReferring returns how many documents refer to target, up to a limit.
func (s *Snapshot) CountReferring(relation, target string, limit int64) (int64, error) {
	return s.CountHolders(relation, target, limit)
}
