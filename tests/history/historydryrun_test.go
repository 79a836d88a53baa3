package history_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"pgregory.net/rapid"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/model"
	"github.com/fanfold/fanfold/tests/harness"
	"github.com/fanfold/fanfold/writer"
)

// limitedInspector notes whether it is denied that events may pass a limit, which they do.
type limitedInspector struct {
	writer.Inspector
	limit  int64
	denied bool
}

func (l *limitedInspector) MayExceed(ctx context.Context, events []*fanfold.Event, limit int64) (bool, error) {
	if l.limit >= 0 {
		more, err := l.Inspector.MayExceed(ctx, events, l.limit)
		if err != nil {
			return false, err
		}
		l.denied = l.denied || !more
		if len(events) == 1 { // the same by itself, whatever was rehearsed before it
			which, err := l.MayEachExceed(ctx, []*fanfold.Event{events[0], events[0], events[0]}, l.limit)
			if err != nil {
				return false, err
			}
			l.denied = l.denied || len(which) != 3
		}
	}
	return l.Inspector.MayExceed(ctx, events, limit)
}

// condition returns the header by which a write expects the document to be as it is.
func (h *history) condition(path string) []string {
	h.t.Helper()
	document, _, _ := strings.Cut(path, "?")
	r, err := h.s.Do(http.MethodGet, document, nil)
	switch {
	case err != nil:
		h.t.Fatal(err)
	case r.Status == http.StatusOK:
		return []string{"If-Match", r.Header.Get("ETag")}
	}
	return []string{"If-None-Match", "*"}
}

// write sends a write that is to be answered with status. If it is taken, it is rehearsed first. The write then causes what the dry run
// tells, and whether more than a limit may come of it is never denied wrongly.
func (h *history) write(status int, method, path, body string, headers ...string) *harness.Response {
	h.t.Helper()
	if status >= http.StatusBadRequest {
		return h.s.Want(status, method, path, body, headers...)
	}
	if method != http.MethodPost && chance(h.t, 30) {
		headers = append(headers, h.condition(path)...)
	}
	most := rapid.SampledFrom([]int{0, 1, 3, model.MaxExamples}).Draw(h.t, "examples")
	dry := fmt.Sprintf("%s?dryRun=true&examples=%d", path, most)
	if strings.Contains(path, "?") {
		dry = fmt.Sprintf("%s&dryRun=true&examples=%d", path, most)
	}
	told := h.s.Want(http.StatusOK, method, dry, body, headers...)
	sender, half := h.s.Client, told
	if h.sender != nil {
		sender = h.sender
		half = sender.Want(http.StatusOK, method, dry, body, headers...)
		h.wantHalf(told, half)
	}
	var out struct {
		Derived  int
		Position string
	}
	if err := json.Unmarshal(told.Body, &out); err != nil {
		h.t.Fatalf("%s: %v", told.Body, err)
	}
	w := h.s.Node.Writer()
	w.Inspector = &limitedInspector{Inspector: w.Inspector, limit: int64(out.Derived) - 1}
	r := sender.Want(status, method, path, body, headers...)
	limited := w.Inspector.(*limitedInspector)
	if w.Inspector = limited.Inspector; limited.denied {
		h.t.Fatalf("%s %s %s causes %d derived changes; that it may cause more than %d was denied", method, path, body, out.Derived, limited.limit)
	}
	if got := r.Header.Get("Fanfold-Derived-Changes"); got != strconv.Itoa(out.Derived) && (h.sender == nil || got != "") {
		h.t.Fatalf("%s %s %s caused %s derived changes; the dry run said %s", method, path, body, got, told.Body)
	}
	h.wantExamples(h.s.Client, told, out.Position, most)
	if h.sender != nil {
		h.wantExamples(sender, half, out.Position, most)
	}
	return r
}

// example is a derived change as a dry run shows it.
type example struct {
	Collection, ID, Rule string
	Rules                []string
	Patch                json.RawMessage
}

// wantExamples fails the test unless a dry run has shown its reader what the feed then has later than a position. The first change
// of each rule comes before the others, which are in order.
func (h *history) wantExamples(reader *harness.Client, told *harness.Response, since string, most int) {
	h.t.Helper()
	var feed struct {
		Results []struct {
			example
			Op    string
			Cause struct {
				Rule  string
				Rules []string
			}
		}
	}
	var got struct{ Examples []example }
	for text, to := range map[string]any{string(told.Body): &got, string(reader.Want(http.StatusOK, http.MethodGet, "/v1/_changes?mode=all&limit=100000&since="+since, "").Body): &feed} {
		if err := json.Unmarshal([]byte(text), to); err != nil {
			h.t.Fatalf("%s: %v", text, err)
		}
	}
	var first, others []example
	seen := map[string]bool{}
	for _, row := range feed.Results {
		if row.Op != string(fanfold.OpDerive) {
			continue
		}
		row.Rule, row.Rules = row.Cause.Rule, row.Cause.Rules
		known := true
		for _, rule := range append([]string{row.Rule}, row.Rules...) {
			known, seen[rule] = known && seen[rule], true
		}
		if known {
			others = append(others, row.example)
		} else {
			first = append(first, row.example)
		}
	}
	want := slices.Concat(first, others)
	want = want[:min(len(want), most)]
	if got.Examples == nil || len(got.Examples)+len(want) > 0 && !reflect.DeepEqual(got.Examples, want) {
		h.t.Fatalf("the dry run showed %s; the feed has %+v", told.Body, want)
	}
}
