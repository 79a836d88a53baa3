package fanfold

import (
	"errors"
	"fmt"
	"strings"
)

// Code classifies an error; the API picks the HTTP status and problem type from it.
type Code string

// The codes an Error carries. They are stable: problem types are made of them.
const (
	Invalid          Code = "invalid"           // the request cannot be understood
	NotFound         Code = "not-found"         // no such document, route or relation
	Exists           Code = "exists"            // create-only on a document that exists
	Stale            Code = "stale"             // the revision asked for is not the current one
	Conflict         Code = "conflict"          // the change does not fit the document's state
	Restricted       Code = "restricted"        // holders do not let their target be deleted
	FanoutLimit      Code = "fanout-limit"      // more derived changes than the model allows one write
	Unprocessable    Code = "unprocessable"     // well-formed, but breaks a rule of the model
	TooLarge         Code = "too-large"         // past a configured limit of size
	Gone             Code = "gone"              // a position the log no longer has
	UnsupportedMedia Code = "unsupported-media" // a content type this route does not read
	Timeout          Code = "timeout"           // not there within the time asked for
	KeyReused        Code = "key-reused"        // the Idempotency-Key was used for another request
	TooSlow          Code = "too-slow"          // the request did not arrive in time
	Busy             Code = "busy"              // more at once than is taken; try again
	Duplicate        Code = "duplicate"         // the log has an event of this Idempotency-Key already
	Unavailable      Code = "unavailable"       // cannot be answered now; try again
	OutcomeUnknown   Code = "outcome-unknown"   // sent to the log, and the log cannot be asked
	Internal         Code = "internal"          // a defect
)

// Error is what every package of this module returns for a failure a caller can act on.
// Message says what, where and what to do, and may be shown to anybody; Err is only logged.
type Error struct {
	Code    Code
	Message string
	// Current is the document's revision, set on Stale and Exists where it is known.
	Current Revision
	// Operation is the index of the transaction's operation at fault; nil outside one.
	Operation *int
	// Problems lists every mistake at once where there can be several (models, patches).
	Problems []Problem
	Err      error
}

// Problem is one mistake: Path says where (a model path or a JSON pointer), Detail what.
type Problem struct {
	Path   string `json:"path"`
	Detail string `json:"detail"`
}

func (e *Error) Error() string {
	s := string(e.Code) + ": " + e.Detail()
	for _, p := range e.Problems {
		s += "\n  " + p.Path + ": " + p.Detail
	}
	if e.Err != nil && !strings.Contains(s, e.Err.Error()) {
		s += ": " + e.Err.Error()
	}
	return s
}

// Detail returns the message, which names the operation at fault where there is one. It may be shown to anybody.
func (e *Error) Detail() string {
	if e.Operation == nil {
		return e.Message
	}
	return fmt.Sprintf("operation %d: %s", *e.Operation, e.Message)
}

// AtOperation returns err as the fault of a transaction's operation, by index.
func AtOperation(err error, index int) error {
	var e *Error
	if !errors.As(err, &e) {
		return err
	}
	at := *e
	at.Operation = &index
	return &at
}

// Unwrap returns the cause, or nil.
func (e *Error) Unwrap() error { return e.Err }

// Errorf makes an Error whose message is formatted as by fmt.Sprintf.
func Errorf(code Code, format string, args ...any) *Error {
	return &Error{Code: code, Message: fmt.Sprintf(format, args...)}
}

// Wrap is Errorf with a cause that is logged, not shown.
func Wrap(err error, code Code, format string, args ...any) *Error {
	return &Error{Code: code, Message: fmt.Sprintf(format, args...), Err: err}
}

// messageOf is the message of an Error, without its code.
func MessageOf(err error) string {
	var e *Error
	if errors.As(err, &e) {
		return e.Message
	}
	return err.Error()
}

// CodeOf returns the code of the first Error in err's chain, Internal where there is none,
// and "" for nil.
func CodeOf(err error) Code {
	if err == nil {
		return ""
	}
	var e *Error
	if errors.As(err, &e) {
		return e.Code
	}
	return Internal
}
