package suite

import (
	"flag"
	"testing"
	"time"
)

// Parallel lets a test run beside others. Under -soak each has the machine for itself while its share lasts.
func Parallel(t *testing.T) {
	t.Helper()
	if *Soak == 0 {
		t.Parallel()
	}
}

// Concurrent says that a test proves something about concurrency. It is the first statement of a test. Such a test runs under
// the race detector (make race), and a test without it runs plain. Without the detector the test runs only if -run asks for it.
// A test names the packages in other folders whose goroutines it runs (tests/house/race_test.go).
func Concurrent(t *testing.T, _ ...string) {
	t.Helper()
	if run := flag.Lookup("test.run"); !RaceDetector && run.Value.String() == "" {
		t.Skip("it runs under the race detector (make race), or with -run")
	}
}

// Deadline returns how long a test waits for what must happen: three times as long under the race detector.
func Deadline(plain time.Duration) time.Duration {
	if RaceDetector {
		return 3 * plain
	}
	return plain
}

// givenFlags are the flags of the command line. Once a flag was set by SetFlag, package flag takes it for given too.
var givenFlags = map[string]bool{}

// SetFlag sets a flag, unless the command line did. The function it returns sets it back.
func SetFlag(name, value string) (back func()) {
	old := flag.Lookup(name).Value.String()
	if givenFlags[name] || flag.Set(name, value) != nil {
		return func() {}
	}
	return func() { _ = flag.Set(name, old) }
}
