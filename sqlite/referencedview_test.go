package sqlite

import (
	"testing"

	"github.com/fanfold/fanfold/internal/jsondoc"
)

// TestReferencedView: the referenced view comes back byte for byte. It takes a few bytes where the embedded view only adds derived members
// at the ends of objects, and also after these got other values.
func TestReferencedView(t *testing.T) {
	const items = `{"id":"1","a":[{"id":"x"},{},{"s":"}\\\"{"}],"n":{"k":[1]}}`
	for _, c := range []struct {
		source, body string
		later        string // the embedded view with other derived values, "" for none
		most         int    // bytes that the row may hold of the source
		hides        bool
	}{
		{source: `{}`, body: `{}`},
		{source: `{"a":1}`, body: `{"a":1}`},
		{source: `{}`, body: `{"n":{"x":"}"}}`, later: `{"n":"{{\"}"}`, most: 2},
		{source: `{"a":1}`, body: `{"a":1,"n":2}`, later: `{"a":1,"n":[{},{}],"o":"\\"}`, most: 2},
		{source: `{"a":{}}`, body: `{"a":{"n":2}}`, later: `{"a":{"n":"}","o":{}}}`, most: 2},
		{source: items, body: `{"id":"1","a":[{"id":"x","n":"A"},{"n":"}"},{"s":"}\\\"{","n":{}}],"n":{"k":[1],"c":3},"z":[]}`,
			later: `{"id":"1","a":[{"id":"x","n":[1,{}]},{"n":3},{"s":"}\\\"{","n":"\"}"}],"n":{"k":[1],"c":{}},"z":"}"}`, most: 6},
		{source: `{"a": 1, "b": "\": ,"}`, body: `{"a":1,"b":"\": ,","n":": "}`, later: `{"a":1,"b":"\": ,","n":5}`, most: 4},
		{source: `{"a": 1, "b": 2}`, body: `{"a":1,"b":2}`, most: 3},
		{source: `{"a": 1, "b": [{}, 2]}`, body: `{"a":1,"b":[{"n":1},2],"n":[": "]}`, later: `{"a":1,"b":[{"n":{}},2],"n":"[{\\"}`, most: 6},
		{source: `{"a":1, "b":[]}`, body: `{"a":1,"b":[],"n":2}`, later: `{"a":1,"b":[],"n":"3, 4"}`, most: 4},
		{source: "{\n  \"a\": 1,\n  \"b\": [\n    {},\n    [],\n    {\n      \"c\": \"{\"\n    }\n  ]\n}", body: `{"a":1,"b":[{"n":1},[],{"c":"{"}],"n":{}}`,
			later: `{"a":1,"b":[{"n":[]},[],{"c":"{"}],"n":"}"}`, most: 7},
		{source: "{\n\t\"a\":{\n\t\t\"b\":1\n\t}\n}", body: `{"a":{"b":1},"n":1}`, later: `{"a":{"b":1},"n":[1]}`, most: 4},
		{source: "{\n\"a\": 1\n}", body: `{"a":1,"n":1}`, most: 12},
		{source: `{"a": 1,"b": [1, 2]}`, body: `{"a":1,"b":[1,2],"n":1}`, most: 20},
		{source: `{"n": {}, "a": 1}`, body: `{"n":{"x":1},"a":1}`, later: `{"n":5,"a":1}`, hides: true, most: 17},
		{source: ` {"a": 1}`, body: `{"a":1,"n":2}`, later: `{"a":1,"n":3}`, most: 9},
		{source: `{"n":5,"a":1}`, body: `{"a":1,"n":2}`, later: `{"a":1,"n":3}`, most: 13},
		{source: `{"n":{}}`, body: `{"n":{"x":1}}`, later: `{"n":5}`, hides: true, most: 8},
	} {
		s := NewReferencedView([]byte(c.body), []byte(c.source), c.hides)
		if got := string(s.Text([]byte(c.body))); got != c.source {
			t.Errorf("the source of %s is %s, want %s", c.body, got, c.source)
		}
		if got := string(s.Text([]byte(c.later))); c.later != "" && got != c.source {
			t.Errorf("the source of %s is %s, want %s", c.later, got, c.source)
		}
		if s.storedBytes() > c.most {
			t.Errorf("%d bytes are stored of %s, want %d at most", s.storedBytes(), c.source, c.most)
		}
		if got := s.textLength(len(c.source)); got != len(c.source) {
			t.Errorf("the length of %s is %d", c.source, got)
		}
	}
}

// TestDamagedReferencedView: what a damaged row holds of a source does no harm.
func TestDamagedReferencedView(t *testing.T) {
	body := []byte(`{"a":{"b":1},"n":2}`)
	for _, places := range []string{"\x00", "\x00\x03", "\x00\xff\x05\x01", "\x00\x20\x13\x13", "\xff", "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff", "\x05\x90\x01", "\x05\x01\x01\x01\x01\x01", "\x05\x13\x00\x00"} {
		if got := (ReferencedView{[]byte(places)}).Text(body); len(got) > len(body) {
			t.Errorf("the places %x give %s", places, got)
		}
	}
}

// FuzzReferencedView: whatever the two views are, the referenced one comes back.
func FuzzReferencedView(f *testing.F) {
	f.Add(`{"a":1}`, `{"a":1,"n":2}`)
	f.Add(`{}`, `{"n":"}"}`)
	f.Add(`{"a": [1, 2]}`, `{"a":[1,2],"n":2}`)
	f.Add("{\n \"a\": [\n  {}\n ]\n}", `{"a":[{"n":1}]}`)
	f.Fuzz(func(t *testing.T, source, body string) {
		if jsondoc.Check([]byte(source), 100) != nil {
			t.Skip("no document is so")
		}
		s := NewReferencedView([]byte(body), []byte(source), false)
		if got := string(s.Text([]byte(body))); got != source && source != "" {
			t.Errorf("the source of %q is %q, want %q", body, got, source)
		}
	})
}
