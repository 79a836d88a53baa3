package main

import (
	"bufio"
	"bytes"
	"encoding/csv"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/fanfold/fanfold"
)

// maxExampleColumns bounds how many columns an example mapping has.
const maxExampleColumns = 100

// refuseCSV returns an Invalid that says what to write where the input is CSV, for which a mapping is needed. Nothing is read
// from in but what it has buffered.
func (im *importer) refuseCSV(in *bufio.Reader, path string) error {
	if _, err := in.Peek(1); err != nil {
		return nil //nolint:nilerr // whoever reads on sees it
	}
	head, err := in.Peek(in.Buffered())
	if err != nil {
		return err
	}
	columns := csvHeader(head, strings.EqualFold(filepath.Ext(path), ".csv"))
	if columns == nil {
		return nil
	}
	collection := im.collection
	if collection == "" {
		collection = collectionOf(path)
	}
	hint := ""
	if len(columns) == 1 && strings.ContainsAny(columns[0], ";\t") {
		hint = "\nIts header line is one column: only commas separate columns here, and this file seems to have something else."
	}
	for i, name := range columns {
		if slices.Contains(columns[:i], name) {
			hint += fmt.Sprintf("\nIts header line has the column %.80q twice: give each a name of its own first.", name)
			break
		}
	}
	if slices.ContainsFunc(columns, func(name string) bool { return !utf8.ValidString(name) }) {
		hint += "\nIts header line is not UTF-8: convert the file first."
	}
	return fanfold.Errorf(fanfold.Invalid, "%s is CSV, for which a mapping file says what becomes of each row.%s Write one, such as this as mapping.yaml:\n\n%s\nand then: %s import --mapping mapping.yaml%s %s",
		path, hint, exampleMapping(collection, columns), invocation(), im.server, shellWord(path))
}

// csvHeader returns the columns of a header line; nil where the text is not the beginning of CSV. Text that is not called CSV
// is, where two lines of it have the same number of columns, several, and the first is no JSON.
func csvHeader(head []byte, called bool) []string {
	text := bytes.TrimLeft(bytes.TrimPrefix(head, []byte("\xef\xbb\xbf")), " \t\r\n")
	if len(text) == 0 || text[0] == '{' || text[0] == '[' {
		return nil
	}
	in := csv.NewReader(bytes.NewReader(text))
	columns, err := in.Read()
	if err != nil {
		return nil //nolint:nilerr // what it is instead is found out by whoever reads on
	}
	if called {
		return columns
	}
	if _, err := in.Read(); err != nil || len(columns) < 2 {
		return nil //nolint:nilerr // likewise
	}
	return columns
}

// collectionOf returns a name for the collection of a file's documents, made from the file's name.
func collectionOf(path string) string {
	base := filepath.Base(path)
	name := regexp.MustCompile(`[^a-z0-9_-]+`).ReplaceAllString(strings.ToLower(strings.TrimSuffix(base, filepath.Ext(base))), "-")
	name = strings.TrimLeft(name, "-_0123456789")
	if name = name[:min(len(name), fanfold.MaxCollectionLen)]; fanfold.CheckCollection(name) != nil {
		return "documents"
	}
	return name
}

// exampleMapping returns a mapping file that makes a document with all columns of each row.
func exampleMapping(collection string, columns []string) string {
	var b strings.Builder
	b.WriteString("# All columns are text: int(doc.year) and double(doc.price) make numbers of it.\n")
	id, others := idColumn(columns), columns
	if id == "" {
		b.WriteString("# No column looks like an id. Without 'id' every row becomes a new document, however often it is imported.\n")
	} else {
		others = slices.DeleteFunc(slices.Clone(columns), func(name string) bool { return name == "id" })
	}
	if more := len(others) - maxExampleColumns; more > 0 {
		fmt.Fprintf(&b, "# %d more columns are left out here.\n", more)
		others = others[:maxExampleColumns]
	}
	fmt.Fprintf(&b, "- collection: %s\n  documents: >-\n", collection)
	var entries []string
	if id != "" {
		entries = append(entries, "'id': "+selectColumn(id))
	}
	for _, name := range others {
		entries = append(entries, celText(name)+": "+selectColumn(name))
	}
	return b.String() + "    {" + strings.Join(entries, ",\n     ") + "}\n"
}

// idColumn returns the column whose values are most likely ids, "" for none.
func idColumn(columns []string) string {
	for _, fits := range []func(name string) bool{
		func(name string) bool { return name == "id" },
		func(name string) bool { return strings.EqualFold(name, "id") },
		func(name string) bool {
			return strings.HasSuffix(strings.ToLower(name), "_id") || strings.HasSuffix(name, "Id")
		},
	} {
		if i := slices.IndexFunc(columns, fits); i >= 0 {
			return columns[i]
		}
	}
	return ""
}

// celReserved lists the words that cannot be selected as they are.
var celReserved = []string{"as", "break", "const", "continue", "else", "false", "for", "function", "if", "import", "in", "let", "loop",
	"namespace", "null", "package", "return", "true", "var", "void", "while"}

var celName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// selectColumn returns the expression for a column.
func selectColumn(name string) string {
	if celName.MatchString(name) && !slices.Contains(celReserved, name) {
		return "doc." + name
	}
	return "doc[" + celText(name) + "]"
}

// celText returns text as an expression has it, on one line.
func celText(text string) string {
	quoted := strconv.QuoteToASCII(text)
	if strings.ContainsAny(quoted, `\\'`) {
		return quoted
	}
	return "'" + quoted[1:len(quoted)-1] + "'"
}
