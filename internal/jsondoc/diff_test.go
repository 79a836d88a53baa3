package jsondoc

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestDiff(t *testing.T) {
	for _, c := range []struct{ before, after, want string }{
		{`{"a":1,"b":"x"}`, `{"b":"x","a":1}`, `[]`},
		{`{"a":1}`, `{"a":2}`, `[{"op":"replace","path":"/a","value":2,"old":1}]`},
		{`{"a":1}`, `{"a":1.0}`, `[{"op":"replace","path":"/a","value":1.0,"old":1}]`},
		{`{"a":"\u0041"}`, `{"a":"A"}`, `[]`},
		{`{"a/b":{"c~":1}}`, `{"a/b":{}}`, `[{"op":"remove","path":"/a~1b/c~0","old":1}]`},
		{`{"a":[1,2,3]}`, `{"a":[1,3]}`, `[{"op":"remove","path":"/a/1","old":2}]`},
		{`{"a":[1,2]}`, `{"a":[0,1,2]}`, `[{"op":"add","path":"/a/0","value":0}]`},
		{`{"a":[1,{"b":2},3]}`, `{"a":[1,{"b":4},3]}`, `[{"op":"replace","path":"/a/1/b","value":4,"old":2}]`},
		{`{"a":[]}`, `{"a":{}}`, `[{"op":"replace","path":"/a","value":{},"old":[]}]`},
		{`{"a":null}`, `{"b":null}`, `[{"op":"remove","path":"/a","old":null},{"op":"add","path":"/b","value":null}]`},
		{``, `{"a":1}`, `[{"op":"add","path":"","value":{"a":1}}]`},
		{`{"a":1}`, ``, `[{"op":"remove","path":"","old":{"a":1}}]`},
	} {
		if got := Diff(orNil(c.before), orNil(c.after)); string(got) != c.want {
			t.Errorf("Diff(%s, %s) = %s, want %s", c.before, c.after, got, c.want)
		}
	}
}

// orNil returns a text as a value, nil for "".
func orNil(text string) []byte {
	if text == "" {
		return nil
	}
	return []byte(text)
}

// TestDiffIsBounded: a patch has about as many bytes as both values, however many elements changed.
func TestDiffIsBounded(t *testing.T) {
	list := func(digit string) []byte {
		return []byte(`{"a":[` + strings.Repeat(digit+",", 500_000) + digit + `],"b":` + digit + `}`)
	}
	before, after := list("1"), list("2")
	got := Diff(before, after)
	if want := len(before) + len(after) + 2*maxFineDiff; len(got) > want || !json.Valid(got) {
		t.Fatalf("the patch has %d bytes, want at most %d", len(got), want)
	}
	if end := `,{"op":"replace","path":"/b","value":2,"old":1}]`; !bytes.HasSuffix(got, []byte(end)) {
		t.Fatalf("the patch ends %s, want %s", got[len(got)-80:], end)
	}
}

// TestDiffIsAPatch: the patch makes the one value of the other, and undoes it with its old values.
func TestDiffIsAPatch(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		before, after := drawObject(t, 3), drawObject(t, 3)
		patch := Diff([]byte(before), []byte(after))
		ops, err := ParsePatch(patch)
		if err != nil {
			t.Fatalf("Diff(%s, %s) = %s: %v", before, after, patch, err)
		}
		got, err := Apply([]byte(before), ops)
		if err != nil || string(Diff(got, []byte(after))) != "[]" {
			t.Fatalf("Diff(%s, %s) = %s, which makes %s of it, %v", before, after, patch, got, err)
		}
		if equal := string(Diff([]byte(before), []byte(before))); equal != "[]" {
			t.Fatalf("Diff(%s, itself) = %s", before, equal)
		}
	})
}

// drawObject draws an object that is nested so deep at most. Few names and values make equal ones likely.
func drawObject(t *rapid.T, depth int) string {
	var members []string
	for _, name := range []string{"a", "b/~", `\u0041`} {
		if rapid.Bool().Draw(t, "has") {
			members = append(members, fmt.Sprintf(`"%s":%s`, name, drawValue(t, depth)))
		}
	}
	return "{" + strings.Join(rapid.Permutation(members).Draw(t, "order"), ",") + "}"
}

func drawValue(t *rapid.T, depth int) string {
	kinds := []string{"1", "1.0", "null", "true", `"x"`, `"\u0078"`, "object", "array"}
	if depth == 0 {
		kinds = kinds[:6]
	}
	switch kind := rapid.SampledFrom(kinds).Draw(t, "kind"); kind {
	case "object":
		return drawObject(t, depth-1)
	case "array":
		elements := make([]string, rapid.IntRange(0, 4).Draw(t, "length"))
		for i := range elements {
			elements[i] = drawValue(t, depth-1)
		}
		return "[" + strings.Join(elements, ",") + "]"
	default:
		return kind
	}
}
