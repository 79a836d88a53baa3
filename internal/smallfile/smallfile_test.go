package smallfile_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/internal/smallfile"
)

// TestRead: a file is read whole up to its bound, and whatever is not as demanded is refused with the path.
func TestRead(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "file")
	if err := os.WriteFile(path, []byte("text"), 0o600); err != nil {
		t.Fatal(err)
	}
	open := filepath.Join(dir, "open")
	if err := os.WriteFile(open, []byte("text"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(open, 0o644); err != nil {
		t.Fatal(err)
	}
	if text, info, err := smallfile.Read(path, 4, smallfile.Regular|smallfile.Secret); string(text) != "text" || err != nil || info.Size() != 4 {
		t.Errorf("%q, %v, %v", text, info, err)
	}
	if text, _, err := smallfile.Read(open, 4, smallfile.Regular); string(text) != "text" || err != nil {
		t.Errorf("%q, %v", text, err)
	}
	for _, wrong := range []struct {
		path    string
		most    int64
		demands smallfile.Demand
		want    string
	}{
		{path, 3, 0, "has more than 3 bytes"}, {path + "x", 9, 0, "cannot be read"}, {path + "x", 9, smallfile.Regular, "cannot be read"}, {dir, 9, smallfile.Regular, "is not a file"},
		{dir, 9, 0, "cannot be read"}, {open, 9, smallfile.Secret, "chmod 600"},
	} {
		if text, _, err := smallfile.Read(wrong.path, wrong.most, wrong.demands); text != nil || fanfold.CodeOf(err) != fanfold.Invalid ||
			!strings.Contains(fanfold.MessageOf(err), wrong.want) || !strings.Contains(fanfold.MessageOf(err), wrong.path) {
			t.Errorf("%+v: %q, %v", wrong, text, err)
		}
	}
}
