package feed_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/fanfold/fanfold/tests/harness"
)

// TestFeedOfUnknownCollections: changes of a collection that is not there can be asked for, and the answer says that it is not there.
func TestFeedOfUnknownCollections(t *testing.T) {
	const header = "Fanfold-Unknown-Collections"
	s := harness.OpenTemp(t, `collections: {declared: {}}`)
	s.Put("held", "1", `{}`)
	s.Delete("held", "1")
	r := s.Want(http.StatusOK, "GET", "/v1/_changes?collections=typo,declared,held,other", "")
	harness.WantHeader(t, r, header, "typo,other")
	if !strings.Contains(string(r.Body), `],"unknown":["typo","other"],"last_seq"`) {
		t.Errorf("the answer is %s", r.Body)
	}
	harness.WantHeader(t, s.Want(http.StatusOK, "GET", "/v1/_changes?feed=continuous&timeout=0&collections=typo", ""), header, "typo")
	harness.WantHeader(t, s.Want(http.StatusCreated, "PUT", "/v1/_groups/g", `{"collections":["typo"]}`), header, "typo")
	r = s.Want(http.StatusOK, "GET", "/v1/_changes?collections=declared,held", "")
	if harness.WantHeader(t, r, header, ""); strings.Contains(string(r.Body), "unknown") {
		t.Errorf("the answer is %s", r.Body)
	}
	s.Put("typo", "1", `{}`)
	harness.WantHeader(t, s.Want(http.StatusOK, "GET", "/v1/_changes?collections=typo", ""), header, "")
}
