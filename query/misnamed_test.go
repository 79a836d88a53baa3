package query

import (
	"testing"

	"github.com/fanfold/fanfold/internal/jsondoc"
)

// TestMisnamed: a member that some document of the sample has is not misnamed, and one that none has is, if one has a like name.
func TestMisnamed(t *testing.T) {
	m := misnamed{paths: [][]string{{"Price"}, {"name"}, {"address", "contry"}, {"late"}, {"other"}, {"text", "x"}}, hints: make([]string, 6)}
	for _, doc := range []string{`{"price":1,"lame":2,"address":{"country":"x"},"text":"t"}`, `{"price":1,"name":2}`, `{"price":1,"lat":1}`} {
		m.look(jsondoc.MustParse([]byte(doc)))
	}
	got := m.found()
	if len(got) != 3 || got[0] != `there is no member "Price"; did you mean "price"?` || got[1] != `there is no member "contry" in /address; did you mean "country"?` || got[2] != `there is no member "late"; did you mean "lame"?` {
		t.Errorf("%q", got)
	}
	for range misnamedSample {
		m.look(jsondoc.MustParse([]byte(`{}`)))
	}
	if m.looked != misnamedSample {
		t.Errorf("%d documents were looked at", m.looked)
	}
	m.look(jsondoc.MustParse([]byte(`{"Price":1}`)))
	if len(m.found()) != 3 {
		t.Errorf("after the sample it has %q", m.found())
	}
	many := misnamed{hints: []string{"1", "2", "3", "4", "5", "6", "7", "8", "9"}}
	if len(many.found()) != maxHints {
		t.Errorf("%q", many.found())
	}
}
