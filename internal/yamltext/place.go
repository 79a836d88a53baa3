package yamltext

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v4"

	"github.com/fanfold/fanfold/internal/jsondoc"
)

// Error says what is wrong with a text, and where: line and column count from 1, columns in code points.
type Error struct {
	Line, Column int
	Reason       string
}

// Error returns the reason after its line.
func (e *Error) Error() string { return fmt.Sprintf("line %d: %s", e.Line, e.Reason) }

// errorAt returns an error about a node.
func errorAt(n *yaml.Node, format string, args ...any) error {
	return &Error{n.Line, n.Column, fmt.Sprintf(format, args...)}
}

// libraryError returns the library's error without its name before it. A place after the text's end becomes the end.
func libraryError(src []byte, err error) error {
	var at *yaml.LoadError
	if !errors.As(err, &at) {
		return &Error{1, 1, err.Error()}
	}
	e := &Error{max(at.Mark.Line, 1), max(at.Mark.Column, 1), at.Message}
	if at.ContextMsg != "" && at.ContextMark.Line < e.Line {
		e.Reason = fmt.Sprintf("%s %s that begins in line %d", at.Message, at.ContextMsg, at.ContextMark.Line)
	}
	if line, column := jsondoc.Place(src, int64(len(src))); e.Line > line {
		e.Line, e.Column = line, column
	}
	return e
}

// unreadable returns an error about the first byte that is of no character which YAML takes, nil for none.
func unreadable(src []byte) error {
	for i := 0; i < len(src); {
		r, size := utf8.DecodeRune(src[i:])
		reason := ""
		switch {
		case r == utf8.RuneError && size == 1:
			reason = "it is not UTF-8"
		case r < ' ' && r != '\t' && r != '\n' && r != '\r', 0x7f <= r && r < 0xa0 && r != 0x85, r == 0xfffe, r == 0xffff,
			i == 0 && r == 0xfeff: // whoever reads the file leaves one out
			reason = fmt.Sprintf("the character %U is not taken in YAML: escape it in double quotes", r)
		}
		if reason != "" {
			line, column := jsondoc.Place(src, int64(i))
			return &Error{line, column, reason}
		}
		i += size
	}
	return nil
}

// Places returns two functions. place returns the line and the column of the innermost member that a text has of a path. For no path it
// returns the place of the text's value. They are 0 where the text has nothing of the path, and for a text that ToJSON refuses. within returns
// where a text has a place in the lines of a member, such as line 2 of what follows source: |. ok is false where the member has no such lines.
func Places(src []byte) (place func(path string) (line, column int), within func(path string, line, column int) (atLine, atColumn int, ok bool)) {
	value, err := load(src)
	if err != nil || value == nil {
		value = &yaml.Node{}
	}
	place = func(path string) (line, column int) {
		if n, _ := innermost(value, path); n != nil {
			return n.Line, n.Column
		}
		return 0, 0
	}
	lines := strings.Split(string(src), "\n")
	within = func(path string, line, column int) (atLine, atColumn int, ok bool) {
		_, n := innermost(value, path)
		if n != nil && n.Kind == yaml.AliasNode {
			n = n.Alias
		}
		if n == nil || n.Style&yaml.LiteralStyle == 0 || line < 1 || n.Line+line > len(lines) {
			return 0, 0, false
		}
		written, of := strings.TrimSuffix(lines[n.Line+line-1], "\r"), strings.Split(n.Value, "\n")
		if line > len(of) || !strings.HasSuffix(written, of[line-1]) {
			return 0, 0, false
		}
		return n.Line + line, column + len(written) - len(of[line-1]), true // before each stand spaces alone
	}
	return place, within
}

// innermost returns the name of the innermost member that a value has of a path, or the element. It returns the value itself of no
// path, and nil where the value has nothing of it. whole is what the value has at the end of the path, nil for nothing.
func innermost(value *yaml.Node, path string) (n, whole *yaml.Node) {
	if path == "" {
		return value, value
	}
	for path != "" {
		if value.Kind == yaml.AliasNode {
			value = value.Alias
		}
		name, below, rest := step(value, path)
		if name == nil {
			return n, nil
		}
		n, value, path = name, below, rest
	}
	return n, value
}

// step returns the member or element of a value with which a path begins, its value, and the rest of the path; nil for none. A
// member's name may have dots: the longest that fits counts.
func step(value *yaml.Node, path string) (name, below *yaml.Node, rest string) {
	form, inBrackets := bracketed(path)
	if value.Kind == yaml.SequenceNode {
		if i, err := strconv.Atoi(form); inBrackets && err == nil && 0 <= i && i < len(value.Content) {
			name = value.Content[i]
			return name, name, path[len(form)+2:]
		}
		return nil, nil, ""
	}
	if value.Kind != yaml.MappingNode {
		return nil, nil, ""
	}
	quoted, err := strconv.Unquote(form)
	for i := 0; i+1 < len(value.Content); i += 2 {
		key := value.Content[i]
		text := key.Value
		if key.Kind == yaml.AliasNode {
			text = key.Alias.Value
		}
		if inBrackets && err == nil && text == quoted {
			return key, value.Content[i+1], path[len(form)+2:]
		}
		after, ok := strings.CutPrefix(path[1:], text)
		ok = ok && path[0] == '.' && (after == "" || after[0] == '.' || after[0] == '[')
		if ok && (name == nil || len(after) < len(rest)) {
			name, below, rest = key, value.Content[i+1], after
		}
	}
	return name, below, rest
}

// bracketed returns what a path has in its first brackets, where it begins with such: an index, or a quoted name.
func bracketed(path string) (form string, ok bool) {
	if path == "" || path[0] != '[' {
		return "", false
	}
	form, err := strconv.QuotedPrefix(path[1:])
	if err != nil {
		form, _, _ = strings.Cut(path[1:], "]")
	}
	return form, strings.HasPrefix(path[1+len(form):], "]")
}
