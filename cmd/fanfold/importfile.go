package main

import (
	"crypto/sha256"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/goccy/go-yaml"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/internal/expr"
	"github.com/fanfold/fanfold/internal/jsondoc"
)

// lineWriter writes documents as lines of an import, each once, without the first skip of them.
type lineWriter struct {
	w    io.Writer
	skip int
	sent map[[sha256.Size]byte]struct{}
	buf  []byte
}

// sentLimit bounds what is remembered of the documents sent.
const sentLimit = 1 << 18

// write sends a document that line of the file gave; one that was sent already it passes over.
func (l *lineWriter) write(line int, collection string, body []byte) error {
	l.buf = append(append(l.buf[:0], `"collection":"`+collection+`","doc":`...), jsondoc.Compact(nil, body)...)
	sum := sha256.Sum256(l.buf)
	if _, twice := l.sent[sum]; twice {
		return nil
	}
	if l.sent == nil || len(l.sent) >= sentLimit {
		l.sent = map[[sha256.Size]byte]struct{}{}
	}
	l.sent[sum] = struct{}{}
	return l.raw(line)
}

// refuse sends what the server will refuse, so that the count of lines is the same every time.
func (l *lineWriter) refuse(line int, reason string) error {
	l.buf = jsondoc.AppendQuote(append(l.buf[:0], `"refused":`...), reason)
	return l.raw(line)
}

func (l *lineWriter) raw(line int) error {
	if l.skip > 0 {
		l.skip--
		return nil
	}
	_, err := fmt.Fprintf(l.w, "{\"line\":%d,%s}\n", line, l.buf)
	return err
}

// mapping says what becomes of the rows of a CSV file.
type mapping []struct {
	Collection string `yaml:"collection"`
	Documents  string `yaml:"documents"`

	program *expr.Program
}

func readMapping(path string) (mapping, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fanfold.Wrap(err, fanfold.Invalid, "cannot read the mapping: %v", err)
	}
	var m mapping
	if err := yaml.UnmarshalWithOptions(text, &m, yaml.Strict()); err != nil {
		return nil, fanfold.Wrap(err, fanfold.Invalid, "%s is not a mapping: %v", path, err)
	}
	if len(m) == 0 {
		return nil, fanfold.Errorf(fanfold.Invalid, "%s maps nothing: want a list of collection and documents", path)
	}
	for i := range m {
		if err := fanfold.CheckCollection(m[i].Collection); err != nil {
			return nil, err
		}
		if m[i].program, err = expr.Compile(m[i].Documents); err != nil {
			return nil, fanfold.Errorf(fanfold.Invalid, "%s: documents of %s: %v", path, m[i].Collection, err)
		}
	}
	return m, nil
}

// readCSV writes each document that the mapping makes of the rows.
func (m mapping) readCSV(r io.Reader, out *lineWriter) error {
	cr := csv.NewReader(r)
	cr.ReuseRecord = true
	columns, err := cr.Read()
	if err != nil {
		return fanfold.Wrap(err, fanfold.Invalid, "the file has no header line: %v", err)
	}
	names := make([][]byte, len(columns))
	for i, c := range columns {
		names[i] = jsondoc.Quote(c)
	}
	for {
		row, err := cr.Read()
		if errors.Is(err, io.EOF) {
			return nil
		}
		var pe *csv.ParseError
		switch {
		case errors.As(err, &pe):
			err = out.refuse(pe.Line, pe.Err.Error())
		case err == nil:
			line, _ := cr.FieldPos(0)
			err = m.row(line, names, row, out)
		}
		if err != nil {
			return err
		}
	}
}

func (m mapping) row(line int, names [][]byte, row []string, w *lineWriter) error {
	doc := []byte{'{'}
	for i, v := range row {
		if i > 0 {
			doc = append(doc, ',')
		}
		doc = jsondoc.AppendQuote(append(append(doc, names[i]...), ':'), v)
	}
	t := jsondoc.MustParse(append(doc, '}'))
	for _, out := range m {
		value, err := out.program.Eval(t)
		if err != nil {
			if err := w.refuse(line, fmt.Sprintf("documents of %s: %v", out.Collection, err)); err != nil {
				return err
			}
			continue
		}
		v := jsondoc.MustParse(value)
		nodes := []jsondoc.Node{jsondoc.Root}
		if v.Kind(jsondoc.Root) == jsondoc.Array {
			nodes = nodes[:0]
			for n := v.First(jsondoc.Root); n != jsondoc.None; n = v.Next(n) {
				nodes = append(nodes, n)
			}
		}
		for _, n := range nodes {
			if err := w.write(line, out.Collection, v.Raw(n)); err != nil {
				return err
			}
		}
	}
	return nil
}
