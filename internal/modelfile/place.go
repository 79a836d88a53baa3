package modelfile

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/internal/jsondoc"
)

// placeError says what is wrong with a text, and where: line and column count from 1, columns in code points.
type placeError struct {
	line, column int
	reason       string
}

// Error returns the reason after its line.
func (e *placeError) Error() string { return fmt.Sprintf("line %d: %s", e.line, e.reason) }

// errorAt returns an error about a node.
func errorAt(n *yaml.Node, format string, args ...any) error {
	return &placeError{n.Line, n.Column, fmt.Sprintf(format, args...)}
}

// invalidAt returns an Invalid with the place that err has.
func invalidAt(err error, message string) error {
	e := fanfold.Errorf(fanfold.Invalid, "%s: %v", message, err)
	var place *placeError
	if errors.As(err, &place) {
		e.Line, e.Column = place.line, place.column
	}
	return e
}

var (
	lineRE   = regexp.MustCompile(`^line (\d+): `)
	anchorRE = regexp.MustCompile(`^unknown anchor '(.*)' referenced`)
	// parserRE fits what the library's parser says, not its scanner. The parser's lines count from 0.
	parserRE = regexp.MustCompile(`^(did not find expected ('[],}-]|',' or|<|key|node content)|found (duplicate %|incompatible YAML|undefined tag))`)
)

// yamlError returns the library's error without its name before it, with its place in the text. The library names lines alone: the
// column is that of the first character there that is no blank.
func yamlError(src []byte, err error) error {
	e := &placeError{line: 1, reason: strings.TrimPrefix(err.Error(), "yaml: ")}
	if m := anchorRE.FindStringSubmatch(e.reason); m != nil {
		e.line, e.column = jsondoc.Place(src, int64(max(0, strings.Index(string(src), "*"+m[1]))))
		return e
	}
	if m := lineRE.FindStringSubmatch(e.reason); m != nil {
		e.reason = e.reason[len(m[0]):]
		e.line, _ = strconv.Atoi(m[1])
		if parserRE.MatchString(e.reason) {
			e.line++
		}
	} else if i := unreadable(src); i >= 0 {
		e.line, e.column = jsondoc.Place(src, int64(i))
		return e
	}
	lines := strings.Split(string(src), "\n")
	e.line = min(e.line, len(lines))
	line := lines[e.line-1]
	blanks := len(line) - len(strings.TrimLeft(line, " \t"))
	e.column = blanks + 1
	return e
}

// unreadable returns the index of the first byte that is of no character which YAML takes, -1 for none.
func unreadable(src []byte) int {
	for i := 0; i < len(src); {
		r, size := utf8.DecodeRune(src[i:])
		if r == utf8.RuneError && size == 1 || r < ' ' && r != '\t' && r != '\n' && r != '\r' || 0x7f <= r && r < 0xa0 && r != 0x85 {
			return i
		}
		i += size
	}
	return -1
}

// Locate returns an error about the model that a text declares. Each of its problems gets the line and the column of the innermost
// member that the text has of the problem's path. within is the path of what the text declares, "" for a whole
// model. Problems about something else have no line, nor has any of a text that is no model.
func Locate(err error, src []byte, within string) error {
	var e *fanfold.Error
	if !errors.As(err, &e) || len(e.Problems) == 0 {
		return err
	}
	var doc yaml.Node
	if len(src) > MaxBytes || countValues(src) > maxValues || yaml.Unmarshal(src, &doc) != nil || len(doc.Content) == 0 {
		return err
	}
	located := *e
	located.Problems = slices.Clone(e.Problems)
	for i := range located.Problems {
		p := &located.Problems[i]
		rest, ok := strings.CutPrefix(p.Path, within)
		if !ok || p.Key.ID != "" {
			continue
		}
		if within == "" && rest != "" {
			rest = "." + rest
		}
		if n := innermost(doc.Content[0], rest); n != nil {
			p.Line, p.Column = n.Line, n.Column
		}
	}
	return &located
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
