package foreign

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/fanfold/fanfold"
)

// scanner reads the texts of JSON values from a stream, and knows in which line it is. It tells values apart, and does not check them.
type scanner struct {
	in   *bufio.Reader
	line int    // from 1
	most int    // bytes of a value
	text []byte // of the last value, or what there is of it
}

// window returns what of the stream is in memory, one byte at least. The error is io.EOF at the end, or the stream's.
func (s *scanner) window() ([]byte, error) {
	if s.in.Buffered() == 0 {
		if _, err := s.in.Peek(1); err != nil {
			return nil, err
		}
	}
	return s.in.Peek(s.in.Buffered())
}

// pass goes on by n bytes of a window.
func (s *scanner) pass(window []byte, n int) {
	s.line += bytes.Count(window[:n], []byte{'\n'})
	_, _ = s.in.Discard(n) // which are buffered
}

// peek returns the next byte that is no space, and does not pass it. The error is io.EOF, or Invalid.
func (s *scanner) peek() (byte, error) {
	for {
		window, err := s.window()
		if errors.Is(err, io.EOF) {
			return 0, io.EOF
		} else if err != nil {
			return 0, unreadable(err)
		}
		rest := bytes.TrimLeft(window, " \t\r\n")
		s.pass(window, len(window)-len(rest))
		if len(rest) > 0 {
			return rest[0], nil
		}
	}
}

// take passes the next byte that is no space, which must be c. The error is Invalid.
func (s *scanner) take(c byte) error {
	next, err := s.peek()
	if err == nil && next != c {
		return s.damaged(fmt.Sprintf("%q is wanted here, and not %q", c, next))
	}
	if err == nil {
		_, err = s.in.Discard(1)
	}
	if errors.Is(err, io.EOF) {
		return s.damaged(fmt.Sprintf("the file ends where %q is wanted", c))
	}
	return err
}

// damaged returns an Invalid that says in which line the text is none that can be read on.
func (s *scanner) damaged(why string) error {
	return fanfold.Errorf(fanfold.Invalid, "line %d: %s; nothing after it is read", s.line, why)
}

// tooLong refuses a value that begins at a line.
func (s *scanner) tooLong(line int) error {
	return &Refusal{Place: Place{Line: line}, Reason: fmt.Sprintf("it has more than %d MiB, which is the most that is read of one document", s.most>>20)}
}

// value returns the text of the next value, good until the next call. The error is io.EOF where there is none, a *Refusal for one that is too
// long, and Invalid where the stream ends within it, or where no value begins.
func (s *scanner) value() ([]byte, error) {
	s.text = s.text[:0]
	first, err := s.peek()
	if err != nil {
		return nil, err
	}
	if bytes.IndexByte([]byte(",:]}"), first) >= 0 {
		return nil, s.damaged(fmt.Sprintf("a value is wanted here, and not %q", first))
	}
	line, size := s.line, 0
	for v := (extent{}); !v.ended; {
		window, err := s.window()
		if errors.Is(err, io.EOF) && v.scalar {
			break
		}
		if errors.Is(err, io.EOF) {
			return nil, s.damaged(fmt.Sprintf("the file ends within the value that begins in line %d", line))
		}
		if err != nil {
			return nil, unreadable(err)
		}
		n := v.scan(window)
		if size += n; size <= s.most {
			s.text = append(s.text, window[:n]...)
		}
		s.pass(window, n)
	}
	if size > s.most {
		return nil, s.tooLong(line)
	}
	return s.text, nil
}

// extent finds the end of a value: of its brackets, of its quotes, or of what is neither.
type extent struct {
	depth           int
	quoted, escaped bool
	scalar          bool // no brackets and no quotes
	ended           bool
}

// scan returns how many bytes of the text belong to the value, and notes whether it ends with them.
func (v *extent) scan(text []byte) int {
	for i, c := range text {
		switch {
		case v.escaped:
			v.escaped = false
		case v.quoted && c == '\\':
			v.escaped = true
		case v.quoted && c == '"':
			v.quoted = false
			if v.ended = v.depth == 0; v.ended {
				return i + 1
			}
		case v.quoted:
		case v.scalar && bytes.IndexByte([]byte(" \t\r\n,:]}[{\""), c) >= 0:
			v.ended = true
			return i
		case c == '"':
			v.quoted = true
		case c == '{' || c == '[':
			v.depth++
		case (c == '}' || c == ']') && v.depth > 0:
			v.depth--
			if v.ended = v.depth == 0; v.ended {
				return i + 1
			}
		case v.depth == 0:
			v.scalar = true
		}
	}
	return len(text)
}

// lineText returns the next line without its end, good until the next call. The error is io.EOF, Invalid, or a *Refusal for one that is too long.
func (s *scanner) lineText() ([]byte, error) {
	s.text = s.text[:0]
	size, line := 0, s.line
	for {
		part, err := s.in.ReadSlice('\n')
		if size += len(part); size <= s.most+2 {
			s.text = append(s.text, part...)
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case errors.Is(err, io.EOF) && size == 0:
			return nil, io.EOF
		case err != nil && !errors.Is(err, io.EOF):
			return nil, unreadable(err)
		}
		s.line++
		if size > s.most+2 {
			return nil, s.tooLong(line)
		}
		return bytes.TrimRight(s.text, "\r\n"), nil
	}
}

// layout says where in a stream its documents stand.
type layout int

const (
	lines   layout = iota // one a line
	values                // one after the other
	array                 // in an array, or in several
	wrapped               // in the array that a member of an object has, or of several
	tree                  // by collection and id, in an object of objects
)

// walker gives the texts of the documents of a stream.
type walker struct {
	sc     *scanner
	layout layout
	member string // of a wrapped list

	open   bool   // it is within the object around the list
	within bool   // it is within the list
	some   bool   // the list has given an element
	found  bool   // there was a list
	group  string // of a tree: the collection, and the id of the last document
	id     string
}

// next returns the text of the next document, which is empty for an empty line, and the line at which it begins. The error is io.EOF, a *Refusal or Invalid.
func (w *walker) next() (text []byte, line int, err error) {
	switch w.layout {
	case lines:
		line = w.sc.line
		text, err = w.sc.lineText()
		return bytes.TrimSpace(text), line, err
	case values:
		if _, err = w.sc.peek(); err == nil {
			line = w.sc.line
			text, err = w.sc.value()
		}
		return text, line, err
	case tree:
		return w.branch()
	}
	for {
		if w.within {
			text, line, err = w.element()
			if w.within || err != nil {
				return text, line, err
			}
		}
		if err := w.seek(); err != nil {
			return nil, w.sc.line, err
		}
	}
}

// element returns the next element of the list; it is within no list any more where there is none.
func (w *walker) element() (text []byte, line int, err error) {
	c, err := w.sc.peek()
	switch {
	case err != nil:
	case w.some && c == ',':
		if err = w.sc.take(','); err == nil {
			_, err = w.sc.peek()
		}
	case c == ']':
		w.within = false
		return nil, 0, w.sc.take(']')
	case w.some:
		return nil, 0, w.sc.damaged(fmt.Sprintf("a comma or the end of the list is wanted here, and not %q", c))
	}
	if err == nil {
		line, w.some = w.sc.line, true
		text, err = w.sc.value()
	}
	if errors.Is(err, io.EOF) {
		err = w.sc.damaged("the file ends within the list: it was cut; export it again")
	}
	return text, line, err
}

// seek goes to the next list. The error is io.EOF where there is none any more, and Invalid.
func (w *walker) seek() error {
	c, err := w.sc.peek()
	switch {
	case errors.Is(err, io.EOF) && w.open:
		return w.sc.damaged("the file ends within the object around its documents: it was cut; export it again")
	case errors.Is(err, io.EOF) && !w.found:
		return fanfold.Errorf(fanfold.Invalid, "there is no member %q with a list", w.member)
	case err != nil:
		return err
	case w.layout == array:
		w.within, w.some, w.found = true, false, true
		return w.sc.take('[')
	case !w.open:
		w.open = true
		return w.sc.take('{')
	case c == '}':
		w.open = false
		return w.sc.take('}')
	case c == ',':
		return w.sc.take(',')
	}
	name, err := w.name()
	if err != nil {
		return err
	}
	if c, err = w.sc.peek(); err == nil && name == w.member && c == '[' {
		w.within, w.some, w.found = true, false, true
		return w.sc.take('[')
	}
	return w.skip()
}

// name returns the name of a member, with which the scanner has passed the colon. The error is Invalid.
func (w *walker) name() (string, error) {
	text, err := w.sc.value()
	if err != nil {
		return "", noEnd(w.sc, err)
	}
	name, ok := stringOf(text)
	if !ok {
		return "", w.sc.damaged(fmt.Sprintf("the name of a member is wanted here, and not %.40q", text))
	}
	return name, w.sc.take(':')
}

// skip passes a value, however long it is.
func (w *walker) skip() error {
	_, err := w.sc.value()
	var long *Refusal
	if errors.As(err, &long) {
		return nil
	}
	return noEnd(w.sc, err)
}

// noEnd returns err, and an Invalid for the end of the stream.
func noEnd(s *scanner, err error) error {
	if errors.Is(err, io.EOF) {
		return s.damaged("the file ends too early: it was cut; export it again")
	}
	return err
}

// branch returns the next document of a tree, whose collection and id are w's then. The error is io.EOF, a *Refusal or Invalid.
func (w *walker) branch() (text []byte, line int, err error) {
	for {
		c, err := w.sc.peek()
		switch {
		case errors.Is(err, io.EOF) && !w.open:
			return nil, 0, io.EOF
		case err != nil:
			return nil, 0, noEnd(w.sc, err)
		case c == ',':
			err = w.sc.take(',')
		case c == '}' && w.within: // of a collection
			w.within = false
			err = w.sc.take('}')
		case c == '}' && w.found: // of all collections
			w.found = false
			err = w.sc.take('}')
		case c == '}':
			w.open = false
			err = w.sc.take('}')
		case !w.open:
			w.open = true
			err = w.sc.take('{')
		case !w.found:
			err = w.enter()
		case !w.within:
			if w.group, err = w.name(); err == nil {
				w.within = true
				err = w.sc.take('{')
			}
		default:
			if w.id, err = w.name(); err == nil {
				line = w.sc.line
				text, err = w.sc.value()
				return text, line, noEnd(w.sc, err)
			}
		}
		if err != nil {
			return nil, 0, err
		}
	}
}

// enter enters the member that has the collections, and passes another one.
func (w *walker) enter() error {
	name, err := w.name()
	if err != nil {
		return err
	}
	if name == treeMember {
		w.found = true
		return w.sc.take('{')
	}
	return w.skip()
}
