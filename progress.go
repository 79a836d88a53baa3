package fanfold

// Progress is told, by long work, how far that is: the name of a phase, how much of it is done, and how much there is in all.
// It is called often, and must not block.
type Progress func(phase string, done, total int64)

// Tell calls p, unless that is nil.
func (p Progress) Tell(phase string, done, total int64) {
	if p != nil {
		p(phase, done, total)
	}
}
