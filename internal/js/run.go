package js

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math/bits"
	"runtime"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/fanfold/fanfold/internal/jsondoc"
)

// slice is how many steps a run takes until it looks whether its time is up, and lets other goroutines have the core. It is a tenth of a millisecond where
// wazero compiles. Go cannot interrupt compiled code: requests and the garbage collector wait until the slice ends.
const slice = 20_000

// run is one use of an instance. The functions that the engine imports find it in their context.
type run struct {
	ctx    context.Context
	caller context.Context
	in     *instance
	left   int64 // steps that the instance's counter has not been given
	budget int64
	now    time.Time
	host   Host
	mark   string
	most   int // bytes of the result; 0 for MaxResult
	log    []string
	logged int
	// refusals holds the errors that were thrown in the function, by the index that the JavaScript side has.
	refusals []*Error
	err      error // what ends the run
}

type runKey struct{}

// begin gives the instance its first slice.
func (r *run) begin(within, caller context.Context, in *instance) {
	r.ctx, r.caller, r.in, r.budget = context.WithValue(within, runKey{}, r), caller, in, r.left
	r.refill()
}

func (r *run) refill() {
	n := min(r.left, slice)
	r.left -= n
	r.in.counter.Set(uint64(n))
}

// used returns the steps that were taken.
func (r *run) used(in *instance) int64 {
	return min(r.budget-r.left-int64(in.counter.Get()), r.budget)
}

// goesOn gives the instance its next slice when the counter is below zero. It reports false where the run ends.
func (r *run) goesOn() bool {
	r.left += int64(r.in.counter.Get())
	if r.err == nil && r.left < 0 {
		r.err = limited(LimitSteps, "the function takes more than %d steps: do less in one call", r.budget)
	}
	if r.err == nil {
		r.err = r.timeUp()
	}
	if r.err != nil {
		r.left = max(r.left, 0)
		r.in.counter.Set(0)
		return false
	}
	r.refill()
	runtime.Gosched()
	return true
}

// end lets the run end with err at its next step.
func (r *run) end(err error) {
	if r.err == nil {
		r.err = err
	}
	r.left += int64(r.in.counter.Get()) + 1
	r.in.counter.Set(^uint64(0))
}

// timeUp returns what ends a run whose time is up, or whose caller has gone.
func (r *run) timeUp() error {
	if r.ctx.Err() == nil {
		return nil
	}
	if err := context.Cause(r.caller); err != nil {
		return err
	}
	return limited(LimitTime, "the function takes longer than %v: do less in one call", MaxTime)
}

// ended returns why an instance was ended by a trap.
func (r *run) ended(trap error) error {
	switch {
	case r.err != nil:
		return r.err
	case strings.Contains(trap.Error(), "stack overflow"): // wazero's own bound, above the engine's
		return description{Message: "stack overflow"}.thrown()
	default:
		return internal(trap)
	}
}

// asked answers a call of the function with the text that the JavaScript side reads. It is "" where the run ends.
func (r *run) asked(name string, arguments []byte) []byte {
	if err := r.timeUp(); err != nil {
		r.end(err)
		return nil
	}
	if name == "log" {
		r.logs(string(arguments))
		return []byte("vnull")
	}
	if r.host == nil {
		return r.refused(&Error{Kind: Refused, Code: "no-host", Message: "nothing answers ctx." + name + " here"})
	}
	arguments, ok := unmarked(arguments, r.mark)
	if err := jsondoc.Check(arguments, maxDepth+2); !ok || err != nil {
		return r.refused(&Error{Kind: Refused, Code: "invalid", Message: fmt.Sprintf("ctx.%s is given what is no document: %v", name, err)})
	}
	value, err := r.host(r.ctx, name, arguments)
	var refusal *Error
	switch {
	case errors.As(err, &refusal) && refusal.Kind == Refused:
		return r.refused(refusal)
	case err != nil:
		if r.timeUp() != nil {
			err = r.timeUp()
		}
		r.end(err)
		return nil
	case len(value) == 0:
		return []byte("vnull")
	case len(value) > MaxCall:
		r.end(limited(LimitCall, "the answer of ctx.%s has %d bytes; at most %d are taken: read less at once", name, len(value), MaxCall))
		return nil
	}
	if err := jsondoc.Check(value, 4*maxDepth); err != nil {
		r.end(internal(fmt.Errorf("the answer of ctx.%s is no JSON: %w", name, err)))
		return nil
	}
	return answer(value)
}

// refused returns the text by which the JavaScript side throws a refusal.
func (r *run) refused(e *Error) []byte {
	r.refusals = append(r.refusals, e)
	text, err := json.Marshal(map[string]any{"code": e.Code, "message": e.Message, "index": len(r.refusals) - 1})
	if err != nil {
		r.end(internal(err))
		return nil
	}
	return append([]byte("e"), text...)
}

// logs holds a line of the log, as much of it as MaxLog leaves room for.
func (r *run) logs(line string) {
	if room := MaxLog - r.logged; len(line)+1 > room {
		if room <= 1 {
			return
		}
		for room--; room > 0 && !utf8.RuneStart(line[room]); room-- {
		}
		line = line[:room]
		r.logged = MaxLog
	}
	r.logged += len(line) + 1
	r.log = append(r.log, line)
}

// text returns what the JavaScript side is given for an input, and the mark of numbers in it. The mark is not known to the function,
// and no document can have it.
func (in Input) text() (text []byte, mark string, err error) {
	arguments, caller := in.Arguments, in.Caller
	if len(arguments) == 0 {
		arguments = []byte("null")
	}
	if len(caller) == 0 {
		caller = []byte("null")
	}
	if err := jsondoc.Check(arguments, maxDepth); err != nil {
		return nil, "", &Error{Kind: Thrown, Message: "the arguments are no JSON value: " + err.Error()}
	}
	var nonce [12]byte
	rand.Read(nonce[:]) //nolint:errcheck // it never fails
	mark = hex.EncodeToString(nonce[:])
	text = fmt.Appendf(nil, `{"mark":"%s","now":%d,"seed":[%s],"caller":%s}`, mark, in.Now.UnixMilli(), seeds(in.Seed), jsondoc.Dense(caller))
	return append(append(text, '\n'), answer(arguments)...), mark, nil
}

// seeds returns four 32-bit numbers of a seed, as JSON: splitmix64's first two outputs.
func seeds(seed uint64) string {
	var out []byte
	for i := range 2 {
		seed += 0x9e3779b97f4a7c15
		z := (seed ^ seed>>30) * 0xbf58476d1ce4e5b9
		z = (z ^ z>>27) * 0x94d049bb133111eb
		z = bits.ReverseBytes64(z ^ z>>31)
		if i > 0 {
			out = append(out, ',')
		}
		out = strconv.AppendUint(out, z>>32, 10)
		out = strconv.AppendUint(append(out, ','), z&(1<<32-1), 10)
	}
	return string(out)
}

// outcome returns the result that the JavaScript side's text stands for, or the error.
func (r *run) outcome(text []byte) ([]byte, error) {
	if len(text) == 0 {
		return nil, &Error{Kind: Thrown, Message: "the function's promise never settles: nothing is left that could settle it"}
	}
	switch body := text[1:]; text[0] {
	case 'r':
		result, ok := unmarked(body, r.mark)
		if most := cmp.Or(r.most, MaxResult); len(result) > most {
			return nil, limited(LimitResult, "the result has %d bytes; at most %d are taken: return less", len(result), most)
		}
		if err := jsondoc.Check(result, maxDepth); !ok || err != nil {
			return nil, &Error{Kind: Thrown, Message: fmt.Sprintf("the result is no JSON value that is taken: %v", err)}
		}
		return result, nil
	case 'f':
		return nil, r.failure(body)
	case 'h':
		if i, err := strconv.Atoi(string(body)); err == nil && i >= 0 && i < len(r.refusals) {
			return nil, r.refusals[i]
		}
	case 'x':
		return nil, describe(body)
	}
	return nil, internal(errShape)
}

// describe returns the error that the description of what was thrown stands for.
func describe(text []byte) error {
	var d description
	if err := json.Unmarshal(text, &d); err != nil {
		return internal(err)
	}
	return d.thrown()
}

// failure returns the error of ctx.fail.
func (r *run) failure(text []byte) error {
	head, details, _ := bytes.Cut(text, []byte("\n"))
	e := &Error{Kind: Failed}
	if err := json.Unmarshal(head, e); err != nil {
		return internal(err)
	}
	if !codePattern.MatchString(e.Code) {
		return &Error{Kind: Thrown, Message: "ctx.fail takes a code of 1 to 64 of a-z, 0-9 and -"}
	}
	if len(details) == 0 {
		return e
	}
	details, ok := unmarked(details, r.mark)
	if len(details) > MaxDetails {
		return limited(LimitDetails, "the details of ctx.fail have %d bytes; at most %d are taken: say less", len(details), MaxDetails)
	}
	if err := jsondoc.Check(details, maxDepth); !ok || err != nil {
		return &Error{Kind: Thrown, Message: fmt.Sprintf("the details of ctx.fail are no JSON value that is taken: %v", err)}
	}
	e.Details = details
	return e
}
