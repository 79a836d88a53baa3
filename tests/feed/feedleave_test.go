package feed_test

import (
	"bufio"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/fanfold/fanfold/tests/harness"
	"github.com/fanfold/fanfold/tests/suite"
)

// opsOf returns what rows do to which documents.
func opsOf(rows []harness.Change) string {
	var list []string
	for _, row := range rows {
		list = append(list, row.Op+" "+row.ID)
	}
	return strings.Join(list, ", ")
}

// TestFilteredFeedTellsWhatLeaves: a follower with a filter is told of a document that ceases to match and of one that is deleted. It
// hears of none that never matched, and never how a document looks after it left.
func TestFilteredFeedTellsWhatLeaves(t *testing.T) {
	s := harness.OpenTemp(t, harness.LeaveModel)
	s.Put("projects", "p2", `{"name":"two"}`)
	for _, id := range []string{"moves", "goes", "stays", "returns", "passes"} {
		s.Put("tickets", id, `{"project":"p2"}`)
	}
	s.Put("tickets", "other", `{"project":"p3"}`)
	_, since := s.Changes("since=now")
	s.Merge("tickets", "moves", `{"project":"p3"}`)
	s.Merge("tickets", "moves", `{"secret":1}`)
	s.Delete("tickets", "goes")
	s.Merge("tickets", "stays", `{"n":1}`)
	s.Merge("tickets", "returns", `{"project":"p3"}`)
	s.Merge("tickets", "returns", `{"project":"p2"}`)
	s.Delete("tickets", "passes")
	s.Put("tickets", "passes", `{"project":"p3"}`)
	s.Merge("tickets", "other", `{"n":1}`)
	s.Delete("tickets", "other")
	s.Put("projects", "p2", `{"name":"2"}`)
	inP2, named := url.QueryEscape("doc.project == 'p2'"), url.QueryEscape("doc.projectName == 'two'")
	for query, want := range map[string]string{
		"mode=all&filter=" + inP2:                           "leave moves, delete goes, patch stays, leave returns, patch returns, delete passes, derive stays, derive returns",
		"mode=latest&filter=" + inP2:                        "leave moves, delete goes, delete passes, derive stays, derive returns",
		"mode=all&derived=exclude&filter=" + inP2:           "leave moves, delete goes, patch stays, leave returns, patch returns, delete passes",
		"mode=latest&derived=exclude&filter=" + inP2:        "leave moves, delete goes, patch stays, patch returns, delete passes",
		"mode=latest&view=referenced&filter=" + inP2:        "leave moves, delete goes, delete passes, derive stays, derive returns",
		"mode=all&filter=" + named:                          "leave moves, delete goes, patch stays, leave returns, patch returns, delete passes, leave stays, leave returns",
		"mode=all&derived=exclude&filter=" + named:          "leave moves, delete goes, patch stays, leave returns, patch returns, delete passes",
		"mode=latest&filter=" + named:                       "leave moves, delete goes, leave returns, delete passes, leave stays, leave returns",
		"mode=all&view=referenced&filter=" + named:          "",
		"mode=all&filter=" + inP2 + "&collections=projects": "",
	} {
		rows, _ := s.Changes(query + "&include_docs=true&since=" + since)
		if got := opsOf(rows); got != want {
			t.Errorf("%s:\n%s, want\n%s", query, got, want)
		}
		if text := harness.Body(s, "/v1/_changes?"+query+"&include_docs=true&since="+since); strings.Contains(text, "secret") {
			t.Errorf("%s shows what has left: %s", query, text)
		}
	}
	first, _, _ := strings.Cut(harness.Body(s, "/v1/_changes?mode=all&include_docs=true&limit=1&filter="+inP2+"&since="+since), "\n]")
	if !regexp.MustCompile(`^\{"results":\[\n\{"seq":"[0-9a-z-]+","collection":"tickets","id":"moves","op":"leave","rev":\d+,"time":"[^"]+"\}$`).MatchString(first) {
		t.Errorf("a document leaves by %s", first)
	}
	if rows, _ := s.Changes("filter=" + inP2); opsOf(rows) != "derive stays, derive returns" {
		t.Errorf("who begins has nothing that could leave: %s", opsOf(rows))
	}
}

// TestFiltersOfChanges: what a filter says of the change does not make a document leave; the document alone does. If the
// filter has no value, nothing matches.
func TestFiltersOfChanges(t *testing.T) {
	s := harness.OpenTemp(t, harness.LeaveModel)
	s.Put("tickets", "t1", `{"status":"open","v":5}`)
	s.Put("tickets", "t2", `{"status":"open","v":"five"}`)
	s.Merge("tickets", "t1", `{"n":1}`)
	s.Merge("tickets", "t1", `{"status":"closed"}`)
	s.Merge("tickets", "t2", `{"v":1}`)
	s.Merge("tickets", "t1", `{"n":2}`)
	s.Delete("tickets", "t1")
	for filter, want := range map[string]string{
		"change.op == 'create'":                               "create t1, create t2",
		"doc.status == 'open' && change.op == 'create'":       "create t1, create t2",
		"doc.status == 'open' || change.op == 'delete'":       "create t1, create t2, patch t1, leave t1, patch t2, delete t1",
		"doc.status == 'open' && change.op != 'delete'":       "create t1, create t2, patch t1, leave t1, patch t2",
		"previous.status == 'open' && doc.status == 'closed'": "patch t1",
		"doc.status == 'open' || previous.status == 'open'":   "create t1, create t2, patch t1, patch t1, patch t2",
		"doc.v > 3": "create t1, patch t1, patch t1, patch t1, delete t1",
	} {
		if rows, _ := s.Changes("mode=all&filter=" + url.QueryEscape(filter)); opsOf(rows) != want {
			t.Errorf("%s:\n%s, want\n%s", filter, opsOf(rows), want)
		}
	}
}

// lineFeed is a feed of lines of JSON.
type lineFeed struct {
	t  *testing.T
	in *bufio.Scanner
}

// openLines opens a feed of lines, which ends with the test, or after a minute.
func openLines(t *testing.T, s *harness.Store, query string) *lineFeed {
	t.Helper()
	lines, _ := openStream(t, s, query)
	return &lineFeed{t, lines}
}

// until reads up to a line with a text.
func (l *lineFeed) until(text string) string {
	l.t.Helper()
	for l.in.Scan() {
		if strings.Contains(l.in.Text(), text) {
			return l.in.Text()
		}
	}
	l.t.Fatalf("no line with %s comes: %v", text, l.in.Err())
	return ""
}

// TestLeavesAreShared: consumers that follow one reading of the head are told of what leaves, and so is
// a consumer group, also of what it has not acknowledged.
func TestLeavesAreShared(t *testing.T) {
	suite.Concurrent(t)
	s := harness.OpenTemp(t, harness.LeaveModel)
	s.Put("tickets", "t", `{"project":"p2"}`)
	s.Want(http.StatusCreated, "PUT", "/v1/_groups/g", `{"partitions":1,"mode":"latest","filter":"doc.project == 'p2'"}`)
	held := harness.Lease(t, s.Client, "g", "m")[0]
	ids, _ := harness.GroupChanges(t, s.Client, "g", held, "")
	if fmt.Sprint(ids) != "[t]" {
		t.Fatalf("the group has %v", ids)
	}
	follow := func() *lineFeed {
		return openLines(t, s, "feed=continuous&heartbeat=100&mode=latest&filter="+url.QueryEscape("doc.project == 'p2'"))
	}
	consumers := []*lineFeed{follow(), follow(), follow()}
	for _, c := range consumers {
		c.until(`"op":"create"`)
		c.until(`{"last_seq"`) // at the head
	}
	s.Merge("tickets", "t", `{"project":"p3"}`)
	for _, c := range consumers {
		c.until(`"id":"t","op":"leave"`)
	}
	// The group has not acknowledged what its member may have handled: it is told that the document leaves.
	ids, last := harness.GroupChanges(t, s.Client, "g", held, "")
	if fmt.Sprint(ids) != "[t]" {
		t.Errorf("the group has %v", ids)
	}
	harness.Settle(s.Client, http.StatusNoContent, "_ack", "g", held, last)
}
