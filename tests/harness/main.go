package harness

import (
	"os"
	"testing"

	"github.com/fanfold/fanfold/tests/natsserver"
	"github.com/fanfold/fanfold/tests/suite"
)

// Main is suite.Main for a package that runs nodes. Its test binary can also be a NATS server, and a reader of SQLite's files.
// Main returns the exit code.
func Main(m *testing.M, programs ...suite.Program) int {
	programs = append(programs,
		suite.Program{Env: natsserver.ProcessEnv, Run: natsserver.RunProcess},
		suite.Program{Env: readerEnv, Run: func(statement string) int { return runStatement(statement, os.Args[1]) }})
	code := suite.Main(m, programs...)
	if programDir != "" {
		_ = os.RemoveAll(programDir)
	}
	return code
}
