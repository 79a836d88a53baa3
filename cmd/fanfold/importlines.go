package main

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/client"
	"github.com/fanfold/fanfold/internal/foreign"
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

	brought func(collection string, body []byte) error // gets every document, those that are left out too; nil for nobody
	refused func(line int, reason string)              // called for a line that the server would refuse, of a dry run; nil to send it
}

// sentLimit is how many documents are remembered at most, in order to leave repeats out.
const sentLimit = 1 << 18

// write writes a document that line number of the file gave, unless it was written before and once is set.
func (l *lineWriter) write(number int, collection string, body []byte) error {
	l.line = append(append(l.line[:0], `"collection":"`+collection+`","doc":`...), jsondoc.Compact(nil, body)...)
	if l.brought != nil {
		if err := l.brought(collection, l.line[len(`"collection":"`+collection+`","doc":`):]); err != nil {
			return err
		}
	}
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
	if l.refused != nil {
		l.refused(number, reason)
		return nil
	}
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

// writeOwn writes the line of an export of this store as it is, with its number.
func (l *lineWriter) writeOwn(number int, doc *foreign.Document) error {
	line := doc.Line
	if l.brought != nil && doc.Body != nil {
		if err := l.brought(doc.Collection, doc.Body); err != nil {
			return err
		}
	}
	l.line = bytes.TrimSpace(line[1 : len(line)-1])
	if jsondoc.MustParse(line).Member(jsondoc.Root, "line") == jsondoc.None && len(l.line) > 0 {
		return l.writeLine(number)
	}
	if l.skip--; l.skip >= 0 {
		return nil
	}
	_, err := fmt.Fprintf(l.w, "%s\n", line)
	return err
}

// lines returns the lines of the input without the first skip. The error says what is wrong with the mapping or the input, or what to say
// about it.
func (im *importer) lines(src *source, skip int) (linesFunc, error) {
	im.progress.read.Store(0)
	var m mapping
	if im.mapping != "" {
		var err error
		if m, err = readMapping(im.mapping); err != nil {
			return nil, err
		}
	}
	if src.files != nil {
		var err error
		if src.reader, err = foreign.OpenDir(src.path, im.foreign, func(n int) { im.progress.read.Add(int64(n)) }); err != nil {
			return nil, err
		}
		im.say(src)
		return im.converted(src, m, skip), nil
	}
	text, packed, err := foreign.Unpacked(&countingReader{r: src.in, n: &im.progress.read})
	if err != nil {
		return nil, named(err, src.path)
	}
	r := bufio.NewReaderSize(text, 256<<10)
	if m == nil && im.foreign.From == "" {
		if err := im.refuseCSV(r, src.path); err != nil {
			return nil, err
		}
	}
	if m != nil && im.isCSV(r, src.path) {
		return im.rows(r, m, skip)
	}
	if src.reader, err = foreign.Open(r, src.name(), im.foreign); err != nil {
		return nil, named(err, src.path)
	}
	from := src.reader.Report().From[0]
	if plain := src.reader.Plain(); plain != nil && m == nil && !im.dryRun && im.drift == nil && im.model == nil {
		src.raw, src.packed = true, packed
		return rawLines(plain, skip), nil
	}
	if m == nil && im.collection == "" && (from == foreign.Plain || from == foreign.Cosmos || from == foreign.Mongo || from == foreign.Couch) {
		return nil, fanfold.Errorf(fanfold.Invalid, "%s has documents that do not say where they go: give --collection, such as --collection %s", src.path, foreign.Proposed(src.path))
	}
	im.say(src)
	return im.converted(src, m, skip), nil
}

// say says what an input was taken for, where nobody said what it is.
func (im *importer) say(src *source) {
	if im.foreign.From == "" || im.foreign.From == foreign.Auto {
		what := src.path
		switch {
		case src.files != nil:
			what = "the first file of " + what
		case what == "-":
			what = "standard input"
		}
		fmt.Fprintf(im.stderr, "%s is taken for %s; --from says otherwise\n", what, formatsText(src.reader.Report().From))
	}
}

// storeNames names formats for people.
var storeNames = map[string]string{foreign.Plain: "JSON", foreign.Own: "an export of Fanfold", foreign.Cosmos: "an export of Cosmos DB", foreign.Mongo: "an export of MongoDB",
	foreign.Couch: "an export of CouchDB", foreign.Firestore: "documents of Firestore"}

// formatsText names formats for people.
func formatsText(formats []string) string {
	names := make([]string, len(formats))
	for i, format := range formats {
		names[i] = storeNames[format]
	}
	return strings.Join(names, ", ")
}

// named returns an Invalid with the name of the file in it.
func named(err error, path string) error {
	if text := fanfold.MessageOf(err); !strings.HasPrefix(text, path) {
		return fanfold.Wrap(err, fanfold.Invalid, "%s: %s", path, text)
	}
	return err
}

// rawLines returns lines as they are, without the first skip.
func rawLines(r *bufio.Reader, skip int) linesFunc {
	return func(w io.Writer) error {
		for range skip {
			if err := skipLine(r); err != nil {
				return err
			}
		}
		_, err := io.Copy(w, r)
		return err
	}
}

// rows returns the lines that a mapping makes of CSV.
func (im *importer) rows(r io.Reader, m mapping, skip int) (linesFunc, error) {
	text, err := decoded(r, im.encoding)
	if err != nil {
		return nil, err
	}
	rows, err := m.open(text, im.encoding, im.delimiter, im.mapping)
	if err != nil {
		return nil, err
	}
	return im.written(skip, rows.write), nil
}

// converted returns the lines of what another store exports.
func (im *importer) converted(src *source, m mapping, skip int) linesFunc {
	return im.written(skip, func(out *lineWriter) error {
		for {
			doc, err := src.reader.Next()
			var refused *foreign.Refusal
			switch {
			case errors.Is(err, io.EOF):
				return nil
			case errors.As(err, &refused):
				err = out.refuse(src.number(refused.Place), refused.Reason)
			case err != nil:
				return err
			case doc.Body == nil && (m != nil || im.scratch): // what no document is
				continue
			case m != nil:
				err = m.write(jsondoc.MustParse(doc.Body), src.number(doc.Place), out)
			case doc.Line != nil:
				err = out.writeOwn(src.number(doc.Place), doc)
			default:
				err = out.write(src.number(doc.Place), doc.Collection, doc.Body)
			}
			if err != nil {
				return err
			}
		}
	})
}

// written returns the lines that a function writes.
func (im *importer) written(skip int, write func(out *lineWriter) error) linesFunc {
	return func(w io.Writer) error {
		buffer := bufio.NewWriterSize(w, 64<<10)
		out := &lineWriter{w: buffer, skip: skip, once: im.skipRepeats, made: im.progress.made}
		if im.drift != nil {
			out.brought = im.drift.bring
		}
		if im.dryRun && !im.scratch {
			out.refused = func(line int, reason string) {
				im.refusals.add(im.stderr, client.Refusal{Line: line, Code: client.Invalid, Detail: reason})
			}
		}
		if im.model != nil {
			if err := out.writeModel(im.model.Source, true); err != nil {
				return err
			}
		}
		if err := write(out); err != nil {
			return err
		}
		if im.model != nil && !im.scratch {
			if err := out.writeModel(im.model.Source, false); err != nil {
				return err
			}
		}
		return buffer.Flush()
	}
}

// source is what an import reads: a file, standard input, or the files of a directory.
type source struct {
	in     io.ReadCloser // nil of a directory
	path   string
	files  []string        // of a directory, by their numbers
	reader *foreign.Reader // nil for CSV
	raw    bool            // its lines are sent as they are
	packed bool            // it is compressed
}

// name returns what the file is called, without how it is compressed.
func (s *source) name() string {
	_, file := filepath.Split(s.path)
	return strings.TrimSuffix(strings.TrimSuffix(file, ".gz"), ".zst")
}

// close closes what is open of it.
func (s *source) close() error {
	switch {
	case s.in != nil:
		return s.in.Close()
	case s.reader != nil:
		return s.reader.Close()
	}
	return nil
}

// fileShift is how many bits a line has in what the server calls the number of a line. The file has the bits above. JSON still has such a number exactly.
const fileShift = 40

// number returns a place as the number of a line, and place the place.
func (s *source) number(p foreign.Place) int {
	at, _ := slices.BinarySearch(s.files, p.File)
	return at<<fileShift | p.Line
}

// placeOf returns the place that a number of a line stands for.
func (s *source) placeOf(line int) foreign.Place {
	if s == nil || len(s.files) == 0 {
		return foreign.Place{Line: line}
	}
	return foreign.Place{File: s.files[min(line>>fileShift, len(s.files)-1)], Line: line & (1<<fileShift - 1)}
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
