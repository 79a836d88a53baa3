package sqlite

import (
	"slices"
	"strings"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/sqlite/driver"
)

// missingKeys are the keys of documents that are known not to be there.
type missingKeys map[fanfold.Key]struct{}

// keysPerLookup is how many keys one statement looks for.
const keysPerLookup = 16

// existingKeysSQL returns which of keysPerLookup keys of a collection have a document.
var existingKeysSQL = "SELECT id FROM document WHERE collection = ? AND id IN (?" + strings.Repeat(", ?", keysPerLookup-1) + ")"

// FindMissing finds out which of the documents are not there, so that Get need not look for each of them between two
// writes, which would have to be run before. It is for the documents that the transaction is going to write to, sorts keys, and
// does nothing for less than keysPerLookup of them. What it finds out is forgotten with the transaction.
func (tx *Tx) FindMissing(keys []fanfold.Key) error {
	if len(keys) < keysPerLookup {
		return nil
	}
	if tx.missing == nil {
		tx.missing = missingKeys{}
	}
	slices.SortFunc(keys, fanfold.Key.Compare)
	keys = slices.Compact(keys)
	for len(keys) > 0 {
		n := 1
		for n < min(len(keys), keysPerLookup) && keys[n].Collection == keys[0].Collection {
			n++
		}
		if err := tx.noteMissing(keys[:n]); err != nil {
			return err
		}
		keys = keys[n:]
	}
	return nil
}

// noteMissing notes which of up to keysPerLookup documents of one collection are not there.
func (tx *Tx) noteMissing(keys []fanfold.Key) error {
	tx.argBuffer = append(tx.argBuffer[:0], keys[0].Collection)
	for i := range keysPerLookup {
		tx.argBuffer = append(tx.argBuffer, keys[min(i, len(keys)-1)].ID)
	}
	for _, k := range keys {
		tx.missing[k] = struct{}{}
	}
	return tx.c.Query(existingKeysSQL, func(r driver.Row) error {
		delete(tx.missing, fanfold.Key{Collection: keys[0].Collection, ID: r.Text(0)})
		return nil
	}, tx.argBuffer...)
}
