package restore_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/backup"
	"github.com/fanfold/fanfold/backup/transfer"
	"github.com/fanfold/fanfold/events/buckets"
	"github.com/fanfold/fanfold/forget"
	"github.com/fanfold/fanfold/internal/wire"
	"github.com/fanfold/fanfold/node"
	"github.com/fanfold/fanfold/tests/harness"
)

const customerModel = `collections:
  customers: {unique: [email]}
  orders:
    relations: {customer: {path: customerId, to: customers}}
    derive: {name: {copy: customer, value: doc.name}}
`

// secret is in everything that is erased of a customer.
func secret(who string) string { return "secret-of-" + who + "-kram" }

// quickPurge has a log purged soon after a compaction.
func quickPurge(cfg *node.Config) { cfg.PurgeWait = 100 * time.Millisecond }

// withCustomers returns a store with two customers, which begins later if compact says so.
func withCustomers(t *testing.T, compact bool) *harness.Store {
	t.Helper()
	s := open(t, harness.Options{Dir: t.TempDir(), Configure: quickPurge})
	s.Want(http.StatusOK, "PUT", "/v1/_model", customerModel, "Content-Type", "application/yaml")
	for _, who := range []string{"ann", "bob"} {
		s.Put("customers", who, fmt.Sprintf(`{"name":%q,"email":"%s@example.com"}`, secret(who), secret(who)))
		s.Put("orders", who, fmt.Sprintf(`{"customerId":%q}`, who))
	}
	s.CatchUp()
	if compact {
		s.Compact(s.Node.Store.Applied.Seq())
	}
	s.Put("customers", "ann", fmt.Sprintf(`{"name":%q}`, secret("ann")))
	return s
}

// erase erases a document, and returns once that is done.
func erase(t *testing.T, s *harness.Store, path string) {
	t.Helper()
	var r *harness.Response
	for end := time.Now().Add(time.Minute); ; time.Sleep(50 * time.Millisecond) { // until the purge of a compaction is over
		var err error
		if r, err = s.Do("POST", path+"/_erase", []byte("{}"), "Content-Type", "application/json"); err != nil {
			t.Fatal(err)
		}
		if r.Status == http.StatusAccepted {
			break
		}
		if r.Status != http.StatusConflict || time.Now().After(end) {
			t.Fatalf("%d %s", r.Status, r.Body)
		}
	}
	for end := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
		var state wire.Erasure
		answer := s.Want(http.StatusOK, "GET", r.Header.Get("Location"), "")
		if err := json.Unmarshal(answer.Body, &state); err != nil {
			t.Fatal(err)
		}
		if state.Phase == wire.PhaseDone {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("the erasure is %+v", state)
		}
	}
}

// addBackup makes a backup in a directory, or continues the one in it.
func addBackup(t *testing.T, s *harness.Store, dir string) {
	t.Helper()
	s.CatchUp()
	w, err := backup.OpenWriter(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = w.Close() }()
	for try := 0; ; try++ {
		var stream bytes.Buffer
		err := s.Node.Backups.Backup(t.Context(), w.After().Seq, w.HasBase(), func(fanfold.Position) io.Writer { return &stream })
		if err == nil {
			_, err = w.Receive(t.Context(), &stream, nil)
		}
		if err == nil {
			return
		}
		if !errors.Is(err, backup.ErrErased) || try > 0 {
			t.Fatal(err)
		}
	}
}

// filesWith returns the files below a directory that have a text, compressed ones unpacked.
func filesWith(t *testing.T, dir, text string) (found []string) {
	t.Helper()
	z, err := zstd.NewReader(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer z.Close()
	err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) || err == nil && d.IsDir() {
			return nil
		}
		file, err := os.ReadFile(path)
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		for _, skip := range []int{0, 8} {
			if len(file) > skip && (strings.HasSuffix(path, ".seg") || strings.HasSuffix(path, ".base")) {
				if plain, err := z.DecodeAll(file[skip:], nil); err == nil {
					file = append(file, plain...)
				}
			}
		}
		if bytes.Contains(file, []byte(text)) {
			found = append(found, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// requireForgotten requires that nothing of ann is left below a directory, and everything of bob is.
func requireForgotten(t *testing.T, dir string) {
	t.Helper()
	if found := filesWith(t, dir, secret("ann")); len(found) > 0 {
		t.Errorf("%s is in %v", secret("ann"), found)
	}
	if len(filesWith(t, dir, secret("bob"))) == 0 {
		t.Errorf("%s is gone", secret("bob"))
	}
}

// TestBackupAfterErasure: the next backup into a directory has nothing of what was erased, and a store that is restored from it is that from which it
// was made.
func TestBackupAfterErasure(t *testing.T) {
	for _, compact := range []bool{false, true} {
		t.Run(fmt.Sprintf("compacted %v", compact), func(t *testing.T) {
			s := withCustomers(t, compact)
			dir := filepath.Join(t.TempDir(), "backup")
			addBackup(t, s, dir)
			if len(filesWith(t, dir, secret("ann"))) == 0 {
				t.Fatal("the backup has nothing of ann")
			}
			erase(t, s, "/v1/customers/ann")
			addBackup(t, s, dir)
			requireForgotten(t, dir)
			b, err := backup.Open(dir)
			if err == nil {
				err = b.Check(t.Context(), nil)
			}
			if err != nil || b.Erasure == 0 {
				t.Fatalf("the backup knows the erasure %d, %v", b.Erasure, err)
			}
			s.Put("customers", "new", `{"name":"N"}`)
			addBackup(t, s, dir) // continues it
			dir, rows := backUpWithRows(t, s)
			restored, r := restoreRows(t, dir, "embedded", rows)
			awaitDeleted(t, restored)
			requireWholeLog(t, restored, r)
			requireReplayed(t, restored)
			restored.Want(http.StatusNotFound, "GET", "/v1/customers/ann", "")
			restored.Put("customers", "ann", fmt.Sprintf(`{"email":"%s@example.com"}`, secret("ann")))
			if !compact {
				return
			}
			if _, err := harness.Restore(t.Context(), dir, transfer.RestoreConfig{Data: filepath.Join(t.TempDir(), "data"), To: fmt.Sprint(b.Erasure)}); fanfold.CodeOf(err) != fanfold.Invalid {
				t.Errorf("up to a place before the erasure: %v", err)
			}
		})
	}
}

// TestReplayOfErasedBackup: a read model that is built of a backup from after an erasure has nothing of what was erased, also at a position from
// before it.
func TestReplayOfErasedBackup(t *testing.T) {
	s := withCustomers(t, false)
	s.CatchUp()
	before, dir := s.Node.Store.Applied.Seq(), filepath.Join(t.TempDir(), "backup")
	addBackup(t, s, dir)
	erase(t, s, "/v1/customers/ann")
	addBackup(t, s, dir)
	b, err := backup.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, to := range []string{fmt.Sprint(before), fmt.Sprint(b.Position)} {
		out := filepath.Join(t.TempDir(), "model")
		if text, err := harness.RunProgram(t, "replay", "--to", to, "--out", out, "--backup", dir); err != nil {
			t.Fatalf("--to %s: %v %s", to, err, text)
		}
		requireForgotten(t, out)
		withReadModel(t, out, func(c *harness.Client, store fanfold.StoreID) {
			for _, collection := range []string{"customers", "orders"} {
				want := s.Want(http.StatusOK, "GET", "/v1/"+collection+"?limit=10&at="+to, "").Body
				got := c.Want(http.StatusOK, "GET", "/v1/"+collection+"?limit=10", "").Body
				if got := strings.ReplaceAll(string(got), string(store), string(b.Store)); got != string(want) {
					t.Errorf("%s at %s are\n%s\nwant\n%s", collection, to, got, want)
				}
			}
		})
	}
}

// TestRestoreWithErasures: a store that is restored from a backup from before erases what a list names before anybody sees it, and passes over what
// it never had. A directory that has yet to do so is for nothing else.
func TestRestoreWithErasures(t *testing.T) {
	for _, compact := range []bool{false, true} {
		t.Run(fmt.Sprintf("compacted %v", compact), func(t *testing.T) {
			s := withCustomers(t, compact)
			dir := harness.BackUp(t, s)
			digest := s.Node.Log.Prefix().Base().Digest.String()
			list := []wire.ErasedDocument{{Erasure: 90, Collection: "customers", ID: "made-later"}, {Erasure: 95, Collection: "customers", ID: "ann"},
				{Erasure: 99, Collection: "customers", ID: "ann", Members: []string{"/email"}}}
			if _, err := harness.Restore(t.Context(), dir, transfer.RestoreConfig{NATS: "nats://127.0.0.1:1", Erasures: list}); fanfold.CodeOf(err) != fanfold.Invalid {
				t.Errorf("onto servers: %v", err)
			}
			data := filepath.Join(t.TempDir(), "data")
			if _, err := harness.Restore(t.Context(), dir, transfer.RestoreConfig{Data: data, Erasures: list}); err != nil {
				t.Fatal(err)
			}
			if err := forget.CheckErasedFirst(data); fanfold.CodeOf(err) != fanfold.Conflict {
				t.Errorf("before its start: %v", err)
			}
			restored := harness.Open(t, harness.Options{Dir: data, Configure: quickPurge})
			defer func() { restored.Close() }()
			awaitReady(t, restored)
			restored.Want(http.StatusNotFound, "GET", "/v1/customers/ann", "")
			restored.Want(http.StatusOK, "GET", "/v1/customers/bob", "")
			if err := forget.CheckErasedFirst(data); err != nil {
				t.Error(err)
			}
			requireForgotten(t, data)
			restored = restored.Reopen()
			restored.Want(http.StatusNotFound, "GET", "/v1/customers/ann", "")
			requireForgotten(t, data)
			if found := filesWith(t, data, digest); compact && len(found) > 0 {
				t.Errorf("the digest of what went before it was erased is in %s", strings.Join(found, ", "))
			}
			restored.CatchUp()
			restored.Verify()
			restored.Compact(restored.Node.Store.Applied.Seq())
			restored = restored.Reopen()
			restored.CatchUp()
			restored.Verify()
		})
	}
}

// awaitDeleted waits until a restored store has deleted what stands in the place of erased messages, and has put its base into a new object store.
func awaitDeleted(t *testing.T, s *harness.Store) {
	t.Helper()
	for end := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
		left, residue, err := s.Node.Log.Prefix().Unerased(t.Context())
		if err == nil && left == 0 && !residue {
			_, inForce := s.Node.Log.Prefix().Erasures()
			if erased, err := buckets.NewSnapshots(s.Node.Log).Erased(t.Context(), uint64(inForce)); err == nil && erased {
				return
			}
		}
		if time.Now().After(end) {
			t.Fatalf("%d messages are left, %v, %v", left, residue, err)
		}
	}
}

// awaitReady waits until a restored store has erased what it must not show. Before that it answers nothing but how it stands.
func awaitReady(t *testing.T, s *harness.Store) {
	t.Helper()
	for end := time.Now().Add(time.Minute); ; time.Sleep(5 * time.Millisecond) {
		document, err := s.Do("GET", "/v1/customers/ann", nil)
		if err != nil || document.Status == http.StatusOK {
			t.Fatalf("%+v, %v", document, err)
		}
		ready, err := s.Do("GET", "/readyz", nil)
		if err != nil {
			t.Fatal(err)
		}
		if ready.Status == http.StatusOK {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("%s", ready.Body)
		}
	}
}

// TestWithheld: a restored store that has yet to erase something answers probes and how it stands, and nothing else, and says why. Nobody reads its log
// meanwhile. It starts so again after an end.
func TestWithheld(t *testing.T) {
	s := withCustomers(t, false)
	dir, data := harness.BackUp(t, s), filepath.Join(t.TempDir(), "data")
	list := []wire.ErasedDocument{{Erasure: 90, Collection: "customers", ID: "ann"}}
	if _, err := harness.Restore(t.Context(), dir, transfer.RestoreConfig{Data: data, Erasures: list}); err != nil {
		t.Fatal(err)
	}
	readers := func(cfg *node.Config) { cfg.NATSListen = "127.0.0.1:0" }
	if n, err := harness.Start(t, harness.Options{Dir: data, Configure: readers}); fanfold.CodeOf(err) != fanfold.Conflict {
		t.Errorf("with readers of the log: %v", err)
		if err == nil {
			n.Close()
		}
	}
	reached, goOn := make(chan struct{}, 100), make(chan struct{})
	hold := func(cfg *node.Config) {
		quickPurge(cfg)
		cfg.Steps.Erase = func(step string) error {
			if step != forget.StepCollected {
				return nil
			}
			reached <- struct{}{}
			select {
			case <-goOn:
			case <-t.Context().Done():
			}
			return nil
		}
	}
	restored := harness.Open(t, harness.Options{Dir: data, Configure: hold})
	<-reached
	for _, path := range []string{"/v1/customers/ann", "/v1/customers", "/v1/_export", "/v1/_changes?limit=1", "/v1/_backup", "/v1/_erasures", "/v1", "/v1/_model", "/openapi.json?model=true", "/v1/_groups", "/readyz"} {
		if r := restored.Want(http.StatusServiceUnavailable, "GET", path, ""); strings.Contains(string(r.Body), secret("ann")) || !strings.Contains(string(r.Body), "restored store erases") {
			t.Errorf("%s: %s", path, r.Body)
		}
	}
	restored.Want(http.StatusServiceUnavailable, "PUT", "/v1/customers/new", "{}")
	restored.Want(http.StatusServiceUnavailable, "POST", "/v1/_find", `{"text":"a"}`, "Content-Type", "application/json")
	for _, path := range []string{"/healthz", "/v1/_status", "/metrics"} {
		if r := restored.Want(http.StatusOK, "GET", path, ""); strings.Contains(string(r.Body), secret("ann")) {
			t.Errorf("%s: %s", path, r.Body)
		}
	}
	close(goOn)
	awaitReady(t, restored)
	requireForgotten(t, data)
	restored.Close()
}

// TestStatusOfOldBackup: the status names the last backup that was made where something was erased since, until there is another one.
func TestStatusOfOldBackup(t *testing.T) {
	s := withCustomers(t, false)
	old := func() *wire.ErasedBackup {
		t.Helper()
		var status wire.Status
		if err := json.Unmarshal(s.Want(http.StatusOK, "GET", "/v1/_status", "").Body, &status); err != nil {
			t.Fatal(err)
		}
		return status.History.Backup
	}
	dir := filepath.Join(t.TempDir(), "backup")
	addBackup(t, s, dir)
	last := s.Node.Store.Applied.Seq()
	if b := old(); b != nil {
		t.Errorf("before the erasure: %+v", b)
	}
	erase(t, s, "/v1/customers/ann")
	if b := old(); b == nil || !strings.HasPrefix(b.Last, fmt.Sprint(last, "-")) || b.Erasure <= last || b.Time.IsZero() {
		t.Errorf("after the erasure: %+v, want the backup up to event %d", b, last)
	}
	addBackup(t, s, dir)
	if b := old(); b != nil {
		t.Errorf("after another backup: %+v", b)
	}
}

// TestReadErasures: a file of erasures has a line for each document, and everything else is refused.
func TestReadErasures(t *testing.T) {
	list, err := forget.ReadErasures(strings.NewReader("\ufeff" + `{"erasure":7,"collection":"a","id":"1"}` + "\n\n" + `{"erasure":9,"collection":"a","id":"2","members":["/email"]}` + "\n"))
	if err != nil || len(list) != 2 || list[0].ID != "1" || list[1].Members[0] != "/email" {
		t.Errorf("%+v, %v", list, err)
	}
	for _, bad := range []string{"x", `{"collection":"a"}`, `{"collection":"a","id":"1","members":["email"]}`, `{"collection":"a","id":"1","other":1}`,
		`[]`, `{"collection":"","id":"1"}`, `{"collection":"a","id":"` + strings.Repeat("x", 2<<20) + `"}`} {
		if _, err := forget.ReadErasures(strings.NewReader(bad)); fanfold.CodeOf(err) != fanfold.Invalid {
			t.Errorf("%s: %v", fanfold.Clip(bad), err)
		}
	}
	if _, err := forget.ReadErasures(strings.NewReader(strings.Repeat("{\"collection\":\"a\",\"id\":\"1\"}\n", forget.MaxErasuresRead+1))); fanfold.CodeOf(err) != fanfold.Invalid {
		t.Errorf("too many lines: %v", err)
	}
}
