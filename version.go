package fanfold

import (
	"strings"
	"time"
)

// Moment names a prefix of the log. It ends with the event of a position and its transaction. If Time is not zero, it has the events
// whose times are not later.
type Moment struct {
	Position Position
	Time     time.Time
}

// MaxMomentText bounds the text of a position or a time, in bytes.
const MaxMomentText = 255

// ParseMoment reads a position or an RFC 3339 time that is not later than now. mark is the position as it was given out, whose store
// the caller checks. name stands before the text in the Invalid error: a parameter's with =, or a flag's with a blank.
func ParseMoment(name, text string, now time.Time) (m Moment, mark Bookmark, err error) {
	if len(text) > MaxMomentText {
		return m, mark, Errorf(Invalid, "%s has %d bytes: a position or a time has %d at most", strings.TrimRight(name, "= "), len(text), MaxMomentText)
	}
	if m.Time, err = time.Parse(time.RFC3339, text); err == nil {
		if m.Time.After(now) {
			return m, mark, Errorf(Invalid, "%s%s is in the future: what will be stored then is not known", name, text)
		}
		return m, mark, nil
	}
	if mark, err = ParseBookmark(text); err != nil {
		return m, mark, Errorf(Invalid, "%s%s is neither a position (<sequence>-<n>-<store>, as it was given out) nor an RFC 3339 time, such as 2026-11-24T21:40:00Z%s", name, Clip(text), BlankHint(text))
	}
	m.Position = mark.Position
	return m, mark, nil
}

// BlankHint returns what a message adds about a text in which a blank stands before a time zone, "" for any other. In a URL a + stands for a
// blank.
func BlankHint(text string) string {
	if at := strings.LastIndexByte(text, ' '); at > 0 {
		if _, err := time.Parse(time.RFC3339, text[:at]+"+"+text[at+1:]); err == nil {
			return "; in a URL a + is written %2B"
		}
	}
	return ""
}

// VersionQuery asks for a page of the history of one document: the changes of all documents that ever had its key.
type VersionQuery struct {
	Key       Key
	View      View
	Ascending bool     // the oldest first
	After     Position // the change after which the page begins, in the order asked for; 0 for none
	From, To  Position // the first and the last position that count
	Limit     int      // how many versions, at most
	Direct    bool     // no derived changes
	Docs      bool     // with the document after each change
	MaxBytes  int      // of values and documents that are read for the page; 0 for 8 MiB

	// Reads tells by its embedded view whether a document may be read. The page has no versions that may not, and nothing of a document that may not be
	// read as it is now, or as it was last. nil is for a reader of all.
	Reads func(view []byte) bool
	// Shown returns a body without what the reader does not see of it. Documents and patches are of such bodies. nil is for a reader of whole documents.
	Shown func(body []byte) []byte
}

// MaxVersionPatch bounds the patch of a version, in bytes.
const MaxVersionPatch = 16 << 20

// Version is one change of a document, and the document after it where that was asked for.
type Version struct {
	ChangeRow
	// Patch is a JSON Patch (RFC 6902) from the version before to this one, whose operations also carry "old". A create adds the
	// whole document, and a delete removes it. It is nil where it would have more than MaxVersionPatch bytes, and where the version before may not be
	// read.
	Patch []byte
}

// VersionPage holds one page of the history of a document.
type VersionPage struct {
	Versions []Version
	More     bool     // versions follow
	Known    bool     // there was a document with the key, and it may be read
	Last     Position // the last change that was looked at, in the order asked for
	Full     bool     // the page ended early, because more would be over MaxBytes
	Need     int      // of a page without versions: the MaxBytes that its first one needs; 0 otherwise
}

// WithCausesIn returns a row that names only documents of collections for which reads is true.
func (r ChangeRow) WithCausesIn(reads func(collection string) bool) ChangeRow {
	if r.Cause != nil && !reads(r.Cause.Collection) {
		r.Cause = nil
	}
	if by := r.ByDelete; by != nil && !reads(by.Key.Collection) {
		change, hidden := *r.Change, *by
		hidden.Key = Key{}
		change.ByDelete = &hidden
		r.Change = &change
	}
	return r
}
