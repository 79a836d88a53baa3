package faults_test

import (
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/fanfold/fanfold/tests/harness"
	"github.com/fanfold/fanfold/tests/suite"
)

// life is what a process does that dies again and again on one directory.
type life struct {
	name                    string
	writers                 int
	limit                   int64                              // it dies after some number of writes below
	begin, holds, work, end func(l *lives, p *harness.Process) // in the first life, after each start, until it is dead, and after the last start
	lose                    func(l *lives)                     // what a loss of power takes besides the log; nil for nothing
	stepFile                string                             // names the step at which it kills itself; "" where it has no steps
	steps                   []string
	deaths                  map[string]int // how many it has on one directory, by faults
}

// lives follow each other on one directory.
type lives struct {
	*testing.T
	dir, oldModel string
	rand          *rand.Rand
	n             int
	limit         int64  // of this life's writes
	first         int    // the step at which the first life ends
	step          string // at which this life ends, once what must hold was looked at; "" for any moment
	acked, sent   []atomic.Int64
	back          []string // removed files that came back at the death before
	lost          int64    // bytes
	returned      int      // how many came back in all lives
	last          bool     // it does not die
	power         bool     // it loses its power
}

// death is how a process dies: how it starts before, and what becomes of its files.
type death struct {
	fault string
	start func(l *lives, of *life) *harness.Process
	after func(l *lives, of *life)
}

// The deaths. One is a kill at any moment, which leaves the files as they are. Another is a kill at a step. A loss of power comes at steps and
// at any moment: of what was not synced, any part stays. Files that were removed may come back, new ones go, and an old read model may be there.
var (
	killed = death{"kill", func(l *lives, of *life) *harness.Process {
		l.limit = 1 + l.rand.Int64N(of.limit)
		return harness.StartProcess(l.T, "--data", l.dir, "--durability", []string{"always", "interval"}[l.n%2])
	}, func(*lives, *life) {}}
	killedAtSteps = death{"stop", func(l *lives, of *life) *harness.Process {
		l.dieAt(of)
		return startNoting(l.T, l.dir)
	}, func(l *lives, of *life) { l.forget(of) }}
	powerless = death{"power", startPowerless, func(l *lives, of *life) {
		var took int64
		took, l.back = losePower(l.T, l.dir, l.rand)
		l.lost += took
		l.returned += len(l.back)
		if of.lose != nil {
			of.lose(l)
		}
		if _, err := os.Stat(l.oldModel); err == nil && l.rand.IntN(3) == 0 {
			must(l.T, os.RemoveAll(filepath.Join(l.dir, "readmodel")))
			copyTree(l.T, l.oldModel, filepath.Join(l.dir, "readmodel"))
		}
		harness.OtherBoot(l.T, l.dir)
		l.forget(of)
	}}
)

// startPowerless starts a process that loses its power, at a step if it has steps, and at any moment every third time.
func startPowerless(l *lives, of *life) *harness.Process {
	l.power, l.limit = true, 1+l.rand.Int64N(of.limit)
	if of.stepFile != "" {
		if !l.last && l.rand.IntN(3) == 0 {
			keepReadModel(l.T, l.dir, l.oldModel)
		}
		if l.n%3 != 2 {
			l.dieAt(of)
		}
	}
	return startNoting(l.T, l.dir)
}

// dieAt has the process kill itself at one step after the other.
func (l *lives) dieAt(of *life) {
	if !l.last {
		l.limit, l.step = 1_000_000, of.steps[(l.first+l.n*5)%len(of.steps)]
	}
}

// arm lets the process kill itself at its step from now on. At its start it goes on with what the life before began, which ends first.
func (l *lives) arm(of *life) {
	if l.step != "" {
		must(l.T, os.WriteFile(filepath.Join(l.dir, of.stepFile), []byte(l.step), 0o600))
	}
	l.step = ""
}

// forget removes what a noting process left beside its data.
func (l *lives) forget(of *life) {
	if of.stepFile != "" {
		must(l.T, os.RemoveAll(filepath.Join(l.dir, of.stepFile)))
	}
	must(l.T, os.RemoveAll(filepath.Join(l.dir, keptFiles)))
	must(l.T, os.Remove(filepath.Join(l.dir, syncNotes)))
}

// longDirectories is on how many directories a process dies again and again under -full, within the budget.
const longDirectories = 30

// dieAgainAndAgain lets a process die on one directory after the other.
func dieAgainAndAgain(r *run, of func() *life, how death) {
	total := 0
	for n := 0; r.budget.GoesOn(n, suite.Amount(1, longDirectories)) && !r.Failed(); n++ {
		r.Run(strconv.Itoa(n), func(t *testing.T) {
			one := of()
			l := &lives{T: t, dir: t.TempDir(), oldModel: filepath.Join(t.TempDir(), "readmodel"), rand: r.rand(uint64(n)),
				acked: make([]atomic.Int64, one.writers), sent: make([]atomic.Int64, one.writers)}
			l.first = l.rand.IntN(max(1, len(one.steps)))
			l.die(r.budget, one, how)
			total += l.n
		})
	}
	suite.Done(int64(total), "deaths by "+how.fault+" while "+of().name)
}

// die lets a process die again and again, once at least, until the budget is used.
func (l *lives) die(b suite.Budget, of *life, how death) {
	for ; l.n < of.deaths[how.fault] && (l.n == 0 || b.Left() > 0) && !l.Failed(); l.n++ {
		p := how.start(l, of)
		if l.n == 0 {
			of.begin(l, p)
		}
		of.holds(l, p)
		l.arm(of)
		of.work(l, p)
		how.after(l, of)
	}
	l.last = true
	p := how.start(l, of)
	of.holds(l, p)
	must(l.T, os.RemoveAll(l.oldModel))
	of.end(l, p)
	if how.fault == "kill" {
		p.Stop(l.T)
	}
	acked := int64(0)
	for i := range l.acked {
		acked += l.acked[i].Load()
	}
	l.Logf("%d deaths; %d writes were acknowledged, %d bytes lost or changed, %d removed blocks came back", l.n, acked, l.lost, l.returned)
}

// writing returns the life of a process that takes writes, whatever happens beside them.
func writing(name string, writers int, limit int64, beside func(l *lives, p *harness.Process)) *life {
	return &life{
		name: name, writers: writers, limit: limit,
		begin: func(_ *lives, p *harness.Process) { p.Model(harness.CrashModel) },
		holds: func(l *lives, p *harness.Process) {
			checkAcked(l.T, p, l.acked, l.sent)
			checkTransactions(l.T, p)
		},
		work: func(l *lives, p *harness.Process) { l.writeUntilDead(p, beside) },
		end:  requireRebuilt,
	}
}

// requireRebuilt fails the test unless a replay gives the documents that are served, and its rows.
func requireRebuilt(l *lives, p *harness.Process) {
	l.Helper()
	before, author := p.Want(http.StatusOK, "GET", "/v1/_export", "").Body, p.Get("authors", "0")
	harness.Await(l.T, "a replay to begin", time.Minute, func() bool {
		r, err := p.Do(http.MethodPost, "/v1/_replay", nil)
		return err == nil && r.Status == http.StatusAccepted
	})
	waitReplay(l.T, p)
	p.Verify(l.T)
	if after := p.Want(http.StatusOK, "GET", "/v1/_export", "").Body; string(after) != string(before) {
		l.Error("a replay of the log gives other documents")
	}
	if after := p.Get("authors", "0"); after != author {
		l.Fatalf("after the replay %s, before %s", after, author)
	}
}

// askUntilDead asks for something again and again until the process does not answer.
func askUntilDead(ask func(n int) error) {
	for n := 0; ask(n) == nil; n++ {
		time.Sleep(5 * time.Millisecond) // between two requests
	}
}
