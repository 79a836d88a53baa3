package logcheck

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/fanfold/fanfold"
)

// TestWitnessFormats: a witness is read as it was written, and one of format 2 knows of no erasure.
func TestWitnessFormats(t *testing.T) {
	dir := t.TempDir()
	want := Witness{Seq: 7, Event: fanfold.Digest{1}, Digest: fanfold.Digest{2}, Synced: 9, AsOf: 5}
	if err := want.Write(dir); err != nil {
		t.Fatal(err)
	}
	if got, err := readWitness(dir); err != nil || got != want {
		t.Errorf("%+v, %v", got, err)
	}
	text := fmt.Sprintf(witnessText2, want.Seq, want.Event, want.Digest, want.Synced)
	sum := sha256.Sum256([]byte(text))
	if err := os.WriteFile(filepath.Join(dir, witnessFile), []byte(text+"sha256 "+hex.EncodeToString(sum[:])+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	want.AsOf = 0
	if got, err := readWitness(dir); err != nil || got != want {
		t.Errorf("of format 2: %+v, %v", got, err)
	}
}
