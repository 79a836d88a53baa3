package main

import (
	"bufio"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"sync/atomic"

	"github.com/fanfold/fanfold/internal/jsondoc"
)

// lineWriter writes documents as lines of an import, and leaves out the first skip lines.
type lineWriter struct {
	w    io.Writer
	skip int
	once bool                           // documents that were written before are left out
	made func()                         // called for every line, those that are left out too; nil for nothing
	sent map[[sha256.Size]byte]struct{} // hashes of the documents written
	line []byte                         // reused
}

// sentLimit is how many documents are remembered at most, in order to leave repeats out.
const sentLimit = 1 << 18

// write writes a document that line number of the file gave, unless it was written before and once is set.
func (l *lineWriter) write(number int, collection string, body []byte) error {
	l.line = append(append(l.line[:0], `"collection":"`+collection+`","doc":`...), jsondoc.Compact(nil, body)...)
	if !l.once {
		return l.writeLine(number)
	}
	sum := sha256.Sum256(l.line)
	if _, twice := l.sent[sum]; twice {
		return nil
	}
	if l.sent == nil || len(l.sent) >= sentLimit {
		l.sent = map[[sha256.Size]byte]struct{}{}
	}
	l.sent[sum] = struct{}{}
	return l.writeLine(number)
}

// refuse writes a line that the server will refuse, so that the lines have the same numbers every time.
func (l *lineWriter) refuse(number int, reason string) error {
	l.line = jsondoc.AppendQuote(append(l.line[:0], `"refused":`...), reason)
	return l.writeLine(number)
}

// writeLine writes l.line, unless it is one to leave out.
func (l *lineWriter) writeLine(number int) error {
	if l.made != nil {
		l.made()
	}
	if l.skip > 0 {
		l.skip--
		return nil
	}
	_, err := fmt.Fprintf(l.w, "{\"line\":%d,%s}\n", number, l.line)
	return err
}

// lines returns the lines of the input without the first skip. path says what the input is called. The error says what is
// wrong with the mapping, or that there is none for CSV.
func (im *importer) lines(in io.Reader, path string, skip int) (linesFunc, error) {
	im.progress.read.Store(0)
	counted := io.Reader(&countingReader{r: in, n: &im.progress.read})
	if im.mapping == "" {
		r := bufio.NewReaderSize(counted, 256<<10)
		if err := im.refuseCSV(r, path); err != nil {
			return nil, err
		}
		return func(w io.Writer) error {
			for range skip {
				if err := skipLine(r); err != nil {
					return err
				}
			}
			_, err := io.Copy(w, r)
			return err
		}, nil
	}
	m, err := readMapping(im.mapping)
	if err != nil {
		return nil, err
	}
	if counted, err = decoded(counted, im.encoding); err != nil {
		return nil, err
	}
	rows, err := m.open(counted, im.encoding, im.delimiter, im.mapping)
	if err != nil {
		return nil, err
	}
	return func(w io.Writer) error {
		out := bufio.NewWriterSize(w, 64<<10)
		if err := rows.write(&lineWriter{w: out, skip: skip, once: im.skipRepeats, made: im.progress.made}); err != nil {
			return err
		}
		return out.Flush()
	}, nil
}

// skipLine reads up to and with the next line break, or to the end.
func skipLine(r *bufio.Reader) error {
	for {
		_, err := r.ReadSlice('\n')
		if !errors.Is(err, bufio.ErrBufferFull) {
			if errors.Is(err, io.EOF) {
				err = nil
			}
			return err
		}
	}
}

// countingReader adds the bytes that are read through it to n.
type countingReader struct {
	r io.Reader
	n *atomic.Int64
}

// Read implements io.Reader.
func (c *countingReader) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.n.Add(int64(n))
	return n, err
}
