package changefeed

import (
	"net/http"

	"github.com/fanfold/fanfold"
)

// typeNDJSON is the media type of lines of JSON.
const typeNDJSON = "application/x-ndjson"

// lineWriter sends a row a line, and heartbeats as lines that have a position alone.
type lineWriter struct{ httpWriter }

// newLineWriter returns a writer of lines and begins its answer with a heartbeat, for a compressed answer does not begin
// before it has something.
func newLineWriter(f *Feed, w http.ResponseWriter, s *scan) *lineWriter {
	o := &lineWriter{httpWriter: newHTTPWriter(f, w, s)}
	o.begin(typeNDJSON, s.req, s.at)
	o.buf.AddString(s.heartbeat() + "\n")
	return o
}

// row adds one change.
func (o *lineWriter) row(row fanfold.ChangeRow) error {
	addRow(&o.buf, onOneLine(row), o.scan.req.issuer, o.scan.req)
	o.buf.AddString("\n")
	return nil
}

// share sends the rows of a piece.
func (o *lineWriter) share(p *piece, after fanfold.Position) error {
	for _, row := range p.rowsAfter(after) {
		if err := o.send(p.text[row.json : row.end+1]); err != nil { // the text after a row begins with a line break
			return err
		}
	}
	return nil
}

// alive sends a heartbeat.
func (o *lineWriter) alive() error {
	o.buf.AddString(o.scan.heartbeat() + "\n")
	return o.flush()
}

// finish sends a last heartbeat, which tells an end from a connection that was cut, or why the feed ends before its time.
func (o *lineWriter) finish(err error) {
	last := o.scan.farewell(err)
	if last == "" {
		last = o.scan.heartbeat()
	}
	o.buf.AddString(last + "\n")
	_ = o.flush() // the client may be gone, and then there is nobody to tell
}
