package faults_test

import (
	"fmt"
	"net/http"
	"strings"
	"syscall"
	"testing"

	"github.com/fanfold/fanfold/tests/harness"
	"github.com/fanfold/fanfold/tests/suite"
)

// A node says these at its start, and later, of a read model that was not closed.
const (
	saysGoesOn  = "goes on from its checkpoint"
	saysRebuilt = "in doubt: it is rebuilt from the log"
	saysServed  = "in doubt: its structure is sound, so it is served"
	saysSettled = "is not in doubt any more"
)

// TestKilledOrPowerLost: after a kill a node goes on from its checkpoint, and rebuilds nothing. After a loss of power a small read model is
// rebuilt before the first answer. A large one is served, and rebuilt meanwhile.
func TestKilledOrPowerLost(t *testing.T) {
	suite.Parallel(t)
	for name, c := range map[string]struct {
		documents int
		says      string // after a loss of power
	}{"small": {10, saysRebuilt}, "large": {100_100, saysServed}} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			p := harness.StartProcess(t, "--data", dir)
			p.Model(damageModel)
			p.Put("authors", "a", `{"name":"A"}`)
			var lines strings.Builder
			for i := range c.documents {
				fmt.Fprintf(&lines, "{\"id\":\"%d\"}\n", i)
			}
			p.Want(http.StatusOK, http.MethodPost, "/v1/_import?collection=others", lines.String(), "Content-Type", "application/x-ndjson")
			p.Put("books", "b", `{"author":"a"}`)
			want := p.Get("books", "b")
			restart := func(says string, between ...func()) {
				t.Helper()
				p.Signal(syscall.SIGKILL)
				for _, do := range between {
					do()
				}
				p = harness.StartProcess(t, "--data", dir)
				for _, other := range []string{saysGoesOn, saysRebuilt, saysServed} {
					if strings.Contains(p.Log.String(), other) != (other == says) {
						t.Fatalf("at its start the node does not say %q alone:\n%s", says, p.Log.String())
					}
				}
			}
			restart(saysGoesOn)
			p.Put("books", "c", `{"author":"a"}`)
			restart(saysGoesOn)
			plant := func() {
				harness.RunOutside(t, harness.ReadModel(t, dir), `UPDATE document SET body = replace(body, '"name":"A"', '"name":"B"') WHERE collection = 'books'`)
			}
			restart(c.says, func() { harness.OtherBoot(t, dir) }, plant)
			if c.says == saysServed && !p.Log.Wait(saysSettled) {
				t.Fatal("the node has ended")
			}
			if got := p.Get("books", "b"); got != want {
				t.Errorf("the document is %s, want %s", got, want)
			}
			restart(saysGoesOn)
			p.Verify(t)
			p.Stop(t)
		})
	}
}
