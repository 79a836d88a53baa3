package history_test

import (
	"context"
	"encoding/json"
	"net/http"
	"strconv"
	"strings"

	"github.com/fanfold/fanfold"
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

// write sends a write that is to be answered with status. Where it is taken, it is rehearsed first: what the dry run tells is what
// the write then causes, and whether more than a limit may come of it is never denied wrongly.
func (h *history) write(status int, method, path, body string, headers ...string) *harness.Response {
	h.t.Helper()
	if status >= http.StatusBadRequest {
		return h.s.Want(status, method, path, body, headers...)
	}
	if method != http.MethodPost && chance(h.t, 30) {
		headers = append(headers, h.condition(path)...)
	}
	dry := path + "?dryRun=true"
	if strings.Contains(path, "?") {
		dry = path + "&dryRun=true"
	}
	told := h.s.Want(http.StatusOK, method, dry, body, headers...)
	sender := h.s.Client
	if h.sender != nil {
		sender = h.sender
		h.wantHalf(told, sender.Want(http.StatusOK, method, dry, body, headers...))
	}
	var out struct{ Derived int }
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
	return r
}
