package feed_test

import (
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/fanfold/fanfold/tests/harness"
	"github.com/fanfold/fanfold/tests/suite"
)

// TestFeedsAcrossACompaction: feeds at the head go on as if nothing was, on every transport. One whose consumer has stopped reading before
// the horizon ends, and says where to begin; it skips nothing.
func TestFeedsAcrossACompaction(t *testing.T) {
	suite.Concurrent(t)
	suite.Parallel(t)
	const documents = 700 // more than the connections have room for
	s := harness.OpenTemp(t, "")
	random, text := rand.NewChaCha8([32]byte{34}), make([]byte, 20_000)
	for n := range documents {
		_, _ = random.Read(text) // never fails
		s.Put("books", fmt.Sprint("b", n), fmt.Sprintf(`{"n":%d,"text":"%s"}`, n, hex.EncodeToString(text)))
	}
	slow := map[string]*lineFeed{}
	for _, query := range []string{"", "&filter=" + url.QueryEscape("doc.n >= 0")} {
		slow[query] = openLines(t, s, "feed=continuous&mode=all&include_docs=true&since=0"+query)
		slow[query].until(`"id":"b0"`)
	}
	lines := map[string]*lineFeed{}
	for _, query := range []string{"mode=all", "mode=latest", "mode=all&filter=" + url.QueryEscape("doc.n == 7")} {
		lines[query] = openLines(t, s, "feed=continuous&heartbeat=100&since=now&"+query)
		lines[query].until(`{"last_seq"`)
	}
	events := harness.OpenSSE(t, s, "feed=eventsource&since=now")
	_, head := s.Changes("since=now")
	polled := make(chan []harness.Change, 1)
	go func() {
		rows, _ := s.Changes("feed=longpoll&timeout=60000&since=" + head)
		polled <- rows
	}()

	plan := s.Want(http.StatusOK, http.MethodPost, "/v1/_compact", fmt.Sprintf(`{"before":"%d","dryRun":true}`, s.Node.Store.Applied.Seq()), "Content-Type", "application/json").Body
	if !strings.Contains(string(plan), fmt.Sprintf(`"feeds":%d`, len(slow))) {
		t.Errorf("%d feeds are behind, and the plan is %s", len(slow), plan)
	}
	oldest := s.Compact(s.Node.Store.Applied.Seq())
	s.Put("books", "after", `{"n":7}`)
	for query, feed := range lines {
		if row := feed.until(`"id"`); !strings.Contains(row, `"id":"after"`) {
			t.Errorf("%s goes on with %s", query, row)
		}
	}
	if _, _, row, ok := events.Next(); !ok || row.ID != "after" {
		t.Errorf("the events go on with %+v, %t", row, ok)
	}
	if rows := <-polled; len(rows) != 1 || rows[0].ID != "after" {
		t.Errorf("the long poll has %v", rows)
	}
	for query, feed := range slow {
		feed.endsBefore(query, documents, oldest.String())
	}
}

// endsBefore reads a feed of numbered documents after 0 was read, up to its end before the last of them.
func (l *lineFeed) endsBefore(name string, documents int, oldest string) {
	l.t.Helper()
	for n := 1; l.in.Scan(); {
		switch line := l.in.Text(); {
		case strings.Contains(line, `"end":"position-gone"`):
			if n == documents || !strings.Contains(line, `"oldest":"`+oldest+`-`) {
				l.t.Errorf("feed %q ends after %d documents with %s, and the oldest position is %s", name, n, line, oldest)
			}
			return
		case strings.Contains(line, fmt.Sprintf(`"id":"b%d"`, n)):
			n++
		case strings.Contains(line, `"id"`):
			l.t.Fatalf("feed %q has %.200s where document %d comes", name, line, n)
		}
	}
	l.t.Errorf("feed %q ends without a word: %v", name, l.in.Err())
}
