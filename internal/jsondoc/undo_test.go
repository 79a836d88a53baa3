package jsondoc

import (
	"bytes"
	"fmt"
	"maps"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"
)

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

// derivedDoc is a document whose derived members, also of an object and of an array's elements, come and go.
type derivedDoc struct {
	members [3]map[string]string // of the document, of its member o, and of the element a[0]
}

// text returns the document: its own members, then the derived ones by name.
func (d *derivedDoc) text() string {
	var lists [3]string
	for i, members := range d.members {
		for _, name := range slices.Sorted(maps.Keys(members)) {
			lists[i] += "," + string(Quote(name)) + ":" + members[name]
		}
	}
	return `{"z":1,"o":{"own":2` + lists[1] + `},"a":[{"b/":3` + lists[2] + `},4]` + lists[0] + `}`
}

// change changes some of the derived members, and returns the patch.
func (d *derivedDoc) change(random *rand.Rand) string {
	var ops []string
	for i, path := range []string{"/", "/o/", "/a/0/"} {
		for _, name := range []string{"c", "k~", "q", "v"} {
			if random.IntN(3) > 0 {
				continue
			}
			old, path := d.members[i][name], path+strings.ReplaceAll(name, "~", "~0")
			value := fmt.Sprintf(`{"n":%d,"m":[%d]}`, random.IntN(9), random.IntN(9))
			switch what := random.IntN(4); {
			case old == "":
				d.members[i][name] = value
				ops = append(ops, fmt.Sprintf(`{"op":"add","path":%q,"value":%s}`, path, value))
			case what == 0:
				delete(d.members[i], name)
				ops = append(ops, fmt.Sprintf(`{"op":"remove","path":%q,"old":%s}`, path, old))
			case what == 1:
				d.members[i][name] = value
				ops = append(ops, fmt.Sprintf(`{"op":"replace","path":%q,"value":%s,"old":%s}`, path, value, old))
			default:
				m := old[5:6]
				d.members[i][name] = old[:5] + "8" + old[6:]
				ops = append(ops, fmt.Sprintf(`{"op":"replace","path":%q,"value":8,"old":%s}`, path+"/n", m))
			}
		}
	}
	return "[" + strings.Join(ops, ",") + "]"
}

// placesOf returns a patch without its values.
func placesOf(patch string) string {
	return regexp.MustCompile(`"(value|old)":(\d|\{[^}]*\})`).ReplaceAllString(patch, "")
}

// TestUndoAll: patches that are undone together lead to what they lead to one after the other, wherever they begin, also
// without those which have the places of an earlier one.
func TestUndoAll(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	source := func() []byte { return []byte(`{"z":1,"o":{"own":2},"a":[{"b/":3},4]}`) }
	for range 300 {
		d := &derivedDoc{members: [3]map[string]string{{}, {}, {}}}
		texts, patches := []string{d.text()}, []string{}
		for range 12 {
			patches = append(patches, d.change(random))
			texts = append(texts, d.text())
		}
		for to := range patches {
			var all, few [][]byte
			seen := map[string]bool{}
			for i := to; i < len(patches); i++ {
				all = slices.Insert(all, 0, []byte(patches[i]))
				if places := placesOf(patches[i]); !seen[places] {
					seen[places] = true
					few = slices.Insert(few, 0, []byte(patches[i]))
				}
			}
			for _, list := range [][][]byte{all, few} {
				if got, ok := UndoAll([]byte(texts[len(patches)]), list, source); !ok || string(got) != texts[to] {
					t.Fatalf("%s without\n%s is\n%s, %v, want\n%s", texts[len(patches)], bytes.Join(list, []byte("\n")), got, ok, texts[to])
				}
			}
		}
	}
}

// TestUndoAllApart: where members' places depend on the documents between, patches are not undone together.
func TestUndoAllApart(t *testing.T) {
	for _, c := range []struct{ doc, source string }{
		{`{"own":1,"z":1,"a":1}`, `{"own":1}`},         // derived members in no order
		{`{"own":1,"a":1,"z":2}`, `{"own":1,"m":2}`},   // one has the name of one that is hidden
		{`{"own":1,"a":1,"z":2}`, `{"z":0,"own":1}`},   // another has
		{`{"own":1,"a":1,"z":2}`, `{"own":1,"new":2}`}, // one that goes has
	} {
		patches := [][]byte{[]byte(`[{"op":"add","path":"/new","value":1}]`), []byte(`[{"op":"remove","path":"/m","old":2}]`)}
		if got, ok := UndoAll([]byte(c.doc), patches, func() []byte { return []byte(c.source) }); ok {
			t.Errorf("%s with the source %s is %s", c.doc, c.source, got)
		}
	}
	below := [][]byte{[]byte(`[{"op":"add","path":"/a","value":1}]`), []byte(`[{"op":"replace","path":"/a/b","value":1,"old":2}]`)}
	if got, ok := UndoAll([]byte(`{"a":1}`), below, func() []byte { return []byte(`{}`) }); ok {
		t.Errorf("a patch of what was not there leads to %s", got)
	}
}
