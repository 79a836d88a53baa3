package expr

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/fanfold/fanfold/internal/jsondoc"
)

// FuzzCondition: any condition compiles or is refused, and says the same of a document each time, whether or not cel-go evaluates it, in
// bounded time.
func FuzzCondition(f *testing.F) {
	for _, source := range []string{`doc.a > 1 && doc.s.contains("x")`, `doc.tags.exists(t, t == params.p && t != null)`, `params.p in doc.tags || doc.a in params.l`, `!has(doc.b.c) || doc.b.c < 0.10000000000000000001`,
		`lower(doc.s) == "a" && meta.createdAt < timestamp(params.t)`, `doc.l.all(x, x.k in [1, 2.0, -3e5])`, `(doc.a ? doc.b : doc.c) == [doc.a, {"k": 1}]`, `"%s".format([doc.a]) == params.p`, `doc["a.b"].startsWith("\x00")`, `doc.a == b"x" ? doc.t : -doc.u > 1`} {
		f.Add(source, `{"p":"a","l":[1,null,"b",{"k":1}],"t":"2024-01-01T00:00:00Z"}`, `{"a":1.0,"s":"Ax","tags":["a",1e2000],"b":{"c":0.1},"l":[{"k":1}],"a.b":"\u0000"}`)
	}
	f.Fuzz(func(t *testing.T, source, params, doc string) {
		if len(doc) > 16<<10 || jsondoc.Check([]byte(doc), 64) != nil {
			return
		}
		began := time.Now()
		c, err := CompileCondition(source)
		if took := time.Since(began); took > 5*time.Second {
			t.Errorf("compiling took %v", took)
		}
		if err != nil {
			return
		}
		p, err := ParseParams([]byte(params))
		if err != nil {
			return
		}
		direct, err := c.Bind(p)
		if err != nil {
			return
		}
		slow, err := c.Bind(p)
		if err != nil {
			t.Fatal(err)
		}
		for _, each := range slow.conjuncts {
			each.direct = false
		}
		facts := factsOf(doc)
		began = time.Now()
		got, err := direct.Judge(facts)
		again, err2 := direct.Judge(facts)
		want, err3 := slow.Judge(facts)
		if took := time.Since(began); took > 5*time.Second {
			t.Errorf("three evaluations took %v", took)
		}
		if err != nil || err2 != nil || err3 != nil || got != again {
			t.Fatalf("%d, %v, and then %d, %v; %v", got, err, again, err2, err3)
		}
		if (got == True) != (want == True) && !slow.run.exhausted && slow.Cost() < queryCost/2 {
			t.Errorf("it is %d, and %d by cel-go", got, want)
		}
		for _, conjunct := range direct.Conjuncts() {
			for _, test := range conjunct.Tests {
				if test.Term == "" || conjunct.Array != "" && !strings.HasPrefix(test.Term, conjunct.Array+"[]") {
					t.Errorf("%+v has a test of nothing", conjunct)
				}
				for i, r := range test.Ranges {
					if i > 0 && string(test.Ranges[i-1].High) > string(r.Low) || string(r.Low) >= string(r.High) {
						t.Errorf("%+v has ranges that are not sorted and disjoint", conjunct)
					}
				}
			}
		}
	})
}

// TestCostOfAJudgement: a document on which a condition costs too much does not match, whether or not an index decides other conjuncts. Those
// that an index can decide have no limit, for an index has none. All documents together have one.
func TestCostOfAJudgement(t *testing.T) {
	elements := `["x"` + strings.Repeat(`,"y"`, 60_000) + `,"z"]`
	doc := factsOf(`{"tags":` + elements + `,"s":"` + strings.Repeat("ab", 1_000_000) + `","n":1}`)
	for source, want := range map[string]Verdict{
		`"z" in doc.tags`: True, `doc.tags.exists(t, t == "z")`: True, `doc.tags.exists(t, t == "z" && t != "a")`: NoValue, `doc.tags.all(t, t != "a")`: NoValue, `doc.s.contains("x")`: False,
		`doc.s.contains("x") || doc.s.contains("y") || doc.n == 1`: NoValue, `doc.n == 1 && doc.s.contains("b") && doc.s.endsWith("b")`: NoValue, `doc.s.contains("b") && doc.tags.exists(t, t == "z")`: True,
		`doc.tags.exists(t, t == "z") && doc.tags.exists(t, t >= "z") && doc.tags.exists(t, t in ["z"]) && doc.s.contains("b")`: True,
	} {
		b := bind(t, source, `{}`)
		got, err := b.Judge(doc)
		if got != want || err != nil {
			t.Errorf("%s is %d, %v, want %d", source, got, err, want)
		}
		if b.Cost() < 10_000 {
			t.Errorf("%s costs %d", source, b.Cost())
		}
		var rest []int
		for i, c := range b.Conjuncts() {
			if !c.Exact {
				rest = append(rest, i)
			}
		}
		before := b.Cost()
		if left, err := b.Only(rest).Judge(doc); err != nil || (left == True) != (want == True) && len(rest) > 0 || len(rest) > 0 && b.Cost() == before {
			t.Errorf("%s is %d without what an index decides, %v, and cost %d", source, left, err, b.Cost()-before)
		}
	}
	b := bind(t, `doc.tags.exists(t, t == "z")`, `{}`)
	b.run.cost = MaxCost - 100_000 // as if it had judged many
	for range 4 {
		if _, err := b.Judge(doc); err != nil {
			if !errors.Is(err, ErrCost) || b.Cost() < MaxCost {
				t.Errorf("after %d: %v", b.Cost(), err)
			}
			return
		}
	}
	t.Errorf("it has cost %d, and goes on", b.Cost())
}
