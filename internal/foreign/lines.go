package foreign

import (
	"bytes"
	"strconv"
	"strings"

	"github.com/fanfold/fanfold/internal/jsondoc"
)

// AppendLine appends a document as a line of an import, with the line of the export by which a refusal names it. A line of an export of this store
// stays as it is.
func AppendLine(b []byte, doc *Document) []byte {
	if doc.Line != nil && jsondoc.MustParse(doc.Line).Member(jsondoc.Root, "line") != jsondoc.None {
		return append(b, doc.Line...)
	}
	b = strconv.AppendInt(append(b, `{"line":`...), int64(doc.Place.Line), 10)
	if doc.Line == nil {
		b = jsondoc.AppendQuote(append(b, `,"collection":`...), doc.Collection)
		return append(append(append(b, `,"doc":`...), doc.Body...), '}')
	}
	if inner := bytes.TrimSpace(doc.Line[1:]); inner[0] != '}' {
		b = append(b, ',')
	}
	return append(b, doc.Line[1:]...)
}

// InQuery returns a text of this package as it names the parameters of a request, which are the flags of a command elsewhere.
func InQuery(text string) string { return inQuery.Replace(text) }

// inQuery replaces flags by parameters.
var inQuery = strings.NewReplacer("--keep-extended", "keepExtended=true", "--rename ", "rename=", "--drop ", "drop=", "--list ", "list=", "--from ", "from=", "--rename", "rename", "--drop", "drop")

// AppendRefusal appends a line of an import that the import refuses, for the reason that the export gave.
func AppendRefusal(b []byte, r *Refusal) []byte {
	b = strconv.AppendInt(append(b, `{"line":`...), int64(r.Place.Line), 10)
	return append(jsondoc.AppendQuote(append(b, `,"refused":`...), r.Reason), '}')
}
