package model_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/fanfold/fanfold/tests/harness"
	"github.com/fanfold/fanfold/tests/suite"
)

const deleteRaceModel = `
collections:
  posts: {}
  comments: {relations: {post: {path: post, to: posts, onDelete: cascade}}}
  likes: {relations: {comment: {path: comment, to: comments, onDelete: cascade}}}
  marks: {relations: {posts: {path: "posts[]", to: posts, onDelete: unlink}}}
  pins: {relations: {post: {path: post, to: posts, onDelete: restrict}}}
  feeds: {derive: {of: {copy: source, value: doc.post}}, relations: {source: {path: source, to: sources}, post: {path: of, to: posts, onDelete: cascade}}}
  sources: {}
`

// TestDeletesMissNoHolder: holders come at the moment at which their target is deleted, on the same node and on another. A holder that stands in the log
// before the delete goes with it, loses its reference, or restricts it, and has done so once the delete is answered.
func TestDeletesMissNoHolder(t *testing.T) {
	suite.Concurrent(t)
	for _, replicas := range []int{embedded, 1, 3} {
		t.Run(strconv.Itoa(replicas), func(t *testing.T) {
			nodes := cluster(t, replicas, 2)
			nodes[0].Model(deleteRaceModel)
			nodes[1].CatchUp()
			const lanes = 3
			var wg sync.WaitGroup
			missed := make([]int, lanes)
			for lane := range lanes {
				wg.Go(func() {
					for i := range suite.Amount(12, 40) {
						missed[lane] += deleteRace(t, nodes, fmt.Sprintf("%d-%d", lane, i))
					}
				})
			}
			wg.Wait()
			for _, n := range missed {
				if n > 0 {
					t.Errorf("holders that stand before the delete and remain, by lane: %v", missed)
					break
				}
			}
			nodes[0].CatchUp()
			nodes[1].CatchUp()
			nodes[0].WantSameDigest(nodes[1])
		})
	}
}

// deleteRace deletes a post beside writes of its holders, and returns how many of those the delete has missed.
func deleteRace(t *testing.T, nodes []*harness.Store, id string) (missed int) {
	want := func(n int, method, path, body string) *harness.Response {
		r, err := nodes[n].Do(method, path, []byte(body), "Content-Type", map[bool]string{true: "application/merge-patch+json", false: "application/json"}[method == http.MethodPatch])
		if err != nil || r.Status >= http.StatusMultipleChoices && r.Status != http.StatusConflict && r.Status != http.StatusNotFound {
			t.Errorf("%s %s: %v %d %s", method, path, err, r.Status, r.Body)
		}
		return r
	}
	want(0, http.MethodPut, "/v1/posts/"+id, "{}")
	want(0, http.MethodPut, "/v1/comments/"+id+"-0", fmt.Sprintf(`{"post":%q}`, id))
	want(0, http.MethodPut, "/v1/comments/"+id+"-m", `{"n":1}`)
	holders := map[string]string{
		"/v1/comments/" + id + "-1": fmt.Sprintf(`{"post":%q}`, id),
		"/v1/comments/" + id + "-2": fmt.Sprintf(`{"post":%q,"n":2}`, id),
		"/v1/likes/" + id:           fmt.Sprintf(`{"comment":"%s-0"}`, id),
		"/v1/marks/" + id:           fmt.Sprintf(`{"posts":[%q,"else"]}`, id),
	}
	if nodes[0] == nodes[1] && id[len(id)-1]%4 == 0 { // of other nodes, only a strict relation holds one
		holders["/v1/pins/"+id] = fmt.Sprintf(`{"post":%q}`, id)
	}
	var wg sync.WaitGroup
	node := 0
	for path, body := range holders {
		on := node % 2
		wg.Go(func() { want(on, http.MethodPut, path, body) })
		node++
	}
	wg.Go(func() { want(1, http.MethodPatch, "/v1/comments/"+id+"-m", fmt.Sprintf(`{"post":%q}`, id)) })
	wg.Go(func() {
		tx := fmt.Sprintf(`{"operations":[{"op":"put","collection":"comments","id":"%s-t","body":{"post":%q}}]}`, id, id)
		want(0, http.MethodPost, "/v1/_transactions", tx)
	})
	var deleted *harness.Response
	wg.Go(func() { deleted = want(0, http.MethodDelete, "/v1/posts/"+id, "") })
	wg.Wait()
	if deleted == nil || deleted.Status != http.StatusNoContent {
		return 0
	}
	at := sequenceOf(deleted.Header.Get("Fanfold-Position"))
	for _, suffix := range []string{"0", "m", "1", "2", "t"} {
		holders["/v1/comments/"+id+"-"+suffix] = ""
	}
	for path := range holders {
		r := want(0, http.MethodGet, path+"?consistency=strong", "")
		var doc struct {
			Post, Comment string
			Posts         []string
		}
		if r.Status != http.StatusOK || json.Unmarshal(r.Body, &doc) != nil {
			continue
		}
		refers := doc.Post == id || doc.Comment == id+"-0" || len(doc.Posts) > 0 && doc.Posts[0] == id
		if refers && sequenceOf(r.Header.Get("Fanfold-Revision")) < at {
			t.Logf("%s missed: revision %s, the delete at %d", path, r.Header.Get("Fanfold-Revision"), at)
			missed++
		}
	}
	return missed
}

// sequenceOf returns the sequence with which a position or a revision begins.
func sequenceOf(text string) int {
	digits, _, _ := strings.Cut(text, "-")
	n, err := strconv.Atoi(strings.Trim(digits, `"`))
	if err != nil {
		panic(fmt.Sprintf("%q: %v", text, err))
	}
	return n
}
