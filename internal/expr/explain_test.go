package expr

import (
	"strings"
	"testing"

	"github.com/fanfold/fanfold/internal/jsondoc"
)

func TestExplain(t *testing.T) {
	t.Parallel()
	doc := jsondoc.MustParse([]byte(`{"name":"A","address":{"city":"B"},"tags":["x"],"n":1,"lang":"de","names":{"en":"A"}}`))
	for source, want := range map[string]string{
		`doc.name`:                   "",
		`doc.nme`:                    `there is no member "nme"; did you mean "name"?`,
		`doc.address.citty + "x"`:    `there is no member "citty" in /address; did you mean "city"?`,
		`doc["nam"]`:                 `there is no member "nam"; did you mean "name"?`,
		`doc.names[doc.lang]`:        `there is no member "de" in /names`,
		`doc.name.first`:             `there is no member "first"`,
		`doc.tags[3]`:                "there is no element 3",
		`doc.name + 1`:               "no such overload",
		`has(doc.x) ? 1 : doc.nnn.n`: `there is no member "nnn"`,
		`doc.tags.map(t, t + doc.y)`: `there is no member "y"`,
		`1.0 / 0.0`:                  "division by zero",
	} {
		p, err := Compile(source)
		if err != nil {
			t.Fatal(err)
		}
		if got := p.Explain(doc); got != want && (want == "" || !strings.Contains(got, want)) {
			t.Errorf("%s: %s", source, got)
		}
		if _, err := p.Eval(doc); (err == nil) != (want == "") {
			t.Errorf("%s: %v", source, err)
		}
	}
	for source, want := range map[string]string{
		`doc.n > 0`:         "",
		`doc.m > 0`:         `there is no member "m"`,
		`doc.m > 0 || true`: "",
		`doc.name`:          "a condition must be true or false",
	} {
		p, err := Compile(source)
		if err != nil {
			t.Fatal(err)
		}
		if got := p.ExplainCondition(doc); got != want && (want == "" || !strings.Contains(got, want)) {
			t.Errorf("%s: %s", source, got)
		}
	}
}
