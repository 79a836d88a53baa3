package fn

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/fanfold/fanfold"
)

// write writes files into a directory of the test's own, and returns the path of the first.
func write(t *testing.T, files ...string) string {
	t.Helper()
	dir := t.TempDir()
	for i := 0; i < len(files); i += 2 {
		if err := os.WriteFile(filepath.Join(dir, files[i]), []byte(files[i+1]), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return filepath.Join(dir, files[0])
}

// TestPatch: the patch of a file takes out of the model's function what the file does not say, inside of args, too.
func TestPatch(t *testing.T) {
	f, err := Read(t.Context(), write(t, "f.js", "export const args = {type: 'object', properties: {a: {enum: [null]}}}, reads = ['c']; export default () => 1"))
	if err != nil {
		t.Fatal(err)
	}
	source, _ := json.Marshal(f.Source)
	for model, want := range map[string]string{
		"":                   `{"args":{"type":"object","properties":{"a":{"enum":[null]}}},"reads":["c"],"source":S}`,
		`{"collections":{}}`: `{"args":{"type":"object","properties":{"a":{"enum":[null]}}},"reads":["c"],"source":S}`,
		`{"functions":{"f":{"source":"","call":["x"],"authority":"model","reads":["a","b"],"args":{"type":"array","required":["a"],"properties":{"a":{"type":"string"},"b":true}}},"g":{}}}`: `{"args":{"properties":{"a":{"enum":[null],"type":null},"b":null},"required":null,"type":"object"},"authority":null,"call":null,"reads":["c"],"source":S}`,
	} {
		patch, err := f.Patch([]byte(model))
		var got, wanted any
		if err != nil || json.Unmarshal(patch, &got) != nil || json.Unmarshal([]byte(strings.Replace(`{"functions":{"f":`+want+`}}`, "S", string(source), 1)), &wanted) != nil {
			t.Fatalf("%s: %s, %v", model, patch, err)
		}
		a, _ := json.Marshal(got)
		b, _ := json.Marshal(wanted)
		if string(a) != string(b) {
			t.Errorf("the patch of %s is\n%s, want\n%s", model, a, b)
		}
	}
	if patch, err := Removal("f"); err != nil || string(patch) != `{"functions":{"f":null}}` {
		t.Errorf("the removal is %s, %v", patch, err)
	}
	if _, err := f.Patch([]byte("[")); err == nil {
		t.Error("a model that is none has a patch")
	}
}

// TestSuiteEnds: the tests of a file end where they take too long together.
func TestSuiteEnds(t *testing.T) {
	s, err := Open(t.Context(), write(t, "f.js", "export default () => 1", "f.test.js", "test('one', () => {}); test('two', () => {})"), "")
	if err != nil {
		t.Fatal(err)
	}
	if s.within != maxAllTime {
		t.Errorf("the tests may take %v", s.within)
	}
	s.within = time.Nanosecond
	failed, err := s.Run(t.Context(), func(r Result) error {
		t.Errorf("%+v was run", r)
		return nil
	})
	if failed != 0 || fanfold.CodeOf(err) != fanfold.Invalid || !strings.Contains(err.Error(), "longer than 1ns") {
		t.Errorf("%d failed, %v", failed, err)
	}
}
