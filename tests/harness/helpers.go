package harness

import "github.com/fanfold/fanfold/tests/suite"

// FewerRaced returns how often a test repeats what it does, and how often under the race detector: this sees in a few rounds
// what it sees in many, and takes several times as long for each.
func FewerRaced(plain, raced int) int {
	if suite.RaceDetector {
		return raced
	}
	return plain
}
