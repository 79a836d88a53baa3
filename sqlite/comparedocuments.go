package sqlite

import (
	"context"
	"errors"
	"net/url"
	"sync"

	"golang.org/x/sync/errgroup"

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
	both, ctx := errgroup.WithContext(ctx)
	for _, queries := range [][]string{{differentSQL}, {onlyInOtherSQL, unchangedInOtherSQL}} {
		both.Go(func() error {
			return f.queryWith(ctx, db, queries, func(r driver.Row) error {
				mu.Lock()
				defer mu.Unlock()
				return fn(fanfold.Key{Collection: r.Text(0), ID: r.Text(1)})
			})
		})
	}
	return both.Wait()
}

// queryWith calls fn with the rows of queries of the copy and a generation.
func (f *Frozen) queryWith(ctx context.Context, db *DB, queries []string, fn func(r driver.Row) error) error {
	c, err := f.openWith(db)
	if err != nil {
		return err
	}
	restore := c.EndWith(ctx)
	for _, query := range queries {
		if err == nil {
			err = c.Query(query, fn)
		}
	}
	restore()
	return errors.Join(err, c.Close())
}

// openWith opens the copy, called main, with a generation, called other.
func (f *Frozen) openWith(db *DB) (*driver.Conn, error) {
	c, err := openToCompare(f.path)
	if err != nil {
		return nil, err
	}
	if err := c.Exec("ATTACH ? AS other", "file:"+url.PathEscape(db.Path())+"?mode=ro"); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}
