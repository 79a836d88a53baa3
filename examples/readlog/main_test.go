package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestFence: a fence is told as one. Logs on other servers have them, and logs of earlier programs.
func TestFence(t *testing.T) {
	if says, err := describe("fanfold.fanfold.fence", []byte(`{"v":1,"op":"fence"}`)); says != "fence" || err != nil {
		t.Errorf("%q, %v", says, err)
	}
}

// TestGoldenEvents: an event of each kind is told.
func TestGoldenEvents(t *testing.T) {
	files, err := filepath.Glob("../../events/testdata/*.json")
	if err != nil || len(files) < 30 {
		t.Fatalf("%d golden files, %v", len(files), err)
	}
	want := map[string]string{
		"call.json":            "call of function reserve of model 9, which wrote the next 2 events: no result",
		"call-result.json":     `call of function reserve "it" of model 9, which wrote the next 0 events: { "seat":"s1", "price":0.10000000000000000001}`,
		"gate-collection.json": "gate: documents of seats are written",
		"check-gate.json":      "check that no document of seats was written after event 17",
		"sequence.json":        `sequence: numbers of invoices at number: {"last":17,"rest":1}`,
	}
	for _, path := range files {
		name := filepath.Base(path)
		payload, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(name, "-short.json") { // the subject says the rest
			continue
		}
		if says, err := describe("fanfold.fanfold.doc.books.b1", payload); err != nil || want[name] != "" && says != want[name] {
			t.Errorf("%s: %q, %v", name, says, err)
		}
	}
}
