package foreign

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"github.com/fanfold/fanfold"
)

// TestIDs: the members that could be ids are those that each document has, each time another text or number; those that are called like ids come first.
func TestIDs(t *testing.T) {
	var s IDs
	for i, body := range []string{
		`{"title":"a","isbn":"1","shelf_id":1,"n":1,"x":{"y":1},"late":null}`, `{"title":"b","isbn":"2","shelf_id":2,"n":1,"x":{"y":2},"late":1}`,
		`{"id":"has one"}`, `{"title":"c","shelf_id":3,"isbn":"3","n":"1"}`,
	} {
		if s.Add([]byte(body)); s.Without() != i+1 && i < 2 {
			t.Errorf("%s: %d are without an id", body, s.Without())
		}
	}
	if got := s.Members(); s.Without() != 3 || !slices.Equal(got, []string{"shelf_id", "title", "isbn"}) {
		t.Errorf("of %d documents the ids could be %q", s.Without(), got)
	}
	var wide IDs
	text := `{"` + strings.Repeat("n", maxName+1) + `":1`
	for i := range 2 * idMembers {
		text += fmt.Sprintf(`,"m%d":"%d"`, i, i)
	}
	for range 2 {
		wide.Add([]byte(text + `,"u":1}`))
		if wide.Without() == 1 && (len(wide.Members()) != idProposals || len(wide.members) != idMembers) {
			t.Errorf("%d members are told of %d", len(wide.Members()), len(wide.members))
		}
	}
	if len(wide.Members()) != 0 {
		t.Errorf("equal values could be ids: %q", wide.Members())
	}
	var many IDs
	for i := range idDocuments + 10 {
		many.Add([]byte(fmt.Sprintf(`{"k":%d}`, min(i, idDocuments))))
	}
	if many.Without() != idDocuments+10 || !slices.Equal(many.Members(), []string{"k"}) {
		t.Errorf("of many documents %d are without an id, which could be %q", many.Without(), many.Members())
	}
}

// TestAppendLine: a document becomes a line that an import reads, with its place, and a line of an export of this store stays what it is.
func TestAppendLine(t *testing.T) {
	in := `{"collection":"b","doc":{"id":"1"}}` + "\n" + `{"model":{"collections":{}}}` + "\n" + `{"line":9,"collection":"b","text":"{}"}`
	for _, tt := range []struct {
		in   string
		opt  Options
		want []string
	}{
		{in, Options{}, []string{`{"line":1,"collection":"b","doc":{"id":"1"}}`, `{"line":2,"model":{"collections":{}}}`, `{"line":9,"collection":"b","text":"{}"}`}},
		{"\n[{\"id\":1},\n{\"_x\":1}]", Options{Collection: "c"}, []string{`{"line":2,"collection":"c","doc":{"id":1}}`,
			`{"line":3,"refused":"member /_x: names that begin with _ are the store's own: give rename=_x=x, or drop=_x"}`}},
	} {
		r, err := Open(strings.NewReader(tt.in), "", tt.opt)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for {
			doc, err := r.Next()
			var refused *Refusal
			if errors.As(err, &refused) {
				refused.Reason = InQuery(refused.Reason)
				got = append(got, string(AppendRefusal(nil, refused)))
				continue
			}
			if err != nil {
				break
			}
			got = append(got, string(AppendLine(nil, doc)))
		}
		if !slices.Equal(got, tt.want) {
			t.Errorf("%q gives %q", tt.in, got)
		}
	}
}

// TestUnpackedWithin: of a stream of somebody else, what is compressed too much ends the reading, and so does a window that is too large.
func TestUnpackedWithin(t *testing.T) {
	zip := func(size int) []byte {
		var b bytes.Buffer
		z := gzip.NewWriter(&b)
		for n := 0; n < size; n += 1 << 20 {
			_, _ = z.Write(make([]byte, 1<<20)) // never fails
		}
		_ = z.Close()
		return b.Bytes()
	}
	wide, err := zstd.NewWriter(nil, zstd.WithWindowSize(16<<20), zstd.WithSingleSegment(false))
	if err != nil {
		t.Fatal(err)
	}
	noise := make([]byte, 20<<20)
	for i, x := 0, uint32(1); i < len(noise); i++ {
		x = x*1664525 + 1013904223
		noise[i] = byte(x >> 24)
	}
	var b bytes.Buffer
	wide.Reset(&b)
	_, _ = wide.Write(noise)
	_ = wide.Close()
	var again bytes.Buffer
	z := gzip.NewWriter(&again)
	_, _ = z.Write(bytes.Repeat(append(zip(1<<20), bytes.Repeat(zip(0), 500)...), 100)) // whose text has 84 times its length
	_ = z.Close()
	for name, tt := range map[string]struct {
		in   []byte
		want string
	}{
		"plain":        {noise, ""},
		"short":        {zip(freeText), ""},
		"bomb":         {zip(freeText + 2<<20), "more than 250 times"},
		"large window": {b.Bytes(), "window size exceeded"},
		"sent as gzip": {again.Bytes(), "more than 250 times"},
	} {
		var decoded func(io.Reader) io.Reader
		if name == "sent as gzip" {
			decoded = func(in io.Reader) io.Reader {
				z, err := gzip.NewReader(in)
				if err != nil {
					t.Fatal(err)
				}
				return z
			}
		}
		text, _, err := UnpackedWithin(bytes.NewReader(tt.in), decoded)
		if err == nil {
			_, err = io.Copy(io.Discard, text)
		}
		if tt.want == "" && err != nil || tt.want != "" && !strings.Contains(fmt.Sprint(err), tt.want) {
			t.Errorf("%s: %v", name, err)
		}
		if name == "bomb" && fanfold.CodeOf(err) != fanfold.Invalid {
			t.Errorf("%s: %v", name, fanfold.CodeOf(err))
		}
	}
}

// TestFirestoreOfOtherKinds: a list where Firestore has an object, or the other way round, refuses its document, and none of the others.
func TestFirestoreOfOtherKinds(t *testing.T) {
	document := func(fields string) string {
		return `{"name":"projects/p/databases/d/documents/c/x","fields":` + fields + `}`
	}
	const below, object, list = "/__collections__/b/", "it is a list, and has to be an object", "it is an object, and has to be a list"
	for in, want := range map[string][]string{
		document(`[1,2]`): {"refused line 1: member /fields: " + object},
		document(`{"a":{"arrayValue":{"values":{}}}}`):    {"refused line 1: member /fields/a/arrayValue/values: " + list},
		document(`{"a":{"mapValue":{"fields":[[1]]}}}`):   {"refused line 1: member /fields/a/mapValue/fields: " + object},
		document(`{"a":{"arrayValue":{"values":[[1]]}}}`): {`refused line 1: member /fields/a/arrayValue/values/0: it is no value of Firestore, such as {"stringValue":"a"}`},
		`{"document":[1],"readTime":"t"}`:                 {"refused line 1: member /document: it is a list; a document is an object"},
		`{"__collections__":{"a":{"x":{"__collections__":{"b":{"y":{"n":1},"z":[1],"w":{"t":{"__datatype__":"blob"}},"v":{}}}}}}}`: {`a {"id":"x"}`, `b {"id":"x/y","parentId":"x","n":1}`,
			"refused line 1: member " + below + "z: " + object, "refused line 1: member " + below + `w/t: it is of the type "blob", for which JSON has no form: --keep-extended keeps it as the export has it`,
			`b {"id":"x/v","parentId":"x"}`},
		`{"__collections__":{"a":{"x":{"__collections__":[{"y":{}}]},"z":{}}}}`: {"refused line 1: member /__collections__: " + object, `a {"id":"z"}`},
		`{"__collections__":{"a":{"x":{"__collections__":{"b":[{}]}}}}}`:        {"refused line 1: member /__collections__/b: " + object},
	} {
		if got, _, err := read(strings.NewReader(in), "", Options{From: Firestore}); err != nil || !slices.Equal(got, want) {
			t.Errorf("%s gives %q, %v", in, got, err)
		}
	}
}

// TestIDsOfALine: what a line of an export of this store calls a document may be a list, in which no member is the id.
func TestIDsOfALine(t *testing.T) {
	var s IDs
	if s.Add([]byte(`[1,2]`)); s.Without() != 1 || len(s.Members()) != 0 {
		t.Errorf("of %d documents the ids could be %q", s.Without(), s.Members())
	}
}

// TestWorkOfAFewBytes: no text costs far more than one of its length: neither objects in objects that look like Firestore's, nor a long path
// that many documents have.
func TestWorkOfAFewBytes(t *testing.T) {
	given := func(in string) (bytes int, got []string) {
		got, _, err := read(strings.NewReader(in), "", Options{Most: 1 << 20})
		if err != nil {
			t.Fatal(err)
		}
		for _, line := range got {
			bytes += len(line)
		}
		return bytes, got
	}
	const levels = 2000
	o := outlineOf(&scanner{in: bufio.NewReader(strings.NewReader(strings.Repeat(`{"document":`, levels))), line: 1, most: maxHead})
	if allocs := testing.AllocsPerRun(1, func() { o.isFirestore() }); allocs > levels/10 {
		t.Errorf("a look at %d objects within one another takes %v allocations", levels, allocs)
	}
	long := `{"__collections__":{"a":{"` + strings.Repeat("k", 100_000) + `":{"__collections__":{"b":{"0":{}`
	for i := range 300 {
		long += fmt.Sprintf(`,"%d":{}`, i+1)
	}
	if size, got := given(long + `}}},"z":{}}}}`); size > 2000 || len(got) != 2 || !strings.Contains(got[0], "more than 2 MiB with the paths") || got[1] != `a {"id":"z"}` {
		t.Errorf("%d documents with %d bytes were given: %.300q", len(got), size, got)
	}
}
