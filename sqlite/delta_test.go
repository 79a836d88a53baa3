package sqlite

import (
	"strings"
	"testing"
)

// TestSplitPatch: a patch comes back byte for byte, patches that differ in values only have one form, and an old list that
// lost an element at one end and got one at the other is stored without what the two have in common.
func TestSplitPatch(t *testing.T) {
	long := func(first string) string { return `[{"id":"` + first + `","t":"` + strings.Repeat("ab}\\\"", 9) + `"}` }
	for _, c := range []struct {
		patch, form string
		most        int // bytes of values
	}{
		{`[{"op":"replace","path":"/n","value":8,"old":7}]`, `[{"op":"replace","path":"/n","value":` + "\n" + `,"old":` + "\n" + `}]`, 3},
		{`[{"op":"add","path":"/n","value":{"a":[1,"]"]}},{"op":"remove","path":"/m","old":"x"}]`,
			`[{"op":"add","path":"/n","value":` + "\n" + `},{"op":"remove","path":"/m","old":` + "\n" + `}]`, 19},
		{`[{"op":"replace","path":"/a/0/n","value":null,"old":true}]`, `[{"op":"replace","path":` + "\n" + `,"value":` + "\n" + `,"old":` + "\n" + `}]`, 18},
		{`[{"op":"replace","path":"/r","value":` + long("3") + "," + long("2")[1:] + `],"old":` + long("2") + "," + long("1")[1:] + `]}]`,
			`[{"op":"replace","path":"/r","value":` + "\n" + `,"old":` + "\n" + `}]`, 230},
		{`[{"op":"replace","path":"","value":"a` + "\n" + `","old":1}]`, wholePatch, 50},
		{`[` + strings.Repeat(`{"op":"remove","path":"/m","old":1},`, maxFormOps) + `{"op":"remove","path":"/m","old":1}]`, wholePatch, 400},
	} {
		form, values := splitPatch([]byte(c.patch))
		if form != c.form || len(values) > c.most {
			t.Errorf("%s has the form %q and the values %q, want %q and %d bytes", c.patch, form, values, c.form, c.most)
		}
		if got := string(joinPatch(form, values)); got != c.patch {
			t.Errorf("%s came back as %s", c.patch, got)
		}
	}
}

// FuzzShared: a value comes back from what it has besides another, whatever the two are.
func FuzzShared(f *testing.F) {
	f.Add(strings.Repeat("abc", 30), "x"+strings.Repeat("abc", 30))
	f.Fuzz(func(t *testing.T, value, base string) {
		if value != "" && value[0] == sharedMark {
			return // no JSON value
		}
		stored := findSharedPart([]byte(value), []byte(base)).appendShortened(nil, []byte(value))
		if got := string(appendRestored(nil, stored, []byte(base))); got != value {
			t.Errorf("%q, shared with %q, came back as %q", value, base, got)
		}
		_ = appendRestored(nil, append([]byte{sharedMark}, value...), []byte(base)) // damaged: any answer, no panic
	})
}
