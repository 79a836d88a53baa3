package feed_test

import (
	"net/http"
	"strconv"
	"testing"

	"github.com/fanfold/fanfold/tests/harness"
)

// TestLagOfFilteredGroup: the lag of a group with a filter counts the rows that it can still give, also where a document leaves.
func TestLagOfFilteredGroup(t *testing.T) {
	s := harness.OpenTemp(t, "")
	lag := func() (changes string) {
		t.Helper()
		var d struct{ Lag struct{ Changes *int64 } }
		harness.Decode(t, s.Want(http.StatusOK, "GET", "/v1/_groups/g", "").Body, &d)
		if d.Lag.Changes == nil {
			return "not known"
		}
		return strconv.FormatInt(*d.Lag.Changes, 10)
	}
	s.Want(http.StatusCreated, "PUT", "/v1/_groups/g", `{"partitions":3,"mode":"all","since":"0","filter":"doc.n > 1"}`)
	harness.WantText(t, lag(), "0")
	for i := range 5 {
		s.Put("notes", strconv.Itoa(i), `{"n":`+strconv.Itoa(i)+`}`)
	}
	harness.WantText(t, lag(), "3")
	s.Put("notes", "4", `{"n":0}`)
	harness.WantText(t, lag(), "4")
	for _, l := range harness.Lease(t, s.Client, "g", "m") {
		r := s.Want(http.StatusOK, "GET", "/v1/_groups/g/_changes?partition="+strconv.Itoa(l.Partition)+"&token="+l.Token, "")
		var page struct {
			LastSeq string `json:"last_seq"`
		}
		harness.Decode(t, r.Body, &page)
		s.Want(http.StatusNoContent, "POST", "/v1/_groups/g/_ack", harness.BatchOf(l, page.LastSeq, ""))
	}
	harness.WantText(t, lag(), "0")
}
