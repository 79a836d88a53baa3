package fanfold

import (
	"errors"
	"fmt"
	"strings"
)

// Code classifies an error. The API picks the HTTP status and the problem type by it.
type Code string

// The codes an Error carries. They are stable: problem types are made of them.
const (
	Invalid          Code = "invalid"            // the request cannot be understood
	NotFound         Code = "not-found"          // no such document, route or relation
	Exists           Code = "exists"             // create-only on a document that exists
	Stale            Code = "stale"              // the revision asked for is not the current one
	ConditionFailed  Code = "condition-failed"   // a condition over the document's content is not met
	CheckFailed      Code = "check-failed"       // a check of the model would be false after the write
	Conflict         Code = "conflict"           // the change does not fit the document's state
	Restricted       Code = "restricted"         // holders do not let their target be deleted
	FanoutLimit      Code = "fanout-limit"       // more derived changes than the model allows one write
	Unprocessable    Code = "unprocessable"      // well-formed, but breaks a rule of the model
	TooLarge         Code = "too-large"          // past a configured limit of size
	Forbidden        Code = "forbidden"          // this may not be asked from there, or by whoever asks
	ReadOnly         Code = "read-only"          // the server has a read model of one position alone
	Unauthenticated  Code = "unauthenticated"    // no key, or none that works
	RightsStale      Code = "rights-stale"       // the node does not know of late who may do what
	LogDamaged       Code = "log-damaged"        // the log lacks events that were acknowledged
	StoreChanged     Code = "store-changed"      // a position of another store
	PositionGone     Code = "position-gone"      // changes after the position are no longer kept
	RightsChanged    Code = "rights-changed"     // a position that was given under other rights to single documents
	UnsupportedMedia Code = "unsupported-media"  // a content type this route does not read
	LeaseLost        Code = "lease-lost"         // the partition's lease is somebody else's
	ModelRemoves     Code = "model-removes"      // a model would take rules or guards away, and nobody said that it may
	Timeout          Code = "timeout"            // not there within the time asked for
	TakesLong        Code = "takes-long"         // more work than is done while a client waits for it
	NeedsIndex       Code = "needs-index"        // a query would look at more than it may: an index is missing
	KeyReused        Code = "key-reused"         // the Idempotency-Key was used for another request
	MethodNotAllowed Code = "method-not-allowed" // the route does not take the method
	TooSlow          Code = "too-slow"           // the request did not arrive in time
	Busy             Code = "busy"               // more at once than is taken; try again
	Duplicate        Code = "duplicate"          // the log has an event of this Idempotency-Key already
	Unavailable      Code = "unavailable"        // cannot be answered now; try again
	CatchingUp       Code = "catching-up"        // the node has not reached the log's end of its start yet
	Lagging          Code = "lagging"            // the node lags too much for what is asked
	OutcomeUnknown   Code = "outcome-unknown"    // sent to the log, and the log cannot be asked
	Internal         Code = "internal"           // a defect
	FunctionFailed   Code = "function-failed"    // a function of the model called ctx.fail
	FunctionError    Code = "function-error"     // a function of the model threw an exception
	FunctionLimit    Code = "function-limit"     // a function of the model passed a bound

	// UnknownCollection is for a list of a collection that the model does not declare and that never held a document. It is
	// also for a write to a collection that a closed model does not declare, or whose name the model does not admit.
	UnknownCollection Code = "unknown-collection"
)

// Error describes a failure that a caller can act on. Every package of this module returns it. Message says what
// failed, where, and what to do about it, and may be shown to anybody who may read the documents in About; Err is only logged.
type Error struct {
	Code    Code
	Message string
	// Current holds the document's revision, on Stale and Exists where it is known.
	Current Revision
	// Operation holds the index of the transaction's operation at fault, from 0; nil where none is.
	Operation *int
	// Line and Column say where a body is not JSON, a model not YAML, or a function at fault. They count from 1, columns in code points, and are 0 for
	// any other error.
	Line, Column int
	// Oldest holds the oldest position from which the feed can be read, on StoreChanged, PositionGone and RightsChanged.
	Oldest *Bookmark
	// Problems lists all mistakes where there can be several, as in models and patches.
	Problems []Problem
	// About lists the documents that Message tells of besides those that the request names; keys without an ID are collections whose
	// documents it counts. Whoever may not read all of them is told Discreet in place of Message, or no more than that there are
	// such documents, where it is "".
	About    []Key
	Discreet string
	Function *FunctionFault // says which function or trigger is at fault; nil for none. Line and Column are of its source then
	Err      error
}

// FunctionFault says of an error which function it comes from.
type FunctionFault struct {
	Function string // that was called; "" where a write of a client has fired the trigger
	Trigger  string // that ran for a write; "" for none
	Code     string // that it gave to ctx.fail
	Details  []byte // JSON that it gave to ctx.fail; nil for none
	Limit    string // the bound that it passed
}

// Problem describes one mistake. Path says where it is, as a model path, a JSON pointer or a document; Detail says what.
type Problem struct {
	Path   string `json:"path" doc:"A path of the model, or a JSON pointer."`
	Detail string `json:"detail"`
	Line   int    `json:"line,omitempty" minimum:"1" doc:"Of a model that was sent as YAML: the line of the member that the problem is about. Of a mistake in a function's source: the line of it in the YAML, or in the source of a model that was sent as JSON."`
	Column int    `json:"column,omitempty" minimum:"1" doc:"With line: the column, in Unicode code points."`
	// Key is the document at Path, and Target another one that Detail names; zero for none. Without an ID, Key is a collection whose
	// documents Detail counts. Whoever may not read them is not told.
	Key    Key `json:"-"`
	Target Key `json:"-"`
}

// String returns the place and the detail.
func (p Problem) String() string {
	s := strings.TrimPrefix(p.Path+": ", ": ") + p.Detail
	if p.Line > 0 {
		s = fmt.Sprintf("line %d, column %d: %s", p.Line, p.Column, s)
	}
	return s
}

// Error returns everything that the error says, its cause included. It is meant for logs.
func (e *Error) Error() string {
	s := string(e.Code) + ": " + e.Detail()
	for _, p := range e.Problems {
		s += "\n  " + p.String()
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

// AtOperation returns a copy of err whose Operation is index. It returns err itself where that is no Error.
func AtOperation(err error, index int) error {
	var e *Error
	if !errors.As(err, &e) {
		return err
	}
	at := *e
	at.Operation = &index
	return &at
}

// Unwrap returns the cause, nil where there is none.
func (e *Error) Unwrap() error { return e.Err }

// Errorf returns an Error with a message that is formatted as by fmt.Sprintf.
func Errorf(code Code, format string, args ...any) *Error {
	return &Error{Code: code, Message: fmt.Sprintf(format, args...)}
}

// Wrap returns an Error as Errorf does, with a cause that is logged and not shown.
func Wrap(err error, code Code, format string, args ...any) *Error {
	return &Error{Code: code, Message: fmt.Sprintf(format, args...), Err: err}
}

// MessageOf returns the message of the first Error in err's chain, without its code, and err's own text where there
// is none.
func MessageOf(err error) string {
	var e *Error
	if errors.As(err, &e) {
		return e.Message
	}
	return err.Error()
}

// CodeOf returns the code of the first Error in err's chain, Internal where there is none, and "" for nil.
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
