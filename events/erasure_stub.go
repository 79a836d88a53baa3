package events

// Erasures returns the last erase event, and the last one that is in force.
func (l *Log) Erasures() (last, inForce uint64) { return 0, 0 }
