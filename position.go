package fanfold

import (
	"fmt"
	"strconv"
	"strings"
)

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
