package writer

import (
	"errors"
	"slices"

	"github.com/fanfold/fanfold"
)

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
