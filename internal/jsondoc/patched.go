package jsondoc

import (
	"context"
	"slices"
)

// Patched returns the document that a patch makes of doc: a merge patch (RFC 7396) where merges is set, a JSON Patch (RFC
// 6902) otherwise. Both must be JSON text that was checked. It is for patches that were decided already, and takes whatever
// work they need. The error is a *PatchError.
func Patched(doc, patch []byte, merges bool) ([]byte, error) {
	if merges {
		return Merge(doc, patch), nil
	}
	ops, err := ParsePatch(patch)
	if err != nil {
		return nil, err
	}
	return Apply(doc, ops)
}

// PatchedWithin does what Patched does within bounds, for a patch that somebody asks for. It returns the patch to be stored, too: one without
// increments. The error is ctx's, or a *PatchError.
func PatchedWithin(ctx context.Context, doc, patch []byte, merges bool, bounds Bounds) (patched, stored []byte, err error) {
	if merges {
		if !bounds.Budget.Spend(int64(len(doc) + len(patch))) {
			return nil, nil, &PatchError{Index: -1, Costly: true, Reason: TooMuchWork}
		}
		return Merge(doc, patch), patch, nil
	}
	ops, err := ParseRequest(patch)
	if err != nil {
		return nil, nil, err
	}
	increments := slices.ContainsFunc(ops, func(op Operation) bool { return op.Op == "increment" })
	if patched, err = ApplyWithin(ctx, doc, ops, bounds); err != nil {
		return nil, nil, err
	}
	if increments {
		patch = textOf(ops)
	}
	return patched, patch, nil
}
