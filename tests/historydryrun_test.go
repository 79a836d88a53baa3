package tests

import (
	"encoding/json"
	"net/http"
	"strconv"
	"strings"

	"github.com/fanfold/fanfold/tests/harness"
)

// write sends a write that is to be answered with status. Where it is taken, it is rehearsed first: what the dry run tells is what
// the write then causes, and whether more than a limit may come of it is never denied wrongly.
func (h *history) write(status int, method, path, body string, headers ...string) *harness.Response {
	h.t.Helper()
	if status >= http.StatusBadRequest {
		return h.s.Want(status, method, path, body, headers...)
	}
	dry := path + "?dryRun=true"
	if strings.Contains(path, "?") {
		dry = path + "&dryRun=true"
	}
	told := h.s.Want(http.StatusOK, method, dry, body, headers...)
	r := h.s.Want(status, method, path, body, headers...)
	var out struct{ Derived int }
	if err := json.Unmarshal(told.Body, &out); err != nil {
		h.t.Fatalf("%s: %v", told.Body, err)
	}
	if got := r.Header.Get("Fanfold-Derived-Changes"); got != strconv.Itoa(out.Derived) {
		h.t.Fatalf("%s %s %s caused %s derived changes; the dry run said %s", method, path, body, got, told.Body)
	}
	return r
}
