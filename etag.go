package fanfold

import (
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
	bad := Errorf(Invalid, `%q is not an ETag of this store: want "<revision>.<position>", quoted, as a response's ETag header gives it`, clip(s))
	body, ok := strings.CutPrefix(strings.TrimPrefix(s, "W/"), `"`)
	if !ok {
		return ETag{}, bad
	}
	body, ok = strings.CutSuffix(body, `"`)
	if !ok {
		return ETag{}, bad
	}
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
