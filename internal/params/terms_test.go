package params

import (
	"slices"
	"strings"
	"testing"
)

// TestTerms: commas in brackets and in texts part nothing.
func TestTerms(t *testing.T) {
	for list, want := range map[string][]string{
		"":                                      nil,
		"a":                                     {"a"},
		"-a, b":                                 {"-a", "b"},
		"sum(a,b),c":                            {"sum(a,b)", "c"},
		`doc.a["x,y"],b`:                        {`doc.a["x,y"]`, "b"},
		`doc.a == ",",b`:                        {`doc.a == ","`, "b"},
		`doc.a == "\",",b`:                      {`doc.a == "\","`, "b"},
		`doc.a == r"\",b`:                       {`doc.a == r"\"`, "b"},
		`doc.a == '"',b,'`:                      {`doc.a == '"'`, "b", "'"},
		`doc.a == """x",""",b`:                  {`doc.a == """x","""`, "b"},
		`f([1,2],{"a":(3,4)}),b`:                {`f([1,2],{"a":(3,4)})`, "b"},
		"a,,b":                                  {"a", "", "b"},
		"a),b":                                  {"a)", "b"},
		`"a,b`:                                  {`"a,b`},
		`a"` + "\\":                             {`a"` + "\\"},
		"tags[],lines[].sku,-_meta.createdAt,x": {"tags[]", "lines[].sku", "-_meta.createdAt", "x"},
	} {
		if got := Terms(list); !slices.Equal(got, want) {
			t.Errorf("%s is split into %q, want %q", list, got, want)
		}
		for i, term := range want {
			if before := BeforeTerm(list, i); !strings.HasPrefix(list[len(before):], term) || strings.TrimSpace(before) != strings.TrimRight(before, " ") && i == 0 {
				t.Errorf("%q stands before term %d of %s", before, i, list)
			}
		}
	}
}
