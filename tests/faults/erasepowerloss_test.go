package faults_test

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/fanfold/fanfold/node"
	"github.com/fanfold/fanfold/tests/harness"
	"github.com/fanfold/fanfold/tests/suite"
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

// How many losses of power TestPowerLossWhileErasing has.
const shortErasureLosses, longErasureLosses = 8, 200

// TestPowerLossWhileErasing: clients write, customers are erased, and the power is lost at each step of an erasure or any moment. Files that were
// removed or replaced may come back, and new ones go. Everything acknowledged is there, erasures are finished by themselves, and no file has
// anything of them then.
func TestPowerLossWhileErasing(t *testing.T) {
	suite.PlainOnly(t, suite.OtherProcess)
	suite.Parallel(t)
	dir, oldModel, seed := t.TempDir(), filepath.Join(t.TempDir(), "readmodel"), rand.Uint64()
	r := rand.New(rand.NewPCG(seed, 0))
	t.Logf("seed %d", seed)
	first, lost := r.IntN(len(node.EraseSteps)), int64(0)
	acked, sent := make([]atomic.Int64, 2), make([]atomic.Int64, 2)
	e := &powerlessErasures{asked: map[string]bool{}}
	lives := suite.Amount(shortErasureLosses, longErasureLosses)
	for life := range lives {
		if r.IntN(3) == 0 {
			keepReadModel(t, dir, oldModel)
		}
		p := startNoting(t, dir)
		if life == 0 {
			p.Model(forgetModel)
		}
		checkAcked(t, p, acked, sent)
		e.write(p, fmt.Sprint("ann", life))
		limit := int64(1_000_000)
		if life%4 == 3 {
			limit = 5 + r.Int64N(40)
		} else {
			must(t, os.WriteFile(filepath.Join(dir, killEraseStep), []byte(node.EraseSteps[(first+life)%len(node.EraseSteps)]), 0o644))
		}
		var asking sync.WaitGroup
		asking.Go(func() { e.ask(t, p) })
		writePowerless(t, p, acked, sent, "", limit)
		asking.Wait()
		must(t, os.RemoveAll(filepath.Join(dir, killEraseStep)))
		took, _ := losePower(t, dir, r)
		lost += took
		if _, err := os.Stat(oldModel); err == nil && r.IntN(3) == 0 {
			must(t, os.RemoveAll(filepath.Join(dir, "readmodel")))
			copyTree(t, oldModel, filepath.Join(dir, "readmodel"))
		}
		must(t, os.RemoveAll(filepath.Join(dir, keptFiles)))
		must(t, os.Remove(filepath.Join(dir, syncNotes)))
	}
	must(t, os.RemoveAll(oldModel))
	p := startNoting(t, dir)
	checkAcked(t, p, acked, sent)
	e.ask(t, p)
	e.awaitDone(t, p)
	must(t, os.RemoveAll(filepath.Join(dir, keptFiles)))
	requireSameByHTTP(t, p)
	for _, who := range e.written {
		for _, what := range []string{"name", "city"} {
			if found := filesWith(t, dir, marker(who, what)); len(found) > 0 {
				t.Errorf("%s is in %v", marker(who, what), found)
			}
		}
		p.Want(http.StatusNotFound, http.MethodGet, "/v1/customers/"+who, "")
		p.Want(http.StatusOK, http.MethodGet, "/v1/orders/"+who, "")
	}
	t.Logf("%d losses of power; %d bytes were lost or changed", lives, lost)
}

// powerlessErasures are erasures that a process is asked for which is killed.
type powerlessErasures struct {
	written []string
	asked   map[string]bool // those whose erasure was acknowledged
}

// write writes a customer that is to be erased, with a copy of it.
func (e *powerlessErasures) write(p *harness.Process, who string) {
	p.Put("customers", who, fmt.Sprintf(`{"name":%q}`, marker(who, "name")))
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
