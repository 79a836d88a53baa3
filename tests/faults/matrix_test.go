package faults_test

import (
	"testing"

	"github.com/fanfold/fanfold/forget"
	"github.com/fanfold/fanfold/tests/harness"
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
	dies   func() *life      // in a process that is killed, dies at a step, or loses its power
	kills  []once            // is killed in a way of its own
	stops  []stop            // has steps
	disks  []once            // is on a small disk
	writes []crash           // is cut at its writes
	empty  map[string]string // by faults
}

// mortal returns whether a row dies by a fault.
func (f feature) mortal(fault string) bool { return f.dies != nil && f.dies().deaths[fault] > 0 }

// faults are the columns.
var faults = []fault{
	{"kill", func(row feature) bool { return row.mortal("kill") || len(row.kills) > 0 }, func(r *run, row feature) {
		if row.mortal("kill") {
			_, err := harness.Program() // the budget is not for its build
			must(r.T, err)
			r.budget = suite.Begin(r.T, suite.ShareCell)
			dieAgainAndAgain(r, row.dies, killed)
		}
		eachOf(r, row.kills, func(o once) string { return o.name }, func(r *run, o once) { o.strike(r.T) })
	}},
	{"stop", func(row feature) bool { return row.mortal("stop") || len(row.stops) > 0 }, func(r *run, row feature) {
		eachOf(r, row.stops, func(s stop) string { return s.name }, stopAtSteps)
		if row.mortal("stop") {
			dieAgainAndAgain(r, row.dies, killedAtSteps)
		}
	}},
	{"power", func(row feature) bool { return row.mortal("power") }, func(r *run, row feature) { dieAgainAndAgain(r, row.dies, powerless) }},
	{"disk", func(row feature) bool { return len(row.disks) > 0 }, func(r *run, row feature) {
		eachOf(r, row.disks, func(o once) string { return o.name }, func(r *run, o once) { o.strike(r.T) })
	}},
	{"write", func(row feature) bool { return len(row.writes) > 0 }, func(r *run, row feature) {
		eachOf(r, row.writes, func(c crash) string { return c.name }, crashAtWrites)
	}},
}

// features are the rows.
var features = []feature{
	{name: "writes", dies: lifeOfWrites, writes: []crash{crashOfRows, crashOfLog, crashOfShuffled, crashOfLogic, crashOfLogicLog},
		disks: []once{{"documents", fillWithDocuments}, {"load", fillUnderLoad}, {"transactions", fillUnderTransactions}},
		empty: map[string]string{"stop": "a write is one append to the log, which crashes at writes cut before and after it is stored"}},
	{name: "compaction", dies: lifeOfCompaction, stops: []stop{{"compaction", steps, cutCompactionAt}}, disks: []once{{"compaction", compactOnFullDisk}},
		writes: []crash{crashOfCompaction}},
	{name: "erasure", dies: lifeOfErasure, disks: []once{{"erasure", fillWhileErasing}}, writes: []crash{crashOfErasure},
		stops: []stop{
			{"whole", forget.EraseSteps, func(t *testing.T, step string) { stopErasureAt(t, step, "") }},
			{"compacted", forget.EraseSteps, func(t *testing.T, step string) { stopErasureAt(t, step, "compacted") }},
			{"erased in part", forget.EraseSteps, func(t *testing.T, step string) { stopErasureAt(t, step, "erased") }},
		}},
	{name: "restore", kills: []once{{"restore", killRestore}}, disks: []once{{"restore", restoreOnFullDisk}},
		writes: []crash{crashOfRestore, crashOfRestoreWithBase, crashOfRestoreOnServers, crashOfRestoreWithBaseOnServers}, empty: map[string]string{
			"stop":  "crashes at writes end a restore after its steps, too, and after each event and fsync",
			"power": "a restore that has not ended begins anew, whatever is there: crashes at its fsyncs show it",
		}},
	{name: "replay", dies: lifeOfReplay, disks: []once{{"position", replayToOnFullDisk}}, writes: []crash{crashOfReplay, crashOfReplayTo},
		empty: map[string]string{"stop": "a replay has no steps but its writes"}},
	{name: "preparation", dies: lifeOfPreparation, writes: []crash{crashOfPreparation}, empty: map[string]string{
		"stop": "a preparation has no steps but its writes",
		"disk": "its rows are written as those of a replay are, whose full disk is tested",
	}},
	{name: "keys", dies: lifeOfKeys, empty: map[string]string{
		"stop":  "keys.TestKilledBetweenTheWrites stops a change between its two writes",
		"disk":  "a key is a message in the log's server, as a write is; the disk under writes is tested",
		"write": "a key is an entry of a bucket of the log's server, and no row; keys.TestKilledBetweenTheWrites cuts its two writes",
	}},
	{name: "groups", dies: lifeOfGroups, empty: map[string]string{
		"stop":  "a position is one write",
		"disk":  "a position is a message in the log's server, as a write is; the disk under writes is tested",
		"write": "a position is one entry of a bucket of the log's server, and no row",
	}},
	{name: "backup", dies: lifeOfBackup, empty: map[string]string{
		"stop":  "backup.TestCrashAtEveryWriteOfABackup stops it at each operation on files",
		"disk":  "backup.TestCrashAtEveryWriteOfABackup has each operation on files fail for lack of space",
		"write": "a backup writes no row; backup.TestCrashAtEveryWriteOfABackup fails each operation on the files of the directory",
	}},
}

// TestMatrix strikes each feature with each fault. Everything acknowledged is there afterwards, the store goes on, and a replay gives its rows.
// A cell goes on for its budget, and once at least.
func TestMatrix(t *testing.T) {
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
