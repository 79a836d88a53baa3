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

// Places returns a function that returns the line and the column of the innermost member that a text has of a path. For no path it
// returns the place of the text's value. They are 0 where the text has nothing of the path, and for a text that ToJSON refuses.
func Places(src []byte) func(path string) (line, column int) {
	value, err := load(src)
	return func(path string) (line, column int) {
		if err != nil || value == nil {
			return 0, 0
		}
		if n := innermost(value, path); n != nil {
			return n.Line, n.Column
		}
		return 0, 0
	}
}

// innermost returns the name of the innermost member that a value has of a path, or the element. It returns the value itself of no
// path, and nil where the value has nothing of it.
func innermost(value *yaml.Node, path string) (n *yaml.Node) {
	if path == "" {
		return value
	}
	for path != "" {
		if value.Kind == yaml.AliasNode {
			value = value.Alias
		}
		name, below, rest := step(value, path)
		if name == nil {
			return n
		}
		n, value, path = name, below, rest
	}
	return n
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
