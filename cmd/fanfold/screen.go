package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"slices"
	"sync"
	"unicode"
	"unicode/utf8"

	"golang.org/x/term"
)

// own begins a sequence of this program for a terminal, in place of ESC. No text has the byte, so data cannot begin one.
const own = "\xff"

// wipe is the sequence that takes away the line of the cursor.
const wipe = own + "[K"

// maxOwn is how many bytes a sequence of this program has at most.
const maxOwn = 5

// screen is a terminal, to which all output of commands goes. Data may have characters that set colours and titles, move the cursor or turn
// text around. They are written as \u001b, which JSON takes, too.
type screen struct {
	file *os.File

	mu   sync.Mutex // for progress is shown beside other output
	rest []byte     // the beginning of a character or a sequence, which the next Write ends
}

// screenOf returns the screen of a terminal, and any other writer as it is: what is piped on keeps its bytes.
func screenOf(out io.Writer) io.Writer {
	if f, ok := out.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		return &screen{file: f}
	}
	return out
}

// standardError returns where messages go.
func standardError() io.Writer { return screenOf(os.Stderr) }

// isTerminal tells whether what is written to out is shown on a terminal.
func isTerminal(out io.Writer) bool {
	_, ok := screenOf(out).(*screen) // one already, or the screen of a file
	return ok
}

// Write implements io.Writer.
func (s *screen) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	text := slices.Concat(s.rest, p)
	var out bytes.Buffer
	for len(text) > 0 {
		n, whole := appendShown(&out, text)
		if !whole {
			break
		}
		text = text[n:]
	}
	s.rest = bytes.Clone(text)
	if _, err := s.file.Write(out.Bytes()); err != nil {
		return 0, err
	}
	return len(p), nil
}

// appendShown appends the first character or sequence of a text as a terminal shows it, and returns how many bytes it has. whole is false
// where more must come first.
func appendShown(out *bytes.Buffer, text []byte) (n int, whole bool) {
	if text[0] == own[0] {
		return appendOwn(out, text)
	}
	if !utf8.FullRune(text) {
		return 0, false
	}
	r, n := utf8.DecodeRune(text)
	switch {
	case r == utf8.RuneError && n == 1:
		out.WriteRune(utf8.RuneError)
	case r != '\n' && r != '\t' && controls(r):
		fmt.Fprintf(out, `\u%04x`, r)
	default:
		out.Write(text[:n])
	}
	return n, true
}

// appendOwn does what appendShown does for a sequence of this program: one that paints, or that wipes the line.
func appendOwn(out *bytes.Buffer, text []byte) (n int, whole bool) {
	for i, c := range text[:min(len(text), maxOwn)] {
		switch {
		case i == 0 || i == 1 && c == '[' || i > 1 && c >= '0' && c <= '9':
			continue
		case i == 2 && c == 'K':
			out.WriteString("\r\x1b[K")
			return i + 1, true
		case i > 2 && c == 'm':
			out.WriteString("\x1b" + string(text[1:i+1]))
			return i + 1, true
		}
		out.WriteRune(utf8.RuneError)
		return 1, true
	}
	if len(text) < maxOwn {
		return 0, false
	}
	out.WriteRune(utf8.RuneError)
	return 1, true
}

// controls tells whether a character does something else to a terminal than to be shown.
func controls(r rune) bool {
	return r < ' ' || r >= 0x7f && r < 0xa0 || unicode.In(r, unicode.Bidi_Control, unicode.Zl, unicode.Zp)
}
