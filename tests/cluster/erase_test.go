package cluster_test

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/fanfold/fanfold/internal/wire"
	"github.com/fanfold/fanfold/node"
	"github.com/fanfold/fanfold/tests/harness"
	"github.com/fanfold/fanfold/tests/natsserver"
	"github.com/fanfold/fanfold/tests/suite"
)

// erasedText stands in what is erased, and nowhere else.
const erasedText = "mark-erased-kram"

// holdsSecret returns the files under directories that have it.
func holdsSecret(t *testing.T, dirs ...string) (found []string) {
	t.Helper()
	for _, dir := range dirs {
		err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
			if err != nil || !e.Type().IsRegular() {
				return nil //nolint:nilerr // a file that has gone meanwhile
			}
			b, err := os.ReadFile(path)
			if errors.Is(err, fs.ErrNotExist) {
				return nil
			}
			if bytes.Contains(b, []byte(erasedText)) {
				found = append(found, path)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return found
}

// writeSecrets has a node write documents with a text that is erased, and copies of it.
func writeSecrets(s *harness.Store) {
	s.Put("authors", "erased", fmt.Sprintf(`{"name":"%s 1","mail":"m"}`, erasedText))
	s.Put("authors", "erased", fmt.Sprintf(`{"name":"%s 2","mail":"m"}`, erasedText))
	for i := range 5 {
		s.Put("books", fmt.Sprint("of", i), `{"author":"erased"}`)
	}
}

// eraseSecret erases a member of the document, and then all of it, and waits until that is done.
func eraseSecret(t *testing.T, s *harness.Store) {
	t.Helper()
	eraseAuthor(t, s, `{"members":["/mail"]}`)
	eraseAuthor(t, s, "{}")
}

// eraseAuthor erases the document, or members of it, and waits until that is done.
func eraseAuthor(t *testing.T, s *harness.Store, body string) {
	t.Helper()
	var location string
	harness.Await(t, "an erasure to begin", time.Minute, func() bool {
		r, err := s.Do(http.MethodPost, "/v1/authors/erased/_erase", []byte(body), "Content-Type", "application/json")
		location = r.Header.Get("Location")
		return err == nil && r.Status == http.StatusAccepted
	})
	s.Erased(location)
}

// TestErasureOnTwoNodes: all nodes change over, and have the same rows. A node that was away shows nothing of what is erased when it is ready again, and has
// nothing of it in its files. So does a new one.
func TestErasureOnTwoNodes(t *testing.T) {
	suite.Parallel(t)
	for _, compacted := range []bool{false, true} {
		t.Run(fmt.Sprint("compacted ", compacted), func(t *testing.T) {
			url := natsserver.Start(t, 1)[0]
			dirs := []string{t.TempDir(), t.TempDir(), t.TempDir(), t.TempDir()}
			a, b, c := openKeeper(t, dirs[0], url), openKeeper(t, dirs[1], url), openKeeper(t, dirs[2], url)
			defer a.Close()
			defer b.Close()
			a.Model(snapshotModel)
			writeSecrets(a)
			writeBooks(b, "x", 30)
			c.CatchUp()
			if compacted {
				a.CatchUp()
				horizon := a.Node.Store.Applied.Seq()
				a.Compact(horizon)
				awaitPurged(t, a, horizon)
				writeBooks(b, "z", 3)
			}
			c.Close()
			awaitStatus(t, a.Client, "two nodes", func(s node.Status) bool { return liveNodes(s) == 2 })
			eraseSecret(t, a)
			if found := holdsSecret(t, dirs[:2]...); len(found) > 0 {
				t.Fatalf("the secret is in %v", found)
			}
			c = openKeeper(t, dirs[2], url)
			defer c.Close()
			if found := holdsSecret(t, dirs[2]); len(found) > 0 {
				t.Fatalf("the node is ready, and the secret is in %v", found)
			}
			d := openKeeper(t, dirs[3], url)
			defer d.Close()
			writeBooks(c, "y", 10)
			for _, s := range []*harness.Store{a, b, c, d} {
				s.CatchUp()
				s.Verify()
			}
			for _, s := range []*harness.Store{b, c, d} {
				a.WantSameDigest(s)
			}
		})
	}
}

// TestErasureSaysResidue: a server may have the bytes of what a purge took away before an erasure, and the erasure says where, also once it is over and after a
// start. A later purge that ends in the same file changes nothing.
func TestErasureSaysResidue(t *testing.T) {
	suite.Parallel(t)
	cluster := natsserver.StartCluster(t, 1, false)
	dir := t.TempDir()
	a := openKeeper(t, dir, cluster.URLs()[0])
	defer func() { a.Close() }()
	a.Model(snapshotModel)
	writeSecrets(a)
	writeBooks(a, "x", 30)
	compact := func() {
		t.Helper()
		a.CatchUp()
		horizon := a.Node.Store.Applied.Seq()
		a.Compact(horizon)
		awaitPurged(t, a, horizon)
	}
	compact()
	writeBooks(a, "y", 10)
	location := askErasure(t, a)
	a.Erased(location)
	residue := func() (where string) {
		e, ok := erasureAt(a, location)
		if !ok || len(e.Residue) > 1 || e.Phase != map[bool]string{true: wire.PhaseResidue, false: wire.PhaseDone}[len(e.Residue) == 1] {
			t.Fatalf("the erasure is %+v", e)
		}
		for _, r := range e.Residue {
			where = r.Where + " " + r.Do
		}
		return where
	}
	for range 2 {
		if where := residue(); !strings.Contains(where, "stream fanfold") || !strings.Contains(where, "peer-remove") {
			t.Errorf("the residue is %q, and %v have it", where, holdsSecret(t, cluster.Dirs()...))
		}
		a = a.Reopen()
		harness.AwaitReady(t, a, http.StatusOK)
		harness.Await(t, "the erasure to be over after the start", time.Minute, func() bool {
			e, ok := erasureAt(a, location)
			if e.Phase == wire.PhaseDone {
				t.Fatalf("the erasure is %+v", e)
			}
			return ok && e.Phase == wire.PhaseResidue && len(e.Residue) > 0
		})
	}
	for range 2 { // purges that end in the same file
		writeBooks(a, "z", 30)
		compact()
		harness.Await(t, "the erasure to be looked at again", time.Minute, func() bool { return a.Node.Forget.Compactor.Compaction().Phase == "done" })
		if found := holdsSecret(t, cluster.Dirs()...); len(found) > 0 && residue() == "" {
			t.Fatalf("the erasure has no residue, and the secret is in %v", found)
		}
	}
	a.Verify()
}
