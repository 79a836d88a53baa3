package restore_test

import (
	"fmt"
	"net/http"
	"path/filepath"
	"testing"

	"github.com/fanfold/fanfold/backup"
	"github.com/fanfold/fanfold/backup/transfer"
	"github.com/fanfold/fanfold/tests/harness"
)

// TestBackupBetweenErasures: a backup that was continued after an erasure of members has nothing of the document once that is erased as a whole. Restored up to any
// erasure it is a whole store.
func TestBackupBetweenErasures(t *testing.T) {
	s := withCustomers(t, false)
	dir := filepath.Join(t.TempDir(), "backup")
	addBackup(t, s, dir)
	r := s.Want(http.StatusAccepted, "POST", "/v1/_erase", `{"documents":[{"collection":"customers","id":"ann"},{"collection":"customers","id":"bob"}],"members":["/email"]}`,
		"Content-Type", "application/json")
	s.Erased(r.Header.Get("Location"))
	addBackup(t, s, dir)
	b, err := backup.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	first := b.Erasure
	erase(t, s, "/v1/customers/ann")
	addBackup(t, s, dir)
	requireForgotten(t, dir)
	if b, err = backup.Open(dir); err == nil {
		err = b.Check(t.Context(), nil)
	}
	if err != nil || b.Erasure <= first {
		t.Fatalf("the backup knows the erasure %d after %d, %v", b.Erasure, first, err)
	}
	for _, to := range []uint64{first, b.Erasure, b.Position} {
		data := filepath.Join(t.TempDir(), "data")
		if _, err := harness.Restore(t.Context(), dir, transfer.RestoreConfig{Data: data, To: fmt.Sprint(to)}); err != nil {
			t.Fatalf("--to %d: %v", to, err)
		}
		restored := harness.Open(t, harness.Options{Dir: data, Configure: quickPurge})
		restored.AllErased()
		restored.CatchUp()
		requireForgotten(t, data)
		restored.Want(http.StatusOK, "GET", "/v1/customers/bob", "")
		report, err := restored.Node.VerifyLog(t.Context(), nil)
		if err != nil || report.Err() != nil {
			t.Errorf("--to %d, the log: %+v, %v", to, report, err)
		}
		restored.Verify()
		restored.Close()
	}
}
