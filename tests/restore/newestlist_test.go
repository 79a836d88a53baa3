package restore_test

import (
	"fmt"
	"net/http"
	"path/filepath"
	"testing"
	"time"

	"github.com/fanfold/fanfold/backup/transfer"
	"github.com/fanfold/fanfold/internal/wire"
	"github.com/fanfold/fanfold/tests/harness"
	"github.com/fanfold/fanfold/tests/suite"
)

// exported returns the list of all erasures of a store.
func exported(t *testing.T, s *harness.Store) (list []wire.ErasedDocument) {
	t.Helper()
	err := s.Node.Forget.Eraser.EachErased(t.Context(), func(d wire.ErasedDocument) error {
		list = append(list, d)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// awaitServing waits until a store answers for a document, and wants a status.
func awaitServing(t *testing.T, s *harness.Store, status int, path string) {
	t.Helper()
	harness.Await(t, "the restored store to serve", time.Minute, func() bool {
		r, err := s.Do("GET", path, nil)
		return err == nil && r.Status == status
	})
}

// TestNewestBackupAndList restores the newest backup with the newest list. A customer who was erased before the backup and made anew is
// there, and everything that was erased later is gone.
func TestNewestBackupAndList(t *testing.T) {
	suite.Parallel(t)
	for _, compact := range []bool{false, true} {
		t.Run(fmt.Sprintf("compacted %v", compact), func(t *testing.T) {
			suite.Parallel(t)
			s := withCustomers(t, false)
			erase(t, s, "/v1/customers/ann")
			s.Put("customers", "ann", `{"name":"anew"}`)
			s.CatchUp()
			if compact { // the erase event goes, and its document is in the base
				s.Compact(s.Node.Store.Applied.Seq())
			}
			s.Put("orders", "ann2", `{"customerId":"ann"}`)
			dir := harness.BackUp(t, s)
			erase(t, s, "/v1/customers/bob")
			list := exported(t, s)
			if len(list) != 2 {
				t.Fatalf("the list is %+v", list)
			}
			data := filepath.Join(t.TempDir(), "data")
			if _, err := harness.Restore(t.Context(), dir, transfer.RestoreConfig{Data: data, Erasures: list}); err != nil {
				t.Fatal(err)
			}
			restored := harness.Open(t, harness.Options{Dir: data, Configure: quickPurge})
			defer func() { restored.Close() }()
			awaitServing(t, restored, http.StatusOK, "/v1/customers/ann")
			restored.Want(http.StatusNotFound, "GET", "/v1/customers/bob", "")
			if found := filesWith(t, data, secret("bob")); len(found) > 0 {
				t.Errorf("bob is in %v", found)
			}
			restored.CatchUp()
			restored.Verify()

			s.Put("customers", "bob", `{"name":"anew"}`)
			erase(t, s, "/v1/customers/ann") // for the second time, after the backup
			data = filepath.Join(t.TempDir(), "data")
			if _, err := harness.Restore(t.Context(), dir, transfer.RestoreConfig{Data: data, Erasures: exported(t, s)}); err != nil {
				t.Fatal(err)
			}
			again := harness.Open(t, harness.Options{Dir: data, Configure: quickPurge})
			defer func() { again.Close() }()
			awaitServing(t, again, http.StatusNotFound, "/v1/customers/ann")
			again.Want(http.StatusNotFound, "GET", "/v1/customers/bob", "")
			again.Want(http.StatusOK, "GET", "/v1/orders/ann2", "")
		})
	}
}
