// Package erasure_test proves that what is erased is gone, and nothing else.
package erasure_test

import (
	"os"
	"testing"

	"github.com/fanfold/fanfold/tests/harness"
)

func TestMain(m *testing.M) { os.Exit(harness.Main(m)) }
