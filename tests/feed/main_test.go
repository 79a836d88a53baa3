// Package feed_test proves what the change feed promises, in every transport.
package feed_test

import (
	"os"
	"testing"

	"github.com/fanfold/fanfold/tests/harness"
)

// TestMain runs the tests.
func TestMain(m *testing.M) { os.Exit(harness.Main(m)) }
