package query

import (
	"errors"
	"fmt"
	"time"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/internal/expr"
)

// Bounds of a request. Past them it is Invalid.
const (
	MaxLimit   = 1000    // documents or groups on a page
	MaxSort    = 8       // entries of sort
	MaxGroup   = 4       // entries of group
	MaxCompute = 16      // entries of compute
	MaxScan    = 100_000 // documents that a request may ask to be looked at
	MaxCursor  = 16 << 10
)

// DefaultScan is how many documents a request looks at, where it says nothing else.
const DefaultScan = 10_000

// LightScan is how many documents a request looks at before it asks Request.Heavy.
const LightScan = 1000

// lightTime is how long a request works before it asks Request.Heavy, however few documents it looks at. turnTime is how long a turn of
// a heavy one lasts.
const (
	lightTime = 50 * time.Millisecond
	turnTime  = time.Millisecond
)

// work bounds what is done for one request. Past it, it needs an index, or its page ends early.
type work struct {
	entries int64 // of indexes
	time    time.Duration
	memory  int // bytes of keys and values in a sort or a grouping
	groups  int
	cost    int // of the filter, and of the expressions in sort, group and compute, on all documents together
}

// maxEntries is how many entries of indexes a request looks at.
const maxEntries = 1_000_000

// allowed is the work that is done for each request.
var allowed = work{entries: maxEntries, time: 5 * time.Second, memory: 32 << 20, groups: 10_000, cost: expr.MaxCost}

// maxPage is how many bytes of groups end a page of them.
const maxPage = 16 << 20

// ErrHeavy is the error of Run where Request.Heavy returned false. Nothing that was shown is valid.
var ErrHeavy = errors.New("query: too many queries look at many documents")

// mebibytes tells a size.
func mebibytes(bytes int) string { return fmt.Sprintf("%d MiB", bytes>>20) }

// NeedsIndex is the error of a request that an index would have to serve, as things are: it passed a bound of the work. It
// wraps an Error with the code of that name.
type NeedsIndex struct {
	Suggest RawPatch // a merge patch for the model, after which the request is answered; nil where there is none
	Line    string   // the line of YAML to add to the model; "" without Suggest
	Why     string   // which bound was passed, and what helps
	Plan    *Plan    // what was done
}

// Error returns what failed, and what to do about it.
func (e *NeedsIndex) Error() string {
	if e.Line == "" {
		return e.Why
	}
	return fmt.Sprintf("%s. An index would serve this request; add to the collection's indexes in the model: %s", e.Why, e.Line)
}

// Unwrap returns the error by its code.
func (e *NeedsIndex) Unwrap() error { return fanfold.Errorf(fanfold.NeedsIndex, "%s", e.Error()) }
