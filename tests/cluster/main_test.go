// Package cluster_test proves what several nodes and NATS servers promise: consistency, failover, upgrades and snapshots.
package cluster_test

import (
	"os"
	"testing"

	"github.com/fanfold/fanfold/tests/harness"
)

// TestMain runs the tests.
func TestMain(m *testing.M) { os.Exit(harness.Main(m)) }
