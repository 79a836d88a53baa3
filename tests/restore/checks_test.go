package restore_test

import (
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fanfold/fanfold/tests/harness"
)

// TestChecksAfterRestore: in a restored store checks count as before. Gates go on after the backup's.
func TestChecksAfterRestore(t *testing.T) {
	s := open(t, harness.Options{Dir: t.TempDir()})
	s.Model(`collections: {events: {derive: {sold: {sum: orders.event, of: n}}, checks: {few: {that: doc.sold <= 3}}}, orders: {relations: {event: {path: event, to: events}}}}`)
	s.Put("events", "e", `{}`)
	s.Put("orders", "o1", `{"event":"e","n":1}`)
	s.Put("orders", "o2", `{"event":"e","n":1}`)
	dir := filepath.Join(t.TempDir(), "backup")
	addBackup(t, s, dir)
	data, _ := restore(t, dir, "")
	restored := open(t, harness.Options{Dir: data})
	if r := restored.Want(http.StatusUnprocessableEntity, http.MethodPut, "/v1/orders/o3", `{"event":"e","n":2}`); !strings.Contains(string(r.Body), "events/e few") {
		t.Errorf("the refusal is %s", r.Body)
	}
	restored.Put("orders", "o3", `{"event":"e","n":1}`)
	restored.WantDoc("events", "e", `{"id":"e","sold":3}`)
}
