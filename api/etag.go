package api

import (
	"strconv"
	"strings"

	"github.com/fanfold/fanfold"
)

// entityTag holds the parts of the strong validator of one view of a document (RFC 9110, 8.8.3). A client that has the view sends
// it back, and asks whether it is still the current one. Its text is "<revision>.<position>.<fold version>", followed by a hash
// where the view holds expanded documents. In a store that was restored the position names the store, but for what all stores
// before have in common.
type entityTag struct {
	Revision fanfold.Revision
	Position fanfold.Position
	Store    fanfold.StoreID // "" for none
	Fold     int
	Suffix   string // the hash; "" for none
}

// gzipSuffix stands at the end of a tag, within its quotes, where the answer was compressed.
const gzipSuffix = "-gzip"

// String returns the tag with its quotes, as a header has it.
func (t entityTag) String() string {
	b := make([]byte, 0, 48)
	b = append(b, '"')
	b = strconv.AppendUint(b, uint64(t.Revision), 10)
	b = append(b, '.')
	b = fanfold.Bookmark{Position: t.Position, Store: t.Store}.Append(b)
	b = append(b, '.')
	b = strconv.AppendInt(b, int64(t.Fold), 10)
	if t.Suffix != "" {
		b = append(b, '.')
		b = append(b, t.Suffix...)
	}
	return string(append(b, '"'))
}

// parseETag reads a tag of this store, quoted. It takes one with W/ before it or gzipSuffix at its end, and one that ends after the
// revision or after the position. The error is Invalid.
func parseETag(s string) (entityTag, error) {
	bad := fanfold.Errorf(fanfold.Invalid, `%q is not an ETag of this store: want "<revision>.<position>", quoted, as a response's ETag header gives it`, fanfold.Clip(s))
	if s == "" || etagLength(s) != len(s) {
		return entityTag{}, bad
	}
	body := strings.Trim(strings.TrimPrefix(s, "W/"), `"`)
	parts := strings.SplitN(strings.TrimSuffix(body, gzipSuffix), ".", 4)
	rev, ok := plainNumber(parts[0], 63)
	if !ok {
		return entityTag{}, bad
	}
	t := entityTag{Revision: fanfold.Revision(rev)}
	if len(parts) > 1 {
		at, err := fanfold.ParseBookmark(parts[1])
		if err != nil || at.Fold != 0 || !strings.Contains(parts[1], "-") {
			return entityTag{}, bad
		}
		t.Position, t.Store = at.Position, at.Store
	}
	if len(parts) > 2 {
		fold, ok := plainNumber(parts[2], 31)
		if !ok {
			return entityTag{}, bad
		}
		t.Fold = int(fold)
	}
	if len(parts) > 3 {
		t.Suffix = parts[3]
	}
	return t, nil
}

// plainNumber reads a number of at most so many bits that is written in digits only, without leading zeros.
func plainNumber(s string, bits int) (n uint64, ok bool) {
	n, err := strconv.ParseUint(s, 10, bits)
	return n, err == nil && (s == "0" || s[0] != '0')
}

// splitETags returns the entity tags that the value of a header lists, of whatever store, each with its quotes and W/ as it
// stands (RFC 9110, 8.8.3 and 5.6.1). The error is Invalid where something else stands there, or nothing.
func splitETags(list string) (tags []string, err error) {
	for rest := strings.TrimLeft(list, " \t,"); rest != ""; rest = strings.TrimLeft(rest, " \t,") {
		n := etagLength(rest)
		after := strings.TrimLeft(rest[n:], " \t")
		if n == 0 || after != "" && after[0] != ',' {
			return nil, fanfold.Errorf(fanfold.Invalid, `%q is not an ETag: want "<revision>.<position>", quoted, as a response's ETag header gives it`, fanfold.Clip(rest))
		}
		tags, rest = append(tags, rest[:n]), after
	}
	if tags == nil {
		return nil, fanfold.Errorf(fanfold.Invalid, "%q has no ETag", fanfold.Clip(list))
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
