package expr

import (
	"regexp"
	"strings"
	"testing"
)

// rawWords matches words of cel-go's parser and checker.
var rawWords = regexp.MustCompile(`<EOF>|<input>|ERROR|Syntax error|mismatched|extraneous|expecting|viable|token recognition|undeclared|overload|in container|_\+_|IDENTIFIER`)

// TestPlainMessages: what is wrong with an expression is said in plain words, with its place.
func TestPlainMessages(t *testing.T) {
	for source, want := range map[string]string{
		``: "column 1: the expression ends too early", `doc.`: "column 5: something else must follow '.'", `doc.a ==`: "column 9: the expression ends too early", `(doc.a`: "column 7: ')' is missing",
		`doc.a == 1)`: "column 11: ')' does not belong here", `doc.a = 1`: "column 7: '= ' is nothing that an expression has", `doc.a == "x`: `column 10: the text that begins here has no end`, `doc.a == 'x`: "column 10: the text that begins here has no end",
		`doc.a doc.b`: "column 7: 'doc' does not belong here", `doc.a && && doc.b`: "column 10: '&&' does not belong here", `other.a`: "column 1: there is no 'other' here", `nothing(doc.a)`: "column 8: there is no 'nothing' here",
		`"a" + 1`: "column 5: '+' does not take string and int", `size(1)`: "column 5: 'size' does not take int", `!1`: "column 1: '!' does not take int", `1.all(x, true)`: "only a list or an object has elements to go through, not int",
		`doc.a # 1`: "column 7: '#' is nothing that an expression has", `doc.a ? 1`: "the expression ends too early", `"a".b`: "string has no members", `if`: "'if' cannot be a name", `[1, 2`: "the expression ends too early", "doc.a ==\n\n": "line 3, column 1: the expression ends too early",
		`true ? "a" : 1 + "b"`: "'+' does not take int and string",
	} {
		_, err := Compile(source)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", source, err, want)
		}
	}
}

// TestNoRawWords: no beginning of an expression, and none with a character too many, is refused in a parser's words, wherever it stands.
func TestNoRawWords(t *testing.T) {
	for _, whole := range []string{`doc.lines.filter(l, l.price * 2 >= 7.5 && !(l.sku in ["a", 'b'])).map(l, {"n": l.n})[0].n == (has(doc.x) ? -1 : doc["y"].size())`, `doc.name.startsWith("é") || params.a == null`} {
		for i := range len(whole) {
			for _, source := range []string{whole[:i], whole[:i] + "#" + whole[i:], whole[:i] + ")" + whole[i:], whole[:i] + `"` + whole[i:], whole[:i] + " in" + whole[i:], whole[:i] + "`" + whole[i:], whole[:i] + "\x00" + whole[i:]} {
				_, compiled := Compile(source)
				_, element := CompileElement(source)
				_, filtered := CompileFilter(source, nil)
				_, term := CompileTerm(source)
				_, checked := Check(source)
				for _, err := range []error{compiled, element, filtered, term, checked} {
					if err != nil && rawWords.MatchString(err.Error()) {
						t.Fatalf("%q: %v", source, err)
					}
				}
			}
		}
	}
}
