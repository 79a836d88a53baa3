package sqlite

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/sqlite/driver"
)

// afterHorizon says what of two read models is compared that have the same events after a horizon.
type afterHorizon struct {
	fanfold.Horizon

	other  *driver.Conn   // to the second one
	chains [2]chainReader // of the changes of each
}

// changeTable is the table whose values are compared as they are read.
const changeTable = "change"

// limit returns the tables to be compared, with the conditions of their rows.
func (a *afterHorizon) limit(tables []comparedTable) (out []comparedTable) {
	if a == nil {
		return tables
	}
	seq, end := int64(a.Seq), int64(fanfold.At(a.Seq, fanfold.MaxChanges))
	for _, t := range tables {
		switch t.name {
		case "form", "horizon", "horizon_version", "horizon_paged":
			continue
		case changeTable:
			t.where = fmt.Sprintf("m.position > %d", end)
			t.other = slices.DeleteFunc(t.other, func(column string) bool { return column == "form" || column == "delta" })
		case "log_digest":
			t.where = fmt.Sprintf("m.seq > %d", seq)
		case "model":
			t.where = fmt.Sprintf("m.seq >= coalesce((SELECT max(seq) FROM main.model WHERE seq <= %d), 0)", seq)
		case "past_document":
			t.where = fmt.Sprintf("m.deleted > %d", end)
		case "past_link":
			t.where = fmt.Sprintf("m.until > %d", seq)
		}
		out = append(out, t)
	}
	return out
}

// shown returns the list of the key's columns as they are told, of a row in one of the two files: with the names of relations and rules.
func (t comparedTable) shown(file, of string) string {
	columns := t.columns(of)
	if !slices.Contains(numberedTables, t.name) && t.name != "past_link" && t.name != "horizon_paged" {
		return columns
	}
	first, rest, _ := strings.Cut(columns, ",")
	return "coalesce((SELECT text FROM " + file + ".name WHERE id = " + first + "), " + first + ")," + rest
}

// valuesSQL reads what compareValues compares.
const valuesSQL = "SELECT c.position, c.prior, c.op, f.rules, f.patch, c.delta FROM main.change c LEFT JOIN main.form f ON f.id = c.form WHERE "

// compareValues compares the values of changes that both have, and calls add with the keys of those that differ.
func (a *afterHorizon) compareValues(c *driver.Conn, add func(kind string, key []driver.Value)) error {
	if a == nil {
		return nil
	}
	return c.Query(valuesSQL+"c.position > ? ORDER BY c.position", func(r driver.Row) error {
		same := true // where the other one has no such change, which is told already
		var failed error
		_, err := a.other.QueryRow(valuesSQL+"c.position = ?", func(o driver.Row) { same, failed = a.sameValues(c, r, o) }, r[0])
		if err = errors.Join(err, failed); err == nil && !same {
			add(Changed, r[:1])
		}
		return err
	}, int64(fanfold.At(a.Seq, fanfold.MaxChanges)))
}

// sameValues reports whether two rows of valuesSQL have the same form and the same patch. A change that cannot be read is another one.
func (a *afterHorizon) sameValues(c *driver.Conn, r, o driver.Row) (bool, error) {
	if r.Text(3) != o.Text(3) || r.Text(4) != o.Text(4) || (r[5] == nil) != (o[5] == nil) {
		return false, nil
	}
	if r[5] == nil {
		return true, nil
	}
	patch, err := a.chains[0].patch(c, storedValues(r))
	if err != nil {
		return false, unlessDamaged(err)
	}
	other, err := a.chains[1].patch(a.other, storedValues(o))
	return err == nil && bytes.Equal(patch, other), unlessDamaged(err)
}

// storedValues returns the derived change in a row of valuesSQL.
func storedValues(r driver.Row) storedDelta {
	return storedDelta{fanfold.Position(r.Int(0)), fanfold.Position(r.Int(1)), r.Text(4), r.Blob(5)}
}

// unlessDamaged returns nil for the error of a change that cannot be read.
func unlessDamaged(err error) error {
	if fanfold.CodeOf(err) == fanfold.Internal && !driver.IsCorrupt(err) {
		return nil
	}
	return err
}
