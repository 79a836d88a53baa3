package fanfold

import (
	"fmt"
	"strconv"
)

// Position gives every change of every document its place in one order. It goes by the sequence of its event, then by its
// number within that event, where 0 is the direct change. A reader that knows a position can wait until a node shows it, and
// can ask for everything after it. Positions of one log are the same on every node and after every replay.
//
// It takes 63 bits, 43 for the sequence and 20 for the number, so that SQLite can keep it as an integer key.
type Position uint64

const positionBits = 20

// maxSeq is the largest sequence that a position can have.
const maxSeq = 1<<(63-positionBits) - 1

// MaxChanges bounds the derived changes that one event can cause.
const MaxChanges = 1<<positionBits - 1

// At returns the position of change n of the event at seq.
func At(seq uint64, n int) Position { return Position(seq<<positionBits | uint64(n)) }

// Seq returns the event's stream sequence.
func (p Position) Seq() uint64 { return uint64(p) >> positionBits }

// N returns the number of the change within its event.
func (p Position) N() int { return int(p & MaxChanges) }

// String returns "<sequence>-<n>".
func (p Position) String() string {
	return strconv.FormatUint(p.Seq(), 10) + "-" + strconv.Itoa(p.N())
}

// MarshalText returns the position as String does.
func (p Position) MarshalText() ([]byte, error) { return []byte(p.String()), nil }

// UnmarshalText reads a position as ParsePosition does. The error is Invalid.
func (p *Position) UnmarshalText(b []byte) error {
	q, err := ParsePosition(string(b))
	*p = q
	return err
}

// ParsePosition reads "<sequence>-<n>". It reads a bare "<sequence>" as the position of the last change that the event
// can have. It checks the form of the rest of a Bookmark, and leaves it out. The error is Invalid.
func ParsePosition(s string) (Position, error) {
	b, err := ParseBookmark(s)
	return b.Position, err
}

// parseBare reads the one or two parts of a position's text s.
func parseBare(s string, parts []string) (Position, error) {
	seq, err := parseDecimal(parts[0], maxSeq)
	if err != nil {
		return 0, badPosition(s)
	}
	if len(parts) == 1 {
		return At(seq, MaxChanges), nil
	}
	n, err := parseDecimal(parts[1], MaxChanges)
	if err != nil {
		return 0, badPosition(s)
	}
	return At(seq, int(n)), nil
}

// badPosition returns the error for a text that is no position.
func badPosition(s string) *Error {
	return Errorf(Invalid, "%q is not a position: want <sequence>-<n>, and the store behind it, as they were given out, such as 1042-17-abcdefgh", Clip(s))
}

// parseDecimal reads a number of at most limit that is written in digits only, without a sign or leading zeros.
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
