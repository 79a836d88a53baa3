package regex

import (
	"testing"
	"time"
)

// FuzzCompile: any pattern compiles within bounds or is refused, and matches in time.
func FuzzCompile(f *testing.F) {
	for _, pattern := range []string{`^\d{4}-[a-z]+$`, `(a{10}){100}`, `(x+x+)+y`, `(?i)\pL[^\PL]`, `((a*)*)*`, `(?:a|b|c{2,})\b`} {
		f.Add(pattern, "xxxxxxxxxxxxxxxxaé")
	}
	f.Fuzz(func(t *testing.T, pattern, text string) {
		began := time.Now()
		re, err := Compile(pattern)
		if err == nil {
			re.MatchString(text)
		}
		if took := time.Since(began); took > 5*time.Second || err == nil && re.Size > MaxSize {
			t.Errorf("%v", took)
		}
	})
}
