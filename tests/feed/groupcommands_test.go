package feed_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/fanfold/fanfold/tests/harness"
	"github.com/fanfold/fanfold/tests/natsserver"
)

// TestGroupCommands: what the API does with groups, the commands do.
func TestGroupCommands(t *testing.T) {
	t.Parallel()
	s := harness.OpenTemp(t, "")
	s.Put("books", "b", `{}`)
	run := func(want string, args ...string) string {
		t.Helper()
		out, err := harness.RunProgram(t, append(append([]string{"group"}, args...), "--server", s.URL)...)
		if err != nil || !strings.Contains(out, want) {
			t.Fatalf("group %v: %v, %s; want %q", args, err, out, want)
		}
		return out
	}
	run("group is there: g", "create", "g", "--partitions", "1", "--max-attempts", "1", "--lease", "1m")
	run("g     1           all   1m0s", "list")
	run("1 partitions, 0 members, behind by 1 changes", "describe", "g")
	run("0         0       -\n", "describe", "g") // no error
	l := harness.Lease(t, s.Client, "g", "m")[0]
	harness.Settle(s.Client, http.StatusNoContent, "_nack", "g", l, "1-0")
	run(`0-1    0-0`, "parked", "g")
	if out, err := harness.RunProgram(t, "status", "--server", s.URL); err != nil || !strings.Contains(out, "\nneeds       1 parked batch of g: They failed") {
		t.Errorf("%v, the status is %s", err, out)
	}
	run("to be given again: g 0-1", "retry", "g", "0-1")
	run("dropped g 0-1", "drop", "g", "0-1")
	if out, err := harness.RunProgram(t, "group", "reset", "g", "--to", "0", "--server", s.URL); err == nil || !strings.Contains(out, "member m holds the lease") {
		t.Fatalf("a reset while a lease is held: %v, %s", err, out)
	}
	run("reset g", "reset", "g", "--to", "0", "--force")
	var list struct{ Groups []struct{ Name string } }
	if err := json.Unmarshal([]byte(run("", "list", "--json")), &list); err != nil || len(list.Groups) != 1 {
		t.Fatalf("as JSON the list is %+v, %v", list, err)
	}
	run(`"checkpoint": "0-0-`, "describe", "g", "--json")
	run("deleted g", "delete", "g")
	if out, err := harness.RunProgram(t, "group", "describe", "g", "--server", s.URL); err == nil || !strings.Contains(out, "there is no group") {
		t.Fatalf("a group that was deleted: %v, %s", err, out)
	}
}

// TestGroupOnThreeServers: on three NATS servers the groups have as many replicas as the log, and leases and acknowledgements
// hold while the server that leads is stopped.
func TestGroupOnThreeServers(t *testing.T) {
	t.Parallel()
	cluster := natsserver.StartCluster(t, 3, false)
	url := strings.Join(cluster.URLs(), ",")
	s := harness.Open(t, harness.Options{Dir: t.TempDir(), NATS: url, Replicas: 3})
	defer s.Close()
	harness.AwaitReady(t, s, http.StatusOK)
	last := s.Put("books", "b", `{}`).Header.Get("Fanfold-Position")
	s.Want(http.StatusCreated, "PUT", "/v1/_groups/g", `{"partitions":6,"lease":"1h"}`)
	leases := harness.Lease(t, s.Client, "g", "m")
	for i, l := range leases {
		if i < 3 {
			harness.Settle(s.Client, http.StatusNoContent, "_ack", "g", l, last)
			continue
		}
		if i == 3 {
			cluster.Stop(0)
		}
		// Until the servers have another leader, which on a busy machine takes longer than a write waits, they answer nothing.
		harness.Await(t, "an acknowledgement", time.Minute, func() bool {
			r, err := s.Do("POST", "/v1/_groups/g/_ack", []byte(harness.BatchOf(l, last, "")))
			if err != nil || r.Status != http.StatusNoContent && r.Status != http.StatusServiceUnavailable {
				t.Fatalf("an acknowledgement: %v %+v", err, r)
			}
			return r.Status == http.StatusNoContent
		})
	}
	if d := harness.DescribeGroup(t, s.Client, "g"); len(leases) != 6 || fmt.Sprint(*d.Lag.Changes, d.Parts[5].Checkpoint, d.Parts[5].Owner) != fmt.Sprint(0, harness.Bare(last), "m") {
		t.Errorf("the group is %+v", d)
	}
}
