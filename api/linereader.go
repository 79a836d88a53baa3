package api

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"slices"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/internal/admission"
	"github.com/fanfold/fanfold/internal/jsondoc"
	"github.com/fanfold/fanfold/writer"
)

// maxLine bounds a line of an import, in bytes.
const maxLine = 16 << 20

// errLongLine says that a line is too long. It is a TooLarge.
var errLongLine = fanfold.Wrap(writer.ErrLineSkipped, fanfold.TooLarge, "the line has more than %d bytes", maxLine)

// lineReader reads the lines of a request's body. It implements writer.LineReader.
type lineReader struct {
	in    *bufio.Reader
	body  *admission.Body
	line  []byte
	first bool // the next line is the file's first
}

// newLineReader returns a reader of a body, which may be gzip, whose first line has the number first. The client must send
// whole lines that are not blank, or the parts of a long one.
func newLineReader(body *admission.Body, zipped bool, first int) *lineReader {
	body.ByLines()
	var in io.Reader = body
	if zipped {
		in = newGunzip(body)
	}
	return &lineReader{in: bufio.NewReaderSize(&lineParts{in, body}, 64<<10), body: body, first: first == 1}
}

// lineParts reads what a body holds, and tells the body of what arrives.
type lineParts struct {
	from io.Reader
	body *admission.Body
}

// Read implements io.Reader.
func (p *lineParts) Read(b []byte) (int, error) {
	n, err := p.from.Read(b)
	if n > 0 && !isBlank(b[:n]) {
		p.body.Part(n)
	}
	return n, err
}

// isBlank tells whether there is nothing but white space in b.
func isBlank(b []byte) bool {
	return !slices.ContainsFunc(b, func(c byte) bool { return c != ' ' && c != '\t' && c != '\r' && c != '\n' })
}

// Next returns the next line without its end and without white space around it. It blocks until the line has arrived. It
// returns io.EOF at the end, errLongLine for a line that is skipped, and the errors of bodyError if the body ends early.
func (l *lineReader) Next() ([]byte, error) {
	line, err := l.next()
	switch {
	case err == nil || errors.Is(err, errLongLine):
		l.first = false
		if len(line) > 0 {
			l.body.Line(len(line))
		}
		return line, err
	case !errors.Is(err, io.EOF):
		return nil, bodyError(err, 0)
	}
	if err := l.body.Complete(); err != nil {
		return nil, bodyError(err, 0)
	}
	return nil, io.EOF
}

// next returns the next line. It returns io.EOF, errLongLine and the errors of reading.
func (l *lineReader) next() ([]byte, error) {
	l.line = l.line[:0]
	long := false
	for {
		piece, err := l.in.ReadSlice('\n')
		if long = long || len(l.line)+len(piece) > maxLine; !long {
			l.line = append(l.line, piece...)
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case errors.Is(err, io.EOF) && (len(l.line) > 0 || long), err == nil:
			if long {
				return nil, errLongLine
			}
			line := l.line
			if l.first {
				line = jsondoc.WithoutMark(line)
			}
			return bytes.Trim(line, " \t\r\n"), nil
		default:
			return nil, err
		}
	}
}

// Stop makes a Next that blocks return with an error.
func (l *lineReader) Stop() { l.body.Cut(errImportEnded) }

// errImportEnded ends the reading of an import that has ended. It is an Unavailable.
var errImportEnded = fanfold.Errorf(fanfold.Unavailable, "the import has ended")
