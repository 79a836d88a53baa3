package writer

import (
	"errors"
	"fmt"
	"slices"

	"github.com/fanfold/fanfold"
)

// errTooManyMessages marks the refusal of a transaction that would need too many messages, as its cause.
var errTooManyMessages = errors.New("too many messages for a transaction")

// errNobody refuses what nobody asks for. It is a Forbidden.
var errNobody = fanfold.Errorf(fanfold.Forbidden, "nobody may do this")

// Missing returns the NotFound of a document that does not exist.
func Missing(key fanfold.Key) error {
	e := about(fanfold.Errorf(fanfold.NotFound, "there is no document %s", key), key)
	e.Discreet = "there is no such document in " + key.Collection + " that you may read"
	return e
}

// about returns an error with the documents that its message tells of.
func about(e *fanfold.Error, keys ...fanfold.Key) *fanfold.Error {
	e.About = keys
	return e
}

// exists returns the Exists of a document that should not exist and is at rev.
func exists(key fanfold.Key, rev fanfold.Revision) error {
	return &fanfold.Error{Code: fanfold.Exists, Message: "document " + key.String() + " exists already: PUT replaces it", Current: rev}
}

// staleAt returns the Stale of a document that is at rev instead of the revision asked for.
func staleAt(key fanfold.Key, rev fanfold.Revision) *fanfold.Error {
	return &fanfold.Error{Code: fanfold.Stale, Current: rev, Message: fmt.Sprintf("document %s is at revision %d", key, rev), About: []fanfold.Key{key}}
}

// behind returns the Unavailable of a write that needs an event which this node has not folded in time.
func behind(err error) error {
	return fanfold.Wrap(err, fanfold.Unavailable, "the document changes faster than this node follows: try again%s", reasonOf(err))
}

// problemsOf returns the mistakes that an Error lists, none where err is none.
func problemsOf(err error) []fanfold.Problem {
	var e *fanfold.Error
	if errors.As(err, &e) {
		return e.Problems
	}
	return nil
}

// reasonOf returns the message of an Error as the end of another message, "" where err is none.
func reasonOf(err error) string {
	var e *fanfold.Error
	if errors.As(err, &e) {
		return ": " + e.Message
	}
	return ""
}

// staleError returns the Stale that err is, nil where it is another error.
func staleError(err error) *fanfold.Error {
	var e *fanfold.Error
	if errors.As(err, &e) && e.Code == fanfold.Stale {
		return e
	}
	return nil
}

// operationOf returns the index of the operation at fault, -1 where the error names none.
func operationOf(err error) int {
	var e *fanfold.Error
	if !errors.As(err, &e) || e.Operation == nil {
		return -1
	}
	return *e.Operation
}

// withoutOperation returns err without the index of an operation, as a request that has no operations reports it.
func withoutOperation(err error) error {
	var e *fanfold.Error
	if !errors.As(err, &e) || e.Operation == nil {
		return err
	}
	out := *e
	out.Operation = nil
	return &out
}

// withinOperations drops the index of an operation from err if it is about a write that the operations brought with
// them. Such writes come after the operations, and the client does not know their index.
func withinOperations(err error, operations int) error {
	if operationOf(err) >= operations {
		return withoutOperation(err)
	}
	return err
}

// refusals holds why several writes of a batch are refused. As an error it is its first refusal.
type refusals struct {
	at     []int // the index of each write, in order
	errors []error
}

// Error returns the text of the first refusal.
func (r *refusals) Error() string { return r.errors[0].Error() }

// Unwrap returns the first refusal.
func (r *refusals) Unwrap() error { return r.errors[0] }

// add adds the refusal of a write. One that is refused already stays as it is.
func (r *refusals) add(i int, err error) {
	at, found := slices.BinarySearch(r.at, i)
	if !found {
		r.at, r.errors = slices.Insert(r.at, at, i), slices.Insert(r.errors, at, fanfold.AtOperation(err, i))
	}
}

// refusalsOf returns the refusals that err tells of: several, the one of the write that err names, or none.
func refusalsOf(err error) *refusals {
	var several *refusals
	if errors.As(err, &several) {
		return several
	}
	one := &refusals{}
	if at := operationOf(err); at >= 0 {
		one.add(at, err)
	}
	return one
}
