package expr

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"cel.dev/cel-go/common/ast"
)

// nested returns an expression n deep in what open and end put around it.
func nested(open, inner, end string, n int) string {
	return strings.Repeat(open, n) + inner + strings.Repeat(end, n)
}

// TestCheckBounds: expressions that would take long to check are refused before.
func TestCheckBounds(t *testing.T) {
	for source, want := range map[string]string{
		nested("[", "doc.a", "]", MaxDepth):        "",
		nested("[", "doc.a", "]", MaxDepth+1):      "24 deep",
		nested("[", "doc.a", "]", 240):             "24 deep",
		"'" + strings.Repeat("[", 100) + "'":       "",
		"doc.a" + strings.Repeat(" + doc.a", 2000): "4096 are taken",
		"doc.a" + strings.Repeat("+doc.a", 150):    "400 are taken",
		"[" + strings.Repeat("1,", 398) + "1]":     "",
		"[" + strings.Repeat("1,", 400) + "1]":     "400 are taken",
		nested("doc.l.map(x,", "x", ")", 24):       "",
		strings.Repeat("-", 4000) + "1":            "",
		`google.protobuf.Struct{fields:{'a':1}}`:   "build a map",
		`doc.a.matches('(a{1000}){2}')`:            "invalid repeat",
		`doc.a.matches('(a*)*')`:                   "",
	} {
		for range 2 { // also from the cache
			if _, err := Check(source); want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
				t.Errorf("%.40s: %v, want %q", source, err, want)
			}
		}
	}
	if _, err := Compile("[" + strings.Repeat("1,", 500) + "1]"); err != nil {
		t.Errorf("what was accepted before: %v", err)
	}
}

// worst returns expressions at the bounds, of those that take longest to compile.
func worst() map[string]string {
	all := map[string]string{}
	for name, c := range map[string][3]string{
		"lists": {"[", "doc.a", "]"}, "maps": {"{'a':", "doc", "}"}, "map": {"doc.map(x,", "x", ")"}, "filter": {"doc.filter(x,", "true", ")"},
		"map of lists": {"[doc.map(x,", "x", ")]"}, "conditions": {"(true?", "1", ":2)"}, "exists_one": {"doc.exists_one(x,", "true", ")"},
		"index": {"doc[", "0", "]"}, "sums": {"(doc+", "doc", ")"}, "lists of maps": {"[{'a':", "1", "}]"}, "ranges": {"[[1]", "", ".map(x,x)]"},
	} {
		for _, depth := range []int{1, 4, 12, MaxDepth - 2} {
			one := nested(c[0], c[1], c[2], max(1, depth/strings.Count(c[0]+"(", "(")))
			if name == "ranges" {
				one = "[1]" + strings.Repeat(".map(x,x)", depth)
			}
			for _, sign := range []string{",", "+"} {
				all[name+sign+strconv.Itoa(depth)] = fill(one, sign)
			}
		}
	}
	all["numbers"] = fill("1", ",")
	all["pairs"] = "{" + strings.TrimSuffix(strings.Repeat("1:1,", 190), ",") + "}"
	all["mistake"] = strings.Repeat("a", MaxBytes-1) + "!"
	all["words"] = strings.Repeat("a ", MaxBytes/2)
	all["unknown"] = fill("nope", "+")
	all["minus"] = strings.Repeat("-", MaxBytes-1) + "1"
	all["pattern"] = "doc.a.matches('" + strings.Repeat(`(?i)\\pL`, 250) + "')"
	return all
}

// fill repeats an expression, with a sign between, for as long as the bounds are held.
func fill(one, sign string) string {
	repeated := func(n int) string { return "[" + one + strings.Repeat(sign+one, n-1) + "]" }
	once, twice := parts(repeated(1)), parts(repeated(2))
	if twice > MaxParts || len(repeated(2)) > MaxBytes {
		return repeated(1)
	}
	return repeated(min(1+(MaxParts-once)/(twice-once), 1+(MaxBytes-len(repeated(1)))/(len(one)+1), 200))
}

// parts returns how many parts an expression has.
func parts(source string) int {
	env, err := environment()
	if err != nil {
		panic(err)
	}
	parsed, issues := env.Parse(source)
	if issues.Err() != nil {
		panic(issues.Err())
	}
	return ast.NodeCount(parsed.NativeRep())
}

// TestWorstExpressions: none at the bounds takes long to compile.
func TestWorstExpressions(t *testing.T) {
	longest, which := time.Duration(0), ""
	for name, source := range worst() {
		began := time.Now()
		_, err := compile(exactEnvironment, source, true, checkParts)
		if took := time.Since(began); took > longest {
			longest, which = took, name
		}
		_ = err // of some, that they are none
	}
	t.Logf("the slowest to compile, %q, took %v", which, longest)
	if longest > 10*time.Second {
		t.Errorf("%q took %v to compile: %.200s", which, longest, worst()[which])
	}
}
