package fanfold

import (
	"strconv"
	"time"

	"github.com/fanfold/fanfold/internal/jsondoc"
)

// WithMeta is the document's body with its metadata as the last member, _meta: rev, position,
// createdAt and updatedAt (RFC 3339).
func (d *Document) WithMeta() []byte {
	meta := append(make([]byte, 0, 160), `{"rev":`...)
	meta = strconv.AppendUint(meta, uint64(d.Revision), 10)
	meta = append(meta, `,"position":"`+d.Position.String()+`","createdAt":"`...)
	meta = d.Created.AppendFormat(meta, time.RFC3339Nano)
	meta = append(meta, `","updatedAt":"`...)
	meta = d.Updated.AppendFormat(meta, time.RFC3339Nano)
	return jsondoc.WithLast(d.Body, "_meta", append(meta, `"}`...))
}
