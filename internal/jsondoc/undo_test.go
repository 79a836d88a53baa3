package jsondoc

import "testing"

// TestUndo: what a patch with old values made becomes what it was made of, byte for byte.
func TestUndo(t *testing.T) {
	for _, c := range []struct{ doc, patch, source, want string }{
		{`{"z":1,"n":8}`, `[{"op":"replace","path":"/n","value":8,"old":7}]`, `{"z":1}`, `{"z":1,"n":7}`},
		{`{"z":1,"n":8}`, `[{"op":"add","path":"/n","value":8}]`, `{"z":1}`, `{"z":1}`},
		{`{"n":8}`, `[{"op":"add","path":"/n","value":8}]`, `{}`, `{}`},
		{`{"z":1,"a":1,"c":3}`, `[{"op":"remove","path":"/b","old":[2]},{"op":"remove","path":"/d","old":4}]`, `{"z":1}`, `{"z":1,"a":1,"b":[2],"c":3,"d":4}`},
		{`{"z":1}`, `[{"op":"remove","path":"/b","old":2}]`, `{"b":0,"z":1}`, `{"z":1,"b":2}`},
		{`{"a":[{"id":1,"n":"x"},{"id":2}]}`, `[{"op":"replace","path":"/a/0/n","value":"x","old":"y"},{"op":"remove","path":"/a/1/n","old":"q"}]`,
			`{"a":[{"id":1},{"id":2}]}`, `{"a":[{"id":1,"n":"y"},{"id":2,"n":"q"}]}`},
		{`{"a":[{"id":1,"n":"x"}]}`, `[{"op":"add","path":"/a/0/n","value":"x"}]`, `{"a":[{"id":1}]}`, `{"a":[{"id":1}]}`},
		{`{"s":{"own":1,"x":2}}`, `[{"op":"replace","path":"/s/x","value":2,"old":3},{"op":"remove","path":"/s/y","old":4}]`, `{"s":{"own":1}}`, `{"s":{"own":1,"x":3,"y":4}}`},
		{`{"a/b":1,"c~":2}`, `[{"op":"replace","path":"/a~1b","value":1,"old":0},{"op":"add","path":"/c~0","value":2}]`, `{}`, `{"a/b":0}`},
		{`{"":{"":2}}`, `[{"op":"replace","path":"//","value":2,"old":0}]`, `{}`, `{"":{"":0}}`},
		{`{"a":1}`, `[{"op":"replace","path":"","value":{"a":1},"old":{"b":2}}]`, `{}`, `{"b":2}`},
	} {
		if got, ok := Undo([]byte(c.doc), []byte(c.patch), func() []byte { return []byte(c.source) }); !ok || string(got) != c.want {
			t.Errorf("%s without %s is %s, %v, want %s", c.doc, c.patch, got, ok, c.want)
		}
	}
	for _, c := range []struct{ doc, patch string }{
		{`{`, `[]`}, {`{}`, `[`}, {`{}`, `[{"op":"move","path":"/a"}]`}, {`{"a":1}`, `[{"op":"replace","path":"/a","value":1}]`},
		{`{"a":[1]}`, `[{"op":"remove","path":"/a/0","old":1}]`}, {`{"a":1}`, `[{"op":"replace","path":"/a/b","value":1,"old":2}]`},
	} {
		if got, ok := Undo([]byte(c.doc), []byte(c.patch), func() []byte { return []byte(`{}`) }); ok {
			t.Errorf("%s without %s is %s", c.doc, c.patch, got)
		}
	}
}
