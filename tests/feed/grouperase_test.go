package feed_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/fanfold/fanfold/node"
	"github.com/fanfold/fanfold/tests/harness"
)

// erasedName is what customers/ann says, and others show.
const erasedName = "geheim"

// opsGiven reads what a group gives of a lease, without erasedName, and returns what it does to which documents.
func opsGiven(t *testing.T, s *harness.Store, group string, l harness.GroupLease) (ops, last string) {
	t.Helper()
	r := s.Want(http.StatusOK, "GET", fmt.Sprintf("/v1/_groups/%s/_changes?partition=%d&token=%s&include_docs=true", group, l.Partition, l.Token), "")
	if strings.Contains(string(r.Body), erasedName) {
		t.Errorf("the group %s gives what is erased: %s", group, r.Body)
	}
	var out struct {
		Results []harness.Change
		LastSeq string `json:"last_seq"`
	}
	harness.Decode(t, r.Body, &out)
	var list []string
	for _, row := range out.Results {
		list = append(list, row.Op+" "+row.ID)
	}
	return strings.Join(list, ", "), harness.Bare(out.LastSeq)
}

// TestGroupsAcrossAnErasure: groups go on after it, and give nothing of what is erased, in a parked batch that is given again, either. The texts of consumers'
// errors are gone.
func TestGroupsAcrossAnErasure(t *testing.T) {
	t.Parallel()
	s := harness.Open(t, harness.Options{Dir: t.TempDir(), Configure: func(cfg *node.Config) { cfg.PurgeWait = time.Millisecond }})
	t.Cleanup(s.Close)
	s.Model(`collections: {customers: {}, orders: {relations: {customer: {path: customer, to: customers, onDelete: keep}}, derive: {name: {copy: customer, value: doc.name}}}}`)
	s.Put("customers", "ann", `{"name":"`+erasedName+`"}`)
	s.Put("orders", "o", `{"customer":"ann"}`)
	leases := map[string]harness.GroupLease{}
	for group, more := range map[string]string{"parked": `"maxAttempts":1`, "filtered": `"filter":"doc.name == '` + erasedName + `'"`, "late": `"lease":"1h"`} {
		s.Want(http.StatusCreated, "PUT", "/v1/_groups/"+group, `{"partitions":1,`+more+`}`)
		leases[group] = harness.Lease(t, s.Client, group, "m")[0]
		ids, last := harness.GroupChanges(t, s.Client, group, leases[group], "")
		if fmt.Sprint(ids) != "[ann o]" {
			t.Fatalf("the group %s gives %v", group, ids)
		}
		switch group {
		case "parked":
			s.Want(http.StatusNoContent, "POST", "/v1/_groups/parked/_nack", harness.BatchOf(leases[group], last, `,"error":"nobody is called `+erasedName+`"`))
		case "filtered":
			harness.Settle(s.Client, http.StatusNoContent, "_ack", group, leases[group], last)
		}
	}
	if text := string(s.Want(http.StatusOK, "GET", "/v1/_groups/parked/_parked", "").Body); !strings.Contains(text, erasedName) {
		t.Fatalf("parked is %s", text)
	}
	s.Erased(s.Want(http.StatusAccepted, "POST", "/v1/customers/ann/_erase", "{}").Header.Get("Location"))

	if text := string(s.Want(http.StatusOK, "GET", "/v1/_groups/parked/_parked", "").Body); strings.Contains(text, erasedName) || !strings.Contains(text, `"id":"0-1"`) {
		t.Errorf("after the erasure parked is %s", text)
	}
	s.Put("orders", "after", `{"customer":"ann"}`)
	for group, want := range map[string]string{
		"parked":   "delete ann, erase ann, derive o, create after",
		"filtered": "erase ann, leave o", // before the delete it is as if the document had never matched,
		"late":     "create ann, create o, delete ann, erase ann, derive o, create after",
	} {
		got, last := opsGiven(t, s, group, leases[group])
		if got != want {
			t.Errorf("the group %s gives %s, want %s", group, got, want)
		}
		harness.Settle(s.Client, http.StatusNoContent, "_ack", group, leases[group], last)
	}
	s.Want(http.StatusNoContent, "POST", "/v1/_groups/parked/_parked/0-1/_retry", "")
	got, last := opsGiven(t, s, "parked", leases["parked"])
	if got != "create ann, create o" {
		t.Errorf("the parked batch is given again as %s", got)
	}
	harness.Settle(s.Client, http.StatusNoContent, "_ack", "parked", leases["parked"], last)
	if d := harness.DescribeGroup(t, s.Client, "parked").Parts[0]; d.Parked != 0 {
		t.Errorf("%d batches are parked", d.Parked)
	}
	for group, lease := range leases {
		if got, _ := opsGiven(t, s, group, lease); got != "" {
			t.Errorf("the group %s gives %s once more", group, got)
		}
	}
}
