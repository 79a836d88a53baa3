package jsondoc

import (
	"strings"
	"testing"
)

func TestMissing(t *testing.T) {
	t.Parallel()
	tree := MustParse([]byte(`{"name":1,"Year":2,"a/b":[{"firstName":3,"id":4}],"x":5}`))
	inner := tree.First(tree.Member(Root, "a/b"))
	for _, c := range []struct {
		object     Node
		name, want string
	}{
		{Root, "nme", `there is no member "nme"; did you mean "name"?`},
		{Root, "naem", `there is no member "naem"; did you mean "name"?`},
		{Root, "year", `there is no member "year"; did you mean "Year"?`},
		{Root, "y", `there is no member "y"`},
		{Root, "title", `there is no member "title"`},
		{inner, "first_name", `there is no member "first_name" in /a~1b/0; did you mean "firstName"?`},
		{inner, "ids", `there is no member "ids" in /a~1b/0; did you mean "id"?`},
	} {
		if got := tree.Missing(c.object, c.name); got != c.want {
			t.Errorf("%s: %s", c.name, got)
		}
	}

	long := MustParse([]byte(`{"` + strings.Repeat("a", 1000) + `":{}}`))
	if got := long.Missing(long.First(Root), strings.Repeat("b", 10_000)); len(got) > 2*(maxShown+50) {
		t.Errorf("%d bytes: %s", len(got), got)
	}
}
