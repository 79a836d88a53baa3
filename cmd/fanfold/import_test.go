package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/fanfold/fanfold/client"
	"github.com/fanfold/fanfold/internal/foreign"
	"github.com/fanfold/fanfold/tests/harness"
)

// writeTemp writes a file into a directory of the test's and returns its path.
func writeTemp(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestImportOfCSVWithoutMapping: CSV without a mapping stops at once with a mapping to write, and that mapping works.
func TestImportOfCSVWithoutMapping(t *testing.T) {
	s := harness.OpenTemp(t, "")
	file := writeTemp(t, "Good Books 2.csv", "\ufeffbook_id,title,original year,in,o'k,\"a \"\"b\"\"\"\n7,Seven,1999,x,y,z\n8,Eight,,x,y,z\n")
	for _, args := range [][]string{{file}, {"--collection", "books", file}, {"-"}} {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		r := runCommand(t, string(text), append([]string{"import", "--server", s.URL}, args...)...)
		r.want(t, exitUsage, "is CSV, for which a mapping file says what becomes of each row", "'id': doc.book_id", "doc['original year']", "doc['in']", " import --mapping mapping.yaml --server "+s.URL+" ")
		_, mapping, _ := strings.Cut(r.err, "mapping.yaml:\n\n")
		mapping, _, _ = strings.Cut(mapping, "\nand then:")
		name := strings.TrimPrefix(strings.Split(mapping, "\n")[1], "- collection: ")
		runCommand(t, "", "import", "--server", s.URL, "--mapping", writeTemp(t, "mapping.yaml", mapping), file).want(t, exitDone, "2 documents written")
		s.WantDoc(name, "7", `{"id":"7","book_id":"7","title":"Seven","original year":"1999","in":"x","o'k":"y","a \"b\"":"z"}`)
	}
	for head, csv := range map[string]bool{"a,b\n1,2\n": true, "a,b\n1\n": false, `{"a":1}` + "\n": false, "a b\n1 2\n": false, "": false, "[1,2]\n[1,2]\n": false, "oops, what\n{\"a\":1}\n": false} {
		if got := csvHeader([]byte(head), false, ',') != nil; got != csv {
			t.Errorf("%q is CSV: %t", head, got)
		}
	}
	for path, want := range map[string]string{"a/Good Books 2.csv": "good-books-2", "2024.csv": "documents", "-": "documents", "x.tar.csv": "x-tar", "Old/Books.json.gz": "books"} {
		if got := foreign.Proposed(path); got != want {
			t.Errorf("the collection of %s is %s, want %s", path, got, want)
		}
	}
	if got := exampleMapping("c", make([]string, maxExampleColumns+5)); !strings.Contains(got, "# 5 more columns") || !strings.Contains(got, "No column looks like an id") {
		t.Errorf("the example of many columns is %s", got)
	}
}

// TestModelThatRemoves: a command that sends a model which takes something away says by which of its flags that is meant.
func TestModelThatRemoves(t *testing.T) {
	s := harness.OpenTemp(t, "collections: {books: {unique: [isbn]}}")
	at := func(args ...string) ran { return runCommand(t, "", append(args, "--server", s.URL)...) }
	model := writeTemp(t, "m.yaml", "collections: {books: {}}")
	at("model", "apply", model).want(t, exitFailed, "collections.books.unique", "if that is meant, give --allow-removal")
	export := writeTemp(t, "e.ndjson", `{"model":{"collections":{"books":{}}}}`+"\n")
	at("import", export).want(t, exitFailed, "refused: model-removes: 1", "is taken with --allow-removal, if that is meant")
	at("import", "--allow-removal", export).want(t, exitDone, "0 refused")
	at("model", "apply", model).want(t, exitDone, "0 documents changed")
}

// TestImportReportsMappingErrors: a mapping's error names the line, the column and its value, and a column that the file does
// not have stops the import before anything is stored.
func TestImportReportsMappingErrors(t *testing.T) {
	s := harness.OpenTemp(t, "")
	file := writeTemp(t, "b.csv", "id,n,m\n1,1,1\n2,x,1\n3,,1\n4,4,1\n")
	runImport := func(mapping string) ran {
		return runCommand(t, "", "import", "--server", s.URL, "--mapping", writeTemp(t, "m.yaml", mapping), file)
	}
	runImport("- collection: books\n  documents: \"{'id': doc.id, 'm': int(doc.m), 'n': int(doc.n)}\"\n").want(t, exitFailed,
		`line 3: column "n" is "x": documents of books: `, `line 4: column "n" is "": documents of books: `, "2 documents written", "2 refused", "refused: invalid: 2")
	runImport("- collection: books\n  documents: \"{'id': doc.id, 't': doc.titel}\"\n").want(t, exitUsage,
		`documents of books read the column "titel", which the file does not have: it has "id", "n", "m"`)
	runImport("- collection: others\n  documents: \"{'id': doc.id, 't': has(doc.titel) ? doc.titel : ''}\"\n").want(t, exitDone, "4 documents written")
	runImport("# "+strings.Repeat("x", maxMapping)).want(t, exitUsage, "the mapping has more than 65536 bytes")
	for mapping, want := range map[string]string{
		"- collection: books\n  documnts: doc\n":                  "line 1: want collection and documents",
		"- collection: books\n  documents: doc\n  id: doc.id\n":   "line 1: want collection and documents, each once, and nothing else",
		"collection: books\ndocuments: doc\n":                     "want a list, each of whose entries has collection and documents, as in \"- collection: books\"",
		"- books\n":                                               "line 1: want collection and documents",
		"- collection: a\n  documents: doc\n\n- documents: doc\n": "line 4: want collection and documents",
		"\n- documents: doc\n":                                    "line 2: want collection and documents",
		"- collection: [books]\n  documents: doc\n":               "line 1: want collection and documents",
		"- collection: books\n  documents: {'id': doc.id}\n":      `line 1: want collection and documents, each once, and nothing else: both are texts, the expression between quotes or after "documents: >-"`,
		"- collection: books\n  documents:\n":                     "line 1: want collection and documents",
		"- collection: books\n  documents: doc\n  collection: b":  "line 3: the member \"collection\" is there already",
		"- collection: Books/1\n  documents: doc\n":               "line 1: ",
		"- collection: books\n  documents: doc.(\n":               "line 1: documents of books: ",
		"- collection: books\n  documents: [\n":                   "is not YAML that is taken: line 3: ",
		"":                                                        "maps nothing: want a list, each of whose entries has collection and documents",
		"[]":                                                      "maps nothing",
		"# later":                                                 "maps nothing",
		"- collection: 0x10\n  documents: doc\n":                  "line 1: 0x10 is not the same number to all readers of YAML",
	} {
		r := runImport(mapping)
		r.want(t, exitUsage, want)
		for _, internal := range []string{"main.", "struct", "!!", "unmarshal"} {
			if strings.Contains(r.err, internal) {
				t.Errorf("%q prints %s", mapping, r.err)
			}
		}
	}
	file = writeTemp(t, "twice.csv", "id,a,a\n1,1,1\n")
	runImport("- collection: books\n  documents: doc\n").want(t, exitUsage, `the column "a" twice`)
	s.WantDoc("books", "4", `{"id":"4","m":1,"n":4}`)
}

// TestImportPrintsFewRefusals: at most twenty refused lines are printed, or as many as are asked for, and all are counted by
// their kinds.
func TestImportPrintsFewRefusals(t *testing.T) {
	s := harness.OpenTemp(t, "")
	lines := `{"id":"good"}` + "\n" + strings.Repeat("not json\n", 15) + strings.Repeat(`{"_meta2":1}`+"\n", 20)
	file := writeTemp(t, "lines.ndjson", lines)
	load := func(want int, args ...string) ran {
		t.Helper()
		r := runCommand(t, "", append([]string{"import", "--server", s.URL, "--collection", "books", file}, args...)...)
		if got := strings.Count(r.err, "\nline ") + strings.Count(r.err[:min(5, len(r.err))], "line "); got != want {
			t.Errorf("%d refused lines are printed, want %d: %s", got, want, r.err)
		}
		return r
	}
	load(20).want(t, exitFailed, "line 2: ", "more lines are refused, and counted", "1 documents written", "35 refused", "refused: unprocessable: 20, invalid: 15", "the others are loaded")
	load(35, "--refusals", "100").want(t, exitFailed, "line 36: ")
	load(0, "--refusals", "0").want(t, exitFailed, "refused: unprocessable: 20, invalid: 15")
	load(20, "--json").want(t, exitFailed, `"invalid": 15`, `"unprocessable": 20`, `"folded": true`)
	runCommand(t, "", "import", "--refusals", "-1", file).want(t, exitUsage, "is no number of lines")
	many := refusals{}
	for i := range 2 * maxKinds {
		many.add(&strings.Builder{}, client.Refusal{Code: client.Code(fmt.Sprint("c", i))})
	}
	if len(many.kinds) != maxKinds+1 || many.kinds["other"] != maxKinds {
		t.Errorf("%d kinds are counted, others: %d", len(many.kinds), many.kinds["other"])
	}
}

// TestImportProgress: the progress knows how many lines there are, or how many bytes, and how long is left.
func TestImportProgress(t *testing.T) {
	p := &importProgress{size: 1000, first: 100}
	set := func(line, written, total, read, refused int64) {
		p.line.Store(line)
		p.written.Store(written)
		p.total.Store(total)
		p.read.Store(read)
		p.refused.Store(refused)
	}
	for want, values := range map[string][5]int64{
		"0 documents, 0/s, 0%":                                   {100, 0, 0, 0, 0},
		"150 documents, 10/s, 50%, 10s left":                     {200, 150, 0, 500, 0},
		"line 200 of 400, 10/s, 50%, 20s left, 3 refused":        {200, 150, 400, 900, 3},
		"all 400 lines are stored; waiting until they are shown": {400, 397, 400, 1000, 3},
	} {
		set(values[0], values[1], values[2], values[3], values[4])
		if got := p.text(10 * time.Second); got != want {
			t.Errorf("%v: %q, want %q", values, got, want)
		}
	}
	places := &linePlaces{}
	for line := range int64(100_000) {
		places.add(10 * (line + 1))
	}
	for _, line := range []int64{0, 1, 64, 5_000, 99_999, 100_000, 200_000} {
		if read, ok := places.readAt(line); !ok || read > 10*line || line <= 100_000 && read < 10*line-10*places.every || len(places.reads) > maxPlaces {
			t.Errorf("line %d: %d bytes were read, of %d places", line, read, len(places.reads))
		}
	}
	mapped := &importProgress{size: 1000}
	for range 10 {
		mapped.read.Add(100)
		mapped.made()
	}
	mapped.line.Store(5)
	mapped.written.Store(5)
	if got := mapped.text(10 * time.Second); got != "5 documents, 0/s, 50%, 10s left" {
		t.Errorf("half of what is made is stored: %q", got)
	}
	for text, want := range map[string]int64{"": 0, "a": 1, "a\n": 1, "a\n\nb": 3} {
		if got, err := countLines(writeTemp(t, "f", text), make(chan struct{})); err != nil || got != want {
			t.Errorf("%q has %d lines, %v", text, got, err)
		}
	}
	ended := make(chan struct{})
	close(ended)
	if _, err := countLines(writeTemp(t, "f", "a"), ended); err == nil {
		t.Error("counting goes on once it is ended")
	}
}

// TestResumeOfAChangedFile: an import of a file that was changed in its middle is another one, and its answer tells what is new from what an earlier run has stored.
func TestResumeOfAChangedFile(t *testing.T) {
	s := harness.OpenTemp(t, "")
	const lines = 9000
	var text strings.Builder
	for i := range lines {
		fmt.Fprintf(&text, "{\"id\":\"%d\",\"text\":\"%0120d\"}\n", i, i)
	}
	path := writeTemp(t, "docs.ndjson", text.String())
	load := func() ran {
		return runCommand(t, "", "import", "--resume", "--collection", "docs", "--server", s.URL, path)
	}
	load().want(t, exitDone, "9000 documents written")
	load().want(t, exitDone, "0 documents written", "9000 were stored before")
	changed := strings.Replace(text.String(), fmt.Sprintf("%0120d", 4500), strings.Repeat("x", 120), 1)
	if err := os.WriteFile(path, []byte(changed), 0o600); err != nil {
		t.Fatal(err)
	}
	if r := load(); strings.Contains(r.out, "before") {
		t.Errorf("it says %s", r.out)
	}
	s.WantDoc("docs", "4500", `{"id":"4500","text":"`+strings.Repeat("x", 120)+`"}`)
}

// TestImportOfCSVLosesNothing: each row is loaded, whatever stood before it, and a row that is not UTF-8 is refused or read in its encoding.
func TestImportOfCSVLosesNothing(t *testing.T) {
	s := harness.OpenTemp(t, "")
	load := func(documents, file string, flags ...string) ran {
		mapping := writeTemp(t, "m.yaml", "- collection: c\n  documents: "+documents+"\n")
		return runCommand(t, "", append([]string{"import", "--server", s.URL, "--mapping", mapping, writeTemp(t, "f.csv", file)}, flags...)...)
	}
	const back = "id,v\n1,a\n1,b\n1,a\n"
	load("doc", back).want(t, exitDone, "3 documents written")
	s.WantDoc("c", "1", `{"id":"1","v":"a"}`)
	load("\"{'v': doc.v}\"", "v\nsale\nsale\n").want(t, exitDone, "2 documents written")
	load("doc", back, "--skip-repeats").want(t, exitDone, "2 documents written")
	const latin = "id,v\n2,caf\xe9\n3,tea\n"
	load("doc", latin).want(t, exitFailed, `line 2: column "v" is "caf\xe9", which is not UTF-8`, "--encoding windows-1252", "1 documents written", "1 refused")
	load("doc", latin, "--encoding", "Windows-1252").want(t, exitDone, "2 documents written")
	s.WantDoc("c", "2", `{"id":"2","v":"café"}`)
	load("doc", "id,\xe9\n4,x\n").want(t, exitUsage, "the header line is not UTF-8", "--encoding")
	load("doc", "id,v\n5,a\x81\n6,b\n", "--encoding", "windows-1252").want(t, exitFailed, "line 2: column \"v\" is \"a\ufffd\", which is not windows-1252", "1 refused")
	load("doc", "\xff\xfei\x00d\x00\n\x007\x00\x00\xd8\n\x00", "--encoding", "utf-16").want(t, exitFailed, "line 2: ", "which is not utf-16")
	load("doc", "id,v\n8,\ufffd\n", "--encoding", "UTF-8").want(t, exitDone, "1 documents written")
	load("doc", "id,\x81\n4,x\n", "--encoding", "windows-1252").want(t, exitUsage, "the header line is not windows-1252")
	load("doc", latin, "--encoding", "ebcdic").want(t, exitUsage, "iso-8859-1")
	runCommand(t, "", "import", "--server", s.URL, "--skip-repeats", writeTemp(t, "f.ndjson", "{}")).want(t, exitUsage, "they go with --mapping")
}

// TestImportOfCSVForms: any character separates columns, and a quote that stays open is told at the line where it opens.
func TestImportOfCSVForms(t *testing.T) {
	s := harness.OpenTemp(t, "")
	mapping := writeTemp(t, "m.yaml", "- collection: c\n  documents: doc\n")
	load := func(file string, flags ...string) ran {
		return runCommand(t, "", append([]string{"import", "--server", s.URL, "--mapping", mapping, writeTemp(t, "f.csv", file)}, flags...)...)
	}
	for flag, file := range map[string]string{";": "id;v\n1;a,b\n", `\t`: "id\tv\n1\ta,b\n", "\t": "id\tv\n1\ta,b\n", "|": "id|v\n1|\"a,b\"\n", "€": "id€v\n1€a,b\n", ",": "id,v\n1,\"a,b\"\n"} {
		load(file, "--delimiter", flag).want(t, exitDone, "1 documents written")
		s.WantDoc("c", "1", `{"id":"1","v":"a,b"}`)
		runCommand(t, "", "delete", "c", "1", "--server", s.URL).want(t, exitDone)
	}
	for _, flag := range []string{"", ";;", `"`, "\n", "\r", `\n`, "\xe9", "\ufffd", "\x00"} {
		load("id,v\n1,a\n", "--delimiter", flag).want(t, exitUsage, "--delimiter")
	}
	runCommand(t, "", "import", "--server", s.URL, "--delimiter", ";", "--collection", "c", writeTemp(t, "f.ndjson", "{}")).want(t, exitUsage, "--delimiter")
	for file, want := range map[string]string{
		"id,v\n1,a\n2,\"b\n3,c\n4,d\n":         "line 3: ",
		"id,v\n1,a\n2,\"b\nc\"d\n":             "line 3: ",
		"id,v,w\n1,\"a\nb\",\"c\n2,d,e\n3,f,g": "line 3: ",
		"id,v\n1,a\n\n2,\"b":                   "line 4: ",
	} {
		load(file).want(t, exitFailed, want+"the quote that opens in this line", "1 refused")
	}
	long := "id,v\n1,a\n2,\"b\n" + strings.Repeat("3,some text\n", maxRow/12+2)
	load(long).want(t, exitUsage, "line 3: the row that begins here has more than 16 MiB", "quote")
	load("id,v\n1,"+strings.Repeat("x", maxRow)+"\n").want(t, exitUsage, "line 2: the row that begins here has more than 16 MiB")
	load("id,"+strings.Repeat("x", maxRow+1)+"\n").want(t, exitUsage, "line 1: the row that begins here has more than 16 MiB")
	load("id,v\n"+strings.Repeat("7,some text\n", maxRow/12+2), "--skip-repeats").want(t, exitDone, "1 documents written")

	file := writeTemp(t, "semi.csv", "id;v\n5;a,b\n6;c,d\n")
	r := runCommand(t, "", "import", "--server", s.URL, file)
	r.want(t, exitUsage, "'v': doc.v", `--delimiter ';'`)
	runCommand(t, "", "import", "--server", s.URL, "--mapping", writeTemp(t, "n.yaml", "- collection: c\n  documents: \"{'n': doc.v}\"\n"), file).want(t, exitUsage, "perhaps it wants --delimiter ';'")
}
