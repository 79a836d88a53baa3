package embedded

import (
	"os"
	"regexp"
	"testing"

	"github.com/nats-io/nats-server/v2/server"
)

// checkedVersion is the version of nats-server with whose files this package was checked.
const checkedVersion = "2.15.3"

// TestServerVersion fails where the server is another one than the one that this package was checked with.
func TestServerVersion(t *testing.T) {
	const todo = "README.md says on what layout of the server's files this package relies, and what to check with another version"
	if server.VERSION != checkedVersion {
		t.Errorf("the server is %s, and this package was checked with %s; %s", server.VERSION, checkedVersion, todo)
	}
	for file, pattern := range map[string]string{
		"../../go.mod": `github.com/nats-io/nats-server/v2 v(\S+)`,
		"README.md":    `nats-server (\S+) `,
	} {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if found := regexp.MustCompile(pattern).FindSubmatch(text); found == nil || string(found[1]) != checkedVersion {
			t.Errorf("%s names version %q, and this package was checked with %s; %s", file, found, checkedVersion, todo)
		}
	}
}
