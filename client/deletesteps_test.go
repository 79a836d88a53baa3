package client_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/fanfold/fanfold/client"
	"github.com/fanfold/fanfold/tests/harness"
	"github.com/fanfold/fanfold/tests/suite"
)

// openPosts opens a store with a post that so many comments refer to, and a mark, which loses the reference.
func openPosts(t *testing.T, comments int) *harness.Store {
	s := harness.OpenTemp(t, `
collections:
  posts: {}
  comments: {relations: {post: {path: postId, to: posts, onDelete: cascade}}}
  marks: {relations: {post: {path: postId, to: posts, onDelete: unlink}}}
  holds: {relations: {comment: {path: commentId, to: comments, onDelete: restrict}}}
`)
	fillPosts(t, s, comments)
	return s
}

// fillPosts writes the documents of openPosts.
func fillPosts(t *testing.T, s *harness.Store, comments int) {
	lines := strings.Builder{}
	for i := range comments {
		fmt.Fprintf(&lines, `{"collection":"comments","doc":{"id":"%d","postId":"p"}}`+"\n", i)
	}
	lines.WriteString(`{"collection":"posts","doc":{"id":"p"}}` + "\n" + `{"collection":"marks","doc":{"id":"m","postId":"p"}}` + "\n")
	c := connect(t, s.URL, client.Options{})
	if r := must(c.Import(t.Context(), strings.NewReader(lines.String()), client.ImportOptions{}))(t); r.Refused > 0 {
		t.Fatalf("the import says %+v", r)
	}
}

// TestDeleteSteps: all steps of a delete are made, and each is told. An obstacle to a later step ends the delete with what was done, and
// the next call goes on.
func TestDeleteSteps(t *testing.T) {
	const comments = 2500
	s := openPosts(t, comments)
	posts := client.Collection[any](connect(t, s.URL, client.Options{}), "posts")
	if _, err := posts.Delete(t.Context(), "p"); !errors.Is(err, client.Unprocessable) {
		t.Fatalf("in one transaction: %v", err)
	}
	if sum, err := posts.DeleteSteps(t.Context(), "none", nil); !errors.Is(err, client.NotFound) || sum != (client.DeletedSteps{}) {
		t.Errorf("of a document that is not there: %+v, %v", sum, err)
	}
	first, err := posts.DeleteSteps(t.Context(), "p", func(sum client.DeletedSteps) {
		if sum.Steps == 1 {
			left, _, err := client.Collection[any](connect(t, s.URL, client.Options{}), "comments").ListPage(t.Context(), "", client.PageSize(1))
			if err != nil || len(left) == 0 {
				t.Fatalf("after a step %d comments are left, %v", len(left), err)
			}
			s.Put("holds", "h", fmt.Sprintf(`{"commentId":%q}`, left[0].ID))
		}
	})
	if !errors.Is(err, client.Restricted) || first.Done || first.Steps == 0 || first.Deleted == 0 || first.Deleted > comments {
		t.Fatalf("with what stands in the way: %+v, %v", first, err)
	}
	s.Delete("holds", "h")
	var told []client.DeletedSteps
	rest, err := posts.DeleteSteps(t.Context(), "p", func(sum client.DeletedSteps) { told = append(told, sum) })
	if err != nil || !rest.Done || first.Deleted+rest.Deleted != comments+1 || first.Changed+rest.Changed != 1 || len(told) != rest.Steps || told[len(told)-1] != rest || rest.Position == "" {
		t.Errorf("at last: %+v after %+v, told as %+v, %v", rest, first, told, err)
	}
	s.WantDoc("marks", "m", `{"id":"m"}`)
}

// TestDeleteStepsWithoutAnswers: a step whose answer is lost is made again, and where that was the last one the delete is done.
func TestDeleteStepsWithoutAnswers(t *testing.T) {
	suite.Concurrent(t)
	s := openPosts(t, 3)
	p := newProxy(t, s)
	posts := client.Collection[any](connect(t, p.url(), client.Options{}), "posts")
	p.dropAnswers(1)
	if sum, err := posts.DeleteSteps(t.Context(), "p", nil); err != nil || !sum.Done || sum.Steps != 0 {
		t.Errorf("the only answer is lost: %+v, %v", sum, err)
	}
	fillPosts(t, s, 1500)
	dropped := false
	sum, err := posts.DeleteSteps(t.Context(), "p", func(client.DeletedSteps) {
		if !dropped {
			dropped = true
			p.dropAnswers(1)
		}
	})
	if err != nil || !sum.Done || sum.Steps == 0 {
		t.Errorf("a later answer is lost: %+v, %v", sum, err)
	}
	if _, err := posts.Get(t.Context(), "p"); !errors.Is(err, client.NotFound) {
		t.Errorf("the post: %v", err)
	}
}
