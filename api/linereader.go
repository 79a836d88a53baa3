package api

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"net/http"
	"time"

	"github.com/fanfold/fanfold"
)

// maxLine bounds a line of an import, in bytes.
const maxLine = 16 << 20

// errLongLine says that a line is too long. It is a TooLarge.
var errLongLine = fanfold.Errorf(fanfold.TooLarge, "the line has more than %d bytes", maxLine)

// lineReader reads the lines of a request's body. It implements writer.LineReader.
type lineReader struct {
	in      *bufio.Reader
	control *http.ResponseController
	line    []byte
	first   bool // the next line is the file's first
}

// newLineReader returns a reader of a body, which may be gzip, whose first line has the number first. The client has importPause for each
// piece of the body.
func newLineReader(body io.Reader, zipped bool, control *http.ResponseController, first int) *lineReader {
	body = &pacedReader{r: body, control: control}
	if zipped {
		body = newGunzip(body)
	}
	return &lineReader{in: bufio.NewReaderSize(body, 64<<10), control: control, first: first == 1}
}

// Next returns the next line without its end and without white space around it. It blocks until the line has arrived.
// Errors are io.EOF at the end, TooLarge for a line that is skipped, and those of bodyError where the body ends early.
func (l *lineReader) Next() ([]byte, error) {
	line, err := l.next()
	switch {
	case err == nil || errors.Is(err, errLongLine):
		l.first = false
		return line, err
	case !errors.Is(err, io.EOF):
		return nil, bodyError(err, 0)
	}
	if err := supported(l.control.SetReadDeadline(time.Time{})); err != nil { // net/http would take the deadline for the end of the client's connection
		return nil, bodyError(err, 0)
	}
	return nil, io.EOF
}

// next returns the next line. Errors are io.EOF, errLongLine and those of reading.
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
				line = bytes.TrimPrefix(line, []byte("\xef\xbb\xbf")) // a byte order mark
			}
			return bytes.Trim(line, " \t\r\n"), nil
		default:
			return nil, err
		}
	}
}

// Stop makes a Next that blocks return with an error.
func (l *lineReader) Stop() { _ = l.control.SetReadDeadline(time.Now()) }

// pacedReader bounds the time for each piece of a body, not for the whole.
type pacedReader struct {
	r       io.Reader
	control *http.ResponseController
}

// Read reads a piece, for which the client has importPause.
func (p *pacedReader) Read(b []byte) (int, error) {
	if err := supported(p.control.SetReadDeadline(time.Now().Add(importPause))); err != nil {
		return 0, err
	}
	return p.r.Read(b)
}
