package model_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/fanfold/fanfold/tests/harness"
	"github.com/fanfold/fanfold/writer"
)

// TestPreparedLinks: links of a model that was prepared in the background begin and end at the model's event. Some come from derived ids for
// which a view has room from then on. All is the same after a replay.
func TestPreparedLinks(t *testing.T) {
	const declared = `{"embedded":{"limit":%d},"collections":{"targets":{},"sources":{},"holders":{
"relations":{"from":{"path":"s","to":"sources"},"plain":{"path":"%s","to":"targets"},"via":{"path":"ref","to":"targets"}},
"derive":{"ref":{"copy":"from","value":"doc.r"}}}}}`
	hold := harness.NewActivationHold()
	s := harness.Open(t, harness.Options{Dir: t.TempDir(), Writer: writer.Options{BeforeActivate: hold.Wait}})
	defer func() { s.Close() }()
	s.Model(fmt.Sprintf(declared, 200, "p"))
	s.Put("targets", "1", `{}`)
	s.Put("sources", "1", `{"r":"1"}`)
	long := `{"s":"1","p":"1","x":"` + strings.Repeat("x", 160) + `"}`
	s.Put("holders", "short", `{"s":"1","p":"1"}`)
	s.Put("holders", "long", long)
	s.Put("holders", "moved", `{"s":"1","p":"1"}`)
	proposed := s.Propose(fmt.Sprintf(declared, 100_000, "q"))
	if proposed == 0 {
		t.Fatal("the model is not prepared")
	}
	s.Prepared()
	s.Put("holders", "moved", `{"q":"1"}`)
	s.Put("holders", "late", long)
	before := s.Want(http.StatusOK, http.MethodGet, "/v1/holders", "").Header.Get("Fanfold-Position")
	s.Prepared()
	hold.Release()
	s.Activated(proposed)
	after := s.Want(http.StatusOK, http.MethodGet, "/v1/holders", "").Header.Get("Fanfold-Position")
	digest := s.Digest()
	check := func() {
		t.Helper()
		for query, want := range map[string]string{
			"relation=plain&at=" + before: "short long late", "relation=via&at=" + before: "short",
			"relation=plain&at=" + after: "moved", "relation=via&at=" + after: "short long late",
		} {
			var ids []string
			for part := range strings.SplitSeq(string(s.Want(http.StatusOK, http.MethodGet, "/v1/targets/1/holders?fields=s&"+query, "").Body), `{"id":"`) {
				if id, _, ok := strings.Cut(part, `"`); ok && !strings.HasPrefix(part, "{") {
					ids = append(ids, id)
				}
			}
			if got := strings.Join(ids, " "); got != want {
				t.Errorf("%s has %s, want %s", query, got, want)
			}
		}
	}
	check()
	s.Replay()
	if s.Digest() != digest {
		t.Error("the replay's rows differ")
	}
	check()
}
