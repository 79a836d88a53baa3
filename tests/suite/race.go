//go:build race

package suite

// RaceDetector tells whether the tests run under the race detector.
const RaceDetector = true
