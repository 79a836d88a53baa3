package harness

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// OtherBoot gives the read models in a data directory the trace of another run of the operating system, as after a loss of power: they
// are in doubt.
func OtherBoot(t *testing.T, data string) {
	t.Helper()
	traces, err := filepath.Glob(filepath.Join(data, "readmodel", "trace-*"))
	for _, path := range traces {
		var b []byte
		if b, err = os.ReadFile(path); err != nil {
			break
		}
		text, _, _ := strings.Cut(string(b), " ")
		_, files, _ := strings.Cut(text, ":")
		text = "another-boot:" + files
		sum := sha256.Sum256([]byte(text))
		if err = os.WriteFile(path, []byte(text+" "+hex.EncodeToString(sum[:])+"\n"), 0o600); err != nil {
			break
		}
	}
	if err != nil {
		t.Fatal(err)
	}
}
