package js

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// Kind says why a function did not end well.
type Kind string

// The kinds of errors.
const (
	Failed  Kind = "failed"  // the function called ctx.fail
	Thrown  Kind = "thrown"  // the source has a mistake, or the function threw and did not catch
	Limited Kind = "limited" // a bound ended the run
	Refused Kind = "refused" // the host refuses a call; the function may catch it
)

// Bounds by which a run ends: the Code of an Error of Kind Limited.
const (
	LimitSteps     = "steps"
	LimitMemory    = "memory"
	LimitStack     = "stack"
	LimitTime      = "time"
	LimitResult    = "result"
	LimitDetails   = "details"
	LimitSource    = "source"
	LimitArguments = "arguments"
	LimitCall      = "call" // what a call of the host gives or answers
)

// Error is how a function, or the loading of a source, ends other than well.
type Error struct {
	Kind    Kind
	Code    string // of ctx.fail, of a refusal, or the bound
	Message string
	Details []byte // JSON that ctx.fail was given; nil for none
	// Line and Column are where the source threw or cannot be read. They count from 1, and are 0 where that is not known.
	Line, Column int
}

// Error returns the message, with its place where there is one.
func (e *Error) Error() string {
	if e.Line > 0 {
		return fmt.Sprintf("line %d, column %d: %s", e.Line, e.Column, e.Message)
	}
	return e.Message
}

func limited(limit, message string, args ...any) *Error {
	return &Error{Kind: Limited, Code: limit, Message: fmt.Sprintf(message, args...)}
}

// sourceName is the name that the engine's backtraces have for a source.
const sourceName = "function.js"

var (
	framePattern = regexp.MustCompile(`(?m)^\s+at (?:.*\()?` + regexp.QuoteMeta(sourceName) + `:(\d+):(\d+)\)?$`)
	codePattern  = regexp.MustCompile(`^[a-z0-9-]{1,64}$`)
)

// description is what the JavaScript side says of what was thrown.
type description struct{ Name, Message, Stack string }

// thrown returns the error that a description stands for. A bound that the engine itself holds is one of Kind Limited.
func (d description) thrown() *Error {
	switch {
	case d.Name == "InternalError" && d.Message == "out of memory":
		return limited(LimitMemory, "the function needs more than %d MiB of memory: keep less at once", maxHeap>>20)
	case d.Message == "stack overflow" || strings.HasPrefix(d.Message, "Maximum call stack size exceeded"):
		return limited(LimitStack, "the function needs more than %d KiB of stack: recurse less deeply", maxStack>>10)
	}
	e := &Error{Kind: Thrown, Message: d.Message}
	if d.Name != "" && d.Name != "Error" {
		e.Message = strings.TrimSuffix(d.Name+": "+d.Message, ": ")
	}
	if e.Message == "" {
		e.Message = "Error"
	}
	if m := framePattern.FindStringSubmatch(d.Stack); m != nil {
		e.Line, _ = strconv.Atoi(m[1])   //nolint:errcheck // digits; too many of them give the largest int
		e.Column, _ = strconv.Atoi(m[2]) //nolint:errcheck // as above
	}
	return e
}
