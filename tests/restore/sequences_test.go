package restore_test

import (
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fanfold/fanfold/tests/harness"
)

// TestSequencesAfterRestore: a restored store goes on after the last numbers of the backup, deleted documents included.
func TestSequencesAfterRestore(t *testing.T) {
	s := open(t, harness.Options{Dir: t.TempDir(), Configure: quickPurge})
	s.Model(`collections: {orders: {sequences: {n: {}}}}`)
	s.Put("orders", "a", `{}`)
	s.Put("orders", "b", `{}`)
	s.Delete("orders", "b")
	dir := filepath.Join(t.TempDir(), "backup")
	addBackup(t, s, dir)
	s.Put("orders", "c", `{}`)
	for _, compacted := range []bool{false, true} {
		if compacted {
			s.Compact(s.Node.Store.Applied.Seq())
			dir = filepath.Join(t.TempDir(), "backup")
			addBackup(t, s, dir)
		}
		data, _ := restore(t, dir, "")
		restored := open(t, harness.Options{Dir: data})
		want := `{"id":"d","n":3}`
		if compacted {
			want = `{"id":"d","n":4}`
		}
		restored.Put("orders", "d", `{}`)
		restored.WantDoc("orders", "d", want)
	}
}

// TestErasedValueOfPer: once the documents with a personal value of per are erased, no file and no list has it, and their numbers do not come
// again.
func TestErasedValueOfPer(t *testing.T) {
	dir := t.TempDir()
	s := open(t, harness.Options{Dir: dir, Configure: quickPurge})
	s.Model(`collections: {orders: {sequences: {n: {per: doc.email}}}}`)
	s.Put("orders", "a", `{"email":"`+secret("ann")+`"}`)
	s.Put("orders", "b", `{"email":"bob"}`)
	if r := s.Want(http.StatusOK, "GET", "/v1/_sequences", ""); !strings.Contains(string(r.Body), secret("ann")) {
		t.Fatalf("the sequences are %s", r.Body)
	}
	erase(t, s, "/v1/orders/a")
	for _, path := range []string{"/v1/_sequences", "/v1/_export"} {
		if r := s.Want(http.StatusOK, "GET", path, ""); strings.Contains(string(r.Body), secret("ann")) || strings.Count(string(r.Body), `"last":1`) != 2 {
			t.Errorf("after the erasure %s has %s", path, r.Body)
		}
	}
	if found := filesWith(t, dir, secret("ann")); len(found) > 0 {
		t.Errorf("after the erasure it is in %v", found)
	}
	s.Put("orders", "c", `{"email":"`+secret("ann")+`"}`)
	s.WantDoc("orders", "c", `{"id":"c","email":"`+secret("ann")+`","n":2}`)
}
