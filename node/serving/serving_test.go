package serving

import (
	"net"
	"strings"
	"testing"
)

// TestNamedURL: an address that stands for all of this machine is told with the machine's name, and says whether there is TLS.
func TestNamedURL(t *testing.T) {
	for scheme, shown := range map[string]*certificate{"http://": nil, "https://": {}} {
		for _, address := range []string{"127.0.0.1:0", "0.0.0.0:0"} {
			l, err := net.Listen("tcp", address)
			if err != nil {
				t.Fatal(err)
			}
			f := &Front{listener: l, certificate: shown}
			if url := f.NamedURL(); !strings.HasPrefix(url, scheme) || strings.Contains(url, "0.0.0.0") || strings.Contains(url, "[::]") {
				t.Errorf("%s with %s: %s", address, scheme, url)
			}
			f.Close()
		}
	}
}
