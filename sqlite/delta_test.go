package sqlite

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"
)

// TestSplitPatch: a patch comes back byte for byte, and patches that differ in values only have one form. An old list that lost an element
// at one end and got one at the other is stored without the elements in common.
func TestSplitPatch(t *testing.T) {
	long := func(first string) string { return `[{"id":"` + first + `","t":"` + strings.Repeat("ab}\\\"", 9) + `"}` }
	for _, c := range []struct {
		patch, form string
		most        int // bytes of values
	}{
		{`[{"op":"replace","path":"/n","value":8,"old":7}]`, `[{"op":"replace","path":"/n","value":` + "\n" + `,"old":` + "\n" + `}]`, 5},
		{`[{"op":"add","path":"/n","value":{"a":[1,"]"]}},{"op":"remove","path":"/m","old":"x"}]`,
			`[{"op":"add","path":"/n","value":` + "\n" + `},{"op":"remove","path":"/m","old":` + "\n" + `}]`, 20},
		{`[{"op":"replace","path":"/a/0/n","value":null,"old":true}]`, `[{"op":"replace","path":` + "\n" + `,"value":` + "\n" + `,"old":` + "\n" + `}]`, 20},
		{`[{"op":"replace","path":"/r","value":` + long("3") + "," + long("2")[1:] + `],"old":` + long("2") + "," + long("1")[1:] + `]}]`,
			`[{"op":"replace","path":"/r","value":` + "\n" + `,"old":` + "\n" + `}]`, 200},
		{`[{"op":"add","path":"/lines/0/productName","value":"the name"},{"op":"add","path":"/lines/12/productName","value":"the name"},{"op":"remove","path":"/m","old":"the name"},{"op":"add","path":"/n","value":"the name"}]`,
			`[{"op":"add","path":` + "\n" + `,"value":` + "\n" + `},{"op":"add","path":` + "\n" + `,"value":` + "\n" + `},{"op":"remove","path":"/m","old":` + "\n" + `},{"op":"add","path":"/n","value":` + "\n" + `}]`,
			1 + 23 + 11 + 15 + 5 + 11 + 11},
		{`[{"op":"replace","path":"","value":"a` + "\n" + `","old":1}]`, wholePatch, 54},
		{`[` + strings.Repeat(`{"op":"remove","path":"/m","old":1},`, maxFormOps) + `{"op":"remove","path":"/m","old":1}]`, wholePatch, 800},
	} {
		form, delta := splitPatch([]byte(c.patch))
		if form != c.form || len(delta) > c.most {
			t.Errorf("%s has the form %q and the values %q, want %q and %d bytes", c.patch, form, delta, c.form, c.most)
		}
		got, err := new(chainReader).patch(nil, storedDelta{form: form, delta: delta})
		if string(got) != c.patch || err != nil {
			t.Errorf("%s came back as %s, %v", c.patch, got, err)
		}
	}
}

// element is an element of a list.
func element(n, likes int) string {
	return fmt.Sprintf(`{"id":"%d","title":"the title of number %d","likes":%d}`, n, n*n*7919, likes)
}

// TestListEdits: of a list are stored the elements that came, whether some went or moved, and the members of one that changed.
func TestListEdits(t *testing.T) {
	list := func(elements ...string) []byte { return []byte("[" + strings.Join(elements, ",") + "]") }
	old := []string{element(1, 0), element(2, 0), element(3, 0), element(4, 0), element(5, 0)}
	came := element(10, 0)
	for name, c := range map[string]struct {
		list []byte
		most int
	}{
		"unchanged":                    {list(old...), 8},
		"came first, the last went":    {list(append([]string{came}, old[:4]...)...), len(came) + 12},
		"came between, the last went":  {list(old[0], old[1], came, old[2], old[3]), len(came) + 16},
		"came last":                    {list(append(old[:5:5], came)...), len(came) + 16},
		"went":                         {list(old[0], old[1], old[3], old[4]), 16},
		"moved":                        {list(old[4], old[0], old[1], old[2], old[3]), 24},
		"one member changed":           {list(old[0], old[1], element(3, 12), old[3], old[4]), 20},
		"one changed, moved and first": {list(element(3, 12), old[0], old[1], old[3], old[4]), 40},
	} {
		stored := new(editor).append(nil, c.list, list(old...))
		if len(stored) > c.most {
			t.Errorf("%s: it takes %d bytes, want %d: %q", name, len(stored), c.most, stored)
		}
		if got, rest, ok := nextValue(stored, list(old...), nil); !ok || len(rest) > 0 || !bytes.Equal(got, c.list) {
			t.Errorf("%s: it came back as %s", name, got)
		}
	}
}

// FuzzEdits: a value comes back from its edits of another, whatever the two are, and never takes more than itself.
func FuzzEdits(f *testing.F) {
	f.Add([]byte(strings.Repeat("abc", 30)), []byte("x"+strings.Repeat("abc", 30)))
	f.Add([]byte(element(1, 2)+element(2, 3)), []byte(element(2, 2)+element(1, 3)))
	var e editor
	f.Fuzz(func(t *testing.T, value, base []byte) {
		stored := e.append([]byte("before"), value, base)
		if most := len("before") + len(value) + 5; len(stored) > most {
			t.Errorf("%q, after %q, takes %d bytes", value, base, len(stored))
		}
		if got, rest, ok := nextValue(append(slices.Clip(stored), "rest"...)[len("before"):], base, nil); !ok || string(rest) != "rest" || !bytes.Equal(got, value) {
			t.Errorf("%q, after %q, came back as %q, %q", value, base, got, rest)
		}
		_, _, _ = nextValue(value, base, nil) // damaged: any answer, no panic
		_, _ = restored(value, base, nil)
	})
}
