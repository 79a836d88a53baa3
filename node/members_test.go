package node

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/membership"
)

// TestNodeIDAndAddress: the id stays with the directory; what is none, and an address that is none, keeps a node from
// starting.
func TestNodeIDAndAddress(t *testing.T) {
	path := filepath.Join(t.TempDir(), "node-id")
	id, err := readNodeID(path)
	if err != nil || !membership.ValidID(id) {
		t.Fatalf("%s, %v", id, err)
	}
	if again, err := readNodeID(path); err != nil || again != id {
		t.Errorf("%s, then %s, %v", id, again, err)
	}
	for _, text := range []string{"", "x", id + id} {
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		if _, err := readNodeID(path); fanfold.CodeOf(err) != fanfold.Invalid {
			t.Errorf("%q: %v", text, err)
		}
	}
	for _, url := range []string{"x", "ftp://a", "http://", "http://" + strings.Repeat("a", maxAdvertise)} {
		if err := (&Node{cfg: Config{Advertise: url}}).checkAddress(); fanfold.CodeOf(err) != fanfold.Invalid {
			t.Errorf("%s: %v", url, err)
		}
	}
}
