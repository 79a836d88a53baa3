package api

import (
	"bytes"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/writer"
)

// Bounds of a transaction's body besides its length, so that reading it costs little more memory than the body itself.
const (
	maxEnvelope = 64 << 10 // bytes of an operation around its document or patch
	maxValues   = 8 << 20  // values in all of its operations: with a tree for each of them, some 230 MB; 60 kB of gzip may hold 100 million
)

// errNoOperations says what the body of a transaction must be. It is an Invalid.
var errNoOperations = fanfold.Errorf(fanfold.Invalid, `the body must be {"operations":[...]}`)

// operationsHead is how a transaction begins, without white space.
const operationsHead = `{"operations":[`

// operationCounter looks at the body of a transaction while it arrives, and refuses it at the first byte that is too much. It
// tells strings and brackets apart and nothing else: of text that is JSON up to a byte it counts all that is there.
type operationCounter struct {
	maxOperation int // bytes

	head     int // bytes of operationsHead that have come
	depth    int // brackets that are open, from the head's on
	count    int // operations that have begun
	bytes    int // of the one that is being read
	values   int // at least as many as there are
	inString bool
	escaped  bool
}

// newOperationCounter returns a counter of operations whose documents may have so many bytes.
func newOperationCounter(maxBody int64) *operationCounter {
	return &operationCounter{maxOperation: int(maxBody) + maxEnvelope}
}

// watch counts what is in the next piece of the body. It returns Invalid if the body is no list of operations,
// Unprocessable if there are too many, and TooLarge. The Operation of TooLarge is the index of the one that is too
// long, or that passes the bound of values.
func (o *operationCounter) watch(piece []byte) error {
	for len(piece) > 0 {
		n, err := 1, error(nil)
		switch c := piece[0]; {
		case o.inString:
			n = o.skipString(piece)
		case c == ' ' || c == '\t' || c == '\r' || c == '\n':
		case o.head == 0 && bytes.IndexByte([]byte("\ufeff"), c) >= 0: // of a byte order mark, whose place is judged later
		case o.head < len(operationsHead):
			err = o.begin(c)
		case o.depth < 2:
			if c != '}' || o.depth == 0 {
				err = errNoOperations
			}
			o.depth = 0
		default:
			err = o.structural(c)
		}
		if err != nil {
			return err
		}
		if o.depth >= 2 {
			if o.bytes += n; o.bytes > o.maxOperation {
				return fanfold.AtOperation(fanfold.Errorf(fanfold.TooLarge, "it has more than %d bytes, which an operation may have", o.maxOperation), o.at())
			}
		}
		piece = piece[n:]
	}
	return nil
}

// begin reads a byte of the head.
func (o *operationCounter) begin(c byte) error {
	if c != operationsHead[o.head] {
		return errNoOperations
	}
	if o.head++; o.head == len(operationsHead) {
		o.depth = 2
	}
	return nil
}

// structural reads a byte of an operation that is outside strings, or between two operations.
func (o *operationCounter) structural(c byte) error {
	if o.depth == 2 && c != ']' && o.count == 0 {
		o.count = 1
	}
	switch c {
	case '"':
		o.inString = true
	case '{', '[':
		o.depth++
		o.values++
	case '}', ']':
		o.depth--
	case ',':
		o.values++
		if o.depth == 2 {
			o.bytes = 0
			if o.count++; o.count > writer.MaxOperations {
				return fanfold.Errorf(fanfold.Unprocessable, "a transaction has from 1 to %d operations; this one has at least %d", writer.MaxOperations, o.count)
			}
		}
	default:
		return nil
	}
	if o.values > maxValues {
		return fanfold.AtOperation(fanfold.Errorf(fanfold.TooLarge, "with it the transaction has more than %d values: send fewer documents at a time", maxValues), o.at())
	}
	return nil
}

// at returns the index of the operation that is being read.
func (o *operationCounter) at() int { return max(0, o.count-1) }

// skipString returns how many bytes of a piece belong to the string that it is in, up to its end or to what is escaped.
func (o *operationCounter) skipString(piece []byte) int {
	if o.escaped {
		o.escaped = false
		return 1
	}
	n := bytes.IndexAny(piece, `"\`)
	if n < 0 {
		return len(piece)
	}
	o.escaped, o.inString = piece[n] == '\\', piece[n] != '"'
	return n + 1
}
