package sqlite

import (
	"context"
	"sync"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/sqlite/driver"
)

// differentSQL reads the keys of documents of main that are not there in other, or have other views there.
const differentSQL = `SELECT m.collection, m.id FROM main.document m LEFT JOIN other.document o ON o.number = m.number
	WHERE o.number IS NULL OR m.body IS NOT o.body OR m.source IS NOT o.source OR m.omitted IS NOT o.omitted ORDER BY m.number`

// onlyInOtherSQL reads the keys of documents of other alone.
const onlyInOtherSQL = "SELECT o.collection, o.id FROM other.document o WHERE NOT EXISTS (SELECT 1 FROM main.document m WHERE m.number = o.number) ORDER BY o.number"

// unchangedInOtherSQL finds the documents for which the generation lacks a change. Whoever reads on from an earlier position misses it.
const unchangedInOtherSQL = `SELECT DISTINCT d.collection, d.id FROM main.change o JOIN main.document d ON d.number = o.number
	WHERE o.position >> 20 > coalesce((SELECT base FROM other.horizon WHERE id = 1), 0)
	AND NOT EXISTS (SELECT 1 FROM other.change n WHERE n.position = o.position AND n.number = o.number)`

// DifferentDocuments calls fn with the key of each document that only one of the two read models has, or that has other views in each. It also calls fn with each document
// for which the generation lacks a change, with some more than once. Nobody writes to the generation meanwhile, which Build made. It blocks until all are compared or ctx
// has ended. It returns the errors of ctx, fn and reading.
func (f *Frozen) DifferentDocuments(ctx context.Context, db *DB, fn func(key fanfold.Key) error) error {
	var mu sync.Mutex // for fn
	part := func(query string) func(c *driver.Conn) error {
		return func(c *driver.Conn) error {
			return c.Query(query, func(r driver.Row) error {
				mu.Lock()
				defer mu.Unlock()
				return fn(fanfold.Key{Collection: r.Text(0), ID: r.Text(1)})
			})
		}
	}
	return f.inParts(ctx, db, part(differentSQL), part(onlyInOtherSQL), part(unchangedInOtherSQL))
}
