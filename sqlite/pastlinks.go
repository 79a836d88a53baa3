package sqlite

import (
	"errors"

	"github.com/fanfold/fanfold/sqlite/driver"
)

// RemoveLinks ends every link of a relation, and removes its pages.
func (tx *Tx) RemoveLinks(relation string) error {
	if err := tx.c.Exec("INSERT OR IGNORE INTO past_link (relation, target, until, holder, ordinal, since) SELECT relation, target, ?2, holder, ordinal, coalesce(since, holder) FROM link WHERE relation = ?1",
		relation, tx.event); err != nil {
		return err
	}
	return errors.Join(tx.noteRelinked(relation), tx.DropLinks(relation))
}

// DropLinks removes every link and every page of a relation, as if they had not been. It is for a copy that a model is prepared on: see
// TakeOverLinks.
func (tx *Tx) DropLinks(relation string) error {
	if err := tx.c.Exec("DELETE FROM paged WHERE relation = ?", relation); err != nil {
		return err
	}
	return tx.c.Exec("DELETE FROM link WHERE relation = ?", relation)
}

// noteRelinked notes that all links of a relation ended at the event.
func (tx *Tx) noteRelinked(relation string) error {
	return tx.c.Exec("INSERT OR IGNORE INTO relinked (relation, seq) VALUES (?, ?)", relation, tx.event)
}

// takeOverRows is how many links are taken over at a time.
const takeOverRows = 4096

// TakeOverLinks makes the links of a relation those that a model's event leaves, which is at seq. The copy was made at the event copied, dropped
// the links, and has followed the log under the model since. So those of the time before come from the read model. They end at the event, and
// those that the copy has begin there.
func (tx *Tx) TakeOverLinks(from *Snapshot, relation string, copied, seq uint64) error {
	tx.SetEvent(seq)
	if err := tx.c.Exec("DELETE FROM past_link WHERE relation = ? AND until > ?", relation, int64(copied)); err != nil {
		return err
	}
	var some []endedLink
	add := func(r driver.Row) (err error) {
		end := linkEnd{r.Int(2), -1, r.Int(4)}
		if r[3] != nil {
			end.ordinal = r.Int(3)
		}
		some = append(some, endedLink{Link{relation, r.Text(0)}, end, r.Int(1)})
		if len(some) == takeOverRows {
			err, some = tx.pending.insertEnded(some), some[:0]
		}
		return err
	}
	if err := from.c.Query("SELECT target, until, holder, ordinal, since FROM past_link WHERE relation = ? AND until > ? ORDER BY target, until, holder", add, relation, int64(copied)); err != nil {
		return err
	}
	if err := from.c.Query("SELECT target, ?, holder, ordinal, coalesce(since, holder) FROM link WHERE relation = ? ORDER BY target, holder", add, tx.event, relation); err != nil {
		return err
	}
	if err := errors.Join(tx.pending.insertEnded(some), tx.noteRelinked(relation)); err != nil {
		return err
	}
	return tx.c.Exec("UPDATE link SET since = ? WHERE relation = ?", tx.event, relation)
}
