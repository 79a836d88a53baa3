package main

import (
	"bufio"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/internal/expr"
	"github.com/fanfold/fanfold/internal/jsondoc"
)

// mapping says which documents the rows of a CSV file give.
type mapping []target

// target says which documents of a collection they give.
type target struct {
	Collection string
	Documents  string // the expression

	program *expr.Program
}

// maxMapping bounds a mapping file, in bytes.
const maxMapping = 64 << 10

// readMapping reads a mapping file. The error is Invalid.
func readMapping(path string) (mapping, error) {
	text, err := readFile(path, "mapping", maxMapping)
	if err != nil {
		return nil, err
	}
	var file yaml.Node
	if err := yaml.Unmarshal(text, &file); err != nil {
		return nil, fanfold.Wrap(err, fanfold.Invalid, "%s is not YAML: %v", path, err)
	}
	const wanted = `want a list, each of whose entries has collection and documents, as in "- collection: books"`
	if file.Kind == 0 || len(file.Content[0].Content) == 0 && file.Content[0].Kind == yaml.SequenceNode { // empty, or comments alone
		return nil, fanfold.Errorf(fanfold.Invalid, "%s maps nothing: %s", path, wanted)
	}
	list := file.Content[0]
	if list.Kind != yaml.SequenceNode {
		return nil, fanfold.Errorf(fanfold.Invalid, "%s, line %d: %s", path, list.Line, wanted)
	}
	m := make(mapping, len(list.Content))
	for i, entry := range list.Content {
		if m[i], err = readTarget(entry); err != nil {
			return nil, fanfold.Errorf(fanfold.Invalid, "%s, %s", path, fanfold.MessageOf(err))
		}
	}
	return m, nil
}

// readTarget reads one entry of a mapping. The error is Invalid, and begins with the line.
func readTarget(entry *yaml.Node) (to target, err error) {
	wrong := func(at *yaml.Node, format string, args ...any) error {
		return fanfold.Errorf(fanfold.Invalid, "line %d: "+format, append([]any{at.Line}, args...)...)
	}
	if entry.Kind != yaml.MappingNode {
		return to, wrong(entry, "want collection and documents")
	}
	found := map[string]*yaml.Node{}
	for i := 0; i+1 < len(entry.Content); i += 2 {
		key, value := entry.Content[i], entry.Content[i+1]
		switch {
		case key.Value != "collection" && key.Value != "documents":
			return to, wrong(key, "unknown key %.80q: a mapping takes collection and documents", key.Value)
		case found[key.Value] != nil:
			return to, wrong(key, "%q is there twice", key.Value)
		case value.Kind != yaml.ScalarNode || value.ShortTag() != "!!str":
			hint := ""
			if key.Value == "documents" {
				hint = `: put the expression between quotes, or behind "documents: >-"`
			}
			return to, wrong(key, "%s must be a text%s", key.Value, hint)
		}
		found[key.Value] = value
	}
	for _, key := range []string{"collection", "documents"} {
		if found[key] == nil {
			return to, wrong(entry, "%s is missing", key)
		}
	}
	to.Collection, to.Documents = found["collection"].Value, found["documents"].Value
	if err := fanfold.CheckCollection(to.Collection); err != nil {
		return to, wrong(found["collection"], "%s", fanfold.MessageOf(err))
	}
	if to.program, err = expr.Compile(to.Documents); err != nil {
		return to, wrong(found["documents"], "documents of %s: %v", to.Collection, err)
	}
	return to, nil
}

// csvRows is a CSV file that is read from behind its header line on.
type csvRows struct {
	mapping mapping
	in      *csv.Reader
	columns []string
	names   [][]byte // the columns as JSON strings
}

// open reads the header line. file names the mapping. The error is Invalid: for a column that is there twice, or that the
// mapping reads and the file does not have.
func (m mapping) open(r io.Reader, file string) (*csvRows, error) {
	rows := &csvRows{mapping: m, in: newCSVReader(r)}
	columns, err := rows.in.Read()
	if err != nil {
		return nil, fanfold.Wrap(err, fanfold.Invalid, "the file has no header line: %v", err)
	}
	rows.columns = slices.Clone(columns)
	for i, name := range rows.columns {
		if slices.Contains(rows.columns[:i], name) {
			return nil, fanfold.Errorf(fanfold.Invalid, "the header line has the column %q twice: give each a name of its own", name)
		}
		rows.names = append(rows.names, jsondoc.Quote(name))
	}
	for _, target := range m {
		needed, err := expr.MembersNeeded(target.Documents)
		if err != nil {
			return nil, fanfold.Errorf(fanfold.Invalid, "%s: documents of %s: %v", file, target.Collection, err)
		}
		for _, name := range needed {
			if !slices.Contains(rows.columns, name) {
				return nil, fanfold.Errorf(fanfold.Invalid, "%s: documents of %s read the column %q, which the file does not have: it has %s",
					file, target.Collection, name, shortList(rows.columns))
			}
		}
	}
	return rows, nil
}

// newCSVReader returns a reader of CSV that leaves out a byte order mark.
func newCSVReader(r io.Reader) *csv.Reader {
	in := bufio.NewReader(r)
	if mark, err := in.Peek(3); err == nil && string(mark) == "\xef\xbb\xbf" {
		_, _ = in.Discard(3) // which are buffered
	}
	cr := csv.NewReader(in)
	cr.ReuseRecord = true
	return cr
}

// shortList returns the first names, quoted, and how many more there are.
func shortList(names []string) string {
	const most = 20
	var b strings.Builder
	for i, name := range names {
		if i == most {
			fmt.Fprintf(&b, " and %d more", len(names)-most)
			break
		}
		if i > 0 {
			b.WriteString(", ")
		}
		fmt.Fprintf(&b, "%.40q", name)
	}
	return b.String()
}

// write writes the documents that the mapping makes of the rows. A row that is no CSV is written as one to refuse.
func (rows *csvRows) write(out *lineWriter) error {
	for {
		row, err := rows.in.Read()
		if errors.Is(err, io.EOF) {
			return nil
		}
		var pe *csv.ParseError
		switch {
		case errors.As(err, &pe):
			err = out.refuse(pe.Line, pe.Err.Error())
		case err == nil:
			line, _ := rows.in.FieldPos(0)
			err = rows.row(line, row, out)
		}
		if err != nil {
			return err
		}
	}
}

// row writes the documents that the mapping makes of one row.
func (rows *csvRows) row(line int, row []string, w *lineWriter) error {
	doc := []byte{'{'}
	for i, v := range row {
		if i > 0 {
			doc = append(doc, ',')
		}
		doc = jsondoc.AppendQuote(append(append(doc, rows.names[i]...), ':'), v)
	}
	t := jsondoc.MustParse(append(doc, '}'))
	for _, target := range rows.mapping {
		value, err := target.program.Eval(t)
		if err != nil {
			if err := w.refuse(line, rows.refusal(target.Collection, target.Documents, t, err)); err != nil {
				return err
			}
			continue
		}
		for _, doc := range valueOrElements(value) {
			if err := w.write(line, target.Collection, doc); err != nil {
				return err
			}
		}
	}
	return nil
}

// refusal returns why a mapping's expression gives nothing for a row, with the columns that are at fault and what they
// have.
func (rows *csvRows) refusal(collection, expression string, row *jsondoc.Tree, err error) string {
	const most = 3
	reason := err.Error()
	if errors.Is(err, expr.ErrNoValue) {
		reason = "a member or an index is not there"
	}
	var columns []string
	for _, name := range expr.Fault(expression, row) {
		value := "is not there"
		if n := row.Member(jsondoc.Root, name); n != jsondoc.None {
			value = fmt.Sprintf("is %.60q", row.Text(n))
		}
		columns = append(columns, fmt.Sprintf("column %.40q %s", name, value))
	}
	where := strings.Join(columns[:min(len(columns), most)], ", ")
	if where != "" {
		where += ": "
	}
	return fmt.Sprintf("%sdocuments of %s: %s", where, collection, reason)
}

// valueOrElements returns the elements of an array, or any other value by itself.
func valueOrElements(value []byte) [][]byte {
	t := jsondoc.MustParse(value)
	if t.Kind(jsondoc.Root) != jsondoc.Array {
		return [][]byte{t.Raw(jsondoc.Root)}
	}
	var all [][]byte
	for n := t.First(jsondoc.Root); n != jsondoc.None; n = t.Next(n) {
		all = append(all, t.Raw(n))
	}
	return all
}
