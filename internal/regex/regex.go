// Package regex compiles regular expressions of models within bounds. They are RE2: what a match takes is at most
// proportional to the text's length times the size of the expression's program.
package regex

import (
	"fmt"
	"regexp"
	"regexp/syntax"
)

// Bounds of a regular expression.
const (
	MaxPattern = 2 << 10 // of its text, in bytes
	MaxSize    = 5000    // of its program, in instructions: x{100} takes some 100
)

// Regexp is a compiled regular expression. It may be used from many goroutines.
type Regexp struct {
	*regexp.Regexp
	Size int // about how many instructions its program has
}

// Compile returns the compiled form of a pattern in the syntax of RE2. The error says what is wrong with it, or which
// bound it passes.
func Compile(pattern string) (*Regexp, error) {
	if len(pattern) > MaxPattern {
		return nil, fmt.Errorf("the regular expression has %d bytes; at most %d are taken", len(pattern), MaxPattern)
	}
	parsed, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return nil, err
	}
	size := programSize(parsed)
	if size > MaxSize {
		return nil, fmt.Errorf("the regular expression stands for more than %d instructions: repeat less", MaxSize)
	}
	compiled, err := regexp.Compile(pattern)
	if err != nil {
		return nil, err
	}
	return &Regexp{Regexp: compiled, Size: size}, nil
}

// programSize returns about how many instructions an expression stands for. Past MaxSize it stops counting.
func programSize(re *syntax.Regexp) int {
	size := 1
	if re.Op == syntax.OpLiteral {
		size = len(re.Rune)
	}
	for _, sub := range re.Sub {
		if size += programSize(sub); size > MaxSize {
			return size
		}
	}
	if re.Op == syntax.OpRepeat {
		size *= max(re.Min+1, re.Max, 1)
	}
	return size
}
