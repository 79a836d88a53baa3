package fanfold

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"
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

// Position orders every change of every document: an event's sequence and the number of the
// change within it, 0 being the direct one. Positions of one log are the same on every node
// and after every replay.
//
// It is packed into 63 bits (43 for the sequence, 20 for the number), so that SQLite can keep
// it as an integer key.
type Position uint64

const positionBits = 20

// MaxChanges is how many changes one event can cause.
const MaxChanges = 1<<positionBits - 1

// At returns the position of change n of the event at seq.
func At(seq uint64, n int) Position { return Position(seq<<positionBits | uint64(n)) }

// Seq is the event's stream sequence.
func (p Position) Seq() uint64 { return uint64(p) >> positionBits }

// N is the number of the change within its event.
func (p Position) N() int { return int(p & MaxChanges) }

func (p Position) String() string {
	return strconv.FormatUint(p.Seq(), 10) + "-" + strconv.Itoa(p.N())
}

// MarshalText writes the position as "<sequence>-<n>".
func (p Position) MarshalText() ([]byte, error) { return []byte(p.String()), nil }

// UnmarshalText is ParsePosition.
func (p *Position) UnmarshalText(b []byte) error {
	q, err := ParsePosition(string(b))
	*p = q
	return err
}

// ParsePosition reads "<sequence>-<n>", or a bare "<sequence>" as the event's last change.
// The error is Invalid.
func ParsePosition(s string) (Position, error) {
	seqText, nText, dashed := strings.Cut(s, "-")
	seq, err := parseDecimal(seqText, 1<<(63-positionBits)-1)
	if err != nil {
		return 0, Errorf(Invalid, "%q is not a position: want <sequence>-<n>, such as 1042-17", clip(s))
	}
	if !dashed {
		return At(seq, MaxChanges), nil
	}
	n, err := parseDecimal(nText, MaxChanges)
	if err != nil {
		return 0, Errorf(Invalid, "%q is not a position: want <sequence>-<n>, such as 1042-17", clip(s))
	}
	return At(seq, int(n)), nil
}

// parseDecimal takes digits only, without a sign or leading zeros.
func parseDecimal(s string, limit uint64) (uint64, error) {
	if s == "" || (len(s) > 1 && s[0] == '0') || s[0] == '+' {
		return 0, fmt.Errorf("not a plain decimal: %q", s)
	}
	v, err := strconv.ParseUint(s, 10, 64)
	if err != nil {
		return 0, err
	}
	if v > limit {
		return 0, fmt.Errorf("%d is over %d", v, limit)
	}
	return v, nil
}

// ETag is the strong validator of one view of a document (RFC 9110, 8.8.3):
// "<revision>.<position>.<fold version>", with a hash at the end where the view holds
// expanded documents.
type ETag struct {
	Revision Revision
	Position Position
	Fold     int
	Suffix   string
}

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

// ParseETag reads one of our tags, also with W/ before it, and without the parts behind the
// revision. The error is Invalid.
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
	parts := strings.SplitN(body, ".", 4)
	rev, err := parseDecimal(parts[0], 1<<63-1)
	if err != nil {
		return ETag{}, bad
	}
	t := ETag{Revision: Revision(rev)}
	if len(parts) > 1 {
		if t.Position, err = ParsePosition(parts[1]); err != nil || !strings.Contains(parts[1], "-") {
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
