package api_test

import (
	"bytes"
	"fmt"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil/promlint"

	"github.com/fanfold/fanfold/tests/harness"
	"github.com/fanfold/fanfold/tests/suite"
)

// useEverything makes a node use each of its metrics: it writes, conflicts, follows and makes a group.
func useEverything(t *testing.T, s *harness.Store) {
	t.Helper()
	s.Model("collections: {books: {indexes: {byAuthor: [author.id]}, relations: {author: {path: author.id, to: authors}}, derive: {author.name: {copy: author, value: doc.name}}}, authors: {access: {read: {roles: [read, write], where: 'true'}, write: [write]}}}\nfunctions: {fails: {source: \"export default (ctx) => ctx.fail('no')\"}}")
	s.Put("authors", "a", `{"name":"A"}`)
	for i := range 5 {
		s.Put("books", strconv.Itoa(i), `{"author":{"id":"a"}}`)
	}
	s.Put("authors", "a", `{"name":"B"}`)
	s.Want(http.StatusPreconditionFailed, "PUT", "/v1/authors/a", `{}`, "If-Match", `"1.1-0"`)
	s.Want(http.StatusCreated, "PUT", "/v1/_groups/index", `{"partitions":2,"since":"0"}`)
	s.Want(http.StatusOK, "GET", "/v1/_changes?since=0", "")
	s.Want(http.StatusOK, "GET", "/v1/books?sort=author.id", "")
	s.Want(http.StatusNotFound, "GET", "/nowhere", "")
	s.Want(http.StatusUnprocessableEntity, "POST", "/v1/_functions/fails", "")
}

// awaitGroupMetrics waits until the metrics have figures of a group, for which a node asks at intervals, and not for long at a
// time, and returns them.
func awaitGroupMetrics(t *testing.T, c *harness.Client) (text []byte) {
	t.Helper()
	harness.Await(t, "the group's figures", time.Minute, func() bool {
		text = c.Want(http.StatusOK, "GET", "/metrics", "").Body
		return bytes.Contains(text, []byte("fanfold_group_lag_seconds{"))
	})
	return text
}

// TestMetricsAreDocumented: the metrics follow Prometheus's conventions, and docs/run/observability.md lists exactly those that
// there are, with their types and labels.
func TestMetricsAreDocumented(t *testing.T) {
	t.Parallel()
	s, _ := harness.OpenTLS(t, harness.Options{Sync: true})
	useEverything(t, s)
	text := awaitGroupMetrics(t, s.Client)
	problems, err := promlint.New(bytes.NewReader(text)).Lint()
	if err != nil || len(problems) > 0 {
		t.Errorf("%v, %v", problems, err)
	}
	doc, err := os.ReadFile("../../docs/run/observability.md")
	if err != nil {
		t.Fatal(err)
	}
	var documented, there []string
	for _, row := range regexp.MustCompile("(?m)^\\| `(fanfold_\\w+)(?:\\{([\\w,]+)\\})?` \\| (\\w+) \\|").FindAllStringSubmatch(string(doc), -1) {
		labels := strings.FieldsFunc(row[2], func(r rune) bool { return r == ',' })
		documented = append(documented, fmt.Sprint(row[1], " ", row[3], " ", labels))
	}
	labelNames := regexp.MustCompile(`(\w+)="`)
	for _, m := range regexp.MustCompile(`(?m)^# TYPE (fanfold_\w+) (\w+)\n(.*)$`).FindAllStringSubmatch(string(text), -1) {
		labels := []string{}
		for _, l := range labelNames.FindAllStringSubmatch(m[3], -1) {
			if l[1] != "le" {
				labels = append(labels, l[1])
			}
		}
		there = append(there, fmt.Sprint(m[1], " ", m[2], " ", labels))
	}
	slices.Sort(documented)
	slices.Sort(there)
	if !slices.Equal(documented, there) {
		t.Errorf("documented are\n%s\nthere are\n%s", strings.Join(documented, "\n"), strings.Join(there, "\n"))
	}
}

// TestMetricsSayWhatHappened: what a node did is in its metrics.
func TestMetricsSayWhatHappened(t *testing.T) {
	t.Parallel()
	s := harness.Open(t, harness.Options{Dir: t.TempDir(), Sync: true})
	defer s.Close()
	useEverything(t, s)
	awaitGroupMetrics(t, s.Client)
	awaitMetric(t, s.Client, "fanfold_lag_seconds", 0)
	for series, want := range map[string]float64{
		`fanfold_http_requests_total{code="201",method="PUT",route="/v1/:collection/:id"}`:      6,
		`fanfold_http_requests_total{code="404",method="GET",route="other"}`:                    1,
		`fanfold_http_request_duration_seconds_count{method="PUT",route="/v1/:collection/:id"}`: 8,
		`fanfold_writes_total{operation="put"}`:                                                 7,
		`fanfold_writes_total{operation="model"}`:                                               1,
		`fanfold_write_conflicts_total`:                                                         1,
		`fanfold_fanout_changes_bucket{le="10"}`:                                                7,
		`fanfold_fanout_changes_sum`:                                                            5, // the name in five books
		`fanfold_log_failing`:                                                                   0,
		`fanfold_ready`:                                                                         1,
		`fanfold_lag_seconds`:                                                                   0,
		`fanfold_replay_progress_ratio`:                                                         1,
		`fanfold_model_preparation_ratio`:                                                       1,
		`fanfold_feed_subscribers{transport="eventsource"}`:                                     0,
		`fanfold_group_lag_changes{group="index"}`:                                              12,
		`fanfold_group_parked_batches{group="index"}`:                                           0,
	} {
		if got := harness.MetricOf(t, s.Client, series); got != want {
			t.Errorf("%s is %v, want %v", series, got, want)
		}
	}
	for _, series := range []string{`fanfold_sqlite_bytes{file="database"}`, "fanfold_log_sync_duration_seconds_count",
		"fanfold_commit_round_events_sum", `fanfold_group_lag_seconds{group="index"}`} {
		if harness.MetricOf(t, s.Client, series) <= 0 {
			t.Errorf("%s is not more than 0", series)
		}
	}
	awaitMetric(t, s.Client, "fanfold_log_events", harness.MetricOf(t, s.Client, "fanfold_applied_sequence")) // every two seconds
	if harness.MetricOf(t, s.Client, "fanfold_log_bytes") <= 0 {
		t.Error("the log has no bytes")
	}
}

// TestFeedLag: the subscribers of the feed are counted, and how far the last one lags; one whose filter leaves out
// everything does not lag.
func TestFeedLag(t *testing.T) {
	t.Parallel()
	s := harness.OpenTemp(t, "")
	const stream = " HTTP/1.1\r\nHost: localhost\r\n\r\n"
	rawRequest(t, s.Client, "GET /v1/_changes?feed=eventsource&since=now&filter=false"+stream)
	rawRequest(t, s.Client, "GET /v1/_changes?feed=continuous&since=now&collections=other"+stream)
	awaitRunning(t, s.Client, 2, harness.WaitTime)
	for i := range 50 {
		s.Put("books", strconv.Itoa(i), `{}`)
	}
	awaitMetric(t, s.Client, "fanfold_feed_lag_changes", 0)
	for _, transport := range []string{"eventsource", "continuous"} {
		if n := harness.MetricOf(t, s.Client, `fanfold_feed_subscribers{transport="`+transport+`"}`); n != 1 {
			t.Errorf("%v subscribers by %s", n, transport)
		}
	}
	// One that reads nothing: what the connection takes is not enough for these.
	rawRequest(t, s.Client, "GET /v1/_changes?feed=continuous&mode=all&include_docs=true&since=0"+stream)
	for i := range 40 {
		s.Put("large", strconv.Itoa(i), `{"text":"`+strings.Repeat("x", 1<<20)+`"}`)
		if harness.MetricOf(t, s.Client, "fanfold_feed_lag_changes") >= 3 {
			return
		}
	}
	t.Error("a subscriber that does not read is not behind")
}

// awaitMetric waits until a series has a value.
func awaitMetric(t *testing.T, c *harness.Client, series string, want float64) {
	t.Helper()
	for begun := time.Now(); ; time.Sleep(5 * time.Millisecond) {
		have := harness.MetricOf(t, c, series)
		if have == want {
			return
		}
		if time.Since(begun) > suite.Deadline(harness.WaitTime) {
			t.Fatalf("%s is %v, want %v", series, have, want)
		}
	}
}

// TestHostileLabels: whatever a client sends, there are no more series than routes, methods and statuses.
func TestHostileLabels(t *testing.T) {
	t.Parallel()
	s := harness.OpenTemp(t, "")
	count := func() int {
		return bytes.Count(s.Want(http.StatusOK, "GET", "/metrics", "").Body, []byte("\nfanfold_"))
	}
	attack := func(i int) {
		name := fmt.Sprintf("x%d", i)
		for _, method := range []string{"GET", "PUT", "DELETE", "OPTIONS", "BREW" + name} {
			for _, path := range []string{"/" + name, "/v1/" + name + "/" + name, "/v1/_" + name, "/v1/_groups/" + name, "/v1/" + name + "/" + name + "/" + name + "/" + name,
				"/v1/_changes?filter=" + name, "/v1/_changes?feed=" + name} {
				_, _ = s.Do(method, path, []byte(`{}`), "X-Request-Id", name)
			}
		}
	}
	attack(0)
	count()
	before := count() // the series of /metrics itself are there by now
	for i := range 20 {
		attack(i + 1)
	}
	s.Want(http.StatusOK, "GET", "/metrics", "")
	if after := count(); after > before {
		t.Errorf("%d series became %d", before, after)
	}
}
