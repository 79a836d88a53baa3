// Package docs_test runs the commands of the documents and of the examples.
package docs_test

import (
	"os"
	"testing"

	"github.com/fanfold/fanfold/tests/harness"
)

// TestMain runs the tests.
func TestMain(m *testing.M) { os.Exit(harness.Main(m)) }
