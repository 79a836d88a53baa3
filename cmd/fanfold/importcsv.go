package main

import (
	"bufio"
	"bytes"
	"cmp"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/internal/expr"
)

// refuseCSV returns an Invalid with a mapping to write where the input is CSV. It reads nothing from in but what that has
// buffered.
func (im *importer) refuseCSV(in *bufio.Reader, path string) error {
	_, _ = in.Peek(1) // whoever reads on sees an error
	head, _ := in.Peek(in.Buffered())
	columns := csvHeader(head, strings.EqualFold(filepath.Ext(path), ".csv"))
	if columns == nil {
		return nil
	}
	if err := checkHeader(columns); err != nil {
		return fanfold.Errorf(fanfold.Invalid, "%s is CSV, and %s", path, fanfold.MessageOf(err))
	}
	hint := ""
	if len(columns) == 1 && strings.ContainsAny(columns[0], ";\t") {
		hint = "\nIts header line is one column: only commas separate columns here, and this file seems to have something else."
	}
	return fanfold.Errorf(fanfold.Invalid, "%s is CSV, for which a mapping file says what becomes of each row.%s Write one, such as this as mapping.yaml:\n\n%s\nand then: %s import --mapping mapping.yaml%s %s",
		path, hint, exampleMapping(cmp.Or(im.collection, collectionOf(path)), columns), invocation(), im.server, shellWord(path))
}

var beginsJSON = regexp.MustCompile(`^\s*[{[]`)

// csvHeader returns the columns of a header line; nil where the text is not the beginning of CSV. Text that is not called CSV
// is, where two lines of it have the same number of columns, several, and the first is no JSON.
func csvHeader(head []byte, called bool) []string {
	in := newCSVReader(bytes.NewReader(head))
	columns, err := in.Read()
	if err != nil || beginsJSON.MatchString(columns[0]) {
		return nil
	}
	if _, err := in.Read(); !called && (err != nil || len(columns) < 2) {
		return nil
	}
	return columns
}

// collectionOf returns a name for the collection of a file's documents, made from the file's name.
func collectionOf(path string) string {
	base := strings.ToLower(strings.TrimSuffix(filepath.Base(path), filepath.Ext(path)))
	name := strings.TrimLeft(regexp.MustCompile(`[^a-z0-9_-]+`).ReplaceAllString(base, "-"), "-_0123456789")
	if fanfold.CheckCollection(name) != nil {
		return "documents"
	}
	return name
}

// maxExampleColumns bounds how many columns an example mapping has.
const maxExampleColumns = 100

// idColumn matches the names of columns whose values are most likely ids.
var idColumn = regexp.MustCompile(`^(?i:id|.*_id)$|Id$`)

// exampleMapping returns a mapping file that makes a document with all columns of each row.
func exampleMapping(collection string, columns []string) string {
	text := "# All columns are text: int(doc.year) and double(doc.price) make numbers of it.\n"
	var members []string
	id := slices.IndexFunc(columns, idColumn.MatchString)
	if id < 0 {
		text += "# No column looks like an id. Without 'id' every row becomes a new document, however often it is imported.\n"
	} else if !slices.Contains(columns, "id") {
		members = []string{"'id': " + selectColumn(columns[id])}
	}
	if more := len(columns) - maxExampleColumns; more > 0 {
		text += fmt.Sprintf("# %d more columns are left out here.\n", more)
		columns = columns[:maxExampleColumns]
	}
	for _, name := range columns {
		members = append(members, celText(name)+": "+selectColumn(name))
	}
	return fmt.Sprintf("%s- collection: %s\n  documents: >-\n    {%s}\n", text, collection, strings.Join(members, ",\n     "))
}

var plainColumn = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// selectColumn returns the expression for a column.
func selectColumn(name string) string {
	if _, err := expr.Compile("doc." + name); err == nil && plainColumn.MatchString(name) {
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
