// Package restore_test proves what a store is that was restored from a backup.
package restore_test

import (
	"os"
	"testing"

	"github.com/fanfold/fanfold/tests/harness"
)

func TestMain(m *testing.M) { os.Exit(harness.Main(m)) }
