package expr

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/fanfold/fanfold/internal/jsondoc"
	"github.com/fanfold/fanfold/internal/sortkey"
)

// show writes a conjunct in short: its tests with the values of a fixed list that lie in their ranges, and whether it is exact.
func show(c Conjunct) string {
	var out []string
	for _, test := range c.Tests {
		var held []string
		for _, v := range []string{"", "null", "[]", "false", "true", "-1", "0", "1", "2", "3", `""`, `"a"`, `"ab"`, `"b"`, `"` + strings.Repeat("x", 1024) + `"`} {
			key := sortkey.AppendAbsent(nil)
			if v != "" {
				key = sortkey.Append(nil, jsondoc.MustParse([]byte(v)), jsondoc.Root)
			}
			if slices.ContainsFunc(test.Ranges, func(r sortkey.Range) bool { return r.Holds(key) }) {
				held = append(held, v[:min(len(v), 5)])
			}
		}
		exact := ""
		if !test.Exact {
			exact = "~"
		}
		points := 0
		for _, r := range test.Ranges {
			if r.Point() {
				points++
			}
		}
		out = append(out, fmt.Sprintf("%s%s: %s (%d of %d points)", exact, test.Term, strings.Join(held, " "), points, len(test.Ranges)))
	}
	text := strings.Join(out, "; ")
	if c.Array != "" {
		text = c.Array + "[" + text + "]"
	}
	if c.Exact {
		return "= " + text
	}
	return text
}

// TestConjuncts: what an index can decide of each conjunct.
func TestConjuncts(t *testing.T) {
	long := strings.Repeat("x", 1024)
	for source, want := range map[string]string{
		`doc.a == 1`: "= a: 1 (1 of 1 points)", `1.0 == doc["a"]`: "= a: 1 (1 of 1 points)", `doc.a == "` + long + `"`: `~a: "xxxx (1 of 1 points)`, `doc.a == [1]`: "~a: [] (1 of 1 points)",
		`doc.a == null`: "= a: null (1 of 1 points)", `doc.a < 2`: "= a: -1 0 1 (0 of 1 points)", `2 < doc.a`: "= a: 3 (0 of 1 points)", `doc.a <= 2`: "= a: -1 0 1 2 (0 of 1 points)", `doc.a > "a"`: `= a: "ab" "b" "xxxx (0 of 1 points)`,
		`doc.a >= "a"`: `= a: "a" "ab" "b" "xxxx (0 of 1 points)`, `doc.a < true`: "= a: false (1 of 1 points)", `doc.a > "` + long + `"`: `~a: "xxxx (0 of 1 points)`,
		`doc.a.startsWith("a")`: `= a: "a" "ab" (0 of 1 points)`, `doc.a.startsWith("` + long + `x")`: `~a: "xxxx (1 of 1 points)`, `has(doc.a.b)`: `= a.b: null [] false true -1 0 1 2 3 "" "a" "ab" "b" "xxxx (0 of 1 points)`,
		`doc.a`: "= a: true (1 of 1 points)", `doc.a in [1, "a", null]`: `= a: null 1 "a" (3 of 3 points)`, `doc.a in [1, [1]]`: "~a: [] 1 (2 of 2 points)", `doc.a in []`: "= a:  (0 of 0 points)",
		`doc.a == 1 || doc.a > 2`: "= a: 1 3 (1 of 2 points)", `doc.a == 1 || doc.b == 2`: "", `(doc.a > 0 && doc.a < 3) || doc.a == null`: "= a: null 1 2 (1 of 2 points)", `doc.a == 1 || doc.a != 2`: "",
		`!doc.a`: "", `doc.a != 1`: "", `doc.a.contains("a")`: "", `doc.a.matches("a")`: "", `doc.a == doc.b`: "", `doc.l.all(x, x == 1)`: "", `true`: "", `1 in doc.a.map(x, x)`: "",
		`"a" in doc.tags`: `= tags[tags[]: "a" (1 of 1 points)]`, `doc.m.tags.exists(t, t > 2 || t == null)`: "= m.tags[m.tags[]: null 3 (1 of 2 points)]", `"a" in doc.tags || "b" in doc.tags`: `= tags[tags[]: "a" "b" (2 of 2 points)]`,
		`"a" in doc.tags || doc.tags.exists(t, t == 1)`: `= tags[tags[]: 1 "a" (2 of 2 points)]`, `"a" in doc.tags || "a" in doc.others`: "", `"a" in doc.tags || doc.tags == "a"`: "",
		`("a" in doc.tags && "b" in doc.tags) || "c" in doc.tags`: "", `doc.a in ["` + long + `", 1]`: `~a: 1 "xxxx (2 of 2 points)`, `doc.a == 1 || doc.a == "` + long + `"`: `~a: 1 "xxxx (2 of 2 points)`,
		`dyn(timestamp(doc.a)) == "2024-01-01T00:00:00Z"`: "", `type(doc.a) == int`: "", `doc.tags.exists(t, (t > 0 && t < 3) || t == "a")`: `= tags[tags[]: 1 2 "a" (1 of 2 points)]`,
		`doc.lines.exists(l, l.sku == "a" && l.qty > 2)`: `= lines[lines[].sku: "a" (1 of 1 points); lines[].qty: 3 (0 of 1 points)]`, `doc.lines.exists(l, l.qty > 0 && l.qty < 3)`: "= lines[lines[].qty: 1 2 (0 of 1 points)]",
		`doc.lines.exists(l, l.sku == "a" && l.x.contains("b"))`: `lines[lines[].sku: "a" (1 of 1 points)]`, `doc.lines.exists(l, l.sku == "a" && doc.x == 1)`: `lines[lines[].sku: "a" (1 of 1 points)]`, `doc.lines.exists(l, l.sku == doc.x)`: "",
		`doc.lines.exists(l, l.sku == "a" || l.qty == 1)`: "", `doc.lines.exists(l, l.sku == "a") || doc.lines.exists(l, l.qty == 1)`: "", `doc.lines.exists(l, l.tags.exists(t, t == 1))`: "", `doc.lines.exists_one(l, l.sku == 1)`: "",
		`lower(doc.a) == "a"`: `= lower(doc.a): "a" (1 of 1 points)`, `lower( doc["a"] )  in ['a', 'b']`: `= lower(doc.a): "a" "b" (2 of 2 points)`, `doc.a + doc.b > 2`: "= doc.a + doc.b: 3 (0 of 1 points)", `size(doc.a) == 1 || doc.a == 1`: "",
		`timestamp(doc.a) > timestamp("2024-01-01T00:00:00Z")`: "", `doc.a == timestamp("2024-01-01T00:00:00Z")`: "= a:  (0 of 0 points)", `doc.a + params.p == 2`: "", `doc["a.b"] == 1`: `= doc["a.b"]: 1 (1 of 1 points)`, `doc["a.b"].exists(t, t == 1)`: "",
		`meta.createdAt > timestamp("1970-01-01T00:00:00.000000002Z")`: "= _meta.createdAt: 3 (0 of 1 points)", `meta.updatedAt == timestamp("1970-01-01T00:00:00.000000002Z")`: "= _meta.updatedAt: 2 (1 of 1 points)",
		`doc.a == params.p`: `= a: "a" (1 of 1 points)`, `doc.a == params.o.none`: "= a:  (0 of 0 points)", `doc.a in params.l`: `= a: 1 "b" (2 of 2 points)`, `doc.a in params.o`: "", `doc.a > params.p + "b"`: `= a: "b" "xxxx (0 of 1 points)`,
		`doc.doc.a == 1`: "= doc.doc.a: 1 (1 of 1 points)", `doc.lines[0].sku == 1`: "= doc.lines[0].sku: 1 (1 of 1 points)", `doc.l.exists(doc, doc.a == 1)`: "= l[l[].a: 1 (1 of 1 points)]",
	} {
		b := bind(t, source, `{"p":"a","l":["b",1],"o":{"x":1}}`)
		all := b.Conjuncts()
		if len(all) != 1 {
			t.Fatalf("%s has %d conjuncts", source, len(all))
		}
		if got := strings.TrimSuffix(show(all[0]), " "); got != want {
			t.Errorf("%.80s gives\n%s, want\n%s", source, got, want)
		}
	}
	b := bind(t, `doc.a == 1 && (doc.b > 2 && doc.c.contains(params.p)) && doc.d in [1, 2]`, `{"p":"a"}`)
	var sources []string
	for _, c := range b.Conjuncts() {
		sources = append(sources, c.Source)
	}
	if got, want := strings.Join(sources, "; "), `doc.a == 1; doc.b > 2; doc.c.contains(params.p); doc.d in [1, 2]`; got != want {
		t.Errorf("the conjuncts are %s, want %s", got, want)
	}
	if got, want := b.Shape(), `doc.a == ? && doc.b > ? && doc.c.contains(?) && doc.d in ?`; got != want {
		t.Errorf("the shape is %s, want %s", got, want)
	}
}

// TestWrittenAgain: expressions that are parsed alike have one text, which is parsed alike.
func TestWrittenAgain(t *testing.T) {
	for source, want := range map[string]string{
		`doc.a  ==  'x'`: `doc.a == "x"`, `doc["a"]["b c"].d == 1`: `doc.a["b c"].d == 1`, `((doc.a)) == (1+2)*3 - (4 - 5)`: `doc.a == (1 + 2) * 3 - (4 - 5)`, `!(doc.a && doc.b) || doc.c`: `!(doc.a && doc.b) || doc.c`,
		`doc.a ? doc.b : doc.c ? true : false`: `doc.a ? doc.b : doc.c ? true : false`, `(doc.a ? doc.b : doc.c) ? true : false`: `(doc.a ? doc.b : doc.c) ? true : false`, `-(1.5) < -doc.a`: `-(1.5) < -doc.a`, `doc.a == - 1.50`: `doc.a == -1.5`,
		`doc.a == 0.10000000000000000001`: `doc.a == 0.10000000000000000001`, `doc.a == 5.0`: `doc.a == 5.0`, `doc.a == 1e300 || doc.a == 0x10 || doc.a == 5u`: `doc.a == 1e+300 || doc.a == 16 || doc.a == 5u`,
		`doc.a == b"\x00a"`: `doc.a == b"\x00\x61"`, `doc.a == "\x00é\n\"\U0001F600"`: `doc.a == "\x00é\n\"😀"`, `doc.l.exists( x , x.y.all(z, z > 1) ) && has(doc.a.b)`: `doc.l.exists(x, x.y.all(z, z > 1)) && has(doc.a.b)`,
		`doc.l.map(x, x > 1, x + 1) == [1,2] || {"a":1,'b':[]} == doc.m`: `doc.l.map(x, x > 1, x + 1) == [1, 2] || {"a": 1, "b": []} == doc.m`, `(doc.a < 1) == (doc.b in [1])`: `doc.a < 1 == (doc.b in [1])`, `doc["in"].x == doc[doc.k][0]`: `doc["in"].x == doc[doc.k][0]`,
		`(1).f == 1 || doc.a == null`: "", `doc.a - (doc.b - doc.c) * 2 == (doc.a - doc.b) - doc.c`: `doc.a - (doc.b - doc.c) * 2 == doc.a - doc.b - doc.c`, `"a".size() == size("a")`: `"a".size() == size("a")`,
	} {
		c, err := CompileCondition(source)
		if want == "" {
			if err == nil {
				t.Errorf("%s is taken", source)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", source, err)
			continue
		}
		got := c.q.text(c.q.ast.Expr())
		again, err := CompileCondition(got)
		if got != want || err != nil || again.q.text(again.q.ast.Expr()) != got {
			t.Errorf("%s is written as %s (%v), want %s", source, got, err, want)
		}
	}
}

// TestTerms: a term has one text, a path where one can say it, and keeps the bytes of what it selects.
func TestTerms(t *testing.T) {
	doc := jsondoc.MustParse([]byte(`{"a":1.50,"b":{"c":"x"},"n":0.10000000000000000001,"t":"2024-01-01T00:00:00Z","l":[1.0]}`))
	for source, want := range map[string][3]string{
		`doc.a`: {"doc.a", "a", "1.50"}, ` doc["b"].c`: {"doc.b.c", "b.c", `"x"`}, `doc["p-q"]`: {`doc["p-q"]`, "p-q", "no value"}, `doc["x.y"]`: {`doc["x.y"]`, "", "no value"}, `doc.doc`: {"doc.doc", "", "no value"},
		`doc["-a"]`: {`doc["-a"]`, "", "no value"}, `doc["_meta"].x`: {`doc._meta.x`, "", "no value"}, `meta.createdAt`: {"meta.createdAt", "_meta.createdAt", "no value"}, `upper( doc.b.c )`: {"upper(doc.b.c)", "", `"X"`},
		`doc.n`: {"doc.n", "n", "0.10000000000000000001"}, `doc.n == 0.1`: {"doc.n == 0.1", "", "false"}, `doc.l[0]`: {"doc.l[0]", "", "1.0"}, `doc.a + 1`: {"doc.a + 1", "", "2.5"}, `doc.a + "x"`: {`doc.a + "x"`, "", "no such overload"},
		`timestamp(doc.t)`: {"timestamp(doc.t)", "", `"2024-01-01T00:00:00Z"`}, `{"k": doc.a}`: {`{"k": doc.a}`, "", `{"k":1.50}`}, `has(doc.z) ? doc.z : doc.a`: {"has(doc.z) ? doc.z : doc.a", "", "1.50"}, `doc.l.map(x, x)[0]`: {"doc.l.map(x, x)[0]", "", "1.0"},
	} {
		term, err := CompileTerm(source)
		if err != nil {
			t.Errorf("%s: %v", source, err)
			continue
		}
		text, err := term.Value(doc)
		if err != nil {
			text = []byte(err.Error())
		}
		if got := [3]string{term.String(), term.Path(), string(text)}; got[0] != want[0] || got[1] != want[1] || !strings.HasPrefix(got[2], want[2]) {
			t.Errorf("%s is %q, want %q", source, got, want)
		}
		if again, err := CompileTerm(source); again != term || err != nil {
			t.Errorf("%s was compiled again: %v", source, err)
		}
	}
	for source, want := range map[string]bool{`lower(doc.a)`: true, `doc.a + doc.b`: false, `doc.a + "-" + doc.b`: true, `string(doc.a)`: false, `doc.a == doc.b`: false, `doc.a < 1 ? doc.b : doc.c`: false, `doc.a in doc.b`: false, `{1: 2}[doc.a]`: false, `doc.l.map(x, x)[0]`: false, `[doc.a][0]`: false, `doc.a[doc.b].c + upper(doc.d)`: true} {
		if term, err := CompileTerm(source); err != nil || term.AsUnique() != want {
			t.Errorf("%s gives what a unique value gives: %v (%v)", source, !want, err)
		}
	}
	for source, want := range map[string]string{`1 + 1`: "does not read doc", `params.a`: "there is no 'params' here", `doc.`: "column 5: something else must follow", `doc.a == 1e-1001`: "column 10: the number is none that is compared"} {
		if _, err := CompileTerm(source); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", source, err, want)
		}
	}
}
