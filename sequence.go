package fanfold

// Follows tells whether an event at sequence next may come right after the one at prev in the log: 0 stands for the log's beginning.
// Nothing is erased from the log yet, so it has no gaps, and any gap is damage.
func Follows(prev, next uint64) bool { return next == prev+1 }
