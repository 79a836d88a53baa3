package suite

import (
	"flag"
	"testing"
)

// Parallel lets a test run beside others. Under -soak each has the machine for itself while its share lasts.
func Parallel(t *testing.T) {
	t.Helper()
	if *Soak == 0 {
		t.Parallel()
	}
}

// PlainOnly skips a test under the race detector, which would make it slow and has nothing to see in it.
func PlainOnly(t *testing.T, why string) {
	t.Helper()
	if RaceDetector {
		t.Skipf("runs without the race detector only: %s", why)
	}
}

// Why a test is PlainOnly.
const (
	OtherProcess = "what it tests is another process"
	OneByOne     = "it does one thing after the other"
)

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
