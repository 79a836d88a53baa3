package main

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/internal/expr"
	"github.com/fanfold/fanfold/internal/foreign"
)

// maxRow bounds a row of CSV, in bytes of UTF-8.
const maxRow = 16 << 20

// csvReader reads rows of CSV, each of maxRow at most.
type csvReader struct {
	*csv.Reader
	in   io.Reader
	read int64 // from in
	row  int64 // where the row begins that is being read
	long bool  // a row was too long: nothing more is read
}

// newCSVReader returns a reader of CSV that leaves out a byte order mark.
func newCSVReader(r io.Reader, delimiter rune) *csvReader {
	in := bufio.NewReader(r)
	if mark, err := in.Peek(3); err == nil && string(mark) == "\xef\xbb\xbf" {
		_, _ = in.Discard(3) // which are buffered
	}
	c := &csvReader{in: in}
	c.Reader = csv.NewReader(c)
	c.Comma, c.ReuseRecord = delimiter, true
	return c
}

// errLongRow ends the reading of a file.
var errLongRow = errors.New("the row is too long")

// Read implements io.Reader for the reader of rows.
func (c *csvReader) Read(p []byte) (int, error) {
	if c.long = c.long || c.read-c.row > maxRow; c.long {
		return 0, errLongRow
	}
	n, err := c.in.Read(p)
	c.read += int64(n)
	return n, err
}

// next returns the next row, which is good until the next call. The error is io.EOF, Invalid for a row that is too long, or a
// csv.ParseError, with what there is of the row.
func (c *csvReader) next() ([]string, error) {
	c.row = c.InputOffset()
	row, err := c.Reader.Read()
	if err == nil && c.InputOffset()-c.row > maxRow {
		err = errLongRow // its end came with the last bytes that were read
	}
	if errors.Is(err, errLongRow) && len(row) > 0 {
		line, _ := c.FieldPos(0)
		err = fanfold.Errorf(fanfold.Invalid, "line %d: the row that begins here has more than %d MiB, perhaps for a quote in it that is never closed; nothing after it is loaded", line, maxRow>>20)
	}
	return row, err
}

// faultOf returns the line of a row that is no CSV, and what is wrong there. A wrong quote is told at the line where it
// opens.
func faultOf(wrong *csv.ParseError, in *csvReader, row []string) (line int, reason string) {
	if !errors.Is(wrong.Err, csv.ErrQuote) {
		return wrong.Line, wrong.Err.Error()
	}
	line = wrong.StartLine
	if last := len(row) - 1; last >= 0 {
		line, _ = in.FieldPos(last)
		line += strings.Count(row[last], "\n")
	}
	return line, fmt.Sprintf("the quote that opens in this line is never closed, or text follows its end: see line %d, column %d; a quote within quotes is written twice",
		wrong.Line, wrong.Column)
}

// delimiterOf returns the character that --delimiter gives. The error is Invalid.
func delimiterOf(flag string) (rune, error) {
	if flag == `\t` {
		return '\t', nil
	}
	c, size := utf8.DecodeRuneInString(flag)
	if size != len(flag) || strings.ContainsRune("\x00\"\r\n\ufffd", c) {
		return 0, fanfold.Errorf(fanfold.Invalid, `--delimiter %.40q separates no columns: give one character, such as ';' or '\t' for a tab; a quote and a line break are none`, flag)
	}
	return c, nil
}

// otherDelimiter returns what seems to separate columns where a comma does not, 0 for nothing.
func otherDelimiter(columns []string) rune {
	for _, c := range ";\t|" {
		if len(columns) == 1 && strings.ContainsRune(columns[0], c) {
			return c
		}
	}
	return 0
}

// delimiterFlag returns the flag for a delimiter, with a space before it; "" for a comma.
func delimiterFlag(c rune) string {
	switch c {
	case ',':
		return ""
	case '\t':
		return ` --delimiter '\t'`
	}
	return " --delimiter " + shellWord(string(c))
}

// delimiterHint says how to read columns that something else than a comma separates; "" where nothing does.
func delimiterHint(columns []string) string {
	if c := otherDelimiter(columns); c != 0 {
		return "; perhaps it wants" + delimiterFlag(c)
	}
	return ""
}

// refuseCSV returns an Invalid with a mapping to write where the input is CSV. It reads nothing from in but what that has
// buffered.
func (im *importer) refuseCSV(in *bufio.Reader, path string) error {
	_, _ = in.Peek(1) // whoever reads on sees an error
	head, _ := in.Peek(in.Buffered())
	delimiter, called := im.delimiter, isCalledCSV(path)
	columns := csvHeader(head, called, delimiter)
	if c := otherDelimiter(columns); c != 0 {
		delimiter, columns = c, csvHeader(head, called, c)
	}
	if columns == nil {
		return nil
	}
	if err := checkHeader(columns, ""); err != nil {
		return fanfold.Errorf(fanfold.Invalid, "%s is CSV, and %s", path, fanfold.MessageOf(err))
	}
	return fanfold.Errorf(fanfold.Invalid, "%s is CSV, for which a mapping file says what becomes of each row. Write one, such as this as mapping.yaml:\n\n%s\nand then: %s import --mapping mapping.yaml%s%s %s",
		path, exampleMapping(cmp.Or(im.collection, foreign.Proposed(path)), columns), invocation(), delimiterFlag(delimiter), im.server, shellWord(path))
}

// isCalledCSV tells whether the name of a file says that it is CSV, perhaps compressed.
func isCalledCSV(path string) bool {
	return strings.EqualFold(filepath.Ext(strings.TrimSuffix(strings.TrimSuffix(path, ".gz"), ".zst")), ".csv")
}

// isCSV tells whether what a mapping is for is CSV: by what it is called, by the flags, or because it does not begin as JSON does.
func (im *importer) isCSV(in *bufio.Reader, path string) bool {
	switch {
	case im.foreign.From != "":
		return false
	case isCalledCSV(path) || im.encoding != "" || im.delimiter != ',':
		return true
	}
	head, _ := in.Peek(4 << 10) // what there is of it
	return !beginsJSON.Match(bytes.TrimPrefix(head, []byte("\xef\xbb\xbf")))
}

var beginsJSON = regexp.MustCompile(`^\s*[{[]`)

// csvHeader returns the columns of a header line; nil where the text is not the beginning of CSV. Text that is not called CSV
// is, where two lines of it have the same number of columns, several, and the first is no JSON.
func csvHeader(head []byte, called bool, delimiter rune) []string {
	in := newCSVReader(bytes.NewReader(head), delimiter)
	first, err := in.next()
	if err != nil || beginsJSON.MatchString(first[0]) {
		return nil
	}
	columns := slices.Clone(first)
	if _, err := in.next(); !called && (err != nil || len(columns) < 2) {
		return nil
	}
	return columns
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
