package node

import (
	"net"
	"strings"

	"github.com/fanfold/fanfold"
)

// checkListen refuses an address that others reach, unless that is said to be meant: nobody asks for a key yet, so that
// whoever reaches the API may read and write everything.
func checkListen(cfg Config) error {
	host, _, err := net.SplitHostPort(cfg.Listen)
	if err != nil {
		return fanfold.Wrap(err, fanfold.Invalid, "--listen %q is not an address such as 127.0.0.1:8080", cfg.Listen)
	}
	if cfg.Insecure || isLoopback(host) {
		return nil
	}
	return fanfold.Errorf(fanfold.Invalid, "--listen %s can be reached by others, who may then read and write everything, for there are no keys yet: "+
		"listen on 127.0.0.1 behind a proxy that asks who they are, or say --insecure", cfg.Listen)
}

// isLoopback tells whether a host name or address is this machine's own and reached by nobody else.
func isLoopback(host string) bool {
	if strings.EqualFold(host, "localhost") {
		return true
	}
	ip := net.ParseIP(host)
	return ip != nil && ip.IsLoopback()
}
