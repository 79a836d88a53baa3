// Package access_test proves who is let in: keys, roles, closed houses and many nodes.
package access_test

import (
	"os"
	"testing"

	"github.com/fanfold/fanfold/tests/harness"
)

// TestMain runs the tests.
func TestMain(m *testing.M) { os.Exit(harness.Main(m)) }
