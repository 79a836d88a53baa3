package faults_test

import (
	"testing"

	"github.com/fanfold/fanfold/tests/suite"
)

// fault is a column of the matrix.
type fault struct {
	name    string
	strikes func(row feature) bool    // whether a row has work for it
	strike  func(r *run, row feature) // does the work of the cell
}

// feature is a row of the matrix: what it does under each fault, and why nothing is done under others.
type feature struct {
	name   string
	writes []crash           // is cut at its writes
	empty  map[string]string // by faults
}

// faults are the columns.
var faults = []fault{
	{"write", func(row feature) bool { return len(row.writes) > 0 }, func(r *run, row feature) {
		eachOf(r, row.writes, func(c crash) string { return c.name }, crashAtWrites)
	}},
}

// features are the rows.
var features = []feature{
	{name: "writes", writes: []crash{crashOfRows, crashOfLog, crashOfShuffled}},
	{name: "compaction", writes: []crash{crashOfCompaction}},
	{name: "erasure", writes: []crash{crashOfErasure}},
	{name: "restore", writes: []crash{crashOfRestore, crashOfRestoreWithBase, crashOfRestoreOnServers, crashOfRestoreWithBaseOnServers}},
	{name: "replay", writes: []crash{crashOfReplay, crashOfReplayTo}},
	{name: "preparation", writes: []crash{crashOfPreparation}},
	{name: "keys", empty: map[string]string{
		"write": "a key is an entry of a bucket of the log's server, and no row; keys.TestKilledBetweenTheWrites cuts its two writes",
	}},
	{name: "groups", empty: map[string]string{
		"write": "a position is one entry of a bucket of the log's server, and no row",
	}},
	{name: "backup", empty: map[string]string{
		"write": "a backup writes no row; backup.TestCrashAtEveryWriteOfABackup fails each operation on the files of the directory",
	}},
}

// TestMatrix strikes each feature with each fault. Everything acknowledged is there afterwards, the store goes on, and its rows are those of
// a replay. A cell goes on for its budget, and once at least.
func TestMatrix(t *testing.T) {
	suite.PlainOnly(t, suite.OneByOne)
	for _, column := range faults {
		t.Run(column.name, func(t *testing.T) {
			suite.Parallel(t)
			for _, row := range features {
				if !column.strikes(row) {
					continue
				}
				t.Run(row.name, func(t *testing.T) {
					suite.Parallel(t)
					column.strike(begin(t), row)
				})
			}
		})
	}
}

// TestMatrixIsFilled: each cell of the matrix has work or says why it has none.
func TestMatrixIsFilled(t *testing.T) {
	for _, row := range features {
		requireFilled(t, row)
	}
}

// eachOf strikes all that a feature has for a fault, each as a subtest where there are several.
func eachOf[T any](r *run, all []T, name func(T) string, strike func(*run, T)) {
	for _, one := range all {
		if len(all) == 1 {
			strike(r, one)
			return
		}
		r.Run(name(one), func(t *testing.T) { strike(&run{t, suite.Begin(t, suite.ShareCell), r.seed}, one) })
	}
}
