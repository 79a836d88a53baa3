package feed_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/fanfold/fanfold/node"
	"github.com/fanfold/fanfold/tests/harness"
	"github.com/fanfold/fanfold/tests/suite"
)

// TestGroupBeforeTheHorizon: a group with one partition that is late holds a compaction up, and is named. If it is forced, that partition has
// nothing until it is reset, while the other goes on.
func TestGroupBeforeTheHorizon(t *testing.T) {
	t.Parallel()
	s := harness.Open(t, harness.Options{Dir: t.TempDir(), Configure: func(cfg *node.Config) { cfg.PurgeWait = time.Millisecond }})
	t.Cleanup(s.Close)
	for i := range 20 {
		s.Put("books", fmt.Sprint("b", i), `{}`)
	}
	s.Want(http.StatusCreated, "PUT", "/v1/_groups/late", `{"partitions":2,"lease":"1h"}`)
	s.Want(http.StatusCreated, "PUT", "/v1/_groups/through", `{"partitions":1,"since":"now"}`)
	held := harness.Lease(t, s.Client, "late", "m")
	_, last := harness.GroupChanges(t, s.Client, "late", held[0], "")
	harness.Settle(s.Client, http.StatusNoContent, "_ack", "late", held[0], last)
	before := fmt.Sprintf(`{"before":"%d"`, s.Node.Store.Applied.Seq())
	refused := s.Want(http.StatusConflict, "POST", "/v1/_compact", before+`}`)
	if text := string(refused.Body); !strings.Contains(text, "late") || strings.Contains(text, "through") {
		t.Errorf("it is refused with %s", text)
	}
	s.Want(http.StatusAccepted, "POST", "/v1/_compact", before+`,"force":true}`)
	oldest := s.Compacted()
	for end := time.Now().Add(suite.Deadline(time.Minute)); s.Node.Forget.Compactor.Compaction().Phase != "done"; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("the log is not purged: %+v", s.Node.Forget.Compactor.Compaction())
		}
	}
	s.Put("books", "after", `{}`)
	next := s.Want(http.StatusConflict, "POST", "/v1/_compact", fmt.Sprintf(`{"before":"%d"}`, s.Node.Store.Applied.Seq()))
	if !strings.Contains(string(next.Body), "late") {
		t.Errorf("the next one is refused with %s", next.Body)
	}

	read := func(l harness.GroupLease) string {
		return fmt.Sprintf("/v1/_groups/late/_changes?partition=%d&token=%s", l.Partition, l.Token)
	}
	gone := s.Want(http.StatusGone, "GET", read(held[1]), "")
	if !strings.Contains(string(gone.Body), "position-gone") || !strings.Contains(string(gone.Body), `"oldest":"`+oldest.String()) {
		t.Errorf("the late partition has %s", gone.Body)
	}
	s.Want(http.StatusOK, "GET", read(held[0]), "")
	s.Want(http.StatusNoContent, "POST", "/v1/_groups/late/_release", `{"member":"m"}`)
	s.Want(http.StatusGone, "POST", "/v1/_groups/late/_reset", `{"to":"1"}`)
	s.Want(http.StatusNoContent, "POST", "/v1/_groups/late/_reset", `{"to":"`+oldest.String()+`"}`)
	var ids []string
	for _, l := range harness.Lease(t, s.Client, "late", "m") {
		some, last := harness.GroupChanges(t, s.Client, "late", l, "")
		if ids = append(ids, some...); len(some) > 0 {
			harness.Settle(s.Client, http.StatusNoContent, "_ack", "late", l, last)
		}
	}
	if fmt.Sprint(ids) != "[after]" {
		t.Errorf("after the reset it has %v", ids)
	}
}
