package fanfold

import (
	"cmp"
	"strconv"
	"time"
	"unicode/utf8"
)

// The limits of documents.
const (
	MaxIDLen         = 255 // of an id, in bytes
	MaxCollectionLen = 64  // of a collection's name, in bytes
	DefaultMaxDepth  = 64  // of a document's nesting, in levels
)

// Key names a document by its collection and its id. Clients choose ids, and other documents refer to it by them. An id is
// compared by its text: the number 1 and the string "1" are the same id.
type Key struct {
	Collection string
	ID         string
}

// String returns "<collection>/<id>".
func (k Key) String() string { return k.Collection + "/" + k.ID }

// Compare orders keys by collection and then by id, both by their bytes. It returns -1 if k comes before o, 0 if they are
// equal, and 1 otherwise.
func (k Key) Compare(o Key) int {
	return cmp.Or(cmp.Compare(k.Collection, o.Collection), cmp.Compare(k.ID, o.ID))
}

// CheckCollection returns an Invalid error unless name can name a collection.
func CheckCollection(name string) error {
	if len(name) <= MaxCollectionLen && isCollection(name) {
		return nil
	}
	return Errorf(Invalid, "%q cannot name a collection: use [a-zA-Z][a-zA-Z0-9_-]*, at most %d bytes", Clip(name), MaxCollectionLen)
}

// isCollection tells whether a name is [a-zA-Z][a-zA-Z0-9_-]*. It is no regular expression, because every request and event asks.
func isCollection(name string) bool {
	for i := range len(name) {
		switch c := name[i]; {
		case c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z':
		case i > 0 && (c >= '0' && c <= '9' || c == '_' || c == '-'):
		default:
			return false
		}
	}
	return name != ""
}

// CheckID returns an Invalid error unless id can be a document's id: 1 to 255 bytes of UTF-8, but neither "." nor "..".
func CheckID(id string) error {
	switch {
	case id == "":
		return Errorf(Invalid, "an id must have 1 to %d bytes; this one is empty", MaxIDLen)
	case len(id) > MaxIDLen:
		return Errorf(Invalid, "an id must have 1 to %d bytes; this one has %d", MaxIDLen, len(id))
	case id == "." || id == "..":
		return Errorf(Invalid, "%q cannot be an id: clients take it out of URLs", id)
	case !utf8.ValidString(id):
		return Errorf(Invalid, "an id must be valid UTF-8; %q is not", id)
	}
	return nil
}

// Validate returns an Invalid error unless both parts of the key are valid.
func (k Key) Validate() error {
	if err := CheckCollection(k.Collection); err != nil {
		return err
	}
	return CheckID(k.ID)
}

// Clip returns s, shortened to 80 bytes, for a message.
func Clip(s string) string {
	if len(s) > 80 {
		return s[:80] + "…"
	}
	return s
}

// Revision names one state of a document as it was written: it is the sequence in the log of the document's last event. A client
// sends back the revision that it has read, and its write is refused if the document was written since. A derived change
// makes no new revision. 0 stands for no document.
type Revision uint64

// Document holds one document as the read model has it, in the view that was asked for. Its revision says which write it
// shows, and its position also which derived changes.
type Document struct {
	Key      Key
	Number   int64    // the sequence of the event that created it, by which documents are in order of creation
	Revision Revision // of the last write
	Position Position // of the last change, derived ones included
	Created  time.Time
	Updated  time.Time // of the last write
	Body     []byte    // JSON text
}

// View selects one of the two forms in which a document is read. Embedded has the members that the store derives, so that a page
// needs one read. Referenced is what was written; you change that.
type View int

// The views.
const (
	Embedded   View = iota // with derived fields
	Referenced             // as written
)

// Meta returns the document's metadata as the JSON object in its member _meta: rev, position as issuer gives it out,
// createdAt and updatedAt (RFC 3339).
func (d *Document) Meta(issuer Issuer) []byte {
	meta := append(make([]byte, 0, 176), `{"rev":`...)
	meta = strconv.AppendUint(meta, uint64(d.Revision), 10)
	meta = issuer.Mark(d.Position).Append(append(meta, `,"position":"`...))
	meta = append(meta, `","createdAt":"`...)
	meta = d.Created.AppendFormat(meta, time.RFC3339Nano)
	meta = append(meta, `","updatedAt":"`...)
	meta = d.Updated.AppendFormat(meta, time.RFC3339Nano)
	return append(meta, `"}`...)
}

// CollectionCount says how many documents a collection holds.
type CollectionCount struct {
	Name      string `json:"name"`
	Documents int64  `json:"documents"` // deleted ones do not count
	Uncounted bool   `json:"-"`         // the number is not told, because it depends on each document whether it may be read
	Declared  bool   `json:"declared"`  // by the model that applies
}
