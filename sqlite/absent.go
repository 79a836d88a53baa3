package sqlite

import (
	"slices"
	"strings"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/sqlite/driver"
)

// absentKeys are the keys of documents that are known not to be there.
type absentKeys map[fanfold.Key]struct{}

// absentAtOnce is how many keys one statement looks for.
const absentAtOnce = 16

// presentSQL returns which of absentAtOnce keys of a collection have a document.
var presentSQL = "SELECT id FROM document WHERE collection = ? AND id IN (?" + strings.Repeat(", ?", absentAtOnce-1) + ")"

// LookAhead finds out which of the documents are not there, so that Get need not look for each of them between two
// writes, which would have to be run before. It is for the documents that the transaction is going to write to, sorts keys, and
// does nothing for less than absentAtOnce of them. What it finds out is forgotten with the transaction.
func (tx *Tx) LookAhead(keys []fanfold.Key) error {
	if len(keys) < absentAtOnce {
		return nil
	}
	if tx.absent == nil {
		tx.absent = absentKeys{}
	}
	slices.SortFunc(keys, fanfold.Key.Compare)
	keys = slices.Compact(keys)
	for len(keys) > 0 {
		n := 1
		for n < min(len(keys), absentAtOnce) && keys[n].Collection == keys[0].Collection {
			n++
		}
		if err := tx.lookFor(keys[:n]); err != nil {
			return err
		}
		keys = keys[n:]
	}
	return nil
}

// lookFor notes which of up to absentAtOnce documents of one collection are not there.
func (tx *Tx) lookFor(keys []fanfold.Key) error {
	tx.argBuffer = append(tx.argBuffer[:0], keys[0].Collection)
	for i := range absentAtOnce {
		tx.argBuffer = append(tx.argBuffer, keys[min(i, len(keys)-1)].ID)
	}
	for _, k := range keys {
		tx.absent[k] = struct{}{}
	}
	return tx.c.Query(presentSQL, func(r driver.Row) error {
		delete(tx.absent, fanfold.Key{Collection: keys[0].Collection, ID: r.Text(0)})
		return nil
	}, tx.argBuffer...)
}
