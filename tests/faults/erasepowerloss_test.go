package faults_test

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/fanfold/fanfold/forget"
	"github.com/fanfold/fanfold/tests/harness"
)

// killEraseStep is the file beside a noting process's data that has the step of an erasure at which the process kills itself.
const killEraseStep = "kill-at-erase-step"

// eraseStepsOf keeps files at each step of an erasure, and kills the process at the one that a file names.
func eraseStepsOf(data string) func(step string) error {
	return func(step string) error {
		if err := keepFiles(data); err != nil {
			return err
		}
		if at, err := os.ReadFile(filepath.Join(data, killEraseStep)); err == nil && string(at) == step {
			_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
			select {}
		}
		return nil
	}
}

// lifeOfErasure: clients write, and customers are erased. Everything acknowledged is there, erasures are finished by themselves, and no file has
// anything of them then.
func lifeOfErasure() *life {
	e := &powerlessErasures{asked: map[string]bool{}}
	of := writing("erasing", 2, 45, nil)
	of.stepFile, of.steps = killEraseStep, forget.EraseSteps
	of.deaths = map[string]int{"kill": 5, "stop": 3, "power": 6}
	of.begin = func(_ *lives, p *harness.Process) { p.Model(forgetModel) }
	acked := of.holds
	of.holds = func(l *lives, p *harness.Process) {
		acked(l, p)
		if !l.last { // before a step of an erasure of the life before may kill it
			e.write(p, fmt.Sprint("ann", l.n))
			p.Put("customers", fmt.Sprint("bob", l.n), fmt.Sprintf(`{"name":%q}`, marker("bob", "name")))
		}
	}
	of.work = func(l *lives, p *harness.Process) {
		l.writeUntilDead(p, func(l *lives, p *harness.Process) { e.ask(l.T, p) })
	}
	of.end = func(l *lives, p *harness.Process) {
		e.ask(l.T, p)
		e.awaitDone(l.T, p)
		requireSameByHTTP(l.T, p)
		p.Verify(l.T)
		harness.Await(l.T, "the last step to be over", time.Minute, func() bool { return os.RemoveAll(filepath.Join(l.dir, keptFiles)) == nil })
		e.requireGone(l, p)
	}
	return of
}

// requireGone fails the test where anything of the erased is left, or what others wrote is not.
func (e *powerlessErasures) requireGone(l *lives, p *harness.Process) {
	l.Helper()
	for _, who := range e.written {
		for _, what := range []string{"name", "city", "list"} {
			if found := filesWith(l.T, l.dir, marker(who, what)); len(found) > 0 {
				l.Errorf("%s is in %v", marker(who, what), found)
			}
		}
		p.Want(http.StatusNotFound, http.MethodGet, "/v1/customers/"+who, "")
		p.Want(http.StatusOK, http.MethodGet, "/v1/orders/"+who, "")
	}
	if len(filesWith(l.T, l.dir, marker("bob", "name"))) == 0 {
		l.Error("what others wrote is gone")
	}
}

// powerlessErasures are erasures that a process is asked for which is killed.
type powerlessErasures struct {
	written []string
	asked   map[string]bool // those whose erasure was acknowledged
}

// write writes a customer that is to be erased, with a copy of it.
func (e *powerlessErasures) write(p *harness.Process, who string) {
	p.Put("customers", who, fmt.Sprintf(`{"name":%q,"list":[%q]}`, marker(who, "name"), marker(who, "list")))
	p.Want(http.StatusNoContent, http.MethodPatch, "/v1/customers/"+who, fmt.Sprintf(`{"city":%q}`, marker(who, "city")), "Content-Type", "application/merge-patch+json")
	p.Put("orders", who, fmt.Sprintf(`{"customerId":%q,"total":1}`, who))
	e.written = append(e.written, who)
}

// ask asks for the erasures that were not acknowledged, until all are or the process does not answer.
func (e *powerlessErasures) ask(t *testing.T, p *harness.Process) {
	for _, who := range e.written {
		for !e.asked[who] {
			r, err := p.Do(http.MethodPost, "/v1/customers/"+who+"/_erase", []byte("{}"), "Content-Type", "application/json")
			switch {
			case err != nil:
				return
			case r.Status == http.StatusAccepted || r.Status == http.StatusOK:
				e.asked[who] = true
			case !slices.Contains([]int{http.StatusConflict, http.StatusServiceUnavailable}, r.Status):
				t.Errorf("the erasure of %s: %d %s", who, r.Status, r.Body)
				return
			}
			time.Sleep(5 * time.Millisecond) // between two tries
		}
	}
}

// awaitDone waits until all erasures are over.
func (e *powerlessErasures) awaitDone(t *testing.T, p *harness.Process) {
	t.Helper()
	harness.Await(t, "the erasures to be over", 2*time.Minute, func() bool {
		var list struct {
			Erasures []struct{ Phase, Error string }
		}
		harness.Decode(t, p.Want(http.StatusOK, http.MethodGet, "/v1/_erasures", "").Body, &list)
		if len(list.Erasures) < len(e.written) {
			t.Fatalf("%d erasures of %d customers are there", len(list.Erasures), len(e.written))
		}
		return !slices.ContainsFunc(list.Erasures, func(e struct{ Phase, Error string }) bool { return e.Phase != "done" })
	})
}
