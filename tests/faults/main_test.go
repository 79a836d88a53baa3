// Package faults_test proves what survives crashes, kills, losses of power, full disks and damaged files.
package faults_test

import (
	"os"
	"testing"

	"github.com/fanfold/fanfold/tests/harness"
	"github.com/fanfold/fanfold/tests/suite"
)

// TestMain runs the tests, or a server that notes what it syncs.
func TestMain(m *testing.M) {
	os.Exit(harness.Main(m, suite.Program{Env: powerLossEnv, Run: runNoting}))
}
