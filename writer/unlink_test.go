package writer

import (
	"fmt"
	"strings"
	"testing"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/internal/jsondoc"
	"github.com/fanfold/fanfold/model"
)

// TestEditsOfManyLargeDocuments edits more large documents than are held, each by two references: those that are no longer held
// are read again, and give the same edit.
func TestEditsOfManyLargeDocuments(t *testing.T) {
	path, err := model.ParsePath("refs[]")
	if err != nil {
		t.Fatal(err)
	}
	rel := &model.Relation{Path: path, To: "targets", OnDelete: model.Unlink}
	body := []byte(`{"refs":["a","b","c"],"text":"` + strings.Repeat("x", maxCachedTrees/4) + `"}`)
	trees, reads := newTreeCache(), 0
	edits := make([]*edit, 10)
	for i := range edits {
		doc := &fanfold.Document{Key: fanfold.Key{Collection: "docs", ID: fmt.Sprint(i)}, Revision: 7, Body: body}
		edits[i] = newEdit(doc, trees, func() (*fanfold.Document, error) { reads++; return doc, nil })
	}
	for _, target := range []string{"c", "a"} {
		for _, e := range edits {
			if err := e.drop(rel, fanfold.Key{Collection: "targets", ID: target}); err != nil {
				t.Fatal(err)
			}
			if held := len(trees.trees); held > 4 || held != len(trees.order) {
				t.Fatalf("%d trees are held", held)
			}
		}
	}
	if reads == 0 {
		t.Error("nothing was read again")
	}
	for _, e := range edits {
		got, err := e.result()
		if tree := jsondoc.MustParse(got); err != nil || string(tree.Raw(tree.Member(jsondoc.Root, "refs"))) != `["b"]` {
			t.Errorf("the edit of %s leaves %.30s, %v", e.key, got, err)
		}
	}
}
