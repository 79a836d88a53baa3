package client

import (
	"encoding/json"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/internal/wire"
)

// Code classifies an Error: it is the last part of the problem's type. A Code is also an error, so that
// errors.Is(err, NotFound) tells whether the server answered with this code.
type Code string

// Error returns the code.
func (c Code) Error() string { return string(c) }

// The codes of the server's problems. They are stable.
const (
	Invalid          Code = "invalid"            // the request cannot be understood
	NotFound         Code = "not-found"          // no such document, route or relation
	Exists           Code = "exists"             // create-only on a document that exists
	ConditionFailed  Code = "condition-failed"   // a condition over the document's content does not hold
	CheckFailed      Code = "check-failed"       // a check of the model would be false after the write
	Stale            Code = "stale"              // the condition does not hold: the document is at another revision
	Conflict         Code = "conflict"           // the change does not fit the document's state
	Restricted       Code = "restricted"         // other documents do not let this one be deleted
	FanoutLimit      Code = "fanout-limit"       // more derived changes than the model allows one write
	Unprocessable    Code = "unprocessable"      // well-formed, but breaks a rule of the model
	TooLarge         Code = "too-large"          // past a limit of size
	Forbidden        Code = "forbidden"          // this may not be asked from there, or by whoever asks
	ReadOnly         Code = "read-only"          // the server has a read model of one position alone
	Unauthenticated  Code = "unauthenticated"    // no key, or none that works
	RightsStale      Code = "rights-stale"       // the node does not know of late who may do what: another one may
	LogDamaged       Code = "log-damaged"        // the log lacks events that were acknowledged
	Gone             Code = "gone"               // a position that the log no longer has
	PositionGone     Code = "position-gone"      // the same, with the oldest usable position in the member oldest
	StoreChanged     Code = "store-changed"      // the position is another store's
	RightsChanged    Code = "rights-changed"     // the position was given under other rights: read from 0, and drop what does not come
	ModelRemoves     Code = "model-removes"      // a model would take rules or guards away
	LeaseLost        Code = "lease-lost"         // another member has what was leased
	UnsupportedMedia Code = "unsupported-media"  // a content type that the route does not read
	Timeout          Code = "timeout"            // not there within the time asked for
	TakesLong        Code = "takes-long"         // more work than the server does while a client waits for it
	NeedsIndex       Code = "needs-index"        // a query would look at more than it may: Error.Suggest has the index that is missing
	KeyReused        Code = "key-reused"         // the Idempotency-Key was used for another request
	MethodNotAllowed Code = "method-not-allowed" // the route does not take the method
	TooSlow          Code = "too-slow"           // the request did not arrive in time
	Busy             Code = "busy"               // more at once than the server takes
	Duplicate        Code = "duplicate"          // the log has an event of this Idempotency-Key already
	Unavailable      Code = "unavailable"        // the server cannot answer now, and has written nothing
	CatchingUp       Code = "catching-up"        // the node has just started, and does not show what it showed before
	Lagging          Code = "lagging"            // the node lags too much for the request
	OutcomeUnknown   Code = "outcome-unknown"    // it is not known whether the write was stored
	Internal         Code = "internal"           // a defect of the server
	FunctionFailed   Code = "function-failed"    // a function of the model refuses: Error.Function has its code
	FunctionError    Code = "function-error"     // a function of the model has a mistake, at Line and Column of its source
	FunctionLimit    Code = "function-limit"     // a function of the model passes a bound: Error.Function has its name

	// UnknownCollection is for a list of a collection that the model does not declare and that never held a document.
	UnknownCollection Code = "unknown-collection"
)

// The codes that this package gives by itself.
const (
	NoAnswer    Code = "no-answer"    // the store did not answer: the connection failed, or something in between answered
	NotModified Code = "not-modified" // the document is the one that IfNoneMatch names
	AnswerLimit Code = "answer-limit" // the answer is longer than Options.MaxAnswer
	BadAnswer   Code = "bad-answer"   // the answer is not one that this package, or the type of the documents, takes
)

// Error describes a request that failed. Its zero fields are what the server did not say.
type Error struct {
	Status   int    // of the HTTP answer; 0 where there was none
	Code     Code   // of the problem
	Title    string // of the problem
	Detail   string // what failed, where, and what to do about it
	Problems []Problem
	// Revision and ETag are the document's as it is, if a condition does not hold.
	Revision uint64
	ETag     string
	// Operation is the index of the transaction's operation at fault, from 0; nil where none is.
	Operation *int
	// Line and Column say where a body is not JSON, or a model not YAML: from 1, columns in code points; 0 of any other problem.
	// With FunctionError they are of the function's source.
	Line, Column int
	// Function says which function of the model is at fault; its fields are zero where none is.
	Function FunctionFault
	// Suggest is a merge patch for PatchModel that declares the index which a query needs, with NeedsIndex; nil where no index
	// would help.
	Suggest json.RawMessage
	// RetryAfter is how long the server asks to wait.
	RetryAfter time.Duration
	// Members has all members of the problem as JSON, those included that have no field here.
	Members map[string]json.RawMessage
	Err     error // the cause, where the connection failed

	unsent bool // the request has not reached the server
}

// Problem describes one mistake of several. Path says where it is: a model path, a JSON pointer or a document.
type Problem = fanfold.Problem

// FunctionFault says which function of the model a problem comes from: Function was called, Trigger ran for a write. Code and Details are what
// it gave to ctx.fail, and Limit names the bound that it passed.
type FunctionFault = wire.FunctionFault

// Error returns the code, the detail and the problems.
func (e *Error) Error() string {
	s := string(e.Code) + ": " + e.Detail
	for _, p := range e.Problems {
		s += "\n  " + p.String()
	}
	return s
}

// Oldest returns the position from which to go on, with Gone, PositionGone, StoreChanged and RightsChanged; "" where the server says none.
func (e *Error) Oldest() string {
	var at string
	if json.Unmarshal(e.Members["oldest"], &at) != nil || !positionRE.MatchString(at) {
		return ""
	}
	return at
}

// Unwrap returns the cause, nil where there is none.
func (e *Error) Unwrap() error { return e.Err }

// Is tells whether target is the error's code.
func (e *Error) Is(target error) bool {
	code, ok := target.(Code) //nolint:errorlint // target is what errors.Is was asked for, not a chain
	return ok && code == e.Code
}

const problemPrefix = "urn:fanfold:problem:"

// maxProblem bounds how much of a problem is read, in bytes.
const maxProblem = 1 << 20

// errorOf returns the error that an answer stands for, and reads its body.
func errorOf(resp *http.Response) *Error {
	text, err := io.ReadAll(io.LimitReader(resp.Body, maxProblem))
	kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	if err == nil && kind == "application/problem+json" {
		if e, ok := parseProblem(text); ok {
			e.Status, e.ETag = resp.StatusCode, resp.Header.Get("ETag")
			if seconds, err := strconv.Atoi(resp.Header.Get("Retry-After")); err == nil && seconds > 0 {
				e.RetryAfter = time.Duration(seconds) * time.Second
			}
			return e
		}
	}
	return &Error{Status: resp.StatusCode, Code: NoAnswer, Err: err,
		Detail: fmt.Sprintf("the server answered %s: %s", resp.Status, text[:min(len(text), 1000)])}
}

// parseProblem reads a problem document (RFC 9457). ok is false where the text is none of this store's.
func parseProblem(text []byte) (e *Error, ok bool) {
	var p wire.Problem
	var members map[string]json.RawMessage
	if json.Unmarshal(text, &p) != nil || json.Unmarshal(text, &members) != nil {
		return nil, false //nolint:nilerr // then it is somebody else's
	}
	code, ours := strings.CutPrefix(p.Type, problemPrefix)
	if !ours {
		return nil, false
	}
	return &Error{Code: Code(code), Title: p.Title, Detail: p.Detail, Problems: p.Problems, Revision: uint64(p.Revision),
		Operation: p.Operation, Line: p.Line, Column: p.Column, Function: p.FunctionFault, Suggest: p.Suggest, Members: members}, true
}
