package sqlite

import (
	"cmp"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/sqlite/driver"
)

// Sequences are the last numbers that documents of collections got, in a transaction.
type Sequences struct{ p *pending }

// Set records the last number that a counter gave, and the event that says so. The path is the one that the event names.
func (s *Sequences) Set(collection, path, key string, last, seq uint64) error {
	if s.p.inMemory { // nothing of a rehearsal reads numbers
		return nil
	}
	return s.p.c.Exec("INSERT INTO sequence (collection, path, key, last, seq) VALUES (?, ?, ?, ?, ?) ON CONFLICT (collection, path, key) DO UPDATE SET last = excluded.last, seq = excluded.seq "+
		"ON CONFLICT (collection, key) DO UPDATE SET path = excluded.path, last = excluded.last, seq = excluded.seq",
		collection, path, key, int64(last), int64(seq))
}

// Tell records the value that a counter is for, where the counter has given a number.
func (s *Sequences) Tell(collection, path, key, per string) error {
	if s.p.inMemory {
		return nil
	}
	return s.p.c.Exec("UPDATE sequence SET per = ? WHERE collection = ? AND path = ? AND key = ? AND per IS NULL", per, collection, path, key)
}

// sequenceReader reads the last numbers of sequences.
type sequenceReader struct{ c *driver.Conn }

// Sequence returns the last number that a counter gave, and the event that says so; both are 0 where it has given none.
func (s sequenceReader) Sequence(collection, key string) (last, seq uint64, err error) {
	_, err = s.c.QueryRow("SELECT last, seq FROM sequence WHERE collection = ? AND key = ?", func(r driver.Row) {
		last, seq = uint64(r.Int(0)), uint64(r.Int(1))
	}, collection, key)
	return last, seq, err
}

// SequencesAfter returns the counters of a collection, "" for all collections, after one in the order of collection, path and key, limit of
// them at most. more tells whether others follow.
func (s sequenceReader) SequencesAfter(collection string, after fanfold.Counter, limit int) (list []fanfold.Counter, more bool, err error) {
	err = s.c.Query("SELECT collection, path, key, last, per FROM sequence WHERE (collection, path, key) > (?, ?, ?) ORDER BY collection, path, key LIMIT ? + 0",
		func(r driver.Row) error {
			if collection != "" && r.Text(0) != collection {
				return driver.ErrStop
			}
			if len(list) == limit {
				more = true
				return driver.ErrStop
			}
			one := fanfold.Counter{Collection: r.Text(0), Path: r.Text(1), Key: r.Text(2), Last: uint64(r.Int(3))}
			if r[4] != nil {
				per := r.Text(4)
				one.Per = &per
			}
			list = append(list, one)
			return nil
		}, cmp.Or(after.Collection, collection), after.Path, after.Key, int64(limit)+1)
	return list, more, err
}
