// Package feed_test proves what the change feed promises, in every transport, and consumer groups.
package feed_test

import (
	"os"
	"testing"

	"github.com/fanfold/fanfold/tests/consumer"
	"github.com/fanfold/fanfold/tests/harness"
	"github.com/fanfold/fanfold/tests/suite"
)

// TestMain runs the tests, or a member of a consumer group.
func TestMain(m *testing.M) {
	os.Exit(harness.Main(m, suite.Program{Env: consumer.Env, Run: consumer.Run}))
}
