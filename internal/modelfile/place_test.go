package modelfile

import (
	"errors"
	"strings"
	"testing"

	"github.com/fanfold/fanfold"
)

// TestPlacesOfYAML: the error of a text that is no YAML, or none that is taken, has the line and the column of the mistake.
func TestPlacesOfYAML(t *testing.T) {
	for src, want := range map[string][2]int{
		"a: b: c":                        {1, 5},
		"x: 1\n  a: b: c":                {2, 4},
		"a:\n  b: [1, 2\n  c: 3":         {3, 4},
		"a:\n  - 1\n  b: 2\n":            {3, 3},
		"a: 1\n\tb: 2":                   {2, 1},
		"a: *none":                       {1, 4},
		"ä: &x 1\nb: *none":              {2, 4},
		"a: 1\nb: \"x\x01\"":             {2, 6},
		"a: 1\nb: \xff":                  {2, 4},
		"a: 1\n---\nb: 2":                {2, 1},
		"a: 1\nä: !tag 2":                {2, 4},
		"a: 1\nb:\n  {c: 1, d: 2, c: 3}": {3, 16},
		"a:\n  <<: {b: 1}":               {2, 3},
		"a:\n  ? [x]\n  : 1":             {2, 5},
		"a: &x\n  b: *x":                 {2, 6},
		"é: .inf":                        {1, 4},
		"é: [010]":                       {1, 5},
		"a: [":                           {1, 5},
		"a: [\n":                         {2, 1},
		"\ufeffa: 010":                   {1, 1},
		"\xff\xfea\x00":                  {1, 1},
		"{\"a\": 1,\n  \"b\": }x":        {2, 8},
	} {
		_, err := ToJSON([]byte(src))
		var e *fanfold.Error
		if !errors.As(err, &e) {
			t.Errorf("%q: %v", src, err)
			continue
		}
		if e.Line != want[0] || e.Column != want[1] {
			t.Errorf("%q is at line %d, column %d, want %v: %v", src, e.Line, e.Column, want, err)
		}
	}
}

// TestLocate: each problem has the place of the innermost member that the text has of its path.
func TestLocate(t *testing.T) {
	src := "open: 1\ncollections:\n  b: &b\n    relations: { \"ä\": { path: x, too: y } }\n    indexes:\n      i: [x,\n          \"doc.(\"]\n  c:\n    derive:\n      'a.b': { count: none }\n      a: { b: 1 }\n  d: *b\n"
	_, err := Parse([]byte(src))
	places := map[string][2]int{}
	var e *fanfold.Error
	if !errors.As(Locate(err, []byte(src), ""), &e) || len(e.Problems) < 6 {
		t.Fatal(err)
	}
	for _, p := range e.Problems {
		if _, twice := places[p.Path]; !twice {
			places[p.Path] = [2]int{p.Line, p.Column}
		}
	}
	for path, want := range map[string][2]int{"open": {1, 1}, "collections.b.relations.ä.too": {4, 34}, "collections.b.relations.ä": {4, 18}, "collections.b.indexes.i[1]": {7, 11},
		`collections.c.derive["a.b"].count`: {10, 16}, `collections.c.derive["a"].b`: {11, 12}, "collections.d.relations.ä.too": {4, 34}} {
		if places[path] != want {
			t.Errorf("%s is at %v, want %v; there are %v", path, places[path], want, places)
		}
	}
	about := func(key fanfold.Key, paths ...string) error {
		e := &fanfold.Error{Code: fanfold.Invalid}
		for _, path := range paths {
			e.Problems = append(e.Problems, fanfold.Problem{Path: path, Key: key})
		}
		return e
	}
	for _, c := range []struct {
		err          error
		src, within  string
		line, column int
	}{
		{about(fanfold.Key{}, ""), "\n [x]", "", 2, 2},
		{about(fanfold.Key{}, "nodes/1"), src, "", 0, 0},
		{about(fanfold.Key{}, "collections.b.relations.x.to"), src, "", 4, 5},
		{about(fanfold.Key{}, "collections.b.derive"), "derive: {}", "collections.b", 1, 1},
		{about(fanfold.Key{}, "collections.b"), "derive: {}", "collections.b", 1, 1},
		{about(fanfold.Key{}, "collections.c.derive"), "derive: {}", "collections.b", 0, 0},
		{about(fanfold.Key{}, "open"), "open: [", "", 0, 0},
		{about(fanfold.Key{}, "open[", "open[\"", "open[0", "open[-1]", "open..", "[", ".", "open[9999999999999999999]"), "open: [1]", "", 1, 1},
		{about(fanfold.Key{Collection: "open", ID: "1"}, "open"), "open: 1", "", 0, 0},
		{about(fanfold.Key{}, "open"), "open: 1" + strings.Repeat("\n", 50_000), "", 0, 0},
	} {
		if !errors.As(Locate(c.err, []byte(c.src), c.within), &e) || e.Problems[0].Line != c.line || e.Problems[0].Column != c.column {
			t.Errorf("%v in %.20q is at %+v, want %d, %d", c.err, c.src, e.Problems, c.line, c.column)
		}
	}
	if plain := errors.New("x"); !errors.Is(Locate(plain, nil, ""), plain) {
		t.Error("another error is not as it was")
	}
}

// TestLocateInSources: a mistake within the source of a function has its place in the text, or says it where the text has other lines.
func TestLocateInSources(t *testing.T) {
	for _, c := range []struct {
		src, within, path string
		line, column      int // in the source
		atLine, atColumn  int
		detail            string
	}{
		{"collections: {}\nfunctions:\n  f:\n    source: |\n      one\n\n        ü = (\n", "", "functions.f.source", 3, 5, 7, 11, "x"},
		{"collections: {}\r\nfunctions:\r\n  f:\r\n    source: |\r\n      one\r\n      two\r\n", "", "functions.f.source", 2, 1, 6, 7, "x"},
		{"functions:\n  f:\n    source: |2-\n       one\n      two\n", "", "functions.f.source", 1, 2, 4, 8, "x"},
		{"functions:\n  f: {source: &s \"one\\ntwo\"}\n", "", "functions.f.source", 2, 1, 2, 7, "line 2, column 1 of it: x"},
		{"functions:\n  f:\n    source: >\n      one\n\n      two\n", "", "functions.f.source", 2, 1, 3, 5, "line 2, column 1 of it: x"},
		{"functions:\n  f:\n    source: &s |\n      one\n      two\n  g: {source: *s}\n", "", "functions.g.source", 2, 3, 5, 9, "x"},
		{"functions:\n  f:\n    source: |\n      one\n", "", "functions.f.source", 9, 1, 3, 5, "line 9, column 1 of it: x"},
		{"functions:\n  f:\n    source: |\n      one\n", "", "functions.g.source", 1, 1, 1, 1, "line 1, column 1 of it: x"},
		{"functions: [", "", "functions.f.source", 1, 2, 0, 0, "line 1, column 2 of it: x"},
	} {
		was := &fanfold.Error{Code: fanfold.Unprocessable, Problems: []fanfold.Problem{{Path: c.path, Line: c.line, Column: c.column, Detail: "x"}}}
		var e *fanfold.Error
		if !errors.As(Locate(was, []byte(c.src), c.within), &e) {
			t.Fatal(c.src)
		}
		if p := e.Problems[0]; p.Line != c.atLine || p.Column != c.atColumn || p.Detail != c.detail {
			t.Errorf("%q, line %d, column %d: %+v, want %d, %d, %s", c.src, c.line, c.column, p, c.atLine, c.atColumn, c.detail)
		}
	}
}
