// Package model_test proves what a model promises: relations, derived values, guards, deletes, and one model after another.
package model_test

import (
	"os"
	"testing"

	"github.com/fanfold/fanfold/tests/harness"
)

// TestMain runs the tests.
func TestMain(m *testing.M) { os.Exit(harness.Main(m)) }
