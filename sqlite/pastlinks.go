package sqlite

import (
	"errors"

	"github.com/fanfold/fanfold/sqlite/driver"
)

// EndAll ends every link of a relation, and removes its pages.
func (ls *Links) EndAll(relation string) error {
	if err := ls.p.c.Exec("INSERT OR IGNORE INTO past_link (relation, target, until, holder, ordinal, since) SELECT relation, target, ?2, holder, ordinal, coalesce(since, holder) FROM link WHERE relation = (SELECT id FROM name WHERE text = ?1)",
		relation, ls.event); err != nil {
		return err
	}
	return errors.Join(ls.noteRelinked(relation), ls.DropAll(relation))
}

// DropAll removes every link and every page of a relation, as if they had not been. It is for a copy that a model is prepared on: see
// TakeOver.
func (ls *Links) DropAll(relation string) error {
	if err := ls.p.c.Exec("DELETE FROM paged WHERE relation = (SELECT id FROM name WHERE text = ?)", relation); err != nil {
		return err
	}
	return ls.p.c.Exec("DELETE FROM link WHERE relation = (SELECT id FROM name WHERE text = ?)", relation)
}

// noteRelinked notes that all links of a relation ended at the event.
func (ls *Links) noteRelinked(relation string) error {
	return ls.p.c.Exec("INSERT OR IGNORE INTO relinked (relation, seq) VALUES (?, ?)", relation, ls.event)
}

// takeOverRows is how many links are taken over at a time.
const takeOverRows = 4096

// TakeOver makes the links of a relation those that a model's event leaves, which is at seq. The copy was made at the event copied, dropped
// the links, and has followed the log under the model since. So the links from before come from the read model. They end at the event, and those
// that the copy has begin there.
func (ls *Links) TakeOver(from *Snapshot, relation string, copied, seq uint64) error {
	ls.SetEvent(seq)
	if err := ls.takeOverEnded(from, relation, copied); err != nil {
		return err
	}
	if err := ls.insertEndedOf(from, relation, "SELECT target, ?, holder, ordinal, coalesce(since, holder) FROM link WHERE relation = (SELECT id FROM name WHERE text = ?) ORDER BY target, holder", ls.event, relation); err != nil {
		return err
	}
	return errors.Join(ls.noteRelinked(relation), ls.p.c.Exec("UPDATE link SET since = ? WHERE relation = (SELECT id FROM name WHERE text = ?)", ls.event, relation))
}

// Merge does what TakeOver does for a relation whose links stay, but for those that the model changes: they end or begin at its event.
// None of them has a place in pages.
func (ls *Links) Merge(from *Snapshot, relation string, copied, seq uint64) error {
	ls.SetEvent(seq)
	if err := ls.takeOverEnded(from, relation, copied); err != nil {
		return err
	}
	if err := ls.p.c.Exec("CREATE TEMP TABLE IF NOT EXISTS former_link (target TEXT, holder INTEGER, ordinal INTEGER, since INTEGER, PRIMARY KEY (target, holder)) WITHOUT ROWID"); err != nil {
		return err
	}
	if err := from.c.Query("SELECT target, holder, ordinal, coalesce(since, holder) FROM link WHERE relation = (SELECT id FROM name WHERE text = ?) ORDER BY target, holder", func(r driver.Row) error {
		return ls.p.c.Exec("INSERT INTO temp.former_link (target, holder, ordinal, since) VALUES (?, ?, ?, ?)", r...)
	}, relation); err != nil {
		return err
	}
	if err := ls.p.c.Exec(`INSERT INTO past_link (relation, target, until, holder, ordinal, since) SELECT (SELECT id FROM name WHERE text = ?1), f.target, ?2, f.holder, f.ordinal, f.since FROM temp.former_link f
		WHERE NOT EXISTS (SELECT 1 FROM link l WHERE l.relation = (SELECT id FROM name WHERE text = ?1) AND l.target = f.target AND l.holder = f.holder)`, relation, ls.event); err != nil {
		return err
	}
	return errors.Join(ls.p.c.Exec(`UPDATE link SET since = nullif(coalesce((SELECT f.since FROM temp.former_link f WHERE f.target = link.target AND f.holder = link.holder), ?2), holder)
		WHERE relation = (SELECT id FROM name WHERE text = ?1)`, relation, ls.event), ls.p.c.Exec("DELETE FROM temp.former_link"))
}

// takeOverEnded takes over from the read model which links of a relation ended after the copy was made.
func (ls *Links) takeOverEnded(from *Snapshot, relation string, copied uint64) error {
	if err := ls.p.c.Exec("DELETE FROM past_link WHERE relation = (SELECT id FROM name WHERE text = ?) AND until > ?", relation, int64(copied)); err != nil {
		return err
	}
	return ls.insertEndedOf(from, relation, "SELECT target, until, holder, ordinal, since FROM past_link WHERE relation = (SELECT id FROM name WHERE text = ?) AND until > ? ORDER BY target, until, holder", relation, int64(copied))
}

// insertEndedOf adds links of a relation that ended, as a query of the read model finds them.
func (ls *Links) insertEndedOf(from *Snapshot, relation, query string, args ...driver.Value) error {
	var some []endedLink
	if err := ls.p.giveNumber(relation); err != nil {
		return err
	}
	if err := from.c.Query(query, func(r driver.Row) (err error) {
		end := linkEnd{r.Int(2), -1, r.Int(4)}
		if r[3] != nil {
			end.ordinal = r.Int(3)
		}
		some = append(some, endedLink{Link{relation, r.Text(0)}, end, r.Int(1)})
		if len(some) == takeOverRows {
			err, some = ls.p.insertEnded(some), some[:0]
		}
		return err
	}, args...); err != nil {
		return err
	}
	return ls.p.insertEnded(some)
}
