package serving

import (
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"regexp"
	"syscall"
	"time"

	"github.com/fanfold/fanfold"
)

// listen listens on an address that a flag has given. The error is Unavailable; for an address in use it says what to do.
func listen(flag, address string) (net.Listener, error) {
	l, err := net.Listen("tcp", address)
	if errors.Is(err, syscall.EADDRINUSE) {
		return nil, fanfold.Wrap(err, fanfold.Unavailable, "%s is in use by %s: stop that, or choose another address with %s, such as %s 127.0.0.1:0 for any free port",
			address, whoListens(address), flag, flag)
	}
	if err != nil {
		return nil, fanfold.Wrap(err, fanfold.Unavailable, "cannot listen on %s %s: %v", flag, address, err)
	}
	return l, nil
}

// The bounds of asking who listens at an address.
const (
	whoTime  = time.Second
	whoBytes = 64 << 10
)

// versionText matches what is shown of the version that another process tells.
var versionText = regexp.MustCompile(`^[\w.+()-]{1,100}$`)

// whoListens says in words what process listens at an address, as far as it answers within whoTime.
func whoListens(address string) string {
	const unknown = "another process"
	asking := http.Client{Timeout: whoTime, Transport: &http.Transport{DisableKeepAlives: true},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	answer, err := asking.Get("http://" + address + "/v1/_status")
	if err != nil {
		return unknown
	}
	defer answer.Body.Close()
	var status struct{ Version, Store string }
	text, err := io.ReadAll(io.LimitReader(answer.Body, whoBytes))
	if err != nil || json.Unmarshal(text, &status) != nil || status.Store == "" || !versionText.MatchString(status.Version) {
		return unknown
	}
	return "another Fanfold server, version " + status.Version
}
