package jsondoc

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// maxPatched bounds what copy operations can make of a document, in bytes.
const maxPatched = 64 << 20

// MaxPatchTokens bounds the tokens of a path of a patch that is decided: no document that is taken is nested deeper.
const MaxPatchTokens = 1000

// Apply returns doc with a JSON Patch applied; what it does not touch keeps its bytes. doc must be JSON: it may
// panic otherwise. It takes whatever work the patch needs: it is for patches that were decided already. The error is a
// *PatchError, and Large where the document would grow past 64 MiB.
func Apply(doc []byte, ops []Operation) ([]byte, error) {
	return newPatcher(doc).patch(context.Background(), ops)
}

// Bounds bounds what applying a JSON Patch may take.
type Bounds struct {
	Size   int     // of the document that it makes, in bytes
	Budget *Budget // of work, which patches may share
}

// Budget is how much work patches may take: Left is in bytes of JSON text that are read, compared or written.
type Budget struct{ Left int64 }

// Spend takes work from the budget. It is false, and the budget is spent, where there is not as much left.
func (b *Budget) Spend(n int64) bool {
	b.Left -= n
	return b.Left >= 0
}

// ApplyWithin does what Apply does within bounds: it is for patches that are yet to be decided. It ends between two
// operations once ctx does. The error is ctx's or a *PatchError, Large where the document would be too large, and Costly
// where the budget is spent.
func ApplyWithin(ctx context.Context, doc []byte, ops []Operation, bounds Bounds) ([]byte, error) {
	p := newPatcher(doc)
	p.limit, p.maxResult = max(bounds.Budget.Left, 0)+1, bounds.Size
	for i, op := range ops {
		if max(len(op.Path), len(op.From)) > MaxPatchTokens {
			return nil, patchError(i, op, fmt.Errorf("a path has at most %d names and indexes", MaxPatchTokens))
		}
		if op.ambiguousMove() {
			return nil, patchError(i, op, errors.New("from and path differ in a / that belongs to a name, which a move does not tell apart: use copy and remove"))
		}
	}
	defer func() { bounds.Budget.Spend(p.used) }()
	return p.patch(ctx, ops)
}

// ambiguousMove tells whether a move's places are different ones that the fold takes for one, or for one inside the other:
// ["a/b", "c"] and ["a", "b/c"]. Events that are stored keep that meaning, so no more of them are.
func (op Operation) ambiguousMove() bool {
	if op.Op != "move" || len(op.Path) < len(op.From) {
		return false
	}
	path := op.Path[:len(op.From)]
	return strings.Join(path, "/") == strings.Join(op.From, "/") && !slices.Equal(path, op.From)
}

// patchError returns the error of an operation.
func patchError(index int, op Operation, err error) *PatchError {
	path := op.Path[:min(len(op.Path), MaxPatchTokens)]
	return &PatchError{Index: index, Path: "/" + strings.Join(path, "/"), Reason: err.Error(),
		Large: errors.Is(err, errTooLarge), Costly: errors.Is(err, errTooMuchWork), Unfit: errors.Is(err, errUnfit), Passed: errors.Is(err, errPassed)}
}

// meter counts the work that a patch takes, in bytes that are read or written and pieces that are looked at.
type meter struct {
	used, limit int64 // limit is 0 for none
}

// TooMuchWork says why a patch is Costly, and what to do.
const TooMuchWork = "it would take more work than a patch, or all patches of a transaction, may take: split it, or put the whole document"

var errTooMuchWork = errors.New(TooMuchWork)

// charge adds work. It fails where that reaches the limit.
func (m *meter) charge(n int) error {
	m.used += int64(n)
	if m.limit > 0 && m.used >= m.limit {
		return errTooMuchWork
	}
	return nil
}

func newPatcher(doc []byte) *patcher { return &patcher{root: newPatchValue(doc), size: len(doc)} }

var errTooLarge = errors.New("the document grows too large")

// patch applies the operations and returns the document that they make.
func (p *patcher) patch(ctx context.Context, ops []Operation) ([]byte, error) {
	for i, op := range ops {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		err := p.apply(&ops[i])
		if err == nil && p.size > maxPatched {
			err = fmt.Errorf("%w: past %d bytes", errTooLarge, maxPatched)
		}
		if err != nil {
			return nil, patchError(i, op, err)
		}
	}
	if p.maxResult > 0 && p.root.length > p.maxResult {
		return nil, &PatchError{Index: -1, Large: true,
			Reason: fmt.Sprintf("the patched document has %d bytes; at most %d are taken", p.root.length, p.maxResult)}
	}
	if err := p.charge(p.root.length); err != nil {
		return nil, &PatchError{Index: -1, Costly: true, Reason: err.Error()}
	}
	return p.root.append(make([]byte, 0, p.root.length)), nil
}
