package faults_test

import (
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/fanfold/fanfold/internal/sameboot"
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

// saysUndisturbed is what a node says at its start of files that nobody has touched since it ended.
const saysUndisturbed = "nobody has touched the files since the node ended"

// TestUndisturbed: after a clean end a node is ready before it has read the log through, unless somebody has touched the log or the read model.
// It finds then what the disk has changed all the same.
func TestUndisturbed(t *testing.T) {
	suite.Parallel(t)
	dir := t.TempDir()
	if sameboot.Still(dir) == "" {
		t.Skip("nothing is known of the file system of " + dir) // such as one of FUSE
	}
	p := harness.StartProcess(t, "--data", dir)
	for i := range 9 {
		p.Put("c", fmt.Sprint(i), fmt.Sprintf(`{"text":"the %dth"}`, i))
	}
	restart := func(undisturbed bool, between func()) {
		t.Helper()
		p.Stop(t)
		between()
		p = harness.StartProcess(t, "--data", dir)
		if strings.Contains(p.Log.String(), saysUndisturbed) != undisturbed {
			t.Fatalf("undisturbed: want %t\n%s", undisturbed, p.Log.String())
		}
	}
	again := func(path string) func() { // the same bytes
		return func() {
			b, err := os.ReadFile(path)
			if err == nil {
				err = os.WriteFile(path, b, 0o600)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	restart(true, func() {})
	restart(false, again(logBlocks(t, dir)[0]))
	restart(false, again(harness.ReadModel(t, dir)))
	restart(true, func() {})
	p.Verify(t)
	restart(true, func() {
		path := logBlocks(t, dir)[0]
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		b[strings.Index(string(b), "the 4th")] ^= 1
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
		stillLog(t, dir)
	})
	if !p.Log.Wait("the log is damaged") || !strings.Contains(p.Log.String(), ": 5;") {
		t.Errorf("the node does not name the event that the disk has changed:\n%s", p.Log.String())
	}
	p.Want(http.StatusServiceUnavailable, http.MethodPut, "/v1/c/9", `{}`)
	p.Stop(t)
}

// stillLog writes down that nobody has touched the log's files.
func stillLog(t *testing.T, dir string) {
	t.Helper()
	var paths []string
	err := filepath.WalkDir(filepath.Join(dir, "nats", "jetstream"), func(path string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() {
			paths = append(paths, path)
		}
		return err
	})
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "nats", "still"), []byte(sameboot.Still(paths...)), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}
