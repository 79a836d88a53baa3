package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func engineFile(t testing.TB, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("../engine", name))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestMetered: engine/metered.wasm is what the program makes of engine/quickjs.wasm, byte for byte.
func TestMetered(t *testing.T) {
	out := filepath.Join(t.TempDir(), "metered.wasm")
	if err := run("../engine/quickjs.wasm", out); err != nil {
		t.Fatal(err)
	}
	made, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(made, engineFile(t, "metered.wasm")) {
		t.Error("engine/metered.wasm is another one: go generate ./internal/js makes it")
	}
}

// TestHashes: engine/README.md names the hash of each module, so a module cannot change alone.
func TestHashes(t *testing.T) {
	said := string(engineFile(t, "README.md"))
	for _, name := range []string{"quickjs.wasm", "metered.wasm"} {
		sum := sha256.Sum256(engineFile(t, name))
		if !strings.Contains(said, hex.EncodeToString(sum[:])) {
			t.Errorf("engine/README.md lacks the hash of %s, %x", name, sum)
		}
	}
}

// section returns a section of a module.
func section(id byte, body ...byte) []byte { return appendSized([]byte{id}, body) }

// small returns a module of one function with the given body, without locals; the end is added.
func small(body ...byte) []byte {
	imports := appendSized([]byte{1}, []byte("env"))
	imports = append(appendSized(imports, []byte(asked)), 0, 0)
	function := append(append([]byte{0}, body...), opEnd)
	return bytes.Join([][]byte{header,
		section(sectionType, 1, 0x60, 0, 1, i32),
		section(sectionImport, imports...),
		section(sectionFunction, 1, 0),
		section(sectionMemory, 1, 0, 1),
		section(sectionGlobal, 0),
		section(sectionExport, 0),
		section(sectionCode, append([]byte{1}, appendSized(nil, function)...)...)}, nil)
}

// TestRefusals: what the program does not know is refused, for it might run without steps.
func TestRefusals(t *testing.T) {
	if _, err := meter(small(opI32Const, 1)); err != nil {
		t.Fatal(err)
	}
	for name, src := range map[string][]byte{
		"nothing":            nil,
		"version":            []byte("\x00asm\x02\x00\x00\x00"),
		"no import":          append(bytes.Clone(header), section(sectionMemory, 1, 0, 1)...),
		"tail call":          small(0x12, 0),
		"exception":          small(0x06, noResult, opEnd),
		"vector":             small(0xfd, 0x0c),
		"atomic":             small(0xfe, 0x03, 0),
		"memory.init":        small(opPrefix, 8, 0, 0),
		"table.grow":         small(opPrefix, 15, 0),
		"table.fill":         small(opPrefix, 17, 0),
		"second memory":      small(opMemorySize, 1),
		"access of a memory": small(0x28, 0x42, 1, 0),
		"cut short":          small(opI32Const, 1)[:60],
		"after the end":      small(opI32Const, 1, opEnd, 0x01),
		"long number":        small(opI32Const, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0),
		"sections in a mess": append(small(opI32Const, 1), section(sectionType, 0)...),
		"nesting":            small(bytes.Repeat([]byte{0x02, noResult}, maxNesting+1)...),
		"large memory":       bytes.Replace(small(opI32Const, 1), section(sectionMemory, 1, 0, 1), section(sectionMemory, append([]byte{1, 0}, signed(maxPages+1)...)...), 1),
		"shared memory":      bytes.Replace(small(opI32Const, 1), section(sectionMemory, 1, 0, 1), section(sectionMemory, 1, 3, 1, 1), 1),
	} {
		if out, err := meter(src); err == nil {
			t.Errorf("%s: %x", name, out)
		}
	}
}

// TestEachLoopCounts: every function and every loop head has a check, and no instruction goes past the bounds.
func TestEachLoopCounts(t *testing.T) {
	out, err := meter(small(opLoop, noResult, opLoop, noResult, opEnd, opEnd, opI32Const, 7, opMemoryGrow, 0, 0x1a, opMemorySize, 0))
	if err != nil {
		t.Fatal(err)
	}
	c := code{steps: 0, pages: 1, spent: 2, fill: 3, copy: 4, grow: 5}
	check := c.step(nil)
	if n := bytes.Count(out, check); n != 3 {
		t.Errorf("%d checks, not 3", n)
	}
	if !bytes.Contains(out, []byte{opI32Const, 7, opCall, 5, 0x1a, opGlobalGet, 1, opEnd}) {
		t.Errorf("memory.grow and memory.size stay: %x", out)
	}
}

// FuzzMeter: no bytes make the program fail otherwise than by an error, and what it makes of a module it takes again.
func FuzzMeter(f *testing.F) {
	f.Add(small(opI32Const, 1))
	f.Add(small(opLoop, noResult, 0x0c, 0, opEnd, opI32Const, 1, 0x0e, 2, 0, 0, 0))
	f.Add(small(opI32Const, 0, opI32Const, 0, opI32Const, 9, opPrefix, memoryFill, 0, opI32Const, 1))
	f.Fuzz(func(t *testing.T, src []byte) {
		out, err := meter(src)
		if err != nil {
			return
		}
		if len(out) > 32*len(src)+1024 {
			t.Errorf("%d bytes of %d", len(out), len(src))
		}
		if _, err := parse(out); err != nil {
			t.Errorf("the result is not read: %v", err)
		}
	})
}
