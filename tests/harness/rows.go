package harness

import (
	"crypto/sha256"
	"database/sql/driver"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"net/url"
	"strings"

	"github.com/mattn/go-sqlite3"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/sqlite"
)

// hashRows hashes every value of every row.
func hashRows(h hash.Hash, table string, rows driver.Rows) error {
	begun := table != "sequence" // digests of logs from before there were any have no such table
	if begun {
		fmt.Fprintln(h, table)
	}
	columns := rows.Columns()
	dest := make([]driver.Value, len(columns))
	for {
		if err := rows.Next(dest); err != nil {
			if errors.Is(err, io.EOF) {
				return rows.Close()
			}
			return errors.Join(err, rows.Close())
		}
		if !begun {
			fmt.Fprintln(h, table)
			begun = true
		}
		for i, v := range dest {
			if v == nil && strings.HasSuffix(columns[i], "ed_by") { // nor had documents actors
				continue
			}
			fmt.Fprintf(h, "%T %v\x00", v, v)
		}
		fmt.Fprintln(h)
	}
}

// ToldDigest is Digest of what the rows tell, however they are stored: equal for read models of programs that store the same otherwise.
func (s *Store) ToldDigest() string {
	s.tb.Helper()
	s.CatchUp()
	sum, err := ToldDigest(s.Node.Store)
	if err != nil {
		s.tb.Fatalf("digest: %v", err)
	}
	return sum
}

// ToldDigest is Store.ToldDigest of a read model that nobody writes to.
func ToldDigest(store *sqlite.Store) (sum string, err error) {
	var path string
	if err := store.Use(func(db *sqlite.DB) error { path = db.Path(); return nil }); err != nil {
		return "", err
	}
	c, err := (&sqlite3.SQLiteDriver{}).Open("file:" + url.PathEscape(path) + "?mode=ro")
	if err != nil {
		return "", err
	}
	h := sha256.New()
	err = store.Read(func(snap *sqlite.Snapshot) error {
		for _, t := range tables {
			if err := hashTold(h, c.(*sqlite3.SQLiteConn), snap, t.name, t.order); err != nil {
				return fmt.Errorf("%s: %w", t.name, err)
			}
		}
		return nil
	})
	return hex.EncodeToString(h.Sum(nil)), errors.Join(err, c.Close())
}

// hashTold hashes what the rows of a table tell.
func hashTold(h hash.Hash, c *sqlite3.SQLiteConn, snap *sqlite.Snapshot, table, order string) error {
	query := "SELECT * FROM " + table + " ORDER BY " + order
	switch table {
	case "checkpoint": // but for the program that made it
		query = "SELECT seq, position, time, changes, event, digest, erasure FROM checkpoint"
	case "form": // changes tell it
		return nil
	case "name": // other tables tell it
		return nil
	case "link", "past_link", "paged", "horizon_paged", "entry", "total", "kept":
		column, _, _ := strings.Cut(order, ",")
		query = "SELECT (SELECT text FROM name WHERE id = " + column + ") AS named, * FROM " + table + " ORDER BY " + strings.Replace(order, column, "named", 1)
	case "change":
		query = "SELECT c.*, f.rules, f.patch FROM change c LEFT JOIN form f ON f.id = c.form ORDER BY c.position"
	}
	rows, err := c.Query(query, nil) //nolint:staticcheck // the plain driver, without a pool
	if err != nil {
		return err
	}
	fmt.Fprintln(h, table)
	columns := rows.Columns()
	dest := make([]driver.Value, len(columns))
	for err == nil {
		if err = rows.Next(dest); err == nil {
			err = hashToldRow(h, snap, columns, dest)
		}
	}
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return errors.Join(err, rows.Close())
}

// hashToldRow hashes what a row tells.
func hashToldRow(h hash.Hash, snap *sqlite.Snapshot, columns []string, values []driver.Value) error {
	row := map[string]driver.Value{}
	for i, name := range columns {
		row[name] = values[i]
	}
	if row["delta"] != nil {
		ch, err := snap.Change(fanfold.Position(row["position"].(int64)))
		if err != nil {
			return err
		}
		row["delta"], row["patch"], row["ordinal"], row["revision"] = string(ch.Delta), nil, ch.Ordinal, int64(ch.Revision)
		row["previous"], row["previous_source"] = nil, nil // of a key frame, which tells nothing more
	}
	for _, name := range columns {
		v := row[name]
		switch {
		case name == "form", name == "named":
			continue
		case row["named"] != nil && (name == "relation" || name == "rule"):
			v = row["named"]
		case name == "source" && row["body"] != nil:
			v = string(sqlite.BaseBody(row["body"], v))
		case name == "previous_source" && row["previous"] != nil:
			v = string(sqlite.BaseBody(row["previous"], v))
		}
		fmt.Fprintf(h, "%s %T %v\x00", name, v, v)
	}
	fmt.Fprintln(h)
	return nil
}
