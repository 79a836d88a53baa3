package foreign

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/internal/jsondoc"
)

// read returns what a stream gives: a line for each document, as COLLECTION BODY, or for a refusal.
func read(in io.Reader, name string, opt Options) (got []string, r *Reader, err error) {
	if r, err = Open(in, name, opt); err != nil {
		return nil, r, err
	}
	got, err = drain(r)
	return got, r, err
}

// drain returns what a reader gives.
func drain(r *Reader) (got []string, err error) {
	for {
		doc, err := r.Next()
		var refused *Refusal
		switch {
		case errors.Is(err, io.EOF):
			return got, nil
		case errors.As(err, &refused):
			got = append(got, "refused "+strings.TrimSpace(refused.Place.File+" ")+refused.Error())
		case err != nil:
			return got, err
		default:
			got = append(got, strings.TrimSpace(doc.Collection+" "+string(doc.Body)))
		}
	}
}

// TestFormats: what each store exports becomes the documents that it means, whether the stream comes whole or byte by byte.
func TestFormats(t *testing.T) {
	for _, tt := range []struct {
		name, in, format string
		opt              Options
		want             []string
		dropped, left    map[string]int
	}{
		{name: "lines", in: `{"id":"1","n":1.50}` + "\n\n" + ` {"id":"2"}`, format: Plain, want: []string{`{"id":"1","n":1.50}`, `{"id":"2"}`}},
		{name: "values over lines", in: "{\n  \"id\": \"1\",\n  \"a\": [ 1,\n 2 ]\n}\n{\"id\":\"2\"}", format: Plain, want: []string{`{"id":"1","a":[1,2]}`, `{"id":"2"}`}},
		{name: "array", in: "\ufeff[{\"id\":\"1\"},\n{\"id\":\"a]},{\\\"\"}]\n", format: Plain, want: []string{`{"id":"1"}`, `{"id":"a]},{\""}`}},
		{name: "arrays", in: `[{"id":"1"}][{"id":"2"}]`, format: Plain, want: []string{`{"id":"1"}`, `{"id":"2"}`}},
		{name: "empty", in: " \n", format: Plain},
		{name: "empty array", in: "[]", format: Plain},
		{name: "numbers", in: `[{"n":123456789012345678901234567890.000100,"m":1E400}]`, format: Plain, want: []string{`{"n":123456789012345678901234567890.000100,"m":1E400}`}},
		{name: "one bad line", in: "{\"id\":\"1\"}\nnot json\n{\"id\":\"3\",\"id\":1}\n7\n{\"id\":\"5\"}", format: Plain,
			want: []string{`{"id":"1"}`, "refused line 2: ", "refused line 3: duplicate member", "refused line 4: it is a number", `{"id":"5"}`}},
		{name: "own", in: `{"collection":"books","doc":{"id":"1","_x":1}}` + "\n" + `{"collection":"books","text":"{\"id\":\"2\"}"}` + "\n" + `{"model":{"collections":{}}}`, format: Own,
			want: []string{`books {"id":"1","_x":1}`, `books {"id":"2"}`, ""}},
		{name: "own as documents", in: `{"collection":"books","doc":{}}`, opt: Options{Collection: "c"}, format: Plain, want: []string{`c {"collection":"books","doc":{}}`}},
		{name: "_ is an error", in: `[{"id":"1","_x":1,"a":{"_y":2}}]`, format: Plain, want: []string{"refused line 1: member /_x: names that begin with _ are the store's own: give --rename _x=x, or --drop _x"}},
		{name: "_ renamed and dropped", in: `[{"_x":1,"_y":1,"a":{"_y":2},"_meta":{}}]`, opt: Options{Rename: map[string]string{"_x": "x"}, Drop: []string{"_y"}}, format: Plain,
			want: []string{`{"x":1,"a":{"_y":2}}`}, dropped: map[string]int{"_y": 1, "_meta": 1}},
		{name: "cosmos", in: `[{"id":"1","pk":7,"_rid":"a","_self":"b","_etag":"c","_attachments":"d","_ts":1700000000}]`, format: Cosmos, want: []string{`{"id":"1","pk":7}`},
			dropped: map[string]int{"_rid": 1, "_self": 1, "_etag": 1, "_attachments": 1, "_ts": 1}},
		{name: "cosmos pages", in: `{"_rid":"x","Documents":[{"id":"1","_ts":1}],"_count":1}` + "\n" + `{"_rid":"x","Documents":[{"id":"2","_ts":2}],"_count":1}`, format: Cosmos,
			opt: Options{Rename: map[string]string{"_ts": "changed"}}, want: []string{`{"id":"1","changed":1}`, `{"id":"2","changed":2}`}},
		{name: "mongo relaxed", in: `{"_id":{"$oid":"57e193d7a9cc81b4027498b5"},"d":{"$date":"2019-08-11T17:54:14.692+02:00"},"n":5,"__v":0}`, format: Mongo,
			want: []string{`{"id":"57e193d7a9cc81b4027498b5","d":"2019-08-11T17:54:14.692+02:00","n":5}`}, dropped: map[string]int{"__v": 1}},
		{name: "mongo canonical", in: `[{"_id":{"$numberLong":"9007199254740993"},"a":[{"$numberInt":"1"},{"$numberDouble":"1.0"},{"$numberDecimal":"1.50"},{"$numberDecimal":"1E+3"}],` +
			`"d":{"$date":{"$numberLong":"-1"}},"s":{"$symbol":"x"},"$set":{"$foo":1}}]`, format: Mongo,
			want: []string{`{"id":9007199254740993,"a":[1,1.0,1.50,1E+3],"d":"1969-12-31T23:59:59.999Z","s":"x","$set":{"$foo":1}}`}},
		{name: "mongo without form", in: `{"_id":1,"b":[{"$binary":{"$binary":"AA==","subType":"00"}}]}` + "\n" + `{"_id":2,"n":{"$numberDouble":"NaN"}}` + "\n" + `{"_id":{"a":1}}` + "\n" + `{"_id":3,"id":4}`, format: Mongo,
			want: []string{"refused line 1: member /b/0: it is binary", "refused line 2: member /n: it is numberDouble \"NaN\"", "refused line 3: member /_id: it is no text", `refused line 4: member /_id: it would be called "id"`}},
		{name: "mongo keep", in: "[{\"_id\":1,\"b\":{\"$timestamp\":{\n\"t\":1,\"i\":2}},\"d\":{\"$date\":{\"$numberLong\":\"999999999999999\"}}}]", opt: Options{KeepExtended: true}, format: Mongo,
			want: []string{`{"id":1,"b":{"$timestamp":{"t":1,"i":2}},"d":{"$date":{"$numberLong":"999999999999999"}}}`}},
		{name: "mongo ids", in: `{"_id":3,"id":4}`, opt: Options{Rename: map[string]string{"id": "no"}}, format: Mongo, want: []string{`{"id":3,"no":4}`}},
		{name: "couch docs", in: `{"docs":[{"_id":"a","_rev":"1-x","v":1},{"_id":"_design/q"},{"_id":"b","_deleted":true}]}`, format: Couch, want: []string{`{"id":"a","v":1}`},
			dropped: map[string]int{"_rev": 1}, left: map[string]int{"design documents": 1, "deleted": 1}},
		{name: "couch rows", in: "{\"total_rows\":3,\"offset\":0,\"rows\":[\n{\"id\":\"a\",\"key\":\"a\",\"value\":{\"rev\":\"1-x\"},\"doc\":{\"_id\":\"a\",\"_rev\":\"1-x\"}},\n{\"id\":\"b\",\"key\":\"b\",\"value\":{\"rev\":\"1\"}},\n{\"key\":\"c\",\"value\":{},\"doc\":null}]}", format: Couch,
			want: []string{`{"id":"a"}`, "refused line 3: the row has no doc: export with include_docs=true"}, dropped: map[string]int{"_rev": 1}, left: map[string]int{"deleted": 1}},
		{name: "firestore", in: `{"documents":[{"name":"projects/p/databases/(default)/documents/authors/a1","fields":{"n":{"integerValue":"9007199254740993"},"d":{"doubleValue":1.50},"t":{"timestampValue":"2020-01-01T00:00:00.120Z"},` +
			`"l":{"arrayValue":{"values":[{"stringValue":"x"},{"nullValue":null}]}},"e":{"arrayValue":{}},"m":{"mapValue":{"fields":{"_k":{"booleanValue":true}}}},"r":{"referenceValue":"projects/p/databases/(default)/documents/books/b1/parts/p1"},"g":{"geoPointValue":{"latitude":1,"longitude":2}}},"createTime":"2020-01-01T00:00:00Z"},` +
			`{"name":"projects/p/databases/(default)/documents/authors/a1/books/b1","fields":{"x":{"bytesValue":"AA=="}}}, {"name":"projects/p/databases/(default)/documents/authors/a1/books/b2"}]}`, format: Firestore,
			want:    []string{`authors {"id":"a1","n":9007199254740993,"d":1.50,"t":"2020-01-01T00:00:00.12Z","l":["x",null],"e":[],"m":{"_k":true},"r":"b1/p1","g":{"latitude":1,"longitude":2}}`, "refused line 1: member /documents/1/fields/x", `books {"id":"a1/b2","parentId":"a1"}`},
			dropped: map[string]int{"createTime": 1}},
		{name: "firestore query", in: `[{"document":{"name":"projects/p/databases/d/documents/c/1","fields":{"a":{"stringValue":"b"}}},"readTime":"x"},{"readTime":"x"}]`, format: Firestore,
			want: []string{`c {"id":"1","a":"b"}`}, left: map[string]int{"answers without a document": 1}},
		{name: "firestore tree", in: `{"__collections__":{"authors":{"a1":{"n":"x","at":{"__datatype__":"timestamp","value":{"_seconds":1,"_nanoseconds":500000000}},"__collections__":{"books":{"b1":{"r":{"__datatype__":"documentReference","value":"authors/a1"},"__collections__":{}}}}},"a2":{}},"cities":{}}}`, format: Firestore,
			want: []string{`authors {"id":"a1","n":"x","at":"1970-01-01T00:00:01.5Z"}`, `books {"id":"a1/b1","parentId":"a1","r":"a1"}`, `authors {"id":"a2"}`}},
		{name: "a list", in: `{"data":[{"id":"1"}],"x":{"data":[1]}}`, opt: Options{List: "data"}, format: Plain, want: []string{`{"id":"1"}`}},
		{name: "itself", in: `{"data":[{"id":"1"}]}`, opt: Options{List: "."}, format: Plain, want: []string{`{"data":[{"id":"1"}]}`}},
		{name: "has an id", in: `{"id":"o","items":[{"id":"1"}]}`, format: Plain, want: []string{`{"id":"o","items":[{"id":"1"}]}`}},
		{name: "two lines", in: `{"items":[{"id":"1"}]}` + "\n" + `{"items":[{"id":"1"}]}`, format: Plain, want: []string{`{"items":[{"id":"1"}]}`, `{"items":[{"id":"1"}]}`}},
	} {
		for _, byByte := range []bool{false, true} {
			in := io.Reader(strings.NewReader(tt.in))
			if byByte {
				in = iotest.OneByteReader(in)
			}
			got, r, err := read(in, "file", tt.opt)
			if err != nil {
				t.Errorf("%s: %v", tt.name, err)
				continue
			}
			same := len(got) == len(tt.want)
			for i := range got {
				want := ""
				if i < len(tt.want) {
					want = tt.want[i]
				}
				same = same && (got[i] == want || strings.HasPrefix(want, "refused") && strings.HasPrefix(got[i], strings.SplitN(want, " member", 2)[0]))
			}
			report := r.Report()
			if !same || !slices.Equal(report.From, []string{tt.format}) {
				t.Errorf("%s, byte by byte %t: it was taken for %s, and gives\n%s", tt.name, byByte, report.From, strings.Join(got, "\n"))
			}
			if tt.dropped != nil && !maps.Equal(report.Dropped, tt.dropped) || tt.left != nil && !maps.Equal(report.Left, tt.left) {
				t.Errorf("%s: dropped %v, left %v", tt.name, report.Dropped, report.Left)
			}
		}
	}
}

// TestAsks: what cannot be read, or may be one thing or another, is said with its place and what to do.
func TestAsks(t *testing.T) {
	for in, want := range map[string]string{
		`{"data":[{"id":"1"}],"total":1}`:                 `its member "data" has a list of objects: to load these, give --list data; to load the object itself as one document, --list .`,
		"{\n\"authors\":[{\"a\":1}],\"books\":[]\n}":      `"authors" has a list`,
		`{"docs":[{"x":1}],"title":"t"}`:                  `"docs" has a list`,
		"PK\x03\x04":                                      "is a zip archive: unpack it",
		"a\x00b":                                          "is no text: byte 1 of it is 0",
		`[{"id":"1"},`:                                    "line 1: the file ends within the list: it was cut",
		`[{"id":"1"} {"id":"2"}]`:                         "line 1: a comma or the end of the list is wanted",
		"[{\"id\":\"1\"},\n{\"id\":\"":                    "line 2: the file ends within the value that begins in line 2",
		`[{"id":"1"}] x`:                                  `'[' is wanted here`,
		`{"docs":[{"_id":"1"}]`:                           "the file ends within the object around its documents",
		"{\n}\n{\n" + strings.Repeat("[", 300):            "the file ends within the value that begins in line 3",
		`{"__collections__":{"a":{"b":{}}`:                "the file ends too early",
		"\x1f\x8b":                                        "",
		`{"docs":[{"_id":"1"}],` + `"new_edits":false,`:   "the file ends within",
		"{\"rows\":[{\"key\":1,\"value\":2}],\"rows\":[}": "a value is wanted here",
	} {
		_, _, err := read(strings.NewReader(in), "FILE", Options{})
		if want != "" && (fanfold.CodeOf(err) != fanfold.Invalid || !strings.Contains(fanfold.MessageOf(err), want)) {
			t.Errorf("%q: %v", in, err)
		}
	}
	for _, name := range []string{"a.bson", "all_namespaces.overall_export_metadata", "output-0"} {
		if _, _, err := read(strings.NewReader("x"), name, Options{}); fanfold.CodeOf(err) != fanfold.Invalid {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, opt := range []Options{{From: "oracle"}, {Rename: map[string]string{"_id": "_x"}}, {Rename: map[string]string{"a": "x", "b": "x"}}} {
		if _, err := Open(strings.NewReader(""), "", opt); fanfold.CodeOf(err) != fanfold.Invalid {
			t.Errorf("%v: %v", opt, err)
		}
	}
	if _, err := Open(strings.NewReader(`{"collection":"a","doc":{"_x":1}}`), "f", Options{Drop: []string{"_x"}}); !strings.Contains(fmt.Sprint(err), "leave --rename and --drop out") {
		t.Errorf("members of an export of this store are dropped: %v", err)
	}
	if _, _, err := read(strings.NewReader(`{"a":1}`), "", Options{List: "b"}); !strings.Contains(fmt.Sprint(err), `no member "b"`) {
		t.Errorf("a list that is not there: %v", err)
	}
}

// TestBoundsOfADocument: a document that is too long or too deep is refused, and those after it are read.
func TestBoundsOfADocument(t *testing.T) {
	long := `{"a":"` + strings.Repeat("x", maxDocument) + `"}`
	deep := `{"a":` + strings.Repeat("[", maxDepth) + strings.Repeat("]", maxDepth) + `}`
	for _, in := range []string{"[{\"id\":\"1\"}," + long + "," + deep + ",{\"id\":\"2\"}]", "{\"id\":\"1\"}\n" + long + "\n" + deep + "\n{\"id\":\"2\"}"} {
		got, _, err := read(strings.NewReader(in), "", Options{})
		if err != nil || len(got) != 4 || !strings.Contains(got[1], "more than 16 MiB") || !strings.Contains(got[2], "deeper than 256") || got[3] != `{"id":"2"}` {
			t.Errorf("%d documents, %v", len(got), err)
		}
	}
}

// bomb is a stream of so many documents of zeros.
type bomb struct{ left int }

// Read implements io.Reader.
func (b *bomb) Read(p []byte) (int, error) {
	if b.left == 0 {
		return 0, io.EOF
	}
	n := copy(p, bytes.Repeat([]byte("{\"a\":0}\n"), min(b.left, len(p)/8)))
	b.left -= n / 8
	return n, nil
}

// TestCompressed: streams compressed by gzip and zstd are read as they come, also those that become a thousand times as long, and one that was
// cut is said to be.
func TestCompressed(t *testing.T) {
	const documents = 1 << 17
	var zipped, squeezed bytes.Buffer
	z := gzip.NewWriter(&zipped)
	_, err := io.Copy(z, &bomb{documents})
	s, err2 := zstd.NewWriter(&squeezed)
	if err != nil || err2 != nil {
		t.Fatal(err, err2)
	}
	_, err = io.Copy(s, &bomb{documents})
	if err := errors.Join(err, z.Close(), s.Close()); err != nil {
		t.Fatal(err)
	}
	for name, packed := range map[string][]byte{"gzip": zipped.Bytes(), "two of gzip": append(bytes.Clone(zipped.Bytes()), zipped.Bytes()...), "zstd": squeezed.Bytes()} {
		text, _, err := Unpacked(bytes.NewReader(packed))
		if err != nil {
			t.Fatal(err)
		}
		got, _, err := read(text, "", Options{})
		if want := documents * (1 + strings.Count(name, "two")); err != nil || len(got) != want {
			t.Errorf("%s: %d documents, %v", name, len(got), err)
		}
		if text, _, err = Unpacked(bytes.NewReader(packed[:len(packed)*2/3])); err == nil {
			_, _, err = read(text, "", Options{})
		}
		if fanfold.CodeOf(err) != fanfold.Invalid || name != "two of gzip" && !strings.Contains(fanfold.MessageOf(err), "it was cut") {
			t.Errorf("%s that was cut: %v", name, err)
		}
	}
}

// TestDirectory: each file has a collection's documents, and what is left out is named.
func TestDirectory(t *testing.T) {
	dir := t.TempDir()
	var zipped bytes.Buffer
	z := gzip.NewWriter(&zipped)
	_, err := z.Write([]byte(`{"_id":1}` + "\n" + `{"_id":2}`))
	if err := errors.Join(err, z.Close()); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"b.json": `[{"id":"1"},7]`, "a.ndjson.gz": zipped.String(), "c.jsonl": `{"collection":"d","doc":{}}`, "README.md": "x", ".hidden": "", "a.metadata.json": "{}", "e.json": ""} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	bytesRead := 0
	r, err := OpenDir(dir, Options{}, func(n int) { bytesRead += n })
	if err != nil {
		t.Fatal(err)
	}
	got, err := drain(r)
	want := []string{`a {"id":1}`, `a {"id":2}`, `b {"id":"1"}`, "refused b.jsonline 1: it is a number; a document is an object", "d {}"}
	report := r.Report()
	if err != nil || !slices.Equal(got, want) || !slices.Equal(report.Files, []string{".hidden", "README.md", "a.metadata.json"}) || !slices.Equal(report.From, []string{Mongo, Plain, Own}) || bytesRead < 60 {
		t.Errorf("%v\n%s\n%+v", err, strings.Join(got, "\n"), report)
	}
	if report.Documents != 4 || !maps.Equal(report.Collections, map[string]int{"a": 2, "b": 1, "d": 1}) {
		t.Errorf("%+v", report)
	}
	for name, want := range map[string]string{"x.bson": "is BSON", "1.json": "is called after no collection", "x.csv": "--mapping", "sub/x": "has the directory sub"} {
		dir := t.TempDir()
		path := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte("{}"), 0o600)); err != nil {
			t.Fatal(err)
		}
		if _, err := OpenDir(dir, Options{}, nil); fanfold.CodeOf(err) != fanfold.Invalid || !strings.Contains(fanfold.MessageOf(err), want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := OpenDir(t.TempDir(), Options{}, nil); fanfold.CodeOf(err) != fanfold.Invalid {
		t.Errorf("an empty directory: %v", err)
	}
}

// FuzzOpen: whatever a stream has, each document is one line of JSON, the same whether the stream comes whole or byte by byte.
func FuzzOpen(f *testing.F) {
	for _, seed := range []string{`{"id":"1"}` + "\n" + `{"_id":{"$oid":"a"},"d":{"$date":{"$numberLong":"1"}}}`, `[{"_rid":"a","_ts":1,"Documents":[]}]`, `{"docs":[{"_id":"a","_rev":"1"}]}`,
		`{"rows":[{"id":"a","key":"a","value":{},"doc":{"_id":"a"}}]}`, `{"documents":[{"name":"p/documents/c/1","fields":{"a":{"mapValue":{"fields":{}}}}}]}`,
		`{"__collections__":{"a":{"b":{"c":{"__datatype__":"timestamp","value":{"_seconds":1,"_nanoseconds":2}},"__collections__":{"d":{"e":{}}}}}}}`, "{\"a\":[\n{}]}", "\xff", `{"collection":"a","text":"{}"}`} {
		f.Add([]byte(seed), uint8(len(seed)))
	}
	f.Fuzz(func(t *testing.T, in []byte, how uint8) {
		if bytes.IndexByte(in, 0) >= 0 { // whether it is seen to be no text depends on how much comes at once
			t.Skip()
		}
		opt := Options{From: Formats()[int(how)%len(Formats())], KeepExtended: how&128 != 0}
		if how&64 != 0 {
			opt.List = "docs"
		}
		got, _, err := read(bytes.NewReader(in), "f", opt)
		slow, _, err2 := read(iotest.OneByteReader(bytes.NewReader(in)), "f", opt)
		if !slices.Equal(got, slow) || fmt.Sprint(err) != fmt.Sprint(err2) {
			t.Fatalf("%q: %q, %v and %q, %v", in, got, err, slow, err2)
		}
		for _, doc := range got {
			if _, body, ok := strings.Cut(doc, "{"); ok && !strings.HasPrefix(doc, "refused") && (jsondoc.Check([]byte("{"+body), maxDepth+1) != nil || strings.Contains(body, "\n")) {
				t.Fatalf("%q gives %q", in, doc)
			}
		}
	})
}
