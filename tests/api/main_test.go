// Package api_test proves what HTTP promises: documents, conditions, transactions, lists, imports, limits and bad requests.
package api_test

import (
	"os"
	"testing"

	"github.com/fanfold/fanfold/tests/harness"
)

// TestMain runs the tests.
func TestMain(m *testing.M) { os.Exit(harness.Main(m)) }
