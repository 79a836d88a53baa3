package expr

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/fanfold/fanfold/internal/jsondoc"
)

// judged returns what a condition says of a document, by all the ways that there are.
func judged(t testing.TB, source, params, doc string) Verdict {
	t.Helper()
	b := bind(t, source, params)
	f := factsOf(doc)
	got, err := b.Judge(f)
	if err != nil {
		t.Fatalf("%s: %v", source, err)
	}
	return got
}

var (
	created = time.Date(2024, 5, 6, 7, 8, 9, 123456789, time.UTC)
	updated = created.Add(24 * time.Hour)
)

func factsOf(doc string) Facts {
	return Facts{Doc: jsondoc.MustParse([]byte(doc)), Created: created, Updated: updated}
}

func bind(t testing.TB, source, params string) *Bound {
	t.Helper()
	c, err := CompileCondition(source)
	if err != nil {
		t.Fatalf("%s: %v", source, err)
	}
	b, err := c.bind(jsondoc.MustParse([]byte(params)))
	if err != nil {
		t.Fatalf("%s with %s: %v", source, params, err)
	}
	return b
}

// TestJudge: a condition is true, false or without a value, and numbers compare by their exact values.
func TestJudge(t *testing.T) {
	const doc = `{"n":9007199254740993,"tenth":0.1,"near":0.10000000000000000001,"one":1.0,"ten":10e-1,"huge":1e1001,"large":1e300,"text":"a","nul":null,"yes":true,
		"tags":["a",5,null,1e1001],"lines":[{"sku":"x","qty":1},{"sku":"y","qty":9}],"object":{"k":1},"empty":[],"nan":[1]}`
	const params = `{"n":9007199254740992,"big":18446744073709551617,"list":[1,"a",0.10000000000000000001],"o":{"k":1},"huge":1e1001,"now":"2024-05-07T00:00:00Z"}`
	for source, want := range map[string]Verdict{
		`doc.n == params.n`: False, `doc.n > params.n`: True, `doc.n == 9007199254740993`: True, `doc.n == 9007199254740992.0`: False,
		`doc.tenth == 0.1`: True, `doc.tenth == 0.10000000000000000001`: False, `doc.near == 0.10000000000000000001`: True, `doc.near == 0.1`: False,
		`doc.near == .10000000000000000001`: True, `-doc.near == -0.1`: False, `doc.near != -0.10000000000000000001`: True, `doc.near in [0.1, 0.10000000000000000001]`: True,
		`doc.near in [0.1]`: False, `[doc.near] == [0.1]`: False, `{"a": doc.near} == {"a": 0.10000000000000000001}`: True, `doc.one == 1 && doc.ten == 1.0 && doc.one == doc.ten`: True,
		`doc.huge == 1`: NoValue, `doc.huge != 1`: NoValue, `doc.huge > 1`: NoValue, `doc.huge == doc.huge`: NoValue, `doc.huge == "a"`: NoValue, `[doc.huge] == [1]`: NoValue,
		`params.huge == 1`: NoValue, `doc.one == params.huge`: NoValue, `doc.large == 1e300`: True, `doc.large * 1e300 > 1.0`: True, `doc.large * 1e300 * 1e300 * 1e300 > 1.0`: NoValue, `doc.tenth + 0.2 == 0.3`: True, `29.90 * doc.tenth == 2.99`: True, `doc.one < params.big`: True,
		`doc.text == 1`: False, `doc.text < 1`: NoValue, `doc.text != 1`: True, `doc.none != 1`: NoValue, `!has(doc.none) || doc.none != 1`: True, `doc.nul == null`: True,
		`doc.nul < 1`: NoValue, `has(doc.nul)`: True, `has(doc.none)`: False, `has(doc.none.x)`: NoValue, `has(doc.text.x)`: False, `has(doc.tags.x)`: NoValue, `doc.text.x == 1`: NoValue,
		`doc.yes`: True, `!doc.yes`: False, `doc.text`: NoValue, `doc.yes > false`: True, `doc.yes < false`: False, `true`: True, `1 == 2`: False,
		`5 in doc.tags`: True, `6 in doc.tags`: NoValue, `"a" in doc.tags`: True, `null in doc.tags`: True, `"k" in doc.object`: True, `"z" in doc.object`: False, `1 in doc.empty`: False,
		`params.huge in doc.empty`: False, `1 in doc.text`: NoValue, `doc.text in params.list`: True, `doc.near in params.list`: True, `doc.tenth in params.list`: False,
		`"k" in params.o`: True, `doc.text in params.o`: False, `doc.text in ["b", "a"]`: True, `doc.huge in [1, "a"]`: NoValue,
		`doc.tags.exists(t, t == 5)`: True, `doc.tags.exists(t, t > 4)`: True, `doc.tags.exists(t, t > 5)`: NoValue, `doc.empty.exists(t, t > 5)`: False, `doc.none.exists(t, t > 5)`: NoValue,
		`doc.lines.exists(l, l.sku == "x" && l.qty > 5)`: False, `doc.lines.exists(l, l.sku == "y" && l.qty > 5)`: True, `doc.lines.all(l, l.qty > 0)`: True,
		`doc.object.exists(k, k == "k")`: True, `doc.object.exists(k, has(k.x))`: False, `doc.lines.exists(l, l.sku == doc.text)`: False, `doc.lines.exists(l, has(doc.text) && l.qty == 9)`: True,
		`meta.createdAt > timestamp("2024-05-06T00:00:00Z")`: True, `meta.updatedAt < timestamp(params.now)`: False, `timestamp(params.now) - duration("1h") > meta.createdAt`: True,
		`meta.createdAt == timestamp("2024-05-06T07:08:09.123456789Z")`: True, `meta.createdAt in [timestamp(params.now)]`: False,
		`doc.text == timestamp(params.now)`: False, `doc.text.startsWith("")`: True, `doc.one.startsWith("a")`: NoValue,
		`doc.text.contains("b")`: False, `doc.text.endsWith("a")`: True, `doc.text.matches("^A$")`: False, `lower(doc.text) == "a"`: True, `upper(doc.text) == "a"`: False, `size(doc.tags) > 3`: True,
		`"%s %s".format([doc.text, [doc.one][0]]) == "a 1"`: True, `doc.tags.exists(t, t in [5])`: True, `doc.tags[doc.one] == 5`: True, `[4, 5].exists(i, doc.tags[1] == i)`: True,
		`doc.nan.exists(i, doc.tags[i] == 5)`: True, `doc.nan.map(i, i + 1)[0] == 2`: True, `{doc.text: doc.near}["a"] == 0.1`: False, `[doc.near].exists(n, n == 0.1)`: False, `doc.yes ? doc.near == 0.1 : doc.none`: False, `(doc.yes ? doc.near : doc.one) == 0.10000000000000000001`: True, `doc.nan.map(x, doc.near)[0] == 0.1`: False,
		`doc.lines.filter(l, l.qty > 5).size() == 1`: True, `doc.lines.exists_one(l, l.qty == 9)`: True, `[doc.yes].exists(b, b)`: True, `doc.none == 1 && doc.text == "b"`: False, `doc.text == "b" && doc.none == 1`: False,
		`doc.none == 1 || doc.text == "a"`: True, `doc.none == 1 || doc.text == "b"`: NoValue, `doc["text"] == 'a'`: True, `doc.text + params.none == "a" || has(params.none)`: NoValue,
	} {
		if got := judged(t, source, params, doc); got != want {
			t.Errorf("%s is %v, want %v", source, got, want)
		}
		// cel-go alone must say the same.
		b := bind(t, source, params)
		for _, c := range b.conjuncts {
			c.direct = false
		}
		if got, err := b.Judge(factsOf(doc)); got != want || err != nil {
			t.Errorf("%s is %v by cel-go (%v), want %v", source, got, err, want)
		}
	}
}

// TestRefusedConditions: the error says what is wrong, and where.
func TestRefusedConditions(t *testing.T) {
	for source, want := range map[string]string{
		``: "column 1: the expression ends", `doc.a == `: "column 10: the expression ends", `doc.a == 1 && other.b == 2`: "column 15: there is no 'other' here", `meta.x == 1`: "column 1: there is no 'meta' here",
		"doc.a == 1 &&\n  nope": "line 2, column 3: there is no 'nope' here", `doc.a + 1`: "column 7: the expression is a value that is neither true nor false",
		`doc`: "column 1: the expression is a value", `params`: "column 1: the expression is a value", `doc.a + doc.b`: "column 7: the expression is a value", `"x"`: "column 1: the expression is a value",
		`doc.a && doc.b - doc.c`: "column 16: the expression is a value", `doc.a ? 1 : 2`: "column 7: the expression is a value", `doc.a && 1`: "column 10: must be bool", `doc.t.matches("(")`: "column 14: ", `timestamp(doc.t).getHours("Europe/Oslo") == 1`: "time zone",
		`doc.n > int("x")`: "column 12: this never has a value: ", `meta.createdAt > timestamp("2026-11-28")`: "column 27: this never has a value: ", `doc.a || 1 / 0 == 1`: "column 12: this never has a value: divi", `doc.s.matches("(" + "x")`: "column 19: error parsing",
		`doc.a > timestamp("2026-11-28T00:00:00Z")`: "column 7: this never has a value: no member of doc is a timestamp", `doc.a <= null`: "column 7: this never has a value: ", `doc.a - duration("1h") > 1`: "column 7: this never",
		`meta.createdAt > params.t`: "column 16: this never has a value: no member of params is a timestamp",
		`doc.b == [1,2,3,4,5,6,7,8,9,0].map(a, [1,2,3,4,5,6,7,8,9,0].map(b, [1,2,3,4,5,6,7,8,9,0].map(c, [1,2,3,4,5,6,7,8,9,0].map(d, a + b + c + d))))`: "costs more than 100000",
		`doc.tags.exists(t, t > 1/0)`: "column 25: this never", `b"x" < doc.a`: "column 6: this never has a value: no member of doc is bytes",
		`doc.a == "\ud83d\ude0d" && nope`: "column 28: there is no", `doc.a == "\ud83d"`: "column 10: invalid unicode", `doc.a == r"\ud83d\ude0d" && nope`: "column 29: there is no",
		`doc.a == 1e-1001`: "column 10: the number is none that is compared", `doc.a == 1e400`: "column 10: invalid double literal", `doc.s == "` + strings.Repeat("x", 5000) + `"`: "at most 4096 are taken",
		strings.Repeat("(", 25) + "true" + strings.Repeat(")", 25): "24 deep", strings.Repeat("doc.n == 1 || ", 150) + "true": "at most 400 are taken",
	} {
		if _, err := CompileCondition(source); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.60s: %v, want %s", source, err, want)
		}
	}
	c, err := CompileCondition(`doc.a == params.x.y && doc.b == params["z"] && (has(params.w) || doc.c == params.w)`)
	if err != nil {
		t.Fatal(err)
	}
	for params, want := range map[string]string{`{}`: "column 10: params.x is not given", `{"x":1}`: "column 33: params.z is not given", `{"x":1,"z":2}`: "<nil>"} {
		p, err := ParseParams([]byte(params))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := c.Bind(p); fmt.Sprint(err) != want {
			t.Errorf("%s: %v, want %s", params, err, want)
		}
	}
	if c, err = CompileCondition(`doc.a == "x".replace("x", params.x) && doc.b == [1,2,3,4,5,6,7,8,9,params.n].map(a, [1,2,3,4,5,6,7,8,9,0].map(b, [1,2,3,4,5,6,7,8,9,0].map(c, [1,2,3,4,5,6,7,8,9,0].map(d, a + b + c + d))))`); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Bind(jsondoc.MustParse([]byte(`{"x":"y","n":0}`))); err == nil || !strings.Contains(err.Error(), "costs more than 100000") {
		t.Errorf("constants that cost much: %v", err)
	}
	for source, want := range map[string]string{`doc.a > int(params.t)`: "column 12: this never has a value: type conversion error from 'string' to 'int'", `doc.a < params.l`: "column 15: " + errNoOrder.Error(), `doc.a == params.big`: "column 16: " + errBeyond,
		`doc.a > params.nul`: "column 15: " + errNoOrder.Error(), `doc.t.matches(params.bad)`: "column 21: error parsing regexp: missing closing ): `(`",
		`params.t == "" || doc.a > int(params.t)`: "<nil>", `params.n > 1 && doc.a < params.l`: "<nil>", `has(params.none) && doc.a < int(params.none)`: "<nil>", `doc.a == params.l`: "<nil>", `doc.a > params.n`: "<nil>"} {
		if c, err = CompileCondition(source); err != nil {
			t.Fatal(err)
		}
		if _, err := c.Bind(jsondoc.MustParse([]byte(`{"t":"t","l":[1],"nul":null,"n":1,"bad":"(","big":1e1001}`))); fmt.Sprint(err) != want {
			t.Errorf("%s: %v, want %s", source, err, want)
		}
	}
	for params, want := range map[string]string{`{"l":[1,{"x":-1e1001}]}`: "-1e1001: " + errBeyond, `[]`: "no JSON object", `{"a":1,"a":2}`: "duplicate member", `{`: "ends too early", strings.Repeat(`{"a":`, 17) + "1" + strings.Repeat("}", 17): "nested deeper than 16",
		`{"a":"` + strings.Repeat("x", MaxParams) + `"}`: "at most 16384 are taken"} {
		if _, err := ParseParams([]byte(params)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.40s: %v, want %s", params, err, want)
		}
	}
}
