package faults_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/fanfold/fanfold/tests/harness"
	"github.com/fanfold/fanfold/tests/suite"
)

// How many damages TestRandomDamages does without -soak, and under -full.
const shortDamages, longDamages = 40, 60

// damageSeed makes the damages the same ones in every run without -soak.
const damageSeed = 11

// image is a data directory as it was left, with what a node on it must show.
type image struct {
	name   string
	dir    string
	old    string // the same directory as it was before half of the writes
	digest string // of every row of the read model
	feed   string
	files  []string // relative paths
}

// TestRandomDamages damages one file of a data directory. The file is cut, deleted or swapped with another, some of its bytes are flipped,
// or an old copy takes its place. A node that starts on it and is ready shows exactly what was there, and goes on from there. Any other
// node says why it is not ready, or why it does not start.
func TestRandomDamages(t *testing.T) {
	suite.Parallel(t)
	images := []*image{newImage(t, "closed", 1<<10, true), newImage(t, "killed", 1<<10, false), newImage(t, "blocks", 130<<10, true),
		newImage(t, "compacted", 1<<10, false, compactImage), newImage(t, "purged", 130<<10, true, compactImage),
		newImage(t, "erased", 1<<10, true, eraseImage), newImage(t, "compacted and erased", 1<<10, false, compactImage, eraseImage)}
	seed := uint64(damageSeed)
	if *suite.Soak > 0 {
		seed = rand.Uint64()
	}
	outcomes := map[string]int{}
	n := 0
	for s := suite.Begin(t, suite.ShareDamages); s.GoesOn(n, suite.Amount(shortDamages, longDamages)) && !t.Failed(); n++ {
		img := images[[...]int{0, 1, 2, 3, 5, 6, 3, 4, 5, 6}[n%10]] // the large ones, of several blocks, cost the most
		t.Run(fmt.Sprintf("%s/%d-%d", img.name, seed, n), func(t *testing.T) {
			outcomes[img.damage(t, rand.New(rand.NewPCG(seed, uint64(n))))]++
		})
	}
	t.Logf("%d damages: %v", n, outcomes)
	suite.Done(int64(n), "damaged files")
}

// newImage makes a store, with values of a size in bytes, and returns its directory after the node was closed, or as a
// kill leaves it. Each of done is called before, with the sequence of its middle.
func newImage(t *testing.T, name string, size int, closed bool, done ...func(t *testing.T, s *harness.Store, live string, middle uint64)) *image {
	t.Helper()
	live := t.TempDir()
	img := &image{name: name, dir: t.TempDir(), old: t.TempDir()}
	s := harness.Open(t, harness.Options{Dir: live, Sync: true, Configure: quickPurge})
	s.Model(damageModel)
	write := func(from, to int) {
		text := strings.Repeat("x", size)
		for i := from; i < to; i++ {
			s.Put("authors", fmt.Sprint(i%7), fmt.Sprintf(`{"name":"Author %d","text":%q}`, i, text[:size/2]))
			s.Put("books", fmt.Sprint(i), fmt.Sprintf(`{"author":"%d","text":%q}`, i%7, text))
		}
		s.Delete("books", fmt.Sprint(from))
	}
	write(0, 40)
	s = s.Reopen()
	copyTree(t, live, img.old)
	write(40, 60)
	middle := s.Node.Store.Applied.Seq()
	write(60, 80)
	s.CatchUp()
	for _, do := range done {
		do(t, s, live, middle)
	}
	if closed {
		s.Close()
	}
	copyTree(t, live, img.dir)
	if !closed {
		s.Close()
	}
	err := filepath.WalkDir(img.dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			rel, rerr := filepath.Rel(img.dir, path)
			img.files = append(img.files, rel)
			return rerr
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(img.files)
	work := t.TempDir()
	copyTree(t, img.dir, work)
	s = harness.Open(t, harness.Options{Dir: work, Sync: true})
	img.digest, img.feed = s.Digest(), allChanges(s)
	s.Verify()
	s.Close()
	return img
}

// compactImage lets a store begin later.
func compactImage(t *testing.T, s *harness.Store, live string, middle uint64) {
	t.Helper()
	s.Compact(middle)
	awaitPurged(t, s)
	awaitOldRowsGone(t, live, 1)
}

// eraseImage erases a document, and a member of another one that documents have copies of.
func eraseImage(t *testing.T, s *harness.Store, live string, _ uint64) {
	t.Helper()
	for path, body := range map[string]string{"/v1/books/45/_erase": "{}", "/v1/authors/3/_erase": `{"members":["/name","/text"]}`} {
		r := s.Want(http.StatusAccepted, http.MethodPost, path, body, "Content-Type", "application/json")
		s.Erased(r.Header.Get("Location"))
	}
	awaitOldRowsGone(t, live, 2)
}

// awaitOldRowsGone waits until a generation of the read model has no files.
func awaitOldRowsGone(t *testing.T, live string, generation int) {
	t.Helper()
	harness.Await(t, "the old read model to go", time.Minute, func() bool {
		old, err := filepath.Glob(filepath.Join(live, "readmodel", fmt.Sprintf("*-%06d*", generation)))
		return err == nil && len(old) == 0
	})
}

// allChanges returns the whole feed as it is answered; "" where the store does not say where it begins.
func allChanges(s *harness.Store) string {
	var status struct{ History struct{ Oldest string } }
	if json.Unmarshal(s.Want(http.StatusOK, "GET", "/v1/_status", "").Body, &status) != nil || status.History.Oldest == "" {
		return ""
	}
	return string(s.Want(http.StatusOK, "GET", "/v1/_changes?since="+status.History.Oldest+"&mode=all&include_docs=true&limit=100000", "").Body)
}

// copyTree copies a directory, which may be in use: it begins anew where a file goes away meanwhile.
func copyTree(t *testing.T, from, to string) {
	t.Helper()
	err := os.CopyFS(to, os.DirFS(from))
	for n := 0; errors.Is(err, fs.ErrNotExist) && n < 100; n++ {
		if err = os.RemoveAll(to); err == nil {
			err = os.CopyFS(to, os.DirFS(from))
		}
	}
	if err != nil {
		t.Fatal(err)
	}
}

// damage damages a file of a copy of the image, and returns what became of it: "refused", "not ready" or "whole".
func (img *image) damage(t *testing.T, r *rand.Rand) string {
	dir := t.TempDir()
	copyTree(t, img.dir, dir)
	what := img.damageOne(t, r, dir)
	s, err := harness.Start(t, harness.Options{Dir: dir, Sync: true})
	if err != nil {
		if len(err.Error()) < 30 {
			t.Errorf("%s: refused with %q", what, err)
		}
		return "refused"
	}
	defer s.Close()
	if reason := readiness(t, s); reason != "" {
		t.Logf("%s: not ready: %s", what, reason)
		return "not ready"
	}
	if s.Digest() != img.digest {
		t.Errorf("%s: the node is ready, and its rows are not those that were there", what)
	}
	if allChanges(s) != img.feed {
		t.Errorf("%s: the node is ready, and its feed is not the one that was there", what)
	}
	s.Put("books", "new", `{"author":"1"}`)
	s.Merge("books", "41", `{"author":"2"}`)
	s.Merge("books", "79", `{"author":"2"}`)
	s.Delete("books", "42")
	s.Verify()
	before := s.Digest()
	report, err := s.Node.VerifyLog(t.Context(), nil)
	if err == nil && report.Base != nil && report.Base.Error != "" {
		t.Logf("%s: the base %s", what, report.Base.Error)
		return "base is told"
	}
	if err != nil || report.Err() != nil {
		t.Errorf("%s: the node is ready, and its log is %+v, %v", what, report, err)
		return "wrong"
	}
	s.AllErased() // an old copy may have brought something back
	s.Replay()
	if s.Digest() != before {
		t.Errorf("%s: the node is ready, and a replay gives other rows", what)
	}
	return "whole"
}

// readiness waits until the node is ready, and returns "", or until it has said for some time why it is not, and returns
// that.
func readiness(t *testing.T, s *harness.Store) (reason string) {
	for deadline := time.Now().Add(12 * time.Second); ; {
		r := do(t, s, "GET", "/readyz", "")
		var p struct{ Detail string }
		if r.Status == http.StatusOK {
			return ""
		}
		if err := json.Unmarshal(r.Body, &p); err != nil || p.Detail == "" {
			t.Fatalf("not ready without a reason: %s", r.Body)
		}
		if r.Problem() == "urn:fanfold:problem:log-damaged" || strings.Contains(p.Detail, "log-damaged: the base") || time.Now().After(deadline) {
			return p.Detail
		}
		time.Sleep(5 * time.Millisecond) // what it waits for may never come
	}
}

// damageOne damages one file of dir, and returns what it did.
func (img *image) damageOne(t *testing.T, r *rand.Rand, dir string) string {
	name := img.files[r.IntN(len(img.files))]
	path := filepath.Join(dir, name)
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var what string
	switch r.IntN(7) {
	case 0:
		b = b[:r.IntN(len(b)+1)]
		what = "cut to " + strconv.Itoa(len(b))
	case 1:
		what, err = "deleted", os.Remove(path)
	case 2:
		other := filepath.Join(dir, img.files[r.IntN(len(img.files))])
		if same := img.sameKind(r, name); same != "" && r.IntN(2) == 0 {
			other = filepath.Join(dir, same)
		}
		what = "swapped with " + other
		b, err = swapFile(other, b)
	case 3:
		old, oerr := os.ReadFile(filepath.Join(img.old, name))
		if oerr != nil {
			old = nil
		}
		b, what = old, "an old copy"
	default:
		what = "flipped"
		for range 1 + r.IntN(3) {
			if len(b) > 0 {
				at := r.IntN(len(b))
				b[at] ^= byte(1 + r.IntN(255))
				what += fmt.Sprint(" ", at)
			}
		}
	}
	if err == nil && what != "deleted" {
		err = os.WriteFile(path, b, 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
	return name + " " + what
}

// sameKind returns another file of the same directory and ending, "" where there is none.
func (img *image) sameKind(r *rand.Rand, name string) string {
	same := slices.DeleteFunc(slices.Clone(img.files), func(f string) bool {
		return f == name || filepath.Dir(f) != filepath.Dir(name) || filepath.Ext(f) != filepath.Ext(name)
	})
	if len(same) == 0 {
		return ""
	}
	return same[r.IntN(len(same))]
}

// swapFile writes b into a file and returns what was there.
func swapFile(path string, b []byte) ([]byte, error) {
	was, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	return bytes.Clone(was), os.WriteFile(path, b, 0o644)
}
