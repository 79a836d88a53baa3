package main

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/unicode"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/internal/expr"
	"github.com/fanfold/fanfold/internal/jsondoc"
	"github.com/fanfold/fanfold/internal/yamltext"
)

// mapping says which documents the rows of a CSV file give.
type mapping []target

// target says which documents of a collection they give.
type target struct {
	collection, documents string // documents is the expression

	program *expr.Program
}

// maxMapping bounds a mapping file, in bytes.
const maxMapping = 64 << 10

// readMapping reads a mapping file. The error is Invalid.
func readMapping(path string) (m mapping, err error) {
	text, err := readFile(path, "mapping", maxMapping)
	if err != nil {
		return nil, err
	}
	const wanted = `want a list, each of whose entries has collection and documents, as in "- collection: books"`
	asJSON, err := yamltext.ToJSON(text)
	if err != nil {
		return nil, fanfold.Wrap(err, fanfold.Invalid, "%s is not YAML that is taken: %v", path, err)
	}
	t := jsondoc.MustParse(asJSON)
	kind := t.Kind(jsondoc.Root)
	switch {
	case kind != jsondoc.Array && kind != jsondoc.Null:
		return nil, fanfold.Errorf(fanfold.Invalid, "%s is no mapping: %s", path, wanted)
	case t.First(jsondoc.Root) == jsondoc.None:
		return nil, fanfold.Errorf(fanfold.Invalid, "%s maps nothing: %s", path, wanted)
	}
	place, _ := yamltext.Places(text)
	for n := t.First(jsondoc.Root); n != jsondoc.None; n = t.Next(n) {
		to, err := readTarget(t, n)
		if err != nil {
			line, _ := place(fmt.Sprintf("[%d]", len(m)))
			return nil, fanfold.Errorf(fanfold.Invalid, "%s, line %d: %s", path, line, fanfold.MessageOf(err))
		}
		m = append(m, to)
	}
	return m, nil
}

// readTarget reads one entry of a mapping.
func readTarget(t *jsondoc.Tree, entry jsondoc.Node) (to target, err error) {
	texts := map[string]string{}
	isOther := t.Kind(entry) != jsondoc.Object
	for n := t.First(entry); n != jsondoc.None && !isOther; n = t.Next(n) {
		isOther = t.Kind(n) != jsondoc.String
		texts[t.Key(n)] = t.Text(n)
	}
	to.collection, to.documents = texts["collection"], texts["documents"]
	if isOther || len(texts) != 2 || to.collection == "" || to.documents == "" {
		return to, errors.New(`want collection and documents, each once, and nothing else: both are texts, the expression between quotes or after "documents: >-"`)
	}
	if err := fanfold.CheckCollection(to.collection); err != nil {
		return to, err
	}
	if to.program, err = expr.Compile(to.documents); err != nil {
		err = fmt.Errorf("documents of %s: %w", to.collection, err)
	}
	return to, err
}

// csvRows is a CSV file that is read from its first row on.
type csvRows struct {
	mapping mapping
	in      *csvReader
	columns [][]byte // their names as JSON strings
	decoded string   // the encoding that the text was in; "" for UTF-8
}

// open reads the header line. file names the mapping, encoding what --encoding says. The error is Invalid: for a header that checkHeader refuses, and for a
// column that the mapping reads and the file does not have.
func (m mapping) open(r io.Reader, encoding string, delimiter rune, file string) (*csvRows, error) {
	rows := &csvRows{mapping: m, in: newCSVReader(r, delimiter), decoded: encoding}
	if strings.EqualFold(encoding, "utf-8") {
		rows.decoded = ""
	}
	header, err := rows.in.next()
	if fanfold.CodeOf(err) == fanfold.Invalid {
		return nil, err
	}
	if err != nil {
		return nil, fanfold.Wrap(err, fanfold.Invalid, "the file has no header line: %v", err)
	}
	if err := checkHeader(header, rows.decoded); err != nil {
		return nil, err
	}
	for _, name := range header {
		rows.columns = append(rows.columns, jsondoc.Quote(name))
	}
	for _, to := range m {
		needed, err := expr.MembersNeeded(to.documents)
		if err != nil {
			return nil, err
		}
		for _, name := range needed {
			if !slices.Contains(header, name) {
				return nil, fanfold.Errorf(fanfold.Invalid, "%s: documents of %s read the column %q, which the file does not have: it has %s%s",
					file, to.collection, name, shortList(header), delimiterHint(header))
			}
		}
	}
	return rows, nil
}

// encodings are those that --encoding takes besides UTF-8.
var encodings = map[string]encoding.Encoding{
	"windows-1252": charmap.Windows1252,
	"iso-8859-1":   charmap.ISO8859_1,
	"iso-8859-15":  charmap.ISO8859_15,
	"utf-16":       unicode.UTF16(unicode.LittleEndian, unicode.UseBOM),
}

// decoded returns a reader of a file's text in UTF-8. The error is Invalid for an encoding that is not known.
func decoded(r io.Reader, name string) (io.Reader, error) {
	if name == "" || strings.EqualFold(name, "utf-8") {
		return r, nil
	}
	e := encodings[strings.ToLower(name)]
	if e == nil {
		return nil, fanfold.Errorf(fanfold.Invalid, "--encoding %.40q is not known: there are utf-8, %s", name, strings.Join(slices.Sorted(maps.Keys(encodings)), ", "))
	}
	return e.NewDecoder().Reader(r), nil
}

// checkHeader returns an Invalid for columns that cannot be told apart, and for names that are not UTF-8.
func checkHeader(columns []string, decoded string) error {
	for i, name := range columns {
		if slices.Contains(columns[:i], name) {
			return fanfold.Errorf(fanfold.Invalid, "the header line has the column %.80q twice: give each a name of its own", name)
		}
		if why := noText(name, decoded); why != "" {
			return fanfold.Errorf(fanfold.Invalid, "the header line is %s", why)
		}
	}
	return nil
}

// noText returns why a value is no text, "" for one. A decoder writes U+FFFD for bytes that stand for nothing: to store it would lose them silently.
func noText(v, decoded string) string {
	switch {
	case !utf8.ValidString(v):
		return "not UTF-8: say in which encoding the file is, such as --encoding windows-1252"
	case decoded != "" && strings.ContainsRune(v, utf8.RuneError):
		return "not " + decoded + ": bytes of it stand for no character there"
	}
	return ""
}

// write writes the documents that the mapping makes of the rows. A row that is no CSV is written as one to refuse.
func (rows *csvRows) write(out *lineWriter) error {
	for {
		row, err := rows.in.next()
		var wrong *csv.ParseError
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case errors.As(err, &wrong):
			err = out.refuse(faultOf(wrong, rows.in, row))
		case err == nil:
			line, _ := rows.in.FieldPos(0)
			if at := slices.IndexFunc(row, func(v string) bool { return noText(v, rows.decoded) != "" }); at >= 0 {
				err = out.refuse(line, fmt.Sprintf("column %.40s is %.60q, which is %s", rows.columns[at], row[at], noText(row[at], rows.decoded)))
			} else {
				err = rows.mapping.write(rows.document(row), line, out)
			}
		}
		if err != nil {
			return err
		}
	}
}

// document returns a row as an object.
func (rows *csvRows) document(row []string) *jsondoc.Tree {
	doc := []byte{'{'}
	for i, v := range row {
		if i > 0 {
			doc = append(doc, ',')
		}
		doc = jsondoc.AppendQuote(append(append(doc, rows.columns[i]...), ':'), v)
	}
	return jsondoc.MustParse(append(doc, '}'))
}

// write writes the documents that the mapping makes of the row at a line, one or a list.
func (m mapping) write(row *jsondoc.Tree, line int, out *lineWriter) error {
	for _, to := range m {
		value, err := to.program.Eval(row)
		if err != nil {
			if err := out.refuse(line, to.refusal(row, err)); err != nil {
				return err
			}
			continue
		}
		t := jsondoc.MustParse(value)
		first := jsondoc.Root
		if t.Kind(first) == jsondoc.Array {
			first = t.First(first)
		}
		for n := first; n != jsondoc.None; n = t.Next(n) {
			if err := out.write(line, to.collection, t.Raw(n)); err != nil {
				return err
			}
		}
	}
	return nil
}

// refusal returns why the expression gives nothing for a row, with the first columns that are at fault and what they have.
func (to target) refusal(row *jsondoc.Tree, err error) string {
	if errors.Is(err, expr.ErrNoValue) {
		err = errors.New("a member or an index is not there")
	}
	var why []string
	for _, name := range expr.Fault(to.documents, row) {
		if n := row.Member(jsondoc.Root, name); n != jsondoc.None && len(why) < 3 {
			why = append(why, fmt.Sprintf("column %.40q is %.60q", name, row.Text(n)))
		}
	}
	return strings.Join(append(why, fmt.Sprintf("documents of %s: %v", to.collection, err)), ": ")
}
