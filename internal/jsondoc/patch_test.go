package jsondoc

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// TestPatchesAgree holds patches against the slow, obvious way: the same bytes, and an error for the same ones.
func TestPatchesAgree(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		doc := []byte(jsonText(t, 3, true))
		var ops []Operation
		for range rapid.IntRange(1, 12).Draw(t, "operations") {
			op := Operation{Op: rapid.SampledFrom([]string{"add", "remove", "replace", "test", "copy", "move", "copy", "move"}).Draw(t, "op"), Path: pointer(t)}
			if op.Op == "copy" || op.Op == "move" {
				op.From = pointer(t)
			}
			if op.Value = []byte(jsonText(t, 2, false)); op.Op == "test" {
				op.Value = testedValue(t, doc, ops, op)
			}
			if _, err := slowApply(doc, append(ops, op)); err == nil || rapid.IntRange(0, 20).Draw(t, "keep") == 0 {
				ops = append(ops, op) // mostly operations that fit
			}
		}
		want, wantErr := slowApply(doc, ops)
		got, err := Apply(doc, ops)
		if (err == nil) != (wantErr == nil) || !bytes.Equal(got, want) {
			t.Fatalf("%s with %v is\n%s, %v, want\n%s, %v", doc, ops, got, err, want, wantErr)
		}
		within, err := ApplyWithin(context.Background(), doc, ops, Bounds{Size: 1 << 20, Budget: &Budget{Left: 1 << 20}})
		if (err == nil) != (wantErr == nil) || !bytes.Equal(within, want) {
			t.Fatalf("%s with %v within bounds is %s, %v, want %s, %v", doc, ops, within, err, want, wantErr)
		}
	})
}

// testedValue returns the value at an operation's path, where there is one: a test that holds.
func testedValue(t *rapid.T, doc []byte, ops []Operation, op Operation) []byte {
	const mark = "marked"
	probe := append(append([]Operation{}, ops...), Operation{Op: "copy", From: op.Path, Path: []string{mark}})
	out, err := slowApply(doc, probe)
	if err != nil || out[0] != '{' || rapid.Bool().Draw(t, "fails") {
		return op.Value
	}
	tree := MustParse(out)
	return append([]byte(nil), tree.Raw(tree.Member(Root, mark))...)
}

// jsonText draws JSON text, with whitespace between its tokens.
func jsonText(t *rapid.T, depth int, container bool) string {
	space := rapid.SampledFrom([]string{"", "", " ", "\n\t"})
	kinds := []string{"object", "array", "object", "array", "scalar"}
	if container {
		kinds = kinds[:2]
	} else if depth == 0 {
		kinds = kinds[4:]
	}
	switch rapid.SampledFrom(kinds).Draw(t, "kind") {
	case "object":
		var parts []string
		for i := range rapid.IntRange(0, 4).Draw(t, "members") {
			name := []string{`"a"`, `"\u0062"`, `"c/d"`, `"0"`}[i]
			parts = append(parts, name+space.Draw(t, "space")+":"+space.Draw(t, "space")+jsonText(t, depth-1, false))
		}
		if rapid.IntRange(0, 9).Draw(t, "wide") == 0 { // so many that they are looked up by an index
			for i := range fewMembers {
				parts = append(parts, fmt.Sprintf(`"m%d":%d`, i, i))
			}
		}
		return "{" + space.Draw(t, "space") + strings.Join(parts, space.Draw(t, "space")+",") + space.Draw(t, "space") + "}"
	case "array":
		var parts []string
		for range rapid.IntRange(0, 4).Draw(t, "elements") {
			parts = append(parts, space.Draw(t, "space")+jsonText(t, depth-1, false))
		}
		return "[" + strings.Join(parts, space.Draw(t, "space")+",") + space.Draw(t, "space") + "]"
	}
	return rapid.SampledFrom([]string{"1", "2.50", "1e2", "100", `"x"`, `"é[\"{"`, "null", "true"}).Draw(t, "scalar")
}

// pointer draws the path of an operation.
func pointer(t *rapid.T) []string {
	return rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "c/d", "0", "1", "-", "2", "m3", "m15"}), 0, 4).Draw(t, "path")
}

// mustPatch parses a patch.
func mustPatch(t *testing.T, text string) []Operation {
	t.Helper()
	ops, err := ParsePatch([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return ops
}

// TestCopiesAreShared applies a patch that copies a large array and changes each copy: it used to take 190 MB a copy.
func TestCopiesAreShared(t *testing.T) {
	doc := []byte(`{"a":[0` + strings.Repeat(",0", 1_039_999) + `]}`)
	var patch []string
	for i := range 31 {
		patch = append(patch, fmt.Sprintf(`{"op":"copy","from":"/a","path":"/b%d"}`, i))
	}
	for i := range 31 {
		patch = append(patch, fmt.Sprintf(`{"op":"remove","path":"/b%d/0"}`, i))
	}
	for i := range 31 {
		patch = append(patch, fmt.Sprintf(`{"op":"remove","path":"/b%d"}`, i))
	}
	ops := mustPatch(t, "["+strings.Join(patch, ",")+"]")
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	out, err := Apply(doc, ops)
	runtime.ReadMemStats(&after)
	if err != nil || !bytes.Equal(out, doc) {
		t.Fatalf("%d bytes came back, %v", len(out), err)
	}
	if took := (after.TotalAlloc - before.TotalAlloc) >> 20; took > 150 {
		t.Errorf("the patch allocated %d MiB in all", took)
	}
}

// TestManyMembers counts the work of operations on a large object: each looks at what it needs, not at all members.
func TestManyMembers(t *testing.T) {
	const n = 190_000
	var doc bytes.Buffer
	for i := range n {
		fmt.Fprintf(&doc, `,"m%06d":1`, i)
	}
	text := append([]byte{'{'}, append(doc.Bytes()[1:], '}')...)
	var moves, tests []string
	for i := range MaxOperations {
		moves = append(moves, fmt.Sprintf(`{"op":"move","from":"/m%06d","path":"/x%d"}`, n-1-i, i))
		tests = append(tests, fmt.Sprintf(`{"op":"test","path":"/m%06d","value":1}`, n-1-i))
	}
	for _, patch := range [][]string{moves, tests} {
		budget := &Budget{Left: 1 << 30}
		out, err := ApplyWithin(context.Background(), text, mustPatch(t, "["+strings.Join(patch, ",")+"]"), Bounds{Size: 1 << 30, Budget: budget})
		if err != nil || len(out) == 0 {
			t.Fatal(err)
		}
		if work := 1<<30 - budget.Left; work > int64(5*len(text)+4*MaxOperations*MaxOperations) {
			t.Errorf("1,000 operations on a document of %d bytes took %d units of work", len(text), work)
		}
	}
}

// TestEqualObjectsInAnyOrder compares two large objects whose members stand in opposite orders.
func TestEqualObjectsInAnyOrder(t *testing.T) {
	const n = 100_000
	forth, back := make([]string, n), make([]string, n)
	for i := range n {
		forth[i] = fmt.Sprintf(`"%d":0`, i)
		back[n-1-i] = forth[i]
	}
	if !Equal([]byte("{"+strings.Join(forth, ",")+"}"), []byte("{"+strings.Join(back, ",")+"}")) {
		t.Error("not equal")
	}
}

// TestPatchBounds holds what is decided to its bounds, and to its client.
func TestPatchBounds(t *testing.T) {
	doc := []byte(`{"a":[` + strings.Repeat("1,", 10_000) + `1]}`)
	within := func(ctx context.Context, patch string, bounds Bounds) *PatchError {
		t.Helper()
		_, err := ApplyWithin(ctx, doc, mustPatch(t, patch), bounds)
		var pe *PatchError
		if !errors.As(err, &pe) {
			t.Fatalf("%s gives %v", patch, err)
		}
		return pe
	}
	ctx := context.Background()
	if pe := within(ctx, `[{"op":"add","path":"/a/0","value":1}]`, Bounds{Size: 1 << 20, Budget: &Budget{Left: 30_000}}); !pe.Costly || pe.Large {
		t.Errorf("work past the budget gives %v", pe)
	}
	if pe := within(ctx, `[{"op":"copy","from":"/a","path":"/b"}]`, Bounds{Size: 30_000, Budget: &Budget{Left: 1 << 20}}); !pe.Large || pe.Costly {
		t.Errorf("a document that grows past its bound gives %v", pe)
	}
	deep := strings.Repeat("/a", MaxPatchTokens+1)
	if pe := within(ctx, `[{"op":"remove","path":"`+deep+`"}]`, Bounds{Size: 1 << 20, Budget: &Budget{Left: 1 << 20}}); !strings.Contains(pe.Reason, "at most 1000") {
		t.Errorf("a long path gives %v", pe)
	}
	if pe := within(ctx, `[{"op":"move","from":"/a~1b/c","path":"/a/b~1c"}]`, Bounds{Size: 1 << 20, Budget: &Budget{Left: 1 << 20}}); !strings.Contains(pe.Reason, "use copy and remove") {
		t.Errorf("a move between places that look alike gives %v", pe)
	}
	shared := &Budget{Left: 100_000}
	for range 10 {
		if _, err := ApplyWithin(ctx, doc, mustPatch(t, `[{"op":"remove","path":"/a/0"}]`), Bounds{Size: 1 << 20, Budget: shared}); err != nil {
			return
		}
	}
	t.Error("patches that share a budget never spend it")
}

// TestPatchEndsWithItsClient cancels the request before the patch is applied.
func TestPatchEndsWithItsClient(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_, err := ApplyWithin(ctx, []byte(`{"a":1}`), mustPatch(t, `[{"op":"remove","path":"/a"}]`), Bounds{Size: 100, Budget: &Budget{Left: 1 << 20}})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("a patch whose client has gone gives %v", err)
	}
}
