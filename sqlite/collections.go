package sqlite

import (
	"maps"
	"slices"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/sqlite/driver"
)

// collectionCounts are how many documents each collection has more than the file says.
type collectionCounts map[string]int64

// write adds what the transaction has changed to the numbers of the collections' documents. A collection that it has
// entered and emptied gets a row, too, so that the rows are the same whatever events a transaction holds.
func (counts collectionCounts) write(c *driver.Conn) error {
	for _, name := range slices.Sorted(maps.Keys(counts)) {
		if err := c.Exec("INSERT INTO collection (name, documents) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET documents = documents + excluded.documents",
			name, counts[name]); err != nil {
			return err
		}
	}
	clear(counts)
	return nil
}

// declaredSQL names the collections that the model declares which applies.
const declaredSQL = "SELECT m.key AS name FROM json_each((SELECT source FROM model ORDER BY seq DESC LIMIT 1), '$.collections') m"

// HasCollection reports whether the model declares a collection, or the collection holds a document or ever held one.
func (s *Snapshot) HasCollection(name string) (bool, error) {
	return s.c.Has("SELECT 1 FROM collection WHERE name = ?1 UNION ALL SELECT 1 FROM ("+declaredSQL+") WHERE name = ?1 LIMIT 1", name)
}

// CollectionsBehind returns the collections after a name for which HasCollection is true, in order of their names, limit of
// them at most. more reports whether others follow. It reads numbers that the fold has stored, and counts no documents.
func (s *Snapshot) CollectionsBehind(after string, limit int) (list []fanfold.CollectionCount, more bool, err error) {
	err = s.c.Query(`WITH declared AS MATERIALIZED (`+declaredSQL+`)
		SELECT n.name, coalesce(c.documents, 0), n.name IN (SELECT name FROM declared)
		FROM (SELECT name FROM collection WHERE name > ?1 UNION SELECT name FROM declared WHERE name > ?1) n LEFT JOIN collection c ON c.name = n.name
		ORDER BY n.name LIMIT ?2 + 0`, func(r driver.Row) error {
		if len(list) == limit {
			more = true
			return driver.ErrStop
		}
		list = append(list, fanfold.CollectionCount{Name: r.Text(0), Documents: r.Int(1), Declared: r.Int(2) != 0})
		return nil
	}, after, int64(limit)+1)
	return list, more, err
}

// CompareCounts calls fn for every collection whose stored number of documents differs from the number it holds.
func (s *Scanner) CompareCounts(fn func(name string, stored, counted int64)) error {
	return s.c.Query(`SELECT name, sum(stored), sum(counted) FROM (
		SELECT name, documents AS stored, 0 AS counted FROM collection
		UNION ALL SELECT collection, 0, count(*) FROM document GROUP BY collection
		) GROUP BY name HAVING sum(stored) <> sum(counted) ORDER BY name`, func(r driver.Row) error {
		fn(r.Text(0), r.Int(1), r.Int(2))
		return nil
	})
}
