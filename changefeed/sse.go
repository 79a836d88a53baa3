package changefeed

import (
	"net/http"

	"github.com/fanfold/fanfold"
)

// typeEventStream is the media type of server-sent events.
const typeEventStream = "text/event-stream"

// eventWriter sends server-sent events (WHATWG HTML, 9.2): each change with its position as id, and heartbeats with the
// position alone.
type eventWriter struct {
	httpWriter
	lastID fanfold.Position // the last id
}

// newEventWriter returns a writer of an event stream and begins its answer.
func newEventWriter(f *Feed, w http.ResponseWriter, s *scan) *eventWriter {
	o := &eventWriter{httpWriter: newHTTPWriter(f, w, s), lastID: s.at}
	o.begin(typeEventStream, s.req, s.at)
	o.buf.AddString(":\n\n") // a comment: a compressed answer does not begin before it has something
	return o
}

// The text of an event around the JSON of its row.
const (
	beforeID  = "id: "
	beforeRow = "\nevent: change\ndata: "
	afterRow  = "\n\n"
)

// row adds one change.
func (o *eventWriter) row(row fanfold.ChangeRow) error {
	o.buf.AddString(beforeID + o.scan.req.issuer.Mark(row.Position).String() + beforeRow)
	addRow(&o.buf, onOneLine(row), o.scan.req.issuer, o.scan.req)
	o.buf.AddString(afterRow)
	o.lastID = row.Position
	return nil
}

// share sends the rows of a piece, which are written as events already.
func (o *eventWriter) share(p *piece, after fanfold.Position) error {
	rows := p.rowsAfter(after)
	if len(rows) == 0 {
		return nil
	}
	o.lastID = rows[len(rows)-1].at
	return o.send(p.text[rows[0].event:])
}

// alive sends a heartbeat: an event that has a position alone, so that a consumer whose filter matches
// nothing can still save where it is.
func (o *eventWriter) alive() error {
	o.buf.AddString(beforeID + o.scan.bookmark().String() + "\nevent: heartbeat\ndata: " + o.scan.heartbeat() + afterRow)
	o.lastID = o.scan.at
	return o.flush()
}

// finish sends the position where the consumer does not know it, or why the feed ends before its time. A client that connects again
// goes on from there.
func (o *eventWriter) finish(err error) {
	last := o.scan.farewell(err)
	switch {
	case last != "":
		o.buf.AddString(beforeID + o.scan.bookmark().String() + "\nevent: end\ndata: " + last + afterRow)
		_ = o.flush() // the client may be gone, and then there is nobody to tell
	case o.scan.at != o.lastID:
		_ = o.alive() // the client may be gone, and then there is nobody to tell
	}
}
