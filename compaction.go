package fanfold

import "time"

// Horizon is the place in the log at which a store begins. Of what was up to it, the outcome alone is kept. The zero value stands for a
// store that has all its events.
type Horizon struct {
	Seq      uint64    // the last event that goes; 0 for none
	Event    Digest    // of that event
	Digest   Digest    // of all events up to it
	Position Position  // of the last change up to it
	Changes  int64     // how many changes there were up to it
	Time     time.Time // the latest time of an event up to it
}

// At returns the oldest position that can be read. It is the position of the last change up to the horizon, or of the last event
// if it came later and changed nothing.
func (h Horizon) At() Position { return max(h.Position, At(h.Seq, 0)) }

// Compaction says with what a store begins at a horizon.
type Compaction struct {
	Horizon
	Base BaseFile
	AsOf AsOf // what the base knows
}

// BaseFile names the file that holds the state at a horizon.
type BaseFile struct {
	Name  string // of the object in the object store
	Bytes int64
	Sum   Digest // SHA-256 of its bytes
}
