package sqlite

import (
	"github.com/fanfold/fanfold/sqlite/driver"
)

// Lane is a way to read a store that has a connection and turns of its own. A read by it waits for others of the lane alone, and no
// other read waits for it.
type Lane struct {
	store *Store
	turn  chan struct{} // has an element while somebody reads
}

// Lanes are the lanes of a store, one for each kind of work that may take much longer than a lookup.
type Lanes struct {
	CatchUp Lane // pages of feeds whose consumers are far from the head
	Head    Lane // and of those near it
	Past    Lane // differences, exports and histories
}

// newLanes returns the lanes of a store.
func newLanes(s *Store) Lanes {
	lane := func() Lane { return Lane{s, make(chan struct{}, 1)} }
	return Lanes{CatchUp: lane(), Head: lane(), Past: lane()}
}

// Read runs fn on one snapshot, as Store.Read does. It blocks until it is this read's turn, and holds no generation while it waits.
func (l Lane) Read(fn func(snap *Snapshot) error) error {
	l.turn <- struct{}{}
	defer func() { <-l.turn }()
	return l.store.Use(func(db *DB) error {
		return db.file.WithLane(func(c *driver.Conn) error { return readSnapshot(c, &db.indexes, fn) })
	})
}
