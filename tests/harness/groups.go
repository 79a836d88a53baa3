package harness

import (
	"encoding/json"
	"fmt"
	"net/http"
	"testing"
	"time"
)

// GroupLease is a lease as _lease gives it.
type GroupLease struct {
	Partition         int
	Token, Checkpoint string
	Expires           time.Time
}

// Lease asks for a member's leases.
func Lease(t *testing.T, s *Client, group, member string) (leases []GroupLease) {
	t.Helper()
	r := s.Want(http.StatusOK, "POST", "/v1/_groups/"+group+"/_lease", fmt.Sprintf(`{"member":%q}`, member))
	var out struct{ Leases []GroupLease }
	if err := json.Unmarshal(r.Body, &out); err != nil {
		t.Fatal(err)
	}
	for i := range out.Leases {
		out.Leases[i].Checkpoint = Bare(out.Leases[i].Checkpoint)
	}
	return out.Leases
}

// GroupState is a group as it is described.
type GroupState struct {
	Lag     GroupLag
	Members []struct{ Member string }
	Parts   []struct {
		Partition         int
		Owner, Checkpoint string
		Lag               GroupLag
		Attempts, Parked  int
		Error             string
		NotBefore         *time.Time
	} `json:"partitions"`
}

// GroupLag is how far a group is from the end of the feed.
type GroupLag struct {
	Changes *int64
	Seconds *float64
}

// DescribeGroup describes a group.
func DescribeGroup(t *testing.T, s *Client, group string) (out GroupState) {
	t.Helper()
	if err := json.Unmarshal(s.Want(http.StatusOK, "GET", "/v1/_groups/"+group, "").Body, &out); err != nil {
		t.Fatal(err)
	}
	for i := range out.Parts {
		out.Parts[i].Checkpoint = Bare(out.Parts[i].Checkpoint)
	}
	return out
}

// GroupChanges reads the changes of a lease.
func GroupChanges(t *testing.T, s *Client, group string, l GroupLease, query string) (ids []string, last string) {
	t.Helper()
	r := s.Want(http.StatusOK, "GET", fmt.Sprintf("/v1/_groups/%s/_changes?partition=%d&token=%s%s", group, l.Partition, l.Token, query), "")
	var out struct {
		Results []Change
		LastSeq string `json:"last_seq"`
	}
	if err := json.Unmarshal(r.Body, &out); err != nil {
		t.Fatal(err)
	}
	for _, row := range out.Results {
		ids = append(ids, row.ID)
	}
	return ids, Bare(out.LastSeq)
}

// Settle acknowledges a batch, or says that it failed.
func Settle(s *Client, status int, how, group string, l GroupLease, position string) *Response {
	more := ""
	if how == "_nack" {
		more = `,"error":"it broke"`
	}
	return s.Want(status, "POST", "/v1/_groups/"+group+"/"+how, BatchOf(l, position, more))
}

// BatchOf returns a body that names a batch, with more members.
func BatchOf(l GroupLease, position, more string) string {
	return fmt.Sprintf(`{"partition":%d,"token":%q,"position":%q%s}`, l.Partition, l.Token, position, more)
}
