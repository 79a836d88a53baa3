package regex

import (
	"strings"
	"testing"
	"time"
)

// nested returns an expression in n brackets.
func nested(n int) string { return strings.Repeat("(", n) + "a" + strings.Repeat(")", n) }

// TestCompile: what is no RE2 is refused, and so is what stands for too much, before it is written out.
func TestCompile(t *testing.T) {
	for pattern, want := range map[string]string{
		`^\d{4}-[a-z]+$`:                  "",
		`a{1000}`:                         "",
		`(a{10}){100}`:                    "",
		`(`:                               "missing closing",
		`(a)\1`:                           "invalid escape",
		`a{1001}`:                         "invalid repeat",
		`(a{1000}){1000}`:                 "invalid repeat",
		strings.Repeat("a{1000}", 6):      "repeat less",
		strings.Repeat("x", MaxPattern+1): "2048",
		strings.Repeat("x", MaxPattern):   "",
		strings.Repeat(`(?i)\pL`, 290):    "",
		nested(1010):                      "nests too deeply",
		strings.Repeat("(a*)*", 400):      "",
	} {
		began := time.Now()
		re, err := Compile(pattern)
		if took := time.Since(began); took > 5*time.Second {
			t.Errorf("%.30s took %v", pattern, took)
		} else if took > 10*time.Millisecond {
			t.Logf("%.30s took %v", pattern, took)
		}
		if want == "" && (err != nil || re.Size > MaxSize) || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%.30s: %v, want %q", pattern, err, want)
		}
	}
}

func BenchmarkMatch(b *testing.B) {
	re, err := Compile(strings.Repeat("(x+x+)+", 20) + "y")
	if err != nil {
		b.Fatal(err)
	}
	text := strings.Repeat("x", 1000)
	for b.Loop() {
		re.MatchString(text)
	}
}
