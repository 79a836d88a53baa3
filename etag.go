package fanfold

import (
	"math"
	"strconv"
	"strings"
)

// ETag holds the parts of the strong validator of one view of a document (RFC 9110, 8.8.3). Its text is
// "<revision>.<position>.<fold version>", followed by a hash where the view holds expanded documents.
type ETag struct {
	Revision Revision
	Position Position
	Fold     int
	Suffix   string // the hash; "" for none
}

// GzipSuffix stands at the end of a tag, within its quotes, where the answer was compressed.
const GzipSuffix = "-gzip"

// String returns the tag with its quotes, as a header has it.
func (t ETag) String() string {
	b := make([]byte, 0, 48)
	b = append(b, '"')
	b = strconv.AppendUint(b, uint64(t.Revision), 10)
	b = append(b, '.')
	b = strconv.AppendUint(b, t.Position.Seq(), 10)
	b = append(b, '-')
	b = strconv.AppendInt(b, int64(t.Position.N()), 10)
	b = append(b, '.')
	b = strconv.AppendInt(b, int64(t.Fold), 10)
	if t.Suffix != "" {
		b = append(b, '.')
		b = append(b, t.Suffix...)
	}
	return string(append(b, '"'))
}

// ParseETag reads a tag of this store, quoted. It takes one with W/ before it or GzipSuffix at its end, and one that ends behind the revision or
// behind the position. The error is Invalid.
func ParseETag(s string) (ETag, error) {
	bad := Errorf(Invalid, `%q is not an ETag of this store: want "<revision>.<position>", quoted, as a response's ETag header gives it`, Clip(s))
	if s == "" || etagLength(s) != len(s) {
		return ETag{}, bad
	}
	body := strings.Trim(strings.TrimPrefix(s, "W/"), `"`)
	parts := strings.SplitN(strings.TrimSuffix(body, GzipSuffix), ".", 4)
	rev, err := parseDecimal(parts[0], 1<<63-1)
	if err != nil {
		return ETag{}, bad
	}
	t := ETag{Revision: Revision(rev)}
	if len(parts) > 1 {
		if t.Position, err = ParsePosition(parts[1]); err != nil || strings.Count(parts[1], "-") != 1 {
			return ETag{}, bad
		}
	}
	if len(parts) > 2 {
		fold, err := parseDecimal(parts[2], 1<<31-1)
		if err != nil {
			return ETag{}, bad
		}
		t.Fold = int(fold)
	}
	if len(parts) > 3 {
		t.Suffix = parts[3]
	}
	return t, nil
}

// NoRevision is a revision that no document and no model ever has: that of an entity tag which this store did not make.
const NoRevision Revision = math.MaxUint64

// TagRevision returns the revision that an entity tag names, NoRevision where the tag is not one of this store.
func TagRevision(tag string) Revision {
	t, err := ParseETag(tag)
	if err != nil {
		return NoRevision
	}
	return t.Revision
}

// SplitETags returns the entity tags that the value of a header lists, of whatever store, each with its quotes and W/ as it
// stands (RFC 9110, 8.8.3 and 5.6.1). The error is Invalid where something else stands there, or nothing.
func SplitETags(list string) (tags []string, err error) {
	for rest := strings.TrimLeft(list, " \t,"); rest != ""; rest = strings.TrimLeft(rest, " \t,") {
		n := etagLength(rest)
		after := strings.TrimLeft(rest[n:], " \t")
		if n == 0 || after != "" && after[0] != ',' {
			return nil, Errorf(Invalid, `%q is not an ETag: want "<revision>.<position>", quoted, as a response's ETag header gives it`, Clip(rest))
		}
		tags, rest = append(tags, rest[:n]), after
	}
	if tags == nil {
		return nil, Errorf(Invalid, "%q has no ETag", Clip(list))
	}
	return tags, nil
}

// etagLength returns how many bytes the entity tag has with which a text begins, 0 where it does not begin with one.
func etagLength(text string) int {
	begin := len(text) - len(strings.TrimPrefix(text, "W/"))
	if !strings.HasPrefix(text[begin:], `"`) {
		return 0
	}
	for i := begin + 1; i < len(text); i++ {
		switch c := text[i]; {
		case c == '"':
			return i + 1
		case c <= ' ' || c == 0x7f:
			return 0
		}
	}
	return 0
}
