// Package history_test compares random histories with an oracle that shares no code with the product, and checks that concurrent ones are linearizable.
package history_test

import (
	"os"
	"testing"

	"github.com/fanfold/fanfold/tests/harness"
)

// TestMain runs the tests.
func TestMain(m *testing.M) { os.Exit(harness.Main(m)) }
