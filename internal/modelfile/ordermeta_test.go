package modelfile

import (
	"fmt"
	"strings"
	"testing"
)

// TestOrderByTimes: a new model's _meta.updatedAt stands in the log in a form that older programs refuse. In a model that an older program
// accepted, the same text is the path of a member.
func TestOrderByTimes(t *testing.T) {
	model := func(orderBy string) []byte {
		return fmt.Appendf(nil, `{"collections":{"a":{"derive":{"x.\"y":{"recent":"b.r","max":1,"fields":["id"],"orderBy":%s}}},"b":{"relations":{"r":{"path":"a","to":"a"}}}}}`, orderBy)
	}
	for orderBy, update := range map[string]bool{`"_meta.updatedAt"`: true, `"_meta.createdAt"`: false, `{"_meta":"updatedAt"}`: true, `{"_meta":"createdAt"}`: false} {
		m, err := Parse(model(orderBy))
		if err != nil {
			t.Fatal(err)
		}
		_, time, _ := strings.Cut(strings.Trim(orderBy, `"`), ".")
		want := string(model(orderBy))
		if time != "" {
			want = string(model(`{"_meta":"` + time + `"}`))
		}
		if string(m.Source) != want || m.Rules[0].ByUpdate != update || m.Rules[0].OrderBy != nil {
			t.Errorf("%s is %+v of %s", orderBy, m.Rules[0], m.Source)
		}
		again, err := ParseAccepted(m.Source)
		if err != nil || string(again.Source) != want || !again.Rules[0].SameAs(m.Rules[0]) {
			t.Errorf("%s was accepted and is %+v of %s, %v", orderBy, again, again.Source, err)
		}
		if fresh, err := Parse(m.Source); err != nil || string(fresh.Source) != want {
			t.Errorf("%s is not the same again: %v", want, err)
		}
	}
	old, err := ParseAccepted(model(`"_meta.updatedAt"`))
	if err != nil || old.Rules[0].ByUpdate || old.Rules[0].OrderBy.String() != "_meta.updatedAt" || string(old.Source) != string(model(`"_meta.updatedAt"`)) {
		t.Errorf("a model from before is %+v, %v", old, err)
	}
	for _, bad := range []string{`"_meta"`, `"_meta.rev"`, `"_meta.updatedAt.x"`, `{}`, `{"_meta":"rev"}`, `{"_meta":1}`, `{"meta":"updatedAt"}`, `{"_meta":"updatedAt","x":1}`, `["_meta.updatedAt"]`, `null`} {
		if _, err := Parse(model(bad)); err == nil || !strings.Contains(err.Error(), "orderBy") {
			t.Errorf("orderBy: %s is taken, or not named: %v", bad, err)
		}
	}
}
