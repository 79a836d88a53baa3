package expr

import (
	"strings"
	"testing"

	"github.com/fanfold/fanfold/internal/jsondoc"
)

// TestFilter: what is missing or cannot be evaluated has no value, and a filter has bounds of its own.
func TestFilter(t *testing.T) {
	values := jsondoc.MustParse([]byte(`{"doc":{"n":3,"s":"x","exact":0.10000000000000000001,"large":9007199254740993,"beyond":1e1001,"big":"` + strings.Repeat("ab", 100_000) + `"},"change":{"op":"patch","id":"1"}}`))
	params := jsondoc.MustParse([]byte(`{"n":3,"list":["2","1"]}`))
	for source, want := range map[string]string{
		`doc.n > 2`: "true", `doc.n > 3`: "false", `doc.none > 3`: "none", `previous.n > 2`: "none",
		`change.op == "patch" || previous.n > 2`: "true", `previous.n > 2 || change.op == "patch"`: "true",
		`doc.exact == 0.1`: "false", `doc.exact == 0.10000000000000000001 && upper(doc.s) == "X"`: "true", `doc.large > 9007199254740992`: "true", `doc.beyond > 1`: "none",
		`has(doc.none)`: "false", `doc.s > 3`: "none", `doc.n`: "none", `previous == null`: "none",
		`doc.n == params.n && params.list.exists(x, x == change.id)`: "true", `doc.n > params.n || has(params.z)`: "false", `doc.s in ["x", "y"] && change.id == "1"`: "true", `doc.big.contains("ba") && doc.big.split("").size() > 1 && doc.big.replace("a", "aaaa").size() > 3`: "none",
	} {
		f, err := CompileFilter(source, params)
		if err != nil {
			t.Fatalf("%s: %v", source, err)
		}
		if got := map[Verdict]string{True: "true", False: "false", NoValue: "none"}[f.Judge(values)]; got != want {
			t.Errorf("%s is %s, want %s", source, got, want)
		}
		if f.Reads("previous") != strings.Contains(source, "previous") {
			t.Errorf("%s reads previous: %v", source, f.Reads("previous"))
		}
	}
	for _, source := range []string{``, `doc.`, `other.n == 1`, strings.Repeat("doc.n == 1 || ", 50) + "true", `doc.s == "` + strings.Repeat("x", MaxFilter) + `"`,
		strings.Repeat("(", 30) + "true" + strings.Repeat(")", 30), `timestamp(doc.t).getHours("Europe/Oslo") == 1`, `doc.s.matches("(")`} {
		if _, err := CompileFilter(source, nil); err == nil {
			t.Errorf("%.60s is taken", source)
		}
	}
	for source, want := range map[string]string{`doc.n == 1 && other.n`: "column 15: there is no 'other' here", `doc.n +`: "column 8: ", "true ||\ndoc.n == params.z": "line 2, column 10: params.z is not given", `doc`: "column 1: ",
		`change`: "column 1: ", `[doc.n]`: "column 1: ", `doc.s.matches("(")`: "column 14: "} {
		if _, err := CompileFilter(source, params); err == nil || !strings.HasPrefix(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v, want %s", source, err, want)
		}
	}
}

// TestFiltersAreRefusedAsQueriesAre: a filter that has no value for any document is refused, as in a query.
func TestFiltersAreRefusedAsQueriesAre(t *testing.T) {
	for _, source := range []string{`doc.t[0] > null`, `-doc.x > duration("1h")`, `params.p < "zzz" && doc.a < params.list`, `doc.a > params.list`} {
		params := jsondoc.MustParse([]byte(`{"p":1,"list":[1]}`))
		c, asQuery := CompileCondition(source)
		if asQuery == nil {
			_, asQuery = c.Bind(params)
		}
		_, asFilter := CompileFilter(source, params)
		if asQuery == nil || asFilter == nil || asQuery.Error() != asFilter.Error() {
			t.Errorf("%s: a query says %v, a feed %v", source, asQuery, asFilter)
		}
	}
}
