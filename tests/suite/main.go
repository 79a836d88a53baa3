// Package suite is what all packages of tests share without running a node: how long tests go on, what they skip under the
// race detector, and their main function. It registers -soak and -full, so go test ./tests/... takes both.
package suite

import (
	"flag"
	"os"
	"testing"
)

// parallelTests is how many tests of a package run at a time: most of them wait most of the time.
const parallelTests = "8"

// Program is another program that a test binary can be. Tests start their own binary with Env set: Run gets its value and
// returns the exit code.
type Program struct {
	Env string
	Run func(setting string) int
}

// Main is the main function of a package of tests: it runs one of the programs if its variable is set, and the tests otherwise.
// It returns the exit code.
func Main(m *testing.M, programs ...Program) int {
	for _, p := range programs {
		if setting := os.Getenv(p.Env); setting != "" {
			return p.Run(setting)
		}
	}
	flag.Parse()
	flag.Visit(func(f *flag.Flag) { givenFlags[f.Name] = true })
	SetFlag("test.parallel", parallelTests)
	code := m.Run()
	if *Soak > 0 {
		printSoaked()
	}
	return code
}
