package feed_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/fanfold/fanfold/tests/harness"
)

// TestErasureOfWhatNeverMatched: after an erasure a filter that is false of any document of a collection tells of none that leaves. A
// document leaves if only the erased values could tell.
func TestErasureOfWhatNeverMatched(t *testing.T) {
	s := harness.OpenTemp(t, "")
	s.Put("people", "p", `{"name":"Marker","n":1}`)
	const here, elsewhere = "change.collection == 'people' && doc.name == 'Marker'", "change.collection == 'books' && doc.name == 'Marker'"
	since := s.Want(http.StatusOK, "GET", "/v1/people/p", "").Header.Get("Fanfold-Position")
	for name, filter := range map[string]string{"here": here, "elsewhere": elsewhere} {
		s.Want(http.StatusCreated, "PUT", "/v1/_groups/"+name, `{"partitions":1,"mode":"all","since":"`+since+`","filter":"`+filter+`"}`)
	}
	s.Erased(s.Want(http.StatusAccepted, "POST", "/v1/people/p/_erase", `{"members":["/name"]}`).Header.Get("Location"))
	for name, filter := range map[string]string{"here": here, "elsewhere": elsewhere} {
		want := name == "here"
		for _, mode := range []string{"all", "latest"} {
			r := s.Want(http.StatusOK, "GET", "/v1/_changes?mode="+mode+"&since="+since+"&filter="+url.QueryEscape(filter), "")
			if leaves := strings.Contains(string(r.Body), `"op":"leave"`); leaves != want {
				t.Errorf("%s, mode=%s: %s", filter, mode, r.Body)
			}
		}
		if ids, _ := harness.GroupChanges(t, s.Client, name, harness.Lease(t, s.Client, name, "m")[0], ""); len(ids) > 0 != want {
			t.Errorf("the group %s is given %v", filter, ids)
		}
	}
}
