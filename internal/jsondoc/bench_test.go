package jsondoc

import (
	"bytes"
	"fmt"
	"testing"
)

// book returns a document of about 8 kB: an object with nested objects, arrays, escapes and numbers.
func book() []byte {
	var b bytes.Buffer
	b.WriteString(`{"id":"b1","title":"The caf\u00e9 of \"lost\" books","year":1984,"price":12.50,"tags":[`)
	for i := range 100 {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, `"tag %d"`, i)
	}
	b.WriteString(`],"authors":[`)
	for i := range 100 {
		if i > 0 {
			b.WriteString(", ")
		}
		fmt.Fprintf(&b, `{"id":"a%d","name":"Author %d","born":%d,"living":true}`, i, i, 1900+i)
	}
	b.WriteString(`],"publisher":null}`)
	return b.Bytes()
}

func BenchmarkCheck(b *testing.B) {
	doc := book()
	b.SetBytes(int64(len(doc)))
	for b.Loop() {
		if err := Check(doc, 64); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkParse(b *testing.B) {
	doc := book()
	var t Tree
	b.SetBytes(int64(len(doc)))
	b.ReportAllocs()
	for b.Loop() {
		if err := t.Parse(doc); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkParseSmall(b *testing.B) {
	doc := []byte(`{"id":"1","title":"A book","authors":[{"id":"17"},{"id":"23"}],"year":1984}`)
	var t Tree
	b.SetBytes(int64(len(doc)))
	b.ReportAllocs()
	for b.Loop() {
		if err := t.Parse(doc); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkMember(b *testing.B) {
	t := MustParse(book())
	for b.Loop() {
		if t.Member(Root, "publisher") == None {
			b.Fatal("no publisher")
		}
	}
}

func BenchmarkCompact(b *testing.B) {
	doc := book()
	dst := make([]byte, 0, len(doc))
	b.SetBytes(int64(len(doc)))
	for b.Loop() {
		dst = Compact(dst[:0], doc)
	}
}

func BenchmarkMerge(b *testing.B) {
	doc, patch := book(), []byte(`{"year":1985,"price":null,"publisher":{"name":"Press"}}`)
	b.ReportAllocs()
	for b.Loop() {
		Merge(doc, patch)
	}
}

func BenchmarkApply(b *testing.B) {
	doc := book()
	ops, err := ParsePatch([]byte(`[{"op":"replace","path":"/authors/50/name","value":"Nobody"},{"op":"remove","path":"/tags/3"}]`))
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Apply(doc, ops); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkEqual(b *testing.B) {
	x := book()
	y := bytes.Replace(x, []byte("12.50"), []byte("1.25e1"), 1)
	b.ReportAllocs()
	for b.Loop() {
		if !Equal(x, y) {
			b.Fatal("not equal")
		}
	}
}
