package writer

import (
	"context"
	"testing"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/internal/jsondoc"
)

// TestPatchOfAClientThatHasGone tries patches for a request that has ended: they are not stored.
func TestPatchOfAClientThatHasGone(t *testing.T) {
	key := fanfold.Key{Collection: "docs", ID: "d"}
	doc := &fanfold.Document{Key: key, Revision: 1, Body: []byte(`{"id":"d"}`)}
	w := &Writer{opt: Options{MaxBody: 100}}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	op := &Operation{Kind: Patch, Key: key, Content: []byte(`[{"op":"add","path":"/a","value":1}]`), event: &fanfold.Event{Kind: fanfold.KindPatch, Key: key, Patch: fanfold.JSONPatch}}
	patched, err := w.tryPatch(ctx, op, doc, &jsondoc.Budget{Left: patchWork})
	if fanfold.CodeOf(err) != fanfold.Unavailable || patched != nil {
		t.Errorf("the patch gives %s, %v", patched, err)
	}
}
