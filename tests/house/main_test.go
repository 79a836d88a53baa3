// Package house_test holds the rules of the code itself: which package imports which, sizes, purity, and names in documents.
package house_test

import (
	"os"
	"testing"

	"github.com/fanfold/fanfold/tests/suite"
)

// TestMain runs the tests.
func TestMain(m *testing.M) { os.Exit(suite.Main(m)) }
