package faults_test

import (
	"net/http"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/fanfold/fanfold/tests/harness"
	"github.com/fanfold/fanfold/tests/suite"
)

// TestProfiles: profiles are on an address of their own, which others reach only where that is said, and a page whose name
// leads there does not.
func TestProfiles(t *testing.T) {
	suite.Parallel(t)
	for value, want := range map[string]string{"0.0.0.0:0": "--insecure", "nowhere": "--debug-listen"} {
		if out, err := harness.RunProgram(t, "serve", "--data", t.TempDir(), "--listen", "127.0.0.1:0", "--debug-listen", value); err == nil || !strings.Contains(out, want) {
			t.Errorf("--debug-listen %s: %v, %s", value, err, out)
		}
	}
	for flag, value := range map[string]string{"--log-level": "loud", "--log-format": "xml"} {
		if out, err := harness.RunProgram(t, "serve", flag, value); err == nil || !strings.Contains(out, flag) {
			t.Errorf("%s %s: %v, %s", flag, value, err, out)
		}
	}
	p := harness.StartProcess(t, "--data", t.TempDir(), "--durability", "interval", "--debug-listen", "127.0.0.1:0")
	found := regexp.MustCompile(`at=(http://\S+)/debug/pprof/`).FindStringSubmatch(p.Log.String())
	if found == nil {
		t.Fatal("the log does not say where the profiles are")
	}
	debug := harness.NewClient(t, found[1])
	if r := debug.Want(http.StatusOK, "GET", "/debug/pprof/goroutine?debug=1", ""); !strings.Contains(string(r.Body), "goroutine profile") {
		t.Errorf("the profile is %.100s", r.Body)
	}
	debug.Want(http.StatusForbidden, "GET", "/debug/pprof/", "", "Host", "evil.example")
	debug.Want(http.StatusBadRequest, "GET", "/debug/pprof/profile?seconds=1000", "")
	p.Want(http.StatusNotFound, "GET", "/debug/pprof/", "")
	debug.HTTP.CloseIdleConnections()
	p.Signal(syscall.SIGTERM)
}
