package fanfold

import (
	"regexp"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/fanfold/fanfold/internal/jsondoc"
)

// Limits of the written form. Sizes are in bytes.
const (
	MaxIDLen        = 255
	DefaultMaxBody  = 2 << 20
	DefaultMaxDepth = 64
	MaxRelationIDs  = 1000
	MaxUniqueLen    = 1025 // of a unique value and its kind
	DefaultIDsLimit = 1000
	// DefaultFanoutLimit is how many derived changes a write may cause where the model says nothing.
	DefaultFanoutLimit = 1_000_000
	MaxCollectionLen   = 64
)

// Key names a document: its collection and its id's text (the number 1 and the string "1"
// are the same id).
type Key struct {
	Collection string
	ID         string
}

func (k Key) String() string { return k.Collection + "/" + k.ID }

var collectionRE = regexp.MustCompile(`^[a-z][a-z0-9_-]*$`)

// CheckCollection returns an Invalid error unless name can name a collection.
func CheckCollection(name string) error {
	if !collectionRE.MatchString(name) || len(name) > MaxCollectionLen {
		return Errorf(Invalid, "%q cannot name a collection: use [a-z][a-z0-9_-]*, at most %d bytes", clip(name), MaxCollectionLen)
	}
	return nil
}

// CheckID returns an Invalid error unless id can be a document's id: 1 to 255 bytes of UTF-8.
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

// Validate checks both parts of the key; the error is Invalid.
func (k Key) Validate() error {
	if err := CheckCollection(k.Collection); err != nil {
		return err
	}
	return CheckID(k.ID)
}

func clip(s string) string {
	if len(s) > 80 {
		return s[:80] + "…"
	}
	return s
}

// Revision is a document's revision: the stream sequence of its last event. 0 is "no document".
type Revision uint64

// Document is one document of the read model.
type Document struct {
	Key      Key
	Number   int64    // order of arrival: the sequence of the event that created it
	Revision Revision // changes with writes only
	Position Position // changes with derived values too
	Created  time.Time
	Updated  time.Time // of the last write
	Body     []byte    // the view asked for
}

// ETagOf returns the document's entity tag under the given fold version.
func (d *Document) ETagOf(fold int) ETag {
	return ETag{Revision: d.Revision, Position: d.Position, Fold: fold}
}

// View is one of the two forms in which a document is read.
type View int

// The views.
const (
	Embedded   View = iota // with derived fields
	Referenced             // as written
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
