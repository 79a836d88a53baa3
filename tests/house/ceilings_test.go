package house_test

import (
	"flag"
	"fmt"
	"go/ast"
	"os"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode"
)

// Several people commit at once, so only a greater number fails, and -lower writes those that have fallen. If a lower number failed
// too, two commits that each make something smaller would meet in one line, and the second would fail for what the first has done.
// Run -lower before you commit what makes something smaller, or else the next commit may take the room again.
var lowerCeilings = flag.Bool("lower", false, "write the numbers that have fallen to testdata/ceilings.txt")

const ceilingsFile = "testdata/ceilings.txt"

// ceiling is a line of the file: the greatest number that something may have.
type ceiling struct {
	kind, name string
	most       int
	phrases    string // of an idea: what names it
}

// anyOther is the name of the ceiling for all that have no line of their own.
const anyOther = "any-other"

// measure is a number of today, and where it comes from if that is worth telling.
type measure struct {
	kind, name string
	n          int
	places     []string
}

// readCeilings returns the file's comment and its lines.
func readCeilings(t *testing.T) (comment string, lines []ceiling) {
	t.Helper()
	text, err := os.ReadFile(ceilingsFile)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		fields := strings.Fields(line)
		if strings.HasPrefix(line, "#") {
			comment += line
			continue
		}
		if len(fields) < 3 {
			t.Fatalf("%s: %q: a line has a kind, a name and a number", ceilingsFile, line)
		}
		most, err := strconv.Atoi(fields[2])
		if err != nil {
			t.Fatalf("%s: %q: %v", ceilingsFile, line, err)
		}
		lines = append(lines, ceiling{fields[0], fields[1], most, strings.Join(fields[3:], " ")})
	}
	return comment, lines
}

// holdCeilings fails for each number that is greater than its ceiling. With -lower it writes those that have fallen. The measures
// are all of their kinds.
func holdCeilings(t *testing.T, measured []measure) {
	t.Helper()
	comment, lines := readCeilings(t)
	for _, why := range exceeded(lines, measured) {
		t.Error(why)
	}
	if !*lowerCeilings {
		return
	}
	text := comment
	for _, c := range loweredTo(lines, measured) {
		text += strings.TrimSpace(fmt.Sprintln(c.kind, c.name, c.most, c.phrases)) + "\n"
	}
	if err := os.WriteFile(ceilingsFile, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// find returns the line for a measure, and false if there is none: its own, or the one of any other.
func find(lines []ceiling, m measure) (ceiling, bool) {
	at := slices.IndexFunc(lines, func(c ceiling) bool { return c.kind == m.kind && c.name == m.name })
	if at < 0 {
		at = slices.IndexFunc(lines, func(c ceiling) bool { return c.kind == m.kind && c.name == anyOther })
	}
	if at < 0 {
		return ceiling{}, false
	}
	return lines[at], true
}

// exceeded tells which numbers are greater than they may be.
func exceeded(lines []ceiling, measured []measure) (why []string) {
	for _, m := range measured {
		c, found := find(lines, m)
		switch {
		case !found:
			why = append(why, fmt.Sprintf("%s has no line for %s %s: add \"%s %s %d\"", ceilingsFile, m.kind, m.name, m.kind, m.name, m.n))
		case m.n > c.most:
			why = append(why, fmt.Sprintf("%s %s is %d, and may be %d. Make it smaller. A commit that must raise it writes \"%s %s %d\" in %s by hand, and says why in its body.\n%s",
				m.kind, m.name, m.n, c.most, m.kind, c.name, m.n, ceilingsFile, strings.Join(m.places, "\n")))
		}
	}
	return why
}

// loweredTo returns the lines with the numbers that have fallen, without types and packages that have gone. Lines of kinds
// that were not measured stay as they are, and so does the bound of a new package, which says how it may begin.
func loweredTo(lines []ceiling, measured []measure) (out []ceiling) {
	most := map[ceiling]int{}
	kinds := map[string]bool{}
	for _, m := range measured {
		kinds[m.kind] = true
		if c, found := find(lines, m); found {
			most[c] = max(most[c], m.n)
		}
	}
	for _, c := range lines {
		n, stands := most[c]
		if kinds[c.kind] && (c.kind != "lines" || c.name != anyOther) {
			if !stands && c.name != anyOther {
				continue
			}
			c.most = min(c.most, n)
		}
		out = append(out, c)
	}
	return out
}

// TestCeilings: what makes the house hard to read does not grow.
func TestCeilings(t *testing.T) {
	var product []*houseFile
	for _, f := range goFiles(t) {
		if !strings.HasPrefix(f.path, "tests/") {
			product = append(product, f)
		}
	}
	measured := slices.Concat(typesOf(t, product), packagesOf(house(t)), wordsOf(house(t)), ideasOf(t, product))
	holdCeilings(t, measured)
}

// typesOf counts the methods of each type, and the fields of each struct.
func typesOf(t *testing.T, files []*houseFile) []measure {
	t.Helper()
	methods, fields := map[string]int{}, map[string]int{}
	for _, f := range files {
		ast.Inspect(f.syntax(t), func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.FuncDecl:
				if n.Recv != nil {
					methods[typeIn(f, receiverOf(n))]++
				}
				return false
			case *ast.TypeSpec:
				if s, ok := n.Type.(*ast.StructType); ok {
					fields[typeIn(f, n.Name.Name)] = s.Fields.NumFields()
				}
			}
			return true
		})
	}
	return append(measures("methods", methods), measures("fields", fields)...)
}

// typeIn returns the name of a type with its package's directory.
func typeIn(f *houseFile, name string) string { return strings.TrimPrefix(f.dir()+"."+name, "..") }

// scriptSource is where the JavaScript client stands.
const scriptSource = "clients/js/src"

// packagesOf counts the files of each package, and its lines, of the product alone, without tests and what others wrote.
func packagesOf(files []*houseFile) []measure {
	count, lines, all := map[string]int{}, map[string]int{}, 0
	for _, f := range files {
		isGo, dir := strings.HasSuffix(f.path, ".go"), f.dir()
		page := strings.HasPrefix(f.path, "console/src/") || dir == scriptSource
		if strings.HasPrefix(f.path, "tests/") || strings.HasSuffix(f.path, "_test.go") || !isGo && !page || strings.Contains(f.path, "/vendor/") {
			continue
		}
		switch {
		case isGo:
			count[dir]++
		case dir != scriptSource:
			dir = "console/src"
		}
		n := strings.Count(f.text, "\n")
		lines[dir], all = lines[dir]+n, all+n
	}
	lines["all"] = all
	return append(measures("files", count), measures("lines", lines)...)
}

// wordsOf counts the words of the documents.
func wordsOf(files []*houseFile) []measure {
	words := map[string]int{}
	for _, f := range files {
		n := len(strings.Fields(f.text))
		switch {
		case f.path == "README.md":
			words["README"] = n
		case strings.HasPrefix(f.path, "docs/") && strings.HasSuffix(f.path, ".md"):
			words["docs"] += n
		case path.Base(f.path) == "DESIGN.md":
			words["DESIGN"] += n
		}
	}
	return measures("words", words)
}

// toldToClients finds the words of openapi.json that stand in tags.
var toldToClients = regexp.MustCompile(` (?:doc|enum):"(?:[^"\\]|\\.)*"`)

// ideasOf counts the files that name an idea, by the phrases which the file of ceilings has for it.
func ideasOf(t *testing.T, files []*houseFile) []measure {
	t.Helper()
	named := map[string]int{}
	_, lines := readCeilings(t)
	for _, f := range files {
		if f.dir() == "api/internal/described" { // it has the words of a document, and no code
			continue
		}
		text := spaced(toldToClients.ReplaceAllString(f.text, ""))
		for _, c := range lines {
			if c.kind == "idea" && names(text, c.phrases) {
				named[c.name]++
			}
		}
	}
	return measures("idea", named)
}

// spaced returns the words of a text in small letters, each between two spaces. A name as keptValues is two words.
func spaced(text string) string {
	var b strings.Builder
	last := ' '
	b.WriteByte(' ')
	for _, r := range text {
		letter := unicode.IsLetter(r)
		if last != ' ' && (!letter || unicode.IsUpper(r) && unicode.IsLower(last)) {
			b.WriteByte(' ')
			last = ' '
		}
		if letter {
			b.WriteRune(unicode.ToLower(r))
			last = r
		}
	}
	b.WriteByte(' ')
	return b.String()
}

// names tells whether spaced words have one of some phrases, as "version of the fold|eras*". A * stands for any end of a word.
func names(words, phrases string) bool {
	for phrase := range strings.SplitSeq(phrases, "|") {
		start, open := strings.CutSuffix(phrase, "*")
		if !open {
			start += " "
		}
		if strings.Contains(words, " "+start) {
			return true
		}
	}
	return false
}

// measures returns the numbers of a kind, the greatest first.
func measures(kind string, numbers map[string]int) (out []measure) {
	for name, n := range numbers {
		out = append(out, measure{kind: kind, name: name, n: n})
	}
	slices.SortFunc(out, func(a, b measure) int {
		return b.n - a.n
	})
	return out
}

// TestCeilingsHold holds the counting itself against numbers that are known.
func TestCeilingsHold(t *testing.T) {
	lines := []ceiling{{"methods", "a.Big", 50, ""}, {"methods", "a.Gone", 50, ""}, {"methods", anyOther, 40, ""}, {"lines", "a", 9, ""}, {"lines", anyOther, 1500, ""}, {"words", "docs", 7, ""}}
	if why := exceeded(lines, []measure{{"methods", "a.Big", 50, nil}, {"methods", "a.Small", 40, nil}, {"lines", "new", 1500, nil}}); len(why) > 0 {
		t.Errorf("%q, and all is within its bounds", why)
	}
	for _, m := range []measure{{"methods", "a.Big", 51, nil}, {"methods", "a.Small", 41, nil}, {"lines", "new", 1501, nil}, {"words", "README", 1, nil}} {
		if why := exceeded(lines, []measure{m}); len(why) != 1 {
			t.Errorf("%v: %q, want one reason", m, why)
		}
	}
	got := loweredTo(lines, []measure{{"methods", "a.Big", 49, nil}, {"methods", "a.Small", 30, nil}, {"methods", "a.Less", 2, nil}, {"lines", "a", 10, nil}})
	want := []ceiling{{"methods", "a.Big", 49, ""}, {"methods", anyOther, 30, ""}, {"lines", "a", 9, ""}, {"lines", anyOther, 1500, ""}, {"words", "docs", 7, ""}}
	if !slices.Equal(got, want) {
		t.Errorf("lowered to %v, want %v", got, want)
	}
	words := spaced("// The version of\n// the fold.\nvar keptValues = JSONBase(database)")
	for phrases, want := range map[string]bool{"version of the fold": true, "kept": true, "value": false, "x|value*": true, "base": false, "fold": true, "database": true} {
		if names(words, phrases) != want {
			t.Errorf("%q names %q: want %v", words, phrases, want)
		}
	}
}
