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

// maxMissing bounds how many documents are known not to be there.
const maxMissing = 1 << 16

// noteAbsent notes that a document is not there.
func (d *Documents) noteAbsent(key fanfold.Key) {
	if len(d.missing) >= maxMissing && !d.p.inMemory {
		clear(d.missing)
		d.cache.unsettled = true // some may have been deleted by this transaction
	}
	d.missing[key] = struct{}{}
}

// FindMissing finds out which of the documents are not there, several at a time. It is for the documents that the transaction is
// going to write to, sorts keys, and does nothing for less than keysPerLookup of them.
func (d *Documents) FindMissing(keys []fanfold.Key) error {
	if len(keys) < keysPerLookup {
		return nil
	}
	keys = slices.DeleteFunc(keys, func(k fanfold.Key) bool {
		_, absent := d.missing[k]
		return absent || d.cache.byKey(k) != nil
	})
	if err := d.settle(); err != nil {
		return err
	}
	slices.SortFunc(keys, fanfold.Key.Compare)
	keys = slices.Compact(keys)
	for len(keys) > 0 {
		n := 1
		for n < min(len(keys), keysPerLookup) && keys[n].Collection == keys[0].Collection {
			n++
		}
		if err := d.noteMissing(keys[:n]); err != nil {
			return err
		}
		keys = keys[n:]
	}
	return nil
}

// IsMissing reports whether a document is known not to be there.
func (d *Documents) IsMissing(key fanfold.Key) bool {
	_, absent := d.missing[key]
	return absent
}

// noteMissing notes which of up to keysPerLookup documents of one collection are not there.
func (d *Documents) noteMissing(keys []fanfold.Key) error {
	d.argBuffer = append(d.argBuffer[:0], keys[0].Collection)
	for i := range keysPerLookup {
		d.argBuffer = append(d.argBuffer, keys[min(i, len(keys)-1)].ID)
	}
	there := map[string]bool{}
	err := d.p.c.QueryAhead(existingKeysSQL, func(r driver.Row) error {
		there[r.Text(0)] = true
		return nil
	}, d.argBuffer...)
	for _, k := range keys {
		if err == nil && !there[k.ID] {
			d.noteAbsent(k)
		}
	}
	return err
}
