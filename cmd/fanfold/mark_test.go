package main

import (
	"os"
	"testing"

	"github.com/fanfold/fanfold/tests/harness"
)

// TestByteOrderMark: a byte order mark before a file, or before standard input, is left out by every command.
func TestByteOrderMark(t *testing.T) {
	const mark = "\ufeff"
	s := harness.OpenTemp(t, "")
	file := func(name, text string) string { return writeTemp(t, name, mark+text) }
	for _, c := range []struct {
		stdin string
		args  []string
		want  string
	}{
		{"", []string{"model", "apply", file("m.yaml", "collections: {books: {}}")}, "0 documents changed"},
		{"", []string{"model", "apply", file("m.json", `{"collections":{"books":{"indexes":{"n":["n"]}}}}`)}, "0 documents changed"},
		{"", []string{"model", "diff", file("n.yaml", "collections: {books: {}}")}, ""},
		{"", []string{"put", "books", "b1", file("b.json", `{"n":1}`)}, "created books/b1"},
		{mark + `{"n":2}`, []string{"put", "books", "b2"}, "created books/b2"},
		{mark + `{"m":2}`, []string{"patch", "books", "b2"}, "wrote books/b2"},
		{mark + `[{"op":"add","path":"/k","value":1}]`, []string{"patch", "books", "b2"}, "wrote books/b2"},
		{"", []string{"import", file("l.ndjson", `{"collection":"books","doc":{"id":"i1"}}`+"\n")}, "1 documents written"},
		{"", []string{"import", "--mapping", file("map.yaml", "- collection: books\n  documents: doc\n"), file("c.csv", "id,a\nc1,1\n")}, "1 documents written"},
		{"", []string{"erase", "--yes", "--file", file("erase.ndjson", `{"collection":"books","id":"b1"}`+"\n")}, "erased 1 document"},
		{"", []string{"status", "--config", file("config.yaml", "console: true\n")}, ""},
	} {
		runCommand(t, c.stdin, append(c.args, "--server", s.URL)...).want(t, exitDone, c.want)
	}
	s.WantDoc("books", "b2", `{"id":"b2","n":2,"m":2,"k":1}`)
	s.WantDoc("books", "c1", `{"id":"c1","a":"1"}`)
	key := file("key", s.NewKey("admin")+"\n")
	if err := os.Chmod(key, 0o600); err != nil {
		t.Fatal(err)
	}
	runCommand(t, "", "status", "--key-file", key, "--server", s.URL).want(t, exitDone, "")
}
