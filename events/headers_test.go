package events

import (
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/nats-io/nats.go"

	"github.com/fanfold/fanfold"
)

// goldenHeaders are the headers of events as events/README.md documents them; anybody may read them.
var goldenHeaders = map[string]fanfold.Event{
	"headers-key.txt":   {IdempotencyKey: fanfold.IdempotencyKey{Hash: "47DEQpj8HBSa-_TImW-5JCeuQeRkm5NMpJWZG3hSuFU", Digest: "NCm6TQGEAMOGgx1F1SXvnvSgnHUp0AfBzWoGwUmxqLY"}},
	"headers-actor.txt": {Actor: "key:k3v9x2m7q1ab"},
	"headers-all.txt": {Actor: "key:k3v9x2m7q1ab", Tx: fanfold.TxPart{ID: "VJcKGXUDSpo4vz6NJFfMsQ", Index: 1, Count: 3},
		IdempotencyKey: fanfold.IdempotencyKey{Hash: "47DEQpj8HBSa-_TImW-5JCeuQeRkm5NMpJWZG3hSuFU", Digest: "NCm6TQGEAMOGgx1F1SXvnvSgnHUp0AfBzWoGwUmxqLY"}},
}

// TestGoldenHeaders: events have the headers that the files have, and come back from them.
func TestGoldenHeaders(t *testing.T) {
	for name, ev := range goldenHeaders {
		path, h := filepath.Join("testdata", name), nats.Header{}
		setHeaders(h, &ev)
		var b strings.Builder
		for _, key := range slices.Sorted(maps.Keys(h)) {
			b.WriteString(key + ": " + h.Get(key) + "\n")
		}
		if *rewrite {
			if err := os.WriteFile(path, []byte(b.String()), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if b.String() != string(want) {
			t.Errorf("%s: %s, want %s", name, b.String(), want)
		}
		read := nats.Header{}
		for line := range strings.Lines(string(want)) {
			key, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ": ")
			read[key] = []string{value}
		}
		var back fanfold.Event
		if err := readHeaders(read, &back); err != nil || !reflect.DeepEqual(back, ev) {
			t.Errorf("%s came back as %+v, %v", name, back, err)
		}
	}
}
