package writer

import (
	"errors"
	"fmt"

	"github.com/fanfold/fanfold"
)

// errTooManyMessages is the cause of a refusal because a transaction would need too many messages.
var errTooManyMessages = errors.New("too many messages for a transaction")

// Missing returns the NotFound of a document that is not there.
func Missing(key fanfold.Key) error {
	return fanfold.Errorf(fanfold.NotFound, "there is no document %s", key)
}

func exists(key fanfold.Key, rev fanfold.Revision) error {
	return &fanfold.Error{Code: fanfold.Exists, Message: "document " + key.String() + " exists already: PUT replaces it", Current: rev}
}

// staleAt is the Stale of a document that is at another revision than asked for.
func staleAt(key fanfold.Key, rev fanfold.Revision) *fanfold.Error {
	return &fanfold.Error{Code: fanfold.Stale, Current: rev, Message: fmt.Sprintf("document %s is at revision %d", key, rev)}
}

// behind is the error of a write that needs to see what this node has not folded.
func behind(err error) error {
	return fanfold.Wrap(err, fanfold.Unavailable, "the document changes faster than this node follows: try again%s", reasonOf(err))
}

// reasonOf is an Error's message as the end of another's.
func reasonOf(err error) string {
	var e *fanfold.Error
	if errors.As(err, &e) {
		return ": " + e.Message
	}
	return ""
}

// staleError returns err as a Stale, nil where it is none.
func staleError(err error) *fanfold.Error {
	var e *fanfold.Error
	if errors.As(err, &e) && e.Code == fanfold.Stale {
		return e
	}
	return nil
}

// operationOf returns the index of the operation that an error is about, -1 for none.
func operationOf(err error) int {
	var e *fanfold.Error
	if !errors.As(err, &e) || e.Operation == nil {
		return -1
	}
	return *e.Operation
}

// withoutOperation returns the error of a transaction as that of a request without operations.
func withoutOperation(err error) error {
	var e *fanfold.Error
	if !errors.As(err, &e) || e.Operation == nil {
		return err
	}
	own := *e
	own.Operation = nil
	return &own
}

// withinOperations returns the error of a transaction as that of none of its operations where it is about a write
// that they brought with them.
func withinOperations(err error, operations int) error {
	if operationOf(err) >= operations {
		return withoutOperation(err)
	}
	return err
}
